"""The datasets of the board for their pages: facts from their own files, never from the gold, and what results name."""
