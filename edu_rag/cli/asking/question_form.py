"""What a visitor of the page of `edu-rag try` may ask: checked values, and the link that brings them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from edu_rag.errors import ConfigError
from edu_rag.records import LABELS
from harness.asking.asked import MAX_SYSTEMS, require_few
from harness.asking.known_questions import MAX_CHOICE, MAX_TEXT
from harness.asking.page_input import PageInput, parse_page_input

LIVE = "live"
"""The rule for pages that an engine finds now; the others are those of harness.asking.page_input."""
MAX_ID = 200


class QuestionForm(NamedTuple):
    """The values of the form. A typed question has `text`, one of the dataset `question_id`; `rule` is a PageInput's
    name, or LIVE.
    """

    question_id: str = ""
    text: str = ""
    choices: Sequence[str] = ()
    systems: Sequence[str] = ()
    rule: str = "own"

    @property
    def is_live(self) -> bool:
        """Whether an engine is asked for pages."""
        return self.rule == LIVE

    @property
    def page_input(self) -> PageInput:
        """What goes in: all pages where they are found live. Raises ConfigError."""
        return PageInput() if self.is_live else parse_page_input(self.rule)

    def query(self) -> str:
        """The query string that restores this form."""
        pairs = [("question", self.question_id)] if self.question_id else [("text", self.text)]
        pairs += [("choice", choice) for choice in self.choices]
        pairs += [("system", slug) for slug in self.systems]
        return "?" + urlencode([*pairs, ("pages", self.rule)])


def checked_form(form: QuestionForm, known_systems: Sequence[str], *, may_search: bool) -> QuestionForm:
    """The form, if it can be asked. Raises ConfigError: a visitor may send anything.

    The question itself is checked when it is looked up.
    """
    chosen = list(dict.fromkeys(form.systems))
    unknown = [slug for slug in chosen if slug not in known_systems]
    if unknown:
        raise ConfigError("systems", f"unknown: {unknown[0][:40]!r}", f"choose from {', '.join(known_systems)}")
    require_few(len(chosen))
    if form.is_live and not may_search:
        raise ConfigError("pages", "no search engine was set up", "choose other pages")
    _ = form.page_input
    return form._replace(systems=chosen)


def _known_rule(text: str) -> str:
    try:
        return text if text == LIVE else parse_page_input(text).name
    except ConfigError:
        return PageInput().name


def form_of_query(pairs: Sequence[tuple[str, str]], known_systems: Sequence[str]) -> QuestionForm:
    """The form that a link describes; what it names wrongly is left out, and everything is cut to its limit."""

    def every(name: str) -> list[str]:
        return [value for given, value in pairs if given == name]

    return QuestionForm(
        question_id=next(iter(every("question")), "")[:MAX_ID],
        text=next(iter(every("text")), "")[:MAX_TEXT],
        choices=[choice[:MAX_CHOICE] for choice in every("choice")[: len(LABELS)]],
        systems=[slug for slug in known_systems if slug in every("system")][:MAX_SYSTEMS],
        rule=_known_rule(next(iter(every("pages")), "")),
    )
