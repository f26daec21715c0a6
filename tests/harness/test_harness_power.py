"""Planning a comparison from the command line: n, difference, spread, and what follows."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import COMMANDS
from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.statistics import Spread, n_needed, power_of, smallest_detectable_difference, spread_of
from harness.comparing.compare import Choice
from harness.comparing.plan_comparison import PlanSource, plan, plan_lines, plan_values, spread_from


def call(*words: object) -> Result:
    command = importlib.import_module("harness.commands.power_command").power
    result = CliRunner().invoke(command, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, EduRagError | SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "Give --n, --difference, or two systems."),
        (("--sd", "0.5"), "Give --n, --difference, or two systems."),
        (("one",), "Give two systems, or none."),
        (("one", "two", "three"), "Give two systems, or none."),
        (("one", "two", "--sd", "0.5"), "Give --sd or two systems, not both."),
        (("--n", "0"), "--n"),
        (("--n", "9", "--sd", "2.1"), "--sd"),
        (("--n", "9", "--difference", "0"), "--difference"),
        (("--n", "9", "--power", "1"), "--power"),
        (("--n", "9", "--alpha", "0"), "--alpha"),
        (("--n", "9", "--alpha", "1e-18"), "--alpha"),
        (("--difference", "1e-300"), "--difference"),
        (("--difference", "nan"), "--difference"),
        (("--n", "9", "--sd", "nan"), "--sd"),
        (("--n", "9", "--power", "nan"), "--power"),
    ],
)
def test_a_plan_that_makes_no_sense_is_wrong_usage(words: tuple[str, ...], what: str) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert what in result.output


def test_the_command_stands_in_the_help_with_an_example() -> None:
    assert COMMANDS["power"].module == "harness.commands.power_command"
    assert "Example:" in call("--help").output


def test_n_alone_gives_the_smallest_detectable_difference_at_the_assumed_spread() -> None:
    found = json.loads(call("--n", "100", "--json").output)
    assert found == {
        "n": 100,
        "difference": None,
        "power": 0.8,
        "alpha": 0.05,
        "sd": 1.0,
        "design_effect": 1.0,
        "systems": None,
        "detectable": smallest_detectable_difference(100, 1.0),
        "n_needed": None,
        "found": None,
    }
    assert call("--n", "100").output.splitlines() == [
        "standard deviation of the difference a question: 1.000 (assumed: give two systems or --sd)",
        "with n = 100 questions a two-sided paired test at level 0.05 finds "
        "with 80 % power a true difference of 28.02 %",
    ]
    assert call("--n", "1").output.splitlines()[1].endswith("80 % power no difference that scores can have")


def test_a_difference_alone_gives_the_questions_it_needs() -> None:
    words = ("--difference", "0.03", "--sd", "0.9", "--power", "0.9", "--alpha", "0.01")
    found = json.loads(call(*words, "--json").output)
    assert found["n_needed"] == n_needed(0.03, 0.9, alpha=0.01, power=0.9)
    assert (found["detectable"], found["found"], found["sd"]) == (None, None, 0.9)
    assert call(*words).output.splitlines() == [
        "standard deviation of the difference a question: 0.900 (as given)",
        f"a true difference of 3 % needs {found['n_needed']:,} questions for 90 % power",
    ]


def test_both_give_the_probability_of_finding_it() -> None:
    found = plan(None, n=500, difference=0.1, sd=1.2, power=0.8, alpha=0.02)
    assert found.found == power_of(500, 0.1, 1.2, alpha=0.02)
    assert found.detectable == smallest_detectable_difference(500, 1.2, alpha=0.02, power=0.8)
    line = f"a true difference of 10 % is found there with probability {100 * found.found:.1f} %"
    assert list(plan_lines(found))[2] == line


def test_two_systems_give_the_spread_and_n_with_the_design_effect_of_lessons() -> None:
    source = PlanSource("one", "two", 900, Spread(0.5, 2.25))
    found = plan(source, n=None, difference=0.05, sd=None, power=0.8, alpha=0.05)
    assert (found.n, found.sd, found.design_effect, found.systems) == (900, 0.5, 2.25, ("one", "two"))
    assert found.detectable == smallest_detectable_difference(900, 0.75)
    assert found.n_needed == n_needed(0.05, 0.75)
    assert found.found == power_of(900, 0.05, 0.75)
    assert plan_values(found)["systems"] == ("one", "two")
    assert next(plan_lines(found)) == (
        "standard deviation of the difference a question: 0.500 (of one and two, design effect of lessons 2.25)"
    )
    assert plan(source, n=100, difference=None, sd=None, power=0.8, alpha=0.05).n == 100
    plain = plan(PlanSource("one", "two", 9, Spread(0.5, 1.0)), n=None, difference=None, sd=None, power=0.8, alpha=0.05)
    assert next(plan_lines(plain)) == "standard deviation of the difference a question: 0.500 (of one and two)"


def test_the_spread_of_two_predictions_files_is_that_of_their_outcomes_by_lesson(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path]
) -> None:
    oracle = write_answers(gold, "oracle.jsonl")
    other = write_answers(dict.fromkeys(gold, "a"), "other.jsonl")
    choice = Choice(tiny, None, None)
    found = spread_from(oracle, other, choice)
    outcomes = "".join("c" if gold[question_id] == "a" else "i" for question_id in sorted(gold))
    lessons = [question.lesson for question in tiny.questions("test")]
    assert found == ("oracle", "other", 40, spread_of("c" * 40, outcomes, lessons))
    assert found.spread.design_effect != 1.0
    told = json.loads(call(oracle, other, "--dataset", tiny.folder, "--json").output)
    assert told["systems"] == ["oracle", "other"]
    assert told["detectable"] == smallest_detectable_difference(40, found.spread.effective_sd)
    with pytest.raises(SubmissionError, match="the two systems differ by the same points on every question: give --sd"):
        spread_from(oracle, oracle, choice)
    sample = call(oracle, other, "--dataset", tiny.folder, "--split", "test", "--sample", "20", "--seed", "1", "--json")
    assert json.loads(sample.output)["n"] == 20
    assert "give --dataset" in str(call(oracle, other).exception)
    assert math.isfinite(told["detectable"])
