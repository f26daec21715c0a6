"""The parts of a system's page."""
