"""The claim metrics on a system's page: those of the scored predictions alone, with the judge's mark."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import fixture_board as made
import pytest
from bs4 import BeautifulSoup
from some_pages import build_some

from edu_rag.errors import DataError, EduRagError, FaultsError, RecordError
from edu_rag.scorecard.claims_card import ClaimsCard, MetricTotal, claims_of, read_claims_card, write_claims_card
from leaderboard.board.collect import collect
from leaderboard.systems.claim_rows import MEANINGS, claim_rows_of

TOTAL = MetricTotal(
    metric="faithfulness",
    n_questions=9,
    numerator=4.5,
    denominator=6,
    n_no_value=2,
    n_unjudged=1,
    interval=(0.5, 1.0),
    lowest_mean=0.642857143,
    highest_mean=0.785714286,
    reasons={"the judge gave no reply": 1},
)


def claims_card(results: Path, mark: str = "below") -> tuple[Path, ClaimsCard]:
    """A board's result with a claims card next to its scorecard."""
    card = made.card_of("one", "ccciiaauf")
    scorecard = made.write_card(results, card)
    written = ClaimsCard(
        system="one",
        dataset=card.dataset,
        split=card.split,
        sample=card.sample,
        predictions_sha256=card.predictions_sha256,
        rule="claims-v1",
        judge={"name": "a <b>judge</b>"},
        audit={"mark": mark, "judge": "correctness-3"} if mark else {},
        statuses={"answered": 9},
        metrics=(TOTAL,),
        interval_method="bootstrap",
    )
    write_claims_card(results, written)
    return scorecard, written


def test_a_card_is_read_as_it_was_written_next_to_the_scorecard(tmp_path: Path) -> None:
    scorecard, written = claims_card(tmp_path)
    path = scorecard.with_name("claims.json")
    assert read_claims_card(path) == written
    values = json.loads(path.read_text())
    assert values["metrics"][0]["mean"] == 0.75
    for change, fault in (
        ({"split": "../x"}, "split"),
        ({"metrics": [{"metric": 1}]}, "metrics"),
        ({"more": 1}, "more"),
    ):
        path.write_text(json.dumps(values | change))
        with pytest.raises(EduRagError, match=fault):
            read_claims_card(path)
    path.unlink()
    path.symlink_to(scorecard)
    with pytest.raises(DataError, match="is not a regular file"):
        read_claims_card(path)


def test_a_total_that_does_not_add_up_or_is_not_finite_is_no_record() -> None:
    for change in ({"n_questions": 8}, {"n_no_value": -1, "denominator": 9}, {"numerator": math.nan}):
        with pytest.raises(RecordError):
            replace(TOTAL, **change)  # type: ignore[arg-type]


def test_the_page_shows_the_metrics_of_the_scored_predictions_alone(tmp_path: Path) -> None:
    scorecard, written = claims_card(tmp_path / "results")
    card = made.card_of("one", "ccciiaauf")
    found = claim_rows_of(claims_of(scorecard), card)
    assert found is not None
    assert [(row.words, row.total) for row in found.rows] == [("faithfulness", TOTAL)]
    write_claims_card(tmp_path / "results", replace(written, predictions_sha256="0" * 64))
    assert claim_rows_of(claims_of(scorecard), card) is None
    write_claims_card(tmp_path / "results", written)
    site = build_some(tmp_path / "results", tmp_path / "site")
    page = BeautifulSoup((site / "systems" / "tqa.v1.val" / "one.html").read_text(encoding="utf-8"), "html.parser")
    section = page.find(id="claims")
    assert section is not None
    text = " ".join(section.get_text(" ").split())
    assert "a <b>judge</b> , checked the claims" in text
    assert "(audited as correctness-3 ) is below the bound" in text
    assert "0.750 [0.500, 1.000] 0.643 to 0.786 6 2 1" in text


def test_faults_of_claims_are_reported_with_those_of_scorecards_before_a_page_is_made(tmp_path: Path) -> None:
    first, _ = claims_card(tmp_path)
    second = made.write_card(tmp_path, made.card_of("two", "ccciiaauf", scored_at="yesterday"))
    made.write_card(tmp_path, made.card_of("three", "ccciiaauf")).with_name("claims.json").symlink_to("nowhere")
    path = first.with_name("claims.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"split": "../x", "more": 1}))
    second.with_name("claims.json").write_text("no JSON")
    unread = made.write_card(tmp_path, made.card_of("four", "ccciiaauf"))
    unread.write_text("{}")
    unread.with_name("claims.json").mkdir()
    with pytest.raises(FaultsError) as caught:
        collect(tmp_path)
    said = "\n".join(map(str, caught.value.faults))
    for fault in (
        f"{path}: more: unknown field",
        f"{second}: scored_at: 'yesterday' is no time",
        f"{second.with_name('claims.json')}: ",
        "three/claims.json: is not a regular file",
        "four/claims.json: is not a regular file",
    ):
        assert fault in said


def test_every_metric_of_the_harness_has_words() -> None:
    from harness.judging.claims.judged_answer import METRICS

    assert list(MEANINGS) == list(METRICS)
