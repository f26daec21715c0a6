"""What goes into the systems with a question: its own pages, the first few, its evidence alone, or no page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from edu_rag.errors import ConfigError
from edu_rag.records import Evidence, Question, WebPage
from edu_rag.scorecard.card import Prediction
from harness.probing.probe_questions import EvidencePages, ProbeSource

Rule = Literal["own", "top", "evidence", "none"]
RULES: tuple[Rule, ...] = get_args(Rule)
MAX_TOP = 50
_TOP = re.compile(r"top-([1-9][0-9]?)\Z")


class PageInput(NamedTuple):
    """A rule for the pages of a question; `top` is the number of pages of the rule `top`."""

    rule: Rule = "own"
    top: int = 3

    @property
    def name(self) -> str:
        """As users type it: `own`, `top-3`, `evidence`, `none`."""
        return f"top-{self.top}" if self.rule == "top" else self.rule


def parse_page_input(text: str) -> PageInput:
    """Read `own`, `top-K`, `evidence` or `none`. Raises ConfigError."""
    found = _TOP.match(text)
    if found is not None and int(found[1]) <= MAX_TOP:
        return PageInput("top", int(found[1]))
    for rule in RULES:
        if text == rule and rule != "top":
            return PageInput(rule)
    raise ConfigError("pages", f"unknown: {text[:40]!r}", f"choose own, top-1 to top-{MAX_TOP}, evidence or none")


class GivenPages(NamedTuple):
    """The pages that a system gets, and what turns its citations into offsets of the whole pages."""

    pages: Sequence[WebPage]
    back: Callable[[Prediction], Prediction]


def _same(prediction: Prediction) -> Prediction:
    return prediction


def given_pages(
    question: Question, pages: Sequence[WebPage], evidence: Sequence[Evidence], page_input: PageInput
) -> GivenPages:
    """The pages that the rule leaves of a question's own. Raises ConfigError if there is no evidence to give."""
    if page_input.rule == "none":
        return GivenPages((), _same)
    if page_input.rule == "top":
        return GivenPages(pages[: page_input.top], _same)
    if page_input.rule == "own":
        return GivenPages(pages, _same)
    question_id = question.question_id
    only = EvidencePages(ProbeSource([question], {question_id: pages}, {question_id: evidence}, {}))
    if question_id not in only.pages:
        raise ConfigError("pages", "no evidence is known for this question", "choose own, top-K or none")
    return GivenPages(only.pages[question_id], only.back)
