"""Lighthouse on every kind of page of the site, phone and desk: performance, accessibility, best practices, SEO.

Usage: .venv/bin/python bench/page.py lighthouse [--only CATEGORY …] [--pages WORD …] [--runs N]

Needs Debian's chromium, fonts-liberation (else letters of another width shift the page) and nodejs (18 or newer), and
Lighthouse from npm:
    npm install --prefix FOLDER lighthouse@12.8.2        then give --lighthouse FOLDER
The board has 500 made-up rows, as tests/leaderboard/test_leaderboard_board_size.py makes them; the other pages come
from the made-up site of tests/leaderboard/whole_site.py. Both are served on loopback with gzip, as a static host would.
Phones are simulated by Lighthouse's own defaults (slow 4G, a processor four times slower). Of several runs of a page
the one with the median performance counts. Only performance depends on time: measure it on a quiet machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/leaderboard"), str(ROOT / "tests")]

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PRESETS = ("phone", "desk")
WANTED = 95
LIMIT_S = 240
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-quic --disable-background-networking --disable-sync"
Report = Mapping[str, Any]


class _Host(SimpleHTTPRequestHandler):
    """A folder as a static host serves it: compressed where that pays, kept by the browser for ten minutes."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: the table is the output."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        body, packs = (
            path.read_bytes(),
            path.suffix in (".html", ".css", ".js", ".svg", ".json", ".txt", ".xml", ".csv"),
        )
        body = gzip.compress(body, 6) if packs else body
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)) + ("; charset=utf-8" if packs else ""))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        if packs:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder on loopback while the block runs; yields its address with a '/' at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Host, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def build(folder: Path) -> dict[str, Path]:
    """The board of 500 rows and the whole made-up site: page by its name in the table."""
    import test_leaderboard_board_size as size
    from some_pages import build_some
    from whole_site import build_whole, kinds

    from leaderboard.board import present as presenting
    from leaderboard.board.rank import BoardRank
    from leaderboard.pages import assets, board_page

    size.write_many(folder / "results")
    found = presenting.rank
    presenting.rank = lambda cards: [
        BoardRank(at, at) for at in range(1, len(cards) + 1)
    ]  # as the test does: places take time
    many = build_some(folder / "results", folder / "many", (board_page, assets))
    presenting.rank = found
    pages = kinds(build_whole(folder / "whole"))
    return {f"board.html, {size.ROWS} rows": many / "board.html", **pages}


def lighthouse(command: Path, address: str, preset: str, only: Sequence[str], *, unlisted: bool) -> Report:
    """One report of Lighthouse; `unlisted` pages ask search engines to skip them, which does not count as a fault."""
    words = ["node", str(command), address, "--output=json", "--quiet", f"--chrome-flags={FLAGS}"]
    words += [f"--only-categories={','.join(only)}", *(["--preset=desktop"] if preset == "desk" else [])]
    words += ["--skip-audits=is-crawlable"] if unlisted else []
    environment = {**os.environ, "CHROME_PATH": shutil.which("chromium") or "chromium"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise SystemExit(f"Lighthouse ended with {done.returncode} on {address}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def points(report: Report, category: str) -> int:
    """A category's points, of 100."""
    return round(100 * (report["categories"].get(category, {}).get("score") or 0))


def faults(report: Report) -> list[str]:
    """The audits that cost points, with the first thing that each names."""
    found = []
    for category, values in report["categories"].items():
        for place in values["auditRefs"]:
            audit = report["audits"][place["id"]]
            if place["weight"] and audit["score"] is not None and audit["score"] < 0.9:
                items = (audit.get("details") or {}).get("items") or [{}]
                found.append(f"{category}: {place['id']} {audit.get('displayValue', '')} {json.dumps(items[0])[:300]}")
    return found


def line_of(name: str, preset: str, report: Report, only: Sequence[str]) -> str:
    """A row of the table."""
    audits = report["audits"]

    def number(audit: str, scale: float, form: str) -> str:
        value = audits.get(audit, {}).get("numericValue")
        return "" if value is None else format(value / scale, form)

    shown = [str(points(report, category)) if category in only else "" for category in CATEGORIES]
    first = number("largest-contentful-paint", 1000, ".1f")
    shift, blocked = number("cumulative-layout-shift", 1, ".3f"), number("total-blocking-time", 1, ".0f")
    weight = number("total-byte-weight", 1000, ",.0f")
    return f"| {name} | {preset} | {' | '.join(shown)} | {weight} | {first} | {blocked} | {shift} |"


def measured(command: Path, pages: Mapping[str, Path], chosen: argparse.Namespace) -> tuple[list[str], list[int]]:
    """The rows of the table and all points."""
    lines, found = [], []
    for name, path in pages.items():
        folder = next(parent for parent in path.parents if (parent / "assets").is_dir())
        unlisted = '<meta name="robots" content="noindex">' in path.read_text(encoding="utf-8")
        with served(folder) as address:
            where = address + path.relative_to(folder).as_posix()
            for preset in PRESETS:
                reports = [
                    lighthouse(command, where, preset, chosen.only, unlisted=unlisted) for _ in range(chosen.runs)
                ]
                reports.sort(key=lambda report: points(report, "performance"))
                report = reports[len(reports) // 2]
                lines.append(line_of(name, preset, report, chosen.only))
                found += [points(report, category) for category in chosen.only]
                print(lines[-1], *faults(report), sep="\n    ", file=sys.stderr, flush=True)
    return lines, found


def main() -> None:
    """Build, serve, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lighthouse", type=Path, default=ROOT, help="folder with node_modules/lighthouse")
    parser.add_argument("--only", nargs="+", choices=CATEGORIES, default=list(CATEGORIES))
    parser.add_argument("--pages", nargs="+", default=[], help="measure pages whose names hold one of these words")
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    command = chosen.lighthouse / "node_modules/lighthouse/cli/index.js"
    if not command.is_file():
        raise SystemExit(
            f"{command} is not there: npm install --prefix FOLDER lighthouse@12.8.2, then --lighthouse FOLDER"
        )
    with tempfile.TemporaryDirectory() as folder:
        pages = build(Path(folder))
        wanted = {
            name: path for name, path in pages.items() if not chosen.pages or any(word in name for word in chosen.pages)
        }
        lines, found = measured(command, wanted, chosen)
    version = json.loads((command.parents[1] / "package.json").read_text(encoding="utf-8"))["version"]
    heads = ["page", "as on a", "performance", "accessibility", "best practices", "SEO"]
    heads += ["kB sent", "largest paint, s", "blocked, ms", "shift"]
    print(f"| {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
    low = sum(one < WANTED for one in found)
    told = f"{len(found) - low} of {len(found)} points at {WANTED} or above, the lowest {min(found)}."
    print(f"\nLighthouse {version}: {told}")


if __name__ == "__main__":
    main()
