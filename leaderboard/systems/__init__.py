"""What the page of a system shows."""
