"""The names that all parts share: slugs, versions, dataset ids, splits, samples, and the places made from them.

Each is parsed here and nowhere else. All of them become names of files and parts of web addresses, so the rules leave
no room for a name that leaves its folder. Parsing raises RecordError, whose `where` is the field that the caller names.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from edu_rag.errors import RecordError

DATASET_NAME = r"[a-z0-9][a-z0-9-]{1,39}"
_NUMBER = r"(?:0|[1-9][0-9]{0,5})"
VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
"""No number begins with 0: two spellings of one version would be two datasets."""
_SPLIT = r"[a-z][a-z0-9_]{0,31}"
_SAMPLE = r"stratified-([1-9][0-9]{0,6})-seed-(0|[1-9][0-9]{0,8})"

_IS_SLUG = re.compile(r"[a-z0-9-]{3,40}\Z")
_IS_DATASET_NAME = re.compile(rf"{DATASET_NAME}\Z")
_IS_SPLIT = re.compile(rf"{_SPLIT}\Z")
_IS_VERSION = re.compile(rf"{VERSION}\Z")
_IS_SAMPLE = re.compile(rf"{_SAMPLE}\Z")
_IS_RELEASE = re.compile(rf"({DATASET_NAME})@({VERSION})\Z")
_IS_DATASET_ID = re.compile(rf"({DATASET_NAME})@({VERSION})#([0-9a-f]{{8}})\Z")
_IS_FOLDER = re.compile(rf"({DATASET_NAME})-({VERSION})\Z")

_MAX_SHOWN = 80
_ZEROS = ", without leading zeros"
MAX_SAMPLE = 9_999_999
Step = Literal["none", "patch", "minor", "major"]


def is_slug(text: str) -> bool:
    """Whether a text can name a submission: 3-40 of a-z, 0-9 and '-'."""
    return _IS_SLUG.match(text) is not None


def is_dataset_name(text: str) -> bool:
    """Whether a text can name a dataset: 2-40 of a-z, 0-9 and '-', and no '-' first."""
    return _IS_DATASET_NAME.match(text) is not None


def is_split(text: str) -> bool:
    """Whether a text can name a split: up to 32 of a-z, 0-9 and '_', a letter first."""
    return _IS_SPLIT.match(text) is not None


def is_release(text: str) -> bool:
    """Whether a text is `name@version`."""
    return _IS_RELEASE.match(text) is not None


def require_slug(text: str, where: str = "slug") -> None:
    """Raise RecordError unless the text can name a submission."""
    if not is_slug(text):
        raise _fault(where, text, "3-40 of a-z, 0-9 and '-'")


def require_split(text: str, where: str = "split") -> None:
    """Raise RecordError unless the text can name a split."""
    if not is_split(text):
        raise _fault(where, text, "a split's name: up to 32 of a-z, 0-9 and '_', a letter first")


def require_dataset_name(text: str, where: str = "name") -> None:
    """Raise RecordError unless the text can name a dataset."""
    if not is_dataset_name(text):
        raise _fault(where, text, "2-40 of a-z, 0-9 and '-'")


def _fault(where: str, text: str, form: str) -> RecordError:
    return RecordError(where, f"{text[:_MAX_SHOWN]!r} is not {form}")


class Version(NamedTuple):
    """MAJOR.MINOR.PATCH: questions or gold; pages, evidence, extraction; metadata alone. Ordered as numbers."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str, where: str = "version") -> Version:
        """Raises RecordError."""
        if not _IS_VERSION.match(text):
            raise _fault(where, text, f"MAJOR.MINOR.PATCH{_ZEROS}")
        major, minor, patch = map(int, text.split("."))
        return cls(major, minor, patch)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def raised(self, step: Step) -> Version:
        """The next version of this step."""
        if step == "major":
            return Version(self.major + 1, 0, 0)
        if step == "minor":
            return Version(self.major, self.minor + 1, 0)
        return Version(self.major, self.minor, self.patch + 1) if step == "patch" else self


class Release(NamedTuple):
    """One version of a dataset, `name@version`, without the hash of its content."""

    name: str
    version: Version

    @classmethod
    def parse(cls, text: str, where: str = "dataset") -> Release:
        """Raises RecordError."""
        match = _IS_RELEASE.match(text)
        if match is None:
            raise _fault(where, text, f"name@version{_ZEROS}")
        return cls(match[1], Version.parse(match[2]))

    @classmethod
    def of_folder(cls, folder: str) -> Release | None:
        """The release that a folder of predictions or results is for; None if it is named after none."""
        match = _IS_FOLDER.match(folder)
        return None if match is None else cls(match[1], Version.parse(match[2]))

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def folder(self) -> str:
        """`name-version`: the folder of its predictions in a submission, and of its results on the board."""
        return f"{self.name}-{self.version}"


class DatasetId(NamedTuple):
    """`name@version#hash8`, the dataset of a scorecard. `hash8` begins the hash of the dataset's rows."""

    name: str
    version: Version
    hash8: str

    @classmethod
    def parse(cls, text: str, where: str = "dataset") -> DatasetId:
        """Raises RecordError."""
        match = _IS_DATASET_ID.match(text)
        if match is None:
            raise _fault(where, text, f"name@version#hash8{_ZEROS}")
        return cls(match[1], Version.parse(match[2]), match[3])

    def __str__(self) -> str:
        return f"{self.name}@{self.version}#{self.hash8}"

    @property
    def release(self) -> Release:
        """The same without the hash."""
        return Release(self.name, self.version)

    @property
    def major(self) -> int:
        """Questions and gold are the same within a major version."""
        return self.version.major


class Sample(NamedTuple):
    """A stratified sample of n questions under a seed: `edu_rag.draw_sample` draws it."""

    n: int
    seed: int

    @classmethod
    def parse(cls, text: str, where: str = "sample") -> Sample:
        """Raises RecordError."""
        match = _IS_SAMPLE.match(text)
        if match is None:
            raise _fault(where, text, f"stratified-N-seed-S{_ZEROS}, N up to {MAX_SAMPLE:,}")
        return cls(int(match[1]), int(match[2]))

    @property
    def name(self) -> str:
        """`stratified-<n>-seed-<seed>`: the sample's name in files and on boards."""
        return f"stratified-{self.n}-seed-{self.seed}"


def is_sample(text: str) -> bool:
    """Whether a text names a sample."""
    return _IS_SAMPLE.match(text) is not None


class QuestionSet(NamedTuple):
    """The questions that a predictions file answers: a split of a release, or a sample of it by name."""

    release: Release
    split: str
    sample: str | None

    @classmethod
    def of_place(cls, place: str) -> QuestionSet | None:
        """The question set of a file at `NAME-VERSION/SPLIT[-SAMPLE].jsonl`; None if the path has another form."""
        folder, _, file = place.partition("/")
        release, table = Release.of_folder(folder), split_and_sample(file.removesuffix(".jsonl"))
        return None if release is None or table is None or not file.endswith(".jsonl") else cls(release, *table)

    @property
    def table(self) -> str:
        """`SPLIT[-SAMPLE]`."""
        return table_name(self.split, self.sample)

    @property
    def place(self) -> str:
        """`NAME-VERSION/SPLIT[-SAMPLE].jsonl`, in a submission's folder of predictions."""
        return f"{self.release.folder}/{self.table}.jsonl"


def table_name(split: str, sample: str | None) -> str:
    """`SPLIT[-SAMPLE]`: the name of a predictions file without its ending, and of a folder of results."""
    return f"{split}-{sample}" if sample else split


def split_and_sample(table: str) -> tuple[str, str | None] | None:
    """The split and the sample that `SPLIT[-SAMPLE]` names; None if that is not its form."""
    split, dash, sample = table.partition("-")
    if not is_split(split) or (dash and not is_sample(sample)):
        return None
    return split, sample if dash else None
