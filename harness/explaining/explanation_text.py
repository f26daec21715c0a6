"""An explanation as lines for a terminal: evidence is marked inside the text of a passage."""

from __future__ import annotations

from collections.abc import Iterator

from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from edu_rag.scorecard.causes import CAUSES
from harness.explaining.explain import Explanation, Marked
from harness.scoring.attribution import REMEDIES

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


def _passage_lines(marked: Marked) -> Iterator[str]:
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


def _said(prediction: Prediction | None) -> str:
    if prediction is None:
        return "(no prediction)"
    if prediction.status != "ok":
        return f"(none: {prediction.status})"
    return "null (I don't know)" if prediction.answer is None else ascii(prediction.answer)[1:-1][:MAX_SHOWN]


def _answer_lines(explanation: Explanation) -> Iterator[str]:
    prediction, verdict, cause = explanation.prediction, explanation.verdict, explanation.cause
    yield f"answer     {_said(prediction)}"
    if prediction and prediction.response is not None:
        yield f"response   {' '.join(prediction.response.split())[:MAX_SHOWN]}"
    if prediction and prediction.confidence is not None:
        yield f"confidence {prediction.confidence:.3f}"
    yield f"verdict    {verdict.outcome} ({verdict.points:+d}): {verdict.reason}"
    if cause is not None:
        yield f"lost to    {cause}: {CAUSES[cause]}"
        yield f"to gain it {REMEDIES[cause]}"
    elif explanation.evidence:
        told = "grounded: evidence is" if explanation.rank_cited else "lucky: no evidence is"
        yield f"           {told} among the cited"


def _page_lines(explanation: Explanation) -> Iterator[str]:
    offered, rank = explanation.offered, explanation.rank_offered
    n_places = sum(map(len, explanation.evidence.values()))
    told = f"evidence at {n_places} place(s)" if n_places else "no evidence known"
    if explanation.probe is not None:
        yield f"probe      {explanation.probe}"
    if not explanation.has_own_pages:
        yield f"pages      not the dataset's, so no cause is told; in the dataset: {told}"
    elif rank is not None:
        page = explanation.pages.get(offered[rank - 1])
        yield f"pages      {len(offered)}; {told}, first on page {rank}{f': {page.url}' if page else ''}"
    else:
        yield f"pages      {len(offered)}; {told}{', on other pages' if n_places else ''}"
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
        yield from _passage_lines(marked)
    if len(explanation.passages) > len(cited):
        yield f"      … and {len(explanation.passages) - len(cited):,} more"
    if missed:
        yield f"not cited  {len(missed)} place(s) of evidence, with the sentences around them"
        for marked in missed:
            yield from _passage_lines(marked)
