"""Verifiers: is an answer borne out by what is retrieved for it? (Huo et al.)."""
