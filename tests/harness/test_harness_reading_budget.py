"""Every command that reads a stranger's files reads them in a child with a budget, also while other threads run.

The files are valid and take a tenth of a second of processor time or more; the budget is a tenth of that, so that no
machine is fast enough to read them. Another file may be refused too: scoring a small one can take as long.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from pull_request_trees import hand_in, settings, write_base

from edu_rag.__main__ import root
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.processes import budget

LITTLE_S = "0.01"
REFUSED = f"takes more than {LITTLE_S} s of processor time to read"
SYSTEM = """
from edu_rag.serve import serve
serve(lambda question: sorted(question.choices)[0])
"""
ROOT = Path(budget.__file__).parents[2]
START = """
import sys, threading
if sys.argv[1] == "thread":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
from edu_rag.__main__ import main
sys.argv[0] = "edu-rag"
main(sys.argv[2:])
"""


@contextlib.contextmanager
def waiting_thread() -> Iterator[None]:
    """A thread of this process that does nothing, while entered: a bounded child is a fresh interpreter then."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class World(NamedTuple):
    """A board with one submission that is slow to read, and what commands are given of it."""

    folder: Path
    dataset: Path

    @property
    def slow(self) -> Path:
        return self.folder / "submissions" / "slow-one"

    @property
    def predictions(self) -> Path:
        return self.slow / "predictions" / "tiny-1.0.0" / "test.jsonl"

    def run(self, *words: str | Path, thread: bool = False, code: int = 0) -> subprocess.CompletedProcess[str]:
        """What a command says as a real process, alone or with a thread that does nothing."""
        done = subprocess.run(
            [sys.executable, "-c", START, "thread" if thread else "alone", *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": "0"},
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    def refused(self, *words: str | Path, thread: bool) -> list[str]:
        """The lines of a command that has too little time, run in this process: that saves the start of one."""
        given = {budget.CPU_VARIABLE: LITTLE_S, "SOURCE_DATE_EPOCH": "0"}
        with contextlib.chdir(self.folder), waiting_thread() if thread else contextlib.nullcontext():
            done = CliRunner(env=given).invoke(root, [str(word) for word in words], prog_name="edu-rag")
        assert done.exit_code == 1, done.output
        if done.exception is not None and not isinstance(done.exception, EduRagError | SystemExit):
            raise done.exception
        error = str(done.exception) if isinstance(done.exception, EduRagError) else ""
        return [*done.output.splitlines(), *error.splitlines()]


def _slow_lines(gold: dict[str, str]) -> str:
    """Valid predictions: a hundred thousand passages, and an escape that sends each line to the strict reader."""
    passages = ",".join(['["p",0,1]'] * 25_000)
    lines = [json.dumps({"question_id": i, "answer": label}) for i, label in sorted(gold.items())]
    slow = [f'{line[:-1]}, "response": "\\ud83d\\ude00", "passages": [{passages}]}}' for line in lines[:4]]
    return "\n".join([*slow, *lines[4:]]) + "\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset, gold: dict[str, str]) -> World:
    folder = tmp_path_factory.mktemp("board")
    made = World(folder, tiny.folder)
    said = settings("New team", command=[sys.executable, "system.py"])
    hand_in(folder, "slow-one", gold, said, code=SYSTEM)
    made.predictions.write_text(_slow_lines(gold), encoding="utf-8")
    hand_in(folder, "other-one", dict.fromkeys(gold, "a"), settings("New team", "Another"))
    made.run("score", "--all", "submissions", "--dataset", made.dataset, "--out", "results")
    lines = [
        {"question": f"Why {i}?", "gold": [f"because {i}"], "answer": "because", "system": "s", "human": i % 2 == 0}
        for i in range(20_000)
    ]
    (folder / "human.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return made


CARDS = [f"results/tiny-1.0.0/test/{name}/scorecard.json" for name in ("slow-one", "other-one")]
SUBMISSIONS = ["submissions/slow-one", "submissions/other-one"]
COMMANDS = {
    "check": ["check", SUBMISSIONS[0]],
    "check a file": ["check", f"{SUBMISSIONS[0]}/predictions/tiny-1.0.0/test.jsonl"],
    "score": ["score", SUBMISSIONS[0], "--json"],
    "rescore": ["score", "--all", "submissions", "--out", "results"],
    "verify": ["verify", "--results", "results", "--submissions", "submissions"],
    "compare": ["compare", *SUBMISSIONS],
    "compare scorecards": ["compare", *CARDS],
    "compare on a page": ["compare", *SUBMISSIONS, "--html", "page.html", "--json"],
    "compare three": ["compare", *SUBMISSIONS, CARDS[1]],
    "power": ["power", *SUBMISSIONS],
    "explain a question": ["explain", SUBMISSIONS[0], "q000"],
    "explain": ["explain", SUBMISSIONS[0]],
}


def _in_turn(names: Iterable[str]) -> list[Any]:
    """Each name alone and with a thread: by day the first alone, the second with one, and so on; at night all."""
    return [
        pytest.param(name, thread, marks=pytest.mark.nightly if thread != bool(i % 2) else (), id=f"{name}-{mode}")
        for i, name in enumerate(names)
        for thread, mode in ((False, "alone"), (True, "thread"))
    ]


@pytest.mark.parametrize(("name", "thread"), _in_turn(COMMANDS))
def test_a_predictions_file_that_spends_its_budget_is_refused_with_one_error(
    name: str, thread: bool, world: World
) -> None:
    words = [*COMMANDS[name], "--dataset", world.dataset]
    said = world.refused(*words, thread=thread)
    (line,) = [line for line in said if "slow-one" in line and "takes more than" in line]
    fault, remedy = f"predictions/tiny-1.0.0/test.jsonl: {REFUSED}", f"set {budget.CPU_VARIABLE} to more seconds"
    beside = f"slow-one/predictions.jsonl: {REFUSED}"
    assert fault in line or (name == "compare scorecards" and beside in line)
    assert remedy in line


SAMPLE = ("rescore",)
NAMES = [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.nightly) for name in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_says_the_same_with_another_thread(name: str, world: World) -> None:
    words = [*COMMANDS[name], "--dataset", world.dataset]
    if name == "rescore":
        world.run(*words)  # what is only said where it is new
    alone, other = (world.run(*words, thread=thread) for thread in (False, True))
    assert alone.stdout == other.stdout != ""
    assert alone.stderr == other.stderr


ALONE, THREAD = pytest.param(False, id="alone"), pytest.param(True, id="thread")
ALONE_BY_DAY = [ALONE, pytest.param(True, id="thread", marks=pytest.mark.nightly)]
THREAD_BY_DAY = [pytest.param(False, id="alone", marks=pytest.mark.nightly), THREAD]


@pytest.mark.parametrize("thread", ALONE_BY_DAY)
def test_human_verdicts_that_spend_their_budget_are_refused(thread: bool, world: World) -> None:
    said = world.refused("judge", "audit", "--human", "human.jsonl", thread=thread)
    assert said[-1].startswith(f"human.jsonl: {REFUSED}: ")
    done = world.run("judge", "audit", "--human", "human.jsonl", "--sample", "50", "--json", thread=thread)
    assert json.loads(done.stdout)["seed"] == 0


@pytest.mark.parametrize("thread", THREAD_BY_DAY)
def test_a_rerun_refuses_the_file_before_anything_is_run(thread: bool, world: World) -> None:
    words = ["rerun", world.slow, "--dataset", world.dataset, "--unsafe-no-sandbox", "--reruns", "reruns.jsonl"]
    said = "\n".join(world.refused(*words, thread=thread))
    assert f"{world.predictions}: {REFUSED}" in said
    assert "run slow-one" not in said


@pytest.mark.nightly
def test_a_rerun_says_the_same_with_another_thread(world: World) -> None:
    words = ["rerun", world.slow, "--dataset", world.dataset, "--unsafe-no-sandbox", "--reruns", "reruns.jsonl"]
    alone, other = (json.loads(world.run(*words, "--json", thread=thread).stdout)["n_same"] for thread in (False, True))
    assert alone == other > 0


@pytest.mark.parametrize("thread", ALONE_BY_DAY)
def test_a_probe_refuses_the_file_it_is_held_against(
    thread: bool, world: World, tmp_path: Path, gold: dict[str, str]
) -> None:
    folder = hand_in(tmp_path, "slow-one", None, settings("T", command=[sys.executable, "system.py"]), code=SYSTEM)
    words = [folder, "--dataset", world.dataset, "--unsafe-no-sandbox"]
    world.run("run", *words)
    main = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    main.write_text(_slow_lines(gold), encoding="utf-8")
    refused = world.refused("probe", *words, "--probe", "no-context", thread=thread)
    assert f"{main}: {REFUSED}" in "\n".join(refused)
    said = world.run("probe", *words, "--probe", "no-context", "--json", thread=thread)
    assert list(json.loads(said.stdout)) == ["no-context"]


@pytest.mark.parametrize("thread", ALONE_BY_DAY)
def test_a_pull_request_with_a_slow_file_is_refused(
    thread: bool, world: World, tmp_path: Path, tiny: Dataset, gold: dict[str, str]
) -> None:
    base, head = write_base(tmp_path, tiny, gold)
    folder = hand_in(head, "new-one", gold, settings("New team"))
    words = ["pr", "--base", base, "--head", head, "--dataset", world.dataset, "--run", "never"]
    (folder / "predictions" / "tiny-1.0.0" / "test.jsonl").write_text(_slow_lines(gold), encoding="utf-8")
    large = world.run(*words, thread=thread).stdout
    assert "| slice |" in large
    assert REFUSED in "\n".join(world.refused(*words, thread=thread))


OTHERS: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": (
        "submission.toml",
        lambda: (
            settings("T", parts={}).replace("parts = {}", "")
            + "".join(f"parts.k{i}.a.b.c.d.e.f.g.h.i.j.k.l.m=1\n" for i in range(2_300))
        ),
    ),
    "overlap": ("overlap.txt", lambda: "".join(f"{i:x}\n" for i in range(160_000))),
    "run record": (
        "predictions/tiny-1.0.0/test.run.json",
        lambda: json.dumps({f"k{i}": i for i in range(60_000)}),
    ),
}


@pytest.mark.parametrize(("kind", "thread"), _in_turn(OTHERS))
def test_what_lies_around_predictions_has_a_budget_too(
    kind: str, thread: bool, world: World, tmp_path: Path, gold: dict[str, str]
) -> None:
    name, text = OTHERS[kind]
    folder = hand_in(tmp_path, "new-one", gold, settings("T"))
    (folder / name).write_text(text(), encoding="utf-8")
    for command in ("check", "score"):
        said = world.refused(command, folder, "--dataset", world.dataset, thread=thread)
        assert f"{folder / name}: {REFUSED}" in "\n".join(said)


def test_a_settings_file_that_is_read_several_times_has_one_budget(tmp_path: Path, world: World) -> None:
    """It is parsed by one child in a command, however often it is asked for, and one that was refused stays refused."""
    folder = hand_in(tmp_path, "new-one", {}, OTHERS["settings"][1]())
    code = f"""
import os
from pathlib import Path
from edu_rag.errors import ConfigError
from edu_rag.files.toml import read_toml
from harness.submission.folder import SubmissionFile
forks, fork = [], os.fork
def counted():
    pid = fork()
    forks.append(pid)
    return pid
os.fork = counted
for cpu_s in ("{LITTLE_S}", "60"):
    os.environ["{budget.CPU_VARIABLE}"] = cpu_s
    for _ in range(3):
        try:
            print(read_toml(Path({str(folder / "submission.toml")!r}), SubmissionFile).team)
        except ConfigError as error:
            print(error.what)
print(len(forks))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [REFUSED] * 6 + ["1"]
