"""The documents of a dataset: card, metadata, plots; and the report of a build."""
