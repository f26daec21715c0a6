"""Faults of a predictions file, as listed in docs/scoring-spec.md, section 1, and lines that only look faulty."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

MAX_LINE = 4_000_000
LINE_FAULTS: Mapping[str, bytes] = {
    "blank line": b"",
    "line of blanks": b" \t ",
    "form feed": b"\x0c",
    "no JSON": b"b",
    "list": b'["b"]',
    "text": b'"b"',
    "number": b"3",
    "null": b"null",
    "open object": b'{"question_id": "q1"',
    "two values": b"{} {}",
    "comma too many": b'{"a": 1,}',
    "comment": b"// b",
    "single quotes": b"{'a': 1}",
    "empty object": b"{}",
    "only an id": b'{"question_id": "q1"}',
    "only an answer": b'{"answer": "b"}',
    "unknown id": b'{"question_id": "zz?", "answer": "b"}',
    "byte order mark": b'\xef\xbb\xbf{"question_id": "zz", "answer": null}',
    "deep list": b"[" * 40 + b"]" * 40,
    "empty id": b'{"question_id": "", "answer": "b"}',
}
VALUES: Mapping[str, tuple[str, ...]] = {
    "answer": (
        "3",
        "true",
        '["b"]',
        "{}",
        "1.5",
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"a\tb"',
        '"a\x00b"',
        '"\\x41"',
        "NaN",
        "'b'",
        '"b',
        '"\\u12"',
        '"b" "c"',
    ),
    "response": ("3", "false", "[]", "{}", '"\\ud83d"', '"\x1f"'),
    "confidence": (
        "1.1",
        "-0.1",
        '"0.5"',
        "true",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "[]",
        "01",
        ".5",
        "1.",
        "+1",
        "0x1",
        "1e",
        "1e+",
        "--1",
        "00",
        "1_0",
        "1.0000000000000002",
        "-1e-300",
        "2",
        "-",
        "1e-",
        "0.5.5",
        "Inf",
        "nan",
        "\uff11",
        "0,5",
    ),
    "latency_s": (
        "-1",
        '"1"',
        "true",
        "NaN",
        "1e400",
        "-1e-5",
        "123456789012345678901",
        "[1]",
        "1000000000000.1",
        "1.7976931348623157e308",
    ),
    "cost_usd": ("-0.01", "2e12", "true", "{}", "-1", '"free"'),
    "energy_j": ("-1", "true", '"x"'),
    "input_tokens": (
        "1.0",
        "1.5",
        "-1",
        "true",
        "1e3",
        '"7"',
        "123456789012345678901",
        "-12345678901234567890123",
        "01",
        "1.0e0",
        "-0.0",
        "1000000000001",
        "99999999999999999999",
    ),
    "output_tokens": ("1.0", "1000000000001", "18446744073709551616", "-7", "false", "[7]", "2e0"),
    "status": ('"OK"', '"failed"', "null", "0", '""', "true", '"ok "', '["ok"]'),
    "passages": (
        "null",
        "{}",
        '"p"',
        "[[]]",
        '[["p", 1]]',
        '[["p", 1, 2, 3]]',
        '[["p", 2, 2]]',
        '[["p", 5, 2]]',
        '[["p", -1, 2]]',
        "[[1, 1, 2]]",
        '[["p", 1.0, 2]]',
        '[["p", 1, 2.0]]',
        '[["p", "1", "2"]]',
        '[["p", true, 2]]',
        '[["p", null, 2]]',
        '[{"page_id": "p", "start": 1, "end": 2}]',
        '["p", 1, 2]',
        '[["p", 1, 123456789012345678901]]',
        '[["p", 0, 1],]',
        "[" * 33 + "]" * 33,
        '[["p", 1, 2] ["p", 1, 2]]',
        '[["", 1, 2]]',
        '[["\\ud800", 1, 2]]',
        '[["p", 1, 1e5]]',
        '[["p", -0.0, 2]]',
        '[["p", 0, NaN]]',
    ),
    "question_id": ("3", "null", "[]", '"\\ud800"', '"no such"', '" "', '""', '"q1\\u0000"'),
    "score": ("1",),
    "outcome": ('"correct"',),
    "Answer": ('"b"',),
    "gold": ("null",),
    "": ("1",),
    "answer ": ("null",),
    "\\u0061nswer": ('"b"',),
}
SOUND: Mapping[str, tuple[str, ...]] = {
    "confidence": (
        "1",
        "0",
        "-0",
        "-0.0",
        "1e0",
        "0.5E-1",
        "1E-999",
        "5e-324",
        "1.00000000000000001",
        "0.000000000000000000000000000001",
        "10e-1",
        "null",
    ),
    "latency_s": ("0", "1e3", "1000000000000", "-0.0", "0e999", "1E12", "null"),
    "input_tokens": ("-0", "1000000000000", "null", "0"),
    "passages": (
        "[]",
        '[["p", -0, 1]]',
        '[["p", 0, 99999999999999999999]]',
        '[["p",0,18446744073709551616]]',
        '[ [ "p" , 1 , 2 ] ]',
        '[["\\u0070", 3, 4]]',
        '[[" ", 1, 2]]',
    ),
    "response": (
        '"\\ud83d\\ude00"',
        '"\\u0000\\n\\/"',
        '"\x7f"',
        '"\u2028"',
        '"\\""',
        '"\\"score\\":"',
        '"}{"',
        '"\ufeff"',
        '"' + "[" * 40 + '"',
        '"\\\\ud800"',
    ),
    "status": ('"ok"', '"\\u006fk"'),
}
"""Values that are allowed although they look odd."""
Spoiler = Callable[[random.Random, list[bytes], int], list[bytes]]


def _without(line: bytes, name: str) -> dict[str, object]:
    return {key: value for key, value in json.loads(line).items() if key != name}


def with_value(line: bytes, name: str, raw: str) -> bytes:
    """The line with a field's value written as `raw`."""
    rest = json.dumps(_without(line, name), ensure_ascii=False)[1:-1]
    return f'{{"{name}": {raw}{", " if rest else ""}{rest}}}'.encode()


def _value(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    name = rng.choice(list(VALUES))
    return [*lines[:at], with_value(lines[at], name, rng.choice(VALUES[name])), *lines[at + 1 :]]


def _odd_line(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    return [*lines[:at], rng.choice(list(LINE_FAULTS.values())), *lines[at:]]


def _missing(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    return [
        *lines[:at],
        json.dumps(_without(lines[at], rng.choice(("answer", "question_id")))).encode(),
        *lines[at + 1 :],
    ]


def _repeated_line(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    place = rng.randint(0, len(lines))
    return [*lines[:place], lines[at], *lines[place:]]


def _repeated_key(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    line = lines[at].strip()
    key = rng.choice(
        (
            b'"answer": null',
            b'"question_id": "x"',
            b'"\\u0061nswer": null',
            b'"status": "ok", "status": "ok"',
            b'"passages": [{"x": 1, "x": 2}]',
        )
    )
    return [*lines[:at], line[:-1] + b", " + key + b"}", *lines[at + 1 :]]


def _answered_failure(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    told = _without(lines[at], "answer") | {
        "answer": rng.choice(("b", "")),
        "status": rng.choice(("crash", "protocol")),
    }
    return [*lines[:at], json.dumps(told).encode(), *lines[at + 1 :]]


def _bytes(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    """Bytes that are not UTF-8, or any other byte, somewhere in a line: often a fault, not always."""
    line = lines[at]
    place = rng.randint(0, len(line))
    odd = rng.choice(
        (
            b"\xff",
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"\xf5\x80\x80\x80",
            b"\x00",
            b"\x1f",
            b",",
            b"}",
            b'"',
            b"\\",
            b"\xa0",
            b"\x0b",
            b"\xef\xbb\xbf",
        )
    )
    return [*lines[:at], line[:place] + odd + line[place:], *lines[at + 1 :]]


def _long(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    """A line of about the largest size, a byte too long or not."""
    short = with_value(lines[at], "response", '""')
    size = MAX_LINE + rng.choice((0, 1, 2, 3))
    return [*lines[:at], with_value(lines[at], "response", '"' + "x" * (size - len(short)) + '"'), *lines[at + 1 :]]


def _sound(rng: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    name = rng.choice(list(SOUND))
    return [*lines[:at], with_value(lines[at], name, rng.choice(SOUND[name])), *lines[at + 1 :]]


SPOILERS: Mapping[str, tuple[Spoiler, float]] = {
    "value": (_value, 35),
    "line": (_odd_line, 15),
    "missing field": (_missing, 6),
    "repeated line": (_repeated_line, 8),
    "repeated key": (_repeated_key, 8),
    "answer of a failure": (_answered_failure, 6),
    "bytes": (_bytes, 15),
    "long line": (_long, 0.5),
    "sound": (_sound, 25),
}


def spoilt(rng: random.Random, lines: list[bytes]) -> tuple[list[bytes], str]:
    """The lines with one of the above, and its name."""
    name = rng.choices(list(SPOILERS), [weight for _, weight in SPOILERS.values()])[0]
    return SPOILERS[name][0](rng, lines, rng.randrange(len(lines))), name
