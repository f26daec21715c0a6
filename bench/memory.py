"""Memory and time of a derivation as the dataset grows: synthetic questions with ten distinct pages each.

Usage: .venv/bin/python bench/memory.py --questions 1000 10000 --pages 10 --extractor cascade-v1

Each size runs in a separate process: it fills a crawl store (searches and responses, no HTTP), then times `replay`
and samples the resident memory of the parent and of its workers. Flat means: the peak does not grow with the questions.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

AT = datetime(2000, 1, 1, tzinfo=UTC)
_STARTS, _MIDDLES, _ENDS = (
    ["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"],
    ["a", "e", "i", "o", "u", "ae", "io"],
    ["n", "r", "s", "t", "l", "rm", "nd"],
)
WORDS = [
    s + m + e + m2 + e2 for s in _STARTS for m in _MIDDLES for e in _ENDS for m2 in _MIDDLES[:3] for e2 in _ENDS[:3]
]
"""Some 7,000 made-up words; frequent ones come first, as in a language (Zipf)."""
CUMULATIVE = list(accumulate(1 / rank for rank in range(1, len(WORDS) + 1)))


def sentence(rng: random.Random) -> str:
    """One made-up sentence of about twelve words."""
    words = rng.choices(WORDS, cum_weights=CUMULATIVE, k=rng.randint(8, 16))
    return " ".join(words).capitalize() + f" {rng.randint(1, 10**6)}."


def html(rng: random.Random, n_paragraphs: int) -> bytes:
    """A page of the paper's length: about 8,000 characters of text at 18 paragraphs."""
    paragraphs = "".join(f"<p>{' '.join(sentence(rng) for _ in range(5))}</p>" for _ in range(n_paragraphs))
    frame = "<nav><ul><li><a href='/'>Home</a></li><li><a href='/all'>All pages</a></li></ul></nav>"
    head = f"<head><title>{sentence(rng)}</title></head>"
    return f"<html>{head}<body>{frame}<main>{paragraphs}</main></body></html>".encode()


def fill(folder: Path, n_questions: int, n_pages: int, n_paragraphs: int, extractor: str) -> None:
    """Make a crawl store as a finished crawl would have left it."""
    from builder.build import write_inputs
    from builder.config import to_config
    from builder.crawl import Round
    from builder.deriving.derive import Inputs
    from builder.fetch import Fetched
    from builder.search.searching import query_of
    from builder.search_results import SearchResult
    from builder.store.crawl_store import CrawlStore
    from edu_rag.gold import Gold
    from edu_rag.records import Question

    # Made-up words are of no language: the filter would drop some.
    settings = {"name": "synthetic", "extract": {"extractor": extractor}, "filter": {"languages": []}}
    config = to_config(settings, "bench")
    questions, golds = [], []
    with CrawlStore(folder, create=True) as store:
        for number in range(n_questions):
            rng = random.Random(number)
            choices = dict(zip("abcd", rng.sample(WORDS, 4), strict=True))
            question = Question(
                question_id=f"q{number:06}",
                text=f"Which {' '.join(rng.sample(WORDS, 6))} is that?",
                choices=choices,
                kind="multiple_choice",
                split="val",
            )
            questions.append(question)
            golds.append(Gold(question_id=question.question_id, answer=rng.choice("abcd")))
            urls = tuple(f"http://host{(number * n_pages + k) % 997}.example/{number}/{k}" for k in range(n_pages))
            result = SearchResult(state="hits", urls=urls)
            store.add_search(question.question_id, "folder", query_of(question), result, AT)
            for url in urls:
                body = html(rng, n_paragraphs)
                store.add_fetch(
                    Fetched(
                        url=url,
                        final_url=url,
                        outcome="kept",
                        fetched_at=AT,
                        status=200,
                        headers={"Content-Type": "text/html; charset=utf-8"},
                        body=body,
                    )
                )
        write_inputs(folder, Inputs(questions=questions, golds=golds, config=config), Round(is_finished=True))


def resident_mb(pid: int) -> float:
    """The resident memory of a process, and of what it shares with others its part; 0 where it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


def children(pid: int) -> Iterator[int]:
    """All processes under one."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, task.read_text(encoding="ascii").split()):
                yield child
                yield from children(child)
        except OSError:
            continue


def measure(n_questions: int, given: argparse.Namespace) -> dict[str, float]:
    """One size: fill a store, replay it, and sample memory four times a second."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "d.crawl"
        fill(store, n_questions, given.pages, given.paragraphs, given.extractor)
        words = ("replay", store, "--out", Path(scratch) / "d", "--workers", given.workers, "--json")
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "edu_rag", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        peaks = {"parent": 0.0, "all": 0.0}

        def watch() -> None:
            while process.poll() is None:
                own = resident_mb(process.pid)
                peaks["parent"] = max(peaks["parent"], own)
                peaks["all"] = max(peaks["all"], own + sum(map(resident_mb, set(children(process.pid)))))
                time.sleep(0.25)

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, _ = process.communicate()
        watcher.join()
        wall = time.monotonic() - started
        if process.returncode:
            raise SystemExit(f"replay failed with {process.returncode}")
        pages = json.loads(out)["pages"]
        return {
            "questions": n_questions,
            "pages": pages,
            "seconds": wall,
            "pages_per_s": pages / wall,
            "parent_mb": peaks["parent"],
            "all_mb": peaks["all"],
        }


def main() -> None:
    """Measure every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, nargs="+", default=[500, 1_000, 10_000])
    parser.add_argument("--pages", type=int, default=10, help="distinct pages a question")
    parser.add_argument("--paragraphs", type=int, default=18, help="paragraphs a page")
    parser.add_argument("--extractor", default="cascade-v1")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    print("| questions | pages | seconds | pages/s | peak resident, parent | peak resident, with workers |")
    print("|---|---|---|---|---|---|")
    for n in given.questions:
        row = measure(n, given)
        rows.append(row)
        print(
            f"| {n:,} | {row['pages']:,.0f} | {row['seconds']:.0f} | {row['pages_per_s']:.0f}"
            f" | {row['parent_mb']:.0f} MB | {row['all_mb']:.0f} MB |",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
