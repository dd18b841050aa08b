"""Engines: the only loops that spend a budget. Host: NumPy, nothing compiled. Device: JAX, batches."""
