"""Controls and probes: the same questions with other pages, other orders, or asked again."""
