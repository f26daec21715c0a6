"""Extractors side by side on real pages with gold text: F1, pages lost to the 0.5 KB rule, pages a second.

Run: `PYTHONPATH=. python bench/extraction.py ../shared/data [--json FILE] [--tools NAME …] [--every N]`. One process,
one core. Ours are timed with all that `extract_page` does (charset, title, licence, language); peers with their own
call on bytes that are already decoded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import re
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

MIN_BYTES = 512
_WORD = re.compile(r"\w+")


class Page(NamedTuple):
    """One page with its gold main text."""

    corpus: str
    name: str
    body: bytes
    gold: str


def aeb_pages(data: Path) -> Iterator[Page]:
    """The Article Extraction Benchmark: 181 news pages."""
    folder = data / "extraction" / "aeb"
    gold = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    for name in sorted(gold):
        yield Page(
            "aeb", name, gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()), gold[name]["articleBody"]
        )


def wcxb_pages(data: Path) -> Iterator[Page]:
    """A sample of WCXB's development split: 250 pages of seven kinds."""
    folder = data / "extraction" / "wcxb-dev"
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        gold = truth.get("main_content") or truth["ground_truth"]["main_content"]
        yield Page("wcxb", path.stem, gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes()), gold)


def siyavula_pages(data: Path) -> Iterator[Page]:
    """The English natural-science pages of a school-book site; gold is the text of its main element."""
    import lxml.html

    for path in sorted((data / "web" / "siyavula" / "natural-sciences").rglob("*.html")):
        body = path.read_bytes()
        main = lxml.html.document_fromstring(body.decode("utf-8").encode()).xpath('//div[@id="contents"]')
        if main:
            yield Page("siyavula", path.stem, body, "\n".join(main[0].itertext()))


def openstax_pages(data: Path) -> Iterator[Page]:
    """OpenStax Physics as framed pages with gold text."""
    folder = data / "web" / "openstax-physics"
    for path in sorted((folder / "gold").glob("*.txt")):
        yield Page("openstax", path.stem, (folder / f"{path.stem}.html").read_bytes(), path.read_text(encoding="utf-8"))


CORPORA = (aeb_pages, wcxb_pages, siyavula_pages, openstax_pages)


def _trafilatura(html: str) -> str:
    import trafilatura

    return str(trafilatura.extract(html) or "")


def _trafilatura_fast(html: str) -> str:
    import trafilatura

    return str(trafilatura.extract(html, fast=True) or "")


def _resiliparse(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=True))


def _newspaper3k(html: str) -> str:
    from newspaper import Article

    article = Article("", language="en", fetch_images=False)
    article.set_html(html)
    article.parse()
    return str(article.text)


def _bs4(html: str) -> str:
    from bs4 import BeautifulSoup

    return str(BeautifulSoup(html, "lxml").get_text())


PEERS: dict[str, Callable[[str], str]] = {
    "trafilatura": _trafilatura,
    "trafilatura fast": _trafilatura_fast,
    "newspaper3k": _newspaper3k,
    "resiliparse": _resiliparse,
    "bs4 get_text": _bs4,
}


def _ours(name: str) -> Callable[[bytes], tuple[str, str]]:
    from builder.extract.extract import Extracted, extract_page

    def run(body: bytes) -> tuple[str, str]:
        found = extract_page(body, None, name)
        return (found.text, found.tool) if isinstance(found, Extracted) else ("", found.reason)

    return run


def _peer(name: str) -> Callable[[bytes], tuple[str, str]]:
    from builder.extract.decode import decode

    def run(body: bytes) -> tuple[str, str]:
        html = decode(body, None)
        try:
            return PEERS[name](html), name
        except Exception as error:  # a tool that raises has lost its page
            return "", type(error).__name__

    return run


def tools() -> dict[str, Callable[[bytes], tuple[str, str]]]:
    """Every tool by name: ours, then the peers as they come."""
    from builder.extract.extract import EXTRACTORS

    return {name: _ours(name) for name in EXTRACTORS} | {name: _peer(name) for name in PEERS}


def shingle_scores(gold: str, text: str) -> tuple[float | None, float | None]:
    """Precision and recall of 4-word shingles, as the Article Extraction Benchmark counts them (None: left out)."""
    true, found = (_shingles(value) for value in (gold, text))
    hit = sum((true & found).values())
    n_true, n_found = sum(true.values()), sum(found.values())
    return hit / n_found if n_found else None, hit / n_true if n_true else None


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    return Counter(tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3))) if words else Counter()


def word_f1(gold: str, text: str) -> float:
    """F1 over the words of both texts, counted, case folded."""
    true, found = (Counter(_WORD.findall(value.casefold())) for value in (gold, text))
    hit = sum((true & found).values())
    return 2 * hit / max(1, sum(true.values()) + sum(found.values()))


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def measure(run: Callable[[bytes], tuple[str, str]], pages: list[Page]) -> dict[str, Any]:
    """One tool over all pages."""
    run(pages[0].body)  # loads its libraries
    shingles: list[tuple[float | None, float | None]] = []
    words: dict[str, list[float]] = {}
    real, lost, answered, took = 0, [], Counter[str](), []
    for page in pages:
        before = time.process_time()
        text, tool = run(page.body)
        took.append(time.process_time() - before)
        answered[tool] += 1
        if page.corpus == "aeb":
            shingles.append(shingle_scores(page.gold, text))
        words.setdefault(page.corpus, []).append(word_f1(page.gold, text))
        if page.corpus != "openstax" and _n_bytes(page.gold) > MIN_BYTES:
            real += 1
            if _n_bytes(text) < MIN_BYTES:
                lost.append(f"{page.corpus}/{page.name}")
    return {
        "aeb_f1": _aeb_f1(shingles),
        "word_f1": {name: statistics.mean(scores) for name, scores in words.items()},
        "real": real,
        "lost": lost,
        "tools": dict(answered),
        "pages_per_s": len(took) / sum(took),
        "slowest_s": max(took),
        "cpu_s": sum(took),
    }


def _aeb_f1(scores: list[tuple[float | None, float | None]]) -> float:
    if not scores:
        return 0.0
    precision = statistics.mean(value for value, _ in scores if value is not None)
    recall = statistics.mean(value for _, value in scores if value is not None)
    return 2 * precision * recall / (precision + recall)


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| tool | AEB F1 | WCXB-dev F1 | Siyavula F1 | OpenStax F1 | real pages lost | pages/s a core | slowest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        f1 = (f"{result['word_f1'].get(corpus, 0):.3f}" for corpus in ("wcxb", "siyavula", "openstax"))
        lost = f"{len(result['lost'])} of {result['real']} ({100 * len(result['lost']) / max(1, result['real']):.1f} %)"
        row = (
            name,
            f"{result['aeb_f1']:.3f}",
            *f1,
            lost,
            f"{result['pages_per_s']:.0f}",
            f"{result['slowest_s']:.2f} s",
        )
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder shared/data")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tools", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="only every Nth page")
    parser.add_argument("--corpora", nargs="*", default=[], help="aeb wcxb siyavula openstax")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chosen = [make for make in CORPORA if not given.corpora or make.__name__.removesuffix("_pages") in given.corpora]
    pages = [page for make in chosen for page in make(given.data)][:: given.every]
    results = {name: measure(run, pages) for name, run in tools().items() if not given.tools or name in given.tools}
    print(table(results))
    for name, result in results.items():
        print(f"\n{name}: answered by {result['tools']}; lost {', '.join(result['lost'][:40])}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
