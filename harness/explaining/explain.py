"""One question explained: the system's citations and answer, the evidence, and why the point was lost; also as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import Leak, Question, WebPage
from edu_rag.scorecard.card import CAUSES, Passage, Prediction, SystemFacts, Verdict
from edu_rag.scorecard.support import holds_evidence, offered_pages
from harness.exam import open_exam
from harness.judging.grading import Grading, grade_all
from harness.probing.probe_files import Answered, read_answered
from harness.scoring.attribution import REMEDIES, attribute
from harness.scoring.retrieval import places_of
from harness.submission.target import Target

MAX_CITED = 100
"""Cited passages that are shown; a file may hold a hundred thousand in a line."""


class Marked(NamedTuple):
    """A passage with its marks: spans of evidence (in the page's offsets), and whether it holds a leak.

    `rank` is its place among the cited, from 1, or None for evidence that was not cited; `page` is None if the
    dataset lacks it, `text` is None if the passage reaches beyond the page.
    """

    rank: int | None
    passage: Passage
    page: WebPage | None
    text: str | None
    evidence: Sequence[tuple[int, int]]
    is_leak: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything known about a system's answer to one question.

    `cause` is one of CAUSES, None for a correct answer. `evidence` holds the places of evidence by
    page; `pages` the pages that were cited, hold evidence or leak the question, by id; `offered` the ids of the pages
    that the system got, in that order; `leaks` where a page of the split holds this question. `probe` names the probe
    that asked; `has_own_pages` is false where that gave other pages than the dataset's: then `offered` and `cause` are
    empty.
    """

    dataset: str
    system: SystemFacts
    question: Question
    gold: Gold
    prediction: Prediction | None
    verdict: Verdict
    cause: str | None
    evidence: Mapping[str, Sequence[tuple[int, int]]]
    pages: Mapping[str, WebPage]
    offered: Sequence[str]
    leaks: Sequence[Leak]
    probe: str | None = None
    has_own_pages: bool = True

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages that the system cited, in its order."""
        return self.prediction.passages if self.prediction else ()

    @property
    def rank_offered(self) -> int | None:
        """The place of the first page with evidence among the pages that the system got, from 1."""
        return next((rank for rank, page_id in enumerate(self.offered, 1) if page_id in self.evidence), None)

    @property
    def rank_cited(self) -> int | None:
        """The place of the first passage with evidence among the cited, from 1."""
        ranks = enumerate(self.passages, 1)
        return next((rank for rank, passage in ranks if holds_evidence([passage], self.evidence)), None)

    def cited(self) -> list[Marked]:
        """The first MAX_CITED cited passages, marked."""
        return [self._marked(rank, passage) for rank, passage in enumerate(self.passages[:MAX_CITED], 1)]

    def missed(self) -> list[Marked]:
        """The evidence that was not cited, with the sentences around it, in the order of the offered pages."""
        places = [Passage(page_id, *place) for page_id, found in self.evidence.items() for place in found]
        left = [p for p in places if not holds_evidence(self.passages, {p.page_id: [(p.start, p.end)]})]
        order = {page_id: rank for rank, page_id in enumerate(self.offered)}
        left.sort(key=lambda p: (order.get(p.page_id, len(order)), p))
        return [self._marked(None, self._in_sentences(place)) for place in left]

    def _in_sentences(self, place: Passage) -> Passage:
        page = self.pages.get(place.page_id)
        around = [s for s in page.sentences if s.start < place.end and place.start < s.end] if page else []
        if not around:
            return place
        return Passage(place.page_id, min(place.start, around[0].start), max(place.end, around[-1].end))

    def _marked(self, rank: int | None, passage: Passage) -> Marked:
        return mark(rank, passage, self.pages, self.evidence, self.leaks)


def mark(
    rank: int | None,
    passage: Passage,
    pages: Mapping[str, WebPage],
    evidence: Mapping[str, Sequence[tuple[int, int]]],
    leaks: Sequence[Leak] = (),
) -> Marked:
    """A passage with the evidence and the leaks in it."""
    page_id, start, end = passage
    page = pages.get(page_id)
    text = page.text[start:end] if page and end <= len(page.text) else None
    held = [
        (max(first, start), min(last, end)) for first, last in evidence.get(page_id, ()) if first < end and start < last
    ]
    is_leak = any(leak.page_id == page_id and leak.start < end and start < leak.end for leak in leaks)
    return Marked(rank, passage, page, text, held, is_leak)


def explain(
    dataset: Dataset,
    split: str,
    target: Target,
    question_id: str,
    sample: str | None = None,
    grading: Grading | None = None,
) -> Explanation:
    """Explain a system's answer to one question. Raises SubmissionError if the split or sample has none such."""
    answered = read_answered(open_exam(dataset, split, sample), target)
    exam = answered.exam
    question, prediction = _question(answered, dataset, question_id), answered.predictions.get(question_id)
    (verdict,), _ = grade_all([question], exam.gold, answered.predictions, grading or Grading())
    evidence = places_of(exam.support.evidence.get(question_id, {}))
    leaks = [leak for leak in dataset.records("leaks", split, Leak) if leak.question_id == question_id]
    wanted = {page_id for page_id, _, _ in prediction.passages} if prediction else set()
    own = answered.has_own_pages
    return Explanation(
        dataset=exam.dataset,
        system=target.system,
        question=question,
        gold=exam.gold[question_id],
        prediction=prediction,
        verdict=verdict,
        cause=attribute(question, prediction, verdict, exam.support) if own else None,
        evidence=evidence,
        pages=dataset.pages(split, wanted | evidence.keys() | {leak.page_id for leak in leaks}),
        offered=offered_pages(dataset, split, question_id) if own else (),
        leaks=leaks,
        probe=answered.probe,
        has_own_pages=own,
    )


def _question(answered: Answered, dataset: Dataset, question_id: str) -> Question:
    exam = answered.exam
    found = next((question for question in exam.questions if question.question_id == question_id), None)
    if found is not None:
        return found
    if question_id not in exam.known:
        what = f"no question {question_id[:80]!r} in split {exam.split!r}"
        raise SubmissionError(dataset.folder, what, f"ids look like {min(exam.known)!r}")
    asker = f"the sample {exam.sample}" if answered.probe is None else f"what the probe {answered.probe} asked"
    raise SubmissionError(question_id, f"is not in {asker}", "only its questions were asked")


def explanation_values(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON-ready values."""
    from edu_rag.files.typed import to_plain

    def plain(marked: Marked) -> dict[str, Any]:
        url = marked.page.url if marked.page else None
        return {
            "rank": marked.rank,
            "passage": list(marked.passage),
            "url": url,
            "text": marked.text,
            "is_evidence": bool(marked.evidence),
            "evidence": [list(span) for span in marked.evidence],
            "is_leak": marked.is_leak,
        }

    e = explanation
    return {
        "dataset": e.dataset,
        "system": e.system.slug,
        "probe": e.probe,
        "question": to_plain(e.question),
        "gold": to_plain(e.gold),
        "prediction": to_plain(e.prediction),
        "verdict": to_plain(e.verdict) | {"points": e.verdict.points},
        "cause": e.cause,
        "cause_means": CAUSES[e.cause] if e.cause else None,
        "remedy": REMEDIES[e.cause] if e.cause else None,
        "n_offered": len(e.offered),
        "rank_offered": e.rank_offered,
        "n_cited": len(e.passages),
        "rank_cited": e.rank_cited,
        "cited": [plain(marked) for marked in e.cited()],
        "missed": [plain(marked) for marked in e.missed()],
        "leaks": [to_plain(leak) for leak in e.leaks],
    }


MAX_SHOWN = 600
"""Characters of a passage that are shown; its place says where the rest is."""
OPEN, CLOSE = ">>", "<<"


def marked_text(marked: Marked) -> str:
    """A passage's text on one line, evidence between OPEN and CLOSE, long ones cut around the first evidence."""
    if marked.page is None:
        return "(the dataset has no such page)"
    if marked.text is None:
        return f"(outside the page, which has {len(marked.page.text):,} characters)"
    text, start = marked.page.text, marked.passage.start
    low, high = _shown_span(marked)
    parts, at = [], low
    for first, last in marked.evidence:
        if first < high:
            parts += [text[at:first], OPEN, text[first : min(last, high)], CLOSE]
            at = min(last, high)
    shown = " ".join("".join([*parts, text[at:high]]).split())
    return f"{'… ' if low > start else ''}{shown}{' …' if high < marked.passage.end else ''}"


def _shown_span(marked: Marked) -> tuple[int, int]:
    """At most MAX_SHOWN characters of a passage, from not far before its first evidence."""
    _, start, end = marked.passage
    if end - start > MAX_SHOWN and marked.evidence:
        start = max(start, min(marked.evidence[0][0] - MAX_SHOWN // 4, end - MAX_SHOWN))
    return start, min(end, start + MAX_SHOWN)


def passage_lines(marked: Marked) -> Iterator[str]:
    """A passage with its rank, `*` if it holds evidence, and its address."""
    rank = "   " if marked.rank is None else f"{marked.rank:>3}"
    yield f"{rank} {'*' if marked.evidence else ' '} {marked_text(marked)}"
    page_id, start, end = marked.passage
    leak = "; this passage holds the question itself" if marked.is_leak else ""
    yield f"      {marked.page.url if marked.page else page_id} [{start}:{end}]{leak}"


def _question_lines(explanation: Explanation) -> Iterator[str]:
    question: Question = explanation.question
    lesson = f"; lesson: {question.lesson}" if question.lesson else ""
    flags = f"; flags: {', '.join(question.flags)}" if question.flags else ""
    yield f"question   {question.question_id} ({question.kind}{lesson}{flags})"
    yield f"           {question.text}"
    for label, text in question.choices.items():
        yield f"         {'=' if label == explanation.gold.answer else ' '} {label}) {text}"
    yield f"gold       {explanation.gold.answer or ' | '.join(explanation.gold.texts)}"


def said(prediction: Prediction | None) -> str:
    """An answer on one line."""
    if prediction is None:
        return "(no prediction)"
    if prediction.status != "ok":
        return f"(none: {prediction.status})"
    return "null (I don't know)" if prediction.answer is None else ascii(prediction.answer)[1:-1][:MAX_SHOWN]


def _answer_lines(explanation: Explanation) -> Iterator[str]:
    prediction, verdict, cause = explanation.prediction, explanation.verdict, explanation.cause
    yield f"answer     {said(prediction)}"
    if prediction and prediction.response is not None:
        yield f"response   {' '.join(prediction.response.split())[:MAX_SHOWN]}"
    if prediction and prediction.confidence is not None:
        yield f"confidence {prediction.confidence:.3f}"
    yield f"verdict    {verdict.outcome} ({verdict.points:+d}): {verdict.reason}"
    if cause is not None:
        yield f"lost to    {cause}: {CAUSES[cause]}"
        yield f"to gain it {REMEDIES[cause]}"
    elif explanation.evidence:
        judged = "grounded: evidence is" if explanation.rank_cited else "lucky: no evidence is"
        yield f"           {judged} among the cited"


def _page_lines(explanation: Explanation) -> Iterator[str]:
    offered, rank = explanation.offered, explanation.rank_offered
    n_places = sum(map(len, explanation.evidence.values()))
    evidence = f"evidence at {n_places} place(s)" if n_places else "no evidence known"
    if explanation.probe is not None:
        yield f"probe      {explanation.probe}"
    if not explanation.has_own_pages:
        yield f"pages      not the dataset's, so no cause is given; in the dataset: {evidence}"
    elif rank is not None:
        page = explanation.pages.get(offered[rank - 1])
        yield f"pages      {len(offered)}; {evidence}, first on page {rank}{f': {page.url}' if page else ''}"
    else:
        yield f"pages      {len(offered)}; {evidence}{', on other pages' if n_places else ''}"
    for leak in explanation.leaks:
        page = explanation.pages.get(leak.page_id)
        yield f"leak       {leak.kind}: {page.url if page else leak.page_id} [{leak.start}:{leak.end}]"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """An explanation as lines; `=` marks the gold choice, `*` passages with evidence, `>> <<` the evidence itself."""
    yield from _question_lines(explanation)
    yield from _answer_lines(explanation)
    yield from _page_lines(explanation)
    cited, missed = explanation.cited(), explanation.missed()
    first = f"; the first with evidence is number {explanation.rank_cited}" if explanation.rank_cited else ""
    yield f"cited      {len(explanation.passages)} passage(s){first}"
    for marked in cited:
        yield from passage_lines(marked)
    if len(explanation.passages) > len(cited):
        yield f"      … and {len(explanation.passages) - len(cited):,} more"
    if missed:
        yield f"not cited  {len(missed)} place(s) of evidence, with the sentences around them"
        for marked in missed:
            yield from passage_lines(marked)
