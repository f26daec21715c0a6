"""Files for feed readers, crawlers and models: feed.xml (Atom), llms.txt, and the picture of previews."""

from __future__ import annotations

import re
from collections.abc import Iterator

import jinja2

from edu_rag.look.matplotlib_svg import can_draw
from edu_rag.look.texts import clip, one_line, percent, plain, signed
from edu_rag.progress import say
from leaderboard.board.present import Row
from leaderboard.edition import Edition
from leaderboard.history.dataset_history import events_of, versions_of
from leaderboard.site import Files
from leaderboard.social import PICTURE, picture_of

FEED = "feed.xml"
SUMMARY = "llms.txt"
MAX_ROWS = 10
"""Rows of each table in the plain summary."""
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS = re.compile(r"([\\`*_\[\]<>|#])")


def xml_text(text: object) -> object:
    """A text without what XML 1.0 cannot hold, not even escaped; markup made by us passes through."""
    if not isinstance(text, str) or hasattr(text, "__html__"):
        return text
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", str(plain(text)))


def marked_text(text: str, length: int) -> str:
    """A declared text in Markdown: on one line, clipped, and nothing in it is markup."""
    return _MARKS.sub(r"\\\1", clip(one_line(text), length))


def summary_line(row: Row) -> str:
    """Team, score and rates of a system in Markdown: what follows its rank and the link of its name."""
    counts, interval = row.counts, row.interval
    within = f" [{signed(interval[0])}, {signed(interval[1])}]" if interval else ""
    rates = ", ".join(f"{name} {percent(getattr(counts, name))} %" for name in ("accuracy", "hallucination", "missing"))
    team = marked_text(row.result.card.system.team, 60)
    notes = [note for note in (team, "blind" * row.result.card.system.blind, "withdrawn" * row.withdrawn) if note]
    who = f" ({', '.join(notes)})" if notes else ""
    return f"{who}: score {signed(counts.score)}{within}; {rates}"


def _feed(edition: Edition, pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    made = pages.overlay(finalize=xml_text)
    events = events_of(edition.groups, edition.errata)
    yield FEED, made.get_template("feed.xml.j2").render(events=events, base=edition.base_url, FEED=FEED).encode()


def _summary(edition: Edition, pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    # Markdown, no markup: what a page must escape would be shown as `&amp;`.
    made = pages.overlay(autoescape=False)
    made.filters = {**pages.filters, "marked": marked_text}
    text = made.get_template("llms.txt.j2").render(
        MAX_ROWS=MAX_ROWS,
        base=edition.base_url,
        versions=versions_of(edition.groups),
        line=summary_line,
    )
    yield SUMMARY, text.encode()


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """llms.txt; the picture if matplotlib is installed; the feed if the address of the site is given."""
    yield from _summary(edition, pages)
    if can_draw():
        yield PICTURE, picture_of(edition.board)
    if edition.base_url:
        yield from _feed(edition, pages)
    else:
        say("feed.xml, sitemap.xml, robots.txt: not written, since they hold absolute addresses: give --url")
