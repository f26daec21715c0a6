"""Expanders: from one query to the queries that are searched for."""
