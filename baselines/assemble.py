"""A system from its recipe: `serve(system("submission.toml"))` is all that a submission of parts has to say."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baselines.check import check, chosen
from baselines.edu_rag_paper import Retriever, System, closed_book
from baselines.edu_rag_paper import assemble as answering
from baselines.parts import Fuse, Kind, factory_of, make
from baselines.pipeline import Numbers, Pipeline, numbers_of_classes
from baselines.prompts.generate import LanguageModel, PromptPair, answer_with, by_confidence
from baselines.recipe import Choice, ModelChoice, Recipe, name_and_settings, read_recipe
from baselines.sourced_answers import sourced
from baselines.verify.guard import guarded
from edu_rag.errors import EduRagError
from edu_rag.serve import SystemAnswer, SystemQuestion


def open_model(choice: ModelChoice) -> LanguageModel:
    """The language model that a recipe names. Raises SubmissionError or MissingExtraError with the remedy."""
    if choice.back_end == "server":
        from baselines.llm import ServerModel

        return ServerModel.from_environment()
    if choice.back_end == "llama.cpp":
        from baselines.llama_cpp import LlamaCppModel

        return LlamaCppModel(choice.name)
    if choice.back_end == "openvino":
        from baselines.openvino_model import OpenVinoModel

        return OpenVinoModel(choice.name, precision=choice.precision)
    from baselines.gguf_model import LocalModel

    return LocalModel(choice.name, precision=choice.precision)


class _Maker:
    """Makes the parts of one recipe, handing the language model and the number of classes to those that want them.

    Parts that want no model are made at once: their faults are reported before the model is loaded, which takes a
    minute.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._given: dict[str, Any] = {"n_classes": recipe.n_classes}
        self._made: list[tuple[Choice, Any]] = []
        for kind, choice in chosen(recipe) if recipe.retrieve else ():
            name, settings = name_and_settings(f"parts.{kind}", choice)
            if "model" not in inspect.signature(factory_of(kind, name, settings)[0]).parameters:
                self._made.append((choice, make(kind, name, settings, given=self._given)))

    def open(self, model: LanguageModel) -> None:
        """Hand it the language model, for the parts that want one."""
        self._given["model"] = model

    def __call__(self, kind: Kind, choice: Choice) -> Any:
        for one, part in self._made:
            if one is choice:
                return part
        name, settings = name_and_settings(f"parts.{kind}", choice)
        return make(kind, name, settings, given=self._given)

    def or_none(self, kind: Kind, choice: Choice | None) -> Any:
        return None if choice is None else self(kind, choice)


def _numbers(recipe: Recipe) -> list[Numbers]:
    own = Numbers(top_k=recipe.top_k, n_keywords=recipe.graph_keywords, depth=recipe.graph_depth)
    return [own] if recipe.classify is None else numbers_of_classes(recipe.n_classes)


def retriever(recipe: Recipe, model: LanguageModel) -> Retriever:
    """The part of the recipe that finds passages; without retrievers, none are found."""
    part = _Maker(recipe)
    part.open(model)
    return _retriever(recipe, part)


def _retriever(recipe: Recipe, part: _Maker) -> Retriever:
    if not recipe.retrieve:
        return closed_book
    fuse: Fuse = part("fuse", recipe.fuse)
    if len(recipe.retrieve) > 1:
        fuse("", [], [[] for _ in recipe.retrieve], 1)  # one that needs another number of rankings raises now
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
    """The system of a recipe. Raises ConfigError if a part cannot be made, before the first question."""
    check(recipe)
    part = _Maker(recipe)
    model = open_model(recipe.model)
    part.open(model)
    prompts = PromptPair(*recipe.model.prompts) if recipe.model.prompts is not None else None
    margin = recipe.model.abstain_margin
    answer = answering(model, recipe.model.style, _retriever(recipe, part), prompts, least_margin=margin)
    if recipe.model.style == "text":
        answer = sourced(answer)
    if recipe.model.abstain_below > 0:
        answer = by_confidence(answer, recipe.model.abstain_below)
    if recipe.verify is None:
        return answer
    verify = part("verify", recipe.verify)
    abstain_on = [relation for relation in recipe.guard if relation not in recipe.replace]

    def answer_from(question: SystemQuestion, text: str) -> SystemAnswer:
        return answer_with(model, recipe.model.style, question, text, prompts, least_margin=margin)

    return guarded(answer, verify, abstain_on, recipe.replace, answer_from)


def system(path: str | Path = "submission.toml") -> System:
    """The system that a submission.toml describes in its table [parts]; faults are printed and end the process."""
    try:
        return assemble(read_recipe(Path(path)))
    except EduRagError as error:  # a team reads one line in the log, not a traceback through our house
        sys.exit(str(error))
