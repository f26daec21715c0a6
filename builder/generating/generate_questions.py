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
from builder.generating.generated_question import GeneratedQuestion
from builder.generating.question_draft import write_request
from builder.generating.question_filters import FILTERS, NO_REPLY, THRESHOLDS, Failure, KnownTexts, checked, read_reply
from builder.generating.question_reader import QuestionReader
from builder.generating.question_types import TYPES_FILE, question_types
from builder.generating.reply_file import ChatModel, ReplyFile
from edu_rag.errors import NoReplyError, SubmissionError
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
    """How questions are made. `n_asks`: how often the reader gets each question with choices; `dataset` is for the
    report.
    """

    dataset: str
    seed: int
    n_asks: int = 2
    with_choices: bool = True
    n_workers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a task: a question, a failure, or both if the question failed a filter."""

    task: WritingTask
    reply: str
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

    def outcomes(self, tasks: Sequence[WritingTask], known: Iterable[str]) -> list[Outcome]:
        """The result of each task, in order. `known` are the texts of questions that exist."""
        with Stage("write", len(tasks)) as stage:
            replies: list[str | Failure] = []
            for reply in in_order(self._write, tasks, self.settings.n_workers):
                replies.append(reply)
                stage.add(NO_REPLY if isinstance(reply, Failure) else "done")
        texts = KnownTexts(known)
        done = []
        with Stage("check", len(tasks), bad="rejected") as stage:
            items = list(zip(tasks, replies, strict=True))
            for outcome in in_order(self._check, items, self.settings.n_workers):
                done.append(_without_duplicate(outcome, texts))
                stage.add("kept" if done[-1].failure is None else done[-1].failure.filter)
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

    def _write(self, task: WritingTask) -> str | Failure:
        try:
            return self._reply_to("writer", self.writer, write_request(task))
        except NoReplyError as error:
            return Failure(NO_REPLY, f"writer: {error.what}")

    def _check(self, item: tuple[WritingTask, str | Failure]) -> Outcome:
        task, reply = item
        if isinstance(reply, Failure):
            return Outcome(task=task, reply="", found=None, failure=reply)
        made = read_reply(task, reply, with_choices=self.settings.with_choices)
        if isinstance(made, Failure):
            return Outcome(task=task, reply=reply, found=None, failure=made)
        reader = QuestionReader(lambda request: self._reply_to("reader", self.reader, request), self.settings.n_asks)
        try:
            failure = checked(made, reader)
        except NoReplyError as error:
            failure = Failure(NO_REPLY, f"reader: {error.what}")
        return Outcome(task=task, reply=reply, found=made, failure=failure)

    def report(self, outcomes: Sequence[Outcome], price: TokenPrice) -> dict[str, Any]:
        """Settings, pinned models and prompts, the yield of each filter, by type, and what the calls used."""
        s = self.settings
        used = {role: dict(counts) for role, counts in self.used.items()}
        tokens = sum((counts for counts in self.used.values()), Counter[str]())
        return {
            "dataset": s.dataset,
            "seed": s.seed,
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
    spans = [{"start": start, "end": end} for start, end in task.passages]
    line = {"id": task.task_id, "question_type": task.type.name, "filter": failure.filter, "reason": failure.reason}
    line |= {"page": task.page.url, "made_from": spans, "reply": outcome.reply[:MAX_KEPT_REPLY]}  # type: ignore[dict-item]
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
