"""A question put to several systems at once, and their answers with what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from edu_rag.errors import ConfigError
from edu_rag.gold import Gold
from edu_rag.records import Leak, Question, WebPage
from edu_rag.scorecard.card import Passage, Prediction, SystemFacts, Verdict
from harness.asking.known_questions import KnownQuestions
from harness.asking.page_input import GivenPages, PageInput, given_pages
from harness.explaining.explain import Marked, mark
from harness.running.warm_system import WarmSystem
from harness.scoring.retrieval import places_of

MAX_SYSTEMS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question with what is known about it; `gold` None is not known.

    `pages` are the question's own, in rank order; `given` is what systems get of them.
    """

    dataset: str
    question: Question
    page_input: PageInput
    pages: Sequence[WebPage]
    given: GivenPages
    evidence: Mapping[str, Sequence[tuple[int, int]]]
    leaks: Sequence[Leak]
    gold: Gold | None

    @property
    def pages_shown(self) -> list[WebPage]:
        """The pages that systems get a part of, whole, in the order in which they get them."""
        whole = {page.page_id: page for page in self.pages}
        return [whole[page.page_id] for page in self.given.pages]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReply:
    """A system's answer. `time_s` includes the start of its process if `is_first`; no gold, no verdict.

    `passages` of the prediction are spans of the whole pages.
    """

    system: SystemFacts
    prediction: Prediction
    time_s: float
    is_first: bool
    verdict: Verdict | None

    def read(self, asked: AskedQuestion) -> list[Marked]:
        """The passages that the system says it read, with the evidence in them."""
        pages = {page.page_id: page for page in asked.pages}
        passages: Sequence[Passage] = self.prediction.passages
        return [mark(rank, passage, pages, asked.evidence, asked.leaks) for rank, passage in enumerate(passages, 1)]


def require_few(n_systems: int) -> None:
    """Raise ConfigError for a number of systems that cannot be asked at once."""
    if not 1 <= n_systems <= MAX_SYSTEMS:
        raise ConfigError("systems", f"{n_systems} chosen", f"choose 1 to {MAX_SYSTEMS}")


def asked_question(
    known: KnownQuestions, question: Question, pages: Sequence[WebPage], page_input: PageInput
) -> AskedQuestion:
    """A question with its pages and all that the dataset knows of it. Raises ConfigError if the rule does not fit."""
    evidence = known.evidence(question)
    spans: dict[str, list[tuple[int, int]]] = {}
    for item in evidence:
        spans.setdefault(item.page_id, []).append((item.start, item.end))
    return AskedQuestion(
        dataset=known.dataset.id,
        question=question,
        page_input=page_input,
        pages=pages,
        given=given_pages(question, pages, evidence, page_input),
        evidence=places_of(spans),
        leaks=known.leaks(question),
        gold=known.gold(question),
    )


def ask_systems(
    systems: Sequence[WarmSystem], known: KnownQuestions, asked: AskedQuestion
) -> Iterator[tuple[int, SystemReply]]:
    """Ask all systems at the same time; their number in `systems` and reply, in the order in which they answer.

    The gold stays here: a system gets the question, its choices and the given pages under a random id.
    """
    with ThreadPoolExecutor(max(1, len(systems))) as threads:
        waiting = {threads.submit(s.ask, asked.question, asked.given.pages): number for number, s in enumerate(systems)}
        for done in as_completed(waiting):
            prediction, time_s, is_first = done.result()
            prediction = asked.given.back(prediction)
            number = waiting[done]
            yield (
                number,
                SystemReply(
                    system=systems[number].submission.facts,
                    prediction=prediction,
                    time_s=time_s,
                    is_first=is_first,
                    verdict=known.verdict(asked.question, prediction),
                ),
            )
