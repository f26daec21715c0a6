"""What people see: errors of one line, counter lines, the command line's root."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from edu_rag import __version__
from edu_rag.cli.demo import _in_background
from edu_rag.errors import ConfigError, DataError, EduRagError, FaultsError
from edu_rag.progress import Stage, in_words, say

ROOT = Path(__file__).resolve().parents[2]


def edu_rag(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "edu_rag", *arguments], capture_output=True, text=True, env=env, timeout=60, check=False
    )


def test_an_error_is_one_line_of_where_what_remedy_whatever_is_in_it() -> None:
    assert str(DataError("f.jsonl:3", "is\nbroken \r\n", "mend\u2028it")) == "f.jsonl:3: is broken: mend it"
    assert str(EduRagError("here", "no remedy")) == "here: no remedy"
    assert str(EduRagError("a\x1b[2J", "red \u202eder", "\udcff")) == "a\ufffd[2J: red \ufffdder: \ufffd"


def test_faults_are_one_line_each_and_there_is_at_least_one() -> None:
    faults = FaultsError([DataError("f", "one"), DataError("f", "two\nlines")])
    assert str(faults).splitlines() == ["f: one", "f: two lines"]
    with pytest.raises(ValueError, match="at least one"):
        FaultsError([])


class _Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, f"no space for {len(text)} characters")


def test_a_line_of_talk_gives_no_orders_to_a_terminal_and_needs_no_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("score a\x1b]0;x\x07\n::error::b")
    assert capsys.readouterr() == ("", "score a\ufffd]0;x\ufffd\ufffd::error::b\n")
    for broken in (_Full(), None):
        monkeypatch.setattr(sys, "stderr", broken)
        say("lost")
    assert capsys.readouterr().out == ""


def test_a_stage_ends_with_one_line_that_counts_what_happened_to_its_items() -> None:
    stream = io.StringIO()
    with Stage("fetch", total=1_096, stream=stream) as stage:
        stage.add("kept", 1_084)
        stage.add("robots", 5)
        for _ in range(7):
            stage.add("short")
    assert stream.getvalue() == "fetch: 1,096 of 1,096: kept 1,084, dropped 12: short 7, robots 5\n"


def test_a_stage_without_items_and_one_that_breaks_off_still_print_their_line() -> None:
    stream = io.StringIO()
    with Stage("none", total=0, stream=stream):
        pass

    def break_off() -> None:
        with Stage("run", total=3, stream=stream) as stage:
            stage.add("done")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert stream.getvalue().splitlines() == ["none: 0 of 0", "run: 1 of 3: done 1"]


def test_a_stage_that_could_not_begin_leaves_the_word_to_its_error() -> None:
    stream = io.StringIO()
    with pytest.raises(ConfigError), Stage("index", total=1, stream=stream):
        raise ConfigError("engine", "is unknown")
    assert stream.getvalue() == ""


def test_talk_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    assert capsys.readouterr() == ("", "hello\n")


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\nsys.argv = ['edu-rag', '--help']\nfrom edu_rag.__main__ import main\n"
        "try:\n main()\nexcept SystemExit as e:\n assert not e.code\n"
        "heavy = {'numpy', 'pyarrow', 'torch', 'aiohttp', 'scipy', 'datasets', 'trafilatura'} & set(sys.modules)\n"
        "sys.exit(f'heavy: {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "score" in done.stdout
    assert "Start with `edu-rag demo`" in done.stdout


def test_a_misspelt_command_is_wrong_usage_and_gets_a_guess() -> None:
    done = edu_rag("scroe")
    assert done.returncode == 2
    assert "Did you mean 'score'?" in done.stderr


def test_our_errors_print_as_one_line_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from edu_rag import __main__ as root

    @click.command()
    def broken() -> None:
        raise DataError("f.jsonl:3", "answer: unknown", "mend it")

    monkeypatch.setattr(root, "root", broken)
    with pytest.raises(SystemExit) as caught:
        root.main([])
    assert caught.value.code == 1
    assert capsys.readouterr() == ("", "f.jsonl:3: answer: unknown: mend it\n")


def test_the_demo_empties_no_folder_that_it_did_not_write(tmp_path: Path) -> None:
    mine = tmp_path / "submissions" / "mine"
    mine.mkdir(parents=True)
    (tmp_path / "site").mkdir()
    done = edu_rag("demo", "--light", "--out", str(tmp_path))
    assert done.returncode == 1
    assert (
        done.stderr == f"{tmp_path}: is not empty and was not written by the demo: choose another --out, or delete it\n"
    )
    assert mine.is_dir()


def test_a_command_in_the_background_shows_its_output_and_passes_on_its_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with _in_background("--version") as wait:
        assert capsys.readouterr().err.splitlines() == ["", "$ edu-rag --version &"]
        wait()
        assert capsys.readouterr().err.splitlines() == ["", "$ edu-rag --version", f"edu-rag, version {__version__}"]
    with pytest.raises(click.exceptions.Exit) as ended, _in_background("score", "--dataset") as wait:
        wait()
    assert ended.value.exit_code == 2
    assert "requires an argument" in capsys.readouterr().err


def test_a_command_in_the_background_ends_with_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **more: started.append(start(*args, **more)) or started[-1])
    (tmp_path / "index.html").touch()
    with pytest.raises(RuntimeError, match="the board failed"), _in_background("serve", tmp_path):
        raise RuntimeError("the board failed")
    assert started[0].poll() is not None
    with _in_background("serve", tmp_path) as wait:
        started[1].kill()
        with pytest.raises(EduRagError, match="was ended by signal 9"):
            wait()


def test_without_a_terminal_a_stage_prints_the_time_that_is_left_every_minute() -> None:
    stream, now = io.StringIO(), [0.0]
    with Stage("search", total=100, stream=stream, monotonic=lambda: now[0]) as stage:
        for i in range(100):
            now[0] += 5 if i < 50 else 50
            stage.add("done")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "search: 12 of 100, about 7 min left"  # 12 in the first minute
    assert lines[4] == "search: 51 of 100, about 16 min left"
    assert lines[5] == "search: 53 of 100, about 39 min left"  # two in 100 s: the rate of the last lines alone
    assert lines[-1] == "search: 100 of 100: done 100"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 s"),
        (40, "40 s"),
        (89.6, "90 s"),
        (91, "2 min"),
        (5_300, "88 min"),
        (12_000, "3 h 20 min"),
        (3_600 * 50, "50 h 00 min"),
    ],
)
def test_a_time_that_is_left_is_given_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
