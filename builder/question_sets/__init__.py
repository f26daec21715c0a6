"""Question files of several formats, read as questions and gold; and what is unusual about a question."""
