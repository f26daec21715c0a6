"""One answer as a page shows it: the prediction, its verdict, and its citations and evidence in their context."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from edu_rag.files.dataset import Dataset
from edu_rag.records import Leak, Question, WebPage
from edu_rag.scorecard.card import Passage, Prediction, Verdict
from edu_rag.scorecard.support import Support, holds_evidence
from harness.reading.answers import read_answer
from harness.scoring.attribution import attribute

LONG_SPAN = 1_200
"""Characters of one span that are shown in full; of a longer one, its head and its tail."""
MAX_SPANS = 200


class ExcerptLimits(NamedTuple):
    """How much of the pages is shown: pages an answer, characters a page, and characters around each span."""

    pages: int
    characters: int
    context: int


class Piece(NamedTuple):
    """A stretch of text with one look: `starts` are the numbers of the citations that begin here."""

    text: str
    is_cited: bool
    is_evidence: bool
    is_leak: bool
    starts: tuple[int, ...]


class Window(NamedTuple):
    """A stretch of a page around marked spans, and whether the page has text before and after it."""

    pieces: tuple[Piece, ...]
    is_cut_before: bool
    is_cut_after: bool


class Excerpt(NamedTuple):
    """A page's text around the marked spans: windows of pieces.

    `page` is None if the dataset lacks it; `n_outside` counts cited spans that reach beyond the page's text.
    """

    page_id: str
    page: WebPage | None
    windows: tuple[Window, ...]
    places: tuple[str, ...]
    n_outside: int
    n_left_out: int


class Marks(NamedTuple):
    """Spans of one page: cited ones with their number among the citations (1 is the first), evidence, and leaks."""

    cited: Sequence[tuple[int, int, int]]
    evidence: Sequence[tuple[int, int]]
    leaks: Sequence[tuple[int, int]]


def _windows(spans: Iterable[tuple[int, int]], text: str, context: int) -> list[tuple[int, int]]:
    """Merged stretches of text around spans, widened to whole words."""
    points: list[tuple[int, int]] = []
    for start, end in spans:
        if end - start <= LONG_SPAN:
            points.append((start - context, end + context))
        else:
            points += [(start - context, start + LONG_SPAN // 2), (end - LONG_SPAN // 2, end + context)]
    merged: list[tuple[int, int]] = []
    for start, end in sorted((_word_start(text, a), _word_end(text, b)) for a, b in points):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _word_start(text: str, at: int, reach: int = 40) -> int:
    at = max(0, at)
    return next((i for i in range(at, max(0, at - reach), -1) if text[i - 1].isspace()), at) if at else 0


def _word_end(text: str, at: int, reach: int = 40) -> int:
    at = min(len(text), at)
    return next((i for i in range(at, min(len(text), at + reach)) if text[i].isspace()), at)


def _pieces(text: str, start: int, end: int, marks: Marks) -> tuple[Piece, ...]:
    """Cut a window where a span begins or ends."""
    spans = [(a, b) for _, a, b in marks.cited] + [*marks.evidence, *marks.leaks]
    cuts = sorted({start, end, *(cut for span in spans for cut in span if start < cut < end)})
    return tuple(
        Piece(
            text=text[a:b],
            is_cited=any(low <= a < high for _, low, high in marks.cited),
            is_evidence=any(low <= a < high for low, high in marks.evidence),
            is_leak=any(low <= a < high for low, high in marks.leaks),
            starts=tuple(number for number, low, _ in marks.cited if low == a),
        )
        for a, b in pairwise(cuts)
    )


def excerpt(page_id: str, page: WebPage | None, marks: Marks, limits: ExcerptLimits) -> Excerpt:
    """The marked parts of one page, at most `limits.characters` of its text (the first window is never left out)."""
    places = tuple(f"[{start}:{end}]" for _, start, end in marks.cited[:MAX_SPANS])
    if page is None:
        return Excerpt(page_id, None, (), places, 0, 0)
    length = len(page.text)
    inside = Marks(
        [span for span in marks.cited if span[2] <= length][:MAX_SPANS],
        marks.evidence[:MAX_SPANS],
        marks.leaks[:MAX_SPANS],
    )
    spans = [(start, end) for _, start, end in inside.cited] + [*inside.evidence, *inside.leaks]
    shown: list[Window] = []
    used, windows = 0, _windows(spans, page.text, limits.context)
    for start, whole_end in windows:
        end = min(whole_end, start + limits.characters)
        if shown and used + end - start > limits.characters:
            break
        shown.append(Window(_pieces(page.text, start, end, inside), start > 0, end < length))
        used += end - start
    n_outside = sum(end > length for _, _, end in marks.cited)
    return Excerpt(page_id, page, tuple(shown), places, n_outside, len(windows) - len(shown))


def excerpts(
    passages: Sequence[Passage],
    evidence: Mapping[str, Sequence[tuple[int, int]]],
    leaks: Sequence[Leak],
    pages: Mapping[str, WebPage],
    limits: ExcerptLimits,
) -> tuple[list[Excerpt], list[Excerpt], int]:
    """Excerpts of the cited pages in order of first citation, of the evidence that was not cited, and how many pages
    of both kinds the limit left out. A cited page is in both if part of its evidence is in no cited passage.
    """
    leaked: dict[str, list[tuple[int, int]]] = {}
    for leak in leaks:
        leaked.setdefault(leak.page_id, []).append((leak.start, leak.end))
    by_page: dict[str, list[tuple[int, int, int]]] = {}
    for number, (page_id, start, end) in enumerate(passages, 1):
        by_page.setdefault(page_id, []).append((number, start, end))
    missed = _missed(passages, evidence)

    def of(page_id: str, cited: Sequence[tuple[int, int, int]], places: Sequence[tuple[int, int]]) -> Excerpt:
        return excerpt(page_id, pages.get(page_id), Marks(cited, places, leaked.get(page_id, ())), limits)

    cited, others = list(by_page)[: limits.pages], list(missed)[: limits.pages]
    left_out = len(by_page) + len(missed) - len(cited) - len(others)
    shown = [of(page_id, by_page[page_id], evidence.get(page_id, ())) for page_id in cited]
    return shown, [of(page_id, (), missed[page_id]) for page_id in others], left_out


def _missed(
    passages: Sequence[Passage], evidence: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[str, list[tuple[int, int]]]:
    """The places of evidence that share no character with a cited passage, by page."""
    left = {
        page_id: [place for place in places if not holds_evidence(passages, {page_id: [place]})]
        for page_id, places in evidence.items()
    }
    return {page_id: places for page_id, places in left.items() if places}


LIMITS = ExcerptLimits(pages=3, characters=900, context=90)
"""The limits for each answer on a page about many questions."""


class AnswerSources(NamedTuple):
    """The data that answers are compared with: pages by id, evidence, and the leaks of each question."""

    pages: Mapping[str, WebPage]
    support: Support
    leaks: Mapping[str, Sequence[Leak]]


class ShownAnswer(NamedTuple):
    """One system's answer. `cause` says where a lost point went; `n_left_out` pages are not shown."""

    prediction: Prediction | None
    verdict: Verdict
    cause: str | None
    cited: Sequence[Excerpt]
    missed: Sequence[Excerpt]
    n_left_out: int

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages that the system cited."""
        return self.prediction.passages if self.prediction else ()


def read_sources(
    dataset: Dataset, split: str, support: Support, question_ids: Collection[str], cited: Iterable[Passage]
) -> AnswerSources:
    """Read the pages and labels of these questions, and no others: a large split has a gigabyte of pages."""
    leaks: dict[str, list[Leak]] = {}
    for leak in dataset.records("leaks", split, Leak):
        if leak.question_id in question_ids:
            leaks.setdefault(leak.question_id, []).append(leak)
    wanted = {page_id for page_id, _, _ in cited}
    wanted |= {page_id for question_id in question_ids for page_id in support.evidence.get(question_id, ())}
    wanted |= {leak.page_id for found in leaks.values() for leak in found}
    return AnswerSources(dataset.pages(split, wanted), support, leaks)


def tell(question: Question, prediction: Prediction | None, verdict: Verdict, sources: AnswerSources) -> ShownAnswer:
    """Everything a page says about one answer."""
    question_id = question.question_id
    evidence = sources.support.evidence.get(question_id, {})
    passages = prediction.passages if prediction else ()
    cited, missed, n_left_out = excerpts(passages, evidence, sources.leaks.get(question_id, ()), sources.pages, LIMITS)
    cause = attribute(question, prediction, verdict, sources.support)
    return ShownAnswer(prediction, verdict, cause, cited, missed, n_left_out)


def label_read(shown: ShownAnswer, question: Question) -> str | None:
    """The label that an answer names by the rules of reading; None if it names no single choice."""
    said = shown.prediction.answer if shown.prediction else None
    return None if said is None or not question.choices else read_answer(said, question.choices).label


def points_text(verdict: Verdict) -> str:
    """The points of a verdict with a true minus sign."""
    return ("−1", "0", "+1")[verdict.points + 1]
