"""Results as a dataset: scorecards and predictions of a results folder, as tables that everybody can load."""
