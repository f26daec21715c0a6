"""Dataset + submission -> scorecard: check, run, score, compare, explain."""
