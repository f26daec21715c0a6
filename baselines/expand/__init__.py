"""Query expansion: queries in addition to the question, or in place of it."""
