"""End to end: a live build over loopback against the paper's chain, on the same real pages, in one run.

Usage: .venv/bin/python bench/end_to_end.py --data ../shared/data

All pages of the extraction sets and of the two web sites are served by sixty hosts, each answer 200 ms late. Ours is
`edu-rag build` with the default settings: search, robots, guard, fetch, store, extract, filter, label, write. The peer
is the EDU-RAG paper's chain: requests and newspaper3k, one page after another, sentences by a full stop.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from memory import children, resident_mb

N_HOSTS = 60
LATENCY_S = 0.2
LOOK_EVERY_S = 1.0
"""How often the memory of all processes is read: the kernel takes 7 ms for that, from the cores that are measured."""
SITES = ("openstax-physics", "siyavula")
"""The figures that are published rest on these two sites; the data has more of them now."""
_TITLE = re.compile(rb"<title[^>]*>([^<]{3,200})", re.IGNORECASE)


def pages_of(data: Path) -> list[bytes]:
    """The HTML of every page of the test data, in a fixed order."""
    packed = [
        *sorted((data / "extraction/aeb/html").glob("*.gz")),
        *sorted((data / "extraction/wcxb-dev/html").glob("*.gz")),
    ]
    plain = sorted(path for site in SITES for path in (data / "web" / site).rglob("*.html"))
    return [gzip.decompress(path.read_bytes()) for path in packed] + [path.read_bytes() for path in plain]


def lay_out(pages: list[bytes], scratch: Path) -> None:
    """Sites as folders, every page late, and a question file with one question a page title."""
    routes: dict[int, list[str]] = {}
    questions = []
    for number, html in enumerate(pages):
        host = number % N_HOSTS
        folder = scratch / "sites" / f"h{host}.bench.example"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"p{number}.html").write_bytes(html)
        routes.setdefault(host, []).append(f'[[route]]\npath = "/p{number}.html"\ndelay_s = {LATENCY_S}\n')
        found = _TITLE.search(html)
        title = " ".join(found[1].decode("utf-8", "replace").split()) if found else ""
        if any(char.isalpha() for char in title):
            values = {"id": f"e{number}", "split": "val", "type": "Multiple Choice", "question": title}
            questions.append(values | {"choices": {"a": "yes", "b": "no"}, "answer": "a"})
    for host, lines in routes.items():
        (scratch / "sites" / f"h{host}.bench.example" / "site.toml").write_text("".join(lines))
    (scratch / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in questions), encoding="utf-8")


def ours(scratch: Path) -> dict[str, float]:
    """URLs a second over the whole command, its start and the writing of the dataset included."""
    words = (
        "build",
        "--questions",
        scratch / "questions.jsonl",
        "--engine",
        "folder",
        "--sites",
        scratch / "sites",
        "--out",
        scratch / "d",
        "--json",
    )
    started, peak_mb = time.monotonic(), 0.0
    with subprocess.Popen([sys.executable, "-m", "edu_rag", *map(str, words)], stdout=subprocess.PIPE) as process:
        while process.returncode is None:
            peak_mb = max(peak_mb, sum(map(resident_mb, {process.pid, *children(process.pid)})))
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY_S)
        wall = time.monotonic() - started
        said = process.stdout.read() if process.stdout is not None else b""
    if process.returncode:
        raise SystemExit(f"the build ended with {process.returncode}")
    sources = json.loads(said)
    log = (scratch / "d.crawl" / "build.log.jsonl").read_text(encoding="utf-8")
    ended = [line for line in map(json.loads, log.splitlines()) if line["event"] == "end"]
    print("Stages of ours:", ", ".join(f"{line['stage']} {line['seconds']:.1f} s" for line in ended), end=".\n\n")
    return {
        "urls": sources["urls"],
        "pages": sources["pages"],
        "seconds": wall,
        "urls_per_s": sources["urls"] / wall,
        "peak_mb": peak_mb,
    }


def papers_chain(scratch: Path, n_pages: int) -> dict[str, float]:
    """The paper's chain on a sample of the same pages, served by the same late server."""
    import requests
    from newspaper import Article

    from builder.sites.site_folders import read_sites
    from builder.sites.site_server import serve_sites

    sites = read_sites(scratch / "sites", {})
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
    parser.add_argument("--peer-pages", type=int, default=100)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        lay_out(pages_of(given.data), scratch)
        mine = ours(scratch)
        peer = papers_chain(scratch, given.peer_pages)
    print("| chain | URLs | pages kept | seconds | URLs/s |")
    print("|---|---|---|---|---|")
    for name, row in (("edu-rag build", mine), ("requests + newspaper3k", peer)):
        print(f"| {name} | {row['urls']:.0f} | {row['pages']:.0f} | {row['seconds']:.1f} | {row['urls_per_s']:.1f} |")
    ratio = mine["urls_per_s"] / peer["urls_per_s"]
    print(f"\nRatio {ratio:.1f}; all processes of ours have {mine['peak_mb']:.0f} MB at most.")
    if given.json:
        given.json.write_text(json.dumps({"ours": mine, "peer": peer, "ratio": ratio}, indent=1))


if __name__ == "__main__":
    main()
