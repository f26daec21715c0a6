"""A dataset folder's life: check, audit, diff, take-down, export."""
