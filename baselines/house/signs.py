"""All signs of one question: how well pages match each choice, and what the small and the large model read there.

The signs of pages come from windows of three sentences; the best windows are what the models read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from baselines.chunk.sentences import chunker
from baselines.house.asking import (
    LETTERS,
    Likely,
    ModelAsked,
    NextWord,
    Wanted,
    ask_choices,
    ask_statement,
    likely_choices,
    likely_statement,
)
from baselines.parts import PagePassage
from baselines.retrieve.bm25 import BM25
from baselines.retrieve.token_ids import tokenise
from edu_rag.serve import SystemPage, SystemQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

N_SENTENCES = 3
N_OF_QUESTION, N_OF_CHOICE = 8, 3
"""Windows that BM25 proposes: for the question, and for each choice together with the question."""
N_WINDOWS = 2
"""Windows that a model reads."""
N_NEAR = 30
"""Windows over which `support` averages."""
TEMPERATURE = 2.0
"""BM25 by which a window of these counts e times less than another."""
_RRF = 60
"""Cormack et al. 2009."""


class Encodes(Protocol):
    """Texts to unit vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 of shape (len(texts), d)."""
        ...


class Selection(NamedTuple):
    """Signs by name, one number a choice (one in all for a true/false question), and the windows to read."""

    signs: dict[str, list[float]]
    windows: list[PagePassage]


def _windows(page: SystemPage) -> Iterator[tuple[int, int]]:
    """Every run of three sentences; the whole page if it has fewer."""
    spans = page.sentences
    for first in range(max(1, len(spans) - N_SENTENCES + 1) if spans else 0):
        yield spans[first][0], spans[min(first + N_SENTENCES, len(spans)) - 1][1]


windows_of = chunker(_windows)


def claims(question: SystemQuestion) -> list[str]:
    """What each choice adds to the question; for a true/false question its statement, which is its text."""
    return [question.text] if question.kind == "true_false" else list(question.choices.values())


class _Lexical:
    """BM25 of a question's windows."""

    def __init__(self, question: SystemQuestion, windows: Sequence[PagePassage]) -> None:
        self._index = BM25([window.text for window in windows])
        self.is_statement = question.kind == "true_false"
        self.of_question = self._index.scores(question.text)
        self._asked = frozenset(() if self.is_statement else tokenise(question.text))

    def of_claim(self, claim: str) -> Scores:
        """BM25 of the claim alone; none for a statement, which is the question's text."""
        return self.of_question * 0 if self.is_statement else self._index.scores(claim)

    def cover(self, claim: str) -> Scores:
        """For each window, what share of the claim's words it has that are not in the question, weighed by rarity."""
        import numpy as np

        words = sorted(set(tokenise(claim)) - self._asked)
        if not words:
            return self.of_question * 0
        found = np.array([scores > 0 for scores in self._index.scores_of(words)])
        n, df = found.shape[1], found.sum(axis=1)
        rarity = np.log1p((n - df + 0.5) / (df + 0.5))
        total: Scores = rarity @ found / rarity.sum()
        return total


def _best(scores: Scores, n: int) -> list[int]:
    return [int(place) for place in (-scores).argsort(kind="stable")[:n]]


def _ranks(scores: Scores) -> Scores:
    import numpy as np

    ranks = np.empty(len(scores))
    ranks[(-scores).argsort(kind="stable")] = np.arange(len(scores))
    return ranks


def _apart(windows: Sequence[PagePassage], order: Sequence[int]) -> list[PagePassage]:
    """The first windows in this order of which no two share a sentence."""
    chosen: list[PagePassage] = []
    for place in order:
        one = windows[place]
        if all(one.page_id != two.page_id or one.end <= two.start or two.end <= one.start for two in chosen):
            chosen.append(one)
    return chosen[:N_WINDOWS]


def _lexical_signs(question: Scores, of_claims: Scores, covers: Scores) -> dict[str, list[float]]:
    import numpy as np

    best = (question + of_claims).max(axis=1)
    near = _best(question, N_NEAR)
    weights = np.exp((question[near] - question[near].max()) / TEMPERATURE)
    return {
        "bm25": (best / best.max() if best.max() > 0 else best).tolist(),
        "cover": covers.max(axis=1).tolist(),
        "support": (covers[:, near] @ weights / weights.sum()).tolist(),
    }


def select(question: SystemQuestion, encoder: Encodes | None = None) -> Selection:
    """The windows to read, best first, and signs of each choice.

    `bm25`: its best window's BM25 with the question and the choice, as a share of the best choice's. `cover`: the
    largest share of the choice's own words in a window. `support`: the mean of that share over the windows that match
    the question, weighed by how well they do. With an encoder: `cosine`, with the closest proposed window, of the
    question and the choice together. Without pages: no windows, and zeros.
    """
    import numpy as np

    asked = claims(question)
    windows = windows_of(question)
    if not windows:
        names = ["bm25", "cover", "support"] + ["cosine"] * (encoder is not None)
        return Selection({name: [0.0] * len(asked) for name in names}, [])
    lexical = _Lexical(question, windows)
    of_claims = np.array([lexical.of_claim(claim) for claim in asked])
    signs = _lexical_signs(lexical.of_question, of_claims, np.array([lexical.cover(claim) for claim in asked]))
    together = lexical.of_question + of_claims.max(axis=0)
    if encoder is None:
        return Selection(signs, _apart(windows, _best(together, 4 * N_SENTENCES * N_WINDOWS)))
    proposed = [_best(lexical.of_question, N_OF_QUESTION)]
    proposed += [_best(lexical.of_question + row, N_OF_CHOICE) for row in of_claims]
    places = sorted({place for some in proposed for place in some})
    statements = asked if lexical.is_statement else [f"{question.text} {claim}" for claim in asked]
    vectors = encoder.encode([*statements, *(windows[place].text for place in places)])
    close = vectors[: len(asked)] @ vectors[len(asked) :].T
    fused = 1 / (_RRF + _ranks(together[places])) + 1 / (_RRF + _ranks(close.max(axis=0)))
    signs["cosine"] = close.max(axis=1).tolist()
    return Selection(signs, _apart(windows, [places[i] for i in _best(fused, len(places))]))


class Models(NamedTuple):
    """The models that compute the signs; a system without one of them has no sign of it."""

    small: Likely | None = None
    large: NextWord | None = None
    encoder: Encodes | None = None


class ChoiceSigns(NamedTuple):
    """`values`: sign -> one number a choice (one in all for true/false). `windows` were read; tokens were read."""

    values: dict[str, list[float]]
    windows: list[PagePassage]
    n_input: int


def can_ask(question: SystemQuestion) -> bool:
    """Whether the question has choices that we can weigh: 2 to 10, or a statement with both sides."""
    if question.kind == "true_false":
        said = [text.strip().casefold() for text in question.choices.values()]
        return sorted(said) == ["false", "true"]
    return 2 <= len(question.choices) <= len(LETTERS)


def signs_of(question: SystemQuestion, models: Models, wanted: Wanted = lambda name: True) -> ChoiceSigns:
    """The signs of a question that `can_ask` lets through; those of the language models only where they are wanted."""
    found = select(question, models.encoder)
    notes = [window.text for window in found.windows]
    statement = question.kind == "true_false"
    asked: dict[str, ModelAsked] = {}
    if models.small is not None:
        read = likely_statement if statement else likely_choices
        asked["small"] = read(models.small, question, notes, lambda name: wanted(f"small_{name}"))
    if models.large is not None:
        ask = ask_statement if statement else ask_choices
        asked["large"] = ask(models.large, question, notes, lambda name: wanted(f"large_{name}"))
    values = {f"page_{name}": row for name, row in found.signs.items()}
    values |= {f"{model}_{name}": row for model, one in asked.items() for name, row in one.signs.items()}
    return ChoiceSigns(values, found.windows, sum(one.n_input for one in asked.values()))
