"""Rerankers: a second, dearer look at the first passages."""
