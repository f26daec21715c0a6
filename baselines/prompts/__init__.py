"""Prompts: the versioned files, how they are filled (`prompt`), and how a model's answer is read (`generate`)."""
