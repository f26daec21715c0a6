"""The cause of a hit's outcome in one word of a closed list: the store records texts of servers and systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from builder.fetch.fetched import BREAKER, ROBOTS_UNREAD, STATUS, UNKNOWN_NAME
from edu_rag.records import HTTP_DETAILS

Signs = Sequence[tuple[tuple[str, ...], str]]
_NETWORK: Signs = (
    ((BREAKER,), "host_given_up"),
    (("ProxyError",), "proxy"),
    ((UNKNOWN_NAME,), "no_such_name"),
    (("name server cannot find out", "name server denies every name"), "name_server_failed"),
    (("name server gave no answer",), "name_server_silent"),
    (("name server cannot be reached",), "no_network"),
    (("ConnectionRefused", "Connect call failed", "Connection refused"), "refused"),
    (("unreachable", "No route", "no route"), "no_network"),
    (("SSL", "Certificate", "certificate", "TLS"), "tls"),
    (("ConnectionReset", "reset by peer", "Broken pipe", "ServerDisconnected", "Server disconnected"), "closed"),
    (("ayload", "compress", "is cut"), "cut"),
    (("no answer in time",), "no_answer"),
    (("not done after",), "too_slow"),
)
"""Parts of a recorded detail, and the word for it; the first that fits."""
_SIGNS: Mapping[str, Signs] = {
    "connection": _NETWORK,
    "dns": _NETWORK,
    "timeout": _NETWORK,
    "robots_unreachable": _NETWORK,
    "refused_address": (
        (("not a public address", "is not to be dialled"), "inside"),
        (("port ",), "port"),
        (("scheme ",), "scheme"),
        (("characters",), "too_long"),
        (("user name",), "user_name"),
    ),
    "redirect_loop": ((("comes back",), "comes_back"), (("redirects",), "too_many")),
}


def _of_status(status: int | None) -> str:
    if status is None:
        return "other"
    exact = str(status)
    return exact if exact in HTTP_DETAILS else f"{exact[:1]}xx" if 300 <= status < 600 else "other"


def detail_of(outcome: str, status: int | None, detail: str) -> str:
    """The word for what a fetch recorded; empty where there is no more to say, `other` for what has no word."""
    if outcome == "http_error":
        return _of_status(status)
    signs = _SIGNS.get(outcome)
    rest = detail.removeprefix(ROBOTS_UNREAD)
    if signs is None or not rest:
        return ""
    if rest.startswith(STATUS):
        number = rest.removeprefix(STATUS)[:3]
        return _of_status(int(number) if number.isdigit() else None)
    return next((word for parts, word in signs if any(part in rest for part in parts)), "other")
