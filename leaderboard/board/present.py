"""From groups of results to what a page says: rows with ranks, bars, badges, and the sentences around a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from edu_rag.look.bar_geometry import BarPart, IntervalBar, ScoreAxis, axis_of, interval_bar, outcome_parts
from edu_rag.look.texts import date, first_link, percent, seconds, signed
from edu_rag.names import Sample
from edu_rag.scorecard.card import Counts, ScoreCard, Slice
from leaderboard.board.answer_cost import Cost, cost_of, latency_of
from leaderboard.board.badges import Badge, badges_of
from leaderboard.board.collect import FIRST_RULE, Result, ResultGroup, TableKey
from leaderboard.board.overlap_ranks import Clean, clean_of, fewest_clean
from leaderboard.board.rank import BoardRank, detectable_sentence, rank
from leaderboard.board.system_kinds import is_open, kinds_of, models_of
from leaderboard.board.teams import Lookalikes, Tries, tellers, tries_by, tries_of

FEW_VALUES = 12
"""An attribute with more values than this is folded away on a system's page."""
UNKNOWN = "not known"
MAX_RUNS = 100
"""Results of a team that a page lists; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """One slice of a system with its bar."""

    slice: Slice
    bar: IntervalBar
    parts: Sequence[BarPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceGroup:
    """Slices of one table: of the many-valued `attribute`, or of all few-valued attributes."""

    attribute: str | None
    rows: Sequence[SliceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One result of a row's team; `page` is its own page, or its scorecard where a newer result has the page."""

    result: Result
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One system of a table. `page`, `badge`, `scorecard` and `predictions` are paths inside the site."""

    result: Result
    rank: BoardRank
    clean: Clean | None
    badges: Sequence[Badge]
    badge: str
    resembles: Sequence[str]
    n_runs: int
    tells_runs: bool
    n_results: int
    runs: Sequence[Run]
    bar: IntervalBar
    parts: Sequence[BarPart]
    older: bool
    page: str
    scorecard: str
    predictions: str | None
    link: str | None
    median_latency_s: float | None
    latency_measured: bool
    slice_groups: Sequence[SliceGroup]
    earlier: Sequence[Run]

    @property
    def name(self) -> str:
        """The declared name, or the slug where it is blank."""
        return self.result.card.system.name.strip() or self.result.card.system.slug

    @property
    def withdrawn(self) -> bool:
        """Whether its team took it back."""
        return bool(self.result.card.system.withdrawn.strip())

    @property
    def counts(self) -> Counts:
        """The five outcomes."""
        return self.result.card.counts

    @property
    def kinds(self) -> list[str]:
        """Its kinds, of system_kinds.KINDS."""
        return kinds_of(self.result.card.system)

    @property
    def is_open(self) -> bool:
        """Whether it is open, by system_kinds.OPEN_RULE."""
        return is_open(self.result.card.system)

    @property
    def models(self) -> list[str]:
        """The models that its team names, clipped."""
        return models_of(self.result.card.system)

    @property
    def cost(self) -> Cost | None:
        """The cost of a question, if it is known."""
        return cost_of(self.result.card.cost)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The score's 95 % interval, where the scorecard has one."""
        return self.result.card.intervals.get("score")


def _texts(row: Row) -> Mapping[str, str]:
    """What a row shows in the columns that may be hidden."""
    counts, cost = row.counts, row.cost
    return {
        "team": row.result.card.system.team.strip(),
        "accuracy": f"{percent(counts.accuracy)} %",
        "hallucination": f"{percent(counts.hallucination)} %",
        "missing": f"{percent(counts.missing)} %",
        "strict_score": signed(counts.strict_score),
        "n": f"{counts.n:,}",
        "cost": UNKNOWN if cost is None else cost.text,
        "median_latency_s": UNKNOWN if row.median_latency_s is None else f"{seconds(row.median_latency_s)} s",
        "scored_at": date(row.result.scored_at),
    }


def same_columns(rows: Sequence[Row]) -> Mapping[str, str]:
    """The columns in which two rows or more all have the same, each with what they have; nothing that is blank.

    A declared overlap gives a row a second number of questions, so `n` differs there.
    """
    if len(rows) < 2:
        return {}
    texts = [_texts(row) for row in rows]
    same = {name: text for name, text in texts[0].items() if text and all(one[name] == text for one in texts)}
    if any(row.clean for row in rows):
        same.pop("n", None)
    return same


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the board."""

    key: TableKey
    dataset_ids: Sequence[str]
    n: int
    sample_text: str
    rows: Sequence[Row]
    axis: ScoreAxis
    detectable: str

    @property
    def rule(self) -> str:
        """The rules by which answers were read, if they are not the first ones."""
        return "" if self.key.answers_rule == FIRST_RULE else self.key.answers_rule

    @property
    def has_overlap(self) -> bool:
        """Whether a system declares questions that it may have seen."""
        return any(row.clean for row in self.rows)

    @property
    def fewest_clean(self) -> int:
        """The questions that a clean rank needs."""
        return fewest_clean(self.n)

    @property
    def has_withdrawn(self) -> bool:
        """Whether a system was taken back."""
        return any(row.withdrawn for row in self.rows)

    @property
    def has_tries(self) -> bool:
        """Whether a row shows that its team has more than one run."""
        return any(row.tells_runs for row in self.rows)

    @property
    def same(self) -> Mapping[str, str]:
        """The columns in which all rows have the same, with what they have."""
        return same_columns(self.rows)

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
    """The part of the split that was asked, in words."""
    questions = f"{n:,} question{'' if n == 1 else 's'}"
    if key.sample is None:
        return f"the whole split, {questions}"
    return (
        f"a sample of {questions}, drawn from the questions alone: stratified by kind and number of choices, "
        f"seed {Sample.parse(key.sample).seed}"
    )


def _slice_row(part: Slice) -> SliceRow:
    return SliceRow(slice=part, bar=interval_bar(part.counts.score, None), parts=outcome_parts(part.counts))


def _slices(slices: Sequence[Slice]) -> list[SliceGroup]:
    """Few-valued attributes together in one group; each many-valued one, such as lesson, in its own group."""
    shown = [part for part in slices if part.counts.n]
    sizes = Counter(part.attribute for part in shown)
    few = [_slice_row(part) for part in shown if sizes[part.attribute] <= FEW_VALUES]
    groups = [SliceGroup(attribute=None, rows=few)] if few else []
    many = sorted(name for name, size in sizes.items() if size > FEW_VALUES)
    for name in many:
        rows = [_slice_row(part) for part in shown if part.attribute == name]
        groups.append(SliceGroup(attribute=name, rows=rows))
    return groups


def page_of(key: TableKey, slug: str) -> str:
    """The path of a system's page in the site."""
    return f"systems/{key.id}/{slug}.html"


def earlier_scorecard(result: Result) -> str:
    """The path of a replaced result's scorecard in the site; it has the dataset version."""
    return f"data/{result.key.id}/{result.card.system.slug}/earlier/{result.dataset.version}/scorecard.json"


class _Whole:
    """Facts of a row that need the whole board."""

    def __init__(self, groups: Sequence[ResultGroup]) -> None:
        results = [result for group in groups for result in (*group.results, *group.earlier)]
        self._tries = tries_of(results)
        self._lookalikes = Lookalikes(result.card.system for result in results)
        self._tellers = set().union(*(tellers(group.results) for group in groups))
        self._replaced = {result.scorecard for group in groups for result in group.earlier}

    def tries(self, result: Result) -> Tries:
        return tries_by(self._tries, result)

    def tells_runs(self, result: Result) -> bool:
        return result.scorecard in self._tellers and self.tries(result).n_runs > 1

    def resembles(self, result: Result) -> list[str]:
        return self._lookalikes.of(result.card.system)

    def run(self, result: Result) -> Run:
        if result.scorecard in self._replaced:
            return Run(result=result, page=earlier_scorecard(result))
        return Run(result=result, page=page_of(result.key, result.card.system.slug))


class _InTable(NamedTuple):
    """What a row has in common with the other rows of its table."""

    group: ResultGroup
    axis: ScoreAxis
    whole: _Whole


def _row(result: Result, place: BoardRank, clean: Clean | None, common: _InTable) -> Row:
    group, axis, whole = common
    card, table, slug = result.card, group.key.id, result.card.system.slug
    older = result.dataset.version != max(other.dataset.version for other in group.results) or bool(card.made_on)
    data = f"data/{table}/{slug}"
    latency, measured = latency_of(card.cost)
    tries, resembles, tells = whole.tries(result), whole.resembles(result), whole.tells_runs(result)
    earlier = sorted((one for one in group.earlier if one.card.system.slug == slug), key=lambda r: r.age, reverse=True)
    return Row(
        result=result,
        rank=place,
        clean=clean,
        badges=badges_of(card, older=older, clean=clean, n_runs=tries.n_runs, resembles=resembles, tells_runs=tells),
        badge=f"badges/{table}/{slug}.svg",
        resembles=resembles,
        n_runs=tries.n_runs,
        tells_runs=tells,
        n_results=len(tries.results),
        runs=[whole.run(one) for one in tries.results[:MAX_RUNS]],
        bar=interval_bar(card.counts.score, card.intervals.get("score"), axis),
        parts=outcome_parts(card.counts),
        older=older,
        page=page_of(group.key, slug),
        scorecard=f"{data}/scorecard.json",
        predictions=f"{data}/predictions.jsonl" if result.predictions is not None else None,
        link=first_link(card.system.links),
        median_latency_s=latency,
        latency_measured=measured,
        slice_groups=_slices(card.slices),
        earlier=[whole.run(one) for one in earlier],
    )


def _class_in_group(place: tuple[Result, BoardRank, Clean | None]) -> tuple[int, bool]:
    """Orders rows: by tie group, and in each the reported results last; a stable sort keeps the order by score."""
    result, rank_of_it, _ = place
    return rank_of_it.first, result.card.reported


def _axis(cards: Sequence[ScoreCard]) -> ScoreAxis:
    scores = [card.counts.score for card in cards]
    return axis_of([*scores, *(end for card in cards for end in card.intervals.get("score", ()))])


def _table(group: ResultGroup, whole: _Whole) -> Table:
    cards = [result.card for result in group.results]
    ids = sorted({(result.dataset, result.card.dataset) for result in group.results}, reverse=True)
    ranks = rank(cards)
    common = _InTable(group, _axis(cards), whole)
    places = sorted(zip(group.results, ranks, clean_of(cards, ranks), strict=True), key=_class_in_group)
    return Table(
        key=group.key,
        dataset_ids=[text for _, text in ids],
        n=group.n,
        sample_text=sample_text(group.key, group.n),
        rows=[_row(result, place, clean, common) for result, place, clean in places],
        axis=common.axis,
        detectable=detectable_sentence(cards),
    )


def present(groups: Sequence[ResultGroup]) -> Board:
    """Everything the pages and files of a site say. Its time is that of the newest scorecard, not the clock's."""
    results = [result for group in groups for result in group.results]
    times = [result.scored_at for result in results if result.scored_at is not None]
    whole = _Whole(groups)
    return Board(
        tables=[_table(group, whole) for group in groups],
        dataset_ids=sorted({result.card.dataset for result in results}),
        harnesses=sorted({result.card.harness for result in results}),
        built_at=max(times, default=None),
    )
