"""Names of probes on the command line, in files and on scorecards."""

from __future__ import annotations

REPEAT = "repeat"
NAMES = ("no-context", "evidence-only", "other-pages", "half-noise", "permuted", REPEAT)
"""Every probe, in the order in which they are run and shown."""
