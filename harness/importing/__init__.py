"""Predictions from other programs' files: their rows are mapped to our fields, matched to questions, and written."""
