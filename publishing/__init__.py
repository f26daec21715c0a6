"""The door to the Hugging Face Hub: datasets and results go out, datasets that the board names come in."""
