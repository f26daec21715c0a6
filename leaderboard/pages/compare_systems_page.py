"""compare.html: two systems by URL, every pair of the best in a static matrix, and the pairs of each system as data.

`pairs/TABLE/SYSTEM.json` is {format, system, outcomes, with, a list per number, texts, lead, because, remarks, notes,
shown}. Outcome letters are in order of question id, differences are this system's less the other's, and the entries of
all lists are those of `with`, in board order. `lead`, `because`, `remarks` and `notes` are places in `texts`: the
sentences of `edu_rag.comparing.pair_sentences`, with names in braces for what `shown` has, and for `first`, `second`,
`ahead` and `behind`, the systems. `shown` has a list per name, or one text where all pairs have the same. Sentences
that are complete would make a file of 199 pairs several times as large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import msgspec

from edu_rag.comparing.pair_sentences import about_answers, about_choice, about_lessons, fields_of, sentences_of
from edu_rag.comparing.tested_pairs import AllPairs, TestedPair
from edu_rag.errors import ConfigError
from edu_rag.look.texts import clip, delta, percent, plain, signed
from edu_rag.scorecard.card import OUTCOMES, ScoreCard
from edu_rag.statistics import ALPHA
from leaderboard.board.present import Row, Table
from leaderboard.board.system_kinds import role_of
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam, folder_of
from leaderboard.front.front_tables import leading_first
from leaderboard.questions.question_slices import slices_values
from leaderboard.site import Files

PAIRS_FORMAT = "edu-rag-pairs-v2"
MAX_NOTE = 400
GAPS = ("accuracy", "hallucination", "missing")
"""Rates whose difference is shown, in percentage points."""
FORMAT = "edu-rag-compare-v2"
PAGE = "compare.html"
INDEX = "data/compare.json"
BEST = 10
"""The most systems whose pairs are all on the page itself."""
MAX_NAME = 80
MAX_TEAM = 60
PERCENT = ("accuracy", "hallucination", "missing", "accuracy_given_attempted")


class Texts:
    """Texts by number, each stored once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """The place of each text; a new one is added."""
        return [self._places.setdefault(text, len(self._places)) for text in texts]

    @property
    def stored(self) -> list[str]:
        """The texts in order of their places."""
        return list(self._places)


def _numbers(pairs: Sequence[TestedPair]) -> dict[str, list[Any]]:
    """A list per number, with an entry per pair."""
    return {
        "difference": [pair.difference.difference for pair in pairs],
        "low": [pair.difference.low for pair in pairs],
        "high": [pair.difference.high for pair in pairs],
        "p": [pair.difference.p for pair in pairs],
        "p_holm": [pair.p_holm for pair in pairs],
        "strict_difference": [pair.strict.difference for pair in pairs],
        "strict_low": [pair.strict.low for pair in pairs],
        "strict_high": [pair.strict.high for pair in pairs],
        "strict_p": [pair.strict.p for pair in pairs],
        "first_only": [pair.correctness.n_first_only for pair in pairs],
        "second_only": [pair.correctness.n_second_only for pair in pairs],
        "mcnemar_p": [pair.correctness.p for pair in pairs],
        "mcnemar_p_holm": [pair.mcnemar_p_holm for pair in pairs],
        "detectable": [pair.detectable for pair in pairs],
    }


def _gaps(pair: TestedPair) -> dict[str, str]:
    a, b = pair.first.counts, pair.second.counts
    return {f"{rate}_gap": delta((getattr(a, rate) - getattr(b, rate)) * 100, 1) for rate in GAPS}


def _shown_columns(pairs: Sequence[TestedPair]) -> dict[str, list[str] | str]:
    """A list per name with an entry per pair; one text where all entries are the same."""
    fields = [{**fields_of(pair), **_gaps(pair)} for pair in pairs]
    names = dict.fromkeys(name for one in fields for name in one)
    columns = {name: [one.get(name, "") for one in fields] for name in names}
    return {name: texts if len(set(texts)) > 1 else texts[0] for name, texts in columns.items()}


def _notes(pair: TestedPair, about_table: Sequence[str]) -> list[str]:
    about = [*about_choice(pair), *about_table, *about_answers([pair.first, pair.second])]
    return [f"{plain(clip(text, MAX_NOTE))}." for text in about]


def _sentences(pairs: Sequence[TestedPair], about_table: Sequence[str]) -> dict[str, Any]:
    texts, said = Texts(), [sentences_of(pair) for pair in pairs]
    return {
        "lead": texts.numbers(one.lead for one in said),
        "because": texts.numbers(one.because for one in said),
        "remarks": [texts.numbers(one.remarks) for one in said],
        "notes": [texts.numbers(_notes(pair, about_table)) for pair in pairs],
        "texts": texts.stored,
    }


def pair_files(cards: Sequence[ScoreCard], pairs: AllPairs) -> Iterator[dict[str, Any]]:
    """The file of each system of a table, in order."""
    # Once a table: lessons are one number per question.
    about_table = list(about_lessons(cards, pairs.tested[0, 1].difference))
    for at in range(len(cards)):
        yield _pair_file(cards, pairs, at, about_table)


def _pair_file(cards: Sequence[ScoreCard], pairs: AllPairs, at: int, about_table: Sequence[str]) -> dict[str, Any]:
    others = [place for place in range(len(cards)) if place != at]
    mine = [pairs.of(at, other) for other in others]
    return {
        "format": PAIRS_FORMAT,
        "system": cards[at].system.slug,
        "outcomes": cards[at].outcomes,
        "with": [cards[other].system.slug for other in others],
        **_numbers(mine),
        **_sentences(mine, about_table),
        "shown": _shown_columns(mine),
    }


@dataclass(frozen=True)
class ComparedTable:
    """A table with two systems at least, and its pairs.

    `exam` and `ids` are the questions behind its outcome letters, None and empty if the site does not show them.
    """

    table: Table
    pairs: AllPairs
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

    @property
    def questions(self) -> str | None:
        """The path of the index of its questions in the site: see leaderboard/questions/__init__.py."""
        return None if self.exam is None else f"{folder_of(self.exam)}/index.json"

    @property
    def slices(self) -> str | None:
        """Where it says which questions share a value: see leaderboard.questions.question_slices."""
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


def first_pair(table: Table) -> tuple[Row, Row]:
    """The two systems of a table that a comparison starts with: the best that read the pages, else the best."""
    weights = {"reads": 0, "alone": 1, "blind": 2}
    first, second, *_ = sorted(table.rows, key=lambda row: (row.withdrawn, weights[role_of(row.result.card)]))
    return first, second


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


def _interval_label(row: Row) -> str:
    if row.interval is None:
        return ""
    low, high = map(signed, row.interval)
    return f"{signed(row.counts.score)}, 95 % interval {low} to {high}, on an axis from −1 to +1"


def _outcomes_label(card: ScoreCard) -> str:
    n, counts = card.counts.n, {outcome: getattr(card.counts, outcome) for outcome in OUTCOMES}
    outcomes = ", ".join(f"{name} {k} ({percent(k / n)} %)" for name, k in counts.items())
    return f"{outcomes} of {n}"


def _texts(row: Row) -> dict[str, str]:
    """A system's numbers as people read them."""
    counts = row.counts
    return {
        "score": signed(counts.score),
        "interval": "" if row.interval is None else f"[{signed(row.interval[0])}, {signed(row.interval[1])}]",
        **{name: percent(getattr(counts, name)) for name in PERCENT},
        "strict_score": signed(counts.strict_score),
        "interval_told": _interval_label(row),
        "outcomes_told": _outcomes_label(row.result.card),
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


def _table(compared: ComparedTable) -> dict[str, Any]:
    any_difference = compared.pairs.tested[0, 1].difference
    return {
        "id": compared.table.key.id,
        "title": compared.title,
        "asked": compared.table.sample_text,
        "n": compared.table.n,
        "n_units": any_difference.n_units,
        "n_pairs": compared.n_pairs,
        "interval_method": any_difference.method,
        "questions": compared.questions,
        "slices": compared.slices,
        "first": [row.result.card.system.slug for row in first_pair(compared.table)],
        "systems": [_system(row) for row in compared.rows],
    }


def _page_files(compared_tables: Sequence[ComparedTable], pages: jinja2.Environment) -> Iterator[tuple[str, bytes]]:
    template = pages.get_template("compare.html.j2")
    shown = template.render(
        root="", here=PAGE, compared_tables=compared_tables, BEST=BEST, ALPHA=ALPHA, compare_link=compare_link
    )
    yield PAGE, shown.encode()
    yield INDEX, msgspec.json.encode({"format": FORMAT, "tables": [_table(compared) for compared in compared_tables]})


def _pair_files(compared: ComparedTable) -> Iterator[tuple[str, bytes]]:
    for values in pair_files(compared.cards, compared.pairs):
        yield f"pairs/{compared.table.key.id}/{values['system']}.json", msgspec.json.encode(values)


def _slice_files(compared: ComparedTable, exam: SiteExam) -> Iterator[tuple[str, bytes]]:
    yield str(compared.slices), msgspec.json.encode(slices_values(exam, compared.ids))


def _compared(edition: Edition, table: Table, pairs: AllPairs) -> ComparedTable:
    group = next(group for group in edition.groups if group.key == table.key)
    exam = edition.exam_of(group)
    try:
        ids = exam.ids(table.key.sample) if exam else []
    except ConfigError:  # a sample of more questions than the split has
        ids = []
    return ComparedTable(table, pairs, exam, ids) if len(ids) == table.n else ComparedTable(table, pairs)


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """compare.html with its index, and each table's pairs and slices; nothing if no table has a pair."""
    tested = [(table, edition.pairs_of(table)) for table in leading_first(edition.board.tables)]
    compared_tables = [_compared(edition, table, pairs) for table, pairs in tested if pairs is not None]
    if not compared_tables:
        return
    yield from _page_files(compared_tables, pages)
    for compared in compared_tables:
        yield from _pair_files(compared)
        if compared.exam is not None:
            yield from _slice_files(compared, compared.exam)
