"""The questions that a system gets and their gold: a split or a sample of it, with the pages' support."""
