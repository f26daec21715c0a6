"""Generate: ask the writer for every task, filter, and write what was kept and what was rejected.

The files are a function of the pages, the settings and the replies: the same replies give the same bytes with any
number of workers. Nothing is written but `replies.jsonl` until the last question was checked.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.generating.call_estimate import TokenPrice
from builder.generating.chat_prompts import ChatRequest, prompt_ids
from builder.generating.drawn_passages import WritingTask
from builder.generating.failed_requests import FailedRequests
from builder.generating.generated_question import GeneratedQuestion, as_question
from builder.generating.question_draft import Ask, OffSpanError, QuestionDraft, write_draft
from builder.generating.question_filters import (
    FILTERS,
    NO_REPLY,
    THRESHOLDS,
    Failure,
    KnownTexts,
    checked,
    gold_failure,
    same_answer_failure,
    surely_wrong,
)
from builder.generating.question_reader import QuestionReader
from builder.generating.question_types import TYPES_FILE, question_types
from builder.generating.reply_file import ChatModel, ReplyFile
from builder.generating.wrong_answers import (
    N_WRONG,
    fit_wrong,
    in_order_of,
    is_stated_of,
    read_wrong,
    rule_candidates,
    wrong_choices,
    wrong_request,
)
from edu_rag.errors import NoReplyError, RecordError, SubmissionError
from edu_rag.files.jsonl import write_json, write_records
from edu_rag.processes.worker_threads import in_order
from edu_rag.progress import Stage

QUESTIONS_FILE = "questions.jsonl"
REJECTED_FILE = "rejected.jsonl"
REPORT_FILE = "report.json"
MAX_KEPT_REPLY = 4_000
"""Characters of a rejected reply that `rejected.jsonl` shows; `replies.jsonl` has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateSettings:
    """How questions are made: `n` of them, each from up to `tries` passages. `n_asks`: how often the reader gets each
    question with choices; `dataset` is for the report.
    """

    dataset: str
    seed: int
    n: int = 1
    tries: int = 1
    n_asks: int = 4
    with_choices: bool = True
    n_workers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a task: a question, a failure, or both if the question failed a filter."""

    task: WritingTask
    replies: Sequence[str]
    found: GeneratedQuestion | None
    failure: Failure | None


class Generator:
    """Writes and checks questions with a writer and a reader, which may be the same model."""

    def __init__(self, settings: GenerateSettings, writer: ChatModel, reader: ChatModel, replies: ReplyFile) -> None:
        self.settings, self.writer, self.reader, self._replies = settings, writer, reader, replies
        self._turn = threading.Lock()
        self.used: dict[str, Counter[str]] = {"writer": Counter(), "reader": Counter()}
        """Calls and tokens of each role, kept replies included, so that a resumed run reports the same."""
        self._failed = {role: FailedRequests() for role in self.used}
        self._reader = QuestionReader(lambda request: self._reply_to("reader", self.reader, request), settings.n_asks)

    def outcomes(self, rounds: Sequence[Sequence[WritingTask]], known: Iterable[str]) -> list[Outcome]:
        """The result of each task, in order. `known` are the texts of questions that exist.

        A question that failed is made from another passage in the next round. One without a reply is not: the next run
        asks for the reply again, and has to come to the same result as a run that got it at once.
        """
        texts, done = KnownTexts(known), []
        wanted = {task.place for task in rounds[0]}
        for number, tasks in enumerate(rounds, 1):
            asked = [task for task in tasks if task.place in wanted]
            if not asked:
                break
            with Stage(f"try {number}", len(asked), bad="rejected") as stage:
                found = in_order(self._made, asked, self.settings.n_workers)
                for task, outcome in zip(asked, found, strict=True):
                    done.append(_without_duplicate(outcome, texts))
                    fate = "kept" if done[-1].failure is None else done[-1].failure.filter
                    if fate in ("kept", NO_REPLY):
                        wanted.remove(task.place)
                    stage.add(fate)
        return done

    def _reply_to(self, role: str, model: ChatModel, request: ChatRequest) -> str:
        try:
            kept = self._replies.reply(model, request)
        except SubmissionError as error:
            with self._turn:
                self.used[role].update(no_reply=1)
            raise self._failed[role].failed(error) from None
        self._failed[role].replied()
        with self._turn:
            self.used[role].update(calls=1, input_tokens=kept.n_input, output_tokens=kept.n_output)
        return kept.text

    def _made(self, task: WritingTask) -> Outcome:
        replies: list[str] = []
        try:
            found = self._question(task, replies)
            failure = checked(found, self._reader) if isinstance(found, GeneratedQuestion) else found
        except NoReplyError as error:
            return Outcome(task=task, replies=replies, found=None, failure=Failure(NO_REPLY, error.what))
        made = found if isinstance(found, GeneratedQuestion) else None
        return Outcome(task=task, replies=replies, found=made, failure=failure)

    def _question(self, task: WritingTask, replies: list[str]) -> GeneratedQuestion | Failure:
        """The question with its choices. The writer's replies are added to a list, for the record."""

        def ask(request: ChatRequest) -> str:
            replies.append(self._reply_to("writer", self.writer, request))
            return replies[-1]

        try:
            draft = write_draft(task, ask)
        except RecordError as error:
            return Failure("on-span" if isinstance(error, OffSpanError) else "reply", str(error))
        failure = same_answer_failure(draft, task, self._reader)
        if failure is not None or not (self.settings.with_choices and task.type.answerable):
            return failure or as_question(task, draft)
        failure = gold_failure(draft, task, self._reader)
        if failure is not None:
            return failure
        try:
            fit = [self._wrong(task, draft, place, ask) for place in range(len(draft.parts))]
        except RecordError as error:
            return Failure("reply", str(error))
        wrong = wrong_choices(task.type, draft.parts, fit)
        if len(wrong) < N_WRONG:
            return Failure("wrong-answers", f"{' and '.join(str(len(some)) for some in fit)} are fit to be choices")
        return as_question(task, draft, wrong)

    def _wrong(self, task: WritingTask, draft: QuestionDraft, place: int, ask: Ask) -> list[str]:
        """Wrong answers to a part: those that rules find, or else the model's."""
        part, fact = draft.parts[place], task.fact_texts()[place]
        found = rule_candidates(task, place)
        if found is None:
            found = in_order_of(task.task_id, read_wrong(ask(wrong_request(part))))
        fit = fit_wrong(found, part, fact)
        if task.facts[place].kind != "meaning":  # whose question is a term, which lines about others hold as well
            asked = part.plain or part.question
            fit = (text for text in fit if not is_stated_of(text, asked, task.page))
        return surely_wrong(fit, part, task, place, self._reader)

    def report(self, outcomes: Sequence[Outcome], price: TokenPrice) -> dict[str, Any]:
        """Settings, pinned models and prompts, the yield of each filter, by type, and what the calls used."""
        s = self.settings
        used = {role: dict(counts) for role, counts in self.used.items()}
        tokens = sum((counts for counts in self.used.values()), Counter[str]())
        return {
            "dataset": s.dataset,
            "seed": s.seed,
            "wanted": s.n,
            "tries": s.tries,
            "n_asks": s.n_asks,
            "with_choices": s.with_choices,
            "thresholds": THRESHOLDS,
            "writer": dict(self.writer.facts),
            "reader": dict(self.reader.facts),
            "types": f"{TYPES_FILE}@{question_types().sha256[:8]}",
            "prompts": prompt_ids(),
            "yield": filter_yield(outcomes),
            "by_type": _by_type(outcomes),
            "used": used,
            "cost_usd": price.of(tokens["input_tokens"], tokens["output_tokens"]),
        }


def _without_duplicate(outcome: Outcome, texts: KnownTexts) -> Outcome:
    if outcome.found is None or outcome.failure is not None:
        return outcome
    return replace(outcome, failure=texts.failure(outcome.found.question.text))


def filter_yield(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """For each filter in its order how many questions came to it, and how many it rejected."""
    failed = Counter(outcome.failure.filter for outcome in outcomes if outcome.failure is not None)
    rows, n = [], len(outcomes)
    for name in FILTERS:
        rows.append({"filter": name, "n": n, "rejected": failed[name], "passed": n - failed[name]})
        n -= failed[name]
    return rows


def _by_type(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts = found.setdefault(outcome.task.type.name, Counter())
        counts["n"] += 1
        counts["kept" if outcome.failure is None else outcome.failure.filter] += 1
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def _rejected(outcome: Outcome, failure: Failure) -> dict[str, Any]:
    task = outcome.task
    line: dict[str, Any] = {
        "id": task.task_id,
        "question_type": task.type.name,
        "filter": failure.filter,
        "reason": failure.reason,
        "page": task.page.url,
        "made_from": [{"start": start, "end": end} for start, end in task.passages],
        "facts": task.fact_texts(),
        "replies": [text[:MAX_KEPT_REPLY] for text in outcome.replies],
    }
    return line | ({"question": outcome.found.line()} if outcome.found is not None else {})


def kept_questions(outcomes: Sequence[Outcome]) -> list[GeneratedQuestion]:
    """The questions that passed every filter, in order."""
    return [o.found for o in outcomes if o.found is not None and o.failure is None]


def write_outcomes(out: Path, outcomes: Sequence[Outcome], report: Mapping[str, Any]) -> None:
    """Write the kept questions, the rejected ones, and the report."""
    write_records(out / QUESTIONS_FILE, (found.line() for found in kept_questions(outcomes)))
    rejected = [_rejected(outcome, outcome.failure) for outcome in outcomes if outcome.failure is not None]
    write_records(out / REJECTED_FILE, rejected)
    write_json(out / REPORT_FILE, report)
