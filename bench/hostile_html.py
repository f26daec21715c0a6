"""Hostile pages through the whole page stage of a build, in its killable workers: extraction, masking, filters,
sentences, leaks, labels. Outcome, processor seconds and memory of each kind; the same for peers (extraction alone).

Run: `PYTHONPATH=. python bench/hostile_html.py [--json FILE] [--peers] [--only WORDS]`. Each peer runs in a separate
process under the same limit of five processor seconds: `hangs` means that they were stopped there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from extraction import PEERS
from hostile_kinds import KINDS

from builder.clock import LOCAL_INSTANT
from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving import page_stage
from builder.deriving.killable_workers import CPU_LIMIT_S, WorkFailure, load_libraries, map_killable
from builder.deriving.page_stage import PageJob, PageSettings
from builder.question_sets.question_files import read_questions

MINI = Path(__file__).resolve().parents[1] / "edu_rag" / "mini" / "questions.jsonl"


class Measured:
    """One page's result: tool or reason, characters, processor seconds, the worker's peak memory in MB."""

    def __init__(self, outcome: str, n_chars: int, cpu_s: float, peak_mb: int) -> None:
        self.outcome, self.n_chars, self.cpu_s, self.peak_mb = outcome, n_chars, cpu_s, peak_mb


def settings() -> PageSettings:
    """The stage with every filter off, so that every label is put on every page, and the mini benchmark's questions."""
    questions, golds = read_questions([MINI], None)
    every_page = FilterConfig(min_bytes=0, languages=(), error_pages=False, walls=False)
    return PageSettings(
        extract=ExtractConfig(), filter=every_page, label=LabelConfig(), questions=questions, golds=golds
    )


def job_of(name: str, body: bytes) -> PageJob:
    """A stored response as the stage gets it."""
    return PageJob(
        url=f"http://hostile.example/{name}",
        body=body,
        charset=None,
        fetched_at=LOCAL_INSTANT,
        html_sha256=hashlib.sha256(body).hexdigest(),
    )


def _measured(job: PageJob) -> Measured:
    before = time.process_time()
    found = page_stage.work(job)
    took = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if found.page is None:
        return Measured(found.detail or found.outcome, 0, took, peak)
    return Measured(found.page.extractor, len(found.page.text), took, peak)


def _workers_s() -> float:
    """The processor time of all workers that have ended: children of the process that they are forked from."""
    load_libraries()
    stat = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/stat").read_text(encoding="ascii")  # type: ignore[attr-defined]
    user, system = stat.rpartition(")")[2].split()[13:15]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ours(only: str = "") -> dict[str, dict[str, Any]]:
    """Runs each kind in a new pool, with a good page before and after it: did the pool go on?"""
    good = b"<html><body><article>" + b"<p>Plants make their food from light, water and air.</p>" * 30 + b"</article>"
    rows: dict[str, dict[str, Any]] = {}
    prepare, retry = partial(page_stage.prepare, settings()), partial(page_stage.retry, ExtractConfig().extractor)
    for name, make in KINDS.items():
        if only not in name:
            continue
        jobs = [(key, job_of(key, body)) for key, body in (("before", good), (name, make()), ("after", good))]
        started = _workers_s()
        found = dict(map_killable(jobs, _measured, prepare, workers=1, retry=retry))
        rows[name] = _row(found, name, _workers_s() - started)
    return rows


def _row(found: dict[str, Any], name: str, pool_s: float) -> dict[str, Any]:
    went_on = all(isinstance(found[key], Measured) and found[key].n_chars > 0 for key in ("before", "after"))
    one = found[name]
    if isinstance(one, WorkFailure):
        return {"outcome": one.reason, "chars": 0, "cpu_s": None, "peak_mb": None, "went_on": went_on, "pool_s": pool_s}
    return {
        "outcome": one.outcome,
        "chars": one.n_chars,
        "cpu_s": one.cpu_s,
        "peak_mb": one.peak_mb,
        "went_on": went_on,
        "pool_s": pool_s,
    }


def peer(text_of: Callable[[str], str], body: bytes) -> str:
    """Runs one peer on one page in a separate process: seconds, or how it ended."""
    html = body.decode("utf-8", "replace")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
        before = time.process_time()
        try:
            text_of(html)
            said = f"{time.process_time() - before:.1f} s"
        except Exception as error:  # what it raises is its answer
            said = type(error).__name__
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 100).decode()
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return said if os.WIFEXITED(status) else "hangs" if os.WTERMSIG(status) == signal.SIGPROF else "crashes"


def table(rows: dict[str, dict[str, Any]], peers: dict[str, dict[str, str]]) -> str:
    """The rows as a Markdown table."""
    names = list(next(iter(peers.values()), {}))
    head = ["page", "answer", "characters", "CPU s", "worker's peak MB", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in rows.items():
        cpu = "killed" if row["cpu_s"] is None else f"{row['cpu_s']:.2f}"
        cells = [name, row["outcome"], f"{row['chars']:,}", cpu, str(row["peak_mb"] or "")]
        cells += peers.get(name, {}).values()
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peers", action="store_true", help="the peers too (some minutes)")
    parser.add_argument("--only", default="", help="kinds whose name holds these words")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rows = ours(given.only)
    peers = {
        name: {tool: peer(text_of, KINDS[name]()) for tool, text_of in PEERS.items()} for name in rows if given.peers
    }
    print(table(rows, peers))
    stopped = [name for name, row in rows.items() if not row["went_on"]]
    print(f"\n{len(rows)} kinds; the pool went on after {len(rows) - len(stopped)}; stopped after: {stopped}")
    slowest = max(CPU_LIMIT_S if row["cpu_s"] is None else row["cpu_s"] for row in rows.values())
    print(f"slowest {slowest:.1f} s; peak {max(row['peak_mb'] or 0 for row in rows.values())} MB")
    if given.json:
        given.json.write_text(json.dumps({"ours": rows, "peers": peers}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
