"""What changed over time: dataset versions, events and corrections."""
