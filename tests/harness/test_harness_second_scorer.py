"""A second scorer, written from docs/scoring-spec.md alone, gives the same numbers as ours to the last digit."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parents[2] / "bench" / "second_scorer"
SECOND = HERE / "second_scorer.py"


@pytest.fixture(scope="module")
def compare() -> Iterator[ModuleType]:
    before = set(sys.modules)
    sys.path.insert(0, str(HERE))
    try:
        import compare

        yield compare
    finally:
        sys.path.remove(str(HERE))
        for name in set(sys.modules) - before:  # the scripts' short names belong to nobody else
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(HERE)):
                del sys.modules[name]


def test_a_hundred_random_submissions_get_the_same_numbers_to_the_last_digit(compare: ModuleType) -> None:
    tally = compare.compare(SECOND, 100, 1, 1, lambda _: None)
    assert dict(tally.differences) == {}, tally.examples
    assert tally.counts["submissions"] == tally.counts["identical"] == 100
    assert tally.counts["refused by both"] >= 5
    assert tally.counts["answers"] >= 500
    assert tally.counts["pairs"] >= 50


def test_the_written_verdicts_are_the_second_scorers_too(compare: ModuleType) -> None:
    second = compare.load_second(SECOND)
    rows = Path(__file__).with_name("answers_v3.jsonl").read_text(encoding="utf-8").split("\n")
    sets, *cases = [json.loads(row) for row in rows if row]
    wrong = []
    for case in cases:
        choices = sets["choices"].get(str(case["choices"])) or case["choices"]
        kind, label = second.read_answer(case["answer"], choices)
        if (label or kind) != case["verdict"]:
            wrong.append((case["answer"], case["verdict"], label or kind))
    assert not wrong


def test_the_second_scorer_imports_nothing_of_ours() -> None:
    tree = ast.parse(SECOND.read_text(encoding="utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in found} <= set(sys.stdlib_module_names) | {"numpy"}


NUDGED = """
import importlib.util, math
spec = importlib.util.spec_from_file_location("the_second_scorer", {second!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
read_answer, paired, mcnemar = module.read_answer, module.paired, module.mcnemar


def score(exam, lines):
    told = module.score(exam, lines)
    if told.get("rates", {{}}).get("missing"):
        told["rates"]["missing"] = math.nextafter(told["rates"]["missing"], 2)
    return told
"""


def test_the_comparison_sees_a_change_of_the_last_bit(compare: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "nudged.py"
    path.write_text(NUDGED.format(second=str(SECOND)))
    tally = compare.compare(path, 20, 1, 1, lambda _: None)
    assert set(tally.differences) == {"rates"}
    assert tally.counts["identical"] == 20 - tally.differences["rates"] < 20


def test_a_random_submission_depends_on_seed_and_number_alone(compare: ModuleType) -> None:
    many = list(compare.cases(30, 1))
    assert list(compare.cases(3, 1, 17)) == many[17:20]
    assert list(compare.cases(3, 2, 17)) != many[17:20]
