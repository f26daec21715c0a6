"""Measures the flag `unfit` (builder.labels.unfit): hand-made pages, school-science web pages, built datasets, time.

    python bench/unfit_pages.py [--data ../shared/data] [--datasets DIR …] [--extractor resiliparse-v1]

The words and constants were chosen on the first half of the hand-made pages (every other line of the files, from the
first). The second half was not looked at. The author of the rule wrote both halves, so real pages are harder. Time is
process time for each page, without extraction.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from builder.extract.extract import Extracted, extract_page
from builder.labels.unfit import is_unfit, terms
from edu_rag.files.dataset import Dataset
from edu_rag.records import WebPage

MADE = Path(__file__).resolve().parents[1] / "tests" / "builder"


def made_pages(name: str) -> list[str]:
    """Title and text of each hand-made page of a file, in its order."""
    lines = (MADE / name).read_text(encoding="utf-8").splitlines()
    return [f"{page['title']}\n{page['text']}" for page in map(json.loads, lines)]


def web_pages(folder: Path, extractor: str) -> Iterator[str]:
    """Title and text of each page of the web sites that has text."""
    for path in sorted(chain(folder.rglob("*.html"), folder.rglob("*.htm"))):
        found = extract_page(path.read_bytes(), None, extractor)
        if isinstance(found, Extracted):
            yield f"{found.title}\n{found.text}"


def dataset_pages(folder: Path) -> Iterator[str]:
    """Title and text of each page of a dataset."""
    dataset = Dataset(folder)
    for split in dataset.splits():
        for page in dataset.records("pages", split, WebPage):
            yield f"{page.title}\n{page.text}"


def row(name: str, texts: Sequence[str]) -> str:
    """A line of the table."""
    started = time.process_time()
    n_flagged = sum(map(is_unfit, texts))
    spent = time.process_time() - started
    n = len(texts)
    size = sum(map(len, texts)) / n / 1000
    return f"| {name} | {n:,} | {n_flagged:,} | {n_flagged / n:.2%} | {size:.1f} | {1000 * spent / n:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--datasets", type=Path, nargs="*", default=[])
    parser.add_argument("--extractor", default="resiliparse-v1")
    given = parser.parse_args()
    terms()  # the lists are read once, before the clock runs
    unfit, fit = made_pages("unfit_pages.jsonl"), made_pages("fit_pages.jsonl")
    print("| pages | n | flagged | share | thousand characters a page | ms a page |\n|---|---|---|---|---|---|")
    print(row("unfit, hand-made, first half (tuned on)", unfit[::2]))
    print(row("unfit, hand-made, second half", unfit[1::2]))
    print(row("fit, hand-made, first half (tuned on)", fit[::2]))
    print(row("fit, hand-made, second half", fit[1::2]))
    print(row(f"school science, {given.extractor}", list(web_pages(given.data / "web", given.extractor))))
    for folder in given.datasets:
        print(row(f"dataset {folder.name}", list(dataset_pages(folder))))


if __name__ == "__main__":
    main()
