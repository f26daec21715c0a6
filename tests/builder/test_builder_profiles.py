"""Profiles: every field of the settings, held against what the EDU-RAG paper states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from test_builder_build import SENTENCES, html, question

from builder.build import build
from builder.config import BuildConfig, read_config, to_config
from builder.profiles import EDU_RAG_PAPER, PROFILES
from builder.search.searching import query_of
from edu_rag.errors import ConfigError, FaultsError
from edu_rag.files.dataset import Dataset
from edu_rag.files.typed import to_plain
from edu_rag.records import Question

STATED = {
    "search.engine": "google",
    "search.top": 10,
    "fetch.timeout_s": 5.0,
    "fetch.first_byte_s": 5.0,
    "extract.extractor": "newspaper3k-v1",
    "filter.min_bytes": 512,
}
"""What the paper states (section 3, "Web Page Content")."""
NOT_IN_THE_PAPER = {
    "filter.languages": (),
    "filter.error_pages": False,
    "filter.walls": False,
    "filter.duplicates": False,
    "filter.near_duplicate": 0.0,
    "filter.blocked_hosts": (),
    "filter.leaks": "keep",
    "filter.unfit": "keep",
    "filter.reserved_rights": False,
    "label.mask_pii": False,
    "label.leaks": False,
    "label.evidence": (),
}
"""Filters, masks and labels of ours, which the paper does not have: all are off. A new one must be added here, off."""
UNTOUCHED = {"label.evidence_model", "label.marks", "label.vectors"}
"""Settings of labels that are off, and vectors, which change no row."""


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def paper(path: Path | None = None, **changes: Any) -> BuildConfig:
    return read_config(path, changes, EDU_RAG_PAPER)


@pytest.mark.parametrize(("field", "value"), [*STATED.items(), *NOT_IN_THE_PAPER.items()])
def test_the_papers_profile_sets_each_field_as_the_paper_has_it(field: str, value: object) -> None:
    assert dict(leaves(to_plain(paper())))[field] == value


def test_the_profile_decides_over_every_filter_and_label_and_leaves_all_other_fields_alone() -> None:
    ours, theirs = (dict(leaves(to_plain(config))) for config in (BuildConfig(), paper()))
    decided = STATED.keys() | NOT_IN_THE_PAPER.keys()
    filters = {name for name in ours if name.startswith(("filter.", "label."))}
    assert filters - decided == UNTOUCHED
    assert {name for name in ours if ours[name] != theirs[name]} <= decided
    assert {name for name, _ in leaves(PROFILES[EDU_RAG_PAPER])} == decided


def test_the_query_is_the_question_without_its_choices() -> None:
    choices = {"a": "the sun", "b": "the moon"}
    asked = Question(question_id="q", text=" What  shines? ", choices=choices, kind="multiple_choice", split="val")
    assert query_of(asked) == "What shines?"


def test_the_file_wins_over_the_profile_and_the_command_line_over_both(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text('name = "mine"\n[search]\ntop = 3\n[filter]\nlanguages = ["en"]\nmin_bytes = 512\n')
    config = paper(path, search={"engine": "serper", "engines": []})
    assert (config.name, config.search.engine, config.search.top) == ("mine", "serper", 3)
    assert (config.filter.languages, config.filter.walls) == (("en",), False)
    path.write_text('[search]\nengines = ["serper", "ddgs"]\n[search.folder]\nsites = "web"\n')
    config = paper(path)
    assert (config.search.chain, config.search.top, config.filter.languages) == (("serper", "ddgs"), 10, ())
    assert config.search.folder.sites == str(tmp_path / "web")
    assert paper(path, extract={"extractor": "bs4-v1"}).extract.extractor == "bs4-v1"


def test_a_file_without_the_profile_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text("[search]\ntop = 3\n")
    assert read_config(path, {}) == to_config(
        {"search": {"top": 3, "folder": {"sites": str(tmp_path / "sites")}}}, "test"
    )


def test_an_unknown_profile_and_a_faulty_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--profile: unknown profile 'papr': known are edu-rag-paper"):
        read_config(None, {}, "papr")
    path = tmp_path / "build.toml"
    path.write_text("[search]\ntop = 0\n")
    with pytest.raises(FaultsError, match="top"):
        paper(path)


@pytest.mark.slow
def test_a_build_under_the_profile_drops_a_page_only_for_what_the_paper_drops_it_for(tmp_path: Path) -> None:
    site = tmp_path / "sites" / "one.example"
    site.mkdir(parents=True)
    for topic in SENTENCES:
        (site / f"{topic}.html").write_text(html(topic, 8))
        (site / f"{topic}-again.html").write_text(html(topic, 8))
        (site / f"{topic}-short.html").write_text(html(topic, 1))
    (tmp_path / "q.jsonl").write_text(question(1, "What does the moon orbit?", "the earth", "the sun"))
    # newspaper3k takes seconds to start, and this is about the filters.
    changes = {
        "search": {"engine": "folder", "folder": {"sites": str(tmp_path / "sites")}},
        "extract": {"extractor": "bs4-v1"},
    }
    manifest = build([tmp_path / "q.jsonl"], tmp_path / "ds", read_config(None, changes, EDU_RAG_PAPER))
    fates = {hit.outcome for hits in Dataset(tmp_path / "ds").hits("val").values() for hit in hits}
    assert "kept" in fates
    assert fates <= {"kept", "short", "extraction_failed"}
    assert "leaks" not in manifest.sources
