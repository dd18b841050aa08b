"""SHAPE: fixed-budget nonconvex minimisation by a slow planner and a fast port-Hamiltonian controller."""
