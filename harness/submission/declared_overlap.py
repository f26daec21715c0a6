"""The questions that a team declares its system may have seen (overlap.txt), and their effect on a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edu_rag.errors import SubmissionError
from edu_rag.look.texts import clip
from edu_rag.processes.budget import SMALL_BYTES, within_budget
from harness.submission.folder import behind_link

if TYPE_CHECKING:
    from edu_rag.scorecard.card import ScoreCard
    from edu_rag.statistics.two_parts import Part

FILE_NAME = "overlap.txt"
MAX_BYTES = 1_000_000
MAX_ID = 200
_WIDEST = 200


def read_overlap(folder: Path) -> frozenset[str]:
    """The question ids that a submission declares; none where it has no overlap.txt.

    One id a line; blank lines and lines that begin with `#` are left out. Raises SubmissionError `FILE:LINE: …`.
    """
    path = folder / FILE_NAME
    if not (path.exists() or path.is_symlink()):
        return frozenset()
    if behind_link(path, folder) or not path.is_file():
        raise SubmissionError(path, "is a link or not a regular file", "put the file itself there")
    if path.stat().st_size > SMALL_BYTES:
        return within_budget(_declared_in, path, what=path)
    return _declared_in(path)


def _declared_in(path: Path) -> frozenset[str]:
    found: dict[str, int] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        _require_id(path, number, line)
        if found.setdefault(line, number) != number:
            raise SubmissionError(f"{path}:{number}", f"{line!r} is repeated, first on line {found[line]}", "remove it")
    return frozenset(found)


def _lines(path: Path) -> list[str]:
    with path.open("rb") as stream:  # the size that stat reports may change before it is read
        raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise SubmissionError(path, f"is over {MAX_BYTES:,} bytes", "name ids only, one a line")
    try:
        return [line.removesuffix("\r") for line in raw.decode("utf-8").split("\n")]
    except UnicodeDecodeError as error:
        number = raw[: error.start].count(b"\n") + 1
        raise SubmissionError(f"{path}:{number}", "is not UTF-8", "save it as UTF-8") from None


def _require_id(path: Path, number: int, line: str) -> None:
    if len(line) > MAX_ID or not line.isprintable() or any(char.isspace() for char in line):
        raise SubmissionError(
            f"{path}:{number}", f"{line[:80]!r} is not a question id", "write one id a line, no spaces"
        )


def marks(declared: frozenset[str], question_ids: Sequence[str]) -> str:
    """A '1' for each question that is declared, in order; empty if none of these questions is."""
    found = "".join("1" if question_id in declared else "0" for question_id in question_ids)
    return found if "1" in found else ""


def overlap_lines(card: ScoreCard) -> Iterator[str]:
    """A result's declared overlap, and the score with and without it, for a terminal."""
    if card.overlap:
        yield from _split_lines(card)
    elif card.system.tqa_overlap.strip():
        yield f"overlap with TQA, in the words of its team: {clip(_declared(card), _WIDEST)}"


def _declared(card: ScoreCard) -> str:
    return " ".join(card.system.tqa_overlap.split())


def _split_lines(card: ScoreCard) -> Iterator[str]:
    from edu_rag.statistics.two_parts import is_lower, part_of

    declared, rest = (part_of(card.outcomes, card.lessons, card.overlap, mark) for mark in "10")
    if declared is not None:
        yield f"declared as possibly seen: {declared.n:,} of {card.counts.n:,}{_score_on(declared)}"
    if rest is not None:
        yield f"  on the other {rest.n:,}{_score_on(rest)}"
    if is_lower(declared, rest):
        yield "  the declared part scores lower, by more than luck: not what having seen a question does"


def _score_on(part: Part) -> str:
    low, high = part.interval
    return f": score {100 * part.score:+.2f} %   95 % interval {100 * low:+.2f} … {100 * high:+.2f} %"


def subset(card: ScoreCard, mark: str) -> tuple[str, tuple[int, ...]]:
    """Outcomes and lessons of the questions that are declared ('1') or clean ('0'), in their order."""
    from edu_rag.statistics.two_parts import kept

    return kept(card.outcomes, card.lessons, card.overlap, mark)
