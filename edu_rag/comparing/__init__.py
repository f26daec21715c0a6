"""Two systems on the same questions: the tests, and what people read about them."""
