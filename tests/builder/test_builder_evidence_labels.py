"""The hand labels that are shipped: complete, without text, found again on the real pages; and the methods' floors."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

LABELS_FOLDER = Path(__file__).resolve().parents[1] / "evidence_labels"
sys.path.append(str(LABELS_FOLDER))

from evidence_pairs import LABELS, PAIRS, SECOND, Counts, count, page_rates, rates, read_pairs, read_tqa, with_pages  # noqa: E402

from builder.evidence import METHODS  # noqa: E402
from edu_rag.records import Span  # noqa: E402


def test_there_are_300_pairs_of_all_kinds_and_pairs_without_evidence() -> None:
    pairs = read_pairs()
    assert len({(pair.question_id, pair.page_id) for pair in pairs}) == len(pairs) >= 300
    assert {pair.kind for pair in pairs} == {"multiple_choice", "matching", "true_false"}
    assert {item.label for pair in pairs for item in pair.judged} == set(LABELS)
    assert sum(all(item.label == "no" for item in pair.judged) for pair in pairs) > 100
    assert len(read_pairs(SECOND)) == 60


def test_a_question_is_in_one_half_only() -> None:
    halves: dict[str, set[str]] = {}
    for pair in read_pairs():
        halves.setdefault(pair.question_id, set()).add(pair.half)
    assert Counter(map(len, halves.values())).keys() == {1}
    assert set.union(*halves.values()) == {"tune", "test"}


def test_no_text_of_questions_or_pages_is_shipped() -> None:
    allowed = {"question_id", "kind", "gold", "half", "stratum", "page_id", "url", "html_sha256", "text_sha256"}
    allowed |= {"extractor", "sentences", "relation"}
    for path in (PAIRS, SECOND):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            assert set(row) <= allowed
            values = [value for value in row.values() if isinstance(value, str)]
            assert all(" " not in value for value in values)
            fields = {key for item in row["sentences"] for key in item}
            assert fields <= {"start", "end", "n_words", "words_sha256", "label", "round"}


def test_rates_count_partly_only_in_the_lenient_figure() -> None:
    found = [Counts(2, 1, 1, 5, 4), Counts(0, 0, 0, 0, 1), Counts(0, 0, 1, 0, 0)]
    assert rates(found) == pytest.approx({"precision": 0.4, "lenient": 0.6, "recall": 0.4, "f1": 0.4})
    assert page_rates(found) == {"page_precision": 0.5, "page_recall": 0.5}


def test_the_lexical_methods_keep_their_floors_on_real_pages(shared_data: Path) -> None:
    chosen = [pair for pair in read_pairs() if pair.half == "test" and pair.stratum == "rich"][::5]
    pairs, pages, n_lost = with_pages(chosen, shared_data / "web")
    assert n_lost <= 0.15 * sum(len(pair.judged) for pair in chosen)
    questions, golds = read_tqa(shared_data / "tqa" / "val" / "questions.jsonl")
    assert all(golds[pair.question_id].answer == pair.gold for pair in pairs)
    method = METHODS["answer-string-v2"]
    counts = [
        count(
            pair,
            [Span(e.start, e.end) for e in method.find(questions[pair.question_id], golds[pair.question_id], [page])],
        )
        for pair in pairs
        if pair.kind != "true_false"
        for page in [pages[pair.page_id]]
    ]
    got = rates(counts)
    assert got["lenient"] >= 0.5
    assert got["recall"] >= 0.25
