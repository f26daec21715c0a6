"""Decide what a table establishes about reading the pages, for the sentence of its front page and the facts under it.

A sentence claims only what the statistics of the board establish for verified results: a paired test on the same
questions whose p is corrected by Holm for all pairs of the table, as for the ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edu_rag.comparing.tested_pairs import AllPairs, TestedPair
from edu_rag.look.texts import delta
from edu_rag.statistics import ALPHA
from leaderboard.board.present import Row, Table
from leaderboard.board.rank import detectable_difference
from leaderboard.board.short_names import ShortName, short_names
from leaderboard.board.system_kinds import has_models_of, role_of
from leaderboard.plots.plot_sentences import Named, Words
from leaderboard.systems.scorecard_tables import probes_of

WIDEST = 2.0
"""The largest difference of two scores: all right against all wrong."""


class Gain(NamedTuple):
    """A system that reads the pages against one that does not; the tested difference is reader - other."""

    reader: Row
    other: Row
    pair: TestedPair

    @property
    def is_more(self) -> bool:
        """Whether it is established that the reader scores more."""
        return self.pair.p_holm <= ALPHA and self.pair.difference.difference > 0

    @property
    def is_less(self) -> bool:
        """Whether it is established that the reader scores less."""
        return self.pair.p_holm <= ALPHA and self.pair.difference.difference < 0

    @property
    def is_more_silent(self) -> bool:
        """Whether the reader leaves more questions without an answer, which alone can raise a score below zero."""
        ours, theirs = self.reader.counts, self.other.counts
        return ours.correct + ours.incorrect < theirs.correct + theirs.incorrect


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A table's rows that were not withdrawn, with their short names; what its pairs establish about reading.

    `gains`: each reader against the best system that answers without pages from the same models, where there is one.
    `over_blind`: the readers against the best blind system. `detectable`: the smallest difference that one test finds.
    """

    n: int
    rows: Sequence[Row]
    names: Sequence[ShortName]
    gains: Sequence[Gain]
    over_blind: Sequence[Gain]
    detectable: float | None

    def name_of(self, row: Row) -> ShortName:
        """The short name of one of the rows."""
        return next(name for name, other in zip(self.names, self.rows, strict=True) if other is row)

    @property
    def best(self) -> Row | None:
        """The first verified row that is not blind, else the first that is not blind, else the first."""
        shown = [row for row in self.rows if not row.result.card.system.blind]
        return next((row for row in shown if not row.result.card.reported), next(iter(shown or self.rows), None))

    @property
    def is_highest(self) -> bool:
        """Whether no row scores more than the best one, which may come after a blind or before a reported one."""
        return self.best is not None and all(row.counts.score <= self.best.counts.score for row in self.rows)

    @property
    def best_blind(self) -> Row | None:
        """The blind row with the highest score."""
        return _highest([row for row in self.rows if row.result.card.system.blind])

    @property
    def without_pages(self) -> float | None:
        """The best row's score when it was asked the same questions without pages; None where it was not."""
        probes = probes_of(self.best.result.card.probes).rows if self.best else ()
        return next((probe.score for probe in probes if probe.name == "no-context" and probe.n == self.n), None)

    def _named(self, row: Row) -> Named:
        return Named(self.name_of(row).label, row.page)

    @property
    def found_from(self) -> str:
        """The smallest difference that one test finds with 80 % power, rounded up; empty if no score can differ so."""
        if self.detectable is None or self.detectable >= WIDEST:
            return ""
        return f"{math.ceil(100 * self.detectable - 1e-9) / 100:.2f}"

    @property
    def sentence(self) -> Words:
        """The front page's one sentence."""
        over = [gain for gain in self.over_blind if gain.is_more]
        better_than_silence = {id(gain.reader) for gain in over}
        more = [
            gain
            for gain in self.gains
            if gain.is_more and (not gain.is_more_silent or id(gain.reader) in better_than_silence)
        ]
        more.sort(key=lambda gain: gain.is_more_silent)  # a gain that silence has no part in is the plainer one
        if more:
            how = "can help: " if any(gain.is_less for gain in self.gains) else "helps: "
            silence = "; a part of that is silence" if more[0].is_more_silent else ""
            return (f"Reading the pages {how}", *self._lead(more[0]), f" than the same model without them{silence}.")
        if over:
            start = f"{self._named(over[0].reader).text}, which reads the pages, scores "
            return (start, _ahead(over[0]), " more than the best system that never looks at them.")
        return (self._nothing(),)

    def _lead(self, gain: Gain) -> Words:
        return (self._named(gain.reader), f" scores {_ahead(gain)} more")

    def _nothing(self) -> str:
        if not self.over_blind and not self.gains:
            return "No verified system of this table reads the pages yet."
        said = f"With {self.n:,} questions it is not established that reading the pages helps"
        if not self.found_from:
            return f"{said}."
        return f"{said}; two typical systems must differ by about {self.found_from} for one test to find it reliably."

    @property
    def counted(self) -> str:
        """How many readers score more or less than the same model without pages; empty if there is no such pair."""
        if not self.gains:
            return ""
        more, less = sum(gain.is_more for gain in self.gains), sum(gain.is_less for gain in self.gains)
        n, rest = len(self.gains), len(self.gains) - more - less
        parts = [f"{_scoring(k, n)} {word}" for k, word in ((more, "more"), (less, "less")) if k]
        if rest:
            parts.append(f"{f'for {rest} ' if rest < n else ''}no difference is established")
        who = "One system that reads" if n == 1 else f"{n} systems that read"
        said = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[:-1] else parts)
        return (
            f"{who} can be compared with the same model without pages: {said} (corrected for all pairs of the table)."
        )


def _scoring(k: int, n: int) -> str:
    return "it scores" if n == 1 else f"{k} scores" if k == 1 else f"{k} score"


def _ahead(gain: Gain) -> str:
    return delta(gain.pair.difference.difference, 2).removeprefix("+")


def _highest(rows: Sequence[Row]) -> Row | None:
    return max(rows, key=lambda row: row.counts.score, default=None)


def _against(table: Table, pairs: AllPairs, reader: Row, others: Sequence[Row]) -> Iterator[Gain]:
    other = _highest(others)
    if other is not None:
        places = {id(row): place for place, row in enumerate(table.rows)}
        yield Gain(reader, other, pairs.of(places[id(reader)], places[id(other)]))


def standing_of(table: Table, pairs: AllPairs | None) -> Standing:
    """Decide what a table establishes. `pairs` are those of all its rows; None where it has one row alone."""
    rows = [row for row in table.rows if not row.withdrawn]
    roles = {id(row): role_of(row.result.card) for row in rows}
    vouched = [
        row for row in rows if not row.result.card.reported
    ]  # no claim rests on numbers that only a team has seen
    readers = sorted((row for row in vouched if roles[id(row)] == "reads"), key=lambda row: -row.counts.score)
    alone = [row for row in vouched if roles[id(row)] == "alone"]
    blind = [row for row in vouched if roles[id(row)] == "blind"]
    gains: list[Gain] = []
    over_blind: list[Gain] = []
    if pairs is not None:
        for reader in readers:
            twins = [row for row in alone if has_models_of(reader.result.card, row.result.card)]
            gains += _against(table, pairs, reader, twins)
            over_blind += _against(table, pairs, reader, blind)
    cards = [row.result.card for row in table.rows]
    return Standing(
        n=table.n,
        rows=rows,
        names=short_names([row.result.card.system for row in rows]),
        gains=gains,
        over_blind=over_blind,
        detectable=detectable_difference(cards) if len(cards) > 1 else None,
    )
