"""Free text scored by its claims: what a judge is asked, and the values that follow from its claims and verdicts."""
