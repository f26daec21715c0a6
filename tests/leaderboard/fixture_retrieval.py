"""Made-up results of retrieval runs for the tests. Never results."""

from __future__ import annotations

from fixture_board import DATASET

from edu_rag.scorecard.card import SystemFacts
from edu_rag.scorecard.retrieval_card import PageMeasures, RetrievalCard
from leaderboard.board.retrieval_tables import SHOWN


def measured(value: float, n: int = 9) -> PageMeasures:
    names = [*SHOWN, "P@5"]
    return PageMeasures(n=n, metrics=dict.fromkeys(names, value), intervals=dict.fromkeys(names, (0.0, 1.0)))


def run_card(slug: str, evidence: float | None = 0.5, home: float | None = None, **more: str) -> RetrievalCard:
    return RetrievalCard(
        system=SystemFacts(slug=slug, name=more.pop("name", slug), team="<b>a team</b>"),
        dataset=more.pop("dataset", DATASET),
        split="val",
        sample=None,
        harness="edu-rag-bench 0.1.0",
        n=10,
        n_ranked=8,
        evidence=None if evidence is None else measured(evidence),
        home=None if home is None else measured(home, 10),
        run_sha256="0" * 64,
        scored_at="2026-11-22T08:00:00Z",
    )


RUNS = (run_card("worse", 0.25, 0.75), run_card("better", 0.5, name="<script>x</script>"))
