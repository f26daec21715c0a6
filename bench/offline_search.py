"""The offline engines side by side on the same pages: known items found, gold answers found, time to index and to ask.

Run: `PYTHONPATH=. python bench/offline_search.py ../shared/data [--json FILE] [--questions N]`. One process, one core.
The pages are two school-science sites, as folders (`folder`: SQLite FTS5) and packed into a ZIM file (`zim`: libzim's
Xapian index). A known item is a page, its query ten words from its middle; a gold answer is found where its text is on
one of a question's ten pages.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builder.question_sets.question_files import read_questions
from builder.search import SearchEngine
from builder.search.engines.folder_engine import FolderEngine, indexed_pages
from builder.search.engines.zim_engine import ZimEngine
from builder.search.searching import query_of
from builder.search.settings import FolderConfig, ZimConfig
from builder.sites.site_folders import Site, read_sites

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "builder"))
HOSTS = {"siyavula": "siyavula.example", "openstax-physics": "openstax.example"}
ZIM_HOST = "zim.example"


def two_sites(folder: Path, data: Path) -> Path:
    """A folder with links to the two sites that are searched: the data has more of them."""
    for name in HOSTS:
        (folder / name).symlink_to((data / "web" / name).resolve())
    return folder.resolve()


def pack(sites: list[Site], path: Path) -> None:
    """All pages of the sites as one ZIM file; their URLs without the scheme are its paths."""
    from builder_zim import write_zim

    articles = {
        url.removeprefix("http://"): (url, file.read_text(encoding="utf-8", errors="replace"))
        for site in sites
        for url, file in site.pages()
    }
    write_zim(path, articles)


def known_items(texts: dict[str, str]) -> list[tuple[str, str]]:
    """(query, page) for every page of at least 200 words."""
    items = []
    for url, text in sorted(texts.items()):
        words = text.split()
        if len(words) >= 200:
            items.append((" ".join(words[len(words) // 2 :][:10]), url))
    return items


def gold_questions(data: Path, n: int) -> list[tuple[str, str]]:
    """(query, text of the gold choice) of multiple-choice questions of TQA's validation split, sampled by seed 0."""
    questions, golds = read_questions([data / "tqa" / "val" / "questions.jsonl"], None)
    answers = {gold.question_id: gold.answer for gold in golds}
    pairs = [
        (query_of(question), question.choices[str(answers[question.question_id])].lower())
        for question in questions
        if question.kind == "multiple_choice"
    ]
    pairs = [(query, answer) for query, answer in pairs if len(answer) > 3]
    return random.Random(0).sample(pairs, min(n, len(pairs)))


def measure(
    name: str,
    make: Callable[[], SearchEngine],
    texts: dict[str, str],
    items: list[tuple[str, str]],
    golds: list[tuple[str, str]],
    plain: Callable[[str], str],
) -> dict[str, Any]:
    """One row of the table. `plain` turns an engine's URL into the page's."""
    began = time.process_time()
    engine = make()
    index_s = time.process_time() - began
    began = time.process_time()
    known = sum(url in map(plain, engine.search(query, 10).urls) for query, url in items)
    found = sum(any(answer in texts[plain(url)] for url in engine.search(query, 10).urls) for query, answer in golds)
    ask_ms = 1000 * (time.process_time() - began) / (len(items) + len(golds))
    return {
        "engine": name,
        "pages": len(texts),
        "index_cpu_s": round(index_s, 2),
        "known_items": len(items),
        "known_item_recall_at_10": round(known / len(items), 4),
        "questions": len(golds),
        "gold_in_top_10": round(found / len(golds), 4),
        "cpu_ms_a_query": round(ask_ms, 2),
    }


def main() -> None:
    """Measure, print a Markdown table, and write JSON where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--questions", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        web = two_sites(Path(folder), options.data)
        sites = read_sites(web, HOSTS)
        texts = {url: f"{title} {text}".lower() for url, title, text in indexed_pages(sites)}
        items, golds = known_items(texts), gold_questions(options.data, options.questions)
        path = Path(folder) / "pages.zim"
        folder_config = FolderConfig(sites=str(web), hosts=HOSTS)
        zim_config = ZimConfig(files=(str(path),), hosts={path.name: ZIM_HOST})

        def packed() -> SearchEngine:
            pack(sites, path)
            return ZimEngine.open(zim_config)

        rows = [
            measure("folder", lambda: FolderEngine.open(folder_config), texts, items, golds, str),
            measure("zim", packed, texts, items, golds, lambda url: url.replace(f"{ZIM_HOST}/", "", 1)),
        ]
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
