"""Expansion by WordNet: the query and, after it, synonyms of its words (Mala et al. 2025, section 3.1, equation 1)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from baselines.expand.lexicon import open_wordnet
from baselines.parts import Expand
from baselines.token_ids import tokenise
from edu_rag.errors import ConfigError, MissingExtraError

LONGEST = 40
"""Words longer than this are not words of a language: WordNet is not asked for them."""
MAX_WORDS = 200
"""Distinct words of a query that are looked up: a hostile question may be as long as a book."""


def synonyms(word: str, top: int = 2, folder: Path | None = None) -> list[str]:
    """At most `top` synonyms of a word: T(q_j) of Mala et al., section 3.1.

    Which two are "most relevant" the paper does not say. Here senses come as WordNet orders them (nouns, verbs,
    adjectives, adverbs; within each the commonest first) and the words of a sense in its own order; the word itself is
    left out in any spelling of case. So `car` gives auto, automobile. The paper's example, {automobile, vehicle}, does
    not come from synonyms alone: `vehicle` is not in any synset of `car`, it is four steps above it.
    """
    if len(word) > LONGEST:
        return []
    found: dict[str, None] = {}
    for synset in open_wordnet(folder).synsets(word):
        for name in synset.lemma_names():
            said = name.replace("_", " ")
            if said.casefold() != word.casefold():
                found[said.casefold()] = None
        if len(found) >= top:
            break
    return list(found)[:top]


def stop_words() -> frozenset[str]:
    """Words that carry no topic; scikit-learn's English list (NLTK's is a download)."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError as error:
        raise MissingExtraError(
            "expansion by WordNet", f"{error.name} is not installed", "pip install 'edu-rag-bench[parts]'"
        ) from None
    return frozenset(ENGLISH_STOP_WORDS)


def wordnet(top: int = 2, every_word: bool = False, folder: str | None = None) -> Expand:
    """The expander q' = q + the synonyms of each of its words (equation 1), as one query.

    Synonyms follow the query in the order of its words, each once; words of the query are left out. Equation 1
    expands every word, so that "in" brings inch and indium; by default we leave stop words unexpanded, because the
    section wants the query's intent unchanged (`every_word` follows the letter). `folder` is WordNet's, if it is not
    to be found by itself.
    """
    if top < 0:
        raise ConfigError("parts.expand.top", f"{top} is negative", "give 0 or more")
    place = Path(folder) if folder is not None else None
    skipped = frozenset() if every_word else stop_words()
    open_wordnet(place)  # now, not at the first question

    @lru_cache(maxsize=20_000)
    def of(word: str) -> tuple[str, ...]:
        return tuple(synonyms(word, top, place))

    def expand(query: str, n: int | None = None) -> list[str]:
        words = list(dict.fromkeys(tokenise(query)))[:MAX_WORDS]
        added = dict.fromkeys(said for word in words if word not in skipped for said in of(word))
        new = [said for said in added if said not in words]
        return [" ".join([query, *new])] if new else [query]

    return expand
