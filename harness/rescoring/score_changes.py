"""The changes that scoring everything again has made, and their reasons, as data and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from edu_rag.errors import EduRagError
from edu_rag.files.jsonl import to_line
from edu_rag.scorecard.card import ScoreCard
from harness.exam.exam import Exam

RECORD = "rescoring.json"
FORMAT = "edu-rag-rescoring-v1"
NEW = "new"
_BESIDE = frozenset({"system files changed", "re-run changed", "caps changed", "cost changed"})
"""Causes that no score depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """A result that is new or differs from the one before; `question_ids` are those whose outcome changed.

    `before` and `question_ids` are None if there was no earlier result, or if it was on other questions.
    """

    system: str
    dataset: str
    split: str
    sample: str | None
    causes: tuple[str, ...]
    before: float | None
    after: float
    question_ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A result that was left as it was, and why."""

    scorecard: str
    dataset: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescoring:
    """The result of scoring again. `n_unchanged` results are the same to the last byte.

    `renewed` were written again, but only fields next to the score differ: the source of trust, and the caps.
    """

    datasets: tuple[str, ...]
    n_unchanged: int
    moves: tuple[ScoreChange, ...]
    renewed: tuple[ScoreChange, ...] = ()
    kept: tuple[Kept, ...] = ()
    faults: tuple[EduRagError, ...] = ()


def _as_read_back(card: ScoreCard) -> dict[str, Any]:
    """A result as its file gives it back, without its time: a pair that was a tuple here is a list there."""
    values: dict[str, Any] = msgspec.json.decode(to_line(replace(card, scored_at="")))
    return values


def causes_of(before: ScoreCard, after: ScoreCard) -> tuple[str, ...]:
    """Why two results of one system differ, most telling cause first; empty if nothing differs but the time."""
    was, now = _as_read_back(before), _as_read_back(after)
    if was == now:
        return ()
    prints = {name: before.exam.get(name) != after.exam.get(name) for name in ("questions", "gold", "support")}
    telling = {
        "predictions changed": before.predictions_sha256 != after.predictions_sha256,
        "questions changed": bool(before.exam) and prints["questions"],
        "gold changed": bool(before.exam) and prints["gold"],
        "dataset changed": not before.exam and before.dataset != after.dataset,
        "answers rule changed": before.answers_rule != after.answers_rule,
        "judge changed": was["judges"] != now["judges"],
        "evidence or slices only": bool(before.exam) and prints["support"] and before.outcomes == after.outcomes,
        "evidence or slices changed": bool(before.exam) and prints["support"] and before.outcomes != after.outcomes,
        "harness version": before.harness != after.harness,
        "declared overlap changed": before.overlap != after.overlap,
        "declared facts changed": before.system != after.system,
        "probes changed": was["probes"] != now["probes"],
        "carried to another version": before.made_on != after.made_on,
        "system files changed": before.system_sha256 != after.system_sha256,
        "re-run changed": was["rerun"] != now["rerun"],
        "caps changed": was["caps"] != now["caps"],
        "cost changed": was["cost"] != now["cost"],
    }
    found = tuple(cause for cause, holds in telling.items() if holds)
    return found or ("harness changed within its version",)


def _flipped(before: ScoreCard, after: ScoreCard, exam: Exam) -> tuple[str, ...] | None:
    same = before.exam.get("ids") == after.exam["ids"] or (not before.exam and before.counts.n == after.counts.n)
    if not same:
        return None
    both = zip(exam.questions, before.outcomes, after.outcomes, strict=True)
    return tuple(question.question_id for question, was, now in both if was != now)


def move_of(before: ScoreCard | None, after: ScoreCard, exam: Exam) -> ScoreChange | None:
    """The change between two results of one system; None if nothing changed."""
    causes = (NEW,) if before is None else causes_of(before, after)
    if not causes:
        return None
    return ScoreChange(
        system=after.system.slug,
        dataset=after.dataset,
        split=after.split,
        sample=after.sample,
        causes=causes,
        before=None if before is None else before.counts.score,
        after=after.counts.score,
        question_ids=None if before is None else _flipped(before, after, exam),
    )


def beside_the_score(move: ScoreChange) -> bool:
    """Whether only fields next to the score differ, which is not a change of it."""
    return move.before == move.after and not move.question_ids and _BESIDE.issuperset(move.causes)


def rescoring_values(rescoring: Rescoring) -> dict[str, Any]:
    """The content of rescoring.json."""
    from edu_rag.files.typed import to_plain

    lists = {
        name: [to_plain(one) for one in getattr(rescoring, name)] for name in ("datasets", "moves", "renewed", "kept")
    }
    faults = [str(fault) for fault in rescoring.faults]
    return {"format": FORMAT, "n_unchanged": rescoring.n_unchanged, **lists, "faults": faults}


def rescoring_lines(rescoring: Rescoring, limit: int = 10) -> Iterator[str]:
    """The changes and their reasons, for a terminal; at most `limit` question ids a result."""
    for move in rescoring.moves:
        asked = f"{move.split}, {move.sample}" if move.sample else move.split
        was = "" if move.before is None else f"{100 * move.before:+.2f} % -> "
        yield f"{move.system} on {move.dataset}, {asked}: {was}{100 * move.after:+.2f} % ({', '.join(move.causes)})"
        if move.question_ids:
            more = f" … and {len(move.question_ids) - limit:,} more" if len(move.question_ids) > limit else ""
            yield f"  {len(move.question_ids):,} outcome(s) changed: {', '.join(move.question_ids[:limit])}{more}"
    renewed = f"{len(rescoring.renewed):,} with the same score written again, " if rescoring.renewed else ""
    n_moved, n_kept = len(rescoring.moves), len(rescoring.kept)
    yield f"{n_moved:,} result(s) moved, {renewed}{rescoring.n_unchanged:,} unchanged, {n_kept:,} kept"
    causes = Counter(cause for move in rescoring.renewed for cause in move.causes)
    for cause, n in sorted(causes.items()):
        yield f"  written again:  {cause}: {n:,}"
    for kept in rescoring.kept:
        yield f"  kept {kept.scorecard} ({kept.dataset}): {kept.why}"


def write_record(path: Path, rescoring: Rescoring) -> bool:
    """Write rescoring.json; it is left as it is if nothing moved since and the kept and faulty results are the same."""
    from edu_rag.files.jsonl import read_json, write_json

    values = rescoring_values(rescoring)
    if not (rescoring.moves or rescoring.renewed) and path.is_file():
        try:
            last = read_json(path)
        except EduRagError:
            last = None  # this command writes the file: half a file is no reason to stop
        if isinstance(last, dict) and all(last.get(name) == values[name] for name in ("datasets", "kept", "faults")):
            return False
    write_json(path, values)
    return True
