"""The keywords of a question: by which the graph is entered, at most K of them (HyPA-RAG, Table 7).

The paper does not say how its keywords are found (LlamaIndex, which it names, asks a language model). Ours are the
question's noun phrases and remaining content words, ranked by tf-idf over the sentences of the question's own pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from baselines.graph.english import lemma, says_something

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MAX_TOKENS = 4
"""A longer noun phrase is a sentence that the parser misread: its last words are its subject."""


class Keyword(NamedTuple):
    """`lemmas` are looked for in nodes, `forms` (lemmas and the question's own spelling) in the pages' words."""

    lemmas: tuple[str, ...]
    forms: tuple[frozenset[str], ...]


def _keyword(tokens: list[Token]) -> Keyword:
    forms = tuple(frozenset([lemma(token), token.text.casefold()]) for token in tokens)
    return Keyword(tuple(lemma(token) for token in tokens), forms)


def _phrases(question: Doc) -> list[list[Token]]:
    """Noun phrases, and the words outside of them: nouns, names, adjectives, numbers and verbs, in order."""
    found = []
    for chunk in question.noun_chunks:
        tokens = [token for token in chunk if says_something(token)][-MAX_TOKENS:]
        found += [tokens] if tokens else []
    inside = {token.i for tokens in found for token in tokens}
    found += [[token] for token in question if says_something(token) and token.i not in inside]
    return sorted(found, key=lambda tokens: tokens[0].i)


def _held(tokens: list[Token], holding: Callable[[Keyword], int]) -> list[Keyword]:
    whole = _keyword(tokens)
    return [whole] if holding(whole) else [_keyword([token]) for token in tokens]


def keywords(question: Doc, holding: Callable[[Keyword], int], n_sentences: int, k: int) -> list[Keyword]:
    """The `k` keywords of the greatest tf-idf, the best first; ties go to the earlier one.

    `holding` counts the sentences, of `n_sentences`, that hold a keyword. A phrase that none holds as a whole
    is split into its words; a word that no sentence holds is not a keyword, since it leads nowhere.
    """
    said: dict[tuple[str, ...], list[Keyword]] = {}
    for tokens in _phrases(question):
        for keyword in _held(tokens, holding):
            said.setdefault(keyword.lemmas, []).append(keyword)
    weights: dict[Keyword, float] = {}
    for lemmas, same in said.items():
        forms = tuple(frozenset().union(*spellings) for spellings in zip(*(one.forms for one in same), strict=True))
        keyword = Keyword(lemmas, forms)
        n_holding = holding(keyword)
        if n_holding:
            weights[keyword] = len(same) * math.log((1 + n_sentences) / n_holding)
    return sorted(weights, key=lambda keyword: -weights[keyword])[:k]
