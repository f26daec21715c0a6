"""What the quick commands may not import, and how `edu-rag --help` lists the commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edu_rag.__main__ import COMMANDS, SECTIONS
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "numpy",
    "pyarrow",
    "scipy",
    "pandas",
    "jinja2",
    "requests",
    "aiohttp",
    "ir_measures",
    "pytrec_eval",
    "datasets",
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "nltk",
    "asyncio",
    "lxml",
    "tqdm",
)
OWN = (
    "edu_rag.files.board_file",
    "edu_rag.scorecard.card",
    "harness.check_submission",
    "harness.judging",
    "harness.own_packages",
    "harness.reading",
    "harness.running",
    "harness.sandbox",
)
"""Our own modules that take longest to import: commands need them only after their first line."""
OF_PREDICTIONS = ("edu_rag.files.dataset", "edu_rag.scorecard.card", "harness.importing", "harness.reading")
"""What a check of a submission without predictions and without a dataset does not need."""
PROBE = """
import sys
from edu_rag.__main__ import main
try:
    main(sys.argv[1:])
finally:
    print("LOADED", *sorted(name for name in {heavy!r} if name in sys.modules))
"""
FIRST_LINE = """
import os, sys
from edu_rag.__main__ import main

class Terminal:
    def write(self, text):
        found = sorted(name for name in {heavy!r} if name in sys.modules)
        os.write(1, " ".join(["LOADED", *found]).encode())
        os._exit(0)

    flush = isatty = lambda self: False

sys.stdout = sys.stderr = Terminal()
main(sys.argv[1:])
"""
PREDICTIONS = '{"question_id": "q1", "answer": "b"}\n{"question_id": "q2", "answer": null, "confidence": 0.5}\n'


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "my-system"
    place = folder / "predictions" / "tiny-1.0.0"
    place.mkdir(parents=True)
    (place / "test.jsonl").write_text(PREDICTIONS)
    (folder / "submission.toml").write_text('name = "Mine"\nteam = "us"\n')
    return folder


def loaded(*words: str, probe: str = PROBE, folder: Path = ROOT, heavy: tuple[str, ...] = HEAVY) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", probe.format(heavy=heavy), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stdout.rpartition("LOADED")[2].strip() + done.stderr


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"], ["power", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    assert loaded(*words) == (0, "")


def test_checking_a_submission_without_a_dataset_loads_nothing_heavy(submission: Path) -> None:
    assert loaded("check", str(submission)) == (0, "")
    assert loaded("check", str(submission / "predictions" / "tiny-1.0.0" / "test.jsonl")) == (0, "")


def test_checking_a_runnable_submission_loads_nothing_that_reads_predictions(submission: Path) -> None:
    shutil.rmtree(submission / "predictions")
    (submission / "submission.toml").write_text('name = "Mine"\nteam = "us"\ncommand = ["true"]\n')
    assert loaded("check", str(submission), heavy=HEAVY + OF_PREDICTIONS) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ["board", str(ROOT / "leaderboard" / "results"), "--out", "site"],
        ["judge", "labels", "none.csv"],
        ["dataset", "card", "none"],
        ["serve", "none"],
        ["power", "--difference", "0.03"],
        ["sandbox"],
        ["crawl", "status", "none"],
        ["dataset", "check", "none"],
        ["dataset", "diff", "none", "none"],
        ["compare", "none", "none"],
    ],
)
def test_nothing_heavy_is_loaded_before_the_first_line_of_a_command(words: list[str], tmp_path: Path) -> None:
    assert loaded(*words, probe=FIRST_LINE, folder=tmp_path) == (0, "")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset whose rows were verified once: only that needs pyarrow."""
    folder = tmp_path_factory.mktemp("opened") / "dataset"
    asked = Question(
        question_id="q1", text="Is it?", choices={"a": "yes", "b": "no"}, kind="multiple_choice", split="test"
    )
    write_dataset(
        folder,
        {"questions": {"test": [asked]}, "gold": {"test": [Gold(question_id="q1", answer="a")]}},
        name="tiny",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# tiny\n"},
    )
    Dataset(folder)
    return folder


@pytest.mark.parametrize("command", ["run", "score", "explain", "compare"])
def test_a_command_says_what_it_begins_before_it_loads_anything_heavy(
    command: str, opened: Path, submission: Path
) -> None:
    one = str(submission / "predictions" / "tiny-1.0.0" / "test.jsonl")
    (submission / "submission.toml").write_text('name = "Mine"\nteam = "us"\ncommand = ["true"]\n')
    systems = {"run": [str(submission)], "compare": [one, one]}.get(command, [one])
    heavy = HEAVY + OWN
    assert loaded(command, *systems, "--dataset", str(opened), probe=FIRST_LINE, heavy=heavy) == (0, "")


def test_a_terminal_that_lacks_a_letter_gets_its_number_and_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", "compare", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        timeout=60,
        check=True,
    )
    assert "A B [C \\u2026]" in done.stdout


def test_help_lists_every_command_in_its_section() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(name for section in SECTIONS.values() for name in section) == sorted(COMMANDS)
    for title, commands in SECTIONS.items():
        listed = done.stdout.split(f"\n{title}:\n", 1)[1].split("\n\n", 1)[0]
        assert [line.split()[0] for line in listed.splitlines()] == list(commands)
