"""What is asked of a system and what is right: a split, or a sample of it, with what the pages support."""
