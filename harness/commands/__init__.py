"""The commands of a submission's life, one module each, imported only when asked for."""
