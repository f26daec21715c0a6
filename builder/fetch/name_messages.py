"""The two DNS messages that finding an address needs (RFC 1035 section 4): a question, and the answer to it.

Answers come from outside: every length is checked, and whatever is wrong with one is a ValueError.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Literal

A, AAAA = 1, 28
_IN, _OPT = 1, 41
_UDP_BYTES = 1_232
"""The size of answer that crosses every network in one piece (DNS flag day 2020)."""
_HEADER = struct.Struct("!6H")
_RECORD = struct.Struct("!HHIH")
_NO_ERROR, _NO_SUCH_NAME = 0, 3
_MAX_NAME_BYTES = 255

Server = tuple[str, int]
"""The address and the port of a name server."""
Verdict = Literal["addresses", "unknown", "failed", "truncated"]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """An answer's number, the kind of address that was asked for, what it says, and the addresses in it."""

    number: int
    kind: int
    verdict: Verdict
    addresses: tuple[str, ...] = ()


def wire_name(host: str) -> bytes:
    """A host name as it travels, in lower case. Raises ValueError for what cannot be a name."""
    labels = host.removesuffix(".").lower().encode("ascii" if host.isascii() else "idna").split(b".")
    if any(not 1 <= len(label) <= 63 for label in labels):
        raise ValueError(f"{host[:80]!r} is no host name")
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    if len(name) > _MAX_NAME_BYTES:
        raise ValueError(f"{host[:80]!r} is too long for a host name")
    return name


def question(number: int, name: bytes, kind: int) -> bytes:
    """The message that asks a name server for one kind of address of a name, by recursion."""
    header = _HEADER.pack(number, 0x0100, 1, 0, 0, 1)
    return header + name + struct.pack("!HH", kind, _IN) + b"\0" + _RECORD.pack(_OPT, _UDP_BYTES, 0, 0)


def _after_name(data: bytes, place: int) -> int:
    """Where the name at `place` ends; a pointer (RFC 1035 section 4.1.4) ends it."""
    while place < len(data):
        length = data[place]
        if length >= 0xC0:
            return place + 2
        if length > 63:
            break
        place += 1 + length
        if not length:
            return place
    raise ValueError("a name has no end")


def _addresses(data: bytes, place: int, n: int, kind: int) -> tuple[str, ...]:
    found: list[str] = []
    for _ in range(n):
        place = _after_name(data, place)
        if place + _RECORD.size > len(data):
            raise ValueError("a record is cut")
        found_kind, found_class, _, length = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        value = data[place : place + length]
        place += length
        if len(value) < length:
            raise ValueError("a record is cut")
        if (found_kind, found_class) == (kind, _IN):
            if length != (4 if kind == A else 16):
                raise ValueError("an address has the wrong length")
            found.append(str(ipaddress.ip_address(value)))
    return tuple(dict.fromkeys(found))


def read_answer(data: bytes, name: bytes) -> NameAnswer:
    """The answer to a question about this name. Raises ValueError for anything else."""
    if len(data) < _HEADER.size:
        raise ValueError("too short for a message")
    number, flags, n_questions, n_answers, _, _ = _HEADER.unpack_from(data)
    end = _HEADER.size + len(name)
    if not flags & 0x8000 or n_questions != 1 or data[_HEADER.size : end].lower() != name or len(data) < end + 4:
        raise ValueError("answers another question")
    kind, question_class = struct.unpack_from("!HH", data, end)
    if kind not in (A, AAAA) or question_class != _IN:
        raise ValueError("answers another question")
    code = flags & 0x000F
    if code == _NO_SUCH_NAME:
        return NameAnswer(number, kind, "unknown")
    if code != _NO_ERROR:
        return NameAnswer(number, kind, "failed")
    if flags & 0x0200:
        return NameAnswer(number, kind, "truncated")
    addresses = _addresses(data, end + 4, n_answers, kind)
    return NameAnswer(number, kind, "addresses" if addresses else "unknown", addresses)


def server_of(text: str) -> Server:
    """A name server as a setting names it: `9.9.9.9`, `127.0.0.1:5353`, `2620:fe::fe`, `[::1]:5353`.

    Raises ValueError.
    """
    host, port = text, "53"
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") if rest else port
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536
    if not is_port or text.count("[") != text.count("]"):
        raise ValueError(f"{text[:60]!r} is not an address, or has no port that can be")
    return str(ipaddress.ip_address(host)), int(port)
