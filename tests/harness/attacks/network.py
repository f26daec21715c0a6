"""Attacks over the network and over sockets of the host."""

# ruff: noqa: PTH110

from __future__ import annotations

import os
import socket
import struct

from attack import TARGETS, attack, canary_in

_WAIT_S = 1.0


def _reach(family: int, kind: int, address: object) -> str | None:
    """Connect, say hello, and read the canary that the test's server answers with."""
    try:
        with socket.socket(family, kind) as link:
            link.settimeout(_WAIT_S)
            link.connect(address)  # type: ignore[arg-type]
            link.sendall(b"hello")
            return canary_in(link.recv(200))
    except OSError:
        return None


@attack
def tcp_to_the_loopback() -> str | None:
    return _reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", TARGETS["tcp_port"]))


@attack
def tcp_to_the_loopback_of_version_6() -> str | None:
    return _reach(socket.AF_INET6, socket.SOCK_STREAM, ("::1", TARGETS["tcp6_port"]))


@attack
def tcp_to_an_outside_address() -> str | None:
    """The machine's own address on its network stands for all that lies outside."""
    return _reach(socket.AF_INET, socket.SOCK_STREAM, (TARGETS["own_address"], TARGETS["tcp_port"]))


@attack
def udp_to_the_loopback() -> str | None:
    return _reach(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", TARGETS["udp_port"]))


@attack
def a_route_to_name_servers() -> str | None:
    """Connecting a datagram socket sends nothing, and fails where there is no route."""
    for address in ("8.8.8.8", "1.1.1.1", "2001:4860:4860::8888"):
        try:
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as link:
                link.connect((address, 53))
                return f"from {link.getsockname()[0]} to {address}"
        except OSError:
            continue
    return None


@attack
def dns_question() -> str | None:
    """A question to the test's name server: a secret could leave as a host's name."""
    question = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\x06secret\x07example\x00\x00\x01\x00\x01"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.settimeout(_WAIT_S)
            link.sendto(question, ("127.0.0.1", TARGETS["udp_port"]))
            return canary_in(link.recv(200))
    except OSError:
        return None


@attack
def unix_socket_by_name() -> str | None:
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + TARGETS["abstract_socket"])


@attack
def unix_socket_by_path() -> str | None:
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, TARGETS["path_socket"])


@attack
def sockets_of_services() -> str | None:
    """Docker's, D-Bus's, systemd's: whoever reaches one has the machine. Only looked for, never spoken to."""
    for path in (
        "/var/run/docker.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/containerd",
        "/run/user",
        "/tmp/.X11-unix",
        "/run/nscd/socket",
    ):
        if os.path.exists(path) and os.access(path, os.R_OK | os.W_OK):
            return path
    return None


@attack
def netlink() -> str | None:
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
            link.settimeout(_WAIT_S)
            link.bind((0, 0))
            link.send(struct.pack("=LHHLL", 20, 18, 0x301, 1, 0) + b"\0\0\0\0")  # RTM_GETLINK, dump
            return f"{len(link.recv(65_536))} bytes about network links"
    except OSError:
        return None


def _opened(family: int, kind: int, protocol: int = 0) -> str | None:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError:
        return None
    return f"a socket of family {family}, kind {kind}"


@attack
def raw_socket() -> str | None:
    return _opened(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attack
def packet_socket() -> str | None:
    return _opened(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)


@attack
def vsock() -> str | None:
    return _opened(socket.AF_VSOCK, socket.SOCK_STREAM)


@attack
def kernel_crypto_socket() -> str | None:
    return _opened(socket.AF_ALG, socket.SOCK_SEQPACKET)


@attack
def sockets_of_rare_families() -> str | None:
    """Code that nobody needs is where the kernel breaks: AX.25, IPX, key, Bluetooth, CAN, TIPC, RDS, SMC, XDP."""
    for family in (3, 4, 15, 21, 24, 29, 30, 31, 35, 36, 42, 43, 44, 45):
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            if found := _opened(family, kind):
                return found
    return None
