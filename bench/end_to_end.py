"""End to end: a live build over loopback against the paper's chain, on the same pages, in one run.

Usage: .venv/bin/python bench/end_to_end.py --data ../shared/data

Ours is `edu-rag build` with the default extractor: search, robots, guard, fetch, store, extract, filter, label, write.
The peer is the EDU-RAG paper's chain: requests and newspaper3k, one page after another, sentences by a full stop.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSTS = {"siyavula": "www.mstworkbooks.co.za", "openstax-physics": "physics.school-reader.example"}


def ours(data: Path, n_questions: int, scratch: Path) -> dict[str, float]:
    """Build from the first questions of the validation set; pages a second over the whole command."""
    lines = (data / "tqa/val/questions.jsonl").read_text(encoding="utf-8").splitlines()[:n_questions]
    (scratch / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hosts = "".join(f'{json.dumps(name)} = "{host}"\n' for name, host in HOSTS.items())
    config = scratch / "build.toml"
    # All pages are fetched and extracted, also those in Afrikaans: the filter comes after the work.
    config.write_text(
        f"[search.folder]\nsites = {json.dumps(str((data / 'web').resolve()))}\n[search.folder.hosts]\n{hosts}"
    )
    words = ("build", "--questions", scratch / "questions.jsonl", "--out", scratch / "d", config, "--json")
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "edu_rag", *map(str, words)], check=True, stdout=subprocess.PIPE)
    wall = time.monotonic() - started
    sources = json.loads(done.stdout)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "urls": sources["urls"], "pages": sources["pages"], "seconds": wall, "urls_per_s": sources["urls"] / wall,
        "cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024,
    }  # fmt: skip


def papers_chain(data: Path, n_pages: int) -> dict[str, float]:
    """The paper's chain on a sample of the same pages, served by the same loopback server."""
    import requests
    from newspaper import Article

    from builder.site_server import serve_sites
    from builder.sites import read_sites

    sites = read_sites(data / "web", HOSTS)
    pages = [(site.host, url) for site in sites for url, _ in site.pages()]
    step = max(1, len(pages) // n_pages)
    sample, kept = pages[::step][:n_pages], 0
    with serve_sites(sites) as port:
        started = time.monotonic()
        for host, url in sample:
            path = url.split("/", 3)[3]
            got = requests.get(f"http://127.0.0.1:{port}/{path}", headers={"Host": host}, timeout=5)
            article = Article("", language="en", fetch_images=False)
            article.set_html(got.text)
            article.parse()
            kept += len(article.text.encode()) >= 512
            article.text.split(". ")
        wall = time.monotonic() - started
    return {"urls": len(sample), "pages": kept, "seconds": wall, "urls_per_s": len(sample) / wall}


def main() -> None:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=Path, default=root.parent / "shared" / "data")
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--peer-pages", type=int, default=100)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        mine = ours(given.data, given.questions, Path(scratch))
    peer = papers_chain(given.data, given.peer_pages)
    print("| chain | URLs | pages kept | seconds | URLs/s |")
    print("|---|---|---|---|---|")
    for name, row in (("edu-rag build", mine), ("requests + newspaper3k", peer)):
        print(f"| {name} | {row['urls']:.0f} | {row['pages']:.0f} | {row['seconds']:.1f} | {row['urls_per_s']:.1f} |")
    ratio = mine["urls_per_s"] / peer["urls_per_s"]
    print(
        f"\nRatio {ratio:.1f}; ours {mine['cpu_s']:.1f} s of processor time, largest process {mine['peak_mb']:.0f} MB."
    )
    if given.json:
        given.json.write_text(json.dumps({"ours": mine, "peer": peer, "ratio": ratio}, indent=1))


if __name__ == "__main__":
    main()
