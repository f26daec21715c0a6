"""Visitors' judgements: the labels, the file, and the form of the page with its link."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.cli.asking.question_desk import QuestionDesk
from edu_rag.cli.asking.question_form import MAX_ID, QuestionForm, checked_form, form_of_query
from edu_rag.errors import ConfigError, DataError, RecordError
from edu_rag.files.annotated import ANSWER_LABELS, ShownReply, read_annotations
from harness.asking.annotations import AnnotationFile

SYSTEMS = ("bm25", "llm", "graph", "blind")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


def reply(answer: str | None = "b") -> ShownReply:
    return ShownReply(
        dataset="asked@1.0.0#12345678",
        question_id="q1",
        question="Why?",
        choices={"a": "x", "b": "y"},
        page_input="own",
        system="bm25",
        answer=answer,
        status="ok",
        outcome="correct",
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_judgement_is_one_line_with_the_paper_s_label(tmp_path: Path) -> None:
    assert list(ANSWER_LABELS) == ["Correct Answer", "Hallucinated Answer", "Insufficient Context"]
    kept = AnnotationFile(tmp_path / "kept.jsonl", now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    kept.add(reply('b\n"\u2028'), "Insufficient Context", 3)
    kept.add(reply(None), "Correct Answer", None)
    first, second = lines(kept.path)
    assert (first["at"], first["label"], first["correctness"]) == ("2026-01-02T03:04:05Z", "Insufficient Context", 3)
    assert first["reply"]["answer"] == 'b\n"\u2028'  # type: ignore[index]
    assert second["correctness"] is None
    assert [one.reply.answer for one in read_annotations(kept.path)] == ['b\n"\u2028', None]


@pytest.mark.parametrize(("label", "number"), [("right", None), ("", 1), ("Correct Answer", 0), ("Correct Answer", 6)])
def test_an_unknown_label_or_number_is_refused(tmp_path: Path, label: str, number: int | None) -> None:
    kept = AnnotationFile(tmp_path / "kept.jsonl")
    with pytest.raises(RecordError):
        kept.add(reply(), label, number)
    assert not kept.path.exists()


def test_half_a_line_at_the_end_costs_only_itself_and_a_full_file_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"at": "2026')
    AnnotationFile(path).add(reply(), "Correct Answer", 5)
    assert json.loads(path.read_text().splitlines()[1])["correctness"] == 5
    with pytest.raises(DataError, match="give --annotations another file"):
        AnnotationFile(path, max_bytes=path.stat().st_size + 10).add(reply(), "Correct Answer", 5)


def test_a_judgement_that_cannot_be_saved_names_its_file_on_stderr_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty: Any = None
    kept = AnnotationFile(tmp_path / "missing" / "kept.jsonl")
    desk = QuestionDesk(known=empty, systems={}, search=empty, engine=None, annotations=kept)
    with pytest.raises(ConfigError) as fault:
        desk.save(reply(), "Correct Answer", None)
    assert str(fault.value) == "annotation: it was not saved: the owner of this page can read why"
    assert str(kept.path) in capsys.readouterr().err


def test_visitors_who_save_at_once_do_not_mix_their_lines(tmp_path: Path) -> None:
    kept = AnnotationFile(tmp_path / "kept.jsonl")
    threads = [threading.Thread(target=kept.add, args=(reply("x" * 2_000), "Correct Answer", 1)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(kept.path)) == 20


@settings(max_examples=30)
@given(
    text=TEXTS,
    choices=st.lists(TEXTS, max_size=5),
    systems=st.lists(st.sampled_from(SYSTEMS), unique=True, max_size=3),
    rule=st.sampled_from(["own", "top-7", "evidence", "none", "live"]),
)
def test_a_link_brings_the_form_back(text: str, choices: list[str], systems: list[str], rule: str) -> None:
    form = QuestionForm(text=text, choices=choices, systems=sorted(systems, key=SYSTEMS.index), rule=rule)
    query = form.query()
    assert query.isascii()
    assert form_of_query(parse_qsl(query[1:], keep_blank_values=True), SYSTEMS) == form


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(["question", "text", "choice", "system", "pages", "x"]), st.text(max_size=40)))
)
def test_any_link_gives_a_form_within_its_limits(pairs: list[tuple[str, str]]) -> None:
    form = form_of_query([*pairs, ("question", "q" * 10_000), *[("choice", "c")] * 100], SYSTEMS)
    assert len(form.question_id) <= MAX_ID
    assert len(form.choices) <= 26
    assert set(form.systems) <= set(SYSTEMS)
    assert form.is_live or form.page_input


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (QuestionForm(systems=["nobody"]), "unknown: 'nobody'"),
        (QuestionForm(systems=[]), "0 chosen: choose 1 to 3"),
        (QuestionForm(systems=SYSTEMS), "4 chosen"),
        (QuestionForm(systems=["bm25"], rule="live"), "no search engine was set up"),
        (QuestionForm(systems=["bm25"], rule="<b>"), "unknown: '<b>'"),
    ],
)
def test_a_form_that_was_tampered_with_is_refused(form: QuestionForm, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        checked_form(form, SYSTEMS, may_search=False)
