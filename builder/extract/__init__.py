"""Extraction: from the bytes of a page to clean text that keeps its science."""
