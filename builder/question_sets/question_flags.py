"""Flags of unusual questions, from the text of the question set alone (without the gold).

Each rule is a pure function; the cases behind it are quoted unchanged from TQA.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from edu_rag.records import QUESTION_FLAGS, Question

_QUANTITY = r"(?:all|none|any|both|neither|either|one|two|three|four|some|most|each|more than one)"
# "two or the above" is in TQA.
_OF_ABOVE = re.compile(rf"\b{_QUANTITY} (?:of |or )?(?:the )?(?:\w+ )?above\b")
# "none of these" is about the choices, "none of these layers" is about the subject.
_OF_THESE = re.compile(
    rf"\b{_QUANTITY} of (?:these|those|them|the (?:other )?(?:choices|answers|options|statements|others))"
    r"(?: (?:choices|answers|options|statements))?"
    r"(?: apply| (?:is|are)(?: all| both)? (?:correct|true|right|false|wrong))?$"
)
_LETTER = r"\(?[a-h]\)?"
_LETTERS = re.compile(
    rf"^(?:(?:both|either|neither|only|choices?|answers?) )*{_LETTER}(?:(?:,? (?:and|or|nor|&) |, ?| ){_LETTER})+"
    r"(?: only| above)?(?: (?:is|are) (?:both )?(?:correct|true|right))?$"
)
_PICTURE = "(?:diagram|figure|graph|table|chart|map|picture|image|illustration|photo|photograph|pedigree)"
_CONTEXT = re.compile(
    r"\b(?:questions?|problems?|exercises?|items?|figures?|fig\.|tables?) #?\d"
    rf"|\bthis (?:\w+ )?(?:{_PICTURE}|passage|cross)\b(?! (?:is|are) a)"
    rf"|\b(?:{_PICTURE}|passage|equation|data) (?:\w+ )?(?:above|below|shown|to the (?:left|right))\b"
    r"|\bshown (?:above|below|here)\b"
    r"|\b(?:in|from|of) (?:this|the (?:previous|preceding|last))"
    r" (?:chapter|lesson|section|question|problem|experiment|passage)\b"
    r"|\bthe (?:previous|preceding) (?:question|problem)\b"
    r"|\b(?:genotypes?|phenotypes?|alleles?|gametes) (?:of|for|from) (?:the|these|both) parents\b"
    r"|\b(?:if|when|are|were|do|can|could|must) the parents\b.*\?$"
)
# Words that no phrase ends in: a text that does was cut at the end of its line.
_OPEN_WORDS_TEXT = (
    "a an and as at because but by during from has have into its nor of onto or than that the their then to toward"
    " until which whose with"
)
_OPEN_WORDS = frozenset(_OPEN_WORDS_TEXT.split())
_FINAL_WORD = re.compile(r"([a-z]+)$")
_CAPITAL_END = re.compile(r" [A-Z]$")
_WORDS = re.compile(r"[a-z]+")
_CLOSED = re.compile(r"[.!?:;)\]\"'’”]$")
MIN_STUMP = 4
CUT_CHOICE_LENGTH = 65
CUT_QUESTION_LENGTH = 75
"""Characters from which a text without a full stop, among texts with one, is taken to be cut at its line's end."""


def plain(text: str) -> str:
    """Text for comparing: case folded, one space between words, no final punctuation."""
    return " ".join(text.casefold().split()).rstrip(" .;:,!?")


def is_meta_choice(text: str) -> bool:
    """Whether a choice refers to the other choices: "all of the above", "both a and c", "none of these"."""
    words = plain(text)
    return bool(_OF_ABOVE.search(words) or _OF_THESE.search(words) or _LETTERS.match(words))


def names_letters(text: str) -> bool:
    """Whether a choice names other choices by their letters, so that it means their order: "both a and c"."""
    return _LETTERS.match(plain(text)) is not None


def has_duplicate_choices(choices: Mapping[str, str]) -> bool:
    """Whether two choices are the same text, apart from case and final punctuation."""
    return len({plain(text) for text in choices.values()}) < len(choices)


def is_context_bound(text: str) -> bool:
    """Whether a question refers to something outside of it: "in question 6", "the diagram above"."""
    return _CONTEXT.search(" ".join(text.casefold().split())) is not None


def identity(question: Question) -> tuple[str, ...]:
    """A key that a question shares with its repetitions: text and choices, normalised."""
    return (plain(question.text).strip("_ "), *(plain(text) for text in question.choices.values()))


def unordered_identity(question: Question) -> tuple[str, ...]:
    """A key that a question shares with its repetitions, also with the choices in another order."""
    text, *choices = identity(question)
    return (text, *sorted(choices))


def complete_words(questions: Iterable[Question]) -> frozenset[str]:
    """Words of the set that are surely whole: the last word of a text without a full stop may be cut."""
    words: set[str] = set()
    for question in questions:
        for text in (question.text, *question.choices.values()):
            folded = text.casefold().strip()
            words.update(_WORDS.findall(folded if _CLOSED.search(folded) else _FINAL_WORD.sub("", folded)))
    return frozenset(words)


def _is_cut_question(question: Question) -> bool:
    text = question.text.casefold()
    if text.endswith("-"):
        return True
    if question.kind not in ("true_false", "matching") or _CLOSED.search(text):
        return False  # a multiple-choice question may well end in "the": its choices go on
    if _CAPITAL_END.search(question.text):
        return False  # "soil horizon A" is whole
    last = _FINAL_WORD.search(text)
    open_end = last is not None and last[1] in _OPEN_WORDS
    return open_end or (question.kind == "true_false" and len(text) >= CUT_QUESTION_LENGTH)


def _is_cut_choice(text: str, others: Sequence[str], labels: str, words: Collection[str]) -> bool:
    folded = text.casefold()
    last = _FINAL_WORD.search(folded)
    if last is None or is_meta_choice(text):
        return False
    word = last[1]
    if " " in folded and word in _OPEN_WORDS and not _CAPITAL_END.search(text):
        return True  # "3 A", in amperes, is whole
    # TQA's cleaning took "a." at the end of "Florida." for a label: only letters that are labels were lost, and only
    # where choices end in full stops (those of matching questions never do).
    if labels and len(word) >= 3 and word not in words and any(word + letter in words for letter in labels):
        return True
    closed = [other for other in others if not is_meta_choice(other)]
    if len(closed) < 2 or not all(map(_CLOSED.search, closed)):
        return False
    if labels and len(word) >= MIN_STUMP and word not in words and any(known.startswith(word) for known in words):
        return True  # "acidi" of "acidic.", where the set has "acidity"
    # One that ends as another does lacks its full stop, nothing else.
    ending = " ".join(plain(text).split()[-3:])
    return len(text) >= CUT_CHOICE_LENGTH and not any(plain(other).endswith(f" {ending}") for other in closed)


def is_truncated(question: Question, words: Collection[str]) -> bool:
    """Whether the question or a choice was cut short, as far as the text and the set's whole `words` tell."""
    if _is_cut_question(question):
        return True
    labels = "" if question.kind == "matching" else "".join(question.choices)
    texts = list(question.choices.values())
    return any(
        _is_cut_choice(text, texts[:index] + texts[index + 1 :], labels, words) for index, text in enumerate(texts)
    )


def _flags(question: Question, words: Collection[str], cut_ids: Collection[str], n_same: int) -> Iterator[str]:
    if any(is_meta_choice(text) for text in question.choices.values()):
        yield "meta_choice"
    if has_duplicate_choices(question.choices):
        yield "duplicate_choices"
    if question.question_id in cut_ids or is_truncated(question, words):
        yield "truncated"
    if is_context_bound(question.text):
        yield "context_bound"
    if n_same > 1:
        yield "duplicate_question"


def flag_questions(questions: Sequence[Question], cut_ids: Collection[str] = ()) -> list[Question]:
    """The questions with their flags, in the order given. `cut_ids` are those whose file shows that text was cut."""
    words = complete_words(questions)
    same = Counter(identity(question) for question in questions)
    flagged = []
    for question in questions:
        found = set(_flags(question, words, cut_ids, same[identity(question)]))
        flags = tuple(flag for flag in QUESTION_FLAGS if flag in found)
        flagged.append(replace(question, flags=flags))
    return flagged
