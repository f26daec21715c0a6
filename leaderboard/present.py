"""From groups of results to what a page says: rows with ranks, bars, badges, and the sentences around a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from edu_rag.look.bars import IntervalBar, Part, interval_bar, outcome_parts
from edu_rag.look.links import first_link
from edu_rag.results import Counts, Slice
from leaderboard.collect import Group, Result, TableKey
from leaderboard.rank import Rank, detectable_sentence, rank

FEW_VALUES = 12
"""An attribute with more values than this is folded away on a system's page."""
MAX_LATENCY_S = 1e6

_STRATIFIED = re.compile(r"stratified-(\d{1,9})-seed-(\d{1,9})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """One slice of a system with its bar."""

    slice: Slice
    bar: IntervalBar
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceGroup:
    """Slices of one table: of the many-valued `attribute`, or of all few-valued ones where it is None."""

    attribute: str | None
    rows: Sequence[SliceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One system of a table. `page`, `scorecard` and `predictions` are paths inside the site."""

    result: Result
    rank: Rank
    bar: IntervalBar
    parts: Sequence[Part]
    older: bool
    page: str
    scorecard: str
    predictions: str | None
    link: str | None
    median_latency_s: float | None
    latency_measured: bool
    slice_groups: Sequence[SliceGroup]
    earlier: Sequence[Result]

    @property
    def name(self) -> str:
        """The declared name, or the slug where it is blank."""
        return self.result.card.system.name.strip() or self.result.card.system.slug

    @property
    def counts(self) -> Counts:
        """The five outcomes."""
        return self.result.card.counts

    @property
    def interval(self) -> tuple[float, float] | None:
        """The score's 95 % interval, where the scorecard has one."""
        return self.result.card.intervals.get("score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the board."""

    key: TableKey
    dataset_ids: Sequence[str]
    n: int
    sample_text: str
    rows: Sequence[Row]
    detectable: str

    @property
    def blind(self) -> list[Row]:
        """The rows of systems that never look at the pages."""
        return [row for row in self.rows if row.result.card.system.blind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All tables, and what the footer says."""

    tables: Sequence[Table]
    dataset_ids: Sequence[str]
    harnesses: Sequence[str]
    built_at: datetime | None


def sample_text(key: TableKey, n: int) -> str:
    """What part of the split was asked, in words."""
    questions = f"{n:,} question{'' if n == 1 else 's'}"
    if key.sample is None:
        return f"the whole split, {questions}"
    match = _STRATIFIED.match(key.sample)
    if match is None:
        return f"the sample “{key.sample}”, {questions}"
    return (
        f"a sample of {questions}, drawn from the questions alone: stratified by kind and number of choices, "
        f"seed {match.group(2)}"
    )


def latency_of(cost: Mapping[str, Any]) -> tuple[float | None, bool]:
    """Median seconds a question, and whether the harness measured them itself (else they are declared)."""
    latency = cost.get("latency_s")
    value = latency.get("median") if isinstance(latency, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_LATENCY_S:
        return None, False
    return float(value), latency.get("source") == "measured" if isinstance(latency, Mapping) else False


def _slice_row(part: Slice) -> SliceRow:
    return SliceRow(slice=part, bar=interval_bar(part.counts.score, None), parts=outcome_parts(part.counts))


def _slices(slices: Sequence[Slice]) -> list[SliceGroup]:
    """Few-valued attributes together in one group; each many-valued one, such as lesson, in a group of its own."""
    shown = [part for part in slices if part.counts.n]
    sizes = Counter(part.attribute for part in shown)
    few = [_slice_row(part) for part in shown if sizes[part.attribute] <= FEW_VALUES]
    groups = [SliceGroup(attribute=None, rows=few)] if few else []
    many = sorted(name for name, size in sizes.items() if size > FEW_VALUES)
    for name in many:
        rows = [_slice_row(part) for part in shown if part.attribute == name]
        groups.append(SliceGroup(attribute=name, rows=rows))
    return groups


def _row(result: Result, place: Rank, group: Group, newest: tuple[int, int, int]) -> Row:
    card, table, slug = result.card, group.key.id, result.card.system.slug
    data = f"data/{table}/{slug}"
    latency, measured = latency_of(card.cost)
    return Row(
        result=result,
        rank=place,
        bar=interval_bar(card.counts.score, card.intervals.get("score")),
        parts=outcome_parts(card.counts),
        older=result.dataset.version != newest or bool(card.made_on),
        page=f"systems/{table}/{slug}.html",
        scorecard=f"{data}/scorecard.json",
        predictions=f"{data}/predictions.jsonl" if result.predictions is not None else None,
        link=first_link(card.system.links),
        median_latency_s=latency,
        latency_measured=measured,
        slice_groups=_slices(card.slices),
        earlier=sorted(
            (other for other in group.earlier if other.card.system.slug == slug), key=lambda r: r.age, reverse=True
        ),
    )


def _table(group: Group) -> Table:
    cards = [result.card for result in group.results]
    newest = max(result.dataset.version for result in group.results)
    ids = sorted({(result.dataset, result.card.dataset) for result in group.results}, reverse=True)
    return Table(
        key=group.key,
        dataset_ids=[text for _, text in ids],
        n=group.n,
        sample_text=sample_text(group.key, group.n),
        rows=[_row(r, place, group, newest) for r, place in zip(group.results, rank(cards), strict=True)],
        detectable=detectable_sentence(cards),
    )


def present(groups: Sequence[Group]) -> Board:
    """Everything the pages and files of a site say. Its time is that of the newest scorecard, not the clock's."""
    results = [result for group in groups for result in group.results]
    times = [result.scored_at for result in results if result.scored_at is not None]
    return Board(
        tables=[_table(group) for group in groups],
        dataset_ids=sorted({result.card.dataset for result in results}),
        harnesses=sorted({result.card.harness for result in results}),
        built_at=max(times, default=None),
    )
