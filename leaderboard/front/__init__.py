"""The front page of each table: one sentence, one number, one picture, ten rows and a question."""
