"""Processes that we start, and that end with us or when we say so. Nothing here loads JAX: a worker starts quickly."""
