"""The parts of the page of `edu-rag try` that show a question and a system's answer: HTML with every text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edu_rag.records import WebPage
from edu_rag.scorecard.card import Passage
from harness.asking.asked import AskedQuestion, SystemReply
from harness.asking.asked_text import label_of, time_text, tokens_text
from harness.explaining.shown_answer import Excerpt, ExcerptLimits, Marks, Piece, Window, excerpt, points_text
from harness.pages.render_page import render

LIMITS = ExcerptLimits(pages=30, characters=4_000, context=200)
START = 700
"""Characters of a page without a mark that are shown."""


class PageRow(NamedTuple):
    """A page as one answer shows it: its rank, its marked parts, whether the system read some of it."""

    rank: int
    excerpt: Excerpt
    is_read: bool
    has_evidence: bool


def question_panel(asked: AskedQuestion) -> str:
    """The question with its choices, the gold where it is known, and what goes into the systems."""
    return render("asked_question.html.j2", asked=asked, n_pages=len(asked.pages_shown))


def reply_panel(asked: AskedQuestion, reply: SystemReply) -> str:
    """A system's answer with its verdict and figures."""
    return render(
        "asked_reply.html.j2",
        asked=asked,
        reply=reply,
        prediction=reply.prediction,
        label=label_of(asked, reply),
        points=points_text(reply.verdict) if reply.verdict else "",
        time=time_text(reply),
        tokens=tokens_text(reply),
    )


def pages_panel(asked: AskedQuestion, reply: SystemReply) -> str:
    """The pages that a system got, with what it read and what is evidence marked."""
    rows = list(_rows(asked, reply.prediction.passages))
    n_read = sum(row.is_read for row in rows)
    return render("asked_pages.html.j2", rows=rows, n_read=n_read, n_pages=len(asked.pages_shown), reply=reply)


def head_panel(dataset: str) -> str:
    """The top of the page."""
    return render("asked_head.html.j2", dataset=dataset)


def saved_panel(name: str) -> str:
    """A word that an annotation was kept, in a file of this name."""
    return render("asked_saved.html.j2", name=name)


def fault_panel(fault: str) -> str:
    """A message in place of answers."""
    return render("asked_fault.html.j2", fault=fault)


def waiting_panel(name: str) -> str:
    """A system that has not answered yet."""
    return render("asked_waiting.html.j2", name=name)


def _rows(asked: AskedQuestion, passages: Sequence[Passage]) -> Iterator[PageRow]:
    """The given pages in their order, then what was cited without being given."""
    cited: dict[str, list[tuple[int, int, int]]] = {}
    for number, (page_id, start, end) in enumerate(passages, 1):
        cited.setdefault(page_id, []).append((number, start, end))
    pages = {page.page_id: page for page in asked.pages_shown}
    order = list(dict.fromkeys([*pages, *cited]))[: LIMITS.pages]
    for rank, page_id in enumerate(order, 1):
        evidence = asked.evidence.get(page_id, ())
        leaks = [(leak.start, leak.end) for leak in asked.leaks if leak.page_id == page_id]
        shown = excerpt(page_id, pages.get(page_id), Marks(cited.get(page_id, ()), evidence, leaks), LIMITS)
        yield PageRow(rank, _with_start(shown, pages.get(page_id)), page_id in cited, bool(evidence))


def _with_start(shown: Excerpt, page: WebPage | None) -> Excerpt:
    """An excerpt with the start of the page, if nothing on it is marked."""
    if page is None or shown.windows:
        return shown
    start = Piece(page.text[:START], is_cited=False, is_evidence=False, is_leak=False, starts=())
    return shown._replace(windows=(Window((start,), is_cut_before=False, is_cut_after=len(page.text) > START),))
