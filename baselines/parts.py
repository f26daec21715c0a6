"""The kinds of parts that a system is made of, each one small Protocol, and the names that recipes call them by.

A part is a function (or an object that can be called), usable alone. `make("retrieve", "bm25", {"k1": 0.9})` finds its
factory by name, checks the settings against the factory's parameters, and calls it. A part's model or library is
imported when the part is made, so that a system pays only for the parts it has.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from edu_rag.errors import ConfigError, EduRagError, FaultsError
from edu_rag.files.mistyped import mistyped
from edu_rag.serve import SystemQuestion


class PagePassage(NamedTuple):
    """`text` is read by the model; `start` and `end` are offsets into the page's text, whose span the passage cites.

    For most chunkers `text` is exactly that span; a triplet's text is shorter than the sentence it cites.
    """

    page_id: str
    start: int
    end: int
    text: str

    @property
    def span(self) -> tuple[str, int, int]:
        """The span, as an answer cites it."""
        return self.page_id, self.start, self.end


class ScoredPassage(NamedTuple):
    """A text by its place in the list that was ranked, and its score: higher is better, on the part's own scale."""

    place: int
    score: float


class Chunk(Protocol):
    """Cuts a question's pages into passages: pages in rank order, passages in page order, equal texts once."""

    def __call__(self, question: SystemQuestion) -> list[PagePassage]:
        """All passages of all pages."""
        ...


class Rank(Protocol):
    """Ranks texts for a query: the task of both a retriever and a reranker."""

    def __call__(self, query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        """The `k` best texts (all, where there are fewer), best first; ties go to the smaller place."""
        ...


class Expand(Protocol):
    """Turns one query into the queries that are searched for: the first is the main one."""

    def __call__(self, query: str, n: int | None = None) -> list[str]:
        """At least one query. `n` is how many rewrites are wanted (Q), where the part makes any."""
        ...


class Fuse(Protocol):
    """Makes one ranking of several: `lists` are rankings of the same `texts`, in the order of the recipe's retrievers.

    Fusion may weigh them by the query (sparse first, dense second).
    """

    def __call__(
        self, query: str, texts: Sequence[str], lists: Sequence[Sequence[ScoredPassage]], k: int
    ) -> list[ScoredPassage]:
        """The `k` best places of all lists, best first; ties go to the smaller place."""
        ...


class Classify(Protocol):
    """How complex a query is: 0 (one context), 1 (two) or 2 (three and more; not in two classes)."""

    def __call__(self, query: str) -> int:
        """The class."""
        ...


class Graph(Protocol):
    """Triplets of the question's pages that its keywords lead to, as passages that cite their sentences."""

    def __call__(
        self, question: SystemQuestion, passages: Sequence[PagePassage], n_keywords: int, depth: int
    ) -> list[PagePassage]:
        """At most the triplets within `depth` steps of `n_keywords` keywords (K and S of HyPA-RAG, Table 7)."""
        ...


Relation = Literal["yes", "no", "not_related"]
"""Huo et al., section 2.3: the passage supports the answer, contradicts it, or says nothing about it."""


class Check(NamedTuple):
    """A verifier's result: the relation, the best passage that it looked at, and the cost in tokens.

    `probabilities` are those of the three relations, where the verifier knows them. `others` are further passages that
    it looked at, `extract` is what a reader took from them as the answer.
    """

    relation: Relation
    passage: PagePassage | None
    n_input: int = 0
    n_output: int = 0
    probabilities: Mapping[Relation, float] | None = None
    others: tuple[PagePassage, ...] = ()
    extract: str | None = None


class Verify(Protocol):
    """Checks an answer against passages retrieved for question + answer."""

    def __call__(self, question: SystemQuestion, answer: str) -> Check:
        """`answer` is a label of the question's choices, or a text for free_text questions."""
        ...


Kind = Literal["chunk", "retrieve", "expand", "fuse", "rerank", "classify", "graph", "verify"]

NAMES: dict[Kind, dict[str, str]] = {
    "chunk": {
        "sentences": "baselines.chunk.sentences:sentences",
        "windows": "baselines.chunk.sentences:windows",
        "semantic": "baselines.chunk.semantic:semantic",
        "pattern": "baselines.chunk.pattern:pattern",
    },
    "retrieve": {
        "bm25": "baselines.retrieve.bm25:bm25",
        "dense": "baselines.retrieve.dense:dense",
    },
    "expand": {
        "wordnet": "baselines.expand.wordnet:wordnet",
        "rewrite": "baselines.expand.rewrite:rewrite",
        "sub-queries": "baselines.expand.sub_queries:sub_queries",
    },
    "fuse": {
        "rrf": "baselines.retrieve.fuse:rrf",
        "weighted-rrf": "baselines.retrieve.fuse:weighted_rrf",
    },
    "rerank": {
        "cross-encoder": "baselines.rerank.cross_encoder:cross_encoder",
        "bi-encoder": "baselines.rerank.cross_encoder:bi_encoder",
        "likelihood": "baselines.rerank.likelihood:likelihood",
    },
    "classify": {
        "logistic-regression": "baselines.classify.tfidf:logistic_regression",
        "svm": "baselines.classify.tfidf:svm",
        "distilbert": "baselines.classify.distilbert:distilbert",
    },
    "graph": {
        "rules": "baselines.graph.graph_part:rules",
        "llm": "baselines.graph.graph_part:llm",
    },
    "verify": {
        "self-check": "baselines.verify.self_check:self_check",
    },
}
"""Kind -> name -> where its factory is (module:function)."""


def _plain(where: str, value: Any, wanted: Any) -> Any:
    """A setting as its parameter wants it (a whole number may stand for a real one). Raises ConfigError."""
    if getattr(wanted, "_is_protocol", False):
        raise ConfigError(where, "is the system's own", "name it under [parts.model]")
    try:
        return msgspec.convert(value, wanted, strict=True)
    except msgspec.ValidationError as error:
        known = ", ".join(map(str, typing.get_args(wanted))) if typing.get_origin(wanted) is Literal else ""
        what = mistyped(str(error)).what
        raise ConfigError(where, what, f"known are {known}" if known else "see docs/parts.md") from None


def _known(name: str, names: Iterable[str]) -> str:
    """The known names for an error message, the closest first."""
    close = difflib.get_close_matches(name[:100], names, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"known are {', '.join(names) or 'none'}"


def factory_of(kind: Kind, name: str, settings: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The factory of a part, and the settings as its parameters want them: nothing is made yet.

    Raises ConfigError on an unknown kind or name, an unknown setting, or one of another type; FaultsError on several.
    """
    if kind not in NAMES:
        raise ConfigError(f"parts.{kind}", "there is no such kind of part", f"known are {', '.join(NAMES)}")
    known = NAMES[kind]
    if name not in known:
        raise ConfigError(f"parts.{kind}", f"there is no {name!r}", _known(name, known))
    module, function = known[name].split(":")
    factory: Callable[..., Any] = getattr(importlib.import_module(module), function)
    wanted = typing.get_type_hints(factory)
    wanted.pop("return", None)
    plain: dict[str, Any] = {}
    faults: list[EduRagError] = []
    for key, value in settings.items():
        where = f"parts.{kind}.{key}"
        if key not in wanted:
            faults.append(ConfigError(where, f"{name} has no such setting", _known(key, wanted)))
            continue
        try:
            plain[key] = _plain(where, value, wanted[key])
        except ConfigError as error:
            faults.append(error)
    if len(faults) > 1:
        raise FaultsError(faults)
    for fault in faults:
        raise fault
    return factory, plain


def make(kind: Kind, name: str, settings: Mapping[str, Any], *, given: Mapping[str, Any] | None = None) -> Any:
    """The part of this kind and name with these settings.

    `given` holds objects that the system already has (a language model, say): a factory gets those of its parameters
    that the settings leave out. Raises ConfigError as `factory_of` does, or if a setting is missing.
    """
    factory, plain = factory_of(kind, name, settings)
    wanted = inspect.signature(factory).parameters
    every = {key: value for key, value in (given or {}).items() if key in wanted} | plain
    lacking = [key for key, one in wanted.items() if one.default is one.empty and key not in every]
    if lacking:
        raise ConfigError(
            f"parts.{kind}",
            f"{name} needs {', '.join(lacking)}",
            "name it in submission.toml, or hand it in as `given`",
        )
    return factory(**every)
