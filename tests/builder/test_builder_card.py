"""The dataset card: its header loads every config, its text is the same each time, and nothing outside is markup."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.documents.dataset_card import dataset_card
from builder.documents.stats import DatasetStats, dataset_stats
from edu_rag.files.card_markdown import outside
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.manifest import FileEntry, read_manifest
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, SearchHit, Span, WebPage, page_id_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
URL = "http://a.example/1"
SOURCES = {
    "questions": 2,
    "engine": "folder",
    "search": {"folder": "<script>alert(1)</script> | [x](javascript:y)", "list": ["`a`", "www.evil.example"]},
    "hits_by_outcome": {"robots": 1, "kept": 3},
}
FILES = {
    "questions/train-00000-of-00001.parquet": FileEntry(sha256="0", rows=1_200),
    "questions/val-00000-of-00002.parquet": FileEntry(sha256="0", rows=1),
    "questions/val-00001-of-00002.parquet": FileEntry(sha256="0", rows=2),
    "gold/val-00000-of-00001.parquet": FileEntry(sha256="0", rows=3),
}


def small_tables() -> dict[str, dict[str, list[Any]]]:
    questions = {
        split: [
            Question(
                question_id=f"{split}1", text="What?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split=split
            )
        ]
        for split in ("train", "val")
    }
    page = WebPage(
        page_id=page_id_of(URL),
        url=URL,
        title="T",
        text="One.",
        sentences=(Span(0, 4),),
        fetched_at=NOW,
        html_sha256="0" * 64,
        extractor="bs4-v1",
    )
    hit = SearchHit(
        question_id="val1",
        page_id=page.page_id,
        url=URL,
        rank=1,
        engine="folder",
        query="What?",
        searched_at=NOW,
        outcome="kept",
    )
    return {
        "questions": questions,
        "hits": {"val": [hit]},
        "pages": {"val": [page]},
        "evidence": {"val": [Evidence(question_id="val1", page_id=page.page_id, start=0, end=4, method="m-v1")]},
        "gold": {split: [Gold(question_id=f"{split}1", answer="a")] for split in questions},
    }


def write(folder: Path, tables: dict[str, dict[str, list[Any]]]) -> None:
    write_dataset(
        folder,
        tables,
        name="mini",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="t",
        config_sha256="0" * 64,
        sources=SOURCES,
        documents=lambda folder, files: {"README.md": dataset_card("mini", "1.0.0", SOURCES, files).encode()},
    )


@pytest.mark.parametrize("left_out", [(), ("hits", "pages", "evidence")])
def test_datasets_loads_every_config_that_the_card_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="NOT RUN: the extra `datasets` is not installed")
    tables = {config: rows for config, rows in small_tables().items() if config not in left_out}
    write(tmp_path / "d", tables)
    names = datasets.get_dataset_config_names(str(tmp_path / "d"))
    assert sorted(names) == sorted(tables)
    for config, splits in tables.items():
        loaded = datasets.load_dataset(str(tmp_path / "d"), config, cache_dir=str(tmp_path / "cache"))
        n_rows = {split: loaded[split].num_rows for split in loaded}
        assert n_rows == {split: len(rows) for split, rows in splits.items()}
    default = datasets.load_dataset(str(tmp_path / "d"), cache_dir=str(tmp_path / "cache"))
    assert default["val"][0]["question_id"] == "val1"
    assert default["val"][0]["choices"] == [{"label": "a", "text": "x"}, {"label": "b", "text": "y"}]


def test_another_content_in_a_folder_of_the_same_name_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="NOT RUN: the extra `datasets` is not installed")
    tables = small_tables()
    for place, question in (("one", "What?"), ("two", "Why?")):
        tables["questions"]["val"] = [replace(tables["questions"]["val"][0], text=question)]
        write(tmp_path / place / "dataset", tables)
        loaded = datasets.load_dataset(
            str(tmp_path / place / "dataset"), "questions", cache_dir=str(tmp_path / "cache")
        )
        assert loaded["val"][0]["text"] == question


def test_the_header_is_what_the_hub_reads() -> None:
    from huggingface_hub import DatasetCard

    data = DatasetCard(dataset_card("mini", "1.0.0", SOURCES, FILES)).data.to_dict()
    assert [config["config_name"] for config in data["configs"]] == ["questions", "gold"]
    assert [config.get("default", False) for config in data["configs"]] == [True, False]
    assert data["configs"][0]["data_files"] == [
        {"split": "train", "path": "questions/train-*.parquet"},
        {"split": "val", "path": "questions/val-*.parquet"},
    ]
    assert data["size_categories"] == ["1K<n<10K"]


def test_counts_are_rows_by_config_and_split() -> None:
    card = dataset_card("mini", "1.0.0", SOURCES, FILES)
    assert "| `questions` | questions with their choices, kind, lesson and flags; no answers | 1,200 | 3 |" in card
    assert "| rows in train | rows in val |" in card


def test_fates_of_hits_are_told_kept_first_with_shares() -> None:
    card = dataset_card("mini", "1.0.0", SOURCES, FILES)
    assert card.index("| kept | 3 | 75.0% |") < card.index("| robots | 1 | 25.0% |")
    assert "this dataset has no pages" in dataset_card("mini", "1.0.0", {}, FILES)


@pytest.mark.parametrize(
    "section",
    ["What is in it", "How it was built", "Licences", "Limits", "How to load it", "How to cite it", "Take-down"],
)
def test_the_card_has_every_section(section: str) -> None:
    assert f"\n## {section}\n" in dataset_card("mini", "1.0.0", SOURCES, FILES)


@pytest.mark.parametrize(("question_id", "n"), [("NDQ_000201", 1), ("DQ_018657", 1), ("NDQ_1", 0), ("X_NDQ_000201", 0)])
def test_questions_of_tqa_are_told_by_their_ids(tmp_path: Path, question_id: str, n: int) -> None:
    tables = small_tables()
    questions = {"val": [replace(tables["questions"]["val"][0], question_id=question_id)]}
    write(tmp_path / "d", {"questions": questions, "gold": {"val": [Gold(question_id=question_id, answer="a")]}})
    assert dataset_stats(tmp_path / "d", read_manifest(tmp_path / "d").files).n_tqa == n


@pytest.mark.parametrize("n_tqa", [0, 1])
def test_tqa_is_named_only_where_some_of_its_questions_are_in_the_dataset(n_tqa: int) -> None:
    card = dataset_card("mini", "1.0.0", SOURCES, FILES, DatasetStats(n_questions=2, n_tqa=n_tqa))
    for words in ("CC BY-NC 3.0", "cite TQA as given above", "TQA is public since 2017"):
        assert (words in card) == (n_tqa > 0)
    assert ("under the terms of their own source. No id is one of TQA's." in card) == (n_tqa == 0)
    assert "- **Pages** belong to their owners." in card


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([("free_text", 0)], ["question-answering"]),
        ([("free_text", 0), ("matching", 4)], ["question-answering", "multiple-choice"]),
    ],
)
def test_the_hub_is_told_of_choices_only_where_there_are_some(
    kinds: list[tuple[str, int]], expected: list[str]
) -> None:
    from huggingface_hub import DatasetCard

    stats = DatasetStats(kinds=Counter(kinds), n_questions=len(kinds))
    card = DatasetCard(dataset_card("mini", "1.0.0", SOURCES, FILES, stats))
    assert card.data.to_dict()["task_categories"] == expected


def test_the_card_is_a_function_of_its_arguments() -> None:
    turned = dict(reversed(FILES.items()))
    assert dataset_card("mini", "1.0.0", SOURCES, FILES) == dataset_card("mini", "1.0.0", SOURCES, turned)


def test_what_comes_from_outside_is_never_markup() -> None:
    card = dataset_card("mini", "1.0.0", SOURCES, FILES)
    assert "<script" not in card
    assert "[x](" not in card
    assert " www.evil" not in card
    assert "&lt;script\\>alert\\(1\\)&lt;/script\\> \\| \\[x\\]\\(javascript\\:y\\)" in card


@given(st.text())
def test_an_outside_string_is_one_line_in_which_every_mark_is_escaped(text: str) -> None:
    shown = outside(text)
    assert "\n" not in shown
    assert "<" not in shown
    assert len(shown.splitlines()) <= 1
    bare = shown.replace("\\\\", "")
    for mark in "`*_[]()#!|~$&@:>":
        assert bare.replace("&lt;", "").replace(f"\\{mark}", "").count(mark) == 0
