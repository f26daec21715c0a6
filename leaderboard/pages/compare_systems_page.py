"""compare.html: two systems by URL, every pair of the best in a static matrix, and the pairs of each system as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jinja2
import msgspec

from edu_rag.comparing.all_pairs import AllPairs, all_pairs_of
from edu_rag.comparing.tested_pair import ALPHA, TestedPair
from edu_rag.errors import ConfigError
from edu_rag.look.texts import clip, percent, plain, signed
from edu_rag.scorecard.card import OUTCOMES, ScoreCard
from leaderboard.board.present import Row, Table
from leaderboard.compare.pair_files import pair_files
from leaderboard.compare.question_slices import slices_values
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam
from leaderboard.questions.page_addresses import folder_of
from leaderboard.render import frame_of
from leaderboard.site_parts import SitePart, key_of

FORMAT = "edu-rag-compare-v2"
PAGE = "compare.html"
INDEX = "data/compare.json"
BEST = 10
"""The most systems whose pairs are all on the page itself."""
MAX_NAME = 80
MAX_TEAM = 60
PERCENT = ("accuracy", "hallucination", "missing", "accuracy_given_attempted")


@dataclass(frozen=True)
class Ring:
    """A table with two systems at least, and its pairs, tested when first asked for.

    `exam` and `ids` are the questions behind its outcome letters, None and empty if the site does not show them.
    """

    table: Table
    exam: SiteExam | None = None
    ids: Sequence[str] = ()

    @property
    def rows(self) -> Sequence[Row]:
        """Best score first."""
        return self.table.rows

    @property
    def cards(self) -> list[ScoreCard]:
        """The scorecards in the order of the rows."""
        return [row.result.card for row in self.rows]

    @cached_property
    def pairs(self) -> AllPairs:
        """Every pair, by place."""
        return all_pairs_of(self.cards)

    @property
    def made_from(self) -> list[object]:
        """The inputs that its pairs depend on."""
        return [self.table.key, [row.result.sha256 for row in self.rows]]

    @property
    def questions(self) -> str | None:
        """The path of the index of its questions in the site: see leaderboard/questions/__init__.py."""
        return None if self.exam is None else f"{folder_of(self.exam)}/index.json"

    @property
    def slices(self) -> str | None:
        """Where it says which questions share a value: see leaderboard.compare.question_slices."""
        return None if self.exam is None else f"data/{self.table.key.id}/slices.json"

    @property
    def title(self) -> str:
        """The table in words."""
        key = self.table.key
        return f"{key.name} v{key.major} · {key.split}" + (f" · {key.sample}" if key.sample else "")

    @property
    def n_pairs(self) -> int:
        """All pairs of the table, over which Holm corrects."""
        return len(self.rows) * (len(self.rows) - 1) // 2

    @property
    def best(self) -> list[tuple[Row, list[tuple[Row, TestedPair]]]]:
        """The best systems, each with those above it and what these are ahead by."""
        shown = self.rows[:BEST]
        return [
            (row, [(above, self.pairs.of(place, at)) for place, above in enumerate(shown[:at])])
            for at, row in enumerate(shown)
        ]

    @property
    def neighbours(self) -> list[tuple[Row, Row, TestedPair]]:
        """Each system against the next below it."""
        return [(self.rows[at], self.rows[at + 1], self.pairs.of(at, at + 1)) for at in range(len(self.rows) - 1)]


def compare_link(table_id: str, first: str, second: str) -> str:
    """The address of a comparison from the site's top; ids and slugs need no quoting."""
    return f"{PAGE}?table={table_id}&a={first}&b={second}"


def neighbour_links(table: Table, row: Row) -> list[tuple[Row, str]]:
    """The systems above and below a row of its table, each with the address of its comparison with the row."""
    at = next(place for place, other in enumerate(table.rows) if other is row)
    near = [place for place in (at - 1, at + 1) if 0 <= place < len(table.rows)]
    slug = row.result.card.system.slug
    return [
        (table.rows[place], compare_link(table.key.id, slug, table.rows[place].result.card.system.slug))
        for place in near
    ]


def _shown(text: str, length: int) -> str:
    return str(plain(clip(text, length)))


def _interval_told(row: Row) -> str:
    if row.interval is None:
        return ""
    low, high = map(signed, row.interval)
    return f"{signed(row.counts.score)}, 95 % interval {low} to {high}, on an axis from −1 to +1"


def _outcomes_told(card: ScoreCard) -> str:
    n, counts = card.counts.n, {outcome: getattr(card.counts, outcome) for outcome in OUTCOMES}
    told = ", ".join(f"{name} {k} ({percent(k / n)} %)" for name, k in counts.items())
    return f"{told} of {n}"


def _texts(row: Row) -> dict[str, str]:
    """A system's numbers as people read them."""
    counts = row.counts
    return {
        "score": signed(counts.score),
        "interval": "" if row.interval is None else f"[{signed(row.interval[0])}, {signed(row.interval[1])}]",
        **{name: percent(getattr(counts, name)) for name in PERCENT},
        "strict_score": signed(counts.strict_score),
        "interval_told": _interval_told(row),
        "outcomes_told": _outcomes_told(row.result.card),
    }


def _system(row: Row) -> dict[str, Any]:
    card = row.result.card
    return {
        "slug": card.system.slug,
        "name": _shown(row.name, MAX_NAME),
        "team": _shown(card.system.team, MAX_TEAM),
        "blind": card.system.blind,
        "withdrawn": row.withdrawn,
        "page": row.page,
        "interval": row.interval,
        "counts": {outcome: getattr(card.counts, outcome) for outcome in OUTCOMES},
        "rates": card.counts.rates(),
        "shown": _texts(row),
        "answers": row.result.predictions is not None,
    }


def _table(ring: Ring) -> dict[str, Any]:
    any_difference = ring.pairs.tested[0, 1].difference
    return {
        "id": ring.table.key.id,
        "title": ring.title,
        "asked": ring.table.sample_text,
        "n": ring.table.n,
        "n_units": any_difference.n_units,
        "n_pairs": ring.n_pairs,
        "interval_method": any_difference.method,
        "questions": ring.questions,
        "slices": ring.slices,
        "systems": [_system(row) for row in ring.rows],
    }


def _page_files(rings: Sequence[Ring], pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    template = pages.get_template("compare.html.j2")
    shown = template.render(root="", here=PAGE, rings=rings, BEST=BEST, ALPHA=ALPHA, compare_link=compare_link)
    yield PAGE, shown.encode()
    yield INDEX, msgspec.json.encode({"format": FORMAT, "tables": [_table(ring) for ring in rings]})


def _pair_files(ring: Ring) -> Iterator[tuple[str, bytes]]:
    for values in pair_files(ring.cards, ring.pairs):
        yield f"pairs/{ring.table.key.id}/{values['system']}.json", msgspec.json.encode(values)


def _slice_files(ring: Ring, exam: SiteExam) -> Iterator[tuple[str, bytes]]:
    yield str(ring.slices), msgspec.json.encode(slices_values(exam, ring.ids))


def _ring(edition: Edition, table: Table) -> Ring:
    group = next(group for group in edition.groups if group.key == table.key)
    exam = edition.exam_of(group)
    try:
        ids = exam.ids(table.key.sample) if exam else []
    except ConfigError:  # a sample of more questions than the split has
        ids = []
    return Ring(table, exam, ids) if len(ids) == table.n else Ring(table)


def _seen(ring: Ring) -> list[object]:
    """The parts of the page that need more than scorecards."""
    rows = [(row.name, row.rank, row.page, row.withdrawn, row.result.predictions is not None) for row in ring.rows]
    return [*ring.made_from, ring.questions, ring.table.sample_text, rows]


def parts(edition: Edition, pages: jinja2.Environment) -> Iterator[SitePart]:
    """compare.html with its index, and each table's pairs and slices; none where no table has a pair."""
    rings = [_ring(edition, table) for table in edition.board.tables if len(table.rows) > 1]
    if not rings:
        return
    seen = [_seen(ring) for ring in rings]
    yield SitePart("compare", key_of(frame_of(edition), seen), partial(_page_files, rings, pages))
    for ring in rings:
        yield SitePart(f"pairs/{ring.table.key.id}", key_of(ring.made_from), partial(_pair_files, ring))
        if ring.exam is not None:
            key = key_of(ring.table.key, ring.exam.dataset.id)
            yield SitePart(f"slices/{ring.table.key.id}", key, partial(_slice_files, ring, ring.exam))
