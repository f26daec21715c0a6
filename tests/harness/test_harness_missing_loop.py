"""A script that never reads a question: `check` warns, and `run` names the line where `serve` is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from harness.check_submission import check_submission
from harness.commands.run_command import run
from harness.running.system_log import hint_for
from harness.submission.folder import open_submission
from harness.submission.missing_loop import missing_loop

LOST = "def answer(question):\n    return 'a'\n"


@pytest.mark.parametrize(
    "code",
    [
        f"from edu_rag import serve\n{LOST}serve(answer)\n",
        f"import edu_rag\n{LOST}edu_rag.serve(answer)\n",
        f"from edu_rag import serve as loop\n{LOST}loop(answer)\n",
        "import sys\nfor line in sys.stdin: pass\n",
        "from sys import stdin\nfor line in stdin: pass\n",
        "while True: input()\n",
        "import fileinput\nfor line in fileinput.input(): pass\n",
        "for line in open(0): pass\n",
        "import os\nos.read(0, 100)\n",
        "for line in open('/dev/stdin'): pass\n",
        f"from edu_rag import serve\n{LOST}def main(loop=serve):\n    loop(answer)\nmain()\n",
        f"import edu_rag\n{LOST}loop = edu_rag.serve\nloop(answer)\n",
        "def f(:\n",
        "x = " + "(" * 300 + ")" * 300 + "\n",
        "x = " + "-" * 60_000 + "1\n",
    ],
)
def test_a_script_that_reads_questions_or_cannot_be_parsed_raises_no_warning(
    write_system: Callable[..., Path], code: str
) -> None:
    assert missing_loop(open_submission(write_system(code))) is None


@pytest.mark.parametrize(
    ("code", "line", "name"),
    [
        (LOST, 3, "answer"),
        (f"from edu_rag import serve\n{LOST}", 4, "answer"),
        ("import edu_rag.serve\ndef answer(question):\n    return edu_rag.serve.SystemAnswer('a')\n", 4, "answer"),
        ("def answer(input):\n    return open('0') and input\n", 3, "answer"),
        ("def mine(question):\n    return 'a'\n\n\nprint(mine('x'))\n", 6, "mine"),
        ("", 1, "answer"),
    ],
)
def test_a_script_that_never_reads_one_is_told_where_to_serve(
    write_system: Callable[..., Path], code: str, line: int, name: str
) -> None:
    folder = write_system(code)
    said = missing_loop(open_submission(folder))
    assert said == (
        f"{folder}/system.py:{line}: never calls edu_rag.serve, so that it reads no question: "
        f"end it with `edu_rag.serve({name})`, after `import edu_rag`"
    )
    assert f"WARNING: {said}" in check_submission(folder, None).cautions
    assert check_submission(folder, None, here=False).cautions == []  # CI runs it, and parses no stranger's Python


def test_another_file_of_the_folder_may_serve(write_system: Callable[..., Path]) -> None:
    folder = write_system("import loop\n")
    (folder / "loop.py").write_text("import edu_rag\nedu_rag.serve(print)\n")
    assert missing_loop(open_submission(folder)) is None


def test_a_run_of_it_names_the_line(write_system: Callable[..., Path], tiny: Dataset) -> None:
    words = [str(write_system(LOST)), "--dataset", str(tiny.folder), "--unsafe-no-sandbox"]
    error = CliRunner().invoke(run, words).exception
    assert isinstance(error, SubmissionError)
    assert "not a single question was answered: the process ended with exit code 0" in error.what
    assert "system.py:3: never calls edu_rag.serve" in error.remedy


def test_any_other_system_that_ends_by_itself_gets_the_general_hint() -> None:
    assert hint_for("the process ended with exit code 0", boxed=True).endswith("or read stdin to its end")
    assert "stdin" not in hint_for("the process ended with exit code 3", boxed=True)
