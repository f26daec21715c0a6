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
from baselines.generate import LanguageModel, PromptPair
from baselines.parts import Kind, make
from baselines.pipeline import Numbers, Pipeline
from baselines.recipe import Choice, ModelChoice, Recipe, name_and_settings, read_recipe
from baselines.verify.guard import guarded


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
    return Pipeline(
        chunk=part("chunk", recipe.chunk),
        retrieve=[part("retrieve", choice) for choice in recipe.retrieve],
        fuse=part("fuse", recipe.fuse),
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
    """The system of a recipe."""
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
