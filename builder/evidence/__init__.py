"""Labelling evidence: which sentences of a question's pages support its gold answer, by named, versioned methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from builder.evidence.answer_near import AnswerNear
from builder.evidence.answer_string import AnswerString
from builder.evidence.boosted_support import BoostedSupport
from builder.evidence.embedded_support import EmbeddedSupport
from builder.evidence.embedding import DEFAULT_MODEL, Embedding
from builder.evidence.given_evidence import MARKED, READ, HomePage
from builder.evidence.support_model import ModelledSupport
from builder.evidence.true_false import TrueFalse
from edu_rag.errors import ConfigError
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Question, WebPage


class EvidenceMethod(Protocol):
    """Finds sentences of a question's pages that support its gold answer; `name` is versioned."""

    @property
    def name(self) -> str:
        """What the column `Evidence.method` contains."""
        ...

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> Iterable[Evidence]:
        """Evidence on the pages, which are in rank order; a bounded number a question, nothing where it cannot tell."""
        ...


METHODS: Mapping[str, EvidenceMethod] = {
    method.name: method
    for method in (
        AnswerString(),
        AnswerNear(),
        TrueFalse(),
        Embedding(DEFAULT_MODEL),
        ModelledSupport(),
        BoostedSupport(),
        EmbeddedSupport(DEFAULT_MODEL),
        HomePage(),
    )
}
DEFAULT_METHODS = ("answer-string-v1",)
"""`evidence-v5` finds more (docs/evidence.md), but another default would change the labels of existing datasets."""


def check_methods(names: Iterable[str]) -> None:
    """Raise ConfigError for the first name that is not a method."""
    for name in names:
        if name in (MARKED, READ):
            raise ConfigError("[label] evidence", f"{name!r} comes from a file", "name the file in `[label] marks`")
        if name not in METHODS:
            raise ConfigError("[label] evidence", f"unknown method {name!r}", f"use some of {', '.join(METHODS)}")


def _method(name: str, model: str) -> EvidenceMethod:
    check_methods([name])
    method = METHODS[name]
    return method.with_model(model) if isinstance(method, Embedding | EmbeddedSupport) else method


def label_evidence(
    question: Question,
    gold: Gold,
    pages: Sequence[WebPage],
    methods: Sequence[str] = DEFAULT_METHODS,
    model: str = DEFAULT_MODEL,
) -> list[Evidence]:
    """The sentences of the pages that support the gold answer by the named methods, by page, position and method.

    `pages` are in rank order; each method gives at most MAX_PER_QUESTION sentences. `model` is the embedding model.
    Raises ConfigError for a name that is not a method, MissingExtraError where a method's extra is not installed.
    """
    found = {item for name in methods for item in _method(name, model).find(question, gold, pages)}
    return sorted(found, key=lambda item: (item.page_id, item.start, item.end, item.method))
