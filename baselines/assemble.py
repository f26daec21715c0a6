"""A system from its recipe: `serve(system("submission.toml"))` is all that a submission of parts has to say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from baselines.abstain import by_confidence
from baselines.classify.adapt import numbers_of_classes
from baselines.context import Retriever, closed_book
from baselines.edu_rag_paper import System
from baselines.edu_rag_paper import assemble as answering
from baselines.generate import RANKINGS, LanguageModel, PromptPair
from baselines.parts import Fuse, Kind, factory_of, make
from baselines.pipeline import Numbers, Pipeline
from baselines.prompt import load_prompt
from baselines.recipe import Choice, ModelChoice, Recipe, name_and_settings, read_recipe
from baselines.verify.guard import guarded
from edu_rag.errors import ConfigError


def open_model(choice: ModelChoice) -> LanguageModel:
    """The language model that a recipe names. Raises SubmissionError or MissingExtraError with the remedy."""
    if choice.back_end == "server":
        from baselines.llm import ServerModel

        return ServerModel.from_environment()
    if choice.back_end == "llama.cpp":
        from baselines.llama_cpp import LlamaCppModel

        return LlamaCppModel(choice.name)
    if choice.back_end == "llama-cpp-python":
        from baselines.llama_in_process import InProcessModel

        return InProcessModel(choice.name)
    from baselines.gguf_model import LocalModel

    return LocalModel(choice.name)


def _chosen(recipe: Recipe) -> list[tuple[Kind, Choice]]:
    """All parts that a recipe names."""
    one_each: list[tuple[Kind, Choice | None]] = [
        ("chunk", recipe.chunk), ("expand", recipe.expand), ("fuse", recipe.fuse), ("rerank", recipe.rerank),
        ("classify", recipe.classify), ("graph", recipe.graph), ("verify", recipe.verify),
    ]  # fmt: skip
    retrievers: list[tuple[Kind, Choice]] = [("retrieve", choice) for choice in recipe.retrieve]
    return [*retrievers, *((kind, choice) for kind, choice in one_each if choice is not None)]


def _check_model(choice: ModelChoice) -> None:
    for name in choice.prompts or ():
        load_prompt(name)
    for key in ("abstain_below", "abstain_margin"):
        if getattr(choice, key) > 0 and choice.style not in RANKINGS:
            what = f"style {choice.style!r} has no confidence"
            raise ConfigError(f"parts.model.{key}", what, f"choose one of {', '.join(RANKINGS)}")


def check(recipe: Recipe) -> None:
    """Tell what is wrong with a recipe before its model is loaded, which takes a minute. Raises ConfigError."""
    _check_model(recipe.model)
    for kind, choice in _chosen(recipe):
        name, settings = name_and_settings(f"parts.{kind}", choice)
        _, plain = factory_of(kind, name, settings)
        if kind in ("expand", "rerank", "classify", "graph") and not recipe.retrieve:
            raise ConfigError(f"parts.{kind}", "is named, but no retriever", f"name one, or leave {kind} out")
        if kind == "classify" and plain.get("n_classes", recipe.n_classes) != recipe.n_classes:
            what = f"{plain['n_classes']} is not the recipe's own n_classes, {recipe.n_classes}"
            raise ConfigError("parts.classify.n_classes", what, "set n_classes beside classify, once")


class _Maker:
    """Makes the parts of one recipe, handing the language model and the number of classes to those that want them."""

    def __init__(self, recipe: Recipe, model: LanguageModel) -> None:
        self._given = {"model": model, "n_classes": recipe.n_classes}

    def __call__(self, kind: Kind, choice: Choice) -> Any:
        name, settings = name_and_settings(f"parts.{kind}", choice)
        return make(kind, name, settings, given=self._given)

    def or_none(self, kind: Kind, choice: Choice | None) -> Any:
        return None if choice is None else self(kind, choice)


def _numbers(recipe: Recipe) -> list[Numbers]:
    own = Numbers(top_k=recipe.top_k, n_keywords=recipe.graph_keywords, depth=recipe.graph_depth)
    return [own] if recipe.classify is None else numbers_of_classes(recipe.n_classes)


def retriever(recipe: Recipe, model: LanguageModel) -> Retriever:
    """The part of the recipe that finds passages; without retrievers, none are found."""
    if not recipe.retrieve:
        return closed_book
    part = _Maker(recipe, model)
    fuse: Fuse = part("fuse", recipe.fuse)
    if len(recipe.retrieve) > 1:
        fuse("", [], [[] for _ in recipe.retrieve], 1)  # one that wants another number of rankings says so now
    return Pipeline(
        chunk=part("chunk", recipe.chunk),
        retrieve=[part("retrieve", choice) for choice in recipe.retrieve],
        fuse=fuse,
        numbers=_numbers(recipe),
        candidates=recipe.candidates,
        expand=part.or_none("expand", recipe.expand),
        rerank=part.or_none("rerank", recipe.rerank),
        rerank_from=recipe.rerank_from,
        classify=part.or_none("classify", recipe.classify),
        graph=part.or_none("graph", recipe.graph),
        max_chars=recipe.max_chars,
        with_choices=recipe.query == "question-and-choices",
    )


def assemble(recipe: Recipe, open_model: Callable[[ModelChoice], LanguageModel] = open_model) -> System:
    """The system of a recipe. Raises ConfigError where a part cannot be made, before the first question."""
    check(recipe)
    model = open_model(recipe.model)
    prompts = PromptPair(*recipe.model.prompts) if recipe.model.prompts is not None else None
    margin = recipe.model.abstain_margin
    answer = answering(model, recipe.model.style, retriever(recipe, model), prompts, least_margin=margin)
    if recipe.model.abstain_below > 0:
        answer = by_confidence(answer, recipe.model.abstain_below)
    if recipe.verify is None:
        return answer
    return guarded(answer, _Maker(recipe, model)("verify", recipe.verify), recipe.guard)


def system(path: str | Path = "submission.toml") -> System:
    """The system that a submission.toml describes in its table [parts]. Raises ConfigError naming what is wrong."""
    return assemble(read_recipe(Path(path)))
