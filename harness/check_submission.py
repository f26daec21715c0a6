"""Check a submission or a predictions file: report all faults at once, and remarks.

What only some submissions need is imported where it is used: a check without a dataset ends in a fifth of a second.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edu_rag.errors import BudgetError, EduRagError, SubmissionError, each_fault
from edu_rag.look.texts import quoted
from edu_rag.names import Sample
from edu_rag.processes.budget import within_budget
from harness.submission.declared_overlap import FILE_NAME as OVERLAP
from harness.submission.declared_overlap import read_overlap
from harness.submission.folder import Submission, all_faults, asked_by_run, behind_link, requirements_of, runs_of
from harness.submission.missing_loop import missing_loop
from harness.submission.plain_files import MAX_ENTRIES, PREDICTIONS, is_leftover, most_bytes, walk
from harness.submission.run_record import require_made_on
from harness.submission.settings_faults import settings_faults
from harness.trust.cautions import may_cite, of_citations, of_files, page_ids, page_lengths

if TYPE_CHECKING:
    from edu_rag.files.dataset import Dataset
    from edu_rag.records import Question

MAX_EXAMPLES = 3
"""How many answers that name no single choice are shown."""
MAX_ANSWER = 80
"""Characters of such an answer that are shown."""
_NUMBER = re.compile(r"[0-9]{1,3}\Z", re.ASCII)
_KINDS = {True: "runnable (`edu-rag run` makes its predictions)", False: "predictions only"}


class SubmissionFindings(NamedTuple):
    """The faults that must be fixed, notes that may explain lost points, and cautions about files and answers."""

    faults: list[EduRagError]
    notes: list[str]
    cautions: Sequence[str] = ()


class AskedQuestions(NamedTuple):
    """The questions that a predictions file answers, and how long the pages are that it may cite."""

    questions: Mapping[str, Question]
    lengths: Callable[[], Mapping[str, int]]


_NO_LENGTHS: Mapping[str, int] = {}


def asked_of(dataset: Dataset, split: str, sample: str | None = None) -> AskedQuestions:
    """The questions of a split, or of a sample of it. The pages are read only when their lengths are needed."""
    from edu_rag.draw_sample import choose

    questions = dataset.questions(split)
    chosen = choose(questions, Sample.parse(sample)) if sample else questions
    return AskedQuestions(
        {question.question_id: question for question in chosen}, cache(lambda: page_lengths(dataset, split))
    )


def _read_answers(path: Path, questions: Mapping[str, Question], lengths: Mapping[str, int]) -> SubmissionFindings:
    """How the answers of a faultless file read, by the rules that score uses; gold is not needed for that."""
    from harness.reading.answers import read_answer
    from harness.submission.predictions_file import read_predictions

    predictions = read_predictions(path, questions)
    kinds: Counter[str] = Counter("no line" for question_id in questions if question_id not in predictions)
    examples: list[str] = []
    n_read = n_numbers = 0
    for question_id, prediction in predictions.items():
        question = questions[question_id]
        if prediction.status != "ok" or prediction.answer is None:
            kinds["failed" if prediction.status != "ok" else "abstained"] += 1
            continue
        if question.kind == "free_text":  # a judge reads these
            kinds["text"] += 1
            continue
        reading = read_answer(prediction.answer, question.choices)
        kinds[reading.kind] += 1
        n_read += 1
        if reading.kind == "unparseable":
            n_numbers += _NUMBER.match(prediction.answer.strip()) is not None
            if len(examples) < MAX_EXAMPLES:
                examples.append(f"  {question_id}: {quoted(prediction.answer, MAX_ANSWER)}: {reading.reason}")
    if kinds["unparseable"] > len(examples):
        examples.append(f"  … and {kinds['unparseable'] - len(examples):,} more")
    counts = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    cited = of_citations(predictions, lengths)
    notes = [f"{path}: {len(predictions):,} of {len(questions):,} questions: {counts}", *examples, *cited]
    return SubmissionFindings([], notes, list(_of_unparseable(path, kinds["unparseable"], n_numbers, n_read)))


def _of_unparseable(path: Path, n: int, n_numbers: int, n_read: int) -> Iterator[str]:
    """A caution where most of the answers that were read name no single choice: the format is at fault, then."""
    if 2 * n <= n_read:
        return
    remedy = "answer with the label alone, such as b"
    if 2 * n_numbers > n:
        remedy = (
            "most are numbers: return list(question.choices)[N] in the system, "
            "or convert a file with `edu-rag import FILE --index-base 0` (or 1)"
        )
    yield f"WARNING: {path}: unparseable {n:,} of {n_read:,}: most answers name no single choice: {remedy}"


def check_predictions(path: Path, asked: AskedQuestions | None) -> SubmissionFindings:
    """Check one predictions file, within the budget for one; only its form if no questions are given."""
    # Pages are read here: the child that reads the stranger's file has no memory for them.
    lengths = asked.lengths() if asked is not None and may_cite(path) else _NO_LENGTHS
    try:
        return within_budget(_check_predictions, path, None if asked is None else asked.questions, lengths, what=path)
    except BudgetError as error:
        return SubmissionFindings([error], [])


def _check_predictions(
    path: Path, questions: Mapping[str, Question] | None, lengths: Mapping[str, int]
) -> SubmissionFindings:
    from harness.submission.predictions_file import faults_in

    faults: list[EduRagError] = list(faults_in(path, questions))
    if faults or questions is None:
        return SubmissionFindings(
            faults, [] if faults else [f"{path}: form is right (--dataset checks ids and answers)"]
        )
    return _read_answers(path, questions, lengths)


def _files(folder: Path, dataset: Dataset | None) -> list[Path]:
    """The predictions files of a submission's folder: all, or those for one dataset."""
    made_for = dataset.manifest.release.folder if dataset else "*"
    return sorted((folder / "predictions").glob(f"{made_for}/*.jsonl"))


def _none_for(submission: Submission, dataset: Dataset) -> SubmissionError:
    there = ", ".join(sorted({path.parent.name for path in _files(submission.folder, None)})) or "none"
    what = f"has no predictions for {dataset.manifest.release.folder} (it has: {there})"
    return SubmissionError(submission.folder, what, "give the dataset that they were made for")


def _asked(dataset: Dataset, stem: str) -> AskedQuestions:
    split, _, sample = stem.partition("-")
    return asked_of(dataset, dataset.only_split(split), sample or None)


def _check_file(path: Path, dataset: Dataset | None, opened: dict[str, AskedQuestions]) -> SubmissionFindings:
    """Check one predictions file of a submission, whose name gives the split and the sample.

    `opened` holds the questions by such names: they are read once, however many files answer them.
    """
    try:
        if dataset is None:
            return check_predictions(path, None)
        require_made_on(path, dataset.manifest)
    except EduRagError as error:  # of the record next to it, which the error names
        return SubmissionFindings([error], [])
    try:
        if path.stem not in opened:
            opened[path.stem] = _asked(dataset, path.stem)
        return check_predictions(path, opened[path.stem])
    except EduRagError as error:
        return SubmissionFindings([SubmissionError(path, error.what, error.remedy)], [])


def _settings_notes(submission: Submission) -> Iterator[str]:
    """Notes on settings that are valid, but that the team should know about."""
    said = submission.settings
    yield f"{submission.folder}: {_KINDS[bool(said.command)]}"
    if not said.accounts:
        yield f"{submission.folder}: accounts = []: no later pull request can add a run to it or withdraw it"
    if said.withdrawn:
        yield f"{submission.folder}: withdrawn, and its row stays: {quoted(said.withdrawn, MAX_ANSWER)}"
    if said.network.hosts:
        names = ", ".join(map(str, said.network.hosts))
        grants = "`edu-rag run --allow-network NAME` grants it, CI never does"
        yield f"{submission.folder}: asks for the network: {names}: {grants}"


def _check_requirements(submission: Submission) -> SubmissionFindings:
    """Check the file of a submission's own packages; whether each has a wheel shows when they are downloaded."""
    try:
        path = requirements_of(submission)
        if path is None:
            return SubmissionFindings([], [])
        from harness.own_packages.requirements_file import read_requirements

        return SubmissionFindings([], [f"{path}: {len(read_requirements(path)):,} package(s), each pinned by hash"])
    except EduRagError as error:
        return SubmissionFindings(each_fault(error), [])


def _check_overlap(folder: Path, dataset: Dataset | None) -> SubmissionFindings:
    """Check the questions that a team declares; ids of another split or version are not faults."""
    if folder.is_symlink():
        return SubmissionFindings([], [])
    try:
        declared = read_overlap(folder)
    except EduRagError as error:
        return SubmissionFindings([error], [])
    if dataset is None or not declared:
        return SubmissionFindings([], [])
    columns = [dataset.columns("questions", split, ["question_id"]) for split in dataset.splits()]
    known = {one for table in columns if table is not None for one in table.column("question_id").to_pylist()}
    notes = [f"{folder / OVERLAP}: {len(declared & known):,} questions of {dataset.id} are declared as seen"]
    unknown = sorted(declared - known)
    if unknown:
        first = ", ".join(unknown[:MAX_EXAMPLES])
        notes.append(f"  {len(unknown):,} are not questions of it; another dataset may have them: {first}")
    return SubmissionFindings([], notes)


def _leftovers(folder: Path) -> Iterator[str]:
    """Files that a run left next to the predictions and that a pull request must not contain."""
    found = [one.last for one in walk(folder, PREDICTIONS) if one.kind == "file" and is_leftover(one.name)]
    if found:
        more = f" and {len(found) - MAX_EXAMPLES:,} more" if len(found) > MAX_EXAMPLES else ""
        yield f"{folder / PREDICTIONS}: leave out of a pull request: {', '.join(sorted(found)[:MAX_EXAMPLES])}{more}"


def _check_run(path: Path, dataset: Dataset | None) -> SubmissionFindings:
    """Check a retrieval run: its name and, if it is for this dataset, its lines and whether it can be scored.

    What is refused here would stop the scoring of all submissions later.
    """
    from edu_rag.scorecard.support import read_support
    from harness.importing.trec_run import MEMORY_BYTES, n_ranked

    try:
        asked = asked_by_run(path)
        if dataset is None or asked.release != dataset.manifest.release:
            return SubmissionFindings([], [f"{path}: a retrieval run; its lines are checked with its dataset"])
        if asked.split not in dataset.splits():
            splits = ", ".join(dataset.splits())
            raise SubmissionError(path, f"the dataset has no split {asked.split!r}", f"it has {splits}")
        known = {question.question_id for question in dataset.questions(asked.split)}
        support = read_support(dataset, asked.split)
        scored = asked_of(dataset, asked.split, asked.sample).questions
        if not any(one in support.evidence or one in support.home_pages for one in scored):
            what = "no page is known to be relevant to these questions"
            raise SubmissionError(path, what, "leave the run out: it cannot be scored")
        n = within_budget(n_ranked, path, known, page_ids(dataset, asked.split), what=path, memory_bytes=MEMORY_BYTES)
    except EduRagError as error:
        return SubmissionFindings(each_fault(error), [])
    return SubmissionFindings([], [f"{path}: a retrieval run with pages for {n:,} of {len(known):,} questions"])


def _is_read(path: Path, folder: Path) -> bool:
    """Whether to read a predictions file: others are faults of the tree already, and reading them may never end."""
    if behind_link(path, folder) or not (path.is_file() or path.is_dir()):
        return False
    return path.is_dir() or path.stat().st_size <= most_bytes(str(path.relative_to(folder)))


def check_submission(
    folder: Path, dataset: Dataset | None, *, here: bool = True, later: Collection[str] = ()
) -> SubmissionFindings:
    """Check a submission folder: its settings, its tree, and its predictions even where the settings have faults.

    `here`: its command is to start on this machine; else a program that only this machine lacks is not a fault.
    `later`: datasets (`name-version`) whose predictions the caller checks next, so that each file is read once.
    """
    submission, faults = all_faults(folder)
    notes: list[str] = []
    files = [] if folder.is_symlink() else _files(folder.absolute(), dataset)
    runs = [] if folder.is_symlink() else runs_of(folder.absolute())
    if submission is not None:
        faults += settings_faults(submission, here=here)
        notes += _settings_notes(submission)
        packages = _check_requirements(submission)
        faults, notes = [*faults, *packages.faults], [*notes, *packages.notes]
        if dataset is not None and not (files or runs or submission.settings.command):
            faults.append(_none_for(submission, dataset))
    files = [path for path in files if path.parent.name not in later]
    files = [path for path in files[:MAX_ENTRIES] if _is_read(path, folder.absolute())]
    opened: dict[str, AskedQuestions] = {}
    cautions = list(of_files([path for path in files if path.is_file()]))
    unserved = missing_loop(submission) if submission is not None and here else None
    cautions += [] if unserved is None else [f"WARNING: {unserved}"]
    for found in [_check_overlap(folder, dataset), *(_check_file(path, dataset, opened) for path in files)]:
        faults += found.faults
        notes += found.notes
        cautions += found.cautions
    for found in [_check_run(path, dataset) for path in runs[:MAX_ENTRIES] if _is_read(path, folder.absolute())]:
        faults += found.faults
        notes += found.notes
    notes += [] if folder.is_symlink() else _leftovers(folder)
    return SubmissionFindings(faults, notes, cautions)
