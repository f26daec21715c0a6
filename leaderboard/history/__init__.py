"""Changes over time: dataset versions, events and corrections."""
