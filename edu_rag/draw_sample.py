"""Seeded stratified samples of a split: for systems that are too expensive for all of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from edu_rag.errors import ConfigError
from edu_rag.names import Sample
from edu_rag.records import Question


def _draw(seed: int, question_id: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{question_id}".encode()).digest()


def _shares(sizes: Sequence[int], n: int) -> list[int]:
    """Split n in proportion to the sizes by largest remainder; equal remainders go to the earlier stratum."""
    total = sum(sizes)
    shares = [n * size // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (-(n * sizes[i] % total), i))
    for i in by_remainder[: n - sum(shares)]:
        shares[i] += 1
    return shares


def choose(questions: Iterable[Question], sample: Sample, *, by_split: bool = False) -> list[Question]:
    """The questions of a sample in order of id; strata are kind x number of choices, and split if `by_split`.

    Inside a stratum the order is that of sha256(seed, question_id), so it depends on neither files nor platforms.
    Raises ConfigError when the split has fewer questions.
    """
    strata: dict[tuple[str, str, int], list[Question]] = {}
    for question in questions:
        split = question.split if by_split else ""
        strata.setdefault((split, question.kind, len(question.choices)), []).append(question)
    ordered = [strata[key] for key in sorted(strata)]
    total = sum(map(len, ordered))
    if sample.n > total:
        raise ConfigError("--sample", f"{sample.n} is more than the split's {total} questions", "ask for fewer")
    chosen: list[Question] = []
    for stratum, share in zip(ordered, _shares([len(stratum) for stratum in ordered], sample.n), strict=True):
        chosen += sorted(stratum, key=lambda question: _draw(sample.seed, question.question_id))[:share]
    return sorted(chosen, key=lambda question: question.question_id)
