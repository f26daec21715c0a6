"""The filters that a generated question has to pass, in their order, and why it fails one.

| filter | what it asks |
|---|---|
| no-reply | does each request get a reply that is neither empty nor cut too early? |
| reply | does each reply do what was asked for, and can the question be asked alone? |
| on-span | does it ask with enough of the sentence's words, few others, and for the number as it is there? |
| same-answer | does the reader, without choices, give the same answer with the sentence? |
| one-right-choice | does the reader take the answer for right, seen alone? |
| wrong-answers | are three fit to be choices, and does the reader take each for wrong, seen alone? |
| leak | does the page hold the question itself? (the labeller `leaks` of a build) |
| needs-span | is the reader wrong at least once without it? |
| answerable | is the reader right with the evidence, in every order of the choices? |
| same-in-passage | does it give that answer with all of the passage, too? From it, a vague question gets another one. |
| duplicate | is it unlike every question of the dataset and every one that was kept before? |

An out-of-scope question has no choices and no evidence: for `answerable`, the reader has to say that it does not know,
given the passages that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from builder.generating import span_words
from builder.generating.drawn_passages import WritingTask
from builder.generating.fact_answers import LEAST_TERMS, glossary_of
from builder.generating.generated_question import GeneratedQuestion
from builder.generating.number_choices import LEAST_APART
from builder.generating.question_draft import QuestionDraft, QuestionPart, asked_text
from builder.generating.question_reader import LEAST_F1, QuestionReader, agrees, says_unknown
from builder.generating.wrong_answers import LEAST_STATED, N_WRONG
from builder.labels.leaks import LeakIndex
from builder.question_sets.question_flags import plain

NO_REPLY = "no-reply"
FILTERS = (
    NO_REPLY,
    "reply",
    "on-span",
    "same-answer",
    "one-right-choice",
    "wrong-answers",
    "leak",
    "needs-span",
    "answerable",
    "same-in-passage",
    "duplicate",
)
LEAST_ALIKE = 90.0
"""Two questions are near-duplicates from this share of equal letters (rapidfuzz, 0 to 100), with their words sorted."""


class Failure(NamedTuple):
    """The filter that a question failed, and why."""

    filter: str
    reason: str


def same_answer_failure(draft: QuestionDraft, task: WritingTask, reader: QuestionReader) -> Failure | None:
    """The filter `same-answer`: with the sentence, the reader gives the same answer to each part in its own words."""
    sentences = [[text] for text in task.fact_texts()]
    return _other_answer("same-answer", task, draft.parts, sentences, reader)


def same_in_passage_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `same-in-passage`: the same with all of the passage."""
    return _other_answer("same-in-passage", found.task, found.parts, [found.task.texts()] * len(found.parts), reader)


def _other_answer(
    name: str,
    task: WritingTask,
    parts: Sequence[QuestionPart],
    passages: Sequence[Sequence[str]],
    reader: QuestionReader,
) -> Failure | None:
    """The failure of the first part that gets another answer in words from its passages.

    A question of how two things differ passes: it has no such parts.
    """
    if not task.type.answerable or task.type.join == "differ":
        return None
    for part, texts in zip(parts, passages, strict=True):
        answer = reader.answer(asked_text(task.type, part), texts)
        if not agrees(answer, part.answer):
            return Failure(name, f"the reader answers {answer[:200]!r}, not {part.answer[:200]!r}")
    return None


def leak_failure(found: GeneratedQuestion) -> Failure | None:
    """The filter `leak`: the page holds the question, by the rules that label leaks in a build."""
    leaks = LeakIndex([found.question], [found.gold]).find(found.task.page.text)
    return Failure("leak", f"characters {leaks[0].start} to {leaks[0].end} of the page") if leaks else None


def gold_failure(draft: QuestionDraft, task: WritingTask, reader: QuestionReader) -> Failure | None:
    """The filter `one-right-choice`: the reader takes the answer to each part for right, seen alone."""
    for part, fact in zip(draft.parts, task.fact_texts(), strict=True):
        if not reader.takes_for_right(asked_text(task.type, part), part.answer, fact):
            return Failure("one-right-choice", f"the reader takes {part.answer[:200]!r} for wrong")
    return None


def surely_wrong(
    texts: Iterable[str], part: QuestionPart, task: WritingTask, place: int, reader: QuestionReader
) -> list[str]:
    """The first wrong answers that the reader takes for wrong, each seen alone: three, or two where two things are
    compared. It sees up to twice as many. A term has to be wrong by its own line of the glossary, too.
    """
    kept: list[str] = []
    question, fact = asked_text(task.type, part), task.fact_texts()[place]
    glossary = glossary_of(task.page)
    n = 2 if task.type.join == "differ" else N_WRONG
    for text in islice(texts, 2 * n):  # a page may have thousands of terms
        sentences = [fact, f"{text}: {glossary[text]}"] if text in glossary else [fact]
        if len(kept) < n and not any(reader.takes_for_right(question, text, sentence) for sentence in sentences):
            kept.append(text)
    return kept


def answerable_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `answerable`: right in every order with the evidence; "I don't know" where it is out of scope."""
    if not found.task.type.answerable:
        answer = reader.answer(found.question.text, found.task.texts())
        return None if says_unknown(answer) else Failure("answerable", f"the reader answers: {answer[:200]}")
    if reader.is_always_right(found, found.evidence_texts()):
        return None
    return Failure("answerable", "the reader is wrong with the evidence")


def needs_span_failure(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The filter `needs-span`: wrong at least once without the evidence. Questions out of scope pass."""
    if not found.task.type.answerable:
        return None
    if not reader.is_always_right(found, ()):
        return None
    return Failure("needs-span", "the reader is always right without the evidence")


def checked(found: GeneratedQuestion, reader: QuestionReader) -> Failure | None:
    """The first filter from `leak` to `same-in-passage` that the question fails; later ones are not asked."""
    return (
        leak_failure(found)
        or needs_span_failure(found, reader)
        or answerable_failure(found, reader)
        or same_in_passage_failure(found, reader)
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


THRESHOLDS = {
    "least_alike": LEAST_ALIKE,
    "least_f1": LEAST_F1,
    "least_terms": LEAST_TERMS,
    "least_words": span_words.LEAST_WORDS,
    "least_share": span_words.LEAST_SHARE,
    "enough_words": span_words.ENOUGH_WORDS,
    "enough_by_a_number": span_words.ENOUGH_BY_A_NUMBER,
    "most_other": span_words.MOST_OTHER,
    "wrong_least_stated": LEAST_STATED,
    "wrong_least_apart": float(LEAST_APART),
}
"""The bounds that decide, for the report."""
