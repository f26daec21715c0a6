"""docs/scoring-spec.md, section 10, says what the code does: examples, expressions and the table of differences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.judging import crag_compat, free_text, judge_model, quantities
from harness.judging import judge_model as judge_prompt
from tests.harness import test_harness_crag_compat as crag_tests

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## 10. Free text and judges")[1].split("\n## 11.")[0]
EXAMPLES = re.findall(r"^\| ([^|]+) \| `(.+)` \| (\w+) \|$", SECTION, re.MULTILINE)


@pytest.mark.parametrize(("gold", "answer", "outcome"), EXAMPLES)
def test_every_example_comes_out_as_written(gold: str, answer: str, outcome: str) -> None:
    assert free_text.grade_by_rules(gold.split(" / "), answer).outcome == outcome


def test_there_are_examples_of_every_outcome() -> None:
    assert {outcome for _, _, outcome in EXAMPLES} == set(free_text.JUDGED) | {"unjudged"}


def test_the_expressions_are_the_codes_own() -> None:
    lead = re.search(r"^LEAD +(\S.*?) {2,}any case$", SECTION, re.MULTILINE)
    number = re.search(r"^NUMBER +(\S+)\n +(\(\?: .*?) {2,}ASCII", SECTION, re.MULTILINE)
    assert lead
    assert number
    assert lead[1] == free_text._LEAD.pattern
    for name, expression in (("CLAUSE", free_text._CLAUSE), ("APOLOGY", free_text._APOLOGY)):
        assert re.findall(rf"^{name} +(\S.*)$", SECTION, re.MULTILINE) == [expression.pattern]
    assert number[1] + number[2] == quantities._NUMBER.pattern


def test_each_difference_from_crag_has_its_test() -> None:
    table = SECTION.split("| | CRAG's published evaluator")[1]
    rows = set(re.findall(r"^\| (\d+) \|", table, re.MULTILINE))
    tests = set(re.findall(r"test_row_(\d+)_", " ".join(dir(crag_tests))))
    assert rows == tests | {"9"}
    assert "9" not in tests  # the cut: test_an_answer_is_cut_after_75_tokens
    assert crag_compat.MAX_TOKENS == 75
    assert crag_compat._TOKEN.pattern == r"\w+|[^\w\s]"


def test_the_numbers_of_the_model_judge_are_those_of_the_code() -> None:
    settings = judge_model.JudgeSettings(base_url="", model="m")
    assert (settings.max_tokens, settings.seed, settings.timeout_s, settings.tries, settings.max_wait_s) == (
        256,
        0,
        60,
        4,
        60,
    )
    told = re.search(r"Statuses ([\d, ]+),", SECTION)
    assert told
    assert {int(status) for status in told[1].split(", ")} == judge_model.RETRY_STATUSES
    refused = re.search(r"statuses ([\d, ]+ and \d+), which refuse one text", SECTION)
    assert refused
    assert {int(status) for status in re.findall(r"\d+", refused[1])} == judge_model.REFUSED_TEXT
    assert (judge_model.MAX_FAILURES, judge_model.MAX_REPLY_BYTES) == (3, 1_000_000)
    assert (judge_prompt.MAX_REPLY_CHARACTERS, judge_prompt.VERSION) == (100_000, "judge-v1")
