"""Datasets by recipe: pinned public sources, verified and built, with a content hash that everybody gets."""
