"""Metadata as an attacker would declare it, in every field that a team may fill."""

from __future__ import annotations

from pathlib import Path

import fixture_board as made

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
    "W" * 10_000,
    "word " * 2_000,
    "\u202eedoc lived\u202d \u2066unclosed",
    "مرحبا بالعالم نظام الإجابة " * 20,
    "Z\u0300\u0301\u0302\u0303" * 200,
    "\x00\x07\x1b[31mred\r\nnew line",
    "👩‍🔬🧪" * 40,
    " ",
)
LINKS = (
    "javascript:window.harmed=1", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", " javascript:alert(1)",
    "data:text/html,<script>window.harmed=1</script>", "vbscript:x", "file:///etc/passwd", "//evil.example/x",
    "https://ok.example/\"onclick=\"x", "https://user:pass@evil.example/", "https://exаmple.org/", "\x01javascript:x",
    "https://good.example/paper", "mailto:a@good.example", "https://" + "a" * 9_000 + ".example",
)  # fmt: skip


def write_hostile(results: Path) -> None:
    """A board of one system a string, the string in every declared field at once."""
    for number, text in enumerate(HOSTILE):
        card = made.card_of(
            f"hostile-{number:02d}", made.outcomes_of((40, 30, 20, 5, 5), 200, number), name=text, team=text,
            description=text, contact=text, licence=text, models=(text, text), outside_knowledge=text, tqa_overlap=text,
            links=(text, *LINKS), harness=text, interval_method=text,
            confidence={text: [text, 1]}, judges={text: {text: 1}},
            blind=True, slices=(made.Slice(attribute=text, value=text, counts=made.Counts(correct=3, incorrect=1)),),
            cost={text: {text: text}, "latency_s": {"median": text}}, retrieval={text: [text]}, probes={"x": text},
        )  # fmt: skip
        made.write_card(results, card, b'{"question_id": "q", "answer": null}\n')
