"""Rerankers: a second, more expensive ranking of the first passages."""
