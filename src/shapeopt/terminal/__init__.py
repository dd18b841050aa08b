"""What every command needs of a terminal: errors in one line, progress, Ctrl-C, JSON; it imports no JAX."""
