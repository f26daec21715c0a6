"""The causes for which a question is lost, as scorecards count them in `attribution`: their names and meanings."""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[str, str] = {
    "failed": "the system crashed, ran out of time, or left the question out",
    "flagged_broken": "the question cannot be answered as it stands",
    "unparseable": "the answer names no single choice",
    "no_evidence": "the dataset has no evidence for it",
    "over_abstained": "it abstained with evidence in its hands",
    "not_retrieved": "the dataset has evidence, the system cited none of it",
    "not_used": "evidence was cited, and the answer is wrong",
}
"""Every cause with its meaning, in order of precedence (docs/scoring-spec.md, section 7, gives the reasons)."""
