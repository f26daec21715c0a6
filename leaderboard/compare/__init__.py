"""Pairs of systems on the compare page."""
