"""Free text: what rules alone may say, and that they say nothing where they would have to guess."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.scorecard.card import Verdict
from harness.judging.free_text import RULE, Rules, Unjudged, UnjudgedError, grade_by_rules
from harness.judging.quantities import Quantity, quantity_of
from harness.reading.abstentions import abstains
from harness.reading.answers import MAX_CHARACTERS
from harness.reading.folding import fold_article


@pytest.mark.parametrize(
    ("gold", "answer", "outcome"),
    [
        (["Paris"], "Paris", "correct"),
        (["Paris"], "  PARIS. ", "correct"),
        (["Paris"], "“paris”", "correct"),
        (["The Union Gap"], "union gap", "correct"),
        (["Paris"], "Answer: Paris", "correct"),
        (["Paris"], "**Answer:** Paris", "correct"),
        (["Paris"], "Answer: Answer: Paris", "unjudged"),
        (["not Paris"], "not answer: Paris", "unjudged"),
        (["Answer: key"], "answer: key", "correct"),
        (["Paris"], "The final answer is: Paris", "correct"),
        (["Paris"], '{"answer": "Paris", "confidence": 1}', "correct"),
        (["Paris"], "<answer>Paris</answer>", "correct"),
        (["Paris"], '{"answer": "Paris", "final_answer": "Lyon"}', "unjudged"),
        (["Paris"], "Paris\n\nQuestion: next?\nAnswer: Lyon", "correct"),
        (["New York City", "New York", "NYC"], "nyc", "correct"),
        (["Paris"], "<think>Lyon? I don't know.</think> Paris", "correct"),
        (["Paris"], "<think>Paris", "unparseable"),
        (["won’t"], "won't", "correct"),
        (["***"], "***", "correct"),
        (["***"], "**", "unjudged"),
        # A substring is never enough, either way round.
        (["Paris"], "Paris, the capital of France", "unjudged"),
        (["Paris"], "not Paris", "unjudged"),
        (["Paris"], "Paris, London, Rome, Berlin", "unjudged"),
        (["Marie Curie"], "Curie", "unjudged"),
        (["Paris"], "Lyon", "unjudged"),
        # Numbers and dates.
        (["1,250,000"], "1.25 million", "correct"),
        (["7"], "seven", "correct"),
        (["2021-03-05"], "March 5th, 2021", "correct"),
        (["5 percent"], "5 %", "correct"),
        (["$3.50"], "3.5", "unjudged"),
        (["7"], "8", "unjudged"),
        (["3.1"], "3.10", "unjudged"),
        # Plain opposites.
        (["yes"], "No.", "incorrect"),
        (["false"], "Answer: true", "incorrect"),
        (["yes"], "true", "unjudged"),
        (["yes", "true"], "no", "unjudged"),
        (["Paris"], "no", "unjudged"),
        # Abstentions.
        (["Paris"], "I don’t know", "abstained"),
        (["Paris"], "i dont know.", "abstained"),
        (["Paris"], "", "abstained"),
        (["Paris"], " \n\u200b", "abstained"),
        (["Paris"], "It cannot be determined from the context.", "abstained"),
        (["Paris"], "I don't know, but it may be Lyon", "unjudged"),
        (["Paris"], "I'm sorry, but I don't know - the passages do not say.\nIt cannot be determined!", "abstained"),
        (["Paris"], "Sorry.", "unjudged"),
        (["Paris"], "I don't know, but it may be Paris", "unjudged"),
        (["Elvis Presley"], "\"Can't Help Falling in Love\": can't say more than Elvis Presley", "unjudged"),
        (["a"], "I don't know about that", "abstained"),
        (["none"], "None.", "correct"),
        (["none"], "unknown", "unjudged"),
        # A lost value is no answer, whatever the gold says.
        (["nan"], "nan", "abstained"),
        (["nan"], "NaN.", "abstained"),
        (["NULL"], "null", "abstained"),
        (["nan"], "PLYA", "unjudged"),
        (["invalid question"], "Invalid question", "correct"),
    ],
)
def test_rules_grade_what_is_exact_and_leave_the_rest(gold: list[str], answer: str, outcome: str) -> None:
    assert grade_by_rules(gold, answer).outcome == outcome


HEDGES = ["I don't know; {}?", "I'm not sure, but {}.", "Not sure. {}", "No idea: {}", "n/a\n{}"]


@pytest.mark.parametrize("hedge", HEDGES)
def test_a_hedge_before_a_guess_costs_and_earns_nothing(hedge: str) -> None:
    outcomes = [grade_by_rules(["Paris"], hedge.format(guess)).outcome for guess in ("Paris", "Lyon")]
    assert outcomes == ["unjudged", "unjudged"]


def test_reasons_tell_gold_alias_and_quantity_apart() -> None:
    reasons = [grade_by_rules(["7 May 1999", "then"], text).reason for text in ("7 May 1999", "then", "May 7, 1999")]
    assert reasons == [
        "rules: the gold answer",
        "rules: alias 1 of the gold answer",
        "rules: the gold answer's date, written differently",
    ]


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        ("yes", "correct", "rules: the gold answer"),
        ("no", "incorrect", "rules: the opposite of the gold answer"),
        ("", "abstained", "says nothing"),
        ("idk", "abstained", "says that it does not know"),
        ("<think>yes", "unparseable", "a thought that does not end"),
        ("y", "unjudged", "none of the accepted texts, and the rules cannot tell more"),
    ],
)
def test_a_grade_holds_its_outcome_its_reason_and_who_gave_it(answer: str, outcome: str, reason: str) -> None:
    assert grade_by_rules(["yes"], answer)[:3] == (outcome, reason, "rules")


def test_an_answer_past_the_bound_is_unparseable_and_one_at_it_is_read() -> None:
    grade = grade_by_rules(["x"], "x" * (MAX_CHARACTERS + 1))
    assert (grade.outcome, grade.reason, grade.judge) == ("unparseable", "over 20,000 characters", "rules")
    assert grade_by_rules(["x" * MAX_CHARACTERS], "x" * MAX_CHARACTERS).outcome == "correct"


@given(st.text(min_size=1, max_size=60))
def test_every_text_that_says_something_equals_itself(text: str) -> None:
    grade = grade_by_rules([text], text)
    if fold_article(text) in ("nan", "null"):
        assert grade.outcome == "abstained"
    elif text.strip() and fold_article(text):
        assert grade.outcome == "correct"


@given(st.sampled_from(["paris", "osmosis", "marie curie", "42"]), st.text(max_size=40))
def test_only_an_accepted_text_is_correct_by_rule(gold: str, answer: str) -> None:
    if grade_by_rules([gold], answer).outcome == "correct":
        bare = "".join(char for char in fold_article(answer) if char.isalnum() or char == " ")
        assert gold in bare or quantity_of(answer) == quantity_of(gold)


@given(st.text(max_size=200), st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_rules_never_raise_and_always_say_why(answer: str, gold: list[str]) -> None:
    grade = grade_by_rules(gold, answer)
    assert grade.judge == "rules"
    assert grade.reason
    if abstains(answer) and not any(map(abstains, gold)):
        assert grade.outcome in ("abstained", "unjudged")


def test_the_rules_are_a_judge_without_a_name_of_their_own() -> None:
    assert Rules().facts() == {"judge": "rules", "rule": RULE}
    assert RULE == "free-text-v2"
    assert Rules().grade("q?", ["Paris"], "paris").outcome == "correct"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0", (Fraction(0), "")),
        ("7", (Fraction(7), "")),
        ("-7", (Fraction(-7), "")),
        ("+7", (Fraction(7), "")),
        ("1,234,567", (Fraction(1234567), "")),
        ("1.5 million", (Fraction(1500000), "")),
        ("1.50 million", (Fraction(1500000), "")),
        ("2.5", (Fraction(5, 2), "")),
        ("$2.50", (Fraction(5, 2), "usd")),
        ("US$5 billion", (Fraction(5 * 10**9), "usd")),
        ("€3", (Fraction(3), "eur")),
        ("£3", (Fraction(3), "gbp")),
        ("-$3", (Fraction(-3), "usd")),
        ("12%", (Fraction(12), "%")),
        ("12 per cent", (Fraction(12), "%")),
        ("12.0 percent.", (Fraction(12), "%")),
        ("\N{MINUS SIGN}4", (Fraction(-4), "")),
        ("seven", (Fraction(7), "")),
        ("zero", (Fraction(0), "")),
        ("twenty-one", (Fraction(21), "")),
        ("three hundred and five", (Fraction(305), "")),
        ("two million", (Fraction(2_000_000), "")),
        ("one thousand two hundred", (Fraction(1200), "")),
        ("nineteen hundred", None),
        ("five hundred thousand", (Fraction(500_000), "")),
        ("2 hundred", (Fraction(200), "")),
        ("007", None),
        ("3.10", None),
        ("1,23", None),
        ("12,34,567", None),
        ("1e5", None),
        ("$5%", None),
        ("", None),
        ("two three", None),
        ("twenty eleven", None),
        ("twenty zero", None),
        ("thousand", None),
        ("hundred", None),
        ("and", None),
        ("million two", None),
        ("two thousand three million", None),
        ("twelve hundred", None),
        ("twenty ten", None),
        ("one hundred", (Fraction(100), "")),
        ("ten hundred", None),
        ("one million two million", None),
        ("*7*", (Fraction(7), "")),
        ("7".rjust(60), (Fraction(7), "")),
        ("7".rjust(61), None),
        ("two hundred hundred", None),
        ("five zero", None),
        ("1" * 70, None),
        ("\u0663", None),
    ],
)
def test_numbers_are_read_where_there_is_one_reading(text: str, parts: tuple[object, ...] | None) -> None:
    assert quantity_of(text) == (None if parts is None else Quantity("number", parts))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2021-03-05", (2021, 3, 5)),
        ("March 5, 2021", (2021, 3, 5)),
        ("march 5th 2021", (2021, 3, 5)),
        ("5 March 2021", (2021, 3, 5)),
        ("the 5th of March, 2021", (2021, 3, 5)),
        ("Mar. 5 2021", (2021, 3, 5)),
        ("1 Sept 1999", (1999, 9, 1)),
        ("5 March", (None, 3, 5)),
        ("March 5", (None, 3, 5)),
        ("March 2021", (2021, 3, None)),
        ("March, 2021", (2021, 3, None)),
        ("29 February", (None, 2, 29)),
        ("29 February 2021", None),
        ("31 April", None),
        ("3/5/2021", None),
        ("May", None),
        ("2021-13-01", None),
        ("2021-3-5", None),
        ("March 32", None),
        ("0000-01-01", None),
        ("may 5 2021 x", None),
    ],
)
def test_dates_are_read_where_there_is_one_reading(text: str, parts: tuple[object, ...] | None) -> None:
    assert quantity_of(text) == (None if parts is None else Quantity("date", parts))


@given(st.integers(0, 10**14))
def test_a_number_is_itself_with_and_without_its_commas(value: int) -> None:
    assert quantity_of(f"{value:,}") == quantity_of(str(value)) == Quantity("number", (Fraction(value), ""))


@given(st.dates())
def test_a_date_is_itself_in_three_dresses(day: object) -> None:
    iso = quantity_of(f"{day:%Y-%m-%d}".rjust(10, "0"))
    name = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ][day.month - 1]  # type: ignore[attr-defined]
    year, number = f"{day.year:04}", day.day  # type: ignore[attr-defined]
    assert iso is not None
    assert iso == quantity_of(f"{name} {number}, {year}") == quantity_of(f"{number} {name[:3]} {year}")


@given(st.text(max_size=80))
def test_reading_a_quantity_never_raises(text: str) -> None:
    found = quantity_of(text)
    assert found is None or found.kind in ("number", "date")


def test_an_unjudged_scoring_says_how_many_which_and_what_to_do() -> None:
    error = UnjudgedError([Unjudged("q2", "no judge"), Unjudged("q3", "cut")], [], 5)
    assert str(error) == (
        "free text: 2 of 5 free-text answers are unjudged, so there is no score (first q2: no judge): "
        "add --judge model (`edu-rag score --help`); --verdicts FILE lists them"
    )
    failed = UnjudgedError([Unjudged("q2", "the judge gave no reply: HTTP status 401")], [], 5)
    assert failed.remedy == "fix that and run the command again: finished grades are kept; --verdicts FILE lists them"
    judged = [Verdict(question_id=name, outcome="correct", reason="r") for name in ("q4", "q1")]
    assert UnjudgedError([Unjudged("q2", "no judge"), Unjudged("q3", "cut")], judged, 5).rows() == [
        {"question_id": "q1", "outcome": "correct", "reason": "r"},
        {"question_id": "q2", "outcome": "unjudged", "reason": "no judge"},
        {"question_id": "q3", "outcome": "unjudged", "reason": "cut"},
        {"question_id": "q4", "outcome": "correct", "reason": "r"},
    ]
    copied = pickle.loads(pickle.dumps(UnjudgedError(failed.unjudged, judged, 5)))  # as a process sends it
    assert type(copied) is UnjudgedError
    assert (copied.unjudged, copied.verdicts, copied.n_free_text) == (failed.unjudged, tuple(judged), 5)
    assert str(copied) == str(failed)
