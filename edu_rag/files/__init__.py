"""The files that all parts share: how each is read, checked and written."""
