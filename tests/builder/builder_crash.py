"""A small web and its questions, and builds of it that are killed or fail at a chosen moment: for tests and bench."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CALLS = "pwrite64,write,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,unlink,unlinkat,mkdir,rmdir"
_WORDS = ("granite", "basalt", "quartz", "magma", "crater", "erosion", "glacier", "delta", "fossil", "mineral")
_CALL = re.compile(r"^(\d+) +(\w+)\((?:\d+<([^>]*)>|(?:AT_FDCWD[^,]*, )?\"([^\"]*)\")")
_RUN = """
import sys
from builder_crash import fix_process_id
from edu_rag.__main__ import main
fix_process_id()
main(sys.argv[1:])
"""


def fix_process_id() -> None:
    """Let temporary names hold the process id 1: strace wants to know its paths before the process is there."""
    import edu_rag.files.jsonl

    class Os:
        getpid = staticmethod(lambda: 1)

        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

    edu_rag.files.jsonl.os = Os()  # type: ignore[attr-defined]


def write_web(folder: Path, n_pages: int, n_hosts: int = 6) -> None:
    """Write sites of `n_pages` pages, a question for every `n_hosts` of them, and build.toml."""
    n_topics = -(-n_pages // n_hosts)
    for place in range(n_pages):
        topic, host = divmod(place, n_hosts)
        site = folder / "sites" / f"h{host}.example"
        site.mkdir(parents=True, exist_ok=True)
        chance = random.Random(place)
        text = " ".join(
            f"Note {i} on topic{topic}: {' '.join(chance.choices(_WORDS, k=9))} belong together." for i in range(12)
        )
        page = f"<html lang='en'><title>topic{topic}</title><body><p>{text}</p></body></html>"
        (site / f"p{topic}.html").write_text(page)
    questions = (
        {
            "id": f"Q{topic}",
            "split": "val",
            "type": "Multiple Choice",
            "question": f"What is topic{topic}?",
            "choices": {"a": "quartz", "b": "granite"},
            "answer": "b",
        }
        for topic in range(n_topics)
    )
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    (folder / "build.toml").write_text(
        '[search.folder]\nsites = "sites"\n[fetch]\nworkers = 6\ntimeout_s = 60.0\nfirst_byte_s = 60.0\n'
        '[extract]\nextractor = "bs4-v1"\n[filter]\nduplicates = false\n'
    )


def arguments(web: Path, out: Path, *more: str) -> list[str]:
    """The command line of a build of the web."""
    settings = [str(web / "build.toml"), "--questions", str(web / "questions.jsonl")]
    return [sys.executable, "-c", _RUN, "build", *settings, "--out", str(out), "--workers", "1", *more]


def environment() -> dict[str, str]:
    """The environment of a build: our sources, this module, and no byte code written."""
    path = os.pathsep.join(map(str, (REPOSITORY, Path(__file__).parent)))
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a build to its end."""
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)


def build_here(command: Sequence[str]) -> None:
    """Run an undisturbed build of `arguments` in this process, which takes a fifth of the time of one of its own.

    At night it has one of its own: no cache of this process could hide a loss.
    """
    from click.testing import CliRunner

    from edu_rag.__main__ import root

    if os.environ.get("EDU_RAG_NIGHTLY"):
        alone = run(command)
        if alone.returncode:
            raise RuntimeError(alone.stderr)
        return
    done = CliRunner().invoke(root, command[command.index("build") :], catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(done.output)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def kill_after(command: Sequence[str], seconds: float) -> bool:
    """Start a build, wait until it has its engine, then so many seconds, and kill -9 it; False where it was done."""
    out = Path(command[command.index("--out") + 1])
    log = out.with_name(f"{out.name}.crawl") / "build.log.jsonl"  # a build writes to it when its engine is open
    before = _size(log)
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while _size(log) == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers, if any are left


Rows = Mapping[str, tuple[object, ...]]
_FETCH = "outcome, status, detail, warc_offset, length, digest"


def acknowledged(out: Path) -> Rows:
    """What the store of a dataset has committed: its rows of searches and fetches, without the counters."""
    index = out.with_name(f"{out.name}.crawl") / "index.sqlite3"
    if not index.exists():
        return {}
    # A copy: who opens the index itself brings its journal into it, before the build that resumes has seen it.
    with tempfile.TemporaryDirectory() as folder:
        for path in index.parent.glob(f"{index.name}*"):
            shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / index.name)) as base:
            try:
                searches = base.execute("SELECT 's ' || question_id || engine, state, hits FROM searches").fetchall()
                fetches = base.execute(f"SELECT 'f ' || url, {_FETCH} FROM fetches").fetchall()
            except sqlite3.OperationalError:  # killed before it had tables
                return {}
    return {str(row[0]): row[1:] for row in (*searches, *fetches)}


def n_lost(before: Rows, after: Rows) -> int:
    """Rows that were acknowledged and are gone or not as they were, but for pages that are fetched again by design."""
    return sum(key not in after or not _is_fetched_again(key, row) for key, row in _changed(before, after))


def n_fetched_again(before: Rows, after: Rows) -> int:
    """Rows of pages without an answer that another run has fetched again."""
    return sum(key in after and _is_fetched_again(key, row) for key, row in _changed(before, after))


def _changed(before: Rows, after: Rows) -> list[tuple[str, tuple[object, ...]]]:
    return [(key, row) for key, row in before.items() if after.get(key) != row]


def _is_fetched_again(key: str, row: tuple[object, ...]) -> bool:
    """Whether a row is a page that a later run fetches again: a timeout, or a connection that failed."""
    from builder.fetch.fetched import is_transient

    if not key.startswith("f "):
        return False
    outcome, status, detail = row[:3]
    return is_transient(str(outcome), status if isinstance(status, int) else None, str(detail))


def n_doubled(out: Path) -> int:
    """Pages that are more than once in the WARC file of a dataset's store."""
    from warcio.archiveiterator import ArchiveIterator

    with (out.with_name(f"{out.name}.crawl") / "responses.warc.gz").open("rb") as stream:
        responses = (record.rec_headers for record in ArchiveIterator(stream) if record.rec_type == "response")
        found = Counter(headers.get_header("WARC-Target-URI") for headers in responses)
    return sum(n - 1 for n in found.values())


@dataclass(frozen=True)
class Point:
    """The `when`-th of a system call on a path, counted in each thread by itself."""

    call: str
    path: str
    when: int


def points(command: Sequence[str], below: Path, trace: Path) -> Iterator[Point]:
    """Every writing system call on a path below a folder that an undisturbed run of the command makes."""
    done = run(
        [
            "strace",
            "-f",
            "--seccomp-bpf",
            "-y",
            "-qq",
            "-e",
            f"trace={CALLS}",
            "-e",
            "signal=none",
            "-o",
            str(trace),
            *command,
        ]
    )
    if done.returncode:
        raise RuntimeError(f"the undisturbed run failed: {done.stderr}")
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in trace.read_text().splitlines():
        found = _CALL.match(line)
        path = found and (found[3] or found[4])
        if found and path and Path(path).is_relative_to(below):
            counts.setdefault((found[2], path), Counter())[found[1]] += 1
    for (call, path), by_thread in sorted(counts.items()):
        for when in range(1, max(by_thread.values()) + 1):
            yield Point(call, path, when)


def disturbed(command: Sequence[str], point: Point, fault: str) -> subprocess.CompletedProcess[str]:
    """Run a build with a fault (`signal=KILL`, `error=ENOSPC` …) at one point."""
    inject = f"inject={point.call}:{fault}:when={point.when}"
    options = ["-f", "-qq", "-P", point.path, "-e", f"trace={point.call}", "-e", inject, "-o", "/dev/null"]
    return run(["strace", *options, *command])


def start_again(out: Path, snapshot: Path | None) -> None:
    """Bring a dataset's folder and store into a state: none, or a copy of another dataset's store."""
    for path in (out, out.with_name(f"{out.name}.crawl")):
        shutil.rmtree(path, ignore_errors=True)
    for path in out.parent.glob(f".{out.name}*"):
        shutil.rmtree(path, ignore_errors=True)
    if snapshot is not None:
        shutil.copytree(snapshot, out.with_name(f"{out.name}.crawl"))
