"""Kill our crawler and Scrapy with JOBDIR at random moments, resume them, and count the pages that never come.

    python bench/kill_crawlers.py [--hosts 40] [--pages 10] [--kills 20] [--scrapy PYTHON] [--json FILE]

Both crawl the same site in the same simulated internet (tests/builder/simulated_internet.py), with as many requests at
once and under robots.txt. Each crawl is killed with `kill -9` at most four times, then resumed until it ends by itself.
A page is lost if the crawler's own record of pages does not have it then: our crawl store, or Scrapy's feed, to which
each page is a line. `--scrapy` names a Python that has Scrapy; without it only ours is measured. Scrapy takes part
twice: with the pages as `start_urls`, which it never filters, and with requests that it has seen filtered out.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

KILLS_A_CRAWL = 4
DELAY_S = 1.0
"""Of every answer: so that a crawl takes longer than its start, and most kills hit it."""
LONGEST_S = 120


def spider(folder: Path, *, is_filtered: bool) -> None:
    """Scrapy with as many requests at once as ours; each page is a line of a feed that later runs append to."""
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.resolver import CachingThreadedResolver
    from twisted.internet import defer

    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))

    class Known(CachingThreadedResolver):
        """Names from the plan: Scrapy has no setting for a name server."""

        def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Any:  # noqa: N802  # twisted's name
            return defer.succeed(plan["addresses"][name])

    class Pages(scrapy.Spider):
        name = "pages"

        async def start(self) -> Any:
            for url in plan["urls"]:
                yield scrapy.Request(url, dont_filter=not is_filtered)  # as Scrapy makes them of `start_urls`

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    process = CrawlerProcess(
        {
            "JOBDIR": str(folder / "job"),
            "FEEDS": {str(folder / "feed.jsonl"): {"format": "jsonlines", "overwrite": False}},
            "DNS_RESOLVER": Known,
            "CONCURRENT_REQUESTS": 192,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "DOWNLOAD_TIMEOUT": 5,
            "COOKIES_ENABLED": False,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages)
    process.start()


def killed_crawl(words: Sequence[str], seconds: Sequence[float]) -> int:
    """Kill a command after each of these times and start it again, until it ends; how many kills hit."""
    for n_kills, after_s in enumerate(seconds):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        if process.returncode is not None:
            return n_kills
        process.kill()
        process.wait()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONGEST_S, check=False)
    return len(seconds)


def inside(folder: Path, words: Sequence[str], n_kills: int) -> None:
    """In the namespace: an undisturbed crawl for its time, then crawls until so many kills have hit."""
    chance, hit, n_crawls = random.Random(1), 0, 0
    started = time.monotonic()
    crawl = folder / "undisturbed"
    _ready(folder, crawl)
    subprocess.run([*words, str(crawl)], stdout=subprocess.DEVNULL, timeout=LONGEST_S, check=True)
    whole_s = time.monotonic() - started
    while hit < n_kills:
        crawl = folder / f"crawl-{n_crawls}"
        _ready(folder, crawl)
        n = min(KILLS_A_CRAWL, n_kills - hit)
        hit += killed_crawl([*words, str(crawl)], [chance.uniform(0, whole_s) for _ in range(n)])
        n_crawls += 1
        print(f"{hit} kills", file=sys.stderr)
    (folder / "result.json").write_text(json.dumps({"kills": hit, "crawls": n_crawls, "whole_s": whole_s}))


def _ready(folder: Path, crawl: Path) -> None:
    """A folder for a crawl, with links to what it reads."""
    crawl.mkdir()
    for name in ("questions.jsonl", "recorded.jsonl", "build.toml", "plan.json"):
        (crawl / name).symlink_to(folder / name)


def ours_in(crawl: Path) -> Counter[str]:
    """The kept pages of a crawl store, and how often its WARC file has each."""
    from builder_crash import n_doubled

    from builder.store.reader import StoreReader

    with closing(StoreReader(crawl / "ds.crawl")) as store:
        found = Counter(row.url for row in store.iter_fetches() if row.outcome == "kept")
    found[""] = n_doubled(crawl / "ds")
    return found


def scrapys_in(crawl: Path) -> Counter[str]:
    """The pages of a feed; a line that a kill cut off is none."""
    found: Counter[str] = Counter()
    for line in (crawl / "feed.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            found[json.loads(line)["url"]] += 1
        except ValueError:
            continue
    found[""] = sum(n - 1 for n in found.values())
    return found


def measured(who: str, python: str, urls: Sequence[str], hosts: Mapping[str, Any], n_kills: int) -> dict[str, Any]:
    """The counts of one crawler."""
    from simulated_internet import World, crawling, within, write_questions

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_questions(folder, urls)
        plan = {"urls": urls, "addresses": World(hosts, []).address_of}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        role = "--filtered-spider" if "filter" in who else "--spider"
        words = crawling(folder)[:-1] if who == "ours" else [python, __file__, role]
        command = [sys.executable, __file__, "--inside", str(folder), "--kills", str(n_kills), "--words", *words]
        happened = within(folder, hosts, [], [command])
        (run,) = happened["runs"]
        if run["code"]:
            raise SystemExit(run["err"])
        result: dict[str, Any] = json.loads((folder / "result.json").read_text())
        read = ours_in if who == "ours" else scrapys_in
        found = [read(crawl) for crawl in sorted(folder.glob("crawl-*"))]
    lost = [sum(url not in crawl for url in urls) for crawl in found]
    return result | {
        "pages": len(urls) * len(found),
        "lost": sum(lost),
        "whole": lost.count(0),
        "doubled": sum(crawl[""] for crawl in found),
        "requests": sum(n for what, n in happened["asked"].items() if "/page-" in what) / len(urls) / (len(found) + 1),
    }


def main() -> None:
    """Measure both crawlers and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=10, help="pages a host")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--scrapy", help="a Python that has Scrapy")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--spider", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--filtered-spider", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.spider or options.filtered_spider:
        spider(options.spider or options.filtered_spider, is_filtered=options.spider is None)
        return
    if options.inside is not None:
        inside(options.inside, options.words, options.kills)
        return
    hosts = {f"www.site{i}.com": {"delay_s": DELAY_S} for i in range(options.hosts)}
    urls = [f"http://{host}/page-{i}" for i in range(options.pages) for host in hosts]
    pythons = {"ours": sys.executable}
    if options.scrapy:
        pythons |= dict.fromkeys(("Scrapy, JOBDIR", "Scrapy, JOBDIR, seen requests filtered"), options.scrapy)
    results = {who: measured(who, python, urls, hosts, options.kills) for who, python in pythons.items()}
    print(f"A site of {len(urls):,} pages on {options.hosts} hosts.\n")
    print("| | crawls | kills | pages to fetch | pages lost | whole crawls | pages stored twice | requests a page |")
    print("|---|---|---|---|---|---|---|---|")
    for who, one in results.items():
        counts = (one[name] for name in ("crawls", "kills", "pages", "lost", "whole", "doubled"))
        print(f"| {who} | {' | '.join(f'{count:,}' for count in counts)} | {one['requests']:.2f} |")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
