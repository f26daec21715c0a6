"""The significance level of all tests: apart from edu_rag.statistics, which loads numpy, for the commands' help."""

ALPHA = 0.05
"""A difference with a larger p is not established."""
