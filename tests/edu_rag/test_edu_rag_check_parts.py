"""`edu-rag check` on systems of parts: one command, all faults at once, each at its line."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from edu_rag.cli.check_command import check
from harness.submission.scaffold import Wishes, scaffold

OWN = {"someone@example.org": "us@example.org", "What it does, in one or two": "It reads, in one or two"}


def parts_folder(place: Path, **changes: str) -> Path:
    folder = scaffold("my-parts", place, Wishes(name="Mine", team="Us", template="parts"))
    path = folder / "submission.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in {**OWN, **changes}.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return folder


def test_a_new_system_of_parts_passes_and_is_described(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path)
    done = CliRunner().invoke(check, [str(folder)])
    assert done.exit_code == 0, done.output
    assert f"{folder}: made of retrieve bm25, chunk windows, fuse rrf, model smollm2-135m, likelihood" in done.output


def test_faults_of_the_settings_and_of_the_parts_come_together_with_their_lines(tmp_path: Path) -> None:
    changes = {'"bm25"]': '"bm52"]', "abstain_below = 0.4": "abstain_below = 4", "top_k = 3": "top_k = 3\nodd = 1"}
    folder = parts_folder(tmp_path, **{"us@example.org": "someone@example.org"}, **changes)
    text = (folder / "submission.toml").read_text(encoding="utf-8")
    line = {word: text[: text.index(word)].count("\n") + 1 for word in ("contact =", "bm52", "odd", "abstain_below")}
    faults = str(CliRunner().invoke(check, [str(folder)]).exception).splitlines()
    assert [fault.removeprefix(f"{folder}/submission.toml:") for fault in faults] == [
        f"{line['contact =']}: contact: still the template's: write your own",
        f"{line['odd']}: parts.odd: unknown field: known are query, chunk, expand, retrieve, candidates, fuse, rerank, "
        "rerank_from, top_k, max_chars, classify, n_classes, graph, graph_keywords, graph_depth, verify, guard, "
        "replace, model",
        f"{line['abstain_below']}: parts.model.abstain_below: is above 1.0: give at most 1.0",
        f"{line['bm52']}: parts.retrieve: there is no 'bm52': did you mean 'bm25'? known are bm25, dense",
    ]


def test_a_table_that_cannot_be_read_is_reported_once(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path)
    (folder / "submission.toml").write_text('name = "a"\nteam = "b"\ncommand = ["python", "system.py"]\nparts = 3\n')
    faults = str(CliRunner().invoke(check, [str(folder)]).exception).splitlines()
    assert [fault.removeprefix(f"{folder}/") for fault in faults] == [
        "submission.toml:4: parts: is a whole number, not a table of names and values: give each value its name"
    ]
