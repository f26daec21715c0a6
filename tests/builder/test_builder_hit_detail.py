from __future__ import annotations

from itertools import product

import pytest
from builder_web import page, serving
from test_builder_fetch import fetch_many

from builder.fetch.hit_detail import detail_of
from edu_rag.records import HIT_DETAILS, HIT_OUTCOMES

RECORDED = [
    ("kept", 200, "", ""),
    ("robots", None, "disallowed by robots.txt", ""),
    ("http_error", 404, "status 404", "404"),
    ("http_error", 418, "status 418", "4xx"),
    ("http_error", 520, "status 520", "5xx"),
    ("http_error", 200, "content encoding 'br', which we did not ask for", "other"),
    ("dns", None, "no such name", "no_such_name"),
    ("dns", None, "the name server denies every name", "name_server_failed"),
    ("dns", None, "the name server gave no answer in 10 s", "name_server_silent"),
    ("dns", None, "the name server cannot find out", "name_server_failed"),
    ("dns", None, "the name server cannot be reached: Network is unreachable", "no_network"),
    ("connection", None, "ConnectionRefusedError: [Errno 111] Connect call failed ('93.184.216.34', 80)", "refused"),
    ("connection", None, "OSError: [Errno 101] Network is unreachable", "no_network"),
    ("connection", None, "SSLCertVerificationError: certificate verify failed", "tls"),
    ("connection", None, "circuit breaker: 8 failures in a row at a.example", "host_given_up"),
    ("connection", None, "ServerDisconnectedError: Server disconnected", "closed"),
    ("connection", 200, "the compressed body is cut", "cut"),
    ("connection", None, "ProxyError: status 407", "proxy"),
    ("connection", None, "ProxyError: no connection to the proxy: ConnectionRefusedError", "proxy"),
    ("connection", None, "something of tomorrow", "other"),
    ("timeout", None, "no answer in time", "no_answer"),
    ("timeout", 200, "not done after 5 s", "too_slow"),
    ("robots_unreachable", None, "robots.txt: status 503", "503"),
    ("robots_unreachable", None, "robots.txt: no answer in time", "no_answer"),
    ("robots_unreachable", None, "robots.txt: no such name", "no_such_name"),
    ("refused_address", None, "RefusedAddressError: a.example is 10.0.0.1, which is not a public address", "inside"),
    ("refused_address", None, "port 8080 is not 80 or 443", "port"),
    ("redirect_loop", 302, "over 5 redirects", "too_many"),
    ("redirect_loop", 302, "comes back to itself", "comes_back"),
    ("not_html", 200, "application/pdf", ""),
]


@pytest.mark.parametrize(("outcome", "status", "recorded", "word"), RECORDED)
def test_what_a_fetch_recorded_becomes_one_word(outcome: str, status: int | None, recorded: str, word: str) -> None:
    assert detail_of(outcome, status, recorded) == word


@pytest.mark.parametrize("outcome", HIT_OUTCOMES)
def test_every_word_is_of_the_closed_list(outcome: str) -> None:
    statuses, recorded = (
        (None, 0, 200, 302, 404, 599, 99_999),
        ("", "x" * 300, "status ", "robots.txt: status abc", "\n"),
    )
    assert {detail_of(outcome, *given) for given in product(statuses, recorded)} <= set(HIT_DETAILS)


def test_real_failures_have_their_words() -> None:
    with serving({"/": page("x"), "/error": (500, {}, b""), "/loop": (302, {"Location": "/loop"}, b"")}) as web:
        got = fetch_many(web, ["/error", "/loop", "http://127.0.0.1/", "http://site.example:8080/"])
    words = {path: detail_of(one.outcome, one.status, one.detail) for path, one in got.items()}
    assert words == {
        "/error": "500",
        "/loop": "comes_back",
        "http://127.0.0.1/": "inside",
        "http://site.example:8080/": "port",
    }
