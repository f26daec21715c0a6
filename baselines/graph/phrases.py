"""Entities of a parsed sentence: a noun with the words that specify it, without articles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.graph.english import english, lemma
from baselines.graph.triplets import MAX_CHARS, Entity
from baselines.prompt import harmless

if TYPE_CHECKING:
    from spacy.tokens import Token

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
