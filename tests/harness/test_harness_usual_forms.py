"""Answers in the usual forms are read as the long way reads them, and the lexicon is the same however it is made."""

from __future__ import annotations

import itertools
import random
import re
from importlib.resources import files

import pytest

from harness.reading import answers, usual_forms
from harness.reading.abstentions import lexicon
from harness.reading.answers import read_answer
from harness.reading.claims import by_label
from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.late_pattern import late
from harness.reading.reading_result import Reading

LINES = [
    line
    for line in files("harness").joinpath("data/abstentions-v3.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
CHOICES = (
    ["mitosis", "meiosis", "both a and b", "none of the above"],
    ["true", "false"],
    ["tt", "Tt", "TT", "tt"],
    ["-5", "5", "10\u00b2", "1,000", "3.5", "2 x 3", "50 percent"],
    ["Florid", "I", "a dog", "dog", "cat", "Southern Hemi-", "A and B"],
    ["unsur", "the know", "i do not", "no", "answer", "sur"],
    ["Newton's first law", "newtons second law", "the law of newton", "a) law", "not law, but force"],
    ["a, b", "b and c", "x", " wave ", "is correct", "not sure"],
    list("zyxwvutsrqponmlkjihgfedcba"),
    ["what?", "a  b", "b) mitosis", "b", "(d)", "mit and am", "Newton's", "caf\u00e9 b) am", "glass"],
)
PROSE = (
    "a i the is not rather than instead of as opposed to and or but would be was correct right best answer option "
    "because true false yes no both all none maybe probably guess mitosis meiosis cells cell's x y t don't can't it's "
    "newtons law earth's about 5 percent 50% -5 unsure sure know knowledge"
)
WORDS = PROSE.split()
SIGNS = " .,;:()'\"*_-?!<>[]{}~`\t$\\\u00e9\u2019"


def _phrase(rng: random.Random) -> str:
    parts = re.split("[()]", rng.choice(LINES).lstrip("=+"))
    return "".join(rng.choice(part.split("|")) for part in parts)


def _answer(rng: random.Random, choices: dict[str, str]) -> str:
    label, text = rng.choice(list(choices.items()))
    other = rng.choice(list(choices.values()))
    mark = rng.choice([") ", ". ", ": ", " - ", " ", ", ", ")"])
    answer = rng.choice(
        [
            text,
            f"{rng.choice(['', '('])}{rng.choice([label, label.upper()])}{mark}{rng.choice([text, text, other])}",
            _phrase(rng).capitalize() + rng.choice(["", ".", "!", f" {rng.choice(WORDS)}", f", {text}"]),
            " ".join(rng.choices([*WORDS, text, other, label, f"({label})"], k=rng.randint(1, 5))),
            rng.choice(["Answer", "final answer", "my choice", "option"]) + rng.choice([text, label, other]),
            text + rng.choice([".", "?", f" because {other}", f", not {other}", " is correct", " (high confidence)"]),
        ]
    )
    at = rng.randrange(len(answer) + 1)
    return answer if rng.random() < 0.9 else answer[:at] + rng.choice(SIGNS) + answer[at:]


def _long_way(answer: str, choices: dict[str, str]) -> Reading:
    bare = by_label(fold_writing(answer), choices) if len(answer) < answers._SHORT else None
    return bare or answers._read_wrapped(answer, choices)


def test_the_usual_forms_are_read_as_the_long_way_reads_them() -> None:
    rng, usual = random.Random(21), [0, 0, 0, 0]
    for number in range(1_500):
        texts = CHOICES[number % len(CHOICES)]
        if rng.random() < 0.3:
            texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(rng.choice([2, 4, 7]))]
        choices = dict(zip("abcdefghijklmnopqrstuvwxyz", texts, strict=False))
        answer = _answer(rng, choices)
        if answer in choices or not (answer.isascii() and answer.isprintable()):
            continue
        assert read_answer(answer, choices) == _long_way(answer, choices), (answer, choices)
        usual[0] += usual_forms.own_text(answer, choices) is not None
        usual[1] += usual_forms.label_and_own_text(answer, choices) is not None
        usual[2] += usual_forms.is_unrelated(answer, choices)
        usual[3] += usual_forms.BARE.fullmatch(answer) is not None
    assert min(usual) > 30, usual


def test_a_choice_that_might_have_to_do_with_the_answer_sends_it_the_long_way() -> None:
    assert usual_forms.is_unrelated("I don't know", {"a": "mitosis", "b": "2 x 3"})
    for text in ("I don't", "know", "knows", "do_nt", "True", "kno\u00e9", "don't", "dont"):
        assert not usual_forms.is_unrelated("I don't know", {"a": "mitosis", "b": text})
    assert not usual_forms.is_unrelated("I am unsure", {"a": "mitosis", "b": "the unsur"})
    assert not usual_forms.is_unrelated("Answermitosis", {"a": "mitosis", "b": "2 x 3"})  # no space need follow a lead
    assert not usual_forms.is_unrelated("I have a doubt", {"a": "mitosis", "b": "2 x 3"})  # `a` may be the label


def test_the_lexicon_is_every_spelling_of_its_lines_folded() -> None:
    spelled: dict[str, set[str]] = {"=": set(), "": set(), "+": set()}
    for line in LINES:
        mark = line[:1] if line[:1] in "=+" else ""
        parts = [part.split("|") for part in re.split("[()]", line[len(mark) :])]
        spelled[mark].update(fold_punctuation("".join(words)) for words in itertools.product(*parts))
    assert lexicon() == tuple(spelled.values())


def test_a_late_pattern_is_compiled_when_it_is_first_used() -> None:
    pattern = late("(a)B", re.IGNORECASE)
    assert pattern.pattern == "(a)B"
    for _ in range(2):
        assert (pattern.fullmatch("ab") or [""])[1] == "a"
    assert pattern.flags == re.compile("(a)B", re.IGNORECASE).flags
    with pytest.raises(re.error):
        late("(").search("")
