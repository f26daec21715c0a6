"""A licence and a note for one's own questions: card, Croissant file and export give them instead of TQA's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from builder.build import build, replay
from builder.config import read_config, to_config
from builder.dataset.commands import dataset
from builder.documents.croissant import croissant
from builder.documents.dataset_card import dataset_card
from builder.documents.question_terms import TQA_LICENCE_URL, QuestionTerms, licence_of, terms_in
from builder.store.store_folder import store_folder
from edu_rag.errors import FaultsError
from edu_rag.files.manifest import FileEntry

TOML = """
name = "own"
clock = "2026-01-02T00:00:00Z"
[search]
engine = "none"
[questions]
licence = "CC BY 4.0"
note = "Written by *our* school; cite its report."
"""
FILES = {"questions/val-00000-of-00001.parquet": FileEntry(sha256="0" * 64, rows=1)}


@pytest.mark.slow
def test_card_croissant_and_export_give_the_terms_of_the_settings_and_a_replay_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "build.toml").write_text(TOML)
    # An id of TQA's: what the maintainers say counts.
    values = {"id": "NDQ_000001", "split": "val", "type": "True or False", "question": "Is ice cold?", "answer": "a"}
    (tmp_path / "q.jsonl").write_text(json.dumps(values | {"choices": {"a": "true", "b": "false"}}) + "\n")
    made = build([tmp_path / "q.jsonl"], tmp_path / "ds", read_config(tmp_path / "build.toml", {}))
    card = (tmp_path / "ds" / "README.md").read_text(encoding="utf-8")
    assert "- **Questions and golds**: CC BY 4.0. Written by \\*our\\* school; cite its report.\n" in card
    assert "TQA" not in card
    assert "commercial" not in card
    assert json.loads((tmp_path / "ds" / "croissant.json").read_bytes())["license"] == "CC BY 4.0"
    out = CliRunner().invoke(dataset, ["export", str(tmp_path / "ds"), "--out", str(tmp_path / "p.jsonl")])
    assert "questions and golds: CC BY 4.0 (Written by *our* school; cite its report.)" in out.output
    assert "TQA" not in out.output
    assert replay(store_folder(tmp_path / "ds"), tmp_path / "again") == made


def test_without_terms_the_card_says_what_is_known_and_a_note_alone_names_no_licence() -> None:
    assert "CC BY-NC 3.0" in dataset_card("own", "1.0.0", {}, FILES)
    noted = dataset_card("own", "1.0.0", QuestionTerms(note="Ours.").as_sources(), FILES)
    assert "- **Questions and golds** are under the terms of their own source. Ours.\n" in noted
    assert "CC BY-NC" not in noted
    assert terms_in({"engine": "none"}) is None


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "x" * 301])
def test_a_licence_is_one_line_with_something_on_it(value: str) -> None:
    with pytest.raises(FaultsError, match=r"questions\.licence"):
        to_config({"questions": {"licence": value}}, "test")


@pytest.mark.parametrize(
    ("terms", "has_tqa", "licence"),
    [
        (None, True, TQA_LICENCE_URL),
        (None, False, None),
        (QuestionTerms(note="Ours."), True, None),
        (QuestionTerms(licence="CC BY 4.0"), True, "CC BY 4.0"),
    ],
)
def test_croissant_names_a_licence_only_where_the_card_does(
    terms: QuestionTerms | None, has_tqa: bool, licence: str | None
) -> None:
    assert licence_of(terms, has_tqa=has_tqa) == licence
    made = json.loads(croissant("own", "1.0.0", "2026-01-02T00:00:00Z", FILES, licence=licence))
    assert made.get("license") == licence
