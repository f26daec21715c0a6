"""The recipe of a system: the table `[parts]` of its submission.toml, read strictly.

```toml
[parts]
chunk = { name = "windows", tokens = 128 }
expand = "wordnet"
retrieve = ["bm25", { name = "dense", encoder = "all-mpnet-base-v2" }]
fuse = "weighted-rrf"
top_k = 3

[parts.model]
name = "gemma3-270m"
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from baselines.context import MAX_CHARS, TOP_K
from baselines.generate import StyleName
from edu_rag.errors import ConfigError, FaultsError
from edu_rag.typed import faults_and_record

Count = Annotated[int, Meta(ge=1)]
Choice = str | dict[str, Any]
"""A part by name, or a table with its name and its settings."""


def name_and_settings(where: str, choice: Choice) -> tuple[str, dict[str, Any]]:
    """A part's name and settings, however it was written."""
    if isinstance(choice, str):
        return choice, {}
    settings = dict(choice)
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(where, "has no name", 'write where = "NAME" or { name = "NAME", … }'.replace("where", where))
    return name, settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The language model: a name of baselines.models, a file or a hub id, and the back end that runs it.

    `style` is how it answers (baselines.generate.STYLES); `prompts` are a prompt without and one with context, where
    the style's own are not meant; `abstain_below` turns answers of less confidence into "I don't know", and
    `abstain_margin` those whose confidence is not that far ahead of the second choice's.
    """

    name: str
    back_end: Literal["transformers", "llama.cpp", "llama-cpp-python", "server"] = "transformers"
    style: StyleName = "likelihood"
    prompts: tuple[str, str] | None = None
    abstain_below: Annotated[float, Meta(ge=0, le=1)] = 0.0
    abstain_margin: Annotated[float, Meta(ge=0, le=1)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which parts, with which settings; a part that is left out is not in the system.

    `query` is what is searched for: the question's text, or that and its choices. `candidates` are kept from each
    retriever; `top_k` passages of at most `max_chars` characters in all make the context. With `classify`, the numbers
    of HyPA-RAG's Tables 6-7 for the query's class stand in for `top_k`, Q, K and S (`n_classes` says which column).
    `guard` abstains where `verify` finds one of these relations.
    """

    query: Literal["question", "question-and-choices"] = "question"
    chunk: Choice = "sentences"
    expand: Choice | None = None
    retrieve: tuple[Choice, ...] = ()
    candidates: Count = 30
    fuse: Choice = "rrf"
    rerank: Choice | None = None
    rerank_from: Count = 10
    top_k: Count = TOP_K
    max_chars: Count = MAX_CHARS
    classify: Choice | None = None
    n_classes: Literal[2, 3] = 2
    graph: Choice | None = None
    graph_keywords: Count = 4
    graph_depth: Count = 2
    verify: Choice | None = None
    guard: tuple[Literal["no", "not_related"], ...] = ("no", "not_related")
    model: ModelChoice = field(default_factory=lambda: ModelChoice(name="smollm2-135m"))


def read_recipe(path: Path) -> Recipe:
    """The recipe in a submission.toml. Raises ConfigError or FaultsError, every fault named."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(path, f"cannot be read ({error})", "give a submission.toml") from None
    parts = values.get("parts")
    if not isinstance(parts, dict):
        raise ConfigError(path, "has no table [parts]", "name the system's parts there (docs/parts.md)")
    return recipe_of(parts, str(path))


def recipe_of(parts: Mapping[str, Any], where: str = "parts") -> Recipe:
    """The recipe that a table says. Raises FaultsError with every fault."""
    faults, recipe = faults_and_record(parts, Recipe)
    if recipe is None:
        raise FaultsError([ConfigError(f"{where}: parts.{fault.where}", fault.what, fault.remedy) for fault in faults])
    return recipe
