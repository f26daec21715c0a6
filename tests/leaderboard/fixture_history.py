"""Made-up results on several versions of a dataset, and a ledger: never results."""

from __future__ import annotations

from pathlib import Path

import fixture_board as made

OLD, NEW, NEXT = "tqa@1.0.0#0a1b2c3d", "tqa@1.1.0#1b2c3d4e", "tqa@2.0.0#2c3d4e5f"
LEDGER = """\
# The ledger of these tests.
[[errata]]
id = "old-pages"
date = 2026-11-12
dataset = "tqa@1.0.0"
fault = "Half of the pages were empty."
done = "1.1.0 has them."
link = "docs/results.md#the-key"

[[errata]]
id = "gold-of-two-questions"
date = 2026-11-19
dataset = "tqa@1.1.0"
system = "mover"
question = "NDQ_000123"
fault = "The gold answer was another one."
done = "Mended in 2.0.0."
link = "https://example.org/why"
"""
RESULTS = (
    # dataset, slug, outcomes, answers' hash, day, further facts
    (OLD, "mover", "c" * 60 + "i" * 40, "a" * 64, 10, {}),
    (OLD, "same", "c" * 50 + "i" * 50, "b" * 64, 10, {}),
    (OLD, "gone", "c" * 90 + "i" * 10, "c" * 64, 11, {"withdrawn": "It had seen the questions."}),
    (NEW, "mover", "c" * 75 + "i" * 25, "d" * 64, 15, {"name": "The mover"}),
    (NEW, "same", "c" * 50 + "i" * 50, "b" * 64, 15, {}),
    (NEXT, "mover", "c" * 20 + "i" * 80, "d" * 64, 20, {"name": "The mover"}),
)


def write_versions(folder: Path) -> Path:
    """Results on three versions, two majors, with a ledger beside them; returns the results folder."""
    results = folder / "results"
    for dataset, slug, outcomes, answers, day, facts in RESULTS:
        card = made.card_of(
            slug, outcomes, dataset=dataset, predictions_sha256=answers, scored_at=f"2026-11-{day}T09:30:00Z", **facts
        )
        made.write_card(results, card)
    (folder / "errata.toml").write_text(LEDGER, encoding="utf-8")
    return results
