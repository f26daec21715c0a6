"""A system's own packages and its network by name: attacks that succeed with us, and with plain tools.

Usage: .venv/bin/python bench/environment_attacks.py    (as root or another user; some three minutes)

The attacks are those of tests/harness: package_attacks, network_attacks, environment_attacker. For comparison, the
packages are installed by a plain `pip install --target`, and the network is a proxy as it is often written: it looks
for the granted name at the end of the target, and leaves the name to the dial.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "harness")]

import network_attacks  # noqa: E402
from inside_run import attack_from_inside  # noqa: E402
from network_attacks import GRANTED, NETWORK_ATTACKS, PUBLIC, Net  # noqa: E402
from package_attacks import PACKAGE_ATTACKS, Place  # noqa: E402

from harness.named_network.forward_proxy import SOCKET_NAME, Traffic  # noqa: E402


def _plain_pip(place: Place) -> Path | None:
    """The environment by pip alone; an existing one is used again."""
    site = place.cache / "packages-v1" / "entry" / "site"
    if site.is_dir():
        return site
    (site.parent / "wheels").mkdir(parents=True)
    words = ["install", "--quiet", "--no-deps", "--target", str(site), "-r", str(place.requirements)]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, check=False)
    place.said.append(done.stderr.decode(errors="replace"))
    return site if done.returncode == 0 else None


def packages(install: Callable[[Place], Path | None] | None) -> list[str]:
    """The attacks by packages that succeed."""
    through = []
    for name, one in PACKAGE_ATTACKS.items():
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder) / "place")
            place.install = install
            os.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place.index), "PIP_CONFIG_FILE": os.devnull}
            with contextlib.redirect_stderr(io.StringIO()):
                if one(place) is not None:
                    through.append(name)
    return through


class _UsualProxy:
    """A proxy as it is often written."""

    def __init__(self, net: Net) -> None:
        self._net = net

    @contextlib.contextmanager
    def in_folder(self, folder: Path, grant: Any) -> Iterator[Traffic]:
        with contextlib.chdir(folder), socket.socket(socket.AF_UNIX) as server:
            server.bind(SOCKET_NAME)
            server.listen(128)
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()
            yield Traffic()
            server.shutdown(socket.SHUT_RDWR)

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError, IndexError):
            client.settimeout(2)
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65_536)
            method, target, *_ = head.decode("latin-1").split()
            host, _, port = target.rpartition(":") if method == "CONNECT" else ("", "", "")
            if not host.lower().rstrip(".").endswith(GRANTED) or method != "CONNECT":
                client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
                return
            address = self._net.lookup(GRANTED)[0] if host.lower().rstrip(".") == GRANTED else host
            with self._net.dial(address, int(port)) as upstream:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                rest = head.partition(b"\r\n\r\n")[2]
                upstream.settimeout(2)
                while chunk := rest or client.recv(65_536):
                    rest = b""
                    upstream.sendall(chunk)
                    client.sendall(upstream.recv(65_536))


def network(*, usual: bool) -> list[str]:
    """The attacks on the proxy that succeed."""
    through, ours = [], network_attacks.proxy_in
    for name, one in NETWORK_ATTACKS.items():
        net = Net(head_s=0.5 if "slow" in name else 10.0)
        network_attacks.proxy_in = _UsualProxy(net).in_folder if usual else ours
        folder = tempfile.TemporaryDirectory()
        with folder, contextlib.redirect_stderr(io.StringIO()), net.running(Path(folder.name)):
            if one(net) is not None:
                through.append(name)
    network_attacks.proxy_in = ours
    return through


def inside() -> tuple[int, list[str]]:
    """The attacks from inside the sandbox: how many, and which succeed; a key that is left counts as one."""
    with tempfile.TemporaryDirectory() as folder:
        found = attack_from_inside(Path(folder))
    if found.response.get("granted") != "hello from the granted host" or set(found.dialled) != {(PUBLIC, 443)}:
        raise SystemExit(f"the granted host was not reached: {found.response}, {found.dialled}")
    tried = {name: evidence for name, evidence in found.response.items() if name != "granted"}
    files = ["test.log", "test.jsonl", "test.run.json", "messages"]
    tried |= {f"key_in_{name}": inside_key(found.written[name]) for name in files}
    tried["code_of_a_package_outside"] = found.canary.exists() or None
    return len(tried), [name for name, evidence in tried.items() if evidence]


def inside_key(text: str) -> str | None:
    """Evidence that the key is in a text."""
    from inside_run import KEY

    return "the key" if KEY in text else None


def main() -> None:
    """Run all of it, print the table."""
    n_inside, from_inside = inside()
    rows = [
        ("own packages, and their cache", len(PACKAGE_ATTACKS), packages(None), packages(_plain_pip)),
        ("the proxy to granted hosts", len(NETWORK_ATTACKS), network(usual=False), network(usual=True)),
    ]
    print("| attacks | n | succeed | with `pip install` or a usual proxy |\n|---|---|---|---|")
    for told, n, ours, plain in rows:
        print(f"| {told} | {n} | {len(ours)} | {len(plain)} |")
    print(f"| from inside: packages, network, key | {n_inside} | {len(from_inside)} | |")
    succeed = [*rows[0][2], *rows[1][2], *from_inside]
    if succeed:
        print(f"\nSucceed: {', '.join(succeed)}")


if __name__ == "__main__":
    main()
