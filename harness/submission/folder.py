"""A submission folder: submission.toml with the lines of its settings, plain files, and places of predictions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta

from edu_rag.errors import ConfigError, EduRagError, FaultsError, RecordError, RecordFaultsError, SubmissionError
from edu_rag.files.toml import read_toml
from edu_rag.look.lookalikes import is_seen, is_stacked
from edu_rag.names import QuestionSet, Sample, is_slug, split_and_sample, table_name
from harness.named_network.named_host import NamedHost
from harness.submission.plain_files import MAX_SETTINGS_BYTES, tree_faults
from harness.submission.slugs import suggested

if TYPE_CHECKING:
    from edu_rag.scorecard.card import SystemFacts

_SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")
_MAX_BYTES = 1_000_000
_WITHDRAWN = re.compile(
    rb"""^[ \t]*withdrawn[ \t]*=[ \t]*(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'[^'\r\n]*')[ \t]*(?:\r?\n|\Z)""", re.MULTILINE
)


def lines_of(path: Path) -> Mapping[str, int]:
    """The line of each setting of a TOML file by its dotted name; empty if the file cannot be read.

    Inline tables and texts of several lines are not searched: their parts have no line.
    """
    try:
        with path.open("rb") as stream:
            return _lines_in(stream.read(_MAX_BYTES))
    except OSError:
        return {}


@lru_cache(maxsize=4)
def _lines_in(raw: bytes) -> Mapping[str, int]:
    # Remembered: fifty faults of one file would go through its lines fifty times.
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        if (found := _SECTION.match(line)) is not None:
            section = f"{found[1]}."
            lines.setdefault(found[1], number)
        elif (found := _KEY.match(line)) is not None:
            lines.setdefault(section + found[1], number)
    return lines


def setting_fault(path: Path, setting: str, what: str, remedy: str) -> ConfigError:
    """A fault of one setting, as `FILE:LINE: setting`, or `FILE: setting` where no line has it."""
    line = lines_of(path).get(setting)
    return ConfigError(f"{path}: {setting}" if line is None else f"{path}:{line}: {setting}", what, remedy)


def with_line(path: Path, fault: EduRagError) -> EduRagError:
    """A fault of `FILE: setting` with the line of the setting; any other fault unchanged."""
    start, _, setting = fault.where.partition(f"{path}: ")
    return fault if start or not setting else setting_fault(path, setting, fault.what, fault.remedy)


def without_withdrawal(settings: bytes) -> bytes:
    """The bytes of a submission.toml without its line `withdrawn = "…"`, the one that may be added to it later.

    It must hold nothing else: no comment, and no text of several lines.
    """
    return _WITHDRAWN.sub(b"", settings, count=1)


FILE_NAME = "submission.toml"
# Characters at most, since the board shows these texts. A limit that is part of the type is checked field
# by field, so that all faults of a file are reported at once.
Name = Annotated[str, Meta(min_length=1, max_length=80)]
Line = Annotated[str, Meta(max_length=200)]
Paragraph = Annotated[str, Meta(max_length=2_000)]
Listed = Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=50)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds a system may take: `time_s` for a question, `start_s` from its start to its first answer."""

    time_s: float = 60.0
    start_s: float = 300.0

    def __post_init__(self) -> None:
        for name in ("time_s", "start_s"):
            if not 0 < getattr(self, name) <= 86_400:
                raise RecordError(name, f"{getattr(self, name)} is not between 0 and 86,400 seconds")


_REQUIREMENTS = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,99}/){0,8}[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\Z")
MAX_HOSTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPackages:
    """Section [environment]: `requirements` is a file of the submission with pinned packages, '' for none."""

    requirements: Line = ""

    def __post_init__(self) -> None:
        if self.requirements and not _REQUIREMENTS.match(self.requirements):
            what = f"{self.requirements[:80]!a} is not a file's path inside the submission"
            raise RecordError("requirements", what, 'write "requirements.txt"')


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedNetwork:
    """Section [network]: `allow` names the hosts that the system needs; who runs it grants them, or does not."""

    allow: Annotated[tuple[Line, ...], Meta(max_length=MAX_HOSTS)] = ()

    def __post_init__(self) -> None:
        faults = []
        for text in self.allow:
            try:
                NamedHost.parse(text)
            except RecordError as error:
                faults.append(error)
        if faults:
            raise RecordFaultsError(faults)

    @property
    def hosts(self) -> tuple[NamedHost, ...]:
        """The names, parsed, each once and in order."""
        return tuple(sorted({NamedHost.parse(text) for text in self.allow}))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionFile:
    """The content of submission.toml. Invariants: name and team are visible text; every text is one short paragraph.

    `parts` is the recipe of a system that is made of baselines' parts: for them to read, not for the harness.
    """

    name: Name
    team: Name
    contact: Line = ""
    description: Paragraph = ""
    links: Listed = ()
    licence: Line = ""
    models: Listed = ()
    outside_knowledge: Paragraph = ""
    tqa_overlap: Paragraph = ""
    accounts: Listed = ()
    withdrawn: Paragraph = ""
    blind: bool = False
    command: tuple[str, ...] = ()
    parts: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    environment: OwnPackages = field(default_factory=OwnPackages)
    network: WantedNetwork = field(default_factory=WantedNetwork)

    def __post_init__(self) -> None:
        for name in ("name", "team"):
            value = getattr(self, name)
            if not (is_seen(value) and value.isprintable()):
                raise RecordError(name, "is blank or cannot be printed")
            if is_stacked(value):
                raise RecordError(name, "piles up marks on a letter", "write it as one would in print")
        for link in self.links:
            if not link.startswith(("https://", "http://")):
                raise RecordError("links", f"{link[:80]!r} is not an http(s) address")
        if any("\0" in word or not word for word in self.command):
            raise RecordError("command", "holds an empty word or a NUL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A submission folder that was opened: its slug, place and settings."""

    slug: str
    folder: Path
    settings: SubmissionFile

    @property
    def facts(self) -> SystemFacts:
        """The system's facts for the scorecard."""
        from edu_rag.scorecard.card import SystemFacts  # takes 10 ms, and few commands make a scorecard

        said = self.settings
        return SystemFacts(
            slug=self.slug,
            name=said.name,
            team=said.team,
            description=said.description,
            contact=said.contact,
            links=said.links,
            licence=said.licence,
            models=said.models,
            outside_knowledge=said.outside_knowledge,
            tqa_overlap=said.tqa_overlap,
            runnable=bool(said.command),
            blind=said.blind,
            withdrawn=said.withdrawn,
            asks_network=tuple(map(str, said.network.hosts)) or UNSET,
        )

    def predictions_path(self, dataset: str, split: str, sample: str | None) -> Path:
        """The path of the predictions for a dataset (`name-version`), split and sample."""
        return self.folder / "predictions" / dataset / f"{table_name(split, sample)}.jsonl"


def open_submission(folder: Path) -> Submission:
    """Open a submission folder. Raises SubmissionError, ConfigError or FaultsError in one line a fault."""
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow the links that we refuse
    if not folder.is_dir() or folder.is_symlink():
        raise SubmissionError(folder, "no such folder", "give a submission folder, such as submissions/my-system")
    if not (folder / FILE_NAME).exists() and any(folder.glob(f"*/{FILE_NAME}")):
        raise SubmissionError(folder, "is a folder of submissions", "name one, or use `edu-rag score --all`")
    if not is_slug(folder.name):
        remedy = f"rename the folder, to {suggested(folder.name)}"
        raise SubmissionError(folder, f"{folder.name!r} is not 3-40 of a-z, 0-9 and '-'", remedy)
    path = folder / FILE_NAME
    if path.is_symlink() or not path.is_file():
        raise SubmissionError(folder, f"has no {FILE_NAME}", "write one with at least name and team")
    return Submission(slug=folder.name, folder=folder, settings=_settings(path))


def _settings(path: Path) -> SubmissionFile:
    """Read submission.toml, faults with their lines; for a command in one text, the fault shows the right form."""
    try:
        return read_toml(path, SubmissionFile, max_bytes=MAX_SETTINGS_BYTES)
    except FaultsError as error:
        command = f"{path}: command"
        remedy = 'give a list of words: command = ["python", "system.py"]'
        faults = [
            ConfigError(fault.where, fault.what, remedy if fault.where == command else fault.remedy)
            for fault in error.faults
        ]
        raise FaultsError([with_line(path, fault) for fault in faults]) from None


def present(submission: Submission) -> list[str]:
    """The predictions files that a submission has, as `<dataset>-<version>/<split>[-<sample>].jsonl`."""
    root = submission.folder / "predictions"
    return sorted(str(path.relative_to(root)) for path in root.glob("*/*.jsonl"))


RUNS = "runs"
"""The folder of a submission's retrieval runs: `runs/NAME-VERSION/SPLIT[-SAMPLE].trec`."""
RUN_ENDING = ".trec"


def runs_of(folder: Path) -> list[Path]:
    """The retrieval runs of a submission's folder, in order of path."""
    return sorted(folder.glob(f"{RUNS}/*/*{RUN_ENDING}"))


def asked_by_run(path: Path) -> QuestionSet:
    """The questions that the place of a submission's run names. Raises SubmissionError if it names none."""
    asked = QuestionSet.of_place(f"{path.absolute().parent.name}/{path.stem}.jsonl")
    if asked is None or path.suffix != RUN_ENDING:
        remedy = f"call it {RUNS}/<dataset>-<version>/<split>[-<sample>]{RUN_ENDING}"
        raise SubmissionError(path, "is not named like a run of a dataset", remedy)
    return asked


def _below(path: Path, folder: Path) -> Iterator[Path]:
    while path != folder:
        yield path
        path = path.parent


def behind_link(path: Path, folder: Path) -> bool:
    """Whether a path inside a folder is a link, or is reached through one."""
    return any(part.is_symlink() for part in _below(path, folder))


def requirements_of(submission: Submission) -> Path | None:
    """The file of a submission's pinned packages; None if it has none. Raises SubmissionError for one behind a link."""
    named = submission.settings.environment.requirements
    if not named:
        return None
    path = submission.folder / named
    if behind_link(path, submission.folder):
        raise SubmissionError(path, "is a link or inside a linked folder", "put the file itself there")
    return path


def partial_path(predictions: Path) -> Path:
    """The file of the answers of an unfinished run."""
    return predictions.with_name(predictions.name + ".partial")


def find_predictions(submission: Submission, dataset: str, split: str, sample: str | None) -> Path:
    """The predictions file for a dataset, split and sample. A full file serves a sample as well.

    Raises SubmissionError naming the files that exist and the one that was wanted.
    """
    wanted = submission.predictions_path(dataset, split, sample)
    for path in (wanted, submission.predictions_path(dataset, split, None)):
        if path.is_file():
            if behind_link(path, submission.folder):
                raise SubmissionError(path, "is a link or inside a linked folder", "put the file itself there")
            return path
    if partial_path(wanted).is_file():
        what = "the run was interrupted, so there are no predictions yet"
        raise SubmissionError(partial_path(wanted), what, "`edu-rag run` goes on where it stopped")
    there = present(submission)
    shown = ", ".join(there[:5]) + (f" and {len(there) - 5} more" if len(there) > 5 else "") or "none"
    what = f"has no predictions {dataset}/{wanted.name} (it has: {shown})"
    raise SubmissionError(submission.folder, what, _to_get(submission, dataset, split, wanted))


def _to_get(submission: Submission, dataset: str, split: str, wanted: Path) -> str:
    """Advice for missing predictions."""
    asked = (sample_in(Path(name)) for name in present(submission) if name.startswith(f"{dataset}/{split}-"))
    found = next((sample for sample in asked if sample is not None), None)
    if found is not None:
        return f"it has predictions for the sample: add --sample {found.n} --seed {found.seed}"
    if submission.settings.command:
        return "run it on this dataset with `edu-rag run`, or give the dataset that it was made for"
    where = wanted.relative_to(submission.folder)
    return f"it has no `command`: put its predictions into {where}, or give the dataset that they were made for"


def sample_in(predictions: Path) -> Sample | None:
    """The sample that a predictions file's name states (`SPLIT-SAMPLE.jsonl`); None if it states none."""
    _, sample = split_and_sample(predictions.stem) or (None, None)
    return Sample.parse(sample) if sample else None


def submission_of(path: Path) -> Submission | None:
    """The submission that contains a predictions file (`SLUG/predictions/DATASET/FILE`), or None."""
    folder = Path(os.path.abspath(path)).parents  # noqa: PTH100 - as above
    if len(folder) < 3 or folder[1].name != "predictions" or not (folder[2] / FILE_NAME).is_file():
        return None
    return open_submission(folder[2])


def all_faults(folder: Path) -> tuple[Submission | None, list[EduRagError]]:
    """A submission, where it can be opened, and everything wrong with its folder and how its settings read."""
    tree: list[EduRagError] = [] if folder.is_symlink() else list(tree_faults(folder))
    try:
        submission = open_submission(folder)
    except FaultsError as error:
        return None, [*error.faults, *tree]
    except EduRagError as error:
        return None, [error, *tree]
    faults = tree
    if not submission.settings.command and not present(submission) and not runs_of(submission.folder):
        what = "has neither a command nor predictions"
        faults.append(SubmissionError(submission.folder, what, "add `command` to submission.toml, or predictions/"))
    return submission, faults
