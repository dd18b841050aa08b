"""Protocols, metrics, runner and tables: how optimizers are measured against each other."""
