"""Faults of a recipe are told by their key before the model is loaded, never as a traceback at the first question."""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from baselines.assemble import assemble, check
from baselines.generate import RANKINGS, LanguageModel
from baselines.parts import NAMES, factory_of
from baselines.recipe import ModelChoice, recipe_of
from edu_rag.errors import ConfigError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")


def no_model(choice: ModelChoice) -> LanguageModel:
    pytest.fail("the model was loaded before the recipe was checked")


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"retrieve": [{"name": "bm25", "k1": "x"}]}, "parts.retrieve.k1: Expected `float`, got `str`"),
        ({"retrieve": [{"name": "bm25", "variant": "okapi"}]}, "known are lucene, rank_bm25"),
        ({"chunk": {"name": "windows", "tokens": "128"}}, "parts.chunk.tokens: Expected `int`"),
        ({"chunk": {"name": "windows", "tokens": 128.5}}, "parts.chunk.tokens: Expected `int`"),
        ({"chunk": {"name": "pattern", "regex": 3}}, "parts.chunk.regex"),
        ({"expand": {"name": "sub-queries", "n": "3"}}, "parts.expand.n: Expected `int`"),
        ({"expand": {"name": "rewrite", "n": True}}, "parts.expand.n: Expected `int`"),
        ({"expand": {"name": "rewrite", "model": "gpt"}}, "parts.expand.model: is the system's own"),
        ({"fuse": {"name": "rrf", "constant": "60"}}, "parts.fuse.constant: Expected `float`"),
        ({"classify": {"name": "svm", "n_classes": 4}}, "parts.classify.n_classes"),
        ({"classify": {"name": "svm", "n_classes": 3}, "n_classes": 2}, "3 is not the recipe's own n_classes, 2"),
        ({"graph": {"name": "rules", "n_triplets": "x"}}, "parts.graph.n_triplets"),
        ({"rerank": {"name": "likelihood", "max_chars": "x"}}, "parts.rerank.max_chars"),
        ({"verify": {"name": "self-check", "by": ["x"]}}, "parts.verify.by"),
        ({"verify": {"name": "self-check", "chunk": 5}}, "parts.verify.chunk"),
        ({"model": {"name": "x", "prompts": ["nope", "nope"]}}, "there is no such prompt"),
        ({"model": {"name": "x", "style": "letter", "abstain_margin": 0.1}}, "abstain_margin: style 'letter' has no"),
        ({"model": {"name": "x", "style": "abstain", "abstain_below": 0.1}}, "abstain_below: style 'abstain' has no"),
        ({"retrieve": [], "rerank": "bi-encoder"}, "parts.rerank: is named, but no retriever"),
        ({"retrieve": [], "chunk": "nope"}, "there is no 'nope'"),
    ],
)
def test_a_fault_is_told_by_its_key_before_the_model_is_loaded(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        assemble(recipe_of({"retrieve": ["bm25"], **parts}), no_model)


@pytest.mark.parametrize(
    "parts",
    [
        {"fuse": {"name": "rrf", "constant": -1}},
        {"fuse": {"name": "rrf", "constant": math.nan}},
        {"fuse": {"name": "weighted-rrf", "alpha": math.nan}},
        {"fuse": {"name": "weighted-rrf", "epsilon": math.inf}},
        {"fuse": "weighted-rrf", "retrieve": ["bm25", "bm25", "bm25"]},
        {"classify": {"name": "svm", "n_per_class": 0}},
    ],
)
def test_a_number_that_makes_no_sense_is_told_before_the_first_question(parts: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"parts\.(fuse|classify)"):
        assemble(recipe_of({"retrieve": ["bm25", "bm25"], **parts}), lambda choice: object())  # type: ignore[arg-type]


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    _, plain = factory_of("retrieve", "bm25", {"k1": 1})
    assert isinstance(plain["k1"], float)
    check(recipe_of({"retrieve": ["bm25"], "model": {"name": "x", "style": next(iter(RANKINGS)), "abstain_below": 1}}))


def test_the_page_lists_the_settings_that_there_are_with_their_values() -> None:
    rows = [line.split("|") for line in PAGE[PAGE.index("## What there is") :].splitlines() if line.startswith("| ")]
    kind, seen = "", set()
    for _, first, names, _, settings, _ in rows[1:]:
        kind = first.strip(" `") or kind
        told = re.findall(r'`([a-z0-9_]+)(?: = ("[^"]*"|[0-9.e-]+|true|false))?`', re.sub(r"\(.*?\)", "", settings))
        for name in re.findall(r"`([a-z0-9-]+)`", names):
            factory, _ = factory_of(kind, name, {})  # type: ignore[arg-type]
            parameters = inspect.signature(factory).parameters
            assert {key for key, _ in told} <= set(parameters), f"{kind} {name}"
            for key, value in told:
                if value:
                    assert tomllib.loads(f"x = {value}")["x"] == parameters[key].default, f"{kind} {name} {key}"
            seen.add((kind, name))
    assert seen == {(kind, name) for kind, names in NAMES.items() for name in names}
