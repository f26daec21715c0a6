"""The house system: several weak signs for each choice, weighed by a calibrated model that knows when to be silent."""
