"""Reading a stranger's file is linear in its size: twice the file is twice the work, counted in lines of Python run.

Not in seconds: a busy machine would decide. What runs in C (JSON, regular expressions) is measured by
bench/untrusted_files.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from click.testing import CliRunner
from pull_request_trees import hand_in, settings, write_base

from edu_rag.cli.check_command import check
from edu_rag.errors import EduRagError
from edu_rag.files import toml
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_json
from edu_rag.files.nesting import too_deep
from edu_rag.processes import bounded_child
from harness.commands.pr_command import pr
from harness.submission.declared_overlap import FILE_NAME, read_overlap
from harness.submission.folder import SubmissionFile
from harness.submission.predictions_file import faults_in

START = 'name = "x"\nteam = "t"\n'


def lines_run(work: Callable[[], object]) -> int:
    """Lines of Python that are executed by the work, its own refusals included."""
    n = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal n
        n += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    except EduRagError:
        pass
    finally:
        sys.settrace(before)
    return n


def _predictions(fields: Callable[[int], str]) -> Callable[[Path, int], object]:
    def work(folder: Path, n: int) -> object:
        path = folder / "test.jsonl"
        path.write_text(f'{{"question_id":"q1","answer":"b",{fields(n)}}}\n', encoding="utf-8")
        return faults_in(path, {"q1"})

    return work


def _lines(folder: Path, n: int) -> object:
    path = folder / "test.jsonl"
    path.write_text("".join(f'{{"question_id":"q{i}","answer":"b","topic":1}}\n' for i in range(n)), encoding="utf-8")
    return faults_in(path, None)


def _settings(line: Callable[[int], str]) -> Callable[[Path, int], object]:
    def work(folder: Path, n: int) -> object:
        path = folder / "submission.toml"
        path.write_text(START + "".join(map(line, range(n))), encoding="utf-8")
        return toml.read_toml(path, SubmissionFile)

    return work


def _overlap(folder: Path, n: int) -> object:
    (folder / FILE_NAME).write_text("".join(f"q{i}\n" for i in range(n)), encoding="utf-8")
    return read_overlap(folder)


def _record(folder: Path, n: int) -> object:
    (folder / "a.json").write_text("[" * 20 + "[]," * n + "[]" + "]" * 20, encoding="utf-8")
    return read_json(folder / "a.json")


@pytest.mark.parametrize(
    ("work", "n"),
    [
        pytest.param(_predictions(lambda n: ",".join(f'"key{i}":1' for i in range(n))), 2_000, id="unknown keys"),
        pytest.param(_predictions(lambda n: ",".join(['"answer":"c"'] * n)), 2_000, id="repeated keys"),
        pytest.param(_predictions(lambda n: f'"passages":[{",".join(["[]"] * n)}]'), 2_000, id="brackets"),
        pytest.param(_lines, 400, id="faulty lines"),
        pytest.param(_settings(lambda i: f"parts.k{i}.a.b.c.d.e.f.g.h.i.j.k = 1\n"), 200, id="dotted keys"),
        pytest.param(_settings(lambda i: f"[parts.k{i}.a.b.c.d.e]\n"), 200, id="tables"),
        pytest.param(_settings(lambda i: "[[parts.a]]\n"), 200, id="arrays of tables"),
        pytest.param(_settings(lambda i: f"k{i} = 1\n"), 400, id="unknown settings"),
        pytest.param(_overlap, 2_000, id="overlap"),
        pytest.param(_record, 2_000, id="record"),
    ],
)
def test_twice_the_file_is_twice_the_work(
    work: Callable[[Path, int], object], n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_child, "_inside", True)  # what a child does is not counted here
    lines_run(lambda: work(tmp_path, 10))  # what is worked out once and remembered
    once, twice = (lines_run(lambda size=size: work(tmp_path, size)) for size in (n, 2 * n))
    assert once > 0
    assert twice < 2.3 * once, (once, twice)


def test_depth_is_found_without_a_walk_over_the_text() -> None:
    flat = '{"a": "' + "x[{" * 200_000 + '"}'
    assert lines_run(lambda: too_deep(flat)) < 20
    assert not too_deep(flat)
    assert too_deep("[" * 33)
    assert not too_deep("[" * 32 + '"[[[\\"[[["' + "]" * 32)


def test_the_settings_are_parsed_once_in_a_command(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_child, "_inside", True)  # parsed here, where it is counted
    base, head = write_base(tmp_path, tiny, gold)
    said = settings("New team", parts={}).replace("parts = {}", "") + f"# {'a comment ' * 2_000}\n"
    folder = hand_in(head, "new-one", gold, said)
    parsed: list[str] = []
    original = toml.tomllib.loads
    monkeypatch.setattr(toml.tomllib, "loads", lambda text: parsed.append(text) or original(text))
    for command, words in (
        (check, [str(folder), "--dataset", str(tiny.folder)]),
        (pr, ["--base", str(base), "--head", str(head), "--dataset", str(tiny.folder), "--run", "never"]),
    ):
        toml._parsed.cache_clear()
        parsed.clear()
        done = CliRunner().invoke(command, words)
        assert done.exit_code == 0, done.output
        assert parsed.count(said) == 1


def test_a_file_that_is_too_slow_costs_only_itself_in_check(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
) -> None:
    _, head = write_base(tmp_path, tiny, gold)
    folder = hand_in(head, "new-one", gold, settings("New team", accounts=["not a login"]))
    slow = folder / "predictions" / "tiny-1.0.0" / "test-stratified-20-seed-0.jsonl"
    slow.write_text("".join(f'{{"question_id":"q{i}","answer":"b"}}\n' for i in range(500_000)), encoding="utf-8")
    code = f"""
from edu_rag.processes import budget
budget.within_budget.__kwdefaults__["cpu_s"] = 0.2
from edu_rag.__main__ import main
main(["check", {str(folder)!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = done.stderr.strip().splitlines()
    remedy = "shorten it; if it is honest and only slow, set EDU_RAG_READING_CPU_S to more seconds"
    assert done.returncode == 1
    assert f"{slow}: takes more than 0.2 s of processor time to read: {remedy}" in said
    assert any("'not a login' is not a login" in line for line in said)
    assert len(said) == 2
