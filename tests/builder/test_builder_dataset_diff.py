"""`edu-rag dataset diff`: what changed between two versions, and the version step that it demands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builder_dataset import FISH, ICE, LAVA, ask, hit, page, tables, write
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from builder.dataset.changes_file import changes_file, diff_lines, printable, summary_of, write_changes
from builder.dataset.diff import STEPS, DatasetDiff, _merged, compare_folders, fits
from edu_rag.__main__ import root
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.names import Step, Version
from edu_rag.records import Evidence

Tables = dict[str, dict[str, list[Any]]]


def compared(tmp_path: Path, change: Callable[[Tables], None], version: str = "9.0.0", **more: Any) -> DatasetDiff:
    made = tables()
    change(made)
    old = write(tmp_path / "old")
    return compare_folders(old, write(tmp_path / "new", made, version=version, **more))


def _nothing(_: Tables) -> None:
    pass


def _text_of_question(made: Tables) -> None:
    made["questions"]["val"][0] = replace(made["questions"]["val"][0], text="What runs down a volcano?")


def _lesson(made: Tables) -> None:
    made["questions"]["val"][0] = replace(made["questions"]["val"][0], lesson="lava", flags=("truncated",))


def _gold(made: Tables) -> None:
    made["gold"]["val"][0] = Gold(question_id="q1", answer="b")


def _question_moves_split(made: Tables) -> None:
    moved = replace(made["questions"]["val"].pop(1), split="test")
    made["questions"]["test"].append(moved)


def _page_text(made: Tables) -> None:
    made["pages"]["val"][1] = page(
        ICE, made["pages"]["val"][1].text.replace("Ice is frozen", "Ice is solid"), flags=("leak_question",)
    )


def _page_gone(made: Tables) -> None:
    made["pages"]["test"] = []
    made["hits"]["test"] = [hit("t1", 1, FISH, outcome="robots")]


def _evidence_gone(made: Tables) -> None:
    made["evidence"]["val"] = []


@pytest.mark.parametrize(
    ("change", "step", "config", "counts"),
    [
        (_nothing, "none", "questions", (0, 0, 0)),
        (_text_of_question, "major", "questions", (0, 0, 1)),
        (_gold, "major", "gold", (0, 0, 1)),
        (_question_moves_split, "major", "questions", (1, 1, 0)),
        (_lesson, "minor", "questions", (0, 0, 1)),
        (_page_text, "minor", "pages", (0, 0, 1)),
        (_page_gone, "minor", "pages", (0, 1, 0)),
        (_evidence_gone, "minor", "evidence", (0, 1, 0)),
    ],
)
def test_each_change_is_counted_in_its_table_and_demands_its_step(
    tmp_path: Path, change: Callable[[Tables], None], step: str, config: str, counts: tuple[int, int, int]
) -> None:
    found = compared(tmp_path, change)
    table = found.tables[config]
    assert (found.step, (table.added, table.removed, table.changed)) == (step, counts)


def test_only_metadata_changed_demands_a_patch(tmp_path: Path) -> None:
    found = compared(tmp_path, _nothing, documents=lambda *_: {"README.md": b"# better\n"})
    assert (found.step, found.metadata) == ("patch", ["README.md"])


def test_text_changes_are_told_in_sentences_and_fates_of_hits_in_pairs(tmp_path: Path) -> None:
    found = compared(tmp_path, _page_text)
    assert (found.sentences_added, found.sentences_removed) == (1, 1)
    assert found.tables["pages"].fields == {"text": 1, "sentences": 1}
    gone = compared(tmp_path, _page_gone)
    assert gone.sentences_removed == len(page(FISH).sentences)
    assert gone.outcomes == {("kept", "robots"): 1}


def test_a_hit_at_another_rank_is_the_same_hit(tmp_path: Path) -> None:
    def swap(made: Tables) -> None:
        first, second, *rest = made["hits"]["val"]
        made["hits"]["val"] = [replace(second, rank=1), replace(first, rank=2), *rest]

    table = compared(tmp_path, swap).tables["hits"]
    assert (table.added, table.removed, table.changed, table.fields) == (0, 0, 2, {"rank": 2})


def test_a_url_that_an_engine_gave_twice_is_two_hits(tmp_path: Path) -> None:
    def once_more(made: Tables) -> None:
        made["hits"]["val"].append(hit("q2", 3, LAVA))

    assert compared(tmp_path, once_more).tables["hits"].added == 1


@pytest.mark.parametrize(
    ("version", "change", "due"),
    [
        ("1.0.1", _page_text, "1.1.0"),
        ("1.1.0", _gold, "2.0.0"),
        ("1.0.0", _gold, "2.0.0"),
        ("0.9.0", _nothing, "1.0.0"),
        ("1.0.0", _evidence_gone, "1.1.0"),
    ],
)
def test_a_version_that_does_not_say_what_changed_is_refused(
    tmp_path: Path, version: str, change: Callable[[Tables], None], due: str
) -> None:
    assert f"at least {due} is due" in str(compared(tmp_path, change, version).fault)


@given(st.tuples(*[st.integers(0, 9)] * 3), st.sampled_from(STEPS), st.sampled_from(STEPS))
def test_a_version_fits_exactly_where_it_makes_the_step_or_a_larger_one(
    parts: tuple[int, int, int], made: Step, demanded: Step
) -> None:
    old = Version(*parts)
    assert Version.parse(str(old)) == old
    assert fits(old, old.raised(made), demanded) == (STEPS.index(made) >= STEPS.index(demanded))


@given(st.dictionaries(st.text(max_size=3), st.integers()), st.dictionaries(st.text(max_size=3), st.integers()))
def test_the_merge_pairs_every_key_of_both_sides_once(old: dict[str, int], new: dict[str, int]) -> None:
    sides = [iter(sorted((key, [(key, value)]) for key, value in side.items())) for side in (old, new)]
    got = [(dict(left), dict(right)) for left, right in _merged(*sides)]
    for key in old.keys() | new.keys():
        left = {key: old[key]} if key in old else {}
        right = {key: new[key]} if key in new else {}
        assert got.count((left, right)) == 1
    assert len(got) == len(old.keys() | new.keys())


def test_write_puts_the_newest_on_top_lists_the_file_and_keeps_the_content_hash(tmp_path: Path) -> None:
    old = write(tmp_path / "old")
    write_changes(old, old, ["- first"])
    made = tables()
    _page_text(made)
    new = write(tmp_path / "new", made, version="1.1.0")
    before = Dataset(new).manifest
    done = CliRunner().invoke(root, ["dataset", "diff", str(old), str(new), "--write"])
    assert done.exit_code == 0, done.output
    text = (new / "CHANGES.md").read_text()
    assert text.index("## 1.1.0 (2026-01-02)") < text.index("## 1.0.0 (2026-01-02)") < text.index("- first")
    assert "- **sentences**: 1 added, 1 removed" in text
    after = Dataset(new).manifest
    assert after.content_sha256 == before.content_sha256
    assert "CHANGES.md" in after.files
    CliRunner().invoke(root, ["dataset", "diff", str(old), str(new), "--write"])
    assert (new / "CHANGES.md").read_text() == text


def test_nothing_is_written_where_the_version_does_not_fit(tmp_path: Path) -> None:
    made = tables()
    _gold(made)
    old, new = write(tmp_path / "old"), write(tmp_path / "new", made, version="1.1.0")
    done = CliRunner().invoke(root, ["dataset", "diff", str(old), str(new), "--write", "--json"])
    assert isinstance(done.exception, DataError)
    values = json.loads(done.stdout)
    assert (values["demands"], values["fits"]) == ("major", False)
    assert not (new / "CHANGES.md").exists()


def test_no_part_of_a_url_is_markup_in_changes_md(tmp_path: Path) -> None:
    def hostile(made: Tables) -> None:
        made["hits"]["val"].append(hit("q2", 3, "http://x.example/<img src=x>[a](b)\x1b[31m", outcome="robots"))

    lines = "\n".join(summary_of(compared(tmp_path, hostile)))
    assert "<img" not in lines
    assert "[a](b)" not in lines
    assert "\x1b" not in lines


@given(st.text(), st.integers(1, 30))
def test_a_string_for_the_terminal_is_short_and_printable(text: str, limit: int) -> None:
    line = printable(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


def test_a_history_that_is_not_ours_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "CHANGES.md").write_bytes(b"\xff\xfe no heading")
    assert changes_file("1.0.0", "2026-01-02", tmp_path, ["- x"]).count(b"## ") == 1
    (tmp_path / "CHANGES.md").write_bytes(b"x" * 5_000_001)
    with pytest.raises(DataError, match="is over"):
        changes_file("1.0.0", "2026-01-02", tmp_path, ["- x"])


def test_evidence_of_another_method_is_another_row(tmp_path: Path) -> None:
    def second(made: Tables) -> None:
        made["evidence"]["val"].append(
            Evidence(question_id="q1", page_id=page(LAVA).page_id, start=0, end=28, method="other-v1")
        )

    table = compared(tmp_path, second).tables["evidence"]
    assert (table.added, table.removed, table.changed) == (1, 0, 0)


def test_a_question_added_is_named(tmp_path: Path) -> None:
    def more(made: Tables) -> None:
        made["questions"]["val"].append(ask("q3", "Is it cold?"))
        made["gold"]["val"].append(Gold(question_id="q3", answer="a"))

    assert compared(tmp_path, more).tables["questions"].examples == {"added": ["val: q3"]}


def test_changes_md_counts_evidence_leaks_and_gold_but_names_none(tmp_path: Path) -> None:
    def tells(made: Tables) -> None:
        made["evidence"]["val"].append(
            Evidence(question_id="q2", page_id=page(ICE).page_id, start=0, end=20, method="other-v1")
        )
        made["leaks"]["val"].clear()
        made["gold"]["val"][1] = Gold(question_id="q2", answer="b")

    found = compared(tmp_path, tells)
    lines = "\n".join(summary_of(found))
    assert "- **evidence**: 1 added" in lines
    assert "- **leaks**: 1 removed" in lines
    assert "- **gold**: 1 changed" in lines
    assert "q2" not in lines  # a published file: of a hidden split this would tell the page with the answer
    assert "q2" in "\n".join(diff_lines(found))  # the maintainer's own terminal


def test_what_only_the_new_folder_tells_is_kept(tmp_path: Path) -> None:
    old = write(tmp_path / "old")
    made = tables()
    _page_text(made)
    new = write(tmp_path / "new", made, version="1.2.0")
    gone, now = "- **taken down**: host one.example (law)", "- **taken down**: host two.example (owner asked)"
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "CHANGES.md").write_bytes(changes_file("1.1.0", "2026-01-01", tmp_path, [gone]))
    (new / "CHANGES.md").write_bytes(changes_file("1.2.0", "2026-01-02", tmp_path / "before", [now]))
    for _ in range(2):
        write_changes(new, old, ["- a diff"])
        text = (new / "CHANGES.md").read_text()
        assert text.index("## 1.2.0") < text.index("- a diff") < text.index(now) < text.index("## 1.1.0")
        assert (text.count(gone), text.count(now), text.count("- a diff")) == (1, 1, 1)
    assert Dataset(new).manifest.version == "1.2.0"
