"""Open textbooks: the modules and exercises of a book's source files."""
