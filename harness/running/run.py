"""Running a system over a task: questions under random ids, answers kept at once, a fault only fails its question."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from edu_rag import __version__
from edu_rag.errors import ConfigError, DataError, EduRagError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import read_values, to_line, write_json, write_records
from edu_rag.files.manifest import file_sha256, vectors_sha256
from edu_rag.files.sentence_vectors import VARIABLE
from edu_rag.files.typed import to_plain
from edu_rag.progress import Stage, say
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.named_network.forward_proxy import NO_NETWORK, NetworkGrant
from harness.own_packages.fetch_wheels import FetchWheels, pip_download
from harness.own_packages.package_environment import PackageEnvironment, environment_of
from harness.running.answer_cache import AnswerCache, cache_path, key_of
from harness.running.child_system import MAX_BARREN_STARTS, ChildSystem, Runner, child_environment
from harness.running.fingerprint import (
    answering_sha256,
    file_marks,
    settings_sha256,
    surroundings_sha256,
    system_sha256,
)
from harness.running.resume import Partial, set_aside_path
from harness.running.system_log import SystemLog, hint_for
from harness.running.task import Task, asking_order, read_task
from harness.running.withheld_keys import WithheldKeys
from harness.sandbox.caps import Caps
from harness.sandbox.launch import wanted_caps
from harness.sandbox.system_process import Launcher, PlainLauncher
from harness.submission.folder import Limits, Submission, partial_path, requirements_of
from harness.submission.predictions_file import row_of
from harness.submission.run_record import RunRecord, read_run_record, record_path


def require_own_places(folder: Path, paths: Iterable[Path]) -> None:
    """Raise SubmissionError if one of these paths is a link or anything but a plain file, or is behind a link.

    Looked at are the parts below `folder`; those above it are the caller's own.
    """
    for path in paths:
        below = [part for part in path.parents if folder in part.parents]
        odd = next((part for part in below if part.is_symlink() or (part.exists() and not part.is_dir())), None)
        if odd is None and os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            odd = path
        if odd is not None:
            what = "is not a plain file or folder, and the run would write there"
            raise SubmissionError(odd, what, "remove it: a link could lead to any file of yours")


_SAME_RUN = ("dataset", "split", "sample", "probe", "draws", "seed", "system_sha256", "settings_sha256", "caps")
"""The fields that must agree before an interrupted run is continued."""


_MAX_SHOWN = 3
"""Names of changed files that are shown."""


class NothingAnsweredError(SubmissionError):
    """A run in which every question failed; its predictions are written all the same, but over no answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How to ask a system.

    `seed` is that of the asking order; `fresh` asks all again, even if an interrupted run or the cache holds answers;
    `limits` replace the submission's own; `passed` names variables of `environment` that the system gets in addition to
    the harmless ones, such as an API key; `cache` keeps answers over runs. `caps` are those of the sandbox; None runs
    the system without one, with all of this user's rights; `hidden` are folders that must not show in it, and `vectors`
    the dataset's folder of sentence vectors, which does; `vectors_sha256` is their hash. `network` is what the system
    may reach from the sandbox; `fetch` downloads its own packages.
    """

    seed: int = 0
    fresh: bool = False
    limits: Limits | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    passed: Collection[str] = ()
    cache: AnswerCache | None = None
    caps: Caps | None = field(default_factory=Caps)
    hidden: Collection[Path] = ()
    vectors: Path | None = None
    vectors_sha256: str = ""
    network: NetworkGrant = NO_NETWORK
    fetch: FetchWheels = pip_download
    new_id: Callable[[], str] = lambda: secrets.token_hex(8)
    monotonic: Callable[[], float] = time.monotonic

    @property
    def keys(self) -> WithheldKeys:
        """The keys among the variables that are passed, which nothing of a run may show."""
        return WithheldKeys.passed(self.passed, self.environment)


def run_submission(
    submission: Submission, dataset: Dataset, split: str, sample: str | None, manner: Manner | None = None
) -> Path:
    """Run a submission's command over a split (or a sample) and write its predictions file; return the path.

    An interrupted run goes on where it stopped. stderr of the system is kept next to the predictions. Raises
    ConfigError where a variable to pass is not set, and SubmissionError, after writing, where nothing was answered.
    """
    path = submission.predictions_path(dataset.manifest.release.folder, split, sample)
    manner = hiding(dataset, manner or Manner())
    require_set(manner)
    record = record_of(submission, dataset, split, sample, manner)
    _report_replaced(path, record)
    return run_task(submission, read_task(dataset, split, sample), path, record, manner)


def _report_replaced(path: Path, record: RunRecord) -> None:
    """Report predictions that were made on other data of the same name and version, which the run replaces."""
    try:
        before = read_run_record(path)
    except DataError:  # it is replaced, too, and its place may hold anything
        return
    if before is not None and before.dataset != record.dataset:
        what = f"its predictions for {before.dataset} will be replaced by those for {record.dataset}"
        say(str(EduRagError(path, what, "copy what you want to keep, and give each dataset another name")))


def hiding(dataset: Dataset, manner: Manner) -> Manner:
    """Run options that hide the dataset's folder, which holds the gold answers, and show its sentence vectors.

    Raises DataError if these are not those that the manifest names.
    """
    vectors = dataset.vectors()
    digest = "" if vectors is None else vectors_sha256(dataset.manifest)
    return replace(manner, hidden=(*manner.hidden, dataset.folder), vectors=vectors, vectors_sha256=digest)


def require_set(manner: Manner) -> None:
    """Raise ConfigError if a variable that is to be passed on is not set."""
    missing = [name for name in manner.passed if name not in manner.environment]
    if missing:
        raise ConfigError("--pass-env", f"not set: {', '.join(missing)}", "export it, or leave the option out")


def record_of(submission: Submission, dataset: Dataset, split: str, sample: str | None, manner: Manner) -> RunRecord:
    """The record of a run that is about to begin."""
    return RunRecord(
        dataset=dataset.id,
        split=split,
        sample=sample,
        system_sha256=system_sha256(submission.folder),
        answering_sha256=answering_sha256(submission.folder),
        harness=f"edu-rag-bench {__version__}",
        shown_sha256=dataset.manifest.shown_sha256(split),
        limits=manner.limits or submission.settings.limits,
        seed=manner.seed,
        settings_sha256=settings_sha256(_given(manner), manner.passed),
        surroundings_sha256=surroundings_sha256(),
        caps=wanted_caps(manner.caps) | dict(manner.network.facts),
    )


GRANTED = "EDU_RAG_NETWORK"
"""The variable that lists the hosts that a system was granted, with blanks between them."""


def _given(manner: Manner) -> dict[str, str]:
    """The environment that a system gets."""
    hosts = " ".join(map(str, manner.network.hosts))
    given = child_environment(manner.environment, manner.passed) | ({GRANTED: hosts} if hosts else {})
    given.pop(VARIABLE, None)  # those of another dataset
    return given if manner.vectors is None else {**given, VARIABLE: str(manner.vectors.absolute())}


def require_no_network(submission: Submission) -> None:
    """Raise SubmissionError for a system that asks for the network, which nobody but its own user grants."""
    hosts = ", ".join(map(str, submission.settings.network.hosts))
    if hosts:
        what = f"was not run: it asks for the network ({hosts}), which is never granted here"
        remedy = "hand in predictions that `edu-rag run --allow-network NAME` made"
        raise SubmissionError(f"submissions/{submission.slug}", what, remedy)


def run_task(submission: Submission, task: Task, path: Path, record: RunRecord, manner: Manner) -> Path:
    """Ask a task, write its predictions to `path` and the finished record next to them; return the path."""
    started, marks, log_path = manner.monotonic(), file_marks(submission.folder), path.with_suffix(".log")
    same = {name: getattr(record, name) for name in _SAME_RUN} | {"limits": to_plain(record.limits)}
    same |= {"vectors_sha256": manner.vectors_sha256} if manner.vectors_sha256 else {}
    unfinished = partial_path(path)
    written_to = (path, unfinished, set_aside_path(unfinished, same), log_path, record_path(path), failed_path(path))
    require_own_places(submission.folder, written_to)
    with ExitStack() as stack:
        # First of all: without its packages or a sandbox no run begins, and none is left to be finished.
        launcher = stack.enter_context(open_launcher(submission, manner))
        partial = Partial(unfinished, same, fresh=manner.fresh)
        stack.callback(partial.close)
        log = SystemLog(log_path, keep=bool(partial.done) and not partial.was_aside, keys=manner.keys)
        stack.callback(log.close)
        n_resumed, cached = len(partial.done), _from_cache(task, record, manner, partial, stack)
        never_asked = _ask(submission, task, record.limits, manner, partial, cached, log, launcher)
        everything = {p.question_id: p for p in never_asked} | cached | partial.done
        predictions = [task.back(everything[question.question_id]) for question in task.questions]
        written = _write(
            path,
            predictions,
            replace(
                record,
                n_questions=len(task.questions),
                n_asked=len(partial.done) - n_resumed,
                n_resumed=n_resumed,
                n_cached=len(cached),
                caps=dict(launcher.facts),
                wall_s=round(manner.monotonic() - started, 3),
            ),
        )
        partial.remove()
    _tell_changes(submission.folder, record, marks)
    kept = "" if written == path else f"{path} is unchanged; the failed run is in {written.name}"
    answered, boxed = [*cached.values(), *partial.done.values()], manner.caps is not None
    _tell(submission.folder, answered, len(never_asked), log, kept, boxed=boxed)
    return path


def failed_path(predictions: Path) -> Path:
    """The path for the predictions of a run without a single answer, next to those of an earlier run with answers."""
    return predictions.with_name(predictions.name + ".failed")


def _write(path: Path, predictions: Sequence[Prediction], record: RunRecord) -> Path:
    """Write predictions with their record; return their place: a broken run replaces no answers of an earlier one."""
    rows = [row_of(prediction) for prediction in predictions]
    broken = record.probe is None and all(prediction.status != "ok" for prediction in predictions)
    if broken and path.is_file() and _holds_answers(path):
        write_records(failed_path(path), rows)
        return failed_path(path)
    for of_an_older_run in (record_path(path), failed_path(path)):
        of_an_older_run.unlink(missing_ok=True)  # it must not be next to this run's predictions
    write_records(path, rows)
    write_json(record_path(path), replace(record, predictions_sha256=file_sha256(path)))
    return path


def _holds_answers(predictions: Path) -> bool:
    try:
        values = [value for _, value in read_values(predictions)]
    except DataError:  # still the result of work
        return True
    return any(not isinstance(value, dict) or value.get("status", "ok") == "ok" for value in values)


def _tell_changes(folder: Path, record: RunRecord, before: Mapping[str, tuple[int, int]]) -> None:
    """Report which of the system's files changed while it ran."""
    after = file_marks(folder)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if changed and system_sha256(folder) != record.system_sha256:
        shown = ", ".join(changed[:_MAX_SHOWN]) + (
            f" and {len(changed) - _MAX_SHOWN} more" if changed[_MAX_SHOWN:] else ""
        )
        what = f"changed during the run: {shown}; so this counts as another system now, and no cache or probe will fit"
        say(str(EduRagError(folder, what, "let it write outside of its folder, such as in that of EDU_RAG_CACHE")))


def _from_cache(
    task: Task, record: RunRecord, manner: Manner, partial: Partial, stack: ExitStack
) -> dict[str, Prediction]:
    """The answers that earlier runs kept, by question id; new answers are kept when the stack is closed."""
    cache = manner.cache
    if cache is None:
        return {}
    caps = to_line(record.caps).decode()
    system = [record.system_sha256, record.settings_sha256, record.surroundings_sha256, caps]
    if manner.vectors_sha256:  # the dataset's id does not cover them, and answers depend on them
        system.append(manner.vectors_sha256)
    ids = {question.question_id: question for question in task.questions}
    keys = {i: key_of(system, record.limits, question, task.pages.get(i, ())) for i, question in ids.items()}
    found = {} if manner.fresh else cache.get({i: key for i, key in keys.items() if i not in partial.done})
    # Answers of an interrupted run may come from another environment: only answers given now are cached.
    resumed = frozenset(partial.done)
    stack.callback(lambda: cache.put(keys, found, [p for i, p in partial.done.items() if i not in resumed]))
    return found


@contextmanager
def open_launcher(submission: Submission, manner: Manner) -> Iterator[Launcher]:
    """The launcher of the system: in the sandbox, or without one if the user chose so.

    Raises SandboxError, and the errors of the system's packages.
    """
    given = _given(manner)
    with ExitStack() as stack:
        packages = _packages(submission, manner, stack)
        if manner.caps is None:
            yield PlainLauncher(submission.folder, given, packages)
            return
        from harness.sandbox.launch import open_sandbox

        network = replace(manner.network, printable=manner.keys.out_of_name)
        boxed = open_sandbox(
            submission.folder,
            given,
            manner.caps,
            hidden=manner.hidden,
            packages=packages,
            network=network,
            vectors=manner.vectors,
        )
        yield stack.enter_context(boxed)


def _packages(submission: Submission, manner: Manner, stack: ExitStack) -> PackageEnvironment | None:
    """The environment of a system's own packages, until the stack is closed."""
    requirements = requirements_of(submission)
    if requirements is None:
        return None
    answers = cache_path()
    return stack.enter_context(environment_of(requirements, answers and answers.parent, fetch=manner.fetch))


def runner_of(submission: Submission, limits: Limits, manner: Manner, log: SystemLog, launcher: Launcher) -> Runner:
    """What asks a submission's command, in processes of the launcher, under a new random id each time."""
    command = submission.settings.command
    cpu_limit_s = None if manner.caps is None else manner.caps.cpu_limit_s(limits.time_s)
    keys = manner.keys
    return Runner(lambda: ChildSystem(launcher, command, log, cpu_limit_s, keys), limits, manner.new_id, keys)


def _ask(
    submission: Submission,
    task: Task,
    limits: Limits,
    manner: Manner,
    partial: Partial,
    cached: Mapping[str, Prediction],
    log: SystemLog,
    launcher: Launcher,
) -> list[Prediction]:
    """Ask the questions that are neither answered nor cached; return the predictions of those that were never asked."""
    name = " ".join([submission.slug, *partial.path.name.removesuffix(".jsonl.partial").split(".")[1:]])
    with ExitStack() as stack:
        runner = runner_of(submission, limits, manner, log, launcher)
        stack.callback(runner.close, 5.0)
        stage = stack.enter_context(Stage(f"run {name}", len(task.questions), bad="failed"))
        for kept in (partial.done, cached):
            for prediction in kept.values():
                stage.add(_outcome(prediction))
        if partial.done:
            say(f"{len(partial.done):,} answers of an interrupted run are kept; --fresh asks all again")
        if cached:
            say(f"{len(cached):,} answers of earlier runs of this system are used again; --no-cache asks all")
        never_asked = _ask_all(task, manner.seed, runner, partial, cached, stage)
        if never_asked:
            stage.add("not asked", len(never_asked))
    return never_asked


def _ask_all(
    task: Task, seed: int, runner: Runner, partial: Partial, cached: Mapping[str, Prediction], stage: Stage
) -> list[Prediction]:
    ordered = asking_order(task.questions, seed)
    todo = iter([q for q in ordered if q.question_id not in partial.done and q.question_id not in cached])
    for question in todo:
        prediction = runner.predict(question, task.pages.get(question.question_id, ()))
        partial.add(prediction)
        stage.add(_outcome(prediction))
        if runner.given_up:
            return list(_rest_failed(todo))
    return []


def _rest_failed(questions: Iterator[Question]) -> Iterator[Prediction]:
    reason = f"not asked: {MAX_BARREN_STARTS} processes in a row ended without an answer"
    for question in questions:
        yield Prediction(question_id=question.question_id, answer=None, status="crash", response=reason)


def _outcome(prediction: Prediction) -> str:
    return "done" if prediction.status == "ok" else prediction.status


def _why(prediction: Prediction, log: SystemLog) -> str:
    """Why a question failed: the fault, and the last line that the system wrote on stderr, if it says more."""
    reason, last = prediction.response or prediction.status, log.last_line()
    # The last words of a process that ended by itself are already reported.
    return reason[:600] if last in reason or prediction.status == "crash" else f"{reason[:300]}: {last[:300]}"


def _tell(
    folder: Path, answered: Sequence[Prediction], n_never_asked: int, log: SystemLog, kept: str, *, boxed: bool
) -> None:
    """Report failures and the place of their reasons. Raises SubmissionError if nothing was answered.

    `answered` ends with this run's questions, in order of asking; `kept` names a file that was not replaced. An empty
    log is not named.
    """
    failed = [prediction for prediction in answered if prediction.status != "ok"]
    more = [f"the system's log is {log.path}"] if log.last_line() else []
    if answered and len(failed) == len(answered):
        why = _why(answered[0], log)
        remedy = "; ".join(filter(None, [hint_for(why, boxed=boxed), *more, kept]))
        raise NothingAnsweredError(folder, f"not a single question was answered: {why}", remedy)
    if n_never_asked:
        why = _why(answered[-1], log)
        left = f"the {n_never_asked:,} questions left count as failed"
        remedy = "; ".join(filter(None, [hint_for(why, boxed=boxed), left]))
        say(str(EduRagError(log.path if more else folder, f"the system is broken: {why}", remedy)))
    elif failed:
        hint = hint_for(_why(failed[-1], log), boxed=boxed)
        said = [f"{len(failed):,} failed: `response` in the predictions says why", hint, *more]
        say("; ".join(filter(None, said)))
