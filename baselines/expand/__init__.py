"""Query expansion: what is searched for besides, or instead of, the question as it was asked."""
