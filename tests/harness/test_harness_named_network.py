"""The network by name: attacks on the proxy, what passes through it, and a system in the sandbox that uses it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from inside_run import KEY, Attacked, attack_from_inside
from network_attacks import GRANTED, NETWORK_ATTACKS, PUBLIC, Net, greeting, request
from pull_request_trees import hand_in, judged, settings, write_base, write_run

from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, RecordError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.results_folder import read_scorecard
from harness.commands.run_command import network_of
from harness.named_network.connect_request import RefusedRequestError, asked_host, greeted_name
from harness.named_network.named_host import NamedHost
from harness.running.run import Manner, record_of
from harness.running.withheld_keys import WithheldKeys
from harness.submission.folder import open_submission

SLOW = ("a_slow_header", "a_slow_greeting")


@pytest.mark.parametrize("name", NETWORK_ATTACKS)
def test_no_attack_on_the_proxy_succeeds(name: str, tmp_path: Path) -> None:
    with Net(head_s=1.5 if name in SLOW else 10.0).running(tmp_path) as net:
        assert NETWORK_ATTACKS[name](net) is None
        assert (
            net.own in net.say(request(f"{GRANTED}:443"), greeting(GRANTED))
            or "name_that" in name
            or "name_with" in name
        )


def test_there_are_attacks_of_every_kind() -> None:
    assert len(NETWORK_ATTACKS) >= 60


def test_a_granted_host_is_reached_and_its_bytes_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hello = greeting(GRANTED)
    with Net().running(tmp_path) as net:
        assert net.own in net.say(request(f"{GRANTED}:443", f"Host: {GRANTED}:443"), hello, b"more")
        net.say(request("evil.example:443"))
    assert net.dialled == [(PUBLIC, 443)]
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"network: {GRANTED}: connections 1, bytes sent {len(hello) + 4:,}, bytes received 32"
    assert told[1] == "network: refused 1: evil.example is not a granted name"


def test_much_passes_both_ways_at_once(tmp_path: Path) -> None:
    n, back, hello = 5_000_000, bytearray(), greeting(GRANTED)

    class Echo(Net):
        def _serve(self, end: socket.socket, said: bytes) -> None:
            with end, contextlib.suppress(OSError):
                while chunk := end.recv(65_536):
                    end.sendall(chunk)

    with Echo().running(tmp_path) as net, net.client() as client:
        client.sendall(request(f"{GRANTED}:443"))
        client.recv(1_000)

        def send() -> None:
            client.sendall(hello + bytes(n))
            client.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        while chunk := client.recv(65_536):
            back += chunk
        sender.join()
    assert bytes(back) == hello + bytes(n)


def test_the_proxy_ends_with_connections_open(tmp_path: Path) -> None:
    with Net().running(tmp_path) as net:
        clients = [net.client() for _ in range(3)]
        clients[0].sendall(b"CONNECT ")
        clients[1].sendall(request(f"{GRANTED}:443"))
        clients[1].recv(1_000)
    for client in clients:
        with client, contextlib.suppress(ConnectionError):  # of one that was not accepted yet
            client.recv(1_000)  # perhaps a refusal
            assert client.recv(1_000) == b""


def test_more_connections_than_allowed_are_closed(tmp_path: Path) -> None:
    with Net().running(tmp_path) as net, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(net.client()) for _ in range(70)]
        assert clients[-1].recv(10) == b""
        assert net.traffic.refused["over 64 connections at a time"] >= 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "API.example.org",
        "a.b.",
        ".a.b",
        "a..b",
        "1.2.3.4",
        "a.0x7f",
        "a.b:0",
        "a.b:99999",
        "-a.bc",
        "a_b.cd",
        "x." * 140 + "org",
    ],
)
def test_what_is_no_full_name_of_a_host_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        NamedHost.parse(text)


def test_a_port_is_443_unless_it_is_written() -> None:
    assert NamedHost.parse("api.example.org") == NamedHost.parse("api.example.org:443") == ("api.example.org", 443)
    assert str(NamedHost.parse("api.example.org:8443")) == "api.example.org:8443"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_a_greeting_or_a_refusal(data: bytes) -> None:
    for read in (asked_host, greeted_name):
        with contextlib.suppress(RefusedRequestError):
            assert read(data) is None or data.startswith((b"CONNECT ", b"\x16\x03"))


@given(st.integers(1, 400), st.integers(0, 255))
def test_a_greeting_in_pieces_or_with_a_changed_byte_never_names_another_server(at: int, value: int) -> None:
    data = greeting(GRANTED)
    at = min(at, len(data) - 1)
    assert greeted_name(data) == GRANTED
    with contextlib.suppress(RefusedRequestError):
        assert greeted_name(data[:at]) is None
    changed = data[:at] + bytes([value]) + data[at + 1 :]
    with contextlib.suppress(RefusedRequestError):
        name = greeted_name(changed)
        assert name is None or len(name) <= 255


@pytest.fixture(scope="module")
def attacked(sandbox_here: None, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """One run of the system that attacks from inside, with a granted host that is a real TLS server here."""
    return attack_from_inside(tmp_path_factory.mktemp("attacked"))


def test_a_system_reaches_the_granted_host_with_the_standard_variables(attacked: Attacked) -> None:
    assert attacked.response["granted"] == "hello from the granted host"
    assert attacked.dialled == [(PUBLIC, 443)]


def test_no_attack_from_inside_succeeds(attacked: Attacked) -> None:
    assert {name: found for name, found in attacked.response.items() if found and name != "granted"} == {}
    assert len(attacked.response) >= 17
    assert not attacked.canary.exists()


def test_a_key_is_in_no_file_that_a_run_leaves_and_in_no_message(attacked: Attacked) -> None:
    for name, text in attacked.written.items():
        assert KEY not in text, name
    assert attacked.written["test.log"].count("(withheld)") >= 2
    assert attacked.written["test.jsonl"].count("(withheld)") >= 4


def test_the_record_names_the_granted_hosts_and_the_packages(attacked: Attacked) -> None:
    caps = json.loads(attacked.written["test.run.json"])["caps"]
    assert caps["network"] == [GRANTED]
    assert caps["n_packages"] == 1
    assert len(caps["packages_sha256"]) == 64


ASKS = f'[network]\nallow = ["{GRANTED}", "other.example.org:8443"]\n'


def test_a_scorecard_has_the_hosts_that_a_system_asks_for_and_no_field_without_them(
    write_system: Callable[..., Path], tiny: Dataset, gold: dict[str, str], tmp_path: Path
) -> None:
    for number, extra in enumerate(("", ASKS)):
        folder = write_system("", extra=extra)
        write_run(folder, gold)
        out = tmp_path / str(number)
        words = ["score", "--all", str(folder.parent), "--dataset", str(tiny.folder), "--out", str(out)]
        assert CliRunner().invoke(root, words, catch_exceptions=False).exit_code == 0
        (path,) = out.rglob("scorecard.json")
        assert ("asks_network" in path.read_text()) == bool(extra)
        assert read_scorecard(path).asked_network == ((GRANTED, "other.example.org:8443") if extra else ())


def test_a_key_in_a_refused_name_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-0123456789ABCDEF"
    keys = WithheldKeys([key])
    with Net(printable=keys.out_of_name).running(tmp_path) as net:
        for name in (f"{key.lower()}.api.example.org", f"{'x' * 60}.{'y' * 9}.{key}.org", f"{key}.API.example.org"):
            net.say(request(f"{name}:443"))
    told = capsys.readouterr().err
    assert key[:8] not in told
    assert told.count("(withheld") == 3


def test_a_name_is_granted_only_if_the_system_asks_for_it(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("", extra=ASKS)
    words = ["run", str(folder), "--dataset", str(tiny.folder), "--allow-network"]
    for name, what in (("evil.example", "does not ask for evil.example"), ("127.0.0.1", "is not a host's full name")):
        error = CliRunner().invoke(root, [*words, name]).exception
        assert isinstance(error, ConfigError)
        assert what in str(error)
    assert CliRunner().invoke(root, [*words, GRANTED, "--unsafe-no-sandbox"]).exit_code == 2


def test_what_is_asked_for_and_not_granted_is_said(write_system: Callable[..., Path], tiny: Dataset) -> None:
    submission = open_submission(write_system("", extra=ASKS))
    assert network_of(submission, [GRANTED], unsafe=False).facts == {"network": [GRANTED]}
    assert network_of(submission, [], unsafe=False).facts == {}


def test_answers_under_a_granted_network_are_not_taken_for_answers_without_one(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    submission = open_submission(write_system("", extra=ASKS))
    records = [
        record_of(submission, tiny, "test", None, Manner(network=network_of(submission, names, unsafe=False)))
        for names in ([], [GRANTED])
    ]
    assert records[0].caps != records[1].caps
    assert records[0].settings_sha256 != records[1].settings_sha256


def test_ci_and_a_rerun_refuse_a_system_that_asks_for_the_network(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
) -> None:
    base, head = write_base(tmp_path, tiny, gold)
    toml = settings("New team") + 'command = ["python", "system.py"]\n' + ASKS
    folder = hand_in(head, "new-one", None, toml, code="raise SystemExit")
    (fault,) = judged(base, head, tiny, choice="always").faults
    asks = f"was not run: it asks for the network ({GRANTED}, other.example.org:8443), which is never granted here"
    assert str(fault).startswith(f"submissions/new-one: {asks}")
    write_run(folder, gold)
    found = judged(base, head, tiny, choice="always")
    assert found.accepted
    assert any(asks in warning for warning in found.results[0].warnings)
    words = ["rerun", str(folder), "--dataset", str(tiny.folder), "--reruns", str(tmp_path / "reruns.jsonl")]
    assert asks in str(CliRunner().invoke(root, words).exception)
