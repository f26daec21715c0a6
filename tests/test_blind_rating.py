"""The rating of generated questions and the books' exercises: what its reader sees, and what is counted."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from edu_rag.gold import Gold
from edu_rag.records import page_id_of
from tests.builder_dataset import FISH, LAVA, TEXTS, ask, tables, write

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import blind_rating as rating  # noqa: E402
import generated_questions  # noqa: E402


def _generated(name: str, url: str) -> dict[str, Any]:
    return {
        "question": f"I am a student. {name}?",
        "plain": f"{name}?",
        "choices": {"a": "1", "b": "2", "c": "3", "d": "4"},
        "answer": "b",
        "made_from": [{"url": url, "start": 0, "end": 20}],
    }


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rating of two kept questions of three (one has no choices), one rejected, and one exercise."""
    folder = tmp_path_factory.mktemp("rating")
    made = tables()
    made["questions"]["val"][0] = ask("q1", "What flows?", "lava", "ice", "milk", "rock", lesson="rocks")
    made["gold"]["val"][0] = Gold(question_id="q1", answer="a", home_page=page_id_of(LAVA))
    write(folder / "dataset", made)
    kept = [_generated("one", FISH), _generated("two", LAVA), _generated("free", LAVA) | {"choices": {}}]
    _lines(folder / "questions.jsonl", kept)
    _lines(folder / "rejected.jsonl", [{"filter": "reply"}, {"filter": "span", "question": _generated("three", FISH)}])
    rating.draw(Namespace(dataset=folder / "dataset", generated=folder, to=folder, n=60, rejected=60, seed=0))
    return folder


def test_the_reader_sees_key_and_passage_and_not_where_a_question_is_from(drawn: Path) -> None:
    sheet = [json.loads(line) for line in (drawn / "sheet.jsonl").read_text(encoding="utf-8").splitlines()]
    origins = json.loads((drawn / "origins.json").read_text(encoding="utf-8"))
    assert {tuple(sorted(item)) for item in sheet} == {("choices", "item", "key", "passage", "question")}
    found = {item["question"]: (origin, item["passage"]) for item, origin in zip(sheet, origins, strict=True)}
    assert found == {
        "one?": (rating.KEPT, TEXTS[FISH][:20]),
        "two?": (rating.KEPT, TEXTS[LAVA][:20]),
        "three?": (rating.REJECTED, TEXTS[FISH][:20]),
        "What flows?": (rating.BOOKS, TEXTS[LAVA].strip()),
    }


def test_a_question_is_sound_with_one_right_choice_and_a_passage_that_suffices(
    drawn: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    origins = json.loads((drawn / "origins.json").read_text(encoding="utf-8"))
    rows = [{"item": n, "one_right": True, "answerable": True, "clear": True} for n in range(1, 5)]
    rows[origins.index(rating.KEPT)]["answerable"] = False
    rows[origins.index(rating.BOOKS)]["clear"] = False
    _lines(drawn / "ratings.jsonl", rows[:3])
    with pytest.raises(SystemExit, match="item 4: one_right, answerable, clear must be true or false"):
        rating.report(Namespace(to=drawn, second=None))
    _lines(drawn / "ratings.jsonl", rows)
    rating.report(Namespace(to=drawn, second=drawn))
    said = capsys.readouterr().out
    assert "A second reader rated 4 of these questions: 4 equal on whether they are sound, kappa 1.00." in said
    table = [line.split(" | ") for line in said.splitlines() if "[" in line]
    shares = {cells[0].strip("| "): [cell.split()[0] for cell in cells[2:]] for cells in table}
    assert shares == {
        rating.KEPT: ["50.0", "100.0", "50.0", "100.0"],
        rating.REJECTED: ["100.0"] * 4,
        rating.BOOKS: ["100.0", "100.0", "100.0", "0.0"],
    }


def test_the_report_of_an_older_run_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"dataset": "d", "seed": 0, "wanted": 1}', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"report\.json: has no 'tries', an older version wrote it: generate"):
        generated_questions.read_report(path)
