"""Question flags, on cases from TQA's real text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.question_sets.question_files import read_questions
from builder.question_sets.question_flags import flag_questions, is_context_bound, is_meta_choice
from edu_rag.records import Kind, Question


def ask(*choices: str, text: str = "Which one", kind: Kind = "multiple_choice", question_id: str = "q1") -> Question:
    labelled = dict(zip("abcdefg", choices or ("true", "false"), strict=False))
    return Question(question_id=question_id, text=text, choices=labelled, kind=kind, split="val")


def flags_of(question: Question, *others: Question) -> tuple[str, ...]:
    return flag_questions([question, *others])[0].flags


@pytest.mark.parametrize(
    "text",
    [
        "all of the above",
        "All of the above.",
        "none of these",
        "None of the above",
        "both a and c",
        "both (a) and (c)",
        "two of the above",
        "two or the above",
        "a and b only",
        "a & b",
        "A, B, and C",
        "a and b are correct",
        "b c",
        "all of the above are true of red blood cells.",
        "archaea reproduce through all of the above methods.",
        "neither a nor b",
        "both of these",
        "any of the above",
        "more than one of the above",
        "all of these are correct",
        "none of the above. mountain ranges form at all types of plate boundaries.",
        "only a and b",
        "all of the choices",
    ],
)
def test_choices_that_speak_of_other_choices_are_meta(text: str) -> None:
    assert is_meta_choice(text)


@pytest.mark.parametrize(
    "text",
    [
        "none of these layers",
        "both layers",
        "All of them are multicellular",
        "None of them have the ability to move",
        "11 km below sea level",
        "rises above continental crust",
        "both red and white",
        "all of the phospholipid",
        "a",
        "dc",
        "rr",
        "tt",
        "both plates",
        "hawks",
        "continental crust sinks below oceanic crust",
        "blood types",
        "vitamin A",
        "all of the minerals solidify and melt at the same time",
        "directly above the epicenter",
        "CO2 and O2",
        "a cell",
    ],
)
def test_choices_that_speak_of_the_subject_are_not_meta(text: str) -> None:
    assert not is_meta_choice(text)


@pytest.mark.parametrize(
    "text",
    [
        "what will be the phenotype of the flower from question 8?",
        "Based on the solubility of Epsom salt in question 6, what mass of Epsom salt will dissolve in 1 L of water",
        "How many resistors are there in the circuit represented by this circuit diagram?",
        "What is shown in the figure above?",
        "According to Table 3, which metal is densest?",
        "What are the genotypes of the parents?",
        "the process described in question 5 to will occur if light rays enter the new medium",
    ],
)
def test_questions_that_need_their_neighbour_or_a_picture_are_context_bound(text: str) -> None:
    assert is_context_bound(text)


@pytest.mark.parametrize(
    "text",
    [
        "Table salt is an example of a sulfide mineral.",
        "Chains of volcanoes form above hot spots because of plate tectonics.",
        "Which of the following symbols represents a battery in a circuit diagram?",
        "this is a graph that plots the stability of phases of a compound.",
        "get beneath a sturdy table or desk.",
        "this layer of soil grades into the parent rock below.",
        "the pen of a seismograph moves over a paper roll",
        "All of the following are fungi except",
    ],
)
def test_questions_that_stand_alone_are_not_context_bound(text: str) -> None:
    assert not is_context_bound(text)


def test_a_choice_that_lost_a_letter_known_from_elsewhere_is_truncated() -> None:
    other = ask("one.", "two.", text="California and Florida are states.", question_id="q2")
    assert flags_of(ask("the Ring of Fire.", "in the state of Californi"), other) == ("truncated",)
    assert flags_of(ask("the Ring of Fire.", "in the state of California"), other) == ()


def test_only_a_letter_that_labels_a_choice_can_have_been_lost() -> None:
    other = ask("one.", "two.", text="Indian rocks are tiny.", question_id="q2")
    assert flags_of(ask("india", "tin"), other) == ()


def test_matching_lists_are_not_taken_for_cut_ones() -> None:
    other = ask("algae.", "b.", text="Algae are protists.", question_id="q2")
    assert flags_of(ask("alga", "protist", kind="matching", text="a protist"), other) == ()


def test_texts_that_end_in_an_open_word_or_a_hyphen_are_truncated() -> None:
    assert flags_of(ask("the solution outside moves from low concentration to", "it stays.")) == ("truncated",)
    assert flags_of(ask(text="_Active transport occurs to cross a cell mem-", kind="true_false")) == ("truncated",)
    assert flags_of(ask("x", "y", text="passage from higher to lower concentration that", kind="matching")) == (
        "truncated",
    )


def test_a_text_that_ends_in_a_capital_letter_is_whole() -> None:
    assert flags_of(ask("humus", "topsoil", text="common name for soil horizon A", kind="matching")) == ()
    assert flags_of(ask("0.33 A", "3 A", "8 A", text="How large is the current?")) == ()


def test_a_stump_of_a_longer_word_of_the_set_is_truncated() -> None:
    other = ask("one.", "two.", text="Prokaryotes have no nucleus.", question_id="q2")
    assert flags_of(ask("Bacteria.", "Archaea.", "Prokary", text="Domains include"), other) == ("truncated",)
    assert flags_of(ask("Bacteria.", "Archaea", "Prokary", text="Domains include"), other) == ()


def test_a_long_choice_that_ends_as_another_does_lacks_its_full_stop_only() -> None:
    ends = "is a particle of rna or dna that is surrounded on all sides by a protein coat"
    assert flags_of(ask(f"a virus {ends}.", "a cell has a wall.", f"a living virus {ends}")) == ()


def test_a_multiple_choice_stem_may_end_in_an_open_word() -> None:
    assert flags_of(ask("liver.", "heart.", text="The organ of the")) == ()


def test_a_long_choice_without_a_full_stop_among_choices_with_one_is_truncated() -> None:
    long = "to clone an organism, the nucleus from a somatic cell is placed in a donor"
    assert flags_of(ask(long, "an egg is made.", "a sperm is made.", "none of these.")) == ("meta_choice", "truncated")
    assert flags_of(ask(long, "an egg is made", "a sperm is made.", "a cell.")) == ()


def test_choices_that_differ_in_case_and_full_stop_only_are_duplicates() -> None:
    assert flags_of(ask("tt", "Tt.", "TT")) == ("duplicate_choices",)


def test_a_repeated_question_is_flagged_on_both_sides_and_a_shared_stem_is_not() -> None:
    first = ask("ice.", "fire", text="What is hot?", question_id="q1")
    again = ask("Ice", "fire.", text="what is HOT?", question_id="q2")
    other = ask("ice", "water", text="What is hot?", question_id="q3")
    assert [q.flags for q in flag_questions([first, again, other])] == [
        ("duplicate_question",),
        ("duplicate_question",),
        (),
    ]


def test_the_flags_of_all_tqa_val_questions_stay_as_they_were_counted(shared_data: Path) -> None:
    questions, _ = read_questions([shared_data / "tqa" / "val" / "questions.jsonl"], None)
    counts = Counter(flag for question in questions for flag in question.flags)
    assert counts == {
        "meta_choice": 519,
        "truncated": 44,
        "context_bound": 15,
        "duplicate_question": 8,
        "duplicate_choices": 1,
    }


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=5), st.text(min_size=1).filter(str.strip))
def test_any_text_is_flagged_without_an_error_and_twice_the_same(choices: list[str], text: str) -> None:
    question = ask(*choices, text=text)
    assert flag_questions(flag_questions([question])) == flag_questions([question])
