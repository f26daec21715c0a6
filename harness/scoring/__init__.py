"""From predictions to a scorecard: outcomes, slices, intervals, causes, retrieval, confidence and cost."""
