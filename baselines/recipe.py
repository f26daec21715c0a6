"""The recipe of a system: the table `[parts]` of its submission.toml, read strictly.

```toml
[parts]
chunk = { name = "windows", tokens = 128, overlap = 0 }
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from baselines.edu_rag_paper import MAX_CHARS, TOP_K
from baselines.models import Precision
from baselines.parts import Relation
from baselines.prompts.generate import StyleName
from edu_rag.errors import ConfigError, FaultsError, RecordError
from edu_rag.files.typed import faults_and_record

NEEDS = {"n_classes": "classify", "rerank_from": "rerank", "guard": "verify", "replace": "verify"}
"""Settings of a recipe that have an effect only with this part."""
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
        one = '"NAME" or { name = "NAME", … }'
        raise ConfigError(where, "has no name", f"write {where} = {f'[{one}]' if where == 'parts.retrieve' else one}")
    return name, settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The language model: a name of baselines.models, a file or a hub id, and the back end that runs it.

    `style` is how it answers (baselines.prompts.generate.STYLES); `prompts` are a prompt without and one with context,
    where the style's own are not meant; `precision` is that of transformers' weights, or of OpenVINO's activations,
    which alone may have `int8`; `abstain_below` turns answers of less confidence into "I don't know", and
    `abstain_margin` those whose confidence is not that far ahead of the second choice's.
    """

    name: str
    back_end: Literal["transformers", "llama.cpp", "openvino", "server"] = "transformers"
    precision: Precision = "float32"
    style: StyleName = "likelihood"
    prompts: tuple[str, str] | None = None
    abstain_below: Annotated[float, Meta(ge=0, le=1)] = 0.0
    abstain_margin: Annotated[float, Meta(ge=0, le=1)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which parts, with which settings; a part that is left out is not in the system.

    `query` is the text to search for: the question's text, or that and its choices. `candidates` are kept from each
    retriever; `top_k` passages of at most `max_chars` characters in all make the context. With `classify`, the numbers
    of HyPA-RAG's Tables 6-7 for the query's class replace `top_k`, Q, K and S (`n_classes` says which column).
    `guard` abstains if `verify` finds one of these relations; `replace` takes the reader's answer instead.
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
    replace: tuple[Relation, ...] = ()
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
    """The recipe that a table says. Raises FaultsError with every fault: `WHERE: parts.KEY`, or `parts.KEY` alone."""
    faults, recipe = faults_and_record(parts, Recipe)
    place = f"{where}: parts" if where else "parts"
    found = [ConfigError(f"{place}.{fault.where}", fault.what, _remedy(fault)) for fault in faults]
    found += [ConfigError(f"{place}.{key}", *said) for key, *said in _without_effect(parts)]
    if recipe is None or found:
        raise FaultsError(found)
    return recipe


def _remedy(fault: RecordError) -> str:
    if fault.where in ModelChoice.__dataclass_fields__ and fault.what == "unknown field":
        return "it belongs under [parts.model]"
    return 'write retrieve = ["NAME", …]' if fault.where == "retrieve" else fault.remedy


def _without_effect(parts: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Keys without effect in this recipe: their author probably meant something by them."""
    for key in ("top_k", "graph_keywords", "graph_depth"):
        if key in parts and "classify" in parts:
            yield key, "has no effect: with classify, Tables 6-7 say it", f"leave {key} or classify out"
    for key, needs in (
        ("n_classes", "classify"),
        ("rerank_from", "rerank"),
        ("guard", "verify"),
        ("replace", "verify"),
    ):
        if key in parts and needs not in parts:
            yield key, f"has no effect without {needs}", f"name {needs}, or leave {key} out"
    for key in ("graph_keywords", "graph_depth"):
        if key in parts and "graph" not in parts:
            yield key, "has no effect without graph", f"name graph, or leave {key} out"
    if "verify" in parts and parts.get("guard") == [] and not parts.get("replace"):
        yield "guard", "is empty, so that verify would change no answer", "leave verify out, or name relations"
    retrieve = parts.get("retrieve", [])
    if "fuse" in parts and isinstance(retrieve, list | tuple) and len(retrieve) < 2:
        yield "fuse", "has no effect with fewer than two retrievers", "name another retriever, or leave fuse out"
    yield from _too_few(parts)


def _too_few(parts: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Numbers of passages that a later one asks for more than."""
    later = [("candidates", "top_k"), ("rerank_from", "top_k"), ("candidates", "rerank_from")]
    for key, wants in later:
        few, many = parts.get(key), parts.get(wants)
        if isinstance(few, int) and isinstance(many, int) and few < many:
            yield key, f"{few} is under {wants}, {many}, which needs as many", f"raise {key}"
