"""A lesson page's questions as markup, and its shard for scripts: the job that other processes are given.

The view of a question has its choices with the systems that chose them, other answers, pages and quotes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import msgspec
from markupsafe import Markup, escape

from edu_rag.look.bar_geometry import BarPart, outcome_parts
from edu_rag.look.jinja_pages import environment
from edu_rag.look.texts import clip, plain
from edu_rag.records import Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts
from leaderboard.issue_links import report_link
from leaderboard.questions.lessons import anchor_of
from leaderboard.questions.quotes import KnownQuote, PageCredit, PageFacts
from leaderboard.questions.system_answers import Answer, answers_at, decoded
from leaderboard.questions.system_rows import NOT_ASKED
from leaderboard.questions.worker_pool import WorkerInput

FEW = 5
"""This many names are shown; more are folded."""
MAX_NAME = 40
ABSTAINED = OUTCOME_LETTERS["abstained"]
NAMED = (OUTCOME_LETTERS["correct"], OUTCOME_LETTERS["incorrect"])
"""Outcomes of answers that named a choice, where there are choices."""
LETTER_OUTCOMES = {letter: outcome for outcome, letter in OUTCOME_LETTERS.items()}
HERE = Path(__file__).resolve().parents[1]
SHARD_FORMAT = "edu-rag-shard-v1"
MAX_QUESTION = 4_000
"""Characters of a question or choice in a shard and on a page."""
MAX_LESSON = 160


class Said(NamedTuple):
    """One answer and the systems that gave it: a choice with its label, or an outcome without a choice.

    `outcomes` says how it was counted, `names` is a list's items as markup, `share` is in per cent of those asked.
    """

    label: str | None
    text: str
    n: int
    share: float
    outcomes: Sequence[str]
    names: Markup


class ShownQuote(NamedTuple):
    """A sentence of a page that supports the gold answer, and the method that found it."""

    text: str
    method: str


class ShownPage(NamedTuple):
    """A page of a question: its rank among the hits, or None if it holds evidence without being a hit."""

    rank: int | None
    title: str
    address: str | None
    flags: Sequence[str]
    quotes: Sequence[ShownQuote]
    credit: PageCredit


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question as its page shows it; `counts` is None if no system was asked.

    `all_known` says whether all answers that named a choice are available: only then is the list complete.
    """

    question: Question
    anchor: str
    counts: Counts | None
    parts: Sequence[BarPart]
    choices: Sequence[Said]
    others: Sequence[Said]
    pages: Sequence[ShownPage]
    n_evidence: int
    dropped: Mapping[str, int]
    all_known: bool
    report: str | None


def name_markup(name: str) -> Markup:
    """A system's name, in its own direction where it could have another."""
    text = str(plain(clip(name, MAX_NAME)))
    return escape(text) if text.isascii() else Markup("<bdi>{}</bdi>").format(text)


@dataclass(slots=True)
class _Heard:
    """The systems that gave an answer, as list items, and the letters of their outcomes."""

    items: list[str] = field(default_factory=list)
    letters: Counter[str] = field(default_factory=Counter)


def _said(label: str | None, text: str, heard: _Heard, n: int) -> Said:
    share = round(100 * len(heard.items) / n, 1) if n else 0.0
    outcomes = [outcome for letter, outcome in LETTER_OUTCOMES.items() if letter in heard.letters]
    # Plain strings until here: every part is markup already, and there are millions of them.
    names = Markup("<li>" + "</li><li>".join(heard.items) + "</li>" if heard.items else "")  # noqa: S704
    return Said(label, text, len(heard.items), share, outcomes, names)


def _sorted_out(
    inputs: WorkerInput, number: int, answers: Sequence[Answer]
) -> tuple[Mapping[str, _Heard], Mapping[str, _Heard]]:
    """The systems that named each choice; and by outcome letter those that named none, with their words."""
    named: dict[str, _Heard] = {label: _Heard() for label in inputs.questions[number].choices}
    others: dict[str, _Heard] = defaultdict(_Heard)
    for system, letter, said, _, _ in answers:
        if inputs.counted[system][number] == NOT_ASKED:
            continue
        item = inputs.names[system]
        # Who abstained named no choice, whatever letter its own words come to.
        choice = None if said is None or letter == ABSTAINED else named.get(said)
        heard = others[letter] if choice is None else choice
        if choice is None and said is not None:
            item = f"{item}: <q><bdi>{escape(said)}</bdi></q>"
        heard.items.append(item)
        heard.letters[letter] += 1
    return named, {letter: heard for letter, heard in others.items() if heard.items}


def _in_words(letter: str, question: Question) -> str:
    """An outcome without a known choice: a right or wrong answer named a choice that we do not know."""
    outcome = LETTER_OUTCOMES[letter]
    if not question.choices:
        return outcome
    return f"{outcome}, choice not known" if letter in NAMED else f"{outcome}, no choice named"


def _counts(heard: Sequence[_Heard]) -> Counts | None:
    letters: Counter[str] = Counter()
    for one in heard:
        letters.update(one.letters)
    return Counts(**{outcome: letters[letter] for letter, outcome in LETTER_OUTCOMES.items()}) if letters else None


class Sources(NamedTuple):
    """The dataset's data for a question: rank, page id and outcome of each hit, and the quotes."""

    hits: Sequence[tuple[int, str | None, str]]
    quotes: Sequence[KnownQuote]


def _pages(sources: Sources, facts: Mapping[str, PageFacts]) -> tuple[list[ShownPage], Counter[str]]:
    quotes: dict[str, list[ShownQuote]] = defaultdict(list)
    for place, method, text in sources.quotes:
        if method is not None:
            quotes[place[0]].append(ShownQuote(text, method))
    ranks: dict[str, int | None] = {}
    dropped: Counter[str] = Counter()
    for rank, page_id, outcome in sources.hits:
        if page_id is None:
            dropped[outcome] += 1
        else:
            ranks.setdefault(page_id, rank)
    for quoted in quotes:
        ranks.setdefault(quoted, None)
    unknown = PageFacts("", None, (), {})
    shown = []
    for shown_id, at in ranks.items():
        known = facts.get(shown_id, unknown)
        title = known.title.strip() or shown_id
        shown.append(ShownPage(at, title, known.address, known.flags, quotes[shown_id], known.credit))
    return shown, dropped


def _address(inputs: WorkerInput, at: int, anchor: str) -> str:
    place = f"{inputs.folder}/{inputs.pages[at].slug}.html#{anchor}"
    return inputs.base_url + place if inputs.base_url else ""


def question_view(
    inputs: WorkerInput,
    at: int,
    number: int,
    answers: Sequence[Answer],
    sources: Sources,
    facts: Mapping[str, PageFacts],
) -> QuestionView:
    """One question of a lesson page; `facts` are those of its pages at least."""
    question = inputs.questions[number]
    named, others = _sorted_out(inputs, number, answers)
    counts = _counts([*named.values(), *others.values()])
    n = counts.n if counts else 0
    pages, dropped = _pages(sources, facts)
    anchor = anchor_of(question.question_id)
    return QuestionView(
        question=question,
        anchor=anchor,
        counts=counts,
        parts=outcome_parts(counts) if counts else [],
        choices=[_said(label, text, named[label], n) for label, text in question.choices.items()],
        others=[
            _said(None, _in_words(letter, question), others[letter], n)
            for letter in LETTER_OUTCOMES
            if letter in others
        ],
        pages=pages,
        n_evidence=sum(len(page.quotes) for page in pages),
        dropped=dropped,
        all_known=not any(letter in others for letter in NAMED),
        report=report_link(inputs.repository, inputs.dataset_id, question, _address(inputs, at, anchor)),
    )


class LessonJob(NamedTuple):
    """What a lesson page needs in addition to the worker input.

    Encoded sheets of answers, the sources of each of its questions, and the facts of their pages.
    """

    at: int
    sheets: Sequence[bytes]
    sources: Sequence[Sources]
    facts: Mapping[str, PageFacts]


class Lesson(NamedTuple):
    """A lesson page made: its questions as markup, and its shard."""

    markup: str
    shard: bytes


@cache
def _template() -> jinja2.Template:
    return environment(HERE / "templates").get_template("lesson_questions.html.j2")


def _cleaned(text: str, length: int = MAX_QUESTION) -> str:
    return str(plain(clip(text, length)))


def _question(
    inputs: WorkerInput, number: int, answers: Sequence[Answer], quotes: Sequence[KnownQuote], pages: dict[str, int]
) -> dict[str, Any]:
    """A question in a shard; pages that it quotes and that are new get a number in `pages`."""
    question = inputs.questions[number]
    places = {packed: at for at, quote in enumerate(quotes) for packed in inputs.packed([quote.place])}
    return {
        "question_id": question.question_id,
        "anchor": anchor_of(question.question_id),
        "text": _cleaned(question.text),
        "kind": question.kind,
        "flags": question.flags,
        "choices": {label: _cleaned(text) for label, text in question.choices.items()},
        "quotes": [
            [pages.setdefault(page_id, len(pages)), start, end, text, method]
            for (page_id, start, end), method, text in quotes
        ],
        "answers": [
            (system, letter, said, confidence, [places[one] for one in cited if one in places])
            for system, letter, said, confidence, cited in answers
        ],
    }


def make_lesson(inputs: WorkerInput, lesson_job: LessonJob) -> Lesson:
    """A lesson page, of plain values alone, so that any process can make it."""
    page = inputs.pages[lesson_job.at]
    pages: dict[str, int] = {}
    views, questions = [], []
    answers = answers_at(inputs, lesson_job.at, decoded(lesson_job.sheets))
    for number, given, sources in zip(page.numbers, answers, lesson_job.sources, strict=True):
        views.append(question_view(inputs, lesson_job.at, number, given, sources, lesson_job.facts))
        questions.append(_question(inputs, number, given, sources.quotes, pages))
    shard = {
        "format": SHARD_FORMAT,
        "dataset": inputs.dataset_id,
        "lesson": None if page.lesson is None else _cleaned(page.lesson, MAX_LESSON),
        "page": f"{inputs.folder}/{page.slug}.html",
        "pages": [
            [page_id, str(plain(lesson_job.facts[page_id].title)), lesson_job.facts[page_id].address]
            for page_id in pages
        ],
        "questions": questions,
    }
    return Lesson(_template().render(views=views), msgspec.json.encode(shard))
