"""What stands beside the tables of a dataset: card, metadata, plots; and the report of a build."""
