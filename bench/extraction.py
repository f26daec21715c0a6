"""Extractors side by side on real pages with gold text: F1, pages lost to the 0.5 KB rule, pages a second.

Run: `PYTHONPATH=. python bench/extraction.py ../shared/data [--json FILE] [--tools NAME …] [--every N] [--half N]`.
One process, one core. Ours are timed with all that `extract_page` does (charset, title, licence, language); peers with
their own call on bytes that are already decoded. Pages fall into two halves by the hash of their host: thresholds are
fitted on half 0 (`bench/extraction_fit.py`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import random
import re
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MIN_BYTES = 512
_WORD = re.compile(r"\w+")


class Page(NamedTuple):
    """One page with its gold main text, and the host that it came from."""

    corpus: str
    name: str
    body: bytes
    gold: str
    host: str

    @property
    def half(self) -> int:
        """0 or 1, by the hash of the host: all pages of a host are in one half."""
        return hashlib.sha256(self.host.encode()).digest()[-1] % 2


def aeb_pages(data: Path) -> Iterator[Page]:
    """The Article Extraction Benchmark: 181 news pages."""
    folder = data / "extraction" / "aeb"
    gold = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    for name in sorted(gold):
        body = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield Page("aeb", name, body, gold[name]["articleBody"], urlsplit(gold[name]["url"]).hostname or "")


def wcxb_pages(data: Path) -> Iterator[Page]:
    """A sample of WCXB's development split: 250 pages of seven kinds."""
    folder = data / "extraction" / "wcxb-dev"
    rows = map(json.loads, (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines())
    hosts = {row["file_id"]: urlsplit(row["url"]).hostname or "" for row in rows}
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        gold = truth.get("main_content") or truth["ground_truth"]["main_content"]
        body = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        yield Page("wcxb", path.stem, body, gold, hosts[path.stem])


def siyavula_pages(data: Path) -> Iterator[Page]:
    """The English natural-science pages of a school-book site; gold is the text of its main element."""
    import lxml.html

    for path in sorted((data / "web" / "siyavula" / "natural-sciences").rglob("*.html")):
        body = path.read_bytes()
        main = lxml.html.document_fromstring(body.decode("utf-8").encode()).xpath('//div[@id="contents"]')
        if main:
            yield Page("siyavula", path.stem, body, "\n".join(main[0].itertext()), "siyavula")


def openstax_pages(data: Path) -> Iterator[Page]:
    """OpenStax Physics as framed pages with gold text."""
    folder = data / "web" / "openstax-physics"
    for path in sorted((folder / "gold").glob("*.txt")):
        body = (folder / f"{path.stem}.html").read_bytes()
        yield Page("openstax", path.stem, body, path.read_text(encoding="utf-8"), "openstax-physics")


def sites_pages(data: Path) -> Iterator[Page]:
    """Pages drawn from more school-science sites; gold is the text of the main element that `sites.json` names."""
    from lxml import html as lxml_html

    for site in json.loads((data / "web" / "sites.json").read_text(encoding="utf-8")):
        if " less " in site["main"]:  # no one element
            continue
        paths = sorted((data / "web" / site["folder"]).rglob("*.html"))
        random.Random(3).shuffle(paths)
        found = (page for path in paths if (page := _site_page(site, path, lxml_html)) is not None)
        yield from islice(found, PAGES_OF_A_SITE)


def _site_page(site: Mapping[str, str], path: Path, lxml_html: Any) -> Page | None:
    body = path.read_bytes()
    parser = lxml_html.HTMLParser(encoding="utf-8")
    main = lxml_html.document_fromstring(body, parser=parser).cssselect(site["main"])
    if path.name == "index.html" or not main:
        return None
    for unread in main[0].xpath(".//script | .//style | .//noscript | .//template"):
        unread.drop_tree()
    gold = "\n".join(main[0].itertext())
    return Page("sites", f"{site['folder']}/{path.name}", body, gold, site["folder"]) if len(gold) > 600 else None


PAGES_OF_A_SITE = 14
CORPORA = (aeb_pages, wcxb_pages, siyavula_pages, openstax_pages, sites_pages)


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


class Answer(NamedTuple):
    """What one tool made of one page."""

    page: Page
    text_bytes: int
    tool: str
    took_s: float
    shingles: tuple[float | None, float | None] | None
    f1: float

    @property
    def is_real(self) -> bool:
        """Whether the page is a real one with more text than the 0.5 KB rule asks for."""
        return self.page.corpus in {"aeb", "wcxb", "siyavula"} and _n_bytes(self.page.gold) > MIN_BYTES


def answer(run: Callable[[bytes], tuple[str, str]], page: Page) -> Answer:
    """One tool over one page."""
    before = time.process_time()
    text, tool = run(page.body)
    took = time.process_time() - before
    shingles = shingle_scores(page.gold, text) if page.corpus == "aeb" else None
    return Answer(page, _n_bytes(text), tool, took, shingles, word_f1(page.gold, text))


def measure(runs: Mapping[str, Callable[[bytes], tuple[str, str]]], pages: list[Page]) -> dict[str, list[Answer]]:
    """All tools over all pages, page by page, so that a busy machine slows all of them."""
    for run in runs.values():
        run(pages[0].body)  # loads its libraries
    answers: dict[str, list[Answer]] = {name: [] for name in runs}
    for page in pages:
        for name, run in runs.items():
            answers[name].append(answer(run, page))
    return answers


def summary(answers: list[Answer]) -> dict[str, Any]:
    """The figures of one tool."""
    words: dict[str, list[float]] = {}
    sites: dict[str, list[float]] = {}
    for one in answers:
        words.setdefault(one.page.corpus, []).append(one.f1)
        if one.page.corpus == "sites":
            sites.setdefault(one.page.host, []).append(one.f1)
    took = [one.took_s for one in answers]
    lost = [f"{one.page.corpus}/{one.page.name}" for one in answers if one.is_real and one.text_bytes < MIN_BYTES]
    return {
        "aeb_f1": _aeb_f1([one.shingles for one in answers if one.shingles is not None]),
        "word_f1": {name: statistics.mean(scores) for name, scores in words.items()},
        "sites": {name: statistics.mean(scores) for name, scores in sites.items()},
        "real": sum(one.is_real for one in answers),
        "lost": lost,
        "tools": dict(Counter(one.tool for one in answers)),
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


PEER = "trafilatura"
"""The tool that speed and lost pages are compared with."""


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| tool | AEB F1 | WCXB-dev F1 | Siyavula F1 | OpenStax F1 | more sites F1: median, worst | real pages lost; of"
        " them kept by trafilatura | pages/s a core; against trafilatura | slowest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    peer = results.get(PEER, {"lost": [], "pages_per_s": 0.0})
    for name, result in results.items():
        f1 = (f"{result['word_f1'].get(corpus, 0):.3f}" for corpus in ("wcxb", "siyavula", "openstax"))
        sites = sorted(result["sites"].values()) or [0.0]
        only = len({*result["lost"]} - {*peer["lost"]})
        ratio = f"; {result['pages_per_s'] / peer['pages_per_s']:.2f}" if peer["pages_per_s"] else ""
        row = (
            name,
            f"{result['aeb_f1']:.3f}",
            *f1,
            f"{statistics.median(sites):.3f}, {sites[0]:.3f}",
            f"{len(result['lost'])} of {result['real']}; {only}",
            f"{result['pages_per_s']:.0f}{ratio}",
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
    parser.add_argument("--corpora", nargs="*", default=[], help="aeb wcxb siyavula openstax sites")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the pages of one half of the hosts")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chosen = [make for make in CORPORA if not given.corpora or make.__name__.removesuffix("_pages") in given.corpora]
    pages = [page for make in chosen for page in make(given.data) if given.half in {None, page.half}][:: given.every]
    runs = {name: run for name, run in tools().items() if not given.tools or name in given.tools}
    answers = measure(runs, pages)
    results = {name: summary(found) for name, found in answers.items()}
    untouched = {name: [one for one in found if one.page.half == 1] for name, found in answers.items()}
    if given.half is None and all(untouched.values()):
        print(f"Half 1 of the hosts, which nothing was fitted on ({len(next(iter(untouched.values())))} pages):\n")
        print(table({name: summary(found) for name, found in untouched.items()}), end="\n\nAll pages:\n\n")
    print(table(results))
    for name, result in results.items():
        print(f"\n{name}: answered by {result['tools']}; lost {', '.join(result['lost'][:12])}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
