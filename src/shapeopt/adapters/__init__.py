"""Where users already are: SciPy, ASE, scikit-learn, lmfit, Optax, PyTorch, Optuna, nevergrad, and any program.

One file each; what is heavy is imported by the file that needs it, and `shapeopt` loads a file when its name is used.
"""
