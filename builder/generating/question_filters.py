"""The filters that a generated question has to pass, in their order, and why it fails one.

| filter | what it asks |
|---|---|
| no-reply | does each request get a reply that is neither empty nor cut? |
| reply | is the reply a question in the form that was asked for? |
| span | is the quoted evidence on the page, the same words in the same order? |
| leak | does the page hold the question itself? (the labeller `leaks` of a build) |
| one-right-choice | do the choices differ, and does the reader take exactly the gold for right? |
| answerable | is the reader right with the evidence, in every order of the choices? |
| needs-span | is the reader wrong at least once without it? |
| duplicate | is it unlike every question of the dataset and every one that was kept before? |

An out-of-scope question has no choices and no evidence: for `answerable`, the reader has to say that it does not know,
given the passages that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from builder.generating.drawn_passages import WritingTask
from builder.generating.generated_question import GeneratedQuestion, as_question, quoted_span
from builder.generating.question_draft import read_draft
from builder.generating.question_reader import LEAST_F1, QuestionReader, says_unknown
from builder.labels.leaks import LeakIndex
from builder.question_sets.question_flags import has_duplicate_choices, plain
from edu_rag.errors import RecordError
from edu_rag.records import Span

NO_REPLY = "no-reply"
FILTERS = (NO_REPLY, "reply", "span", "leak", "one-right-choice", "answerable", "needs-span", "duplicate")
LEAST_ALIKE = 90.0
"""Two questions are near-duplicates from this share of equal letters (rapidfuzz, 0 to 100), with their words sorted."""


class Failure(NamedTuple):
    """The filter that a question failed, and why."""

    filter: str
    reason: str


def read_reply(task: WritingTask, reply: str, *, with_choices: bool) -> GeneratedQuestion | Failure:
    """The question of a reply with its evidence on the page, or the filter `reply` or `span` that it fails."""
    try:
        draft = read_draft(reply, task.type)
        spans = _spans(task, draft.evidence)
        if isinstance(spans, Failure):
            return spans
        return as_question(task, draft, spans, with_choices=with_choices)
    except RecordError as error:
        return Failure("reply", str(error))


def _spans(task: WritingTask, quotes: Sequence[str]) -> list[Span] | Failure:
    """The quotes as spans of the page, each once. A task of several passages needs a quote of each."""
    spans: list[Span] = []
    for quote in quotes:
        span = quoted_span(task.page, task.passages, quote)
        if span is None:
            return Failure("span", f"not in the passages, or too short: {quote[:200]}")
        spans.append(span)
    n_quoted = sum(any(start <= span.start < end for span in spans) for start, end in task.passages)
    if n_quoted < task.type.passages and task.type.answerable:
        return Failure("span", f"{n_quoted} of {task.type.passages} passages are quoted")
    return sorted(set(spans))


def leak_failure(found: GeneratedQuestion) -> Failure | None:
    """The filter `leak`: the page holds the question, by the rules that label leaks in a build."""
    leaks = LeakIndex([found.question], [found.gold]).find(found.task.page.text)
    return Failure("leak", f"characters {leaks[0].start} to {leaks[0].end} of the page") if leaks else None


def choices_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `one-right-choice`. Questions without choices pass."""
    if not found.question.choices:
        return None
    if has_duplicate_choices(found.question.choices):
        return Failure("one-right-choice", "two choices are the same")
    taken = reader.right_letters(found)
    if taken == {found.gold.answer}:
        return None
    letters = ", ".join(sorted(taken)) or "none"
    return Failure("one-right-choice", f"the reader takes {letters} for right, the gold is {found.gold.answer}")


def answerable_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `answerable`: right in every order with the evidence; "I don't know" where it is out of scope."""
    if not found.task.type.answerable:
        answer = reader.answer(found, found.task.texts())
        return None if says_unknown(answer) else Failure("answerable", f"the reader answers: {answer[:200]}")
    n_right, n_asked = reader.n_right(found, found.evidence_texts())
    if n_right == n_asked:
        return None
    return Failure("answerable", f"the reader is right {n_right} of {n_asked} times with the evidence")


def needs_span_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `needs-span`: wrong at least once without the evidence. Questions out of scope pass."""
    if not found.task.type.answerable:
        return None
    n_right, n_asked = reader.n_right(found, ())
    if n_right < n_asked:
        return None
    return Failure("needs-span", f"the reader is right {n_right} of {n_asked} times without the evidence")


def checked(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The first filter from `leak` to `needs-span` that the question fails; later ones are not asked."""
    return (
        leak_failure(found)
        or choices_failure(found, reader)
        or answerable_failure(found, reader)
        or needs_span_failure(found, reader)
    )


class KnownTexts:
    """The texts of all questions so far: those of the dataset, then those that were kept."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_sorted_words(text) for text in texts]

    def failure(self, text: str) -> Failure | None:
        """The filter `duplicate`; a text that passes is known from now on."""
        from rapidfuzz import fuzz, process

        folded = _sorted_words(text)
        alike = process.extractOne(folded, self._texts, scorer=fuzz.ratio, score_cutoff=LEAST_ALIKE)
        if alike is not None:
            return Failure("duplicate", f"{alike[1]:.0f} of 100 like: {alike[0][:200]}")
        self._texts.append(folded)
        return None


def _sorted_words(text: str) -> str:
    return " ".join(sorted(plain(text).split()))


THRESHOLDS = {"least_alike": LEAST_ALIKE, "least_f1": LEAST_F1}
"""The bounds that decide, for the report."""
