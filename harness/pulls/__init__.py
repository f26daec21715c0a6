"""A pull request from a stranger: what it changes, whether it may, and what its team is told."""
