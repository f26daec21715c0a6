from __future__ import annotations

import contextlib
import gzip
import time
import zlib
from datetime import UTC, datetime
from threading import Event
from typing import BinaryIO

import pytest
from builder_web import HTML, Answer, Writer, page, serving
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from builder.fetch import Fetched, fetch_all, reserves_rights
from builder.fetch.body import SMALL_BYTES, BodyError, _Inflater
from builder.fetch.machine_use_signals import (
    MAX_LINES,
    PRODUCT_TOKEN,
    RESERVING,
    VOCABULARY,
    signals_in_page,
    signals_of_rules,
    usage_rules,
)
from builder.fetch.robots import robots_of, told_to_us
from builder.fetch.settings import FetchConfig
from builder.urls import canonical_url

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TEXT = b"<html>" + b"".join(b"<p>water %d</p>" % i for i in range(2_000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def fetch_one(
    answer: Answer | Writer, robots: Answer | Writer = (404, {}, b""), path: str = "/", **settings: object
) -> Fetched:
    got: list[Fetched] = []
    with serving({path: answer, "/robots.txt": robots}) as web:
        config = FetchConfig(**settings)  # type: ignore[arg-type]
        fetch_all([f"http://site.example{path}"], config, {"site.example": web.address}, lambda: NOW, got.append)
    return got[0]


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("GZIP", gzip.compress(TEXT)),
        ("gzip", b"".join(gzip.compress(TEXT[i : i + 1_000]) for i in range(0, len(TEXT), 1_000))),
        ("gzip", gzip.compress(TEXT) + b"\0" * 40),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("identity", TEXT),
    ],
    ids=["gzip", "x-gzip", "upper case", "many members", "padded", "deflate", "raw deflate", "identity"],
)
def test_a_compressed_page_is_read_whole(encoding: str, body: bytes) -> None:
    got = fetch_one((200, {"content-type": "text/html", "content-encoding": encoding}, body))
    assert (got.outcome, got.body == TEXT) == ("kept", True), got.detail


@pytest.mark.parametrize(
    ("encoding", "body", "outcome"),
    [
        ("gzip", gzip.compress(b"x" * 100_000) * 20, "too_large"),
        ("gzip", gzip.compress(b"") * 2_000, "too_large"),
        ("deflate", zlib.compress(b"x" * 30_000_000), "too_large"),
        ("gzip", b"no gzip at all", "connection"),
        ("deflate", raw_deflate(TEXT)[:-9], "connection"),
        ("br", b"\x0b", "http_error"),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT)), "http_error"),
        ("gzip", gzip.compress(gzip.compress(TEXT)), "not_html"),
    ],
)
def test_a_bomb_a_cut_and_a_second_layer_are_no_pages(encoding: str, body: bytes, outcome: str) -> None:
    got = fetch_one((200, {**HTML, "Content-Encoding": encoding}, body), max_bytes=1_000_000)
    assert (got.outcome, got.body) == (outcome, b"")


def test_a_body_without_a_trailer_that_ends_at_the_bound_of_a_part_comes_whole() -> None:
    # 258 bytes of a run are two bits of deflate: the last parts come when all of the input is taken in.
    for size in range(SMALL_BYTES - 4, SMALL_BYTES + 260):
        inflater, data = _Inflater("deflate"), raw_deflate(b"<" + b"a" * size)
        assert sum(map(len, inflater.parts(data))) == size + 1
        assert inflater.is_done


@given(st.binary(max_size=3_000), st.sampled_from(["gzip", "deflate"]), st.integers(1, 700))
def test_bytes_of_any_kind_are_inflated_in_bounded_parts_or_refused(data: bytes, encoding: str, step: int) -> None:
    inflater, largest = _Inflater(encoding), 0
    with contextlib.suppress(zlib.error, BodyError):
        for at in range(0, len(data), step):
            largest = max([largest, *map(len, inflater.parts(data[at : at + step]))])
    assert largest <= 262_144


@given(st.lists(st.binary(max_size=2_000), min_size=1, max_size=4), st.integers(1, 700))
def test_members_cut_anywhere_inflate_to_their_sum(parts: list[bytes], step: int) -> None:
    data = b"".join(map(gzip.compress, parts))
    inflater = _Inflater("gzip")
    found = b"".join(part for at in range(0, len(data), step) for part in inflater.parts(data[at : at + step]))
    assert (found, inflater.is_done) == (b"".join(parts), True)


def test_many_large_pages_at_once_come_whole() -> None:
    big = b"<html>" + b"x" * 1_500_000
    got: list[Fetched] = []
    with serving({f"/{i}": (200, HTML, big) for i in range(30)}) as web:
        hosts = {f"h{i}.example": web.address for i in range(30)}
        urls = [f"http://h{i}.example/{i}" for i in range(30)]
        fetch_all(urls, FetchConfig(timeout_s=60, first_byte_s=60), hosts, lambda: NOW, got.append)
    assert [item.outcome for item in got] == ["kept"] * 30
    assert {item.body == big for item in got} == {True}


def _late(out: BinaryIO) -> None:
    time.sleep(1)
    out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")


def _slow_body(out: BinaryIO) -> None:
    out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\r\n<html>")
    out.flush()
    time.sleep(0.8)
    out.write(b"x")


def test_the_first_byte_has_a_deadline_of_its_own() -> None:
    late = fetch_one(_late, first_byte_s=0.3, timeout_s=20)
    assert (late.outcome, late.detail) == ("timeout", "no answer in time")
    assert fetch_one(_slow_body, first_byte_s=0.5, timeout_s=20).outcome == "kept"
    assert fetch_one(_slow_body, first_byte_s=20, timeout_s=0.5).detail == "not done after 0.5 s"


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_not_found_keeps_its_status_if_the_deadline_comes_while_it_is_read(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.fetch.hop._ERROR_PAGE_S", 600.0)
    is_over = Event()

    def never_whole(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 %d No\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<h1>" % status)
        out.flush()
        is_over.wait(60)

    try:
        got = (fetch_one(never_whole, timeout_s=timeout_s) for timeout_s in (0.2, 0.5, 0.9, 5.0, 25.0))
        answered = next(one for one in got if one.status is not None)  # a busy machine may need more time
    finally:
        is_over.set()
    assert (answered.outcome, answered.status, answered.error_look) == ("http_error", status, "")


@pytest.mark.parametrize("headers", [b"X-N: y\r\n" * 500, b"X-Long: " + b"y" * 40_000 + b"\r\n"])
def test_a_flood_of_headers_is_no_page(headers: bytes) -> None:
    def flood(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + headers + b"Content-Length: 6\r\n\r\n<html>")

    assert fetch_one(flood).outcome in ("connection", "too_large")


def test_a_robots_file_without_end_is_read_as_far_as_the_bound() -> None:
    def endless(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /private\n")
        out.writelines(b"# filler of one line\n" * 1_000 for _ in range(100))

    assert fetch_one(page("x"), endless).outcome == "kept"
    assert fetch_one(page("x"), endless, "/private").detail == "disallowed by robots.txt"


ROBOTS = b"""User-agent: *
Content-Usage: train-ai=n, search=y
Content-Usage: /free/ train-ai=y
Content-Signal: search=yes, ai-train=no
Allow: /
"""


@pytest.mark.parametrize(
    ("headers", "body", "signals"),
    [
        ({}, b"<html>", ()),
        ({"tdm-reservation": "1"}, b"<html>", ("tdm-reservation",)),
        ({"tdm-reservation": "0"}, b"<html>", ()),
        ({"x-robots-tag": "noindex, noai, NoImageAI"}, b"<html>", ("noai", "noimageai")),
        ({"X-Robots-Tag": "otherbot: noai"}, b"<html>", ()),
        ({"X-Robots-Tag": "edu-rag-bench: noai"}, b"<html>", ("noai",)),
        ({"Content-Usage": "train-ai=n;x=1, bots=?0, what=n"}, b"<html>", ("content-usage:train-ai=n",)),
        ({}, b'<html><META content="NoAI, index" NAME=robots>', ("noai",)),
        ({}, b"<html><meta name='tdm-reservation' content='1'/>", ("tdm-reservation",)),
        ({}, b'<html><meta name="otherbot" content="noai"><p>noai', ()),
    ],
)
def test_what_a_page_says_of_machine_use_is_recorded(
    headers: dict[str, str], body: bytes, signals: tuple[str, ...]
) -> None:
    got = fetch_one((200, {**HTML, **headers}, body))
    assert (got.outcome, got.signals) == ("kept", signals)


def test_what_robots_txt_says_of_machine_use_is_recorded_by_path() -> None:
    got = fetch_one(page("x"), (200, {}, ROBOTS))
    said = ("content-signal:ai-train=no", "content-signal:search=yes")
    assert got.signals == (*said, "content-usage:search=y", "content-usage:train-ai=n")
    free = fetch_one(page("x"), (200, {}, ROBOTS), "/free/x")
    assert free.signals == (*said, "content-usage:train-ai=y")
    assert reserves_rights(got.signals)
    assert not reserves_rights(("content-usage:search=n", "content-signal:search=no", "noimageai"))
    assert RESERVING <= VOCABULARY


def test_a_robots_file_of_agents_and_rules_takes_no_more_than_its_own_size() -> None:
    # Every agent of a group with a copy of its rules would be 64 million rules.
    names = b"".join(b"user-agent: a%d\nUser Agent e%s*\n" % (i, b"*" * (i % 50)) for i in range(8_000))
    rules = b"".join(b"disallow: /%d\ncontent-usage: train-ai=n\n" % i for i in range(8_000))
    robots = robots_of(200, names + b"user-agent: *\n" + rules, "kept", "")
    assert not robots.allows("http://h/7999")
    assert robots.allows("http://h/x")
    assert len(robots.usage) == MAX_LINES


@given(st.text(max_size=200))
def test_no_robots_file_breaks_its_reader(text: str) -> None:
    assert robots_of(200, text.encode("utf-8", "surrogatepass"), "kept", "").outcome == "robots"


_LINES = st.lists(
    st.sampled_from(
        [
            "User-agent: *",
            "user-agent: edu-rag-bench",
            "User-Agent: Edu-RAG* # we",
            "useragent: otherbot",
            "user agent x",
            "User-agent: googlebot",
            "User-agent:",
            "Sitemap: http://h/s",
            "Disallow: /a",
            "Allow: /a/b",
            "disallow: /",
            "Crawl-delay: 3",
            "",
            "# user-agent: *",
            "nonsense",
            "strange: x",
            "\ufeffDisallow: /b",
        ]
    ),
    max_size=14,
)


@given(_LINES)
def test_other_agents_under_one_name_change_nothing_for_us(lines: list[str]) -> None:
    text = "\n".join(lines)
    whole, ours = Protego.parse(text), Protego.parse(told_to_us(text))
    for path in ("/", "/a", "/a/b", "/b", "/c"):
        url = f"http://h{path}"
        assert whole.can_fetch(url, PRODUCT_TOKEN) == ours.can_fetch(url, PRODUCT_TOKEN)
    assert whole.crawl_delay(PRODUCT_TOKEN) == ours.crawl_delay(PRODUCT_TOKEN)


def test_the_group_of_our_own_name_goes_before_that_of_all() -> None:
    text = ROBOTS.decode() + "\nUser-agent: edu-rag-bench\nUser-agent: other\nContent-Signal: ai-train=yes\n"
    assert signals_of_rules(usage_rules(text), "http://h/x") == {"content-signal:ai-train=yes"}


@given(st.text(max_size=400), st.binary(max_size=400))
def test_signals_of_any_text_are_words_of_the_vocabulary(text: str, body: bytes) -> None:
    rules = usage_rules(f"User-agent: *\nContent-Usage: {text}")
    assert signals_of_rules(rules, "http://h/x") <= VOCABULARY
    assert signals_in_page(b"<html noai><meta " + body + b">") <= VOCABULARY


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://h.example/a?utm_source=x&id=2&gclid=1", "http://h.example/a?id=2"),
        ("http://h.example/a?_gl=1&_ga=2&gad_source=5&wbraid=q&gbraid=r", "http://h.example/a"),
        ("http://h.example/a?mtm_campaign=1&pk_kwd=2&hsa_acc=3&_hsenc=4&mkt_tok=5", "http://h.example/a"),
        ("http://h.example/a?igshid=1&ttclid=2&twclid=3&yclid=4&SRSLTID=5", "http://h.example/a"),
        ("http://h.example/a?page=2&ref=x&id=utm_source", "http://h.example/a?id=utm_source&page=2&ref=x"),
        ("http://h.example/amp/a?amp=1", "http://h.example/amp/a?amp=1"),
    ],
)
def test_tracking_parameters_are_no_part_of_a_pages_identity(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical
