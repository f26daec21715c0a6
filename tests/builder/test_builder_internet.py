"""The product, unchanged, in an internet of its own: real names, real sockets, ports 80, and the guard as it is."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from simulated_internet import PROXY, can_run, crawling, within, write_questions

from builder.fetch.hit_detail import detail_of
from builder.store.index import Fetch
from builder.store.reader import StoreReader

pytestmark = [pytest.mark.process, pytest.mark.sandbox, pytest.mark.slow]
ODD = {"unknown": "dns", "fails": "dns", "silent": "dns", "inside": "refused_address", "late": "kept"}
ODD |= {"truncated": "kept", "chain": "kept", "loop": "dns", "chain_inside": "refused_address"}
ODD |= {"six": "connection", "both": "kept"}
ODD_PAGES = {"drip": "timeout", "drip_head": "timeout", "bomb": "too_large"}


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    if not can_run():
        pytest.skip("NOT RUN: no network namespace can be made here (unshare of util-linux, user namespaces)")


def live_hosts(n: int) -> dict[str, dict[str, Any]]:
    return {f"www.site{i}.com": {} for i in range(n)}


def urls_of(hosts: dict[str, dict[str, Any]], n: int) -> list[str]:
    return [
        f"{'https' if how.get('tls') else 'http'}://{host}/page-{i}" for host, how in hosts.items() for i in range(n)
    ]


def crawled(
    folder: Path,
    hosts: dict[str, Any],
    events: list[dict[str, Any]],
    n_pages: int = 2,
    n_runs: int = 1,
    **fetch: object,
) -> tuple[dict[str, Any], dict[str, Fetch]]:
    write_questions(folder, urls_of(hosts, n_pages), **fetch)
    happened = within(folder, hosts, events, [crawling(folder)] * n_runs)
    with closing(StoreReader(folder / "ds.crawl")) as store:
        rows = {row.url: row for row in store.iter_fetches()}
        assert not any(b"Log in" in store.response(row)[0] for row in rows.values() if row.outcome == "kept")
    return happened, rows


def test_every_kind_of_name_and_answer_gets_its_own_fate_and_the_inside_is_never_reached(tmp_path: Path) -> None:
    odd = {f"www.{kind}{i}.com": {"name": kind} for kind in ODD for i in range(2)}
    odd |= {f"www.{kind}.com": {"web": kind} for kind in ODD_PAGES}
    dead = {"www.dead.com": {"web": "dead"}}
    happened, rows = crawled(tmp_path, live_hosts(12) | odd | dead, [], name_timeout_s=8.0)
    assert happened["runs"][0]["code"] == 0
    fates = {(re.sub(r"^www\.|\d*\.com", "", url.split("/")[2]), row.outcome) for url, row in rows.items()}
    assert fates == {("site", "kept"), ("dead", "connection"), *ODD.items(), *ODD_PAGES.items()}
    assert happened["n_inside"] == 0
    assert {row.attempts for row in rows.values() if row.outcome == "kept"} == {1}
    assert "the network is" not in happened["runs"][0]["err"]


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="NOT RUN: openssl, which makes the certificates, is not there"
)
@pytest.mark.parametrize("n_sound", [0, 3])
def test_hosts_with_bad_certificates_get_a_fate_of_their_own_and_stop_no_crawl(tmp_path: Path, n_sound: int) -> None:
    kinds = ("expired", "wrong_name", "untrusted")
    sound = {f"www.sound{i}.com": {"tls": "live"} for i in range(n_sound)}
    bad = {f"www.{kind}{i}.com": {"tls": kind} for kind in kinds for i in range(6)}
    write_questions(tmp_path, [f"https://{host}/page" for host in (*bad, *sound)], give_up_after_s=2.0)
    happened = within(tmp_path, sound | bad, [], [crawling(tmp_path)])
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    with closing(StoreReader(tmp_path / "ds.crawl")) as store:
        rows = {row.url.split("/")[2]: row for row in store.iter_fetches()}
    assert {rows[host].outcome for host in sound} <= {"kept"}
    assert {(rows[host].outcome, detail_of("connection", None, rows[host].detail)) for host in bad} == {
        ("connection", "tls")
    }
    assert "certificate has expired" in rows["www.expired0.com"].detail
    assert "Hostname mismatch" in rows["www.wrong_name0.com"].detail


OUTAGES = {
    "names_down": 0,
    "names_gone": 0,
    "names_garbage": 0,
    "names_astray": 30,
    "names_portal": 30,
    "names_unknown": 0,
    "names_fail": 0,
    "names_refused": 0,
    "names_inside": 0,
    "away": 30,
    "silent": 60,
    "cut": 70,
    "reset": 80,
    "portal": 90,
    "portal_redirect": 120,
    "portal_here": 30,
    "portal_loop": 60,
    "portal_404": 40,
    "portal_403": 90,
    "portal_511": 100,
    "portal_json": 110,
    "portal_empty": 130,
    "gateway": 50,
    "busy": 140,
    "mute": 60,
    "babble": 70,
    "slow": 80,
    "stopped": 40,
}
PROXYS = {"proxy_gone": 40, "proxy_unknown": 0, "proxy_mute": 60, "proxy_407": 50, "proxy_403": 0, "proxy_502": 70}
PROXYS |= {"proxy_login": 90}


def test_dead_hosts_that_come_first_hold_up_no_crawl_since_the_live_ones_that_wait_are_probed(tmp_path: Path) -> None:
    dead = {f"www.dead{i}.com": {"web": "dead", "delay_s": 0.0} for i in range(20)}
    live = {name: {"delay_s": 1.0} for name in live_hosts(10)}
    happened, rows = crawled(tmp_path, dead | live, [], n_pages=1, give_up_after_s=5.0)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    assert Counter(row.outcome for row in rows.values()) == {"kept": 10, "connection": 20}


def test_nothing_is_lost_to_one_outage_after_the_other_and_no_login_page_is_kept(tmp_path: Path) -> None:
    kinds = ("names_portal", "away", "portal_redirect")
    events = [{"after_pages": n, "what": what, "seconds": 3.0} for n, what in zip((0, 15, 60), kinds, strict=True)]
    events[1]["clock_s"] = 86_400.0  # the wall clock goes wrong with it, and right again
    happened, rows = crawled(tmp_path, live_hosts(50), events)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    begun = [line.split(" after")[0] for line in happened["log"] if not line.startswith("end of ")]
    assert begun == list(kinds)
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 100}


@pytest.mark.nightly
@pytest.mark.parametrize("what", OUTAGES)
def test_nothing_is_lost_to_a_long_outage_of_any_kind(tmp_path: Path, what: str) -> None:
    events = [{"after_pages": OUTAGES[what], "what": what, "seconds": 12.0}]
    happened, rows = crawled(tmp_path, live_hosts(60), events, n_pages=3)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 180}


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("what", PROXYS)
def test_nothing_is_lost_to_a_proxy_that_fails(tmp_path: Path, what: str, scheme: str) -> None:
    hosts = {name: {"tls": "live"} if scheme == "https" else {} for name in live_hosts(60)}
    events = [{"after_pages": PROXYS[what], "what": what, "seconds": 6.0}]
    happened, rows = crawled(tmp_path, hosts, events, n_pages=3, proxy=PROXY)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 180}


@pytest.mark.nightly
@pytest.mark.parametrize("clock_s", [86_400.0, -3_600.0])
def test_nothing_is_lost_to_a_wall_clock_that_is_set_while_the_crawl_waits(tmp_path: Path, clock_s: float) -> None:
    hosts = {name: {"delay_s": 0.3, "name": "late"} for name in live_hosts(40)}
    events = [{"after_pages": 10 + n, "what": "clock", "seconds": 1.0, "clock_s": clock_s} for n in range(3)]
    happened, rows = crawled(tmp_path, hosts, events, n_pages=4, delay_s=0.2)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 160}


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["away", "portal"])
def test_nothing_is_lost_to_a_network_that_comes_and_goes(tmp_path: Path, what: str) -> None:
    hosts = {name: {"delay_s": 0.5} for name in live_hosts(30)}
    events = [{"after_pages": 10 + n, "what": what, "seconds": 3.0, "pause_s": 3.0} for n in range(20)]
    happened, rows = crawled(tmp_path, hosts, events, n_pages=20)
    assert happened["runs"][0]["code"] == 0, happened["runs"][0]["err"]
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 600}


def test_a_crawl_without_a_network_stops_and_the_same_command_completes_it(tmp_path: Path) -> None:
    events = [{"after_pages": 0, "what": "away", "seconds": None}]
    happened, rows = crawled(tmp_path, live_hosts(20), events, n_pages=1, n_runs=2, give_up_after_s=1.0)
    _stopped(happened["runs"][0])
    assert "kept" not in happened["runs"][0]["err"]
    assert happened["runs"][1]["code"] == 0
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 20}


@pytest.mark.nightly
def test_a_crawl_that_the_network_leaves_for_good_stops_and_the_same_command_completes_it(tmp_path: Path) -> None:
    events = [{"after_pages": 30, "what": "silent", "seconds": None}]
    happened, rows = crawled(tmp_path, live_hosts(40), events, n_runs=2, give_up_after_s=1.0)
    _stopped(happened["runs"][0])
    assert happened["runs"][1]["code"] == 0
    assert Counter((row.outcome, row.attempts) for row in rows.values()) == {("kept", 1): 80}


def _stopped(run: dict[str, Any]) -> None:
    assert run["code"] == 1
    assert "fetch: the network was away for 1 s" in run["err"]
    assert run["err"].endswith("run the same command to resume\n")
