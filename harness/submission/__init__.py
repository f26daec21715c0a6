"""A submission's folder: its settings, its files, its predictions, and what is wrong with any of them."""
