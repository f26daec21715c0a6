"""Datasets opened for the site: the questions of a public split with their pages and evidence, never its gold.

Also the paths of their pages in the site.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.names import Sample
from edu_rag.records import Evidence, Question, SearchHit
from edu_rag.scorecard.support import Support, read_support
from leaderboard.board.private_gold import hidden_splits


@dataclass(frozen=True)
class SiteExam:
    """One split of one dataset folder, read when first asked for."""

    dataset: Dataset
    split: str

    @property
    def key(self) -> tuple[str, int, str]:
        """Dataset name, major version, split: what a table of the board shares with it."""
        manifest = self.dataset.manifest
        return manifest.name, int(manifest.version.split(".")[0]), self.split

    @cached_property
    def questions(self) -> list[Question]:
        """In the order of ids, which is the order of a scorecard's outcomes."""
        return self.dataset.questions(self.split)

    @cached_property
    def hits(self) -> dict[str, list[SearchHit]]:
        """By question id, each list ordered by rank."""
        return self.dataset.hits(self.split)

    @cached_property
    def evidence(self) -> dict[str, list[Evidence]]:
        """By question id."""
        return self.dataset.evidence(self.split)

    @cached_property
    def support(self) -> Support:
        """Which questions have pages, evidence and leaks."""
        return read_support(self.dataset, self.split)

    def ids(self, sample: str | None) -> list[str]:
        """The question ids of a table, in the order of its outcomes. Raises ConfigError if the split is smaller."""
        chosen = self.questions if sample is None else choose(self.questions, Sample.parse(sample))
        return [question.question_id for question in chosen]


def ids_sha256(ids: Sequence[str]) -> str:
    """The fingerprint of question ids in their order, as `exam["ids"]` of a scorecard holds it."""
    return hashlib.sha256(msgspec.json.encode(list(ids))).hexdigest()


def open_exams(folders: Sequence[Path]) -> dict[tuple[str, int, str], SiteExam]:
    """Every split of these dataset folders but the hidden ones.

    Raises DataError, and ConfigError where two folders hold one split.
    """
    hidden = hidden_splits(folders)
    found: dict[tuple[str, int, str], SiteExam] = {}
    for folder in folders:
        dataset = Dataset(folder)
        splits = dataset.splits()
        if not splits:
            raise DataError(folder, "has no questions", "give a dataset folder that `edu-rag build` wrote")
        for split in splits:
            if (dataset.manifest.name, split) in hidden:
                continue
            exam = SiteExam(dataset, split)
            other = found.setdefault(exam.key, exam)
            if other is not exam:
                raise ConfigError(
                    folder, f"holds the same split as {other.dataset.folder}", "give one version of each dataset"
                )
    return found


def folder_of(exam: SiteExam) -> str:
    """The folder of an exam's pages; a split's name holds no '-', so that no two exams share a folder."""
    name, major, split = exam.key
    return f"questions/{name}-v{major}-{split}"


def explorer_of(exam: SiteExam) -> str:
    """The page of an exam's explorer."""
    return f"{folder_of(exam)}/index.html"
