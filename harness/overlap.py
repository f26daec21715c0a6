"""The questions that a team declares its system may have seen: overlap.txt, and what it does to a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from edu_rag.errors import SubmissionError
from edu_rag.look.texts import clip
from edu_rag.results import ScoreCard
from harness.submission import behind_link

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
        raise SubmissionError(path, "is a link or no regular file", "put the file itself there")
    found: dict[str, int] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        _require_id(path, number, line)
        if found.setdefault(line, number) != number:
            raise SubmissionError(f"{path}:{number}", f"{line!r} is repeated, first on line {found[line]}", "remove it")
    return frozenset(found)


def _lines(path: Path) -> list[str]:
    with path.open("rb") as stream:  # the size that stat tells may be another one when it is read
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
        raise SubmissionError(f"{path}:{number}", f"{line[:80]!r} is no question id", "write one id a line, no spaces")


def marks(declared: frozenset[str], question_ids: Sequence[str]) -> str:
    """A '1' for each question that is declared, in order; empty where none of these questions is."""
    found = "".join("1" if question_id in declared else "0" for question_id in question_ids)
    return found if "1" in found else ""


def overlap_lines(card: ScoreCard) -> Iterator[str]:
    """What a result says of declared overlap, and the score with and without it, for a terminal."""
    if card.overlap:
        yield from _split_lines(card)
    elif card.system.tqa_overlap.strip():
        yield f"overlap with TQA, in the words of its team: {clip(_declared(card), _WIDEST)}"


def _declared(card: ScoreCard) -> str:
    return " ".join(card.system.tqa_overlap.split())


def _split_lines(card: ScoreCard) -> Iterator[str]:
    n, n_declared = card.counts.n, card.overlap.count("1")
    yield f"declared as possibly seen: {n_declared:,} of {n:,}{_score_on(card, '1')}"
    if n_declared < n:
        yield f"  on the other {n - n_declared:,}{_score_on(card, '0')}"


def _score_on(card: ScoreCard, mark: str) -> str:
    from edu_rag.statistics import rate_intervals

    outcomes, lessons = subset(card, mark)
    (low, high), score = rate_intervals(outcomes, lessons)[0]["score"], outcomes.count("c") - outcomes.count("i")
    return f": score {100 * score / len(outcomes):+.2f} %   95 % interval {100 * low:+.2f} … {100 * high:+.2f} %"


def subset(card: ScoreCard, mark: str) -> tuple[str, tuple[int, ...]]:
    """Outcomes and lessons of the questions that are declared ('1') or clean ('0'), in their order."""
    kept = [i for i, found in enumerate(card.overlap) if found == mark]
    outcomes = "".join(card.outcomes[i] for i in kept)
    return outcomes, tuple(card.lessons[i] for i in kept) if card.lessons else ()
