"""The repository of a board: the files that a fork needs, and how they agree with what is in it."""
