"""Splits whose gold is not public: nothing of their results is published that reveals the gold of a single question.

A rule is `SPLIT`, for every dataset, or `NAME/SPLIT`, for all versions of one: versions share their questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from builder.publishing.entries import ResultEntry
from edu_rag.errors import ConfigError
from edu_rag.files.board_file import BoardFile


def is_hidden(entry: ResultEntry, rules: Collection[str]) -> bool:
    """Whether one of the rules hides a scorecard's split."""
    return entry.split in rules or f"{entry.dataset_id.name}/{entry.split}" in rules


def rules_of(board: BoardFile | None) -> tuple[str, ...]:
    """The rules that follow from the board's file: its datasets with `hidden_gold`."""
    datasets = board.datasets if board is not None else ()
    return tuple(sorted({f"{one.name}/{one.split}" for one in datasets if one.hidden_gold}))


def refuse_unknown(rules: Sequence[str], entries: Iterable[ResultEntry]) -> None:
    """Raise ConfigError for a rule that hides nothing: a split that is misspelt would go out with all its outcomes."""
    known = {place for entry in entries for place in (entry.split, f"{entry.dataset_id.name}/{entry.split}")}
    unknown = sorted(set(rules) - known)
    if unknown:
        splits = ", ".join(sorted(known))
        raise ConfigError("--hidden", f"no split {unknown[0][:80]!r} in the results", f"choose from {splits}")


def refuse_revealing(before: Collection[str], now: Collection[str], entries: Iterable[ResultEntry]) -> None:
    """Raise ConfigError for results that were hidden until now and would be published with their outcomes.

    Publishing cannot be undone, and --hidden is easily forgotten. `now` includes results that are revealed on purpose.
    """
    shown = sorted(
        {f"{e.dataset_id.name}/{e.split}" for e in entries if is_hidden(e, before) and not is_hidden(e, now)}
    )
    if shown:
        what = f"{shown[0]!r} has been hidden until now, and would be published with its outcomes"
        raise ConfigError("--hidden", what, f"add --hidden {shown[0]}, or --reveal {shown[0]} if its gold is public")
