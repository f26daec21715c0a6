"""A pull request from a stranger: its changes, whether they are allowed, and the report for its team."""
