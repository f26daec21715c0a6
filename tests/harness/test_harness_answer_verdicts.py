"""The written verdicts of answers_v3.jsonl, real TQA choices, mistakes of peers; docs/scoring-spec.md is the code."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness.reading.folding
import harness.reading.patterns
from edu_rag.files.dataset import Dataset
from edu_rag.records import LABELS
from harness.reading import answers
from harness.reading.abstentions import abstains, firmly_abstains, lexicon
from harness.reading.answers import read_answer
from harness.reading.choice_text import TRUTHS
from harness.reading.folding import (
    APOSTROPHES,
    DASHES,
    LETTER_SIGNS,
    QUOTES,
    SUPERSCRIPTS,
    fold_article,
    fold_punctuation,
    fold_writing,
)
from harness.reading.wrappers import ANSWER_KEYS

_ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("answers_v3.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]
SETS: dict[str, dict[str, str]] = _ROWS[0]["choices"]
CASES = _ROWS[1:]
CELLS = SETS["cells"]
NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
"""Whether all real questions and many drawn texts are tried: by day a sample."""
SPECIFICATION = Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md"
PAGE = SPECIFICATION.read_text(encoding="utf-8")


def said(answer: str, choices: dict[str, str]) -> str:
    reading = read_answer(answer, choices)
    return reading.label or reading.kind


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
def test_every_written_verdict_is_given(group: str) -> None:
    cases = [case for case in CASES if case["group"] == group]
    wrong = [
        (case["answer"], case["verdict"], got, case["why"])
        for case in cases
        if (got := said(case["answer"], SETS.get(str(case["choices"])) or case["choices"])) != case["verdict"]
    ]
    assert not wrong
    assert len(cases) >= 8


def test_the_held_out_file_is_large_and_of_every_kind() -> None:
    assert len(CASES) > 700
    assert {
        "verbatim",
        "truncated",
        "refusing",
        "two-choices",
        "unicode",
        "real",
        "hosted",
        "completed",
        "owner",
        "careful",
    } <= {case["group"] for case in CASES}


# The page.


def _block(after: str) -> list[str]:
    return PAGE[PAGE.index(after) :].split("```text\n", 1)[1].split("\n```", 1)[0].splitlines()


def test_the_page_lists_every_expression_word_for_word() -> None:
    modules = (harness.reading.folding, harness.reading.patterns)
    ours = [
        f"{name} = {value.pattern}"
        for module in modules
        for name, value in vars(module).items()
        if hasattr(value, "pattern")
    ]
    assert _block("### 2.9") == ours
    flagged = {n for n, v in vars(harness.reading.patterns).items() if getattr(v, "flags", 0) & re.IGNORECASE}
    assert flagged == {"THOUGHT_BEGINS", "THOUGHT_ENDS", "TRAILER"}


def test_the_page_links_the_lexicon_and_lists_the_marks_the_keys_and_the_folded_characters() -> None:
    lexicon_file = Path(harness.reading.folding.__file__).parents[1] / "data" / "abstentions-v3.txt"
    assert f"]({os.path.relpath(lexicon_file, SPECIFICATION.parent)})" in PAGE
    for name, characters in (("APOSTROPHES", APOSTROPHES), ("QUOTES", QUOTES), ("DASHES", DASHES)):
        assert f"\n{name}: {' '.join(f'U+{ord(char):04X}' for char in characters)}.\n" in PAGE
    firsts = [sign for sign, letter in LETTER_SIGNS.items() if letter == "a"]
    assert (
        f"from each of {', '.join(f'U+{ord(sign):04X}' for sign in firsts[:2])} and U+{ord(firsts[2]):04X} on" in PAGE
    )
    raised = " ".join(f"U+{ord(char):04X}" for char in SUPERSCRIPTS)
    assert f"\nRAISED: {raised} stand for `{' '.join(SUPERSCRIPTS.values())}`.\n" in PAGE
    assert f"\nEnd marks: {' '.join(f'`{mark}`' for mark in harness.reading.patterns.END_MARKS)}.\n" in PAGE
    assert f"\nAnswer keys: {' '.join(f'`{key}`' for key in sorted(ANSWER_KEYS))}.\n" in PAGE
    for truth in ("true", "false"):
        assert f"`{' '.join(word for word, value in TRUTHS.items() if value == truth)}`" in PAGE


_CHOICES = r"(?!choices)(\*\w+\*|.+? / .+?)"
"""The first cell of a row: texts of choices, or the name that the page gives to some."""
_NAMED = dict(re.findall(r"^(\*\w+\*) means the choices `(.+)`\.$", PAGE, re.MULTILINE))


def choices_of(cell: str) -> dict[str, str]:
    return dict(zip(LABELS, _NAMED.get(cell, cell).split(" / "), strict=False))


def test_the_examples_of_the_page_read_as_it_says() -> None:
    section = PAGE[PAGE.index("## 2. ") : PAGE.index("### 2.1")]
    rows = re.findall(rf"^\| {_CHOICES} \| `(.+)` \| (\w+) \|$", section, re.MULTILINE)
    assert len(rows) > 20
    for texts, answer, verdict in rows:
        choices = choices_of(texts)
        assert said(answer.replace("⏎", "\n"), choices) == verdict, answer


def test_the_worked_list_and_the_known_limits_of_the_page_read_as_it_says() -> None:
    section = PAGE[PAGE.index("### 2.10") : PAGE.index("## 3. ")]
    rows = re.findall(rf"^\| {_CHOICES} \| `(.+)` \| (\w+) \| .+ \|$", section, re.MULTILINE)
    assert len(rows) == section.count("\n| ") - section.count("\n| choices ") > 50
    for texts, answer, verdict in rows:
        choices = choices_of(texts)
        assert said(answer.replace("⏎", "\n"), choices) == verdict, answer


# Real TQA choices.


@pytest.fixture(scope="session")
def real(tqa_val: Dataset) -> list[dict[str, str]]:
    return [dict(question.choices) for question in tqa_val.questions("val")]


def test_every_label_of_every_real_question_reads_as_itself(real: list[dict[str, str]]) -> None:
    for choices, dress in zip(real, itertools.cycle(["{}", "({}).", "**{}**", "Answer: {}", "{}\n"]), strict=False):
        for label in choices:
            assert said(dress.format(label.upper()), choices) == label


def test_every_unique_real_choice_text_reads_as_its_label_and_no_other_does(real: list[dict[str, str]]) -> None:
    n_alike = 0
    for choices in real:
        for label, text in choices.items():
            # A text that looks like a label, `a`, is that label; an empty one says nothing.
            if not fold_punctuation(text) or fold_punctuation(text) in choices:
                continue
            alike = [other for other in choices.values() if fold_article(other) == fold_article(text)]
            got = said(text, choices)
            n_alike += len(alike) > 1
            assert got == label or (got == "unparseable" and len(alike) > 1), (text, choices)
    assert 0 < n_alike < 60


def test_label_and_text_of_every_real_choice_read_as_it_and_of_two_choices_as_none(real: list[dict[str, str]]) -> None:
    for choices in real[:: 3 if NIGHTLY else 12]:
        labels = list(choices)
        for one, two in zip(labels, labels[1:] + labels[:1], strict=True):
            own, other = choices[one], choices[two]
            assert said(f"{one}) {own}", choices) == (one if fold_punctuation(own) else "unparseable" if own else one)
            assert said(f"{one} or {two}", choices) == "unparseable"
            assert said(f"{one}\n{two}", choices) == "unparseable"
            if fold_article(own) != fold_article(other) and fold_punctuation(other) not in choices:
                assert said(f"Answer: {one}\nAnswer: {two}) {other}", choices) == "unparseable"


def test_all_real_choices_together_are_never_a_choice(real: list[dict[str, str]]) -> None:
    for choices in real[:: 1 if NIGHTLY else 4]:
        assert said("\n".join(f"{label}) {text}" for label, text in choices.items()), choices) == "unparseable"
        assert said(", ".join(choices), choices) == "unparseable"
        together = said(", ".join(choices.values()), choices)
        assert together in {"unparseable", "abstained"}, choices


@given(st.data())
@settings(max_examples=300 if NIGHTLY else 100)
def test_words_of_no_choice_never_count_on_real_questions(real: list[dict[str, str]], data: st.DataObject) -> None:
    choices = data.draw(st.sampled_from(real))
    words = data.draw(
        st.lists(
            st.sampled_from(["zyzzyva", "Quokka", "42.5", "the", "so", "is", "\n", "because", "answer", "I"]),
            max_size=9,
        )
    )
    text = " ".join(words)
    own = {word for choice in choices.values() for word in fold_punctuation(choice).split()}
    if not own & set(fold_punctuation(text).split()):
        assert read_answer(text, choices).label is None, text


TOKENS = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "B",
            "c",
            "(",
            ")",
            "[",
            "]",
            ".",
            ",",
            "*",
            "**",
            '"',
            "'",
            "`",
            ":",
            " ",
            "<",
            ">",
            "{",
            "}",
            "!",
            "is",
            "correct",
            "the",
            "Answer",
            "\n",
            "\u200b",
            "$",
            "\\boxed{",
            "not",
            "or",
            "meiosis",
            "mitosis",
            "x",
        ]
    ),
    max_size=8,
)


@given(TOKENS)
@settings(max_examples=1000 if NIGHTLY else 250)
def test_the_short_way_for_dressed_labels_says_what_the_long_way_says(tokens: list[str]) -> None:
    text = "".join(tokens)
    quick = read_answer(text, CELLS)
    kept, answers._SHORT = answers._SHORT, 0
    try:
        assert read_answer(text, CELLS)[:2] == quick[:2]
    finally:
        answers._SHORT = kept


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_folding_of_ascii_is_the_folding_of_all_texts(text: str) -> None:
    # One character that folding removes sends the same text the long way.
    assert fold_writing(text) == fold_writing(f"{text}\u200b")


# Peers' mistakes.


@pytest.mark.parametrize("apostrophe", sorted(APOSTROPHES))
def test_crag_scores_a_curly_i_dont_know_as_a_hallucination_and_we_do_not(apostrophe: str) -> None:
    answer = f"I don{apostrophe}t know"
    assert ("i don't know" in answer.lower()) is False  # CRAG's test, which then books -1
    assert said(answer, CELLS) == "abstained"


def test_crag_goes_through_the_gold_text_by_character_and_we_read_the_whole_text() -> None:
    choices = {"a": "paris", "b": "rome"}
    assert "paris" not in list(choices["a"])  # CRAG's `prediction in ground_truth_list` on a text
    assert said("Paris", choices) == "a"
    assert said("p", choices) == "unparseable"


def test_flashrag_and_bergen_credit_a_substring_and_we_do_not() -> None:
    everything = " ".join(CELLS.values())
    assert all(text in everything for text in CELLS.values())  # what they count as correct, whatever the gold
    assert said(everything, CELLS) == "unparseable"
    for label, text in CELLS.items():
        assert said(f"Some say {text} and some do not", CELLS) == "unparseable", label


def test_simpleqa_reads_not_attempted_as_correct_and_we_read_no_verdict_out_of_an_answer() -> None:
    for answer in ("NOT_ATTEMPTED", "C: NOT_ATTEMPTED", "CORRECT", "A: CORRECT", "outcome: correct", "score: 1"):
        assert said(answer, CELLS) in {"unparseable", "abstained"}


# The lexicon.


def test_every_phrase_of_the_lexicon_abstains_as_itself_and_in_a_sentence() -> None:
    whole, phrases, excuses = lexicon()
    assert len(phrases) > 300
    drawn = {*whole, *phrases, *sorted(excuses)[::50]}
    assert all(said(phrase, {"a": "quartz", "b": "mica"}) == "abstained" for phrase in drawn)
    assert all(abstains(f"Well, {phrase.upper()}.") for phrase in drawn - whole)
    assert not any(abstains(f"x{phrase}x") for phrase in drawn - whole)


def test_an_excuse_takes_back_no_choice_but_true_and_false() -> None:
    alone = [phrase for phrase in sorted(lexicon().excuses)[::50] if not firmly_abstains(phrase)]
    assert len(alone) > 400
    for phrase in alone:
        assert said(f"d) wet.\nWell, {phrase}", {"a": "dry", "d": "wet"}) == "d", phrase
        assert said(f"True.\nWell, {phrase}", {"a": "true", "b": "false"}) == "unparseable", phrase


@pytest.mark.parametrize(
    "text", ["I know", "known", "the unknown", "sure", "context", "none of the above", "No.", "A pass"]
)
def test_ordinary_words_do_not_abstain(text: str) -> None:
    assert not abstains(text)
