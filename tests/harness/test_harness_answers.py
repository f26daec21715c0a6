from __future__ import annotations

import os
import time

import pytest
from calibration import slowdown
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edu_rag.records import LABELS
from harness.reading.abstentions import abstains
from harness.reading.answers import MAX_CHARACTERS, read_answer
from harness.reading.choice_text import STRICT, by_completion, by_text
from harness.reading.folding import fold_article, fold_edges, fold_punctuation, fold_writing
from harness.reading.wrappers import before_next_question

NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
"""Whether hypothesis draws many examples of texts and answers: by day a quarter."""
CELLS = {"a": "meiosis", "b": "mitosis", "c": "both a and b", "d": "none of the above"}
ALL = {"a": "meiosis", "b": "mitosis", "c": "budding", "d": "all of the above"}
TRUTH = {"a": "true", "b": "false"}
GENES = {"a": "tt", "b": "Tt", "c": "TT", "d": "tt"}
NUMBERS = {"a": "-5", "b": "5", "c": "10²", "d": "1,000", "e": "3.5"}
TRAPS = {"a": "Florid", "b": "I", "c": "a dog", "d": "dog", "e": "cat", "f": "Southern Hemi-", "g": "A and B"}
LONG = {"a": "it moves towards the south pole", "b": "it moves towards the equator", "c": "it does not move at all"}

NAMES_B = [
    "b",
    "B",
    "(B).",
    "[b]",
    "b)",
    "b.",
    "'b'",
    '"B"',
    "{b}",
    "Answer: b",
    "answer b",
    "The answer is b.",
    "**b**",
    "The correct answer is (b)",
    "b is correct",
    "(b) is the correct answer.",
    "Option B",
    "Choice: b",
    "final answer: **b**",
    "b) mitosis",
    "B. Mitosis.",
    "b: mitosis",
    "b - mitosis",
    "b mitosis",
    "(b) mitosis",
    "Answer: (b) mitosis",
    "mitosis",
    "Mitosis!",
    " MITOSIS ",
    "“mitosis”",
    "*mitosis*",
    "The answer is mitosis.",
    "the mitosis",
    "a mitosis",
    "Mitosis (b)",
    "I think the answer is b",
    "b) because cells divide",
    "b, since cells divide",
    "b\nmeiosis is not right",
    "Let us think about cells.\nAnswer: b",
    "Answer: b\nThe answer is mitosis.",
    "**Answer:** b",
    "\u200bb",
    "Ⓑ",
    "ｂ",
    "b\r\n",
    "b) mitosis, where a cell splits",
]


@pytest.mark.parametrize("text", NAMES_B)
def test_the_usual_dresses_of_a_label_and_its_text_name_the_choice(text: str) -> None:
    assert read_answer(text, CELLS)[:2] == ("choice", "b")


READINGS = [
    ("Answer:\nb", CELLS, "b"),
    ("Answer:\n\nb", CELLS, "b"),
    ("## Answer\n\n**b**", CELLS, "b"),
    ("The answer is:\n**B**", CELLS, "b"),
    ("Answer:\nI don't know", CELLS, "abstained"),
    ("Answer: unknown", CELLS, "abstained"),
    ("```\nb\n```", CELLS, "b"),
    ('```json\n{"answer": "b"}\n```', CELLS, "b"),
    ("The answer is:\n```\nb\n```", CELLS, "b"),
    ("```a\nb\n```", CELLS, "unparseable"),
    (r"\boxed{b}", CELLS, "b"),
    (r"$\boxed{\text{b}}$", CELLS, "b"),
    (r"\[ \boxed{\textbf{(B) mitosis}} \]", CELLS, "b"),
    (r"The answer is $\boxed{B}$.", CELLS, "b"),
    (r"not \boxed{b}", CELLS, "unparseable"),
    (r"\boxed{a} \boxed{b}", CELLS, "unparseable"),
    (r"\boxed{b", CELLS, "unparseable"),
    ("<answer>b</answer>", CELLS, "b"),
    ("<Answer>\n(b) mitosis\n</Answer>", CELLS, "b"),
    ("<answer>b</answer><answer>c</answer>", CELLS, "unparseable"),
    ("<answer>not b</answer>", CELLS, "unparseable"),
    ("<answer></answer>", CELLS, "abstained"),
    ('{"answer":"b"}', CELLS, "b"),
    ('{"Answer": "Mitosis", "confidence": 0.9, "reason": "not meiosis"}', CELLS, "b"),
    ('{"answer": null}', CELLS, "abstained"),
    ('{"answer": "I don\'t know"}', CELLS, "abstained"),
    ('{"answer": 5}', NUMBERS, "b"),
    ('{"answer": 3.5}', NUMBERS, "e"),
    ('{"answer": true}', TRUTH, "a"),
    ('{"answer": "b", "answer": "c"}', CELLS, "unparseable"),
    ('{"answer": "b", "final_answer": "c"}', CELLS, "unparseable"),
    ('{"answer": "b", "choice": "mitosis"}', CELLS, "b"),
    ('{"answer": ["a", "b"]}', CELLS, "unparseable"),
    ('{"answer": {"answer": "b"}}', CELLS, "b"),
    ('{"answer": {"label": "b", "text": "meiosis"}}', CELLS, "unparseable"),
    ('{"answer": {"b": 1}}', CELLS, "unparseable"),
    ("{'answer': 'b'}", CELLS, "b"),
    ("Not this: {'answer': 'b'}", CELLS, "unparseable"),
    ('{"reason": "b"}', CELLS, "unparseable"),
    ('{"answer": "b"', CELLS, "unparseable"),
    ("b</s>", CELLS, "b"),
    ("b<|im_end|>", CELLS, "b"),
    ("mitosis<|eot_id|>", CELLS, "b"),
    ("Answer: b<end_of_turn>\n<eos>", CELLS, "b"),
    ("</s>", CELLS, "abstained"),
    ("b</s>c", CELLS, "unparseable"),
    ("<s>b</s>", CELLS, "unparseable"),
    ("</s>", {"a": "<s>", "b": "</s>"}, "b"),
    ("It's B", CELLS, "b"),
    ("It\u2019s mitosis.", CELLS, "b"),
    ("It is b.", CELLS, "b"),
    ("I choose b", CELLS, "b"),
    ("I would go with (b)", CELLS, "b"),
    ("I'd go with option b.", CELLS, "b"),
    ("Sure! The answer is b.", CELLS, "b"),
    ("The correct option is B: mitosis", CELLS, "b"),
    ("The answer is b because cells divide", CELLS, "b"),
    ("It's b or c", CELLS, "unparseable"),
    ("It's not b", CELLS, "unparseable"),
    ("I would not choose b", CELLS, "unparseable"),
    ("I might go with b", CELLS, "unparseable"),
    ("I choose both", CELLS, "unparseable"),
    ("It is a cat", {"a": "dog", "b": "cat"}, "b"),
    ("A reason is needed", CELLS, "unparseable"),
    ("True, because plants make it", TRUTH, "a"),
    ("False. The sun is not a planet.", TRUTH, "b"),
    ("False. It is not true.", TRUTH, "b"),
    ("False because it is small", TRUTH, "b"),
    ("The answer is true, since plants make it.", TRUTH, "a"),
    ("Yes, plants make it.", TRUTH, "a"),
    ("True. That is wrong.", TRUTH, "unparseable"),
    ("True, not", TRUTH, "unparseable"),
    ("True, but I'm not sure", TRUTH, "unparseable"),
    ("True. It is false.", TRUTH, "unparseable"),
    ("True. It is not true.", TRUTH, "unparseable"),
    ("True. The answer is b.", TRUTH, "unparseable"),
    ("True, false", TRUTH, "unparseable"),
    ("True\nIt is false.", TRUTH, "unparseable"),
    ("False\nThis is false, since it is small.", TRUTH, "b"),
    ("True, because plants make it", CELLS, "unparseable"),
    ("B\n\nQuestion: next one, which?\nAnswer: A", CELLS, "b"),
    ("mitosis\n\n### Question 2: which?\na) x\nAnswer: A", CELLS, "b"),
    ("I don't know\n\nQ: which?\nA: a", CELLS, "abstained"),
    ("osmosis\n\nQuestion: which?\nAnswer: A", CELLS, "unparseable"),
    ("b or c\n\nQuestion: which?\nAnswer: A", CELLS, "unparseable"),
    ("B\nQuestion: next one, which?\nAnswer: A", CELLS, "unparseable"),
    ("Question: which?\nAnswer: b", CELLS, "b"),
    (
        "b\n\nq: quartz",
        dict(zip(LABELS[:17], [f"rock {i}" for i in range(16)] + ["quartz"], strict=True)),
        "unparseable",
    ),
    ("b\nThat is wrong.", CELLS, "unparseable"),
    ("b\nI was mistaken.", CELLS, "unparseable"),
    ("b\nb is incorrect", CELLS, "unparseable"),
    ("b\nIt isn't mitosis.", CELLS, "unparseable"),
    ("b\nNot b.", CELLS, "unparseable"),
    ("b\nIt is not meiosis.", CELLS, "b"),
    ("b\nWait, no.", CELLS, "unparseable"),
    ("Answer: b\nThat is not correct.", CELLS, "unparseable"),
    ("The answer is not b.\nAnswer: b", CELLS, "unparseable"),
    ("The answer is not obvious.\nAnswer: b", CELLS, "b"),
    ("Answer: b\nAnswer: I don't know", CELLS, "unparseable"),
    ("Answer: I don't know\nAnswer: b", CELLS, "unparseable"),
    ("Answer: b\nAnswer: not b", CELLS, "unparseable"),
    ("Answer: b\nc", CELLS, "unparseable"),
    ("c\nAnswer: b", CELLS, "unparseable"),
    ("a) meiosis\nb) mitosis\nc) both a and b\nAnswer: b", CELLS, "b"),
    ("Answer: The answer is b", CELLS, "b"),
    ("b\nAnswer: Answer: c", CELLS, "unparseable"),
    ("b\nSo I now say that the answer is c.", CELLS, "unparseable"),
    ("b\nThe answer is not c.", CELLS, "b"),
    ("b\n<answer>c</answer>", CELLS, "unparseable"),
    ("b\n<answer>b</answer>", CELLS, "b"),
    ('b\n{"answer": "c"}', CELLS, "unparseable"),
    ('b\n{\n"answer": "c"\n}', CELLS, "unparseable"),
    ("b, because the answer is c", CELLS, "unparseable"),
    ("b) because of vitamin c in it", CELLS, "b"),
    ("carbonic", {"a": "carbon", "b": "oxygen"}, "unparseable"),
    ("carbonic acid", {"a": "carbon", "b": "oxygen"}, "unparseable"),
    ("c) carbonic", {"a": "oxygen", "b": "iron", "c": "carbon"}, "unparseable"),
    ("California", {"a": "Californi", "b": "Ohio."}, "a"),
    ("in the state of California.", {"a": "in the state of Californi", "b": "Ohio."}, "a"),
    ("California", {"a": "Ohio.", "b": "Californi"}, "b"),
    ("human beings", {"a": "human being", "b": "apes"}, "unparseable"),
    ("antibody", {"a": "anti-", "b": "post-"}, "unparseable"),
    ("</s>\n", {"a": "<s>", "b": "</s>"}, "b"),
    ("Answermitosis", CELLS, "b"),
    ("my choiceb", CELLS, "b"),
    ("Final answercaliforni", {"a": "Ohio.", "b": "Californi"}, "b"),
    ("b) because neither meiosis nor budding", CELLS, "b"),
    ("b) mitosis, because neither mitosis nor meiosis", CELLS, "unparseable"),
    ("c) both a and b, because of meiosis and mitosis", CELLS, "c"),
    ("c) both a and b, because meiosis is one", CELLS, "unparseable"),
    ("d) all of the above, since meiosis and mitosis are", ALL, "d"),
    ("d) all of the above, since mitosis is", ALL, "unparseable"),
    ("b) mitosis, since meiosis and budding are", ALL, "unparseable"),
    ("Option a is not right.\nAnswer: b", CELLS, "b"),
    ("Option a is right.\nAnswer: b", CELLS, "unparseable"),
    ("Answer: a\nActually, that is hard.\nb", CELLS, "unparseable"),
    ("a\nNo, mitosis", CELLS, "b"),
    ("a\nNo, mitosis\nMeiosis.", CELLS, "unparseable"),
    ("true\nNo, false", TRUTH, "unparseable"),
    ("Meiosis.\nBut the answer is b", CELLS, "b"),
    ("Answer: a\nBut the answer is b", CELLS, "unparseable"),
    ('{"answer": "mitosis", "why": "it\'s so"}', CELLS, "b"),
    ('{"choice": "b"}', CELLS, "unparseable"),
    ('The answer: {"answer": {"answer": "b"}}', CELLS, "b"),
    ('Sure! {"answer": "b"}', CELLS, "b"),
    ('I looked. {"answer": "b"}', CELLS, "b"),
    ('I say {"answer": "b"}', CELLS, "unparseable"),
]


MANY = dict(zip(LABELS[:17], [f"rock {i}" for i in range(16)] + ["5"], strict=True))


@pytest.mark.parametrize(
    ("text", "choices", "label"),
    [
        ("mitosis\nIt splits.\n\nQuestion: which?\nAnswer: a", CELLS, "b"),
        ("\n\nQuestion: which?\nAnswer: b", CELLS, "b"),
        ("b\n\n**q: 5**", MANY, None),
        ("b\n\nq 5.", MANY, None),
        ("b\n\n**q: 5**", CELLS, "b"),
        ("b\n\nq 5.", CELLS, "b"),
    ],
)
def test_a_new_question_ends_the_answer_unless_q_is_a_label(
    text: str, choices: dict[str, str], label: str | None
) -> None:
    assert read_answer(text, choices).label == label
    assert before_next_question("b\n\nq: which?") == "b\n\n"


@pytest.mark.parametrize(("text", "choices", "verdict"), READINGS)
def test_usual_and_debatable_forms_have_a_written_verdict(text: str, choices: dict[str, str], verdict: str) -> None:
    reading = read_answer(text, choices)
    assert (reading.label or reading.kind) == verdict, reading.reason


SEVERAL = "names more than one choice"
NEGATED = "a negation, which names no choice"
WITHIN = "holds the text of choice {} within other words; a substring is not enough"
NOT_ITS = "label {} with a text that is not its choice's: {}"
TAKEN_BACK = "{}, then hedged, taken back or given to another choice"
UNKNOWN = "says that it does not know"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a and b", SEVERAL),
        ("a, b", SEVERAL),
        ("a/b", SEVERAL),
        ("b or c", SEVERAL),
        ("A, B, C, D", SEVERAL),
        ("meiosis mitosis", SEVERAL),
        ("b\nc", SEVERAL),
        ("meiosis, mitosis, both a and b, none of the above", SEVERAL),
        ("either a or b", SEVERAL),
        ("a) meiosis\nb) mitosis\nc) both a and b\nd) none of the above", SEVERAL),
        ("Answer: b\nAnswer: c", SEVERAL),
        ("Answer: b, c", "names more than one choice, or hedges"),
        ("Answer: maybe b", "names more than one choice, or hedges"),
        ('{"answer": "b", "choice": "c"}', "names more than one choice, or takes its choice back"),
        ("b) meiosis", NOT_ITS.format("b", WITHIN.format("a"))),
        ("A) mitosis", NOT_ITS.format("a", WITHIN.format("b"))),
        ("d mitosis", "label d with the text of choice b"),
        ("b, because of meiosis", "label b with the text of choice a"),
        ("not b", NEGATED),
        ("b is wrong", NEGATED),
        ("it isn't mitosis", NEGATED),
        ("b) not mitosis", NOT_ITS.format("b", NEGATED)),
        ("b. is incorrect", NOT_ITS.format("b", NEGATED)),
        ("probably b", "hedged"),
        ("b, but maybe another", NOT_ITS.format("b", "hedged")),
        ("b, I don't know", NOT_ITS.format("b", UNKNOWN)),
        ("b\nI don’t know", TAKEN_BACK.format("label b")),
        ("mitosis, since it is (c)", TAKEN_BACK.format("the text of choice b")),
        ("Cells divide by mitosis", WITHIN.format("b")),
        ("amitosis", "names no choice"),
        ("z", "names no choice"),
        ("I don't know, maybe mitosis", f"{UNKNOWN}, and names a choice"),
        ("b) something else entirely", NOT_ITS.format("b", "names no choice")),
        ("<think>b", "a thought that does not end"),
        ("~~b~~", "a thought or a text that is struck out, and nothing else"),
    ],
)
def test_an_answer_that_names_no_single_choice_is_unparseable_with_its_reason(text: str, reason: str) -> None:
    assert read_answer(text, CELLS) == ("unparseable", None, reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("b", "label b"),
        ("Answer: b", "label b"),
        ("mitosis", "the text of choice b"),
        ("b) mitosis", "label b with its text"),
        ("b mitosis", "label b with its text"),
        ("mitosis (b)", "label b with its text"),
        ("b) mitosis, where a cell splits", "label b with its text with a remark"),
        ("b) because cells divide", "label b with a remark"),
        ("b because cells divide", "label b with a remark"),
        ("mitosis because cells divide", "the text of choice b with a remark"),
    ],
)
def test_a_choice_is_named_with_what_tells_it(text: str, reason: str) -> None:
    assert read_answer(text, CELLS) == ("choice", "b", reason)


def test_reasons_of_completed_choices_name_the_choice() -> None:
    cut = {"a": "Greenlan", "b": "Iceland.", "c": "the tall tree drops its ripe seeds in the long autumn rain and then"}
    for text, reason in (
        ("Greenland", "choice a, completed or shortened"),
        ("Greenland, because of its ice", "choice a, completed with a remark"),
        ("a) Greenland", "label a with its text"),
        ("a) Greenland (an island)", "label a with its text with a remark"),
        (f"{cut['c']} sleeps", "the text of choice c, completed with a remark"),
    ):
        assert read_answer(text, cut).reason == reason
    assert by_completion("Iceland", cut) is None


def test_reasons_of_truths_parts_and_texts_that_read_alike() -> None:
    assert read_answer("yes", TRUTH).reason == "says true"
    assert read_answer("it moves towards the south", LONG).reason == "choice a, completed or shortened"
    assert read_answer("it moves towards the", LONG).reason == "a part that fits choices a and b"
    assert read_answer("tT", {"a": "tt", "b": "TT"}).reason == (
        "choices a and b read alike; only a label tells them apart"
    )
    assert [read_answer(text, CELLS).reason for text in ("Answer: unknown", "I don't know", "?")] == [
        UNKNOWN,
        UNKNOWN,
        "says nothing",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know",
        "I don’t know",
        "i dont know.",
        "I DO NOT KNOW",
        "Sorry, I don't know the answer.",
        "",
        "  \n ",
        "nan",
        "N/A",
        "unknown",
        "?",
        "cannot be determined from the context",
        "It can't be determined from the context.",
        "I'm sorry, but I can't help with that.",
        "The context does not contain this.",
        "Not enough information",
        "\u200b",
        "I’m not sure.",
        "I d\u200bon't know",
    ],
)
def test_saying_that_one_does_not_know_is_an_abstention(text: str) -> None:
    assert read_answer(text, CELLS).kind == "abstained"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("true", "a"),
        ("True.", "a"),
        ("T", "a"),
        ("yes", "a"),
        ("F", "b"),
        ("no", "b"),
        ("FALSE", "b"),
        ("b", "b"),
        ("not true", "b"),
        ("It's correct.", "a"),
    ],
)
def test_true_false_questions_may_be_answered_in_words(text: str, label: str) -> None:
    assert read_answer(text, TRUTH).label == label


@pytest.mark.parametrize("text", ["true or false", "t/f", "not false", "it is true that it is false", "untruth"])
def test_true_false_words_within_others_name_nothing(text: str) -> None:
    assert read_answer(text, TRUTH).kind == "unparseable"


def test_yes_means_nothing_where_the_choices_are_not_true_and_false() -> None:
    assert read_answer("yes", CELLS).kind == "unparseable"


def test_case_tells_genes_apart_and_equal_choices_need_a_label() -> None:
    assert [read_answer(text, GENES).label for text in ("Tt", "TT", "Answer: Tt", "a", "d")] == [
        "b",
        "c",
        "b",
        "a",
        "d",
    ]
    for text in ("tt", "tT"):
        assert "read alike" in read_answer(text, GENES).reason


@pytest.mark.parametrize(
    ("text", "label"),
    [("-5", "a"), ("−5", "a"), ("5", "b"), ("5.", "b"), ("10^2", "c"), ("10²", "c"), ("1000", "d"), ("3.5", "e")],
)
def test_numbers_keep_their_signs_points_and_powers(text: str, label: str) -> None:
    assert read_answer(text, NUMBERS).label == label


@pytest.mark.parametrize("text", ["102", "0.5", ".5", "35", "+5", "5%", "1,00"])
def test_another_number_is_no_choice(text: str) -> None:
    assert read_answer(text, NUMBERS).label is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("a", "a"),
        ("I", "b"),
        ("a dog", "c"),
        ("A dog.", "c"),
        ("dog", "d"),
        ("a cat", "e"),
        ("the cat", "e"),
        ("A and B", "g"),
        ("Florida", "a"),
        ("Southern Hemisphere", "f"),
        ("e) cat", "e"),
    ],
)
def test_articles_odd_choice_texts_and_cut_words_are_read_rightly(text: str, label: str) -> None:
    assert read_answer(text, TRAPS).label == label


def test_a_label_wins_over_an_equal_text() -> None:
    assert read_answer("b", {"a": "b", "b": "a"}).label == "b"


def test_a_choice_may_be_shortened_only_as_far_as_it_stays_the_only_one() -> None:
    assert read_answer("it moves towards the south", LONG).label == "a"
    assert read_answer("it moves towards the", LONG).label is None
    assert read_answer("it does", LONG).label is None


@pytest.mark.parametrize(("choice", "text"), [("water", "waterfall"), ("cell", "cells"), ("acid", "acidic rain falls")])
def test_text_inside_a_longer_word_is_not_a_choice(choice: str, text: str) -> None:
    assert read_answer(text, {"a": choice, "b": "something else"}).kind == "unparseable"


def test_a_choice_that_says_it_cannot_be_determined_is_a_choice() -> None:
    assert read_answer("cannot be determined", {"a": "yes", "b": "Cannot be determined."}).label == "b"


LONG_ANSWERS = [
    "(" * 19_000,
    "a," * 9_000 + "!",
    "answer " * 2_500,
    "b\n" * 9_000,
    "*_" * 9_000,
    "x" + "*" * 19_000 + "y",
    "the answer is" + "_*" * 9_000 + "b",
    "a" + ")" * 19_000 + "b",
    "\ufdfa" * 19_000,
    "```\n" * 4_900,
    "</s>" * 4_900,
    "b" + "\n</s>" * 3_200,
    "<answer>" * 2_400,
    "\\boxed{" * 2_800,
    "$" * 19_000,
    "(" + " " * 19_000 + "b",
    '{"answer":' + "[" * 19_000,
    '{"answer":' + "[" * 9_000 + "]" * 9_000 + "}",
    "b\n\nQuestion" * 1_500,
    "b, because " + "(a" * 9_000,
    "b, because " + "is " * 6_000,
    "Answer:\n" * 2_400,
    "true, " * 3_000,
    "".join(f"b{i}\n" for i in range(3_000)),
    "b\n" + "it is " * 3_000,
    " \n" * 9_000 + "b",
    "b\n" + "*" * 19_000,
    "b\n" + '{"answer":"b"}\n' * 1_200,
    "b\n" + "answer '" * 2_300,
    "true - " * 2_800,
    "$ " * 9_000,
    "b\n" + "not b " * 3_000,
    "the answer is " + "'" * 19_000,
    "Wait.\n" * 3_000,
    "b\n" + "actually, the answer is b\n" * 700,
    "mitosis, not " * 1_500,
    "b is correct. " * 1_400,
    "it seems a, but the answer is " * 600,
    "neither a " * 1_900,
    "x_" * 9_000,
    "9 x " * 4_500,
    "~~a" * 6_000,
    "[1] " * 4_700,
    "b?\n" * 4_900,
]


@pytest.mark.parametrize("text", LONG_ANSWERS, ids=lambda text: ascii(text[:14]))
def test_a_long_answer_is_read_in_less_than_a_second(text: str) -> None:
    started = time.process_time()
    read_answer(text, CELLS)
    took_s = time.process_time() - started
    # Quadratic patterns took ten seconds.
    assert took_s < 2 or took_s < 2 * slowdown()


@pytest.mark.parametrize("text", ["b " * MAX_CHARACTERS, "\ufdfa" * 1_200], ids=["as written", "as folded"])
def test_what_is_too_long_is_not_read(text: str) -> None:
    assert read_answer(text, CELLS).reason == "over 20,000 characters"


def test_what_is_as_long_as_allowed_is_read() -> None:
    for text in ("b, because ".ljust(MAX_CHARACTERS, "x"), "b".rjust(MAX_CHARACTERS)):
        assert read_answer(text, CELLS).label == "b"


def test_the_peers_false_credits_are_not_given_here() -> None:
    # FlashRAG and BERGEN count a substring as correct; SimpleQA's parser reads NOT_ATTEMPTED as CORRECT.
    assert read_answer("It is meiosis or mitosis or both a and b or none of the above", CELLS).kind == "unparseable"
    assert read_answer("NOT_CORRECT", {"a": "correct", "b": "wrong"}).kind == "unparseable"


PROSE = st.lists(
    st.sampled_from(["zebra", "quartz", "under", "magnet", "lunar", "orbit", "xylem"]), min_size=2, max_size=4
).map(" ".join)
DRESSES = [
    "{}",
    "({}).",
    "[{}]",
    "**{}**",
    "'{}'",
    '"{}"',
    "`{}`",
    "{})",
    "{}.",
    "Answer: {}",
    "Answer:\n{}",
    "**Answer:** {}",
    "**Answer**\n\n{}",
    "The answer is {}.",
    "The answer is:\n**{}**",
    "It's {}",
    "It is {}.",
    "I choose {}",
    "I would go with ({})",
    "Sure! The answer is {}.",
    "Option {}",
    "So the correct choice is ({}).",
    "```\n{}\n```",
    "```text\n{}\n```",
    r"\boxed{{{}}}",
    r"$\boxed{{\text{{{}}}}}$",
    "{} is correct",
    r"The answer is \(\boxed{{{}}}\).",
    "<answer>{}</answer>",
    '{{"answer": "{}"}}',
    "{}</s>",
    "{}<|im_end|>",
    '```json\n{{"answer": "{}"}}\n```',
    "{}<|eot_id|>\n",
    "{}<end_of_turn>",
    "{}) because cells divide",
    "{}, since cells divide",
]
BARE = ["{}", "It's {}", r"\boxed{{{}}}", r"$\boxed{{\text{{{}}}}}$"]
JOINS = [
    "\n",
    "\n\n",
    " ",
    ", ",
    "; ",
    " / ",
    " and ",
    " or ",
    " but also ",
    ". ",
    ", because it is ",
    "\nAnswer: ",
]


@given(st.data(), st.integers(2, 26), st.sampled_from(DRESSES), st.booleans())
def test_each_label_in_each_dress_reads_as_itself(data: st.DataObject, n: int, dress: str, upper: bool) -> None:
    choices = dict(zip(LABELS, data.draw(st.lists(PROSE, min_size=n, max_size=n)), strict=False))
    label = data.draw(st.sampled_from(list(choices)))
    assert read_answer(dress.format(label.upper() if upper else label), choices).label == label


@given(st.sampled_from(DRESSES), st.sampled_from(DRESSES), st.permutations("abcd"), st.sampled_from(JOINS))
@settings(max_examples=500 if NIGHTLY else 125)
def test_a_second_label_in_any_dress_makes_an_answer_unparseable(
    one: str, two: str, labels: list[str], join: str
) -> None:
    # A bare letter in running prose may be vitamin b, or an article: `A cell divides. The answer is b.`
    assume(join != " " or ("cells divide" not in one and one not in BARE))
    answer = one.format(labels[0]) + join + two.format(labels[1])
    assert read_answer(answer, CELLS).kind == "unparseable", answer


@given(st.integers(2, 26), st.data())
def test_a_bare_label_reads_as_itself_whatever_the_choices_say(n: int, data: st.DataObject) -> None:
    choices = dict(zip(LABELS, data.draw(st.lists(st.text(max_size=12), min_size=n, max_size=n)), strict=False))
    assert [read_answer(label, choices).label for label in choices] == list(choices)


CHOICE_TEXTS = st.lists(
    st.text("abcdeimnorstuxyz MTX25-.,'é²", min_size=2, max_size=20).filter(
        lambda text: len(fold_article(text).replace(" ", "")) > 2 and "answer" not in text
    ),
    min_size=2,
    max_size=7,
    unique_by=fold_article,
)


@given(CHOICE_TEXTS)
@settings(max_examples=300 if NIGHTLY else 75)
def test_each_choice_text_reads_as_itself_where_no_other_reads_alike(texts: list[str]) -> None:
    choices = dict(zip(LABELS, texts, strict=False))
    assert [read_answer(text, choices).label for text in texts] == list(choices)


@given(st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=7))
@settings(max_examples=300 if NIGHTLY else 75)
def test_no_choice_text_of_any_characters_reads_as_a_choice_of_another_text(texts: list[str]) -> None:
    choices = dict(zip(LABELS, texts, strict=False))
    for text in texts:
        label = read_answer(text, choices).label
        # A text may be another choice's label in a dress, `(B).`: then the label wins.
        assert label is None or fold_article(choices[label]) == fold_article(text) or label in fold_edges(text)


WORDS = st.lists(
    st.sampled_from(["zebra", "quartz", "under", "magnet", "lunar", "orbit", "xylem"]), min_size=1, max_size=8
).map(" ".join)


@given(
    WORDS,
    st.sampled_from(
        ["", "Answer: ", "The answer is ", "so ", "because ", "- ", "Not so, but ", "Is it so? Actually, "]
    ),
    st.sampled_from(["", ".", "!", "\n", " is the correct answer.", ", not mitosis", " (95% confident)", "?", " [1]"]),
)
def test_no_text_that_names_no_choice_ever_counts_as_a_choice(words: str, before: str, after: str) -> None:
    for choices in (CELLS, TRUTH, GENES, NUMBERS, TRAPS, LONG):
        assert read_answer(before + words + after, choices).label is None


REAL_ANSWERS = [
    "b",
    "**Answer:** b",
    "mitosis is the correct answer.",
    "mitosis, not meiosis",
    "meiosis. No, mitosis.",
    "meiosis or mitosis? mitosis",
    "At first it seems to be meiosis, but the correct answer is mitosis.",
    "none of the above, since it is neither meiosis nor mitosis",
    "As an AI, I cannot see the diagram.",
    "meiosis and mitosis",
    'Here it is: {"answer": "mitosis"}',
    "~~meiosis~~ mitosis",
    "The process is mitosis.",
]


@given(st.sampled_from(REAL_ANSWERS), st.permutations([*CELLS.values()]))
def test_the_order_of_the_choices_does_not_matter_to_an_answer_in_words(answer: str, texts: list[str]) -> None:
    choices = dict(zip(LABELS, texts, strict=False))
    usual, label = read_answer(answer, CELLS), read_answer(answer, choices).label
    if answer not in ("b", "**Answer:** b"):
        assert (label and choices[label]) == (usual.label and CELLS[usual.label])


@given(st.sampled_from(REAL_ANSWERS), st.sampled_from([" ", "\n", "\t", " \n "]), st.sampled_from(["", "\n", "   "]))
def test_white_space_around_an_answer_does_not_matter(answer: str, before: str, after: str) -> None:
    assert read_answer(before + answer + after, CELLS)[:2] == read_answer(answer, CELLS)[:2]


@settings(max_examples=200 if NIGHTLY else 80, deadline=None)
@given(
    texts=st.lists(st.text("aB .'*\"`ﬁé\u0301\u00a0\u200b²́", max_size=6), min_size=3, max_size=4),
    place=st.integers(0, 2),
)
def test_a_choice_that_differs_at_the_last_strict_level_differs_at_all_of_them(texts: list[str], place: int) -> None:
    text, *others = texts
    choices = dict(zip(LABELS, [*others, texts[place]], strict=False))
    levels = [fold(text) and [fold(choice) == fold(text) for choice in choices.values()] for fold in STRICT]
    first = next((level for level in levels if level and any(level)), None)
    found = by_text(text, choices, STRICT)
    assert (found is None) == (first is None)
    assert first is None or found is None or (found.label is not None) == (sum(first) == 1)


@given(st.text(max_size=300))
@settings(max_examples=400 if NIGHTLY else 100)
def test_any_text_reads_without_an_error_and_a_choice_is_one_of_the_choices(text: str) -> None:
    for choices in (CELLS, TRAPS, TRUTH):
        reading = read_answer(text, choices)
        assert (reading.label in choices) == (reading.kind == "choice")
        assert reading.reason


@given(st.text(max_size=80))
def test_folding_twice_is_folding_once(text: str) -> None:
    for fold in (fold_writing, fold_punctuation):
        assert fold(fold(text)) == fold(text)


def test_the_lexicon_does_not_take_ordinary_answers_for_abstentions() -> None:
    assert not any(abstains(text) for text in ["mitosis", "the known universe", "a passenger", "no", "idke", "panama"])


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("The cat.", "cat"),
        ("a cat", "cat"),
        ("is the cat", "is the cat"),
        ("the man the cat", "man the cat"),
        ("a", "a"),
    ],
)
def test_one_article_goes_from_the_beginning_alone(text: str, bare: str) -> None:
    assert fold_article(text) == bare


@pytest.mark.parametrize("text", ["b.", '"b."', '"b".', "*b* !", " _B_ "])
def test_quotes_stops_and_quotes_again_go_from_the_edges(text: str) -> None:
    assert fold_edges(text) == "b"


def test_marks_and_wrappers_are_taken_off_to_a_stated_depth_and_no_deeper() -> None:
    assert [fold_punctuation("x" + "*-_" * n) for n in (7, 8, 9)] == ["x", "x*", "x*-_*"]
    nested = [r"\text{" * n + "b" + "}" * n for n in (12, 13)]
    assert [read_answer(text, CELLS).kind for text in nested] == ["choice", "unparseable"]
