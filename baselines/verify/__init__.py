"""Verifiers: is an answer supported by the passages retrieved for it? (Huo et al.)."""
