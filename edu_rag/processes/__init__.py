"""Other processes and threads: children under limits, budgets for strangers' files, and what a child may import."""
