"""One question explained: what the system cited and said, where evidence lies, and why the verdict is what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.dataset import Dataset
from edu_rag.errors import SubmissionError
from edu_rag.gold import Gold, match_gold
from edu_rag.records import Evidence, Question, WebPage
from edu_rag.results import Passage, Prediction, Verdict
from harness.outcomes import judge
from harness.predictions import read_predictions
from harness.sample import choose, sample_of
from harness.target import Target

MAX_SHOWN = 600
"""Characters of a cited passage that are shown; its place says where the rest is."""


class Cited(NamedTuple):
    """A passage the system cited: its page (None if the dataset has no such page), its text, whether it is evidence."""

    passage: Passage
    page: WebPage | None
    text: str
    is_evidence: bool


class Explanation(NamedTuple):
    """Everything known about one answer."""

    question: Question
    gold: Gold
    prediction: Prediction | None
    verdict: Verdict
    cited: Sequence[Cited]
    missed: Sequence[Cited]


def _cut(page: WebPage | None, start: int, end: int) -> str:
    if page is None:
        return "(the dataset has no such page)"
    if end > len(page.text):
        return f"(outside the page, which has {len(page.text):,} characters)"
    return " ".join(page.text[start:end].split())


def _cited(passage: Passage, pages: Mapping[str, WebPage], evidence: Sequence[Evidence]) -> Cited:
    page_id, start, end = passage
    page = pages.get(page_id)
    is_evidence = any(e.page_id == page_id and start < e.end and e.start < end for e in evidence)
    return Cited(passage, page, _cut(page, start, end), is_evidence)


def explain(dataset: Dataset, split: str, target: Target, question_id: str, sample: str | None = None) -> Explanation:
    """Explain a system's answer to one question. Raises SubmissionError where the split or sample has none such."""
    questions = {question.question_id: question for question in dataset.questions(split)}
    if question_id not in questions:
        what = f"no question {question_id[:80]!r} in split {split!r}"
        raise SubmissionError(dataset.folder, what, f"ids look like {next(iter(questions))!r}")
    if sample and question_id not in {q.question_id for q in choose(questions.values(), sample_of(sample))}:
        raise SubmissionError(question_id, f"is not in the sample {sample}", "only its questions were asked")
    question = questions[question_id]
    gold = match_gold(questions.values(), dataset.records("gold", split, Gold), dataset.folder / "gold")[question_id]
    prediction = read_predictions(target.path, questions).get(question_id)
    evidence, pages = dataset.evidence(split).get(question_id, []), dataset.pages(split)
    passages = prediction.passages if prediction else ()
    cited = [_cited(passage, pages, evidence) for passage in passages]
    missed = [
        _cited(Passage(e.page_id, e.start, e.end), pages, [e])
        for e in evidence
        if not any(p.page_id == e.page_id and p.start < e.end and e.start < p.end for p in passages)
    ]
    return Explanation(question, gold, prediction, judge(question, gold, prediction), cited, missed)


def _passage_lines(cited: Cited) -> Iterator[str]:
    mark = "*" if cited.is_evidence else " "
    text = cited.text if len(cited.text) <= MAX_SHOWN else cited.text[:MAX_SHOWN] + " …"
    yield f"  {mark} {text}"
    page_id, start, end = cited.passage
    yield f"      {cited.page.url if cited.page else page_id} [{start}:{end}]"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """An explanation as lines of text; `*` marks passages that hold evidence, `=` the gold choice."""
    question, gold, prediction, verdict = explanation[:4]
    flags = f"; flags: {', '.join(question.flags)}" if question.flags else ""
    yield f"question   {question.question_id} ({question.kind}{flags})"
    yield f"           {question.text}"
    for label, text in question.choices.items():
        yield f"         {'=' if label == gold.answer else ' '} {label}) {text}"
    yield f"gold       {gold.answer or ' | '.join(gold.texts)}"
    yield f"answer     {_shown(prediction)}"
    if prediction and prediction.response is not None:
        yield f"response   {' '.join(prediction.response.split())[:MAX_SHOWN]}"
    yield f"verdict    {verdict.outcome} ({verdict.points:+d}): {verdict.reason}"
    yield f"cited      {len(explanation.cited)} passage(s); * holds evidence for the gold answer"
    for cited in explanation.cited:
        yield from _passage_lines(cited)
    if explanation.missed:
        yield f"not cited  {len(explanation.missed)} passage(s) of the dataset that hold evidence"
        for cited in explanation.missed:
            yield from _passage_lines(cited)


def _shown(prediction: Prediction | None) -> str:
    if prediction is None:
        return "(no prediction)"
    if prediction.status != "ok":
        return f"(none: {prediction.status})"
    return "null (I don't know)" if prediction.answer is None else ascii(prediction.answer)[1:-1][:MAX_SHOWN]


def explanation_values(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON-ready values."""
    from edu_rag.typed import to_plain

    def plain(cited: Cited) -> dict[str, Any]:
        url = cited.page.url if cited.page else None
        return {"passage": list(cited.passage), "url": url, "text": cited.text, "is_evidence": cited.is_evidence}

    return {
        "question": to_plain(explanation.question),
        "gold": to_plain(explanation.gold),
        "prediction": to_plain(explanation.prediction),
        "verdict": to_plain(explanation.verdict),
        "cited": [plain(cited) for cited in explanation.cited],
        "missed": [plain(cited) for cited in explanation.missed],
    }
