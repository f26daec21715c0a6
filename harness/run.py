"""Running a system over a split: questions under random ids, answers kept at once, a fault costs its question."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag import __version__
from edu_rag.dataset import Dataset, kept_pages
from edu_rag.errors import ConfigError, EduRagError, RecordError, SubmissionError
from edu_rag.jsonl import to_line, write_json, write_records
from edu_rag.progress import Stage, say
from edu_rag.records import Question, SearchHit, WebPage
from edu_rag.results import Prediction
from edu_rag.typed import first_line, to_record
from harness.partial import Partial
from harness.run_record import RunRecord, record_path
from harness.sample import choose, sample_of
from harness.submission import Limits, Submission, partial_path
from harness.system import FaultError, Reply, System, child_environment

MAX_BARREN_STARTS = 5
"""After so many processes in a row that ended without answering anything, the rest of the questions has failed."""
_TEXT_CAP = 20_000
_LOG_TAIL_BYTES = 4_096


class Task(NamedTuple):
    """What a run asks: the questions in order of id, their hits, and the pages by id."""

    questions: Sequence[Question]
    hits: Mapping[str, Sequence[SearchHit]]
    pages: Mapping[str, WebPage]


def task_of(dataset: Dataset, split: str, sample: str | None) -> Task:
    """The task of a split, or of a sample of it. The gold table is never opened."""
    questions = dataset.questions(split)
    if sample is not None:
        questions = choose(questions, sample_of(sample))
    return Task(questions, dataset.hits(split), dataset.pages(split))


def _page(page: WebPage) -> dict[str, Any]:
    shown = ("page_id", "url", "title", "text", "sentences")
    return {name: getattr(page, name) for name in shown}


def question_line(question: Question, pages: Sequence[WebPage], random_id: str) -> bytes:
    """The line a system gets: no split, lesson, flags or file order, from which answers could be guessed."""
    return to_line({
        "id": random_id, "text": question.text, "choices": dict(question.choices), "kind": question.kind,
        "pages": [_page(page) for page in pages],
    })  # fmt: skip


def asking_order(questions: Sequence[Question], seed: int) -> list[Question]:
    """A seeded order that depends on the question ids alone, so that position tells nothing."""
    ordered = sorted(questions, key=lambda question: question.question_id)
    random.Random(seed).shuffle(ordered)
    return ordered


def _require_own_fields(values: Mapping[str, Any]) -> None:
    for name in ("question_id", "latency_s", "status"):
        if name in values:
            raise RecordError(name, "is for the harness to say")
    if "answer" not in values:
        raise RecordError("answer", "missing field")


def prediction_of(question_id: str, reply: Reply, *, first: bool) -> Prediction:
    """A reply as a prediction; latency is left out for the first answer of a process, which includes its start."""
    values = reply.values
    if values.get("error") is not None:  # null is how many writers say that there is none
        said = str(values["error"])[:_TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="crash", response=said)
    ours = {"question_id": question_id, "answer": None, "latency_s": None if first else round(reply.latency_s, 6)}
    try:
        _require_own_fields(values)
        return to_record(ours | {name: value for name, value in values.items() if value is not None}, Prediction)
    except RecordError as error:
        fault = f"{error.where}: {first_line(error)}"[:_TEXT_CAP]
        return Prediction(question_id=question_id, answer=None, status="protocol", response=fault)


class Runner:
    """Asks one question after another, starting the system anew when it has ended."""

    def __init__(self, start: Callable[[], System], limits: Limits, new_id: Callable[[], str]) -> None:
        self._start = start
        self._limits = limits
        self._new_id = new_id
        self._system: System | None = None
        self._answered = False
        self._barren = 0

    @property
    def given_up(self) -> bool:
        """Whether the system is broken: too many processes ended without a single answer."""
        return self._barren >= MAX_BARREN_STARTS

    def predict(self, question: Question, pages: Sequence[WebPage]) -> Prediction:
        """The prediction for one question; a fault of the system becomes its status."""
        try:
            if self._system is None:
                self._system, self._answered = self._start(), False
            random_id, first = self._new_id(), not self._answered
            limit_s = self._limits.start_s if first else self._limits.time_s
            reply = self._system.ask(random_id, question_line(question, pages, random_id), limit_s)
            self._answered, self._barren = True, 0
            return prediction_of(question.question_id, reply, first=first)
        except FaultError as fault:
            if fault.ended:
                self._barren += not self._answered
                self.close()
            reason = fault.reason[:_TEXT_CAP]
            return Prediction(question_id=question.question_id, answer=None, status=fault.status, response=reason)

    def close(self, grace_s: float = 0.0) -> None:
        """End the process, if there is one."""
        if self._system is not None:
            self._system.end(grace_s)
            self._system = None


def _fingerprint(submission: Submission) -> str:
    """SHA-256 over the submission's own files without predictions, so that an old partial result is not continued."""
    digest = hashlib.sha256()
    for path in sorted(submission.folder.rglob("*")):
        inside = path.relative_to(submission.folder)
        if inside.parts[0] != "predictions" and "__pycache__" not in inside.parts and path.is_file():
            digest.update(f"{inside}\n".encode("utf-8", "surrogateescape") + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _rest_failed(questions: Iterator[Question]) -> Iterator[Prediction]:
    reason = f"not asked: {MAX_BARREN_STARTS} processes in a row ended without an answer"
    for question in questions:
        yield Prediction(question_id=question.question_id, answer=None, status="crash", response=reason)


def _ask_all(task: Task, seed: int, runner: Runner, partial: Partial, stage: Stage) -> list[Prediction]:
    """Ask what is not yet answered; return the predictions of those that were never asked."""
    todo = iter([q for q in asking_order(task.questions, seed) if q.question_id not in partial.done])
    for question in todo:
        prediction = runner.predict(question, kept_pages(task.hits.get(question.question_id, ()), task.pages))
        partial.add(prediction)
        stage.add(_outcome(prediction))
        if runner.given_up:
            return list(_rest_failed(todo))
    return []


def _outcome(prediction: Prediction) -> str:
    return "done" if prediction.status == "ok" else prediction.status


def _why(prediction: Prediction, log: Path) -> str:
    """Why a question failed: the fault, and the last line that the system wrote on stderr, if it says more."""
    reason = prediction.response or prediction.status
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
        lines = stream.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return reason[:300] if last in reason else f"{reason[:300]}: {last[:300]}"


def _tell(asked: Sequence[Prediction], n_never_asked: int, log: Path) -> None:
    """Say what failed and where the reasons are. Raises SubmissionError where nothing was answered.

    `asked` is in order of asking.
    """
    failed = [prediction for prediction in asked if prediction.status != "ok"]
    if len(failed) == len(asked):
        what = f"not a single question was answered: {_why(asked[0], log)}"
        raise SubmissionError(log.parent.parent.parent, what, f"the system's log is {log}")
    if n_never_asked:
        what = f"the system is broken: {_why(asked[-1], log)}"
        say(str(EduRagError(log, what, f"the {n_never_asked:,} questions left count as failed")))
    elif failed:
        say(f"{len(failed):,} failed: `response` in the predictions says why; the system's log is {log}")


def run_submission(
    submission: Submission,
    dataset: Dataset,
    split: str,
    sample: str | None,
    *,
    seed: int = 0,
    fresh: bool = False,
    limits: Limits | None = None,
    environment: Mapping[str, str] = os.environ,
    passed: Collection[str] = (),
    new_id: Callable[[], str] = lambda: secrets.token_hex(8),
) -> Path:
    """Run a submission's command over a split (or a sample) and write its predictions file; return the path.

    An interrupted run goes on where it stopped unless `fresh`. stderr of the system is kept beside the predictions.
    `passed` names variables of the environment that the system gets besides the harmless ones, such as an API key.
    Raises ConfigError where one of them is not set, and SubmissionError, after writing, where nothing was answered.
    """
    _require_set(passed, environment)
    limits = limits or submission.settings.limits
    task = task_of(dataset, split, sample)
    path = submission.predictions_path(f"{dataset.manifest.name}-{dataset.manifest.version}", split, sample)
    record = RunRecord(
        dataset=dataset.id, split=split, sample=sample, system_sha256=_fingerprint(submission),
        harness=f"edu-rag-bench {__version__}", limits=limits,
    )  # fmt: skip
    named = {name: getattr(record, name) for name in ("dataset", "split", "sample", "system_sha256")}
    partial, log_path = Partial(partial_path(path), named, fresh=fresh), path.with_suffix(".log")
    child = child_environment(environment, passed)
    command = submission.settings.command
    with ExitStack() as stack:
        stack.callback(partial.close)
        log = stack.enter_context(log_path.open("ab" if partial.done else "wb"))
        runner = Runner(lambda: System(command, submission.folder, child, log), limits, new_id)
        stack.callback(runner.close, 5.0)
        stage = stack.enter_context(Stage(f"run {submission.slug}", len(task.questions), bad="failed"))
        if partial.done:
            for kept in partial.done.values():
                stage.add(_outcome(kept))
            say(f"{len(partial.done):,} answers of an interrupted run are kept; --fresh asks all again")
        never_asked = _ask_all(task, seed, runner, partial, stage)
        if never_asked:
            stage.add("not asked", len(never_asked))
    everything = {p.question_id: p for p in never_asked} | partial.done
    record_path(path).unlink(missing_ok=True)  # an older run's record must not stand beside this run's predictions
    write_records(path, [_plain(everything[question.question_id]) for question in task.questions])
    write_json(record_path(path), record)
    partial.path.unlink()
    _tell(list(partial.done.values()), len(never_asked), log_path)
    return path


def _require_set(passed: Collection[str], environment: Mapping[str, str]) -> None:
    missing = [name for name in passed if name not in environment]
    if missing:
        raise ConfigError("--pass-env", f"not set: {', '.join(missing)}", "export it, or leave the option out")


def _plain(prediction: Prediction) -> dict[str, Any]:
    """A prediction without the fields that say nothing, so that the file stays small and readable."""
    default = Prediction(question_id=prediction.question_id, answer=prediction.answer)
    names = ("response", "confidence", "passages", "latency_s", "input_tokens", "output_tokens", "cost_usd", "status")
    said = {name: getattr(prediction, name) for name in names if getattr(prediction, name) != getattr(default, name)}
    return {"question_id": prediction.question_id, "answer": prediction.answer} | said
