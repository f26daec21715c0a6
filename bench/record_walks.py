"""Counts the files that a record enters on its way: a question to its dataset, a prediction to its scorecard.

Usage: .venv/bin/python bench/record_walks.py

The script builds a dataset of one question on the mini web (`edu-rag build --engine folder`) and scores one prediction
on it (`edu-rag score`), with a profiler that looks at every call in the project. A file counts if one of its functions
gets the record as an argument or returns it, in any form: its line, a dict, a record of ours, a row, or a collection of
these. It *carries* the record if a function returns or yields it, and else only *reads* it (a check, a hash, a metric).
A verdict is a form of its prediction. A value is a form of a record if it contains all words that only the record has:
a query made from a question does not count. The processes that extract pages are not watched: they get the questions to
find leaks, and write none.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, ValuesView
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from edu_rag.__main__ import main as edu_rag
from edu_rag.bundled import MINI
from edu_rag.scorecard.card import Verdict

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("edu_rag", "builder", "harness", "baselines", "leaderboard", "publishing")
TEXT, CHOICE, RESPONSE = "zyxwa", "zyxwe", "zyxwo"
"""Words that occur nowhere else. A question has two, so that neither its text nor a choice alone counts as it."""
QUESTION_ID = "WALK_1"
QUESTION = {
    "id": QUESTION_ID,
    "split": "test",
    "type": "Multiple Choice",
    "question": f"Which gas do {TEXT} plants take in?",
    "choices": {"a": f"{CHOICE} carbon dioxide", "b": "helium"},
    "answer": "a",
}
PREDICTION = {"question_id": QUESTION_ID, "answer": "a", "response": f"Carbon dioxide, as all {RESPONSE} plants do."}
MAX_DEPTH = 5
"""How deep in collections a record is looked for."""


class Walk(NamedTuple):
    """The files that a record enters, in the order of entry: those that hand it on, and those that only read it."""

    carry: tuple[str, ...]
    read: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.carry)}, and {len(self.read)} more read it"


def holds(value: object, marks: Collection[str], depth: int = MAX_DEPTH) -> bool:
    """Whether a value contains all the marks: it is the record in some form, or a collection that contains it."""
    return all(_contains(value, mark, depth) for mark in marks)


def _contains(value: object, mark: str, depth: int) -> bool:
    if isinstance(value, str):
        return mark in value
    if isinstance(value, bytes | bytearray):
        return mark.encode() in value
    if isinstance(value, Verdict):
        return mark == RESPONSE and value.question_id == QUESTION_ID
    return depth > 0 and any(_contains(item, mark, depth - 1) for item in _items(value))


def _items(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset | ValuesView):
        yield from value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name, None) for field in dataclasses.fields(value))


def _arguments(frame: FrameType) -> Iterator[object]:
    code = frame.f_code
    n = code.co_argcount + code.co_kwonlyargcount
    return (frame.f_locals[name] for name in code.co_varnames[:n] if name in frame.f_locals)


def _profiler(log: int, marks: Collection[str]) -> Callable[[FrameType, str, Any], None]:
    """Writes a line `returns FILE` or `gets FILE` to an open log: children of this process write to it too."""
    folders = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)
    known = set()

    def look(frame: FrameType, event: str, result: Any) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(folders):
            return
        seen = (event, path)
        if seen not in known and any(
            holds(value, marks) for value in ([result] if event == "return" else _arguments(frame))
        ):
            known.add(seen)
            word = "returns" if event == "return" else "gets"
            os.write(log, f"{word} {Path(path).relative_to(ROOT)}\n".encode())

    return look


@contextmanager
def _profiled(path: Path, marks: Collection[str]) -> Iterator[None]:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    look = _profiler(log, marks)
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type] # accepts None, says the documentation
        os.close(log)


def walk(marks: Collection[str], arguments: Sequence[str | Path], log: Path) -> Walk:
    """The walk of the record through one command. Raises RuntimeError if the command fails."""
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        _profiled(log, marks),
    ):
        code = _exit_code([str(item) for item in arguments])
    if code:
        raise RuntimeError(f"edu-rag {arguments[0]} ended with exit code {code}")
    lines = [line.split(" ", 1) for line in log.read_text(encoding="utf-8").splitlines()]
    carry = tuple(dict.fromkeys(path for word, path in lines if word == "returns"))
    return Walk(carry, tuple(dict.fromkeys(path for _, path in lines if path not in carry)))


def _exit_code(arguments: list[str]) -> object:
    before, sys.argv = sys.argv, ["edu-rag", *arguments]
    try:
        edu_rag()
    except SystemExit as end:
        return end.code
    finally:
        sys.argv = before
    return None


def walks() -> tuple[Walk, Walk]:
    """The walk of a question from its file to its row, and of a prediction from its line to the scorecard."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, record in (("questions.jsonl", QUESTION), ("predictions.jsonl", PREDICTION)):
            (folder / file).write_text(json.dumps(record) + "\n", encoding="utf-8")
        options = ("--engine", "folder", "--sites", MINI / "sites", "--name", "walk", "--out", folder / "dataset")
        question = walk(
            [TEXT, CHOICE], ["build", "--questions", folder / "questions.jsonl", *options], folder / "question.log"
        )
        scoring = ["score", folder / "predictions.jsonl", "--dataset", folder / "dataset", "--json"]
        return question, walk([RESPONSE], scoring, folder / "prediction.log")


def main() -> None:
    """Print both walks, one file a line."""
    for title, found in zip(("question to dataset", "prediction to scorecard"), walks(), strict=True):
        print(f"{title}: carried by {found}")
        for word, paths in (("carries", found.carry), ("reads", found.read)):
            print("\n".join(f"  {word:8} {path}" for path in paths))


if __name__ == "__main__":
    main()
