"""Metadata as an attacker would declare it, in every field that a team may fill."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fixture_board as made

WIDE = "W" if os.environ.get("EDU_RAG_NIGHTLY") else "M"
"""A wide letter. Chromium kerns WW, and shapes the word again at every line break: 10,000 W take 5 s of layout, and
10,000 M almost none.
"""
HOSTILE = (
    "<script>window.harmed=1</script>",
    "</td></tr></table><img src=x onerror=window.harmed=1>",
    '" onmouseover="window.harmed=1" x="',
    "' autofocus onfocus='window.harmed=1",
    "<svg/onload=window.harmed=1>",
    "</title></style></textarea><script>window.harmed=1</script>",
    "{{ 7*7 }}{% raw %}",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "+1-1",
    WIDE * 10_000,
    "word " * 2_000,
    "\u202eedoc lived\u202d \u2066unclosed",
    "مرحبا بالعالم نظام الإجابة " * 20,
    "Z\u0300\u0301\u0302\u0303" * 200,
    "\x00\x07\x1b[31mred\r\nnew line",
    "👩‍🔬🧪" * 40,
    " ",
)
LINKS = (
    "javascript:window.harmed=1",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,<script>window.harmed=1</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example/x",
    'https://ok.example/"onclick="x',
    "https://user:pass@evil.example/",
    "https://exаmple.org/",
    "\x01javascript:x",
    "https://good.example/paper",
    "mailto:a@good.example",
    "https://" + "a" * 9_000 + ".example",
)


STRANGE: tuple[Callable[[str], dict[str, Any]], ...] = (
    lambda text: {"caps": {"memory_bytes": text, text: text}, "rerun": {"n": text, "n_same": text, "made_at": text}},
    lambda text: {"caps": {"n_processes": -3, "cpu_s": 1e300}, "rerun": {"n": -20, "n_same": 10**19, "own": text}},
    lambda text: {"caps": {"sandbox": text, "gaps": [text]}, "rerun": {"n": 20, "n_same": 21, "made_at": [text]}},
    lambda text: {"caps": {"sandbox": ["none"], "n_files": True}, "rerun": {"n": True, "n_same": 1.0, "own": 1}},
    lambda text: {"caps": nested(text), "rerun": {"n": nested(text), "n_same": None, "made_at": {text: text}}},
    lambda text: {"caps": {"memory_bytes": 10**15, "cpu_s": 0.5}, "rerun": {"n": 20, "n_same": 0, "made_at": text}},
)
"""Caps and re-runs of any JSON that a file may hold."""


def nested(text: str, depth: int = 12) -> dict[str, Any]:
    return {text: text if depth == 0 else nested(text, depth - 1)}


def write_hostile(results: Path) -> None:
    """A board of one system a string, the string in every declared field at once."""
    for number, text in enumerate(HOSTILE):
        card = made.card_of(
            f"hostile-{number:02d}",
            made.outcomes_of((40, 30, 20, 5, 5), 200, number),
            name=text,
            team=text,
            description=text,
            contact=text,
            licence=text,
            models=(text, text),
            outside_knowledge=text,
            tqa_overlap=text,
            links=(text, *LINKS),
            harness=text,
            interval_method=text,
            confidence={text: [text, 1]},
            judges={text: {text: 1}},
            blind=True,
            slices=(made.Slice(attribute=text, value=text, counts=made.Counts(correct=3, incorrect=1)),),
            cost={text: {text: text}, "latency_s": {"median": text}},
            retrieval={text: [text]},
            probes={"x": text},
            withdrawn=text,
            overlap=made.overlap_of(200, number, number / 18),
            **dict(STRANGE[number % len(STRANGE)](text)),
        )
        made.write_card(results, card, b'{"question_id": "q", "answer": null}\n')
