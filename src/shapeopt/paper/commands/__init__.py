"""The commands of `shapeopt` that are the paper's: train, figures, theory. Importing them brings in no JAX."""
