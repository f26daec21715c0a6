"""Results of a run and its scoring: predictions, verdicts, causes, scorecards. Counts are stored, rates derived."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, UnsetType

from edu_rag.errors import RecordError, RecordFaultsError
from edu_rag.names import DatasetId, QuestionSet, Sample, require_slug, require_split

Outcome = Literal["correct", "incorrect", "abstained", "unparseable", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("correct", "incorrect", "abstained", "unparseable", "failed")
OUTCOME_LETTERS: Mapping[Outcome, str] = {
    "correct": "c",
    "incorrect": "i",
    "abstained": "a",
    "unparseable": "u",
    "failed": "f",
}
POINTS: Mapping[Outcome, int] = {"correct": 1, "incorrect": -1, "abstained": 0, "unparseable": 0, "failed": 0}
"""CRAG's points (Yang et al. 2024, section 3.2), as EDU-RAG section 4.2 uses them: missing costs nothing."""

STATUSES = ("ok", "crash", "timeout", "output_cap", "protocol")
"""`ok`, or why the system gave no usable line for the question."""
_AMOUNTS = ("confidence", "latency_s", "input_tokens", "output_tokens", "cost_usd", "energy_j")
_amounts_of = attrgetter(*_AMOUNTS)
MAX_AMOUNT = 10**12
"""The most seconds, tokens, dollars or joules that one answer may declare: sums stay finite, scorecards readable."""
FEWEST_SHARE = 0.3
"""Where a smaller share of the questions has evidence, the causes say more about the labels than about a system."""


class Passage(NamedTuple):
    """A span of a page that a system says it used."""

    page_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A system's answer to one question. `answer` null is an explicit abstention.

    Invariants: status is known; a failed prediction has no answer; numbers are finite, not negative, and at most
    MAX_AMOUNT; confidence is in [0, 1]; passages are not empty spans.
    """

    question_id: str
    answer: str | None
    response: str | None = None
    confidence: float | None = None
    passages: tuple[Passage, ...] = ()
    latency_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    energy_j: float | None = None
    status: str = "ok"

    def __post_init__(self) -> None:
        if self.status != "ok":
            self._require_failed()
        for value in _amounts_of(self):
            if value is not None and not 0 <= value <= MAX_AMOUNT:  # nor is NaN
                self._refuse_amount()
        if self.confidence is not None and self.confidence > 1:
            raise RecordError("confidence", f"{self.confidence} is above 1")
        for page_id, start, end in self.passages:
            if not page_id or not 0 <= start < end:
                raise RecordError("passages", f"span {start}..{end} of page {page_id!r} is empty or negative")

    def _require_failed(self) -> None:
        if self.status not in STATUSES:
            raise RecordError("status", f"unknown status {self.status!r}; known are {', '.join(STATUSES)}")
        if self.answer is not None:
            raise RecordError("answer", f"must be null where status is {self.status!r}")

    def _refuse_amount(self) -> None:
        """Raise RecordError for the first amount that is not one."""
        for name, value in zip(_AMOUNTS, _amounts_of(self), strict=True):
            if value is not None and not 0 <= value <= MAX_AMOUNT:
                too_large = MAX_AMOUNT < value < math.inf
                fault = f"is above {MAX_AMOUNT:,}" if too_large else "is not a finite number >= 0"
                raise RecordError(name, f"{value} {fault}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of one question, its points (+1, 0, -1) and the reason in words."""

    question_id: str
    outcome: Outcome
    reason: str

    @property
    def points(self) -> int:
        """CRAG's points of the outcome."""
        return POINTS[self.outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many questions ended in each of the five outcomes; every rate is derived from these, over all n questions."""

    correct: int = 0
    incorrect: int = 0
    abstained: int = 0
    unparseable: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        for outcome in OUTCOMES:
            if getattr(self, outcome) < 0:
                raise RecordError("counts", f"{outcome} is negative")

    @property
    def n(self) -> int:
        """All questions."""
        return self.correct + self.incorrect + self.n_missing

    @property
    def n_missing(self) -> int:
        """The paper's missing: abstained, unparseable and failed."""
        return self.abstained + self.unparseable + self.failed

    def _rate(self, part: int) -> float:
        return part / self.n if self.n else 0.0

    @property
    def accuracy(self) -> float:
        """Share of correct answers among all questions (EDU-RAG section 4.2)."""
        return self._rate(self.correct)

    @property
    def hallucination(self) -> float:
        """Share of wrong answers among all questions (EDU-RAG section 4.2)."""
        return self._rate(self.incorrect)

    @property
    def missing(self) -> float:
        """Share of questions without an answer (EDU-RAG section 4.2)."""
        return self._rate(self.n_missing)

    @property
    def score(self) -> float:
        """Accuracy - hallucination, from the counts, so that no rounding of the two rates enters."""
        return self._rate(self.correct - self.incorrect)

    @property
    def strict_score(self) -> float:
        """The score when unparseable and failed cost a point as wrong answers do."""
        return self._rate(self.correct - self.incorrect - self.unparseable - self.failed)

    @property
    def attempt_rate(self) -> float:
        """Share of questions that were answered, rightly or wrongly."""
        return self._rate(self.correct + self.incorrect)

    @property
    def accuracy_given_attempted(self) -> float | None:
        """Correct among answered (Mala et al. eq. 11, adjusted accuracy); None if nothing was answered."""
        attempted = self.correct + self.incorrect
        return self.correct / attempted if attempted else None

    def rates(self) -> dict[str, float | None]:
        """Every derived rate by name."""
        names = ("score", "accuracy", "hallucination", "missing", "attempt_rate", "strict_score")
        rates: dict[str, float | None] = {name: getattr(self, name) for name in names}
        rates["accuracy_given_attempted"] = self.accuracy_given_attempted
        return rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The counts of the questions that share a value of an attribute, such as kind = true_false."""

    attribute: str
    value: str
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """A team's declaration about its system; shown on the board, never used in scoring.

    `asks_network` names the hosts that it asks for; left out of files where it asks for none.
    """

    slug: str
    name: str
    team: str
    description: str = ""
    contact: str = ""
    links: tuple[str, ...] = ()
    licence: str = ""
    models: tuple[str, ...] = ()
    outside_knowledge: str = ""
    tqa_overlap: str = ""
    runnable: bool = False
    blind: bool = False
    withdrawn: str = ""
    asks_network: tuple[str, ...] | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCard:
    """One system's result on one dataset split (or a seeded sample of it).

    Invariants: dataset, split, sample and slug are names (`edu_rag.names`); `outcomes` holds one letter (see
    OUTCOME_LETTERS) a question, in the order of question ids, and its letters are the counts; each slice has at most n
    questions; intervals are (low, high) pairs; `lessons` is empty if no lesson is known, else the number of each
    question's lesson, in the same order, counted from 0 in the order in which lessons first occur, -1 for a question
    without one; `attribution` adds up to the questions not correct.

    `exam` holds fingerprints (SHA-256) of what was asked: `ids`, `questions`, `gold` and `support`. `made_on` is the
    dataset that the predictions were made for, where that is another version than `dataset`, else empty.

    `system_sha256` is over the submission's own files; `caps` are those in force when the harness made the predictions,
    empty if the team submitted them; `rerun` says how a maintainers' run of the same system compares; `overlap` is
    empty, or has a '1' for each question that the team declares its system may have seen, in the order of `outcomes`.
    """

    system: SystemFacts
    dataset: str
    split: str
    sample: str | None
    harness: str
    answers_rule: str
    counts: Counts
    outcomes: str
    lessons: tuple[int, ...] = ()
    slices: tuple[Slice, ...] = ()
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    interval_method: str = ""
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    attribution: Mapping[str, int] = field(default_factory=dict)
    confidence: Mapping[str, Any] = field(default_factory=dict)
    judges: Mapping[str, Any] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    probes: Mapping[str, Any] = field(default_factory=dict)
    exam: Mapping[str, str] = field(default_factory=dict)
    made_on: str = ""
    system_sha256: str = ""
    caps: Mapping[str, Any] = field(default_factory=dict)
    rerun: Mapping[str, Any] = field(default_factory=dict)
    overlap: str = ""
    predictions_sha256: str = ""
    scored_at: str = ""

    def __post_init__(self) -> None:
        faults = list(_card_faults(self))
        if faults:
            raise RecordFaultsError(faults)

    @property
    def dataset_id(self) -> DatasetId:
        """`dataset`, parsed."""
        return DatasetId.parse(self.dataset)

    @property
    def asked(self) -> QuestionSet:
        """The questions that it is about."""
        return QuestionSet(self.dataset_id.release, self.split, self.sample)

    @property
    def network(self) -> tuple[str, ...]:
        """The hosts that the system could reach while it answered; none for other values that a file may hold."""
        return _hosts_in(self.caps.get("network"))

    @property
    def asked_network(self) -> tuple[str, ...]:
        """The hosts that its team says the system asks for; none for other values that a file may hold."""
        return _hosts_in(self.system.asks_network)

    @property
    def reported(self) -> bool:
        """Whether only its team has seen the system give these answers: the rank class `reported`.

        Neither did the harness make them (`caps`), nor did a maintainers' run give the same ones (`rerun`).
        """
        return not self.caps and not confirms(self.rerun, self.counts.n)


_MAX_HOSTS = 20
_HOST = re.compile(r"[a-z0-9.-]{1,253}(?::[0-9]{1,5})?\Z", re.ASCII)


def _hosts_in(given: object) -> tuple[str, ...]:
    hosts = given if isinstance(given, list | tuple) else ()
    return tuple(host for host in hosts[:_MAX_HOSTS] if isinstance(host, str) and _HOST.match(host))


def confirms(rerun: Mapping[str, Any], n_questions: int) -> bool:
    """Whether a maintainers' run made the predictions, or gave the same answers to a large enough sample of questions.

    Large enough is `MIN_RERUN` questions, or all questions of the result if it has fewer.
    """
    n, n_same = rerun.get("n"), rerun.get("n_same")
    # A file may hold anything in their place: `True == 1 == 1.0`.
    if type(n) is int and type(n_same) is int and n == n_same and max(1, min(MIN_RERUN, n_questions)) <= n:
        return n <= MAX_QUESTIONS
    return rerun.get("own") is True


MAX_QUESTIONS = 1_000_000
"""The most questions of one scorecard: statistics over them stay within seconds and some hundred megabytes."""
MIN_RERUN = 50
"""With 50 of 50 answers the same, Wilson's 95 % interval for the share of equal answers begins at 0.93."""


def _card_faults(card: ScoreCard) -> Iterator[RecordError]:
    yield from _name_faults(card)
    yield from _outcome_faults(card)
    n = card.counts.n
    if card.lessons and len(card.lessons) != n:
        yield RecordError("lessons", f"{len(card.lessons)} numbers for {n} questions")
    if card.lessons != _renumbered(card.lessons):
        yield RecordError("lessons", "are not counted from 0 in the order in which they first occur")
    for part in card.slices:
        if part.counts.n > n:
            yield RecordError("slices", f"{part.attribute} = {part.value} has more questions than the split")
    for name, (low, high) in card.intervals.items():
        if not low <= high:
            yield RecordError("intervals", f"{name}: {low} is above {high}")
    yield from _attribution_faults(card)
    yield from _overlap_faults(card)


def _name_faults(card: ScoreCard) -> Iterator[RecordError]:
    """The names become files and addresses of the site: anything but plain ones could leave its folder."""
    checks: list[tuple[Callable[[str, str], object], str, str]] = [
        (DatasetId.parse, card.dataset, "dataset"),
        (require_split, card.split, "split"),
        (require_slug, card.system.slug, "system.slug"),
    ]
    if card.sample is not None:
        checks.append((Sample.parse, card.sample, "sample"))
    for check, text, where in checks:
        try:
            check(text, where)
        except RecordError as error:
            yield error


def _outcome_faults(card: ScoreCard) -> Iterator[RecordError]:
    n = card.counts.n
    if n > MAX_QUESTIONS:
        yield RecordError("counts", f"add up to {n:,} questions, more than {MAX_QUESTIONS:,}")
    for outcome, letter in OUTCOME_LETTERS.items():
        if card.outcomes.count(letter) != getattr(card.counts, outcome):
            yield RecordError("outcomes", f"number of {letter!r} is not the count of {outcome}")
    if len(card.outcomes) != n:
        yield RecordError("outcomes", f"{len(card.outcomes)} letters for {n} questions")


def _overlap_faults(card: ScoreCard) -> Iterator[RecordError]:
    if card.overlap and (len(card.overlap) != card.counts.n or set(card.overlap) - {"0", "1"}):
        yield RecordError("overlap", f"is not one '0' or '1' for each of {card.counts.n} questions")


def _attribution_faults(card: ScoreCard) -> Iterator[RecordError]:
    for cause, times in card.attribution.items():
        if times < 0:
            yield RecordError("attribution", f"{cause} is negative")
    lost, counted = card.counts.n - card.counts.correct, sum(card.attribution.values())
    if card.attribution and counted != lost:
        yield RecordError("attribution", f"adds up to {counted} questions, but {lost} are not correct")


def _renumbered(lessons: tuple[int, ...]) -> tuple[int, ...]:
    numbers: dict[int, int] = {-1: -1}
    return tuple(numbers.setdefault(lesson, len(numbers) - 1) for lesson in lessons)


CAUSES: Mapping[str, str] = {
    "failed": "the system crashed, ran out of time, or left the question out",
    "flagged_broken": "the question cannot be answered as it stands",
    "unparseable": "the answer names no single choice",
    "evidence_not_found": "no evidence was found in its pages, which may still have some",
    "over_abstained": "it abstained with evidence in its hands",
    "not_retrieved": "the dataset has evidence, the system cited none of it",
    "not_used": "evidence was cited, and the answer is wrong",
}
"""Every cause with its meaning, in order of precedence (docs/scoring-spec.md, section 7, gives the reasons)."""
RENAMED: Mapping[str, str] = {"no_evidence": "evidence_not_found"}
"""Causes that older scorecards count under another name."""


def known_causes(attribution: Mapping[str, int]) -> dict[str, int]:
    """An attribution with today's names, in the same order."""
    return {RENAMED.get(cause, cause): n for cause, n in attribution.items()}


def n_with_evidence(card: ScoreCard) -> int | None:
    """How many questions of a scorecard have evidence in sentences; None if it does not say."""
    found = {part.value: part.counts.n for part in card.slices if part.attribute == "evidence"}
    return found.get("supported", 0) if found else None


def has_few_evidence(card: ScoreCard) -> bool:
    """Whether fewer than FEWEST_SHARE of a scorecard's questions have evidence."""
    n = n_with_evidence(card)
    return n is not None and n < FEWEST_SHARE * card.counts.n


def evidence_sentence(n_with: int, n: int) -> str:
    """How many questions have evidence, in words that do not take a label that is missing for evidence that is."""
    return f"evidence was found for {n_with:,} of {n:,} questions ({100 * n_with / n if n else 0:.1f} %)"
