"""A submission's folder: its settings, its files, its predictions, and the faults of any of them."""
