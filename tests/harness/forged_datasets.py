"""Datasets that a forger changed, and every command that scores: each forgery is made on a copy of a dataset's folder.

A consistent forgery has files, rows, content hash and seal that fit one another, as our own code would make them. A
stale one keeps the old content hash: only the hashes of the changed files and the seal are renewed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from edu_rag.__main__ import root
from edu_rag.files.identity import content_sha256, table_sha256, tables_of
from edu_rag.files.manifest import FILE_NAME, FileEntry, Manifest, file_sha256, read_manifest, write_manifest
from edu_rag.files.table_rows import schema

Rows = list[dict[str, Any]]
Change = Callable[[Path], None]


def table_of(folder: Path, config: str) -> Path:
    """The first file of a table; the datasets of these tests have one split and one shard."""
    return min((folder / config).glob("*.parquet"))


def edit(config: str, change: Callable[[Rows], Rows], folder: Path) -> None:
    """Write a table again with other rows."""
    path = table_of(folder, config)
    rows = change(pq.read_table(path).to_pylist())
    pq.write_table(pa.Table.from_pylist(rows, schema=schema(config)), path)


def renew(folder: Path, **fields: Any) -> None:
    """List every file as it is now and seal the manifest; the content hash stays unless it is among `fields`."""
    before = read_manifest(folder)
    files: dict[str, FileEntry] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != FILE_NAME:
            n_rows = pq.read_metadata(path).num_rows if name.endswith(".parquet") else None
            files[name] = FileEntry(sha256=file_sha256(path), rows=n_rows)
    write_manifest(folder, replace(before, files=files, **fields))


def renew_all(folder: Path, **fields: Any) -> None:
    """List every file, hash all rows again and seal: what a forger with our own code would do."""
    renew(folder)
    files = read_manifest(folder).files
    contents = {
        table: table_sha256(folder / name for name in names) for table, names in sorted(tables_of(files).items())
    }
    renew(folder, **({"contents": contents, "content_sha256": content_sha256(contents)} | fields))


def each(**values: Any) -> Callable[[Rows], Rows]:
    """Other values in every row; a function gets the row."""

    def change(rows: Rows) -> Rows:
        return [{**row, **{name: new(row) if callable(new) else new for name, new in values.items()}} for row in rows]

    return change


def other_choices(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """The same labels with the texts in another order."""
    choices = row["choices"]
    texts = [choice["text"] for choice in choices]
    return [
        {"label": choice["label"], "text": text} for choice, text in zip(choices, texts[1:] + texts[:1], strict=True)
    ]


def other_label(gold: Mapping[str, Any]) -> str:
    """Another answer."""
    return "b" if gold["answer"] == "a" else "a"


def in_another_split(folder: Path) -> None:
    """All tables under the name of another split."""
    edit("questions", each(split="exam"), folder)
    for path in sorted(folder.rglob("*.parquet")):
        path.rename(path.with_name("exam-" + path.name.split("-", 1)[1]))


def add_question(rows: Rows) -> Rows:
    """One more question, like the last one."""
    return [*rows, {**rows[-1], "question_id": rows[-1]["question_id"] + "x"}]


ROWS: Mapping[str, Sequence[tuple[str, Callable[[Rows], Rows]]]] = {
    "every gold answer": [("gold", each(answer="a"))],
    "one gold answer": [("gold", lambda rows: [*rows[:-1], {**rows[-1], "answer": other_label(rows[-1])}])],
    "the text of a question": [("questions", lambda rows: [{**rows[0], "text": "What?"}, *rows[1:]])],
    "the order of the choices": [("questions", each(choices=other_choices))],
    "the kind of the questions": [("questions", each(kind="matching"))],
    "the lessons": [("questions", each(lesson="one lesson"))],
    "the flags of the questions": [("questions", each(flags=["truncated"]))],
    "the text of the pages": [("pages", each(text=lambda row: "x" + row["text"][1:]))],
    "the time of the pages": [("pages", each(fetched_at=lambda row: row["fetched_at"] + timedelta(days=1)))],
    "the outcome of the hits": [("hits", each(outcome="robots", page_id=None))],
    "the rank of the hits": [("hits", each(rank=lambda row: 3 - row["rank"]))],
    "the evidence": [("evidence", each(end=lambda row: row["end"] - 1))],
    "questions removed": [("questions", lambda rows: rows[1:]), ("gold", lambda rows: rows[1:])],
    "questions added": [("questions", add_question), ("gold", add_question)],
    "the evidence removed": [("evidence", lambda rows: rows[1:])],
}
"""What is forged in the rows: the tables, and how their rows change."""


def _edited(name: str, folder: Path) -> None:
    for config, change in ROWS[name]:
        edit(config, change, folder)


def _consistent(name: str, folder: Path) -> None:
    _edited(name, folder)
    renew_all(folder)


def _stale(name: str, folder: Path) -> None:
    _edited(name, folder)
    renew(folder)


def _pinned_string(folder: Path) -> None:
    """Other gold with new hashes of all tables, and the content hash that the board pins."""
    pinned = read_manifest(folder).content_sha256
    _edited("every gold answer", folder)
    renew_all(folder, content_sha256=pinned)


def _split(folder: Path) -> None:
    in_another_split(folder)
    renew_all(folder)


def _hidden(folder: Path) -> None:
    """The evidence left out as that of a hidden split would be: rows and content hash still fit."""
    before = read_manifest(folder)
    table_of(folder, "evidence").unlink()
    renew(folder, sources={**before.sources, "hidden_splits": before_splits(before)})


def _published_pages(folder: Path) -> None:
    """Pages changed as if for publishing: the content hash still fits."""
    before = read_manifest(folder)
    _edited("the text of the pages", folder)
    table = f"pages/{before_splits(before)[0]}"
    published = {table: table_sha256([table_of(folder, "pages")])}
    renew(folder, sources={**before.sources, "hidden_splits": before_splits(before)}, published=published)


def before_splits(manifest: Manifest) -> list[str]:
    """The splits of a dataset."""
    return sorted(table.partition("/")[2] for table in manifest.contents if table.startswith("questions/"))


def _card(folder: Path) -> None:
    (folder / "README.md").write_text("# Another card\n", encoding="utf-8")
    renew(folder)


def _more_files(folder: Path) -> None:
    (folder / "NOTES.md").write_text("more\n", encoding="utf-8")
    renew(folder)


def _other_parquet(folder: Path) -> None:
    """The same rows in other bytes: the content hash is the same, the manifest is not."""
    edit("gold", lambda rows: rows, folder)
    renew(folder)


METADATA: Mapping[str, Change] = {
    "the content hash as a string": _pinned_string,
    "the split": _split,
    "the version": partial(renew, version="1.0.1"),
    "the name": partial(renew, name="tiny-two"),
    "the time and the settings": partial(renew, created_at="2001-01-01T00:00:00Z", config_sha256="1" * 64),
    "the sources": partial(renew, sources={"questions": 1}),
    "evidence left out as hidden": _hidden,
    "pages changed as if for publishing": _published_pages,
    "the card": _card,
    "a file more": _more_files,
    "the same rows in other Parquet bytes": _other_parquet,
}
CONSISTENT: Mapping[str, Change] = {name: partial(_consistent, name) for name in ROWS} | METADATA
"""Folders that fit in themselves (but for the content hash as a string): only what the board pins can refuse them."""
STALE: Mapping[str, Change] = {name: partial(_stale, name) for name in ROWS}
"""Folders whose rows are not those of their content hash: opening them must fail, board or not."""


def forged(source: Path, target: Path, change: Change) -> Path:
    """A copy of a dataset's folder, forged."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    change(target)
    return target


def commands(base: Path, head: Path, folder: Path, out: Path) -> dict[str, list[str]]:
    """Every command that scores or shows a dataset under the board of `base`."""
    results, submissions = str(base / "leaderboard" / "results"), base / "submissions"
    dataset = ["--dataset", str(folder)]
    return {
        "score": ["score", str(submissions / "half-right"), *dataset, "--split", "test", "--out", results, "--brief"],
        "score --all": ["score", "--all", str(submissions), *dataset, "--out", results],
        "board": ["board", results, *dataset, "--out", str(out / "site")],
        "verify": ["verify", "--results", results, "--submissions", str(submissions), *dataset],
        "pr": ["pr", "--base", str(base), "--head", str(head), *dataset, "--author", "me", "--run", "never"],
    }


def refusals(words: Mapping[str, list[str]]) -> dict[str, str]:
    """What each command says of a dataset that it refuses; an empty text where it takes it."""
    found = {}
    for name, line in words.items():
        done = CliRunner().invoke(root, line)
        is_ours = done.exit_code == 1 and isinstance(done.exception, Exception)
        found[name] = str(done.exception) if is_ours else ""
    return found
