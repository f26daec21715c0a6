from __future__ import annotations

import asyncio
import itertools
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest
from builder_web import page, redirect, serving
from hypothesis import given
from hypothesis import strategies as st

from builder.fetch import Fetched, addresses, fetch_all
from builder.fetch.addresses import Lookup, NoRouteError, RefusedAddressError, check_url, guarded_sockets
from builder.fetch.hit_detail import detail_of
from builder.fetch.hop import no_address
from builder.fetch.settings import FetchConfig
from builder.fetch.sighting import is_local_fault
from builder.urls import literal_address
from edu_rag.network.public_addresses import is_public

NOW = datetime(2026, 1, 2, tzinfo=UTC)

INSIDE_HOSTS = """
127.0.0.1 127.0.0.1. 127.1 127.1. 127.0.1 127.255.255.254 2130706433 017700000001 0x7f000001 0x7F.1 0x7f.0.0.1
0177.0.0.1 0177.0.0.01 00000177.0.0.1 127.0.0.0x1 127.0.0x0.1 0x7f.0x0.0x0.0x1 0X7F.0.0.1 0 0x0 00 0.0.0.0 0.0.0.0. 0.1
１２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.0.0.① １２７．１ 𝟙𝟚𝟟.0.0.1 ２１３０７０６４３３
10.0.0.1 10.1 167772161 012.0.0.1 0xa.1 10.255.255.255 172.16.0.1 172.31.255.254 0xac100001 192.168.0.1 192.168.1
3232235521 0300.0250.0.1 100.64.0.1 100.127.255.254 169.254.169.254 2852039166 0xa9fea9fe
0251.0376.0251.0376 169.254.43518
168.63.129.16 0xa83f8110 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.255 4294967295 0xffffffff
[::1] [::] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::ffff:127.0.0.1] [::ffff:7f00:1]
[0:0:0:0:0:ffff:127.0.0.1] [::FFFF:10.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::127.0.0.1] [::7f00:1]
[::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::]
[2002:7f00:1::1] [2002:a00:1::1] [2002:a9fe:a9fe::1] [2001:0:1::1] [2001:db8::1] [3fff::1] [2a00::5efe:127.0.0.1]
[2a00::200:5efe:10.0.0.1] [fe80::1] [fe80::1%25eth0] [fe80::1%eth0] [fec0::1] [fc00::1] [fd00:ec2::254] [ff02::1]
[100::1] [5f00::1] [4000::1] [e000::1] [::1%25lo] [::1%lo] localhost. localhost LOCALHOST ip6-localhost
inside.example both.example mapped.example zoned.example %31%32%37.0.0.1 127.0.0.%31 loc%61lhost 127.0.0.1%2f.example
""".split()  # noqa: SIM905 - a table to be read
INSIDE_URLS = [
    "http://user@127.0.0.1/",
    "http://public.example@127.0.0.1/",
    "http://127.0.0.1@public.example/",
    "http://public.example:80@127.0.0.1/",
    "http://public.example\\@127.0.0.1/",
    "http://127.0.0.1\\@public.example/",
    "http://127.0.0.1:80\\.public.example/",
    "http:\\\\127.0.0.1\\",
    "http://127.0.0.1:22/",
    "http://public.example:22/",
    "http://public.example:8080/",
    "http://public.example:0/",
    "http://public.example:65536/",
    "http://public.example:-1/",
    "http://[127.0.0.1]/",
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://08.1.1.1/",
    "http://0x100.1.1.1/",
    "http://[::1/",
    "http:///127.0.0.1/",
    "file:///etc/passwd",
    "ftp://public.example/",
    "gopher://127.0.0.1/",
    "data:text/html,x",
    "javascript:alert(1)",
    "http://127.0.0.1\t/",
    "\thttp://127.0.0.1/",
    "http://127.0.0\n.1/",
]
INSIDE = [f"http://{host}/" for host in INSIDE_HOSTS] + INSIDE_URLS

PUBLIC_ADDRESSES = {
    "93.184.216.34": "93.184.216.34",
    "8.8.8.8.": "8.8.8.8",
    "1.1": "1.0.0.1",
    "1572395042": "93.184.216.34",
    "0x5db8d822": "93.184.216.34",
    "0135.0270.0330.042": "93.184.216.34",
    "010.8.8.8": "8.8.8.8",
    "８.８.８.８": "8.8.8.8",
    "8。8。8。8": "8.8.8.8",
    "[2606:2800:220:1::1]": "2606:2800:220:1::1",
    "[2606:2800:0220:0001:0:0:0:1]": "2606:2800:220:1::1",
    "[64:ff9b::5db8:d822]": "64:ff9b::5db8:d822",
    "[2002:5db8:d822::]": "2002:5db8:d822::",
    "[::ffff:93.184.216.34]": "::ffff:93.184.216.34",
}
PUBLIC_ADDRESSES |= {
    address: address
    for address in """
    1.0.0.1 1.1.1.1 4.2.2.2 8.8.4.4 9.9.9.9 9.255.255.255 11.0.0.1 13.107.42.14 17.253.144.10 23.1.2.3 31.13.71.36
    45.33.32.156 52.1.2.3 64.233.160.1 99.84.1.1 100.63.255.255 100.128.0.1 104.16.132.229 126.255.255.255 128.0.0.1
    130.89.148.14 140.82.112.3 151.101.1.140 157.240.1.35 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.1
    172.15.255.255 172.32.0.1 185.199.108.153 191.255.255.255 192.0.1.1 192.1.0.1 192.30.255.113 192.88.98.1
    192.88.100.1 192.167.255.255 192.169.0.1 193.0.0.1 198.17.255.255 198.20.0.1 198.51.99.1 198.51.101.1 199.232.1.1
    203.0.112.1 203.0.114.1 204.79.197.200 208.80.154.224 212.58.244.1 216.58.1.1 223.255.255.254
    """.split()  # noqa: SIM905 - a table to be read
}
PUBLIC_ADDRESSES |= {
    f"[{address}]": address
    for address in """
    2001:200::1 2001:4860:4860::8888 2001:67c:4e8::1 2003::1 2400:cb00::1 2404:6800:4003::1 2600::1 2606:4700:4700::1111
    2607:f8b0:4004::1 2620:0:862:ed1a::1 2620:fe::fe 2800:3f0::1 2a00:1450:4001::1 2a02:ec80:300:ed1a::1 2a04:4e42::1
    2c0f:fb50::1
    """.split()  # noqa: SIM905 - a table to be read
}
PUBLIC_NAMES = """
public.example www.public.example PUBLIC.example public.example. xn--bcher-kva.example bücher.example 1.public.example
127.0.0.1.public.example 0x7f.public.example localhost.public.example 10-0-0-1.example a_b.example -.example
example1 1e3 7f000001 0xg beef.cafe 127.0.0.1.x
""".split()  # noqa: SIM905 - a table to be read
ADDRESSES = {
    "localhost": ["127.0.0.1"],
    "localhost.": ["::1", "127.0.0.1"],
    "LOCALHOST": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "inside.example": ["10.0.0.7"],
    "both.example": ["93.184.216.34", "192.168.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "zoned.example": ["fe80::1%eth0"],
}


def lookup(host: str) -> list[str]:
    """A name server: some names lead inside; numbers are read as inet_aton reads them; the rest is public."""
    known = ADDRESSES.get(host) or ADDRESSES.get(host.lower())
    if known:
        return known
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except (OSError, UnicodeError):
        return ["93.184.216.34"]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the loop was told to connect to; no connection is made."""
    seen: list[str] = []

    async def sock_connect(_: object, __: socket.socket, address: tuple[str, int]) -> None:
        seen.append(address[0])
        raise ConnectionRefusedError("not in a test")

    monkeypatch.setattr(asyncio.selector_events.BaseSelectorEventLoop, "sock_connect", sock_connect)
    return seen


def asked_by(find: Callable[[str], list[str]]) -> Lookup:
    async def lookup(host: str) -> list[str]:
        return find(host)

    return lookup


def fates(urls: list[str], find: Callable[[str], list[str]] = lookup) -> dict[str, Fetched]:
    got: dict[str, Fetched] = {}
    settings = FetchConfig(contact="a@b.example", breaker_failures=0)
    fetch_all(urls, settings, {}, lambda: NOW, lambda item: got.update({item.url: item}), lookup=asked_by(find))
    return got


def test_no_spelling_of_an_inside_address_is_dialled(dialled: list[str]) -> None:
    got = fates(INSIDE)
    assert len(INSIDE) >= 140
    assert dialled == []
    assert {url: item.outcome for url, item in got.items()} == dict.fromkeys(INSIDE, "refused_address")


def test_ipv6_is_dialled_only_where_a_route_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    four, six = "93.184.216.34", "2606:2800:220:1::1"
    monkeypatch.setattr(addresses, "without_route", lambda address: "")
    assert addresses.with_route("h.com", [six, four]) == [six, four]
    monkeypatch.setattr(addresses, "without_route", lambda address: "Network is unreachable" if ":" in address else "")
    assert addresses.with_route("h.com", [six, four]) == [four]
    with pytest.raises(NoRouteError) as caught:
        addresses.with_route("h.com", [six])
    outcome, detail = no_address(caught.value)
    assert (outcome, detail_of(outcome, None, detail)) == ("connection", "no_network")
    assert not is_local_fault(detail)


@pytest.mark.process
@pytest.mark.parametrize(("limit", "n"), [("-n 128", 16), ("-n 20", 1)])
def test_no_more_visits_have_sockets_than_this_system_allows(limit: str, n: int) -> None:
    code = "from builder.fetch.open_files import visits_at_once; print(visits_at_once())"
    words = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", sys.executable, "-c", code]
    assert int(subprocess.run(words, capture_output=True, text=True, check=True).stdout) == n


@pytest.mark.process
def test_a_soft_limit_of_open_files_is_raised() -> None:
    code = "from builder.fetch.open_files import visits_at_once; print(visits_at_once())"
    words = ["sh", "-c", 'ulimit -Sn 128; ulimit -Hn 1088; exec "$@"', "sh", sys.executable, "-c", code]
    assert int(subprocess.run(words, capture_output=True, text=True, check=True).stdout) == 256


def test_every_spelling_of_a_public_address_is_dialled_as_what_it_is(dialled: list[str]) -> None:
    assert len(PUBLIC_ADDRESSES) + len(PUBLIC_NAMES) >= 95
    for host, address in PUBLIC_ADDRESSES.items():
        dialled.clear()
        assert fates([f"http://{host}/"])[f"http://{host}/"].outcome == "connection", host
        assert set(map(ip_address, dialled)) == {ip_address(address)}, host
    for host in PUBLIC_NAMES:
        dialled.clear()
        fates([f"https://{host}:443/x"])
        assert set(dialled) == {"93.184.216.34"}, host


def test_a_name_that_changes_its_address_is_dialled_only_where_it_was_checked(dialled: list[str]) -> None:
    answers: Iterator[str] = itertools.cycle(["93.184.216.34", "127.0.0.1"])
    urls = [f"http://rebind.com/{i}" for i in range(20)] + [f"http://h{i}.rebind.com/" for i in range(20)]
    got = fates(urls, lambda _: [next(answers)])
    assert set(dialled) == {"93.184.216.34"}
    assert {item.outcome for item in got.values()} == {"connection", "refused_address"}


def test_the_last_door_refuses_a_socket_to_the_inside_however_it_was_come_by() -> None:
    open_socket = guarded_sockets({"site.example": ("127.0.0.1", 8_000)}, {("10.1.2.3", 3128)})
    info = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
    open_socket((*info, ("127.0.0.1", 8_000))).close()
    open_socket((*info, ("93.184.216.34", 443))).close()
    for address in (("127.0.0.1", 80), ("127.0.0.1", 8_001), ("10.0.0.1", 443), ("93.184.216.34", 8_000)):
        with pytest.raises(RefusedAddressError):
            open_socket((*info, address))


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:{port}/secret",
        "//127.1/",
        "http://localhost:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://inside.example/secret",
        "\\\\127.0.0.1/secret",
    ],
)
def test_a_redirect_to_the_inside_reaches_nothing(target: str) -> None:
    got: list[Fetched] = []
    with serving({"/secret": page("inside")}) as web:
        web.answers["/"] = redirect(target.format(port=web.port))
        hosts = {"site.example": web.address}
        fetch_all(["http://site.example/"], FetchConfig(), hosts, lambda: NOW, got.append, lookup=asked_by(lookup))
        assert web.asked == ["/robots.txt", "/"] or target.startswith("\\")
        assert web.n_asked("/secret") == 0
    assert got[0].outcome in ("refused_address", "http_error")


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_every_way_to_write_an_ipv4_address_is_read_as_that_address(number: int) -> None:
    address = ip_address(number)
    a, b, c, d = address.packed
    spellings = (
        str(number),
        hex(number),
        f"0{number:o}",
        f"{a}.{number & 0xFFFFFF}",
        f"{a}.{b}.{c * 256 + d}",
        f"{a:#x}.0{b:o}.{c}.{d:#X}",
        f"{address}.",
        str(address).translate({ord("0") + i: 0xFF10 + i for i in range(10)}),
    )
    assert {literal_address(spelling) for spelling in spellings} == {address}


@given(st.text(max_size=60))
def test_a_host_of_any_characters_is_an_address_a_name_or_a_value_error(host: str) -> None:
    try:
        found = literal_address(host)
    except ValueError:
        return
    assert found is None or is_public(found) in (True, False)


@given(st.text(max_size=80))
def test_a_url_of_any_characters_is_allowed_or_refused(rest: str) -> None:
    refused = ""
    try:
        check_url("http://" + rest)
    except RefusedAddressError as error:
        refused = str(error)
    host = (urlsplit("http://" + rest).hostname or "") if not refused else ""
    assert bool(refused) != bool(host)
