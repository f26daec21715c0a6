"""Faults of a recipe are told by their key before the model is loaded, never as a traceback at the first question."""

from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from baselines.assemble import assemble
from baselines.check import check, recipe_faults
from baselines.parts import NAMES, Kind, factory_of, make
from baselines.prompts.generate import RANKINGS, LanguageModel
from baselines.recipe import ModelChoice, recipe_of
from edu_rag.errors import ConfigError, EduRagError, FaultsError
from harness.submission.folder import open_submission

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
PAGE = (ROOT / "docs" / "parts.md").read_text(encoding="utf-8")


def no_model(choice: ModelChoice) -> LanguageModel:
    pytest.fail("the model was loaded before the recipe was checked")


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"retrieve": [{"name": "bm25", "k1": "x"}]}, "parts.retrieve.k1: is a text, not a number"),
        ({"retrieve": [{"name": "bm25", "variant": "okapi"}]}, "known are lucene, rank_bm25"),
        ({"chunk": {"name": "windows", "tokens": "128"}}, "parts.chunk.tokens: is a text, not a whole number"),
        ({"chunk": {"name": "windows", "tokens": 128.5}}, "parts.chunk.tokens: is a number, not a whole number"),
        ({"chunk": {"name": "pattern", "regex": 3}}, "parts.chunk.regex"),
        ({"expand": {"name": "sub-queries", "n": "3"}}, "parts.expand.n: is a text, not a whole number"),
        ({"expand": {"name": "rewrite", "n": True}}, "parts.expand.n: is true or false, not a whole number"),
        ({"expand": {"name": "rewrite", "model": "gpt"}}, "parts.expand.model: is the system's own"),
        (
            {"retrieve": ["bm25", "dense"], "fuse": {"name": "rrf", "constant": "60"}},
            "parts.fuse.constant: is ",
        ),
        ({"classify": {"name": "svm", "n_classes": 4}}, "parts.classify.n_classes"),
        ({"classify": {"name": "svm", "n_classes": 3}, "n_classes": 2}, "3 is not the recipe's own n_classes, 2"),
        ({"graph": {"name": "rules", "n_triplets": "x"}}, "parts.graph.n_triplets"),
        ({"rerank": {"name": "likelihood", "max_chars": "x"}}, "parts.rerank.max_chars"),
        ({"verify": {"name": "self-check", "by": ["x"]}}, "parts.verify.by"),
        ({"verify": {"name": "self-check", "chunk": 5}}, "parts.verify.chunk"),
        ({"model": {"name": "x", "prompts": ["nope", "nope"]}}, "there is no such prompt"),
        ({"model": {"name": "x", "style": "letter", "abstain_margin": 0.1}}, "abstain_margin: style 'letter' has no"),
        ({"model": {"name": "x", "style": "abstain", "abstain_below": 0.1}}, "abstain_below: style 'abstain' has no"),
        (
            {"model": {"name": "x", "back_end": "llama.cpp", "precision": "bfloat16"}},
            "parts.model.precision: back end 'llama.cpp' has no precision",
        ),
        (
            {"model": {"name": "x", "precision": "int8"}},
            "parts.model.precision: back end 'transformers' does not compute in 'int8'",
        ),
        ({"retrieve": [], "rerank": "bi-encoder"}, "parts.rerank: is named, but no retriever"),
        ({"retrieve": [], "chunk": "nope"}, "there is no 'nope'"),
        ({"retrieve": ["bm52"]}, "there is no 'bm52': did you mean 'bm25'?"),
        ({"retrieve": "bm25"}, 'write retrieve = ["NAME", …]'),
        ({"retrieve": [{"k1": 0.9}]}, 'write parts.retrieve = ["NAME" or'),
        ({"style": "letter"}, "parts.style: unknown field: it belongs under [parts.model]"),
        ({"retrieve": ["dense", "bm25"], "fuse": "weighted-rrf"}, "in this order"),
        ({"retrieve": ["bm25", "bm25"], "fuse": "weighted-rrf"}, 'retrieve = ["bm25", "dense"], in this order'),
        ({"classify": "svm", "top_k": 4}, "parts.top_k: has no effect: with classify, Tables 6-7 say it"),
        ({"classify": "svm", "graph": "rules", "graph_depth": 1}, "parts.graph_depth: has no effect"),
        ({"graph_keywords": 3}, "parts.graph_keywords: has no effect without graph"),
        ({"guard": ["no"]}, "parts.guard: has no effect without verify"),
        ({"verify": "self-check", "guard": []}, "parts.guard: is empty"),
        ({"n_classes": 3}, "parts.n_classes: has no effect without classify"),
        ({"rerank_from": 20}, "parts.rerank_from: has no effect without rerank"),
        ({"rerank": "bi-encoder", "rerank_from": 3, "top_k": 10}, "parts.rerank_from: 3 is under top_k, 10"),
        ({"candidates": 2, "top_k": 10}, "parts.candidates: 2 is under top_k, 10"),
        ({"fuse": "rrf"}, "parts.fuse: has no effect with fewer than two retrievers"),
    ],
)
def test_a_fault_is_told_by_its_key_before_the_model_is_loaded(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(EduRagError, match=re.escape(told)):
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
        assemble(recipe_of({"retrieve": ["bm25", "bm25"], **parts}), no_model)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"retrieve": [{"name": "bm25", "k1": -1}]}, "k1: -1"),
        ({"retrieve": [{"name": "bm25", "b": 3}]}, "b: 3"),
        ({"chunk": {"name": "windows", "tokens": 128}}, "parts.chunk.overlap: 200 is not from 0 to under tokens, 128"),
        ({"chunk": {"name": "windows", "tokens": 0, "overlap": 0}}, "parts.chunk.tokens: 0 is under 1"),
        ({"chunk": {"name": "windows", "tokens": 10, "overlap": -1}}, "parts.chunk.overlap: -1"),
        ({"expand": {"name": "sub-queries", "n": -4}}, "parts.expand.n: -4 is negative"),
    ],
)
def test_a_setting_out_of_range_of_a_part_without_a_model_is_told_before_the_model_is_loaded(
    parts: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        assemble(recipe_of({"retrieve": ["bm25"], **parts}), no_model)


def test_a_reranker_that_would_read_no_character_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"parts\.rerank\.max_chars: -5 is under 1"):
        make("rerank", "likelihood", {"max_chars": -5}, given={"model": object()})


def test_a_kind_of_part_that_there_is_not_is_told() -> None:
    with pytest.raises(ConfigError, match="there is no such kind of part: known are chunk, retrieve"):
        make(cast("Kind", "retriever"), "bm25", {})


def test_all_faults_of_a_recipe_are_told_at_once() -> None:
    recipe = recipe_of({"retrieve": ["bm52", {"name": "bm25", "k3": 1, "b": "x"}], "chunk": "window"})
    with pytest.raises(FaultsError) as caught:
        check(recipe)
    told = [str(fault) for fault in caught.value.faults]
    wanted = ("no 'bm52'", "parts.retrieve.k3", "parts.retrieve.b", "did you mean 'windows'?")
    assert all(part in line for part, line in zip(wanted, told, strict=True))


RECIPE = '[parts]\nchunk = "sentences"\nretrieve = ["{}"]\n[parts.model]\nname = "smollm2-135m"\n'


def test_faults_of_settings_and_of_the_parts_that_are_named_come_together() -> None:
    parts = {"retrieve": ["bm25"], "chunk": "nope", "top_k": "3", "odd": 1, "model": {"name": "x", "abstain_below": 4}}
    recipe, faults = recipe_faults(parts)
    assert recipe is None
    assert sorted(fault.where for fault in faults) == [
        "parts.chunk",
        "parts.model.abstain_below",
        "parts.odd",
        "parts.top_k",
    ]
    _, faults = recipe_faults({"retrieve": "bm25", "rerank": "bi-encoder", "fuse": "nope", "model": {}})
    assert [fault.where for fault in faults] == ["parts.retrieve", "parts.model.name", "parts.fuse"]


def test_a_system_with_a_wrong_recipe_ends_in_one_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_text(RECIPE.format("bm52"))
    code = "from baselines.assemble import system; system('submission.toml')"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "parts.retrieve: there is no 'bm52': did you mean 'bm25'? known are bm25, dense"
    ]


OURS = [path.parent.name for path in ROOT.glob("submissions/*/submission.toml") if "[parts]" in path.read_text("utf-8")]


@pytest.mark.parametrize("slug", sorted(OURS))
def test_every_recipe_of_ours_can_be_made(slug: str) -> None:
    assert recipe_faults(open_submission(ROOT / "submissions" / slug).settings.parts)[1] == []


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    _, plain = factory_of("retrieve", "bm25", {"k1": 1})
    assert isinstance(plain["k1"], float)
    check(recipe_of({"retrieve": ["bm25"], "model": {"name": "x", "style": next(iter(RANKINGS)), "abstain_below": 1}}))


def test_the_page_lists_the_settings_that_there_are_with_their_values() -> None:
    rows = [
        line.split("|")
        for line in PAGE.split("## Choose parts\n")[1].split("\n## ")[0].splitlines()
        if line.startswith("| ")
    ]
    kind, seen = "", set()
    for _, first, names, _, settings, _ in rows[1:]:
        kind = first.strip(" `") or kind
        told = re.findall(r'`([a-z0-9_]+)(?: = ("[^"]*"|[0-9.e-]+|true|false))?`', re.sub(r"\(.*?\)", "", settings))
        for name in re.findall(r"`([a-z0-9-]+)`", names):
            factory, _ = factory_of(cast("Kind", kind), name, {})
            parameters = inspect.signature(factory).parameters
            ours = {"model"} | ({"n_classes"} if kind == "classify" else set())  # handed in, not set
            assert {key for key, _ in told} - {"n_classes"} == set(parameters) - ours, f"{kind} {name}"
            for key, value in told:
                if value:
                    assert tomllib.loads(f"x = {value}")["x"] == parameters[key].default, f"{kind} {name} {key}"
            seen.add((kind, name))
    assert seen == {(kind, name) for kind, names in NAMES.items() for name in names}
