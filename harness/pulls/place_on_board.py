"""The place of a result: against the best baseline, the best blind one, its team's entries, and among all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import SubmissionError
from edu_rag.look.lookalikes import name_key
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import ResultsFolder
from edu_rag.statistics import ALPHA, holm, rank_groups, shared_lessons
from harness.comparing.compare import Comparison, Side, compare_sides, require_same

RESULTS = Path("leaderboard") / "results"
MAX_CARDS = 5_000
MAX_EARLIER = 10
"""How many earlier entries of a team a new one is compared with."""


class ComparedWith(NamedTuple):
    """A comparison with another result of the table; `role` says why it is compared, `p` is Holm's over all of them."""

    role: str
    comparison: Comparison
    p: float

    @property
    def established(self) -> bool:
        """Whether the two scores differ for more than the luck of these questions."""
        return self.p <= ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOnBoard:
    """The places `first` to `last` (a tie group) among `n` systems of the table, and the comparisons.

    `left_out` names results of the base that could not be compared, with the reason.
    """

    first: int
    last: int
    n: int
    against: tuple[ComparedWith, ...]
    left_out: tuple[str, ...]


def read_results(base: Path) -> tuple[list[ScoreCard], list[str]]:
    """The scorecards of the base, in order of their places, and the faults of those that cannot be read."""
    stored = ResultsFolder(base / RESULTS, most=MAX_CARDS)
    faults = [f"{path.relative_to(base)}: {found[0].what}" for path, found in stored.faults.items()]
    return list(stored.cards.values()), faults


def of_table(cards: Sequence[ScoreCard], mine: ScoreCard) -> tuple[list[ScoreCard], list[str]]:
    """The newest result of each system on the questions of `mine`, and why others of its table were left out."""
    newest: dict[str, ScoreCard] = {}
    left_out = []
    for card in sorted(cards, key=lambda card: (card.dataset_id.version, card.scored_at)):
        if (card.split, card.sample) != (mine.split, mine.sample) or card.dataset_id.name != mine.dataset_id.name:
            continue
        try:
            require_same([mine, card], None)
        except SubmissionError as error:
            left_out.append(f"{card.system.slug}: {error.what}")
        else:
            newest[card.system.slug] = card
    return [newest[slug] for slug in sorted(newest)], left_out


def _best(cards: Sequence[ScoreCard]) -> ScoreCard | None:
    """The highest score, the first slug of equals."""
    return min(cards, key=lambda card: (-card.counts.score, card.system.slug), default=None)


def opponents(mine: ScoreCard, table: Sequence[ScoreCard], baselines_team: str) -> Iterator[tuple[str, ScoreCard]]:
    """The results that a new one is compared with, each once, with the reason."""
    own = [card for card in table if name_key(card.system.team) == name_key(baselines_team)]
    others = {slug: card for card in own if (slug := card.system.slug) != mine.system.slug}
    reading = _best([card for card in others.values() if not card.system.blind])
    blind = _best([card for card in others.values() if card.system.blind])
    seen = set()
    for role, card in (("best baseline", reading), ("best blind baseline", blind)):
        if card is not None:
            seen.add(card.system.slug)
            yield role, card
    theirs = [
        card
        for card in table
        if card.system.slug not in seen
        and (card.system.slug == mine.system.slug or name_key(card.system.team) == name_key(mine.system.team))
    ]
    # Each test makes the others' bar higher, so a team of many entries is compared with its newest ones.
    newest = sorted(theirs, key=lambda card: (card.scored_at, card.system.slug), reverse=True)[:MAX_EARLIER]
    for card in newest:
        yield "previous entry of the team", card


def place_among(mine: ScoreCard, cards: Sequence[ScoreCard], baselines_team: str) -> PlaceOnBoard:
    """Hold a result against the base's results on the same questions. The family of Holm's correction is the reported
    comparisons.

    The place is that of the board: a system's new result takes the place of its old one, and ranks are tie groups.
    """
    table, left_out = of_table(cards, mine)
    found = [
        (role, compare_sides(Side(mine, {}), Side(card, {}), None))
        for role, card in opponents(mine, table, baselines_team)
    ]
    adjusted = holm([comparison.difference.p for _, comparison in found])
    ranked = [mine, *(card for card in table if card.system.slug != mine.system.slug)]
    firsts = rank_groups([card.outcomes for card in ranked], lessons=shared_lessons([card.lessons for card in ranked]))
    return PlaceOnBoard(
        first=firsts[0],
        last=firsts[0] + firsts.count(firsts[0]) - 1,
        n=len(ranked),
        against=tuple(ComparedWith(role, one, p) for (role, one), p in zip(found, adjusted, strict=True)),
        left_out=tuple(left_out),
    )
