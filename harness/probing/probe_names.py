"""Names of probes on the command line, in files and on scorecards."""

from __future__ import annotations

REPEAT = "repeat"
EVIDENCE_ONLY = "evidence-only"
NAMES = ("no-context", EVIDENCE_ONLY, "other-pages", "half-noise", "permuted", REPEAT)
"""Every probe, in the order in which they are run and shown."""
