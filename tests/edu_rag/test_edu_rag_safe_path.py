"""No command imports a module of the current folder, here or in a process that it starts."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from edu_rag.__main__ import root
from edu_rag.processes.safe_path import guard_children, spawning

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "edu_rag" / "mini"
QUESTIONS = "{data}/few.jsonl"
SETTINGS = "{data}/build.toml"
N_QUESTIONS = 6
"""A build of these takes a third of the time of one of all, and starts the same processes."""
SHADOW = """
import os
os.write(os.open({marks!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666), (__name__ + "\\n").encode())
"""
SCRIPT = "import sys\nfrom edu_rag.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""What pip makes of the entry point in pyproject.toml."""
LIMIT_S = 300
SYSTEM = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""
SCORED = ("--dataset", "{data}/dataset")
COMMANDS: Mapping[str, Sequence[str]] = {
    "demo": ("--light", "--out", "{out}"),
    "build": ("--questions", QUESTIONS, "--out", "{data}/dataset", "--workers", "2", SETTINGS),
    "replay": ("{data}/dataset.crawl", "--out", "{out}", "--workers", "2"),
    "crawl rebuild-index": ("{data}/dataset.crawl",),
    "crawl status": ("{data}/dataset.crawl",),
    "dataset audit": ("{data}/dataset", "--store", "{data}/dataset.crawl"),
    "dataset card": ("{data}/dataset",),
    "dataset check": ("{data}/dataset",),
    "dataset diff": ("{data}/dataset", "{data}/dataset"),
    "dataset export": ("{data}/dataset", "--kind", "qa", "--split", "test", "--out", "{out}"),
    "dataset fetch": ("--board", str(ROOT / "leaderboard" / "board.toml"), "--out", "{out}", "--only", "edu-rag-mini"),
    "dataset make": ("open-textbooks", "--sources", "{data}", "--out", "{out}"),
    "dataset mark-evidence": (
        *("{data}/dataset", "--out", "{out}", "--first", "1", "--dry-run"),
        *("--model", "{data}/dataset/manifest.json"),
    ),
    "dataset push": ("{data}/dataset", "nobody/nothing", "--dry-run"),
    "dataset takedown": ("{data}/dataset", "http://none.example/", "--reason", "test", "--dry-run"),
    "new": ("my-new-system", "--in", "{out}"),
    "check": ("{data}/submissions/my-system", *SCORED),
    "run": ("{data}/submissions/my-system", *SCORED, "--no-cache", "--unsafe-no-sandbox"),
    "ask": ("--question-id", "MINI_0001", *SCORED, "{data}/submissions/my-system", "--unsafe-no-sandbox"),
    "try": (*SCORED, "{data}/submissions/my-system", "--unsafe-no-sandbox"),
    "sandbox": (),
    "probe": (
        "{data}/submissions/my-system",
        *SCORED,
        "--probe",
        "no-context",
        "--fresh",
        "--no-cache",
        "--unsafe-no-sandbox",
    ),
    "score": ("{data}/submissions/my-system", *SCORED, "--out", "{data}/results"),
    "import": ("{data}/answers.csv", *SCORED, "--submission", "my-answers", "--in", "{out}"),
    "questions convert": (QUESTIONS,),
    # A dry run takes any file for a model: it hashes the file, and does not load it.
    "questions generate": (
        *("--pages", "{data}/dataset", "--out", "{out}", "--n", "1", "--dry-run"),
        *("--model", "{data}/dataset/manifest.json"),
    ),
    "questions sample": (QUESTIONS, "--n", "2"),
    "questions stats": (QUESTIONS,),
    "judge agreement": (str(ROOT / "no-such-file.jsonl"), str(ROOT / "no-such-file.jsonl")),
    "judge audit": ("--human", str(ROOT / "no-such-file.jsonl")),
    "judge claims": ("{data}/submissions/my-system", *SCORED, "--dry-run"),
    "judge labels": (str(ROOT / "no-such-file.jsonl"),),
    "compare": ("{data}/submissions/my-system", "{data}/submissions/other-system", *SCORED, "--html", "{out}.html"),
    "power": ("--n", "100"),
    "explain": ("{data}/submissions/my-system", "MINI_0001", *SCORED, "--html", "{out}.html"),
    "pr": ("--base", "{data}/base", "--head", "{data}/head", *SCORED, "--report", "{out}.md"),
    "rerun": (
        "{data}/submissions/my-system",
        *SCORED,
        "--sample",
        "5",
        "--reruns",
        "{out}.jsonl",
        "--unsafe-no-sandbox",
    ),
    "verify": ("--results", "{data}/results", "--submissions", "{data}/submissions", *SCORED),
    "board": ("{data}/results", *SCORED, "--submissions", "{data}/submissions", "--out", "{out}", "--workers", "2"),
    "serve": ("{data}/results", "--watch", *SCORED, "--submissions", "{data}/submissions", "--port", "0"),
    "publish": ("{data}/results", "--repo", "nobody/nothing", "--submissions", "{data}/submissions", "--dry-run"),
}
"""Every command with arguments by which it comes to the processes that it starts."""
FIRST = ("build", "run", "score")
"""Commands that make the data of the others, in this order."""
MORE: Mapping[str, tuple[str, Sequence[str]]] = {
    **{
        f"replay by {name}": (
            "replay",
            ("{data}/dataset.crawl", "--out", "{out}", "--workers", "2", "--executor", executor),
        )
        for name, executor in (("datatrove", "local"), ("Ray", "ray"))
    },
    "score everything": ("score", ("--all", "{data}/submissions", *SCORED, "--out", "{out}")),
}
"""Other ways through the same commands that start other processes."""
_LONG = ("demo", "dataset fetch", "replay by datatrove", "replay by Ray")
_SAME_PROCESSES = (
    *("replay", "ask", "probe", "rerun", "pr", "verify", "score everything"),
    *("import", "dataset audit", "dataset make", "questions stats"),
)
"""Commands that start their processes by the same code as `build`, `run`, `score` and `check`."""
_READ_ONLY = (
    *("crawl status", "dataset card", "dataset diff", "dataset export", "dataset takedown", "dataset push"),
    *("judge audit", "judge claims", "judge labels", "explain", "publish", "questions convert", "questions sample"),
    *("questions generate", "judge agreement"),
)
NIGHTLY = (*_LONG, *_SAME_PROCESSES, *_READ_ONLY)
"""Two start other commands and build all questions, executors take long to start. The last start no process: by
day, `dataset check`, `compare` and `power` represent them.
"""
REFUSED = {
    *("dataset make", "dataset takedown", "judge agreement", "judge audit", "judge labels", "pr", "try", "verify"),
}
"""Commands that refuse these arguments, having imported what they need; `try` does where Gradio is not installed."""


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of all commands that do something."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from leaves(below, (*words, name))
    else:
        yield " ".join(words)


class Stranger:
    """A folder in which every module that anybody may import is a trap, and our command to be started in it."""

    def __init__(self, folder: Path) -> None:
        self.marks = folder / "marks"
        self.here = folder / "stranger"
        self.here.mkdir()
        trap = folder / "trap.py"
        trap.write_text(SHADOW.format(marks=str(self.marks)))
        ours = {"edu_rag", "builder", "harness", "baselines", "leaderboard", "publishing", "submissions"}
        names = {*sys.stdlib_module_names, *packages_distributions(), *ours, "sitecustomize", "usercustomize"}
        for name in sorted(name for name in names if name.isidentifier()):
            (self.here / f"{name}.py").hardlink_to(trap)
            (self.here / name).mkdir()  # a package goes before a module of its name
            (self.here / name / "__init__.py").hardlink_to(trap)
        self.script = folder / "bin" / "edu-rag"
        self.script.parent.mkdir()
        self.script.write_text(SCRIPT)

    def imported(self) -> list[str]:
        return sorted(set(self.marks.read_text().split())) if self.marks.exists() else []

    def start(self, words: Sequence[str], **environment: str) -> subprocess.Popen[str]:
        given = {name: value for name, value in os.environ.items() if name not in ("PYTHONSAFEPATH", "PYTHONPATH")}
        given |= {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"} | environment
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.here,
            env=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """Thousands of traps: made once."""
    return Stranger(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def stranger(trapped: Stranger) -> Stranger:
    """The folder of traps, of which none is sprung yet."""
    trapped.marks.unlink(missing_ok=True)
    return trapped


class Ended(NamedTuple):
    """What a command came to."""

    code: int
    said: str
    imported: list[str]


def play(stranger: Stranger, name: str, words: Sequence[str]) -> Ended:
    """Run a command line in the folder of traps, of which none is sprung yet."""
    stranger.marks.unlink(missing_ok=True)
    process = stranger.start([str(stranger.script), *name.split(), *words])
    said = ""
    with process:
        try:
            if name == "serve":
                assert process.stdout is not None
                for line in process.stdout:  # the site is built by a process of its own, then served
                    said += line
                    if "http://" in line:
                        break
                process.send_signal(signal.SIGINT)
            said += process.communicate(timeout=LIMIT_S)[0]
        finally:
            process.kill()
    return Ended(process.returncode, said, stranger.imported())


class Data(NamedTuple):
    """A dataset with its crawl store, two submissions, their results, and the two trees of a pull request.

    The commands that made them are tested as they do: `first` has what they came to.
    """

    folder: Path
    first: Mapping[str, Ended]


@pytest.fixture(scope="module")
def data(trapped: Stranger, tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    system = folder / "submissions" / "my-system"
    system.mkdir(parents=True)
    (system / "submission.toml").write_text('name = "Mine"\nteam = "us"\ncommand = ["python", "system.py"]\n')
    (system / "system.py").write_text(SYSTEM)
    lines = (MINI / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    few = Path(QUESTIONS.format(data=folder))
    few.write_text("".join(lines[:N_QUESTIONS]), encoding="utf-8")
    # Without the marks of the mini benchmark: they name questions that are not among these.
    settings = (MINI / "build.toml").read_text(encoding="utf-8")
    settings = settings.replace('marks = "evidence.jsonl"\n', "").replace(
        'sites = "sites"', f"sites = '{MINI / 'sites'}'"
    )
    Path(SETTINGS.format(data=folder)).write_text(settings, encoding="utf-8")
    first = {name: play(trapped, name, [word.format(data=folder) for word in COMMANDS[name]]) for name in FIRST}
    assert [ended.code for ended in first.values()] == [0] * len(FIRST), first
    shutil.copytree(system, system.with_name("other-system"))
    (folder / "answers.csv").write_text("id,answer\nMINI_0001,a\n")
    for tree in ("base", "head"):
        (folder / tree / "submissions").mkdir(parents=True)
    return Data(folder, first)


def test_every_command_is_tried() -> None:
    assert sorted(COMMANDS) == sorted(leaves(root))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY else name for name in (*COMMANDS, *MORE)],
)
def test_no_command_imports_a_module_of_the_current_folder(
    name: str, stranger: Stranger, data: Data, tmp_path: Path
) -> None:
    if name in FIRST:
        code, said, imported = data.first[name]
    else:
        command, arguments = MORE.get(name, (name, COMMANDS.get(name, ())))
        words = [word.format(data=data.folder, out=tmp_path / "out") for word in arguments]
        code, said, imported = play(stranger, command, words)
    assert imported == [], said
    assert "Traceback" not in said, said
    assert code in ((0, 1) if name in REFUSED else (0,)) or name == "serve", said


def test_the_traps_are_sprung_by_what_starts_workers_without_care(stranger: Stranger) -> None:
    """So the test above would see it: this is how the workers were started before."""
    code = (
        "import multiprocessing\nif __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=print)\n    p.start(); p.join()\n"
    )
    (stranger.script.parent / "careless.py").write_text(code)
    with stranger.start([str(stranger.script.parent / "careless.py")]) as process:
        process.communicate(timeout=LIMIT_S)
    assert "multiprocessing" in stranger.imported()


def test_an_empty_entry_of_the_path_is_not_handed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for given, kept in ((f":{ROOT}:", str(ROOT)), (":", None)):
        monkeypatch.setenv("PYTHONPATH", given)
        guard_children()
        assert (os.environ.get("PYTHONPATH"), os.environ["PYTHONSAFEPATH"]) == (kept, "1")


@pytest.mark.parametrize("path", [":{root}", "{root}:", "{root}"])
def test_an_empty_entry_of_the_path_does_not_bring_the_folder_back(tmp_path: Path, path: str) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "from edu_rag.processes.safe_path import leave_out_current_folder\nleave_out_current_folder()\nprint(sys.path)"
    )
    # A script elsewhere, as the console script is: its own folder comes first, and the empty entry behind it.
    script = tmp_path / "bin" / "program.py"
    script.parent.mkdir()
    script.write_text(code)
    (tmp_path / "here").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "here",
        capture_output=True,
        text=True,
        check=True,
        env=environment | {"PYTHONPATH": path.format(root=ROOT)},
    )
    assert str(tmp_path / "here") not in ast.literal_eval(done.stdout)


def test_workers_of_a_library_s_user_leave_the_folder_out_too(stranger: Stranger) -> None:
    code = (
        "from edu_rag.processes.safe_path import spawning\nif __name__ == '__main__':\n"
        "    p = spawning().Process(target=print, args=('worked',))\n    p.start(); p.join()\n"
    )
    (stranger.script.parent / "user.py").write_text(code)
    with stranger.start([str(stranger.script.parent / "user.py")]) as process:
        said = process.communicate(timeout=LIMIT_S)[0]
    assert (said, stranger.imported()) == ("worked\n", [])
    assert spawning().get_start_method() == "spawn"
