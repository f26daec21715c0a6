"""Measures a crawl in a simulated internet: silent names, and outages of the network or of a proxy in mid-crawl.

Usage (from a checkout, after `make test` has made the environment; needs unshare, user namespaces and openssl):

    .venv/bin/python bench/internet.py [--hosts 1500] [--pages 7] [--seconds 60] [--only NAME …]

Each crawl runs in a network namespace with a name server and web servers (tests/builder/simulated_internet.py):
real name resolution by `--resolver`, real sockets at public addresses, answers after 200 ms. A live page is lost if it
is not in the store as kept. The rate is that of the live pages until the last of them was served.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "builder")]

from simulated_internet import PROXY, crawling, within, write_questions  # noqa: E402

from builder.store.reader import StoreReader  # noqa: E402

SILENT_SHARE = 0.08
BAD_TLS = ("expired", "wrong_name", "untrusted")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One crawl: what is wrong with the network, and with how many of the hosts.

    `bad_tls_share` of all hosts have a bad certificate; `dying_share` are dead while the event `dead` lasts.
    """

    says: str
    events: list[dict[str, Any]] = field(default_factory=list)
    silent_share: float = 0.0
    tls_share: float = 0.0
    bad_tls_share: float = 0.0
    dying_share: float = 0.0
    n_runs: int = 1
    fetch: dict[str, Any] = field(default_factory=dict)


def cases(n_pages: int, seconds: float) -> dict[str, Case]:
    """The crawls by name; an event comes after a third of the pages, or at the start."""

    def event(what: str, after: int, lasts: float | None) -> list[dict[str, Any]]:
        return [{"what": what, "after_pages": after, "seconds": lasts}]

    half_s = seconds / 2
    third, twice = n_pages // 3, {"n_runs": 2, "fetch": {"give_up_after_s": 20.0}}
    by_proxy: dict[str, Any] = {"fetch": {"proxy": PROXY}}
    return {
        "clean": Case(says="nothing wrong"),
        "silent": Case(says="8 % of the names silent (10 s)", silent_share=SILENT_SHARE),
        "start": Case(says="no network at the start, then resumed", events=event("away", 0, None), **twice),
        "away": Case(says=f"no network for {seconds:g} s", events=event("away", third, seconds)),
        "packets": Case(says=f"all packets lost for {seconds:g} s", events=event("silent", third, seconds)),
        "names": Case(says=f"name service down for {half_s:g} s", events=event("names_down", 0, half_s)),
        "portal": Case(says=f"captive portal for {half_s:g} s", events=event("portal", third, half_s)),
        "redirect": Case(says=f"portal by redirect, {half_s:g} s", events=event("portal_redirect", third, half_s)),
        "not_found": Case(says=f"portal that answers 404, {half_s:g} s", events=event("portal_404", third, half_s)),
        "gateway": Case(says=f"502, 503, 504 for all, {half_s:g} s", events=event("gateway", third, half_s)),
        "tls": Case(says="30 % of the hosts by https, 3 % with bad certificates", tls_share=0.3, bad_tls_share=0.03),
        "tls_portal": Case(
            says=f"the same, portal for {half_s:g} s",
            events=event("portal", third, half_s),
            tls_share=0.3,
            bad_tls_share=0.03,
        ),
        "back": Case(
            says="10 % of the hosts die in mid-crawl and are back when it is resumed",
            events=event("dead", third, None),
            dying_share=0.1,
            n_runs=2,
        ),
        "hijack": Case(says=f"names lead to a portal, {half_s:g} s", events=event("names_portal", third, half_s)),
        "mute": Case(says=f"hosts that say nothing, {half_s:g} s", events=event("mute", third, half_s)),
        "sleep": Case(says=f"this machine sleeps for {half_s:g} s", events=event("stopped", third, half_s)),
        "clock": Case(
            says="wall clock a day ahead and right again, ten times",
            events=[
                {"what": "clock", "after_pages": third, "seconds": 1.0, "clock_s": 86_400.0, "pause_s": 1.0}
                for _ in range(10)
            ],
        ),
        "proxy": Case(says=f"no proxy for {half_s:g} s", events=event("proxy_gone", third, half_s), **by_proxy),
        "proxy_407": Case(says=f"proxy: 407, {half_s:g} s", events=event("proxy_407", third, half_s), **by_proxy),
        "proxy_login": Case(says=f"proxy: login, {half_s:g} s", events=event("proxy_login", third, half_s), **by_proxy),
        "no_proxy": Case(
            says="no proxy at the start, then resumed",
            events=event("proxy_gone", 0, None),
            n_runs=2,
            fetch={"proxy": PROXY, "give_up_after_s": 20.0},
        ),
        "good": Case(says="network gone for good, then resumed", events=event("silent", third, None), **twice),
    }  # fmt: skip


def hosts_of(case: Case, n_hosts: int) -> dict[str, dict[str, Any]]:
    """The hosts of a case; each kind is drawn on its own, and none is of two kinds."""
    order = random.Random(0).sample(range(n_hosts), n_hosts)
    hosts: dict[str, dict[str, Any]] = {f"www.site{i}.com": {"delay_s": 0.2, "name": "live"} for i in range(n_hosts)}
    drawn = (hosts[f"www.site{i}.com"] for i in order)
    for host in islice(drawn, round(n_hosts * case.silent_share)):
        host["name"] = "silent"
    for place, host in enumerate(islice(drawn, round(n_hosts * case.bad_tls_share))):
        host["tls"] = BAD_TLS[place % len(BAD_TLS)]
    for host in islice(drawn, round(n_hosts * case.tls_share)):
        host["tls"] = "live"
    for host in islice(drawn, round(n_hosts * case.dying_share)):
        host["dies"] = True
    return hosts


def measured(case: Case, n_hosts: int, n_pages: int) -> dict[str, Any]:
    """Run a case and count what its crawl store has."""
    hosts = hosts_of(case, n_hosts)
    dying = [name for name, host in hosts.items() if "dies" in host]
    events = [event | {"hosts": dying} for event in case.events]
    urls = {
        f"{'https' if 'tls' in how else 'http'}://{host}/page-{i}": how["name"] == "live"
        and how.get("tls", "live") == "live"
        for host, how in hosts.items()
        for i in range(n_pages)
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_questions(folder, list(urls), **case.fetch)
        happened = within(folder, hosts, events, [crawling(folder)] * case.n_runs)
        with closing(StoreReader(folder / "ds.crawl")) as store:
            rows = list(store.iter_fetches())
            n_logins = sum(b"Log in" in store.response(row)[0] for row in rows if row.outcome == "kept")
    live = [row for row in rows if urls[row.url]]
    return {
        "codes": [run["code"] for run in happened["runs"]],
        "lost": sum(urls.values()) - sum(row.outcome == "kept" for row in live),
        "live": sum(urls.values()),
        "attempts": sum(row.attempts - 1 for row in live),
        "logins": n_logins,
        "rate": sum(urls.values()) / max(happened["served_s"][-1], 1e-9),
        "seconds": sum(run["seconds"] for run in happened["runs"]),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1_500)
    parser.add_argument("--pages", type=int, default=7, help="pages a host")
    parser.add_argument("--seconds", type=float, default=60, help="how long the network is away")
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    print(f"{options.hosts:,} hosts, {options.hosts * options.pages:,} pages.\n")
    print("| network | exit codes | live pages lost | attempts spent | login pages kept | live pages/s | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, case in cases(options.hosts * options.pages, options.seconds).items():
        if options.only and name not in options.only:
            continue
        found = measured(case, options.hosts, options.pages)
        lost = f"{found['lost']:,} of {found['live']:,}"
        codes = ", ".join(map(str, found["codes"]))
        more = f"{found['attempts']:,} | {found['logins']:,} | {found['rate']:,.0f} | {found['seconds']:,.0f}"
        print(f"| {case.says} | {codes} | {lost} | {more} |", flush=True)


if __name__ == "__main__":
    main()
