"""Question files of several formats, read as questions and gold; and flags of unusual questions."""
