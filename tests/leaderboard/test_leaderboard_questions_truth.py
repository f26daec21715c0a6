"""What a lesson page must not say: what it cannot know, and what is true of another dataset."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import fixture_board as made
import fixture_quiz as quiz
import pytest
from bs4 import BeautifulSoup, Tag
from some_pages import build_some

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from leaderboard.exams import ids_sha256, open_exams
from leaderboard.pages import board_page, question_pages


def site_of(folder: Path, given: Dataset, values: dict[str, Any], letter: str, **changes: Any) -> Path:
    """A site of one system, that gives the same answer to every question."""
    questions = given.questions("val")
    lines = b"".join(json.dumps({"question_id": one.question_id} | values).encode() + b"\n" for one in questions)
    facts = {"dataset": given.id, "predictions_sha256": hashlib.sha256(lines).hexdigest()} | changes
    made.write_card(folder / "results", made.card_of("one", letter * len(questions), **facts), lines)
    exams = open_exams([given.folder])
    return build_some(folder / "results", folder / "site", (board_page, question_pages), exams=exams)


def volcanoes(site: Path) -> Tag:
    page = BeautifulSoup((site / quiz.FOLDER / "volcanoes.html").read_text(encoding="utf-8"), "html.parser")
    return page.select("article")[0]


def test_who_abstained_named_no_choice_whatever_its_own_words_are(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    article = volcanoes(site_of(tmp_path, dataset, {"answer": None, "response": "b"}, "a"))
    assert [one.get_text(strip=True) for one in article.select("ol.choices .share")] == ["nobody"] * len(
        article.select("ol.choices > li")
    )
    others = article.select_one(".others").get_text(" ", strip=True)
    assert others.startswith("– abstained, no choice named 1 of 1")
    assert article.select_one(".others q").get_text() == "b"


def test_a_label_before_much_else_is_no_label(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    article = volcanoes(site_of(tmp_path, dataset, {"answer": "a" + " " * 60 + "or b"}, "u"))
    assert article.select_one(".others q").get_text() == "a or b"


@pytest.mark.parametrize(
    ("changes", "is_quoted"),
    [({}, True), ({"made_on": "quiz@1.1.0"}, False), ({"dataset": "quiz@1.1.0#99999999"}, False)],
)
def test_passages_of_another_versions_pages_are_not_cut_from_these(
    tmp_path: Path, changes: dict[str, str], is_quoted: bool
) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    page_id = quiz._page(dataset.questions("val")[0]).page_id
    passages = {"answer": "a", "passages": [[page_id, 2, 9]]}
    shards = (site_of(tmp_path, dataset, passages, "i", **changes) / quiz.FOLDER / "data").iterdir()
    questions = [one for path in shards for one in json.loads(path.read_bytes())["questions"]]
    assert any(cited for one in questions for *_, cited in one["answers"]) == is_quoted
    assert {said for one in questions for _, _, said, _, _ in one["answers"]} == {"a"}


def test_a_dataset_with_other_questions_than_were_asked_is_refused(tmp_path: Path) -> None:
    dataset = quiz.write_exam(tmp_path / "dataset")
    ids = [question.question_id for question in dataset.questions("val")]
    site_of(tmp_path / "same", dataset, {"answer": "a"}, "i", exam={"ids": ids_sha256(ids)})
    with pytest.raises(DataError, match="was asked other questions"):
        site_of(tmp_path / "other", dataset, {"answer": "a"}, "i", exam={"ids": ids_sha256([*ids[1:], "Q_9999"])})
