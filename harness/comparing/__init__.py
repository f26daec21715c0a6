"""Two systems or more on the same questions: tests, power, overlap, flips."""
