"""Tables of retrieval runs: systems that rank pages without answering, by dataset, major version, split and sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError, EduRagError, FaultsError, each_fault
from edu_rag.files.board_file import BoardFile
from edu_rag.names import DatasetId
from edu_rag.scorecard.retrieval_card import PageMeasures, RetrievalCard, read_retrieval_card, retrieval_cards

SHOWN = ("NDCG@10", "MAP@10", "R@10", "P@1", "MRR")
"""The measures that a table shows; the cards have all."""
KINDS: Mapping[str, str] = {"evidence": "pages with evidence", "home": "home pages"}
"""The two kinds of relevant pages, by field of a card."""


class RetrievalRow(NamedTuple):
    """One run in a table."""

    card: RetrievalCard
    measured: PageMeasures


class RetrievalTable(NamedTuple):
    """Runs that were measured on the same questions against one kind of pages, the best NDCG@10 first.

    Runs of an older version of the dataset are left out where the table has a newer one of the same system.
    """

    name: str
    major: int
    split: str
    sample: str | None
    kind: str
    rows: Sequence[RetrievalRow]

    @property
    def id(self) -> str:
        """A fragment name."""
        parts = (self.name, f"v{self.major}", self.split, self.sample, self.kind)
        return ".".join(part for part in parts if part is not None)

    @property
    def what(self) -> str:
        """The kind of pages in words."""
        return KINDS[self.kind]


def retrieval_tables(results: Path, board: BoardFile | None = None) -> list[RetrievalTable]:
    """All tables of a results folder; none without runs. Raises FaultsError naming every fault of every file.

    A card on other content than the board's dataset of that version is a fault.
    """
    cards: list[RetrievalCard] = []
    faults: list[EduRagError] = []
    pinned = {one.release: one.id for one in board.datasets} if board is not None else {}
    for path in retrieval_cards(results):
        try:
            card = read_retrieval_card(path)
            wanted = pinned.get(card.asked.release, card.dataset)
            if wanted != card.dataset:
                what = f"is scored on {card.dataset}, and the board's dataset is {wanted}"
                raise DataError(path, what, "score the run again on the board's dataset")
            cards.append(card)
        except EduRagError as error:
            faults += each_fault(error)
    if faults:
        raise FaultsError(faults)
    return list(_tables(cards))


def _tables(cards: Sequence[RetrievalCard]) -> Iterator[RetrievalTable]:
    newest: dict[tuple[str, int, str, str, str], RetrievalCard] = {}
    for card in sorted(cards, key=lambda card: (DatasetId.parse(card.dataset).version, card.scored_at)):
        dataset = DatasetId.parse(card.dataset)
        newest[dataset.name, dataset.major, card.split, card.sample or "", card.system.slug] = card
    for key in sorted({key[:4] for key in newest}):
        found = [card for place, card in newest.items() if place[:4] == key]
        for kind in KINDS:
            rows = [RetrievalRow(card, measured) for card in found if (measured := getattr(card, kind)) is not None]
            rows.sort(key=lambda row: (-row.measured.metrics[SHOWN[0]], row.card.system.slug))
            if rows:
                yield RetrievalTable(key[0], key[1], key[2], key[3] or None, kind, rows)
