"""Reading answers: the rule set answers-v3."""
