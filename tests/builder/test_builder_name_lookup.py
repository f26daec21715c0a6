from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from dnslib import AAAA, QTYPE, RCODE, RR, A, DNSRecord

from builder.fetch import name_lookup
from builder.fetch.name_lookup import NameFaultError, NameServers, hosts_file
from builder.fetch.settings import FetchConfig, server_of
from edu_rag.errors import RecordError

Reply = Callable[[DNSRecord], list[bytes]]
Server = tuple[str, int]


def _sockets_on_one_port() -> tuple[socket.socket, socket.socket]:
    """A datagram and a stream socket on the same port, which another program may have for one of them."""
    for _ in range(100):
        door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.bind(("127.0.0.1", 0))
        try:
            stream.bind(door.getsockname())
        except OSError:
            door.close()
            stream.close()
        else:
            return door, stream
    raise RuntimeError("no port is free for both kinds of sockets")


@contextmanager
def name_server(reply: Reply) -> Iterator[Server]:
    """A name server on loopback, over datagrams and over TCP."""
    door, stream = _sockets_on_one_port()
    with door, stream:
        stream.listen()

        def serve() -> None:
            while (got := door.recvfrom(4_096))[0] != b"end":
                for packet in reply(DNSRecord.parse(got[0])):
                    door.sendto(packet, got[1])

        def serve_streams() -> None:
            while True:
                client, _ = stream.accept()
                with client:
                    size = int.from_bytes(client.recv(2), "big")
                    if not size:
                        return
                    full = DNSRecord.parse(client.recv(size)).reply()
                    full.add_answer(RR(full.q.qname, full.q.qtype, rdata=_address(full)))
                    packet = full.pack()
                    client.sendall(len(packet).to_bytes(2, "big") + packet)

        threads = [Thread(target=serve), Thread(target=serve_streams)]
        for thread in threads:
            thread.start()
        try:
            yield door.getsockname()
        finally:
            door.sendto(b"end", door.getsockname())
            socket.create_connection(stream.getsockname()).close()
            for thread in threads:
                thread.join()


def _address(record: DNSRecord) -> A | AAAA:
    return A("93.184.216.34") if record.q.qtype == QTYPE.A else AAAA("2606:2800:220:1::1")


def good(record: DNSRecord) -> list[bytes]:
    answer = record.reply()
    answer.add_answer(RR(record.q.qname, record.q.qtype, rdata=_address(record)))
    return [answer.pack()]


def with_code(code: int) -> Reply:
    def reply(record: DNSRecord) -> list[bytes]:
        answer = record.reply()
        answer.header.rcode = code
        return [answer.pack()]

    return reply


def denying(record: DNSRecord) -> list[bytes]:
    """A server that knows domains, and no name below them."""
    return with_code(RCODE.NXDOMAIN if "." in str(record.q.qname).rstrip(".") else RCODE.NOERROR)(record)


def looked_up(servers: list[Server], *names: str, wait_s: float = 10.0) -> list[list[str] | BaseException]:
    async def run() -> list[list[str] | BaseException]:
        lookup = NameServers(servers, wait_s, known={})
        return await asyncio.gather(*(lookup(name) for name in names), return_exceptions=True)

    return asyncio.run(run())


BOTH = ["93.184.216.34", "2606:2800:220:1::1"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a busy machine, which needs longer than this for the second kind of address, would lose it."""
    monkeypatch.setattr(name_lookup, "_OTHER_KIND_S", 60.0)


def test_a_kind_of_address_without_an_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_lookup, "_OTHER_KIND_S", 0.01)

    async def run(server: Server) -> list[str]:
        return await asyncio.wait_for(NameServers([server], 3_600.0, known={})("one.example"), 300.0)

    with name_server(lambda record: good(record) if record.q.qtype == QTYPE.A else []) as server:
        assert asyncio.run(run(server)) == ["93.184.216.34"]


def test_a_name_has_its_addresses_of_both_kinds() -> None:
    with name_server(good) as server:
        assert looked_up([server], "one.example", "ONE.example.", "bücher.example") == [BOTH, BOTH, BOTH]


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (with_code(RCODE.NXDOMAIN), "the name server denies every name"),
        (denying, "no such name"),
        (with_code(RCODE.NOERROR), "no such name"),
        (with_code(RCODE.SERVFAIL), "the name server cannot find out"),
        (with_code(RCODE.REFUSED), "the name server cannot find out"),
    ],
)
def test_a_name_without_an_address_says_whether_the_name_service_knows_that(reply: Reply, detail: str) -> None:
    with name_server(reply) as server:
        (fault,) = looked_up([server], "none.example")
    assert isinstance(fault, NameFaultError)
    assert str(fault) == detail


def test_a_name_server_that_has_found_a_name_is_believed_when_it_denies_one() -> None:
    def reply(record: DNSRecord) -> list[bytes]:
        return good(record) if record.q.qname == "one.example" else with_code(RCODE.NXDOMAIN)(record)

    async def run(server: Server) -> list[str]:
        lookup = NameServers([server], known={})
        assert await lookup("one.example") == BOTH
        with pytest.raises(NameFaultError) as caught:
            await lookup("none.example")
        return [str(caught.value)]

    with name_server(reply) as server:
        assert asyncio.run(run(server)) == ["no such name"]


def test_a_name_server_that_is_silent_or_has_no_route_is_named_so() -> None:
    with name_server(lambda _: []) as server:
        (silent,) = looked_up([server], "none.example", wait_s=0.2)
    (away,) = looked_up([("255.255.255.255", 53)], "none.example", wait_s=0.2)  # broadcast: the kernel refuses
    assert str(silent) == "the name server gave no answer in 0.2 s"
    assert str(away).startswith("the name server cannot be reached")


def test_silent_names_hold_up_no_other_name() -> None:
    def reply(record: DNSRecord) -> list[bytes]:
        return [] if "silent" in str(record.q.qname) else good(record)

    async def run(server: Server) -> tuple[list[list[str]], int]:
        """The answers of the live names, and how many silent names had ended by then, which began first."""
        lookup = NameServers([server], 60.0, known={})
        silent = [asyncio.ensure_future(lookup(f"silent{i}.example")) for i in range(100)]
        answers = await asyncio.gather(*(lookup(f"live{i}.example") for i in range(50)))
        n_ended = sum(one.done() for one in silent)
        for one in silent:
            one.cancel()
        await asyncio.gather(*silent, return_exceptions=True)
        return answers, n_ended

    with name_server(reply) as server:
        assert asyncio.run(run(server)) == ([BOTH] * 50, 0)


@pytest.mark.slow
def test_a_datagram_that_was_lost_is_sent_again() -> None:
    asked: Counter[int] = Counter()

    def losing(record: DNSRecord) -> list[bytes]:
        asked[record.q.qtype] += 1
        return good(record) if asked[record.q.qtype] == 2 else []

    with name_server(losing) as server:
        assert looked_up([server], "lost.example", wait_s=4.0) == [BOTH]


def test_a_name_server_that_fails_is_followed_by_the_next() -> None:
    with name_server(with_code(RCODE.SERVFAIL)) as broken, name_server(good) as server:
        assert looked_up([broken, server], "one.example") == [BOTH]


def test_an_answer_that_is_cut_is_asked_for_again_over_tcp() -> None:
    def cut(record: DNSRecord) -> list[bytes]:
        answer = record.reply()
        answer.header.tc = 1
        return [answer.pack()]

    with name_server(cut) as server:
        assert looked_up([server], "long.example") == [BOTH]


@pytest.mark.parametrize("step_s", [86_400.0, -3_600.0])
def test_a_name_is_found_although_the_wall_clock_is_set_meanwhile(
    monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    right, wrong_s = time.time, [0.0]
    monkeypatch.setattr("time.time", lambda: right() + wrong_s[0])

    def cut(record: DNSRecord) -> list[bytes]:
        wrong_s[0] = step_s
        answer = record.reply()
        answer.header.tc = 1
        return [answer.pack()]

    with name_server(cut) as server:
        assert looked_up([server], "long.example") == [BOTH]


def test_a_forged_answer_does_not_count() -> None:
    def forged(record: DNSRecord) -> list[bytes]:
        number, name = DNSRecord.parse(record.pack()), DNSRecord.question("other.example").reply()
        number.header.id = (record.header.id + 1) % 65_536
        name.header.id = record.header.id
        name.add_answer(RR("other.example", QTYPE.A, rdata=A("10.0.0.1")))
        return [number.reply().pack(), name.pack(), b"\0", record.pack(), *good(record)]

    with name_server(forged) as server:
        assert looked_up([server], "one.example") == [BOTH]


@pytest.mark.parametrize("name", ["", ".", "a..b", f"{'a' * 64}.example", f"{'a.' * 130}example", "a\udcff.example"])
def test_what_cannot_be_a_host_name_is_no_such_name(name: str) -> None:
    (fault,) = looked_up([("127.0.0.1", 9)], name)
    assert str(fault).startswith("no such name")


def test_answers_that_are_no_messages_do_not_count() -> None:
    def rubbish(record: DNSRecord) -> list[bytes]:
        (packet,) = good(record)
        return [b"", packet[:5], packet[:-3], b"\xff" * 600, packet]

    with name_server(rubbish) as server:
        assert looked_up([server], "one.example") == [BOTH]


def test_the_file_of_hosts_is_read_with_its_faults(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("10.0.0.7 inside.example Inside2.example\nnonsense x\n::1\n")
    known = hosts_file(tmp_path / "hosts")
    assert (known["inside.example"], known["inside2.example"]) == (["10.0.0.7"], ["10.0.0.7"])
    assert known["localhost"] == ["127.0.0.1", "::1"]


def test_a_name_server_is_named_by_its_address_with_or_without_a_port() -> None:
    assert server_of("9.9.9.9") == ("9.9.9.9", 53)
    assert server_of("127.0.0.1:5353") == ("127.0.0.1", 5353)
    assert server_of("2620:fe::fe") == ("2620:fe::fe", 53)
    assert server_of("[::1]:5353") == ("::1", 5353)
    for bad in ("dns.example", "9.9.9.9:0", "9.9.9.9:x", "[::1", "9.9.9.9:99999", "9.9.9"):
        with pytest.raises(RecordError, match="name server"):
            FetchConfig(resolver=bad)
