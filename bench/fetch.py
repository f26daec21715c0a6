"""Measures fetching against requests and Scrapy on loopback, clean and with a quarter of bad URLs.

Usage (from a checkout, after `make test` has made the environment; Scrapy is measured where it is installed):

    .venv/bin/python bench/fetch.py [--pages-dir DIR] [--n 2000] [--peers requests requests-32 scrapy] [--json FILE]

Every host has its own address (127.x.y.z) and robots.txt; every answer comes after 200 ms. The servers and each client
run in separate processes: wall time, CPU time of the process, peak resident memory. An inside address is reached when
the canary is asked: it listens on 127.0.0.1 and [::1], where no host map points.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bad_web import bad_kinds, serve

WORDS = (
    "the",
    "cell",
    "energy",
    "of",
    "water",
    "light",
    "and",
    "force",
    "atom",
    "moves",
    "heat",
    "rock",
    "plant",
    "wave",
    "earth",
    "to",
    "in",
    "a",
    "is",
    "metal",
)
SAMPLE, SAMPLE_MIXED = 60, 24
"""How many pages the client that asks one by one gets: it would take minutes for all."""
MIXED_LIMIT_S = 240


def synthetic_pages(n: int) -> dict[str, str]:
    """Pages of about 30 KB of words in paragraphs, some larger and some smaller, by path."""
    pages = {}
    for place in range(n):
        rng = random.Random(place)
        words = iter(rng.choices(WORDS, k=rng.randint(2_000, 9_000)))
        text = "".join(f"<p>{' '.join(part)}.</p>\n" for part in zip(*[words] * 40, strict=False))
        pages[f"/page-{place}.html"] = f"<html><head><title>Page {place}</title></head><body>\n{text}</body></html>"
    return pages


def real_pages(folder: Path, n: int) -> dict[str, str]:
    """The HTML files of a folder, as often as needed for n pages, each ending in its number."""
    files = sorted(folder.rglob("*.html"))
    texts = [path.read_bytes().decode("utf-8", "replace") for path in files]
    return {f"/page-{place}.html": f"{texts[place % len(texts)]}<!-- {place} -->" for place in range(n)}


def address_of(place: int) -> str:
    """The place's own loopback address, none of them 127.0.0.x."""
    return f"127.{1 + place // 62_500}.{1 + place // 250 % 250}.{1 + place % 250}"


def make_plan(pages: dict[str, str], ports: list[int], bad_port: int, canary_port: int, n_bad: int) -> dict[str, Any]:
    """The URLs with their hosts and addresses, good and bad ones mixed; good ones with the expected size."""
    items = []
    for place, (path, text) in enumerate(pages.items()):
        size = len(text.encode())
        where = {"host": f"good-{place}.example", "port": ports[place % len(ports)], "size": size}
        items.append({"path": path, "address": address_of(place), **where})
    kinds = list(bad_kinds(canary_port))
    for place in range(n_bad):
        kind = kinds[place % len(kinds)]
        where = {"host": f"{kind}-{place}.example", "port": bad_port, "size": -1}
        items.append({"path": f"/{kind}/{place}", "address": address_of(len(pages) + place), **where})
    random.Random(0).shuffle(items)
    return {"items": items}


# ---- the clients: each runs in a separate process and prints one line of JSON


def run_ours(plan: dict[str, Any]) -> dict[str, Any]:
    """`fetch_all` with its default settings."""
    from builder.fetch import Fetched, fetch_all
    from builder.fetch.settings import FetchConfig

    wanted = {f"http://{item['host']}{item['path']}": item for item in plan["items"]}
    hosts = {item["host"]: (item["address"], item["port"]) for item in plan["items"]}
    kept, slowest, outcomes = 0, (0.0, ""), Counter[str]()

    def keep(got: Fetched) -> None:
        nonlocal kept, slowest
        kept += got.outcome == "kept" and len(got.body) == wanted[got.url]["size"]
        slowest = max(slowest, (got.took_s, got.url))
        outcomes[got.outcome] += 1
        lost = wanted[got.url]["size"] >= 0 and got.outcome != "kept"
        if lost:
            print(f"lost {got.url}: {got.outcome} {got.detail}", file=sys.stderr)

    fetch_all(wanted, FetchConfig(), hosts, lambda: datetime.now(UTC), keep)
    return {"kept": kept, "worst_s": slowest[0], "worst": slowest[1], "outcomes": outcomes}


def _get_by_requests(item: dict[str, Any]) -> tuple[bool, float, str]:
    import requests

    started = time.monotonic()
    url = f"http://{item['address']}:{item['port']}{item['path']}"
    try:
        answer = requests.get(url, timeout=5)
        good = answer.status_code == 200 and len(answer.content) == item["size"]
    except (requests.RequestException, MemoryError, ValueError):
        good = False
    return good, time.monotonic() - started, item["path"]


def _by_requests(plan: dict[str, Any], n_threads: int) -> dict[str, Any]:
    with ThreadPoolExecutor(n_threads) as pool:
        results = list(pool.map(_get_by_requests, plan["items"]))
    worst = max(results, key=lambda result: result[1])
    return {"kept": sum(good for good, _, _ in results), "worst_s": worst[1], "worst": worst[2]}


def run_scrapy(plan: dict[str, Any]) -> dict[str, Any]:
    """Scrapy with as many requests at once as ours, robots.txt obeyed, no retries."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    sizes = {f"http://{item['address']}:{item['port']}{item['path']}": item["size"] for item in plan["items"]}
    kept = Counter[str]()

    class Pages(scrapy.Spider):
        name = "pages"
        start_urls = tuple(sizes)

        def parse(self, response: Any) -> None:
            kept["n"] += len(response.body) == sizes.get(response.url, -2)

    settings = {
        "CONCURRENT_REQUESTS": 192,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "DOWNLOAD_TIMEOUT": 5,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "LOG_ENABLED": False,
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "DOWNLOAD_MAXSIZE": 5_000_000,
        "TELNETCONSOLE_ENABLED": False,
    }
    process = CrawlerProcess(settings)
    process.crawl(Pages)
    process.start()
    return {"kept": kept["n"], "worst_s": None, "worst": ""}


CLIENTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "ours": run_ours,
    "requests": lambda plan: _by_requests(plan, 1),
    "requests-32": lambda plan: _by_requests(plan, 32),
    "scrapy": run_scrapy,
}


def _peak_mb() -> float:
    # Not getrusage's ru_maxrss: a child starts with its parent's.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def run_client(name: str, plan_file: Path) -> None:
    """Fetch by the plan in a child process, then print the time and memory used."""
    plan = json.loads(plan_file.read_text())
    wall, cpu = time.monotonic(), time.process_time()
    result = CLIENTS[name](plan)
    wall_s = time.monotonic() - wall
    result |= {"wall_s": wall_s, "cpu_s": time.process_time() - cpu, "rss_mb": _peak_mb()}
    print(json.dumps(result))


# ---- the parent: servers, clients one after the other, the table


@contextmanager
def _server(*words: object) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, text=True)
    try:
        yield int((process.stdout or sys.stdin).readline())
    finally:
        process.kill()
        process.wait()


def _n_canary_hits(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"COUNT\r\n\r\n")
        return int(connection.recv(20))


def _measure(name: str, plan: dict[str, Any], canary_port: int, folder: Path) -> dict[str, Any]:
    plan_file = folder / "plan.json"
    plan_file.write_text(json.dumps(plan))
    before = _n_canary_hits(canary_port)
    words = [sys.executable, __file__, "--client", name, "--plan", str(plan_file)]
    started = time.monotonic()
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=MIXED_LIMIT_S)
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, IndexError, json.JSONDecodeError) as error:
        print(f"{name}: {error}"[:300], file=sys.stderr)
        result = {"kept": None, "worst_s": None, "wall_s": time.monotonic() - started, "cpu_s": None, "rss_mb": None}
    n_good = sum(item["size"] >= 0 for item in plan["items"])
    return result | {
        "client": name,
        "n_good": n_good,
        "n_bad": len(plan["items"]) - n_good,
        "inside": _n_canary_hits(canary_port) - before,
    }


def _row(result: dict[str, Any]) -> str:
    if result["kept"] is None:
        urls, taken = f"{result['n_good']} + {result['n_bad']} bad", f"not done after {result['wall_s']:.0f} s"
        return f"| {result['client']} | {urls} | {taken} | | | | | |"
    worst = "" if result["worst_s"] is None else f"{result['worst_s']:.1f} s"
    return (
        f"| {result['client']} | {result['n_good']:,} + {result['n_bad']:,} bad | {result['kept']:,} |"
        f" {result['kept'] / result['wall_s']:.0f} | {1_000 * result['cpu_s'] / result['n_good']:.2f} |"
        f" {result['rss_mb']:.0f} | {worst} | {result['inside']} |"
    )


def _part(plan: dict[str, Any], name: str) -> dict[str, Any]:
    is_mixed = any(item["size"] < 0 for item in plan["items"])
    return {"items": plan["items"][: SAMPLE_MIXED if is_mixed else SAMPLE]} if name == "requests" else plan


def measure_all(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Both crawls with every client, one after the other."""
    results = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        pages = real_pages(options.pages_dir, options.n) if options.pages_dir else synthetic_pages(options.n)
        (folder / "pages.json").write_text(json.dumps(pages))
        canary = stack.enter_context(_server("--serve", "canary"))
        words = ("--serve", "pages", "--plan", folder / "pages.json")
        ports = [stack.enter_context(_server(*words)) for _ in range(2)]
        bad = stack.enter_context(_server("--serve", "bad", "--canary", canary))
        for n_bad in (0, options.n // 4):
            plan = make_plan(pages, ports, bad, canary, n_bad)
            for client in ("ours", *options.peers):
                results.append(_measure(client, _part(plan, client), canary, folder))
                print(_row(results[-1]), file=sys.stderr)
    return results


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown, with how ours compares to each peer."""
    head = "| client | URLs | good kept | good/s | CPU ms/page | peak MB | worst URL | inside addresses reached |"
    lines = [head, "|---|---|---|---|---|---|---|---|", *map(_row, results), ""]
    ours = {bool(result["n_bad"]): result for result in results if result["client"] == "ours"}
    for result in results:
        if result["client"] != "ours" and result["kept"]:
            mine = ours[bool(result["n_bad"])]
            ratio = (mine["kept"] / mine["wall_s"]) / (result["kept"] / result["wall_s"])
            kind = "mixed" if result["n_bad"] else "clean"
            lines.append(f"{kind}: ours keeps {ratio:.1f} times as many good pages a second as {result['client']}.")
    return "\n".join(lines)


def main() -> None:
    """Measure and print, or play one of the roles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2_000, help="good pages")
    parser.add_argument("--pages-dir", type=Path, help="a folder of real HTML files instead of synthetic pages")
    parser.add_argument("--peers", nargs="*", choices=sorted(set(CLIENTS) - {"ours"}), default=None)
    parser.add_argument("--json", type=Path, help="also write the results there")
    parser.add_argument("--client", choices=sorted(CLIENTS), help=argparse.SUPPRESS)
    parser.add_argument("--serve", choices=("pages", "bad", "canary"), help=argparse.SUPPRESS)
    parser.add_argument("--plan", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--canary", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        run_client(options.client, options.plan)
    elif options.serve:
        pages = json.loads(options.plan.read_text()) if options.plan else {}
        asyncio.run(serve(options.serve, pages, 0.2, options.canary))
    else:
        if options.peers is None:
            options.peers = ["requests", "requests-32", *(["scrapy"] if importlib.util.find_spec("scrapy") else [])]
        results = measure_all(options)
        print(table(results))
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
