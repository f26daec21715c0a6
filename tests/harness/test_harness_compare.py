"""Comparing systems: what may be compared, what a reader is told, lessons, slices, citations and tables of many."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, Prediction, ScoreCard, SystemFacts
from edu_rag.scorecard.results_folder import write_scorecard
from edu_rag.scorecard.support import Support
from edu_rag.statistics import holm, mcnemar, paired, rank_groups, sign_flip_p, strict_points_of, typical_sd
from harness.comparing.compare import (
    Choice,
    Side,
    caveats,
    compare,
    compare_sides,
    comparison_values,
    detectable,
    require_same,
    sides_of,
    slice_differences,
    table_of,
    table_values,
)
from harness.comparing.comparison_text import comparison_lines, labels_of, table_lines
from harness.exam import Exam

NAME_OF = {letter: outcome for outcome, letter in OUTCOME_LETTERS.items()}
NO_CHOICE = Choice(None, None, None)


def call(*words: object) -> Result:
    command = importlib.import_module("harness.commands.compare_command").compare
    result = CliRunner().invoke(command, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, EduRagError | SystemExit):
        raise result.exception
    return result


def card_of(slug: str, outcomes: str, **more: Any) -> ScoreCard:
    counts = Counts(**{str(NAME_OF[letter]): outcomes.count(letter) for letter in set(outcomes)})
    facts = SystemFacts(slug=slug, name=slug, team="us")
    values: dict[str, Any] = {
        "system": facts,
        "dataset": "tiny@1.0.0#aaaaaaaa",
        "split": "test",
        "sample": None,
        "harness": "test",
        "answers_rule": "answers-v3",
        "counts": counts,
        "outcomes": outcomes,
        "intervals": {"score": (-0.5, 0.5)},
    }
    return ScoreCard(**values | more)


def exam_of(n: int, attributes: Callable[[int], tuple[str, tuple[str, ...]]]) -> Exam:
    """An exam of n questions whose kind and flags are given; no pages."""
    questions = []
    for at in range(n):
        kind, flags = attributes(at)
        choices = {"a": "true", "b": "false"} if kind == "true_false" else {"a": "x", "b": "y"}
        questions.append(
            Question(
                question_id=f"q{at:03}",
                text=f"Question {at}?",
                choices=choices,
                kind=kind,  # type: ignore[arg-type]
                split="test",
                flags=flags,
                lesson=f"lesson {at // 10}",
            )
        )
    support = Support(with_pages=frozenset(), evidence={}, has_pages=False)
    return Exam("tiny@1.0.0#aaaaaaaa", "test", None, questions, {}, support, frozenset(), {})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"dataset": "other@1.0.0#aaaaaaaa"}, "dataset differs: tiny@1.0.0#aaaaaaaa and other@1.0.0#aaaaaaaa"),
        ({"dataset": "tiny@2.0.0#aaaaaaaa"}, "dataset differs"),
        ({"dataset": "tiny@1.0.0#bbbbbbbb"}, "dataset differs"),
        ({"split": "val"}, "split differs: test and val"),
        ({"sample": "stratified-4-seed-0"}, "sample differs: None and stratified-4-seed-0"),
        ({"exam": {"ids": "2"}}, "what was asked differs: another fingerprint of ids"),
        ({"exam": {"ids": "1", "questions": "2"}}, "another fingerprint of questions"),
        ({"exam": {"ids": "1", "gold": "2"}}, "another fingerprint of gold"),
    ],
)
def test_other_questions_are_refused(change: dict[str, Any], what: str) -> None:
    first = card_of("one", "ccii", exam={"ids": "1", "questions": "1", "gold": "1", "support": "1"})
    with pytest.raises(SubmissionError, match=what) as caught:
        require_same([first, first, card_of("two", "ccii", **change)], _exam_of_n(4))
    assert str(caught.value).endswith("score both on the same questions")


def _exam_of_n(n: int) -> Exam:
    return exam_of(n, lambda at: ("true_false", ()))


def test_scorecards_without_questions_are_refused() -> None:
    empty = card_of("none", "")
    with pytest.raises(SubmissionError, match="there is no question in these scorecards"):
        require_same([empty, empty], None)


def test_scorecards_of_another_sample_than_the_one_asked_for_are_refused(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    oracle = write_answers(gold, "oracle.jsonl")
    sides, _ = sides_of([oracle, oracle], Choice(tiny, None, "stratified-8-seed-0"))
    path = tmp_path / "sample.json"
    write_scorecard(path, sides[0].card)
    with pytest.raises(SubmissionError, match="what was asked differs: another fingerprint of ids"):
        sides_of([path, path], Choice(tiny, None, "stratified-8-seed-1"))


def test_another_number_of_questions_is_refused_also_against_the_dataset() -> None:
    with pytest.raises(SubmissionError, match="number of questions differs: 3 and 4: score both again"):
        require_same([card_of("one", "ccii"), card_of("two", "cci")], None)
    with pytest.raises(SubmissionError, match="number of questions differs: 4 and 5"):
        require_same([card_of("one", "ccii"), card_of("two", "ccia")], _exam_of_n(5))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dataset": "tiny@1.2.0#bbbbbbbb"},
        {"dataset": "tiny@1.0.1#bbbbbbbb"},
        {"exam": {"ids": "1", "support": "2"}},
        {"exam": {}},
    ],
)
def test_what_only_moves_slices_may_be_compared(change: dict[str, Any]) -> None:
    first = card_of("one", "ccii", exam={"ids": "1", "support": "1"})
    require_same([first, card_of("two", "ccia", **change)], None)
    require_same([first, card_of("two", "ccia", **change)], _exam_of_n(4))


def _told(*cards: ScoreCard) -> list[str]:
    from edu_rag.statistics import shared_lessons

    lessons = shared_lessons([card.lessons for card in cards])
    return list(caveats(cards, paired(cards[0].outcomes, cards[1].outcomes, lessons)))


def test_a_reader_is_told_what_was_not_quite_the_same() -> None:
    one = card_of("one", "ccii" * 5)
    assert _told(one, card_of("two", "c" * 20)) == []
    assert _told(one, card_of("two", "c" * 20, answers_rule="answers-v4"), one) == [
        "answers were read by different rules (answers-v3 and answers-v4): score the older again"
    ]
    assert _told(one, card_of("two", "c" * 20, dataset="tiny@1.1.0#bbbbbbbb")) == [
        "the dataset's versions differ (tiny@1.0.0#aaaaaaaa and tiny@1.1.0#bbbbbbbb): "
        "same questions, but other pages or evidence"
    ]
    assert _told(one, card_of("two", "c" * 20, judges={"model": "m"})) == ["free text was graded by different judges"]
    assert _told(one, card_of("two", "c" * 20, made_on="tiny@0.9.0#cccccccc")) == [
        "two answered on tiny@0.9.0#cccccccc, not on tiny@1.0.0#aaaaaaaa"
    ]


def test_a_reader_is_told_of_lessons_that_differ_and_of_few() -> None:
    lessons = (0,) * 10 + (1,) * 10
    assert _told(
        card_of("one", "ccii" * 5, lessons=lessons), card_of("two", "c" * 20, lessons=(0,) * 9 + (1,) * 11)
    ) == [
        "the scorecards state different lessons, so questions are taken as independent and the difference looks "
        "surer than it is: score the older again"
    ]
    few = "only 2 lessons: the interval of a difference is too narrow"
    assert _told(card_of("one", "ccii" * 5, lessons=lessons), card_of("two", "c" * 20, lessons=lessons)) == [few]
    assert _told(card_of("one", "ccii" * 5, lessons=lessons), card_of("two", "c" * 20)) == [few]
    for n_lessons, told in ((39, True), (40, False)):
        many = tuple(min(at, n_lessons - 1) for at in range(60))
        cards = [card_of(slug, letters * 60, lessons=many) for slug, letters in (("one", "c"), ("two", "i"))]
        assert bool(_told(*cards)) is told


def test_a_reader_is_told_of_few_questions_and_of_no_difference_that_could_be_found() -> None:
    assert _told(card_of("one", "c" * 20), card_of("two", "i" * 20)) == []
    few = "only 19 question(s): the interval of a difference is too narrow"
    assert _told(card_of("one", "c" * 19), card_of("two", "i" * 19)) == [few]
    cards = [card_of("one", "ci"), card_of("two", "ic")]
    comparison = compare_sides(Side(cards[0], {}), Side(cards[1], {}), None)
    lines = [*comparison_lines(comparison, 10), *table_lines(table_of(cards))]
    assert sum("finds no difference that scores can have with 80 % power" in line for line in lines) == 2


def test_two_systems_with_lessons_and_a_strict_difference() -> None:
    a, b = "ccccciiuuf" * 6, "cciiaaaucc" * 6
    lessons = tuple(at // 6 for at in range(60))
    found = compare_sides(
        Side(card_of("one", a, lessons=lessons), {}), Side(card_of("two", b, lessons=lessons), {}), None
    )
    assert found.difference == paired(a, b, lessons)
    assert found.strict == paired(strict_points_of(a), strict_points_of(b), lessons)
    assert found.correctness == mcnemar(a, b, lessons)
    assert found.detectable == detectable(found.first, found.second, lessons)
    assert found.only_first[:2] == ("#3", "#4")
    assert found.only_second[:2] == ("#9", "#10")
    assert (found.questions, found.slices, found.overlap, found.predictions) == ({}, (), {}, ({}, {}))
    values = comparison_values(found)
    assert (values["n"], values["n_units"]) == (60, 10)
    assert values["interval_method"] == "bootstrap-by-lesson-v1, seed 0"
    assert values["strict"]["score_difference"] == found.strict.difference
    assert values["mcnemar_p"] == found.correctness.p
    assert values["caveats"] == ["only 10 lessons: the interval of a difference is too narrow"]
    lines = list(comparison_lines(found, 3))
    d = found.difference
    assert lines[0] == f"note: {values['caveats'][0]}"
    assert lines[2] == (
        f"difference {100 * d.difference:+.2f} %, 95 % interval {100 * d.low:+.2f} … {100 * d.high:+.2f} % "
        f"(paired bootstrap by lesson, 60 questions in 10 lessons), p = {d.p:.4g} (exact sign-flip by lesson)"
    )
    assert lines[3].startswith(f"strict     {100 * found.strict.difference:+.2f} %, 95 % interval")
    assert "; exact McNemar by lesson p = " in lines[4]
    assert "  … and 15 more (--all lists them)" in lines
    assert lines[-1] == "#17 is the 17th question in order of id; --dataset names them"


def test_two_systems_that_never_differ_have_nothing_to_detect() -> None:
    found = compare_sides(Side(card_of("same", "ccia" * 5), {}), Side(card_of("same", "ccia" * 5), {}), None)
    assert found.detectable is None
    lines = list(comparison_lines(found, 10))
    assert lines[0] == "A: score +25.00 %   B: score +25.00 %"
    assert lines[3] == "correct only in A: 0, only in B: 0; exact McNemar p = 1"
    assert lines[4].startswith("the difference is not established, so these questions do not tell which is better: ")
    assert lines[5:] == ["only A is right on 0 question(s)", "only B is right on 0 question(s)"]


def lines_of(first: str, second: str, sha256: tuple[str, str] = ("", "")) -> list[str]:
    one, two = (
        card_of(name, outcomes, predictions_sha256=sha)
        for name, outcomes, sha in zip(("one", "two"), (first, second), sha256, strict=True)
    )
    return list(comparison_lines(compare_sides(Side(one, {}), Side(two, {}), None), 10))


def test_the_better_system_is_named_and_a_higher_score_with_fewer_right_answers_explained() -> None:
    lines = lines_of("a" * 30 + "c" * 10 + "a" * 8, "i" * 30 + "c" * 18)
    assert any(line.startswith("the difference is established, so one is better than two: ") for line in lines)
    assert (
        "one scores more although two is right more often: a wrong answer costs a point, and two is wrong on "
        "30 questions, one on 0; it gives no answer to 30 of the questions on which two is wrong"
    ) in lines
    swapped = lines_of("i" * 30 + "c" * 18, "a" * 30 + "c" * 10 + "a" * 8)
    assert any("so two is better than one: " in line for line in swapped)
    assert any(line.startswith("two scores more although one is right more often: ") for line in swapped)


def test_no_contradiction_is_told_where_score_and_right_answers_agree_or_only_one_of_them_differs() -> None:
    for first, second in (("c" * 20, "i" * 20), ("ca", "ai"), ("ac", "ic"), ("cai", "aci")):
        assert not any("although" in line for line in lines_of(first, second))


def test_a_higher_score_by_right_answers_where_the_other_is_wrong_speaks_of_no_abstaining() -> None:
    found = [line for line in lines_of("c" * 5 + "a" * 9, "i" * 5 + "c" * 9) if "although" in line]
    assert found == [
        "one scores more although two is right more often: a wrong answer costs a point, and two is wrong on "
        "5 questions, one on 0"
    ]


def test_a_comparison_of_the_same_predictions_says_so() -> None:
    told = "note: one and two are the same predictions: there is nothing to compare"
    assert lines_of("ci", "ci", ("a" * 64, "a" * 64))[0] == told
    assert told not in lines_of("ci", "ci", ("a" * 64, "b" * 64))
    assert told not in lines_of("ci", "ci")


def test_slices_are_tested_together_and_those_that_cannot_differ_are_not() -> None:
    def attributes(at: int) -> tuple[str, tuple[str, ...]]:
        return ("true_false" if at < 30 else "multiple_choice", ("meta_choice",) if 30 <= at < 36 else ())

    first = "c" * 30 + "c" * 6 + "ci" * 12
    second = "i" * 6 + "c" * 24 + "i" * 5 + "c" + "ic" * 12
    exam = exam_of(60, attributes)
    found = slice_differences(exam, first, second, ())
    # n_choices = 2 holds all questions, the flag has five that differ, lessons are units.
    assert [(part.attribute, part.value, part.n) for part in found] == [
        ("kind", "multiple_choice", 30),
        ("kind", "true_false", 30),
    ]
    p = [sign_flip_p([2] * 5 + [0] + [2, -2] * 12), sign_flip_p([2] * 6 + [0] * 24)]
    assert [part.p for part in found] == p
    assert [part.p_holm for part in found] == holm(p)
    assert found[1].difference == pytest.approx(12 / 30)
    sixth = second[:35] + "i" + second[36:]
    assert [part.value for part in slice_differences(exam, first, sixth, ())] == [
        "meta_choice",
        "multiple_choice",
        "true_false",
    ]
    assert slice_differences(exam_of(3, lambda _: ("true_false", ())), "ccc", "iii", ()) == ()


def test_slices_flip_whole_lessons() -> None:
    exam = exam_of(80, lambda at: ("true_false" if at % 2 else "multiple_choice", ()))
    lessons = [at // 10 for at in range(80)]
    first, second = "c" * 70 + "i" * 10, "i" * 70 + "c" * 10
    found = slice_differences(exam, first, second, lessons)
    assert [part.value for part in found] == ["multiple_choice", "true_false"]
    assert [part.p for part in found] == [pytest.approx(2 * 9 / 2**8)] * 2  # eight lessons, one the other way
    assert slice_differences(exam, first[:50] + "i" * 30, second[:50] + "i" * 30, lessons) == ()  # five lessons differ


def test_a_slice_inside_one_of_several_lessons_is_one_unit_and_cannot_be_tested() -> None:
    exam = exam_of(80, lambda at: ("true_false" if at < 10 else "multiple_choice", ()))
    first, second = "c" * 10 + "a" * 70, "i" * 10 + "a" * 70
    assert slice_differences(exam, first, second, [at // 10 for at in range(80)]) == ()
    (alone,) = slice_differences(exam, first, second, [0] * 80)  # of one lesson all are: nothing else can be drawn
    assert (alone.value, alone.p) == ("true_false", pytest.approx(2 / 2**10))


def test_lines_name_the_slices_that_differ() -> None:
    exam = exam_of(60, lambda at: ("true_false" if at < 30 else "multiple_choice", ()))
    first, second = card_of("one", "c" * 60), card_of("two", "i" * 12 + "c" * 48)
    found = compare_sides(Side(first, {}), Side(second, {}), exam)
    lines = list(comparison_lines(found, 2))
    at = lines.index("slices in which they differ: 1 of 1 tested (Holm over all of these)")
    assert lines[at + 1] == "  kind = true_false                            30 questions   +80.00 %  p = 0.0004883"
    assert "  q000  Question 0?" in lines
    assert set(found.questions) == {f"q{at:03}" for at in range(12)}
    assert comparison_values(found)["slices"][0]["p_holm"] == found.slices[0].p_holm
    weak = compare_sides(Side(first, {}), Side(card_of("two", "i" * 3 + "ia" * 2 + "c" * 53), {}), exam)
    assert weak.slices[0].p_holm <= 0.05


CARDS = [
    card_of("one", "c" * 40 + "i" * 10),
    card_of("two", "c" * 38 + "i" * 12),
    card_of("two", "i" * 50),
]


def test_a_table_has_all_pairs_after_holm_and_shared_ranks() -> None:
    table = table_of(CARDS)
    outcomes = [card.outcomes for card in CARDS]
    assert table.ranks == tuple(rank_groups(outcomes)) == (1, 1, 3)
    assert list(table.pairs.tested) == [(0, 1), (0, 2), (1, 2)]
    assert [pair.difference for pair in table.pairs.tested.values()] == [paired(*pair) for pair in _pairs(outcomes)]
    assert [pair.p_holm for pair in table.pairs.tested.values()] == holm([paired(*pair).p for pair in _pairs(outcomes)])
    assert [pair.mcnemar_p_holm for pair in table.pairs.tested.values()] == holm(
        [mcnemar(*pair).p for pair in _pairs(outcomes)]
    )
    assert table.detectable == pytest.approx((1.959964 + 0.841621) * float(typical_sd(outcomes) or 0) / 50**0.5)
    values = table_values(table)
    assert [row["rank"] for row in values["systems"]] == [1, 1, 3]
    assert values["pairs"][1]["sign_flip_p_holm"] == table.pairs.tested[0, 2].p_holm
    assert values["smallest_detectable_difference"] == table.detectable
    assert table_of([CARDS[0]] * 3).detectable is None


def _pairs(outcomes: Sequence[str]) -> list[tuple[str, str]]:
    return [(outcomes[0], outcomes[1]), (outcomes[0], outcomes[2]), (outcomes[1], outcomes[2])]


def test_a_table_by_lesson_ranks_with_lessons_and_says_so() -> None:
    lessons = tuple(at // 10 for at in range(50))
    table = table_of([replace(card, lessons=lessons) for card in CARDS])
    assert table.ranks == (1, 1, 1)  # five lessons cannot establish anything
    assert table.pairs.tested[0, 1].difference == paired(CARDS[0].outcomes, CARDS[1].outcomes, lessons)
    assert table.pairs.tested[0, 2].correctness == mcnemar(CARDS[0].outcomes, CARDS[2].outcomes, lessons)
    lines = list(table_lines(table))
    assert lines[0] == "note: only 5 lessons: the interval of a difference is too narrow"
    assert lines[-2].startswith("on 50 questions in 5 lessons; intervals: bootstrap-by-lesson-v1, seed 0")


def test_a_table_as_text() -> None:
    bare = replace(CARDS[1], intervals={})
    lines = list(table_lines(table_of([CARDS[2], bare, CARDS[0]])))
    assert lines[0] == " rank system      score          95 % interval    strict"
    assert lines[1] == "    1 one      +60.00 %      -50.00 … +50.00 %  +60.00 %"
    assert lines[2] == "    1 two (2)  +52.00 %                      -  +52.00 %"
    assert lines[3] == "    3 two (1) -100.00 %      -50.00 … +50.00 % -100.00 %"
    assert lines[5] == "A       B           A - B          95 % interval         p McNemar p"
    assert lines[6].startswith("two (1) two (2) -152.00 %")
    assert lines[6].endswith(" *")
    assert not lines[8].endswith("*")
    assert lines[10] == (
        "on 50 questions; intervals: bootstrap-exact-v1; p: exact sign-flip, exact McNemar, each after Holm over the "
        "3 pairs; * is established (p <= 0.05)"
    )
    assert lines[11].startswith("one test of a typical pair finds a true difference of ")
    assert not any("typical pair" in line for line in table_lines(table_of([CARDS[0]] * 3)))
    assert labels_of(CARDS) == ["one", "two (1)", "two (2)"]


def test_two_systems_at_least_must_be_given() -> None:
    for words in ((), ("one",)):
        result = call(*words)
        assert result.exit_code == 2
        assert "Give at least two systems: A and B." in result.output


def test_a_path_that_is_not_there_and_predictions_without_a_dataset_are_refused(
    write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    oracle = write_answers({"q000": "a"})
    with pytest.raises(SubmissionError, match="no such file or folder: give a scorecard"):
        compare(tmp_path / "none.json", oracle, NO_CHOICE)
    with pytest.raises(SubmissionError, match="is not a scorecard: give --dataset"):
        compare(oracle, oracle, NO_CHOICE)


def test_three_files_give_a_table_and_its_json(tmp_path: Path) -> None:
    paths = [tmp_path / f"{place}.json" for place in range(3)]
    for path, card in zip(paths, CARDS, strict=True):
        write_scorecard(path, card)
    assert json.loads(call(*paths, "--json").stdout) == json.loads(json.dumps(table_values(table_of(CARDS))))
    assert call(*paths).stdout.splitlines() == list(table_lines(table_of(CARDS)))
    write_scorecard(paths[2], replace(CARDS[2], split="val"))
    assert "split differs: test and val" in str(call(*paths).exception)


def test_predictions_and_scorecards_of_lessons_meet_in_one_comparison(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    score = importlib.import_module("harness.commands.score_command").score
    oracle = write_answers(gold, "oracle.jsonl")
    other = write_answers(dict.fromkeys(gold, "a"), "other.jsonl")
    CliRunner().invoke(
        score, [str(oracle), "--dataset", str(tiny.folder), "--out", str(tmp_path / "results")], catch_exceptions=False
    )
    folder = tmp_path / "results" / "tiny-1.0.0" / "test" / "oracle"
    found = compare(folder, other, Choice(tiny, None, None))
    assert found.difference.n_units == 3 + 8
    assert len(found.predictions[0]) == len(found.predictions[1]) == 40
    assert found.only_second == ()
    assert found.questions[found.only_first[0]].question_id == found.only_first[0]
    assert {part.attribute for part in found.slices} <= {"evidence", "flag", "kind", "n_choices", "pages"}
    (folder / "predictions.jsonl").write_text("{}\n")
    assert compare(folder, folder, Choice(tiny, None, None)).predictions == ({}, {})
    (folder / "predictions.jsonl").unlink()
    assert compare(folder, folder, Choice(tiny, None, None)).predictions == ({}, {})
    assert compare(folder, folder, NO_CHOICE).slices == ()


def test_systems_that_cite_are_compared_by_what_they_cite(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path]
) -> None:
    page_id = next(iter(tiny.evidence("test").values()))[0].page_id
    lines = [{"question_id": i, "answer": a, "passages": [[page_id, 0, 9]]} for i, a in gold.items()]
    one, two = write_lines(lines, "one.jsonl"), write_lines(lines[:20], "two.jsonl")
    found = compare(one, two, Choice(tiny, None, None))
    assert found.overlap["n_both_cite"] == 20
    assert any(line.startswith("cited: on 20 question(s) by both") for line in comparison_lines(found, 1))
    assert isinstance(found.predictions[0]["q000"], Prediction)


def test_a_dataset_of_neither_scorecard_is_refused_and_one_of_either_is_taken(tiny: Dataset, tmp_path: Path) -> None:
    for slug, dataset in (("one", tiny.id), ("two", "tiny@1.1.0#bbbbbbbb"), ("far", "far@1.0.0#bbbbbbbb")):
        write_scorecard(tmp_path / f"{slug}.json", card_of(slug, "c" * 40, dataset=dataset))
    sides, exam = sides_of([tmp_path / "two.json", tmp_path / "one.json"], Choice(tiny, None, None))
    assert [side.card.system.slug for side in sides] == ["two", "one"]
    assert exam is not None
    with pytest.raises(SubmissionError, match=f"is {tiny.id}, the scorecards are on far@1.0.0#bbbbbbbb"):
        sides_of([tmp_path / "far.json", tmp_path / "far.json"], Choice(tiny, None, None))


def test_a_sample_is_taken_from_the_scorecard_or_from_the_options(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    oracle = write_answers(gold, "oracle.jsonl")
    sides, exam = sides_of([oracle, oracle], Choice(tiny, None, "stratified-8-seed-0"))
    assert exam is not None
    assert (sides[0].card.counts.n, exam.sample) == (8, "stratified-8-seed-0")
    write_scorecard(tmp_path / "sample.json", sides[0].card)
    assert sides_of([tmp_path / "sample.json", oracle], Choice(tiny, None, None))[0][1].card.counts.n == 8
    with pytest.raises(SubmissionError, match="sample differs"):
        sides_of([tmp_path / "sample.json", oracle], Choice(tiny, "test", "stratified-9-seed-0"))
