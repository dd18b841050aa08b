"""Where users already are: SciPy, Optax, PyTorch, Optuna, nevergrad, and programs of any kind.

One file each; what is heavy is imported by the file that needs it, and `shapeopt` loads a file when its name is used.
"""
