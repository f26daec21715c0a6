"""Lists all faults of a recipe before any model is loaded: for `edu-rag check`, and before a system is assembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from baselines.parts import Kind, factory_of
from baselines.prompts.generate import RANKINGS
from baselines.prompts.prompt import load_prompt
from baselines.recipe import Choice, ModelChoice, Recipe, name_and_settings, recipe_of
from edu_rag.errors import ConfigError, EduRagError, FaultsError
from edu_rag.files.typed import faults_and_record

NEEDS_RETRIEVER = ("expand", "rerank", "classify", "graph")


def chosen(recipe: Recipe) -> list[tuple[Kind, Choice]]:
    """All parts that a recipe names."""
    one_each: list[tuple[Kind, Choice | None]] = [
        ("chunk", recipe.chunk),
        ("expand", recipe.expand),
        ("fuse", recipe.fuse),
        ("rerank", recipe.rerank),
        ("classify", recipe.classify),
        ("graph", recipe.graph),
        ("verify", recipe.verify),
    ]
    retrievers: list[tuple[Kind, Choice]] = [("retrieve", choice) for choice in recipe.retrieve]
    return [*retrievers, *((kind, choice) for kind, choice in one_each if choice is not None)]


def _model_faults(choice: ModelChoice) -> Iterator[EduRagError]:
    try:
        for name in choice.prompts or ():
            load_prompt(name)
    except EduRagError as error:
        yield error
    if choice.precision != "float32" and choice.back_end not in ("transformers", "openvino"):
        what = f"back end {choice.back_end!r} has no precision to choose"
        yield ConfigError("parts.model.precision", what, 'leave it out, or set back_end = "transformers" or "openvino"')
    elif choice.precision == "int8" and choice.back_end != "openvino":
        what = f"back end {choice.back_end!r} does not compute in 'int8'"
        yield ConfigError("parts.model.precision", what, 'choose "bfloat16", or set back_end = "openvino"')
    for key in ("abstain_below", "abstain_margin"):
        if getattr(choice, key) > 0 and choice.style not in RANKINGS:
            what = f"style {choice.style!r} has no confidence"
            yield ConfigError(f"parts.model.{key}", what, f"choose one of {', '.join(RANKINGS)}")


def _settings_of(kind: Kind, choice: Choice, faults: list[EduRagError]) -> Mapping[str, Any]:
    """A part's settings in the types that it expects; their faults are added to `faults`."""
    try:
        return factory_of(kind, *name_and_settings(f"parts.{kind}", choice))[1]
    except FaultsError as error:
        faults += error.faults
    except EduRagError as error:
        faults.append(error)
    return {}


def _order_faults(recipe: Recipe) -> Iterator[EduRagError]:
    """Weighted fusion takes its rankings by place, so that a wrong order would be a wrong result without a word."""
    names = [choice if isinstance(choice, str) else choice.get("name") for choice in (recipe.fuse, *recipe.retrieve)]
    if names[0] == "weighted-rrf" and recipe.retrieve and names[1:] != ["bm25", "dense"]:
        what = f"weighted-rrf weighs a sparse and a dense ranking, and was given {names[1:]}"
        yield ConfigError("parts.fuse", what, 'retrieve = ["bm25", "dense"], in this order')


def _replace_faults(recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[EduRagError]:
    if recipe.replace and not str(settings.get("stack", "")).endswith("-reader"):
        remedy = 'verify = { name = "self-check", stack = "neural-reader" }'
        yield ConfigError("parts.replace", "needs a verifier with a reader", remedy)


def faults_of(recipe: Recipe) -> list[EduRagError]:
    """All faults that can be seen without making a part."""
    faults = [*_model_faults(recipe.model), *_order_faults(recipe)]
    for kind, choice in chosen(recipe):
        plain = _settings_of(kind, choice, faults)
        if kind in NEEDS_RETRIEVER and not recipe.retrieve:
            faults.append(ConfigError(f"parts.{kind}", "is named, but no retriever", f"name one, or leave {kind} out"))
        if kind == "classify" and plain.get("n_classes", recipe.n_classes) != recipe.n_classes:
            what = f"{plain['n_classes']} is not the recipe's own n_classes, {recipe.n_classes}"
            faults.append(ConfigError("parts.classify.n_classes", what, "set n_classes next to classify, once"))
        if kind == "verify":
            faults += _replace_faults(recipe, plain)
    return faults


def check(recipe: Recipe) -> None:
    """Raise the faults of a recipe: a single fault as itself, several as FaultsError."""
    faults = faults_of(recipe)
    if len(faults) > 1:
        raise FaultsError(faults)
    for fault in faults:
        raise fault


def recipe_faults(parts: Mapping[str, Any]) -> tuple[Recipe | None, list[EduRagError]]:
    """The recipe of a table [parts] with all its faults; no recipe if the table itself has some.

    A fault's `where` is its setting, such as `parts.retrieve`.
    """
    try:
        recipe = recipe_of(parts, "")
    except FaultsError as error:
        rest = _readable_rest(parts, [fault.where for fault in error.faults])
        return None, [*error.faults, *(faults_of(rest) if rest is not None else [])]
    return recipe, faults_of(recipe)


def _readable_rest(parts: Mapping[str, Any], faulty: Iterable[str]) -> Recipe | None:
    """The recipe without its faulty settings, so that the parts it names are checked too; None if it cannot be read."""
    rest = {key: dict(value) if isinstance(value, dict) else value for key, value in parts.items()}
    for where in faulty:
        _, key, *inner = where.split(".")
        if key == "retrieve":
            rest[key] = ["bm25"]  # without one, every part that needs a retriever would be a fault
        elif inner and isinstance(rest.get(key), dict) and inner[0] != "name":
            rest[key].pop(inner[0], None)
        else:
            rest.pop(key, None)
    return faults_and_record(rest, Recipe)[1]


def chosen_names(recipe: Recipe) -> Iterator[str]:
    """The parts and the model of a recipe, by name."""
    for kind, choice in chosen(recipe) if recipe.retrieve or recipe.verify else ():
        yield f"{kind} {name_and_settings(f'parts.{kind}', choice)[0]}"
    yield f"model {recipe.model.name}, {recipe.model.style}"
