"""Labels of pages: leaks, hidden text, injection, personal data, language."""
