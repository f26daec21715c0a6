"""The rules that make generated questions sound: which number is asked for, with which words and choices."""

from __future__ import annotations

import builder_dataset
import pytest

from builder.extract.sentence_splitter import split_sentences
from builder.generating.drawn_passages import WritingTask
from builder.generating.fact_answers import Fact, facts_of
from builder.generating.fact_sentences import is_fact
from builder.generating.lone_numbers import is_label, lone_number
from builder.generating.number_choices import wrong_numbers
from builder.generating.question_draft import QuestionDraft, QuestionPart, _after_message
from builder.generating.question_reader import agrees
from builder.generating.question_types import question_types
from builder.generating.span_words import off_span_faults
from builder.generating.wrong_answers import is_stated_of, rule_candidates
from builder.question_sets.plain_questions import plain_lines
from edu_rag.errors import DataError, RecordError
from edu_rag.records import Span, WebPage, page_id_of


def page_with(*lines: str) -> WebPage:
    text, url = "\n".join(lines), "http://one.example/plants/"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title="Plants",
        text=text,
        sentences=tuple(split_sentences(text)),
        fetched_at=builder_dataset.AT,
        html_sha256="0" * 64,
        extractor="test",
    )


def task_with(page: WebPage, kind: str, sentence: str, answer: str) -> WritingTask:
    start = page.text.index(sentence)
    place = start + sentence.index(answer)
    fact = Fact(Span(start, start + len(sentence)), Span(place, place + len(answer)), kind)
    return WritingTask(
        task_id="gen-0-1-00000",
        type=question_types().by_name["simple"],
        page=page,
        passages=(Span(0, len(page.text)),),
        facts=(fact,),
        distraction="rain",
    )


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("Virgo is a rich cluster at a distance of about 50 million light-years.", "50 million light-years"),
        ("The Local Bubble has an average of 0.01 atoms per cm³ in the dark.", "0.01 atoms per cm³"),
        ("William Huggins measured the first radial velocity of a star in 1868.", "1868"),
        ("Malaria threatens about 30 distinct kinds of animals in the world.", "30"),
        ("Water of the deep sea vents can reach 138 °C in the dark.", "138 °C"),
        # A unit that is not one of ours, or a label, is no count.
        ("Leaves of group 17 are green in the whole world of plants.", None),
        ("The average age of infected persons in clinics is 68, as doctors know.", None),
        # More than one number could be meant.
        ("Prokaryotes appeared on Earth 3.5 to 3.8 billion years ago.", None),
        ("The human genome has three billion base pairs and 6 billion in dividing cells.", None),
        ("Leukocytes number 7000 cells in blood, with a range from 5000 to 10000.", None),
        # The number belongs to another clause.
        ("Although the disk was discovered in 1983, the belts were seen much later.", None),
        # A bound is more than one number; a made-up case is no knowledge.
        ("The largest groups of the Sun have over 100 spots in the end.", None),
        ("A nozzle of the garden is attached to a hose of 0.900 cm.", None),
        ("Hydrochloric acid costs between $300 and more money in the city.", None),
    ],
)
def test_a_number_is_an_answer_only_with_its_unit_and_where_no_other_can_be_meant(
    sentence: str, number: str | None
) -> None:
    place = lone_number(sentence)
    assert (sentence[slice(*place)] if place else None) == number


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("50 million light-years", ["5", "13", "25", "38", "75", "100", "150", "200", "500"]),
        ("0.01 atoms per cm³", ["0.02", "0.03", "0.04", "0.10"]),
        ("12,000 years", ["1,200", "3,000", "6,000", "9,000", "18,000", "24,000", "36,000", "48,000", "120,000"]),
        ("80%", ["8", "20", "40", "60"]),
        ("2 rings", ["3", "4", "6", "8", "20"]),
    ],
)
def test_wrong_numbers_have_the_unit_and_form_of_the_right_one_and_are_far_from_it(
    right: str, wrong: list[str]
) -> None:
    unit = right.lstrip("0123456789.,")
    assert wrong_numbers(right) == [f"{number}{unit}" for number in wrong]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "1234.5 m",
            ["123.5 m", "308.6 m", "617.3 m", "925.9 m", "1851.8 m", "2469.0 m", "3703.5 m", "4938.0 m", "12345.0 m"],
        ),
        ("150%", ["15%", "38%", "75%", "110%", "230%", "300%", "450%", "600%", "1500%"]),
    ],
)
def test_no_wrong_number_differs_from_the_right_one_in_its_form(right: str, wrong: list[str]) -> None:
    assert wrong_numbers(right) == wrong


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("17 contains", "Group 17 contains the halogens of the table."),
        ("2 absorbs", "Photosystem 2 absorbs light in the leaf."),
        ("2 diabetes", "Type 2 diabetes damages vessels of the eye."),
        ("14 decays", "The carbon 14 decays in the ground."),
        ("11", "Apollo 11 landed on the Moon of Earth."),
    ],
)
def test_the_number_of_a_name_is_not_asked_for(number: str, sentence: str) -> None:
    assert is_label(number, sentence)
    faults = [
        what for is_fault, what in off_span_faults("Which number has it?", number, sentence, "number") if is_fault
    ]
    assert "asks for a number that may be a part of a name" in faults


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("46 chromosomes", "Cells of the human body have 46 chromosomes."),
        ("30", "Malaria threatens about 30 distinct kinds of animals."),
        ("138 °C", "Deep water can reach 138 °C in the dark."),
        ("1868", "William Huggins measured the velocity in 1868."),
        ("12 days", "The eggs of the bird hatch after lying for 12 days."),
    ],
)
def test_a_number_that_counts_or_measures_is_no_label(number: str, sentence: str) -> None:
    assert not is_label(number, sentence)


RING = "The ring of the planet Saturn has a thickness of 7000 km."


@pytest.mark.parametrize("quantity", ["temperature", "age", "diameter", "maximum thickness"])
def test_a_question_for_another_quantity_is_off_its_sentence(quantity: str) -> None:
    question = f"What is the {quantity} of the ring of the planet Saturn?"
    assert any(is_fault for is_fault, _ in off_span_faults(question, "7000 km", RING, "number"))


def test_a_quantity_may_be_named_by_another_word_for_it_or_by_what_its_unit_measures() -> None:
    for question, answer, sentence in (
        ("How thick is the ring of the planet Saturn?", "7000 km", RING),
        ("What is the temperature of water at the vents?", "138 °C", "Water at the vents reaches 138 °C."),
    ):
        assert not [what for is_fault, what in off_span_faults(question, answer, sentence, "number") if is_fault]


def test_a_wrong_year_is_no_year_to_come() -> None:
    assert wrong_numbers("2014") == ["1954", "1969", "1984", "1994", "2004", "2024"]


@pytest.mark.parametrize("right", ["no number", "1.2.3 things", "3,5 cm", "1" * 40, "0.0", "٣ cm"])
def test_what_is_no_number_of_english_text_has_no_wrong_numbers(right: str) -> None:
    assert wrong_numbers(right) == []


SPOTS = "Plants of the dry desert keep about 30 distinct kinds of animals alive."


def faults(question: str, answer: str, sentence: str, kind: str) -> list[str]:
    return [what for is_fault, what in off_span_faults(question, answer, sentence, kind) if is_fault]


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("How many distinct kinds of animals do plants of the dry desert keep alive?", ""),
        ("How many distinct animals are there?", "telling words of the sentence"),
        ("How many distinct kinds of animals of the dry desert does a camel keep alive?", "other words"),
        ("What number of animals do plants of the dry desert keep alive?", "without its unit"),
        ("How many plants of the dry desert keep animals alive?", "counts something else"),
    ],
)
def test_a_question_for_a_number_asks_for_what_its_sentence_counts(question: str, fault: str) -> None:
    found = faults(question, "30", SPOTS, "number")
    assert (fault in found[0]) if fault else not found


@pytest.mark.parametrize(
    ("question", "is_sound"),
    [
        ("What is an intrinsic property of a material that does not depend on its shape?", True),
        ("What is a fundamental property of materials?", False),
        ("Which device separates light into its component colors?", False),
    ],
)
def test_a_vague_question_for_a_term_is_rejected(question: str, is_sound: bool) -> None:
    line = (
        "resistivity: an intrinsic property of a material, independent of its shape or size, proportional to resistance"
    )
    assert (not faults(question, "resistivity", line, "term")) is is_sound


def test_a_year_is_asked_for_as_a_year() -> None:
    sentence = "William Huggins measured the radial velocity of a star in 1868."
    assert not faults("In which year did William Huggins measure the velocity of a star?", "1868", sentence, "number")
    assert faults("How did William Huggins measure the velocity of a star?", "1868", sentence, "number")


@pytest.mark.parametrize(
    ("sentence", "is_one"),
    [
        ("Calculate the activity due to carbon in a living organism of the sea.", False),
        ("The youngest have ages of many years and appear to be old.", False),
        ("Malaria is a cause of death around the world.Centers for Disease Control.", False),
        ("Calculation of Ionic Radii The edge length of a cell is small in salt.", False),
        ("Malaria is a cause of death around the world and in Europe.", True),
    ],
)
def test_an_exercise_and_two_sentences_in_one_are_no_fact(sentence: str, is_one: bool) -> None:
    assert is_fact(sentence) is is_one


GLOSSARY = (
    "gymnosperm: plant whose seeds are not enclosed in an ovary",
    "cycad: gymnosperm that grows in tropical climates and resembles a palm tree",
    "rhizome: modified stem that grows horizontally under the ground in soil",
    "tendril: modified stem of slender strands by which plants climb on others",
    "lenticel: opening on the surface of mature woody stems for gas exchange",
    "integument: layer of tissue around the ovule of a plant that becomes a coat",
    "xylem: tissue that carries water up from the roots",
    "stoma: pore in the outer skin of a leaf",
)


@pytest.mark.parametrize(
    ("sentence", "things"),
    [
        ("Rhizome plants of the dry desert grow in the tropical wind at night.", []),
        ("A rhizome is a stem under the ground that has nodes and roots.", ["rhizome"]),
        ("Farmers of the dry desert dig for what is called a rhizome.", ["rhizome"]),
        ("Roots are near a rhizome of the dry desert in the tropical wind.", []),
        ("The pan has a lid that covers all of the dry food.", []),
    ],
)
def test_a_term_is_an_answer_only_where_the_sentence_is_about_it(sentence: str, things: list[str]) -> None:
    page = page_with(sentence, *GLOSSARY)
    found = facts_of(page, Span(0, len(sentence)))
    assert [page.text[slice(*one.answer)] for one in found] == things


def test_a_page_with_few_terms_offers_none_as_an_answer() -> None:
    for n, kinds in ((8, {"term", "meaning"}), (7, {"meaning"})):
        page = page_with(*GLOSSARY[-n:])
        assert {one.kind for one in facts_of(page, Span(0, len(page.text)))} == kinds


def test_a_term_that_is_a_kind_of_the_right_one_is_no_wrong_answer() -> None:
    page = page_with(*GLOSSARY)
    found = rule_candidates(task_with(page, "term", GLOSSARY[0], "gymnosperm"), 0)
    assert sorted(found or ()) == ["integument", "lenticel", "rhizome", "stoma", "tendril", "xylem"]


def test_terms_with_the_most_alike_meanings_come_first() -> None:
    page = page_with(*GLOSSARY)
    found = rule_candidates(task_with(page, "term", GLOSSARY[2], "rhizome"), 0)
    assert next(iter(found or ())) in ("tendril", "cycad")
    assert rule_candidates(task_with(page, "reason", GLOSSARY[2], "rhizome"), 0) is None


def test_a_term_of_which_the_page_states_what_is_asked_is_no_wrong_answer() -> None:
    page = page_with(*GLOSSARY)
    assert is_stated_of("tendril", "What is a modified stem?", page)
    assert not is_stated_of("tendril", "Which modified stem grows horizontally under the ground?", page)
    assert not is_stated_of("lenticel", "What is a modified stem?", page)


@pytest.mark.parametrize(
    ("term", "question", "asked"),
    [
        ("ray", "What branch of optics deals with the ray aspect of light?", None),
        ("radial velocity", "In which year did Huggins make the first radial velocity determination?", None),
        ("solar month", "What is the length of a solar month?", "What is the length of it?"),
    ],
)
def test_a_pronoun_is_put_only_for_a_whole_name(term: str, question: str, asked: str | None) -> None:
    page = page_with(f"{term}: something of which the pages of this test have much to state")
    task = task_with(page, "term", page.text, term)
    part = QuestionPart(question, "1868")
    if asked is None:
        with pytest.raises(RecordError, match="names no term"):
            _after_message(part, task)
    else:
        found = _after_message(part, task)
        assert (found.question, found.plain) == (asked, question)


def test_the_plain_question_has_no_remark() -> None:
    kind = question_types().by_name["complex-situational"]
    parts = (
        QuestionPart("I am a nurse. What is a vein?", "a", plain="What is a vein?"),
        QuestionPart("Why is it?", "b"),
    )
    draft = QuestionDraft("I am a nurse. What is a vein? Also, why is it?", "a; b", parts)
    assert draft.plain(kind) == "What is a vein? Also, why is it?"


def test_plain_lines_are_asked_without_remarks_and_others_are_refused() -> None:
    line = {"id": "1", "question": "I am a nurse. What is a vein?", "plain": "What is a vein?", "answer": "a"}
    assert list(plain_lines([line])) == [{"id": "1", "question": "What is a vein?", "answer": "a"}]
    assert len(list(plain_lines([line, line | {"id": "2"}]))) == 1
    with pytest.raises(DataError, match="has no field `plain`"):
        list(plain_lines([{"id": "1", "question": "What is a vein?"}]))


def test_an_answer_with_other_numbers_is_another_answer() -> None:
    assert agrees("about 0.01 atoms per cubic centimetre", "0.01 atoms")
    assert not agrees("1 atoms", "0.01 atoms")


@pytest.mark.parametrize(
    ("answer", "right"),
    [("12000 years", "12,000 years"), ("1,000", "1000"), ("12 000 m", "12000 m"), ("2.30 m", "2.3 m"), ("2μm", "2 μm")],
)
def test_one_number_in_two_spellings_is_the_same_answer(answer: str, right: str) -> None:
    assert agrees(answer, right)
    assert agrees(right, answer)


@pytest.mark.parametrize(("answer", "right"), [("-5 K", "5 K"), ("12,000 years", "12 years"), ("1.5 m", "15 m")])
def test_another_number_is_another_answer(answer: str, right: str) -> None:
    assert not agrees(answer, right)
    assert not agrees(right, answer)


def test_a_short_answer_is_stated_only_where_it_is_a_word() -> None:
    page = page_with("The reaction of the salt in water has a rate of 200 in summer.")
    assert not is_stated_of("ion", "What has a rate in water in summer?", page)
    assert not is_stated_of("20", "What has a rate in water in summer?", page)
    assert is_stated_of("salt", "What has a rate in water in summer?", page)
