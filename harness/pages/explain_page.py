"""`edu-rag explain --html`: one answer on a page that one can link to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from edu_rag.look.texts import seconds
from edu_rag.scorecard.card import CAUSES, Prediction
from edu_rag.scorecard.support import holds_evidence
from harness.explaining.explain import Explanation
from harness.explaining.shown_answer import ExcerptLimits, ShownAnswer, excerpts, label_read, points_text
from harness.pages.render_page import render
from harness.reading.answers import RULE
from harness.scoring.attribution import REMEDIES

LIMITS = ExcerptLimits(pages=30, characters=6_000, context=240)


class _ShownLeak(NamedTuple):
    kind: str
    page: str
    place: str
    is_cited: bool


def _leaks(explanation: Explanation) -> Iterator[_ShownLeak]:
    for leak in explanation.leaks:
        page = explanation.pages.get(leak.page_id)
        place = {leak.page_id: [(leak.start, leak.end)]}
        title = (page.title or page.url) if page else leak.page_id
        is_cited = holds_evidence(explanation.passages, place)
        yield _ShownLeak(leak.kind, title, f"[{leak.start}:{leak.end}]", is_cited)


def _facts(prediction: Prediction) -> Iterator[tuple[str, str]]:
    if prediction.confidence is not None:
        yield "Confidence", f"{prediction.confidence:.3f}"
    if prediction.latency_s is not None:
        yield "Latency", f"{seconds(prediction.latency_s)} s"
    for name, count in (("Input tokens", prediction.input_tokens), ("Output tokens", prediction.output_tokens)):
        if count is not None:
            yield name, f"{count:,}"
    if prediction.cost_usd is not None:
        yield "Cost", f"{prediction.cost_usd:.6f} US dollars"
    if prediction.energy_j is not None:
        yield "Energy", f"{prediction.energy_j:,.1f} J"


def _shown_answer(explanation: Explanation) -> ShownAnswer:
    cited, missed, n_left_out = excerpts(
        explanation.passages, explanation.evidence, explanation.leaks, explanation.pages, LIMITS
    )
    return ShownAnswer(explanation.prediction, explanation.verdict, explanation.cause, cited, missed, n_left_out)


def explain_page(explanation: Explanation, split: str, command: str) -> str:
    """The page of an explanation. `command` is the command line that makes it, which the page repeats."""
    question, prediction, shown = explanation.question, explanation.prediction, _shown_answer(explanation)
    cause = explanation.cause or ""
    return render(
        "explain.html.j2",
        dataset=explanation.dataset,
        split=split,
        system=explanation.system,
        question=question,
        gold=explanation.gold,
        shown=shown,
        read=label_read(shown, question),
        answers_rule=RULE,
        points=points_text(explanation.verdict),
        cause_meaning=CAUSES.get(cause),
        remedy=REMEDIES.get(cause),
        facts=list(_facts(prediction)) if prediction else [],
        n_holding=sum(holds_evidence([passage], explanation.evidence) for passage in explanation.passages),
        n_evidence=sum(map(len, explanation.evidence.values())),
        n_offered=len(explanation.offered),
        rank_offered=explanation.rank_offered,
        rank_cited=explanation.rank_cited,
        leaks=list(_leaks(explanation)),
        command=command,
    )
