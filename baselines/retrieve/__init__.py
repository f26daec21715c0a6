"""Retrievers: how passages are ranked for a query, by words and by meaning."""
