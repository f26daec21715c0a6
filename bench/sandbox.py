"""The sandbox: attacks that succeed in it and in common alternatives, its cost, and the fate of hostile systems.

Usage: .venv/bin/python bench/sandbox.py --runs 100 --json sandbox.json    (as root; some 45 minutes; --runs 1: four)

`--kills 50 --only-kills` kills runs while they start, and counts what is left (some two minutes).

The attacks are those of tests/harness/attacks, the systems those of tests/harness/hostile_systems.py. An attack counts
as a success only if it can be seen from outside: the canary is the one that was planted, the file is on the host.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "harness")]

from attack_arms import arms, run_attacks  # noqa: E402
from attack_world import STATED, a_world, attack_names, marked_processes  # noqa: E402
from hostile_systems import HOSTILE, exam, in_order, mistreated, slug_of, write_hostile  # noqa: E402

USER = 1_000
LIMIT_S = 0.5
CAPS = {
    "memory_bytes": 256 << 20,
    "n_processes": 40,
    "tmp_bytes": 32 << 20,
    "shm_bytes": 8 << 20,
    "file_bytes": 16 << 20,
    "n_files": 64,
}
_FIRST_WORD = ["-c", "print(1, flush=True); import time; time.sleep(60)"]
_ECHO = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "b"}), flush=True)
"""


def attacks() -> list[dict[str, Any]]:
    """Successes of all attacks in every arm."""
    names, rows = attack_names(), []
    for arm, uid, told in [
        *((arm, 0, arm) for arm in arms() if arm != "ours"),
        ("ours", 0, "ours, started by root"),
        ("ours", USER, "ours, started by another user"),
    ]:
        with a_world(uid) as world:
            said = run_attacks(world, arms()[arm], names)
        through = [name for name in names if said[name]["success"]]
        rows.append({"arm": told, "n": len(names), "succeed": len(through), "names": through})
        rows[-1]["gaps"] = said["caps"].get("gaps", [])
    return rows


def _first_word_s(start: Callable[[], tuple[Any, Callable[[], None]]]) -> float:
    """Seconds from a start to the first line."""
    began = time.monotonic()
    stdout, end = start()
    stdout.readline()
    taken = time.monotonic() - began
    end()
    return taken


def _bare(words: Sequence[str]) -> tuple[Any, Callable[[], None]]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def end() -> None:
        process.kill()
        process.wait()

    return process.stdout, end


@contextmanager
def _ours(folder: Path) -> Iterator[Callable[[], tuple[Any, Callable[[], None]]]]:
    import os

    from harness.running.child_system import child_environment
    from harness.sandbox.caps import Caps
    from harness.sandbox.launch import open_sandbox

    with open_sandbox(folder, child_environment(os.environ), Caps()) as sandbox:

        def start() -> tuple[Any, Callable[[], None]]:
            process = sandbox.start(["python", *_FIRST_WORD], 2)
            return process.stdout, process.end

        yield start


def starts(scratch: Path, n: int) -> dict[str, float]:
    """Median milliseconds to the first line, the ways interleaved."""
    usual = list(arms()["usual bwrap line"].words)
    folder = write_hostile(scratch / "starts", {}, "start")
    taken: dict[str, list[float]] = {"plain python": [], "usual bwrap line": [], "ours": []}
    with _ours(folder) as ours:
        for _ in range(n):
            taken["plain python"].append(_first_word_s(lambda: _bare([sys.executable, *_FIRST_WORD])))
            taken["usual bwrap line"].append(_first_word_s(lambda: _bare([*usual, sys.executable, *_FIRST_WORD])))
            taken["ours"].append(_first_word_s(ours))
    return {name: statistics.median(values) * 1_000 for name, values in taken.items()}


def questions(scratch: Path, n: int) -> dict[str, dict[str, float]]:
    """Milliseconds a question of a system that answers at once: its latency, and the whole run's wall time over n."""
    from harness.running.run import Manner, run_submission
    from harness.sandbox.caps import Caps
    from harness.submission.folder import open_submission
    from harness.submission.predictions_file import read_predictions
    from harness.submission.run_record import read_run_record

    dataset, found = exam(scratch / "many", n), {}
    for name, caps in (("plain", None), ("ours", Caps())):
        folder = write_hostile(scratch / f"echo-{name}", {}, "echo")
        (folder / "system.py").write_text(_ECHO)
        path = run_submission(open_submission(folder), dataset, "test", None, Manner(caps=caps, fresh=True))
        said = in_order(dataset, read_predictions(path, [q.question_id for q in dataset.questions("test")]))
        latencies = [p.latency_s for p in said if p.latency_s is not None]
        record = read_run_record(path)
        wall_s = record.wall_s if record else 0.0
        found[name] = {"latency_ms": statistics.median(latencies) * 1_000, "wall_ms": wall_s * 1_000 / n}
    return found


def child(settings: dict[str, Any]) -> None:
    """One run in this process: what was said, how long each question took, and the peak of resident memory."""
    from edu_rag.files.dataset import Dataset
    from harness.running.child_system import Runner
    from harness.running.run import Manner, run_submission
    from harness.sandbox.caps import Caps
    from harness.submission.folder import Limits, open_submission
    from harness.submission.predictions_file import read_predictions

    taken: list[float] = []
    asked = Runner.predict

    def timed(*arguments: Any) -> Any:
        began = time.monotonic()
        try:
            return asked(*arguments)
        finally:
            taken.append(time.monotonic() - began)

    Runner.predict = timed  # type: ignore[method-assign]
    dataset = Dataset(Path(settings["dataset"]))
    manner = Manner(limits=Limits(time_s=LIMIT_S, start_s=60), caps=Caps(**CAPS), fresh=True)
    path = run_submission(open_submission(Path(settings["folder"])), dataset, "test", None, manner)
    said = in_order(dataset, read_predictions(path, [q.question_id for q in dataset.questions("test")]))
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    faults = {int(i): name for i, name in settings["faults"].items()}
    log = path.with_suffix(".log")
    result = {
        "vector": [f"{p.status}/{p.answer}" for p in said],
        "reasons": [p.response for p in said],
        "wrong": mistreated(faults, said),
        "peak_mb": peak / 1_024,
        "over_s": max([s - LIMIT_S for s, p in zip(taken, said, strict=True) if p.status == "timeout"], default=0.0),
        "log_bytes": log.stat().st_size if log.exists() else 0,
    }
    print(json.dumps(result))


def in_a_child(scratch: Path, dataset: Path, faults: dict[int, str], folder: Path) -> dict[str, Any]:
    """A run in a separate process, and what it left behind."""
    mark = folder.name + scratch.name
    write_hostile(folder, faults, mark)
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o755)
    settings = {"dataset": str(dataset), "folder": str(folder), "faults": faults}
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps(settings)],
        capture_output=True,
        check=False,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
    )
    if done.returncode:
        raise SystemExit(f"{list(faults.values())}: {done.stderr[-2_000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result | {"left": len(marked_processes(mark)), "files": len(list(temporary.iterdir()))}


def hostile(scratch: Path) -> list[dict[str, Any]]:
    """Each hostile system on eight questions, and an honest one."""
    dataset = exam(scratch / "eight", 8).folder
    rows = []
    for name in [None, *HOSTILE]:
        folder = scratch / "hostile" / (slug_of(name) if name else "honest")
        rows.append({"name": name or "(honest)"} | in_a_child(scratch, dataset, {3: name} if name else {}, folder))
        rows[-1]["answered"] = sum(said.startswith("ok/") for said in rows[-1]["vector"])
    return rows


def repeated(scratch: Path, n_runs: int) -> dict[str, Any]:
    """All of them in one run after another: how many different vectors of verdicts."""
    faults = {2 * i + 1: name for i, name in enumerate(HOSTILE)}
    dataset = exam(scratch / "all", 2 * len(faults) + 1).folder
    runs = [in_a_child(scratch, dataset, faults, scratch / "repeated" / f"run-{i}") for i in range(n_runs)]
    vectors = [tuple(run["vector"]) for run in runs]
    differing = sorted(
        {faults.get(i, "an honest answer") for i in range(len(vectors[0])) if len({v[i] for v in vectors}) > 1}
    )
    return {
        "runs": n_runs,
        "vectors": len(set(vectors)),
        "differing": differing,
        "left": sum(r["left"] for r in runs),
        "over_s": max(run["over_s"] for run in runs),
        "peak_mb": max(run["peak_mb"] for run in runs),
    }


def kills(scratch: Path, n: int) -> dict[str, Any]:
    """Runs that are killed while they start, by what the kill was aimed at: how many, and how many left a process."""
    folder = write_hostile(scratch / "sleeper", {}, "sleeper")
    (folder / "system.py").write_text("import time\ntime.sleep(600)\n")
    dataset = exam(scratch / "killed", 4).folder
    run = [sys.executable, "-P", "-m", "edu_rag", "run", str(folder), "--dataset", str(dataset), "--no-cache"]
    script = str(ROOT / "tests" / "harness" / "aimed_kills.py")
    done = subprocess.run(
        [sys.executable, script, str(n), *run],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "EDU_RAG_CACHE": str(scratch / "cache")},
    )
    found: dict[str, list[int]] = {}
    for aim, left in (line.split(":") for line in done.stdout.splitlines()):
        found.setdefault(aim, []).append(bool(left))
    return {aim: {"kills": len(those), "left": sum(those)} for aim, those in found.items()}


def _print_kills(found: dict[str, Any]) -> None:
    print("\n| runs killed (-9) while this starts | kills | left a process |\n|---|---|---|")
    for aim, row in found.items():
        print(f"| {aim} | {row['kills']} | {row['left']} |")
    print(f"| all | {sum(row['kills'] for row in found.values())} | {sum(row['left'] for row in found.values())} |")


def _print_attacks(rows: Sequence[dict[str, Any]]) -> None:
    print(f"Attacks that succeed, of {rows[0]['n']}:\n\n| how the system is run | succeed |\n|---|---|")
    for row in rows:
        print(f"| {row['arm']} | {row['succeed']} |")
    for row in rows[-2:]:
        if row["names"]:
            stated = " (stated in SECURITY.md)" if set(row["names"]) <= set(STATED) else ""
            print(f"\n{row['arm']}: {', '.join(row['names'])}{stated}. {'; '.join(row['gaps'])}".strip())


def _print_cost(start: dict[str, float], asked: dict[str, dict[str, float]]) -> None:
    print("\n| | start to the first line, p50 | latency of a question, p50 | run, a question |\n|---|---|---|---|")
    for name, key in (("plain python", "plain"), ("usual bwrap line", ""), ("ours", "ours")):
        one = f"{asked[key]['latency_ms']:.2f} ms | {asked[key]['wall_ms']:.2f} ms" if key else "|"
        print(f"| {name} | {start[name]:.0f} ms | {one} |")


def _print_hostile(rows: Sequence[dict[str, Any]], again: dict[str, Any]) -> None:
    bad = rows[1:]
    print(f"\n{len(bad)} hostile systems, eight questions each, {LIMIT_S} s a question:\n\n| | |\n|---|---|")
    for told, value in (
        ("fewer than seven answered", sum(row["answered"] < 7 for row in bad)),
        ("status or reason that does not fit", sum(bool(row["wrong"]) for row in bad)),
        ("longest over the time limit", f"{max(row['over_s'] for row in bad) * 1_000:.0f} ms"),
        ("processes left", sum(row["left"] for row in bad)),
        ("files left", sum(row["files"] for row in bad)),
        ("peak of the harness", f"{max(row['peak_mb'] for row in bad):.0f} MB"),
        ("the same, with an honest system", f"{rows[0]['peak_mb']:.0f} MB"),
        ("largest log", f"{max(row['log_bytes'] for row in bad) / 1e6:.1f} MB"),
    ):
        print(f"| {told} | {value} |")
    for row in bad:
        for wrong in row["wrong"]:
            print(f"\n- {row['name']}: {wrong}")
    differing = f" (differing: {', '.join(again['differing'])})" if again["differing"] else ""
    print(
        f"\nAll of them in one run, {again['runs']} times: different vectors of verdicts: {again['vectors']}"
        f"{differing}; longest over the limit {again['over_s'] * 1_000:.0f} ms, processes left {again['left']}."
    )


def main() -> None:
    """Measure all of it, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="repetitions of the run with all hostile systems")
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=50, help="runs that are killed while they start")
    parser.add_argument("--only-kills", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-bench-")))
        scratch.chmod(0o755)
        found: dict[str, Any] = {"kills": kills(scratch, given.kills)}
        if given.only_kills:
            _print_kills(found["kills"])
            return
        found["attacks"] = attacks()
        _print_attacks(found["attacks"])
        found |= {"starts_ms": starts(scratch, given.starts), "questions": questions(scratch, given.questions)}
        _print_cost(found["starts_ms"], found["questions"])
        found |= {"hostile": hostile(scratch), "repeated": repeated(scratch, given.runs)}
        _print_hostile(found["hostile"], found["repeated"])
        _print_kills(found["kills"])
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
