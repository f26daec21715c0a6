"""The signs of a quiz around a passage: they distinguish a leaked question from prose with the same words.

A textbook sentence may be word for word the same as a true/false statement; it is evidence, not a leak. The same words
are a leak if they have the form of a question: a separate item, before a blank, with True and False next to them, or
with the question's choices after them. No sign looks at the gold answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BEFORE = 120
AFTER = 160
QUIZ_REACH = 300
_NUMBER = (
    r"(?:(?:question|problem|item|no\.?|card|q|#)\s*)?\#?\d{1,3}\s*(?:of \d{1,3}\s*)?[.):\]|\t-]*"
    r"|(?:question|q|front|term|definition)\s*[:.)|-]|\(?[a-z][.)]"
)
_TRUE_FALSE = r"(?:true\s*(?:or|/|,|\||and)?\s*false\b|\bt\s*(?:/|or|\||,)?\s*f\b)"
_OPENS = re.compile(rf"(?:^|[\n|\t])[\W_]*(?:{_NUMBER})?[\W_]*(?:{_TRUE_FALSE}|true|false)?[\W_]*\Z", re.IGNORECASE)
_OPENS_INLINE = re.compile(
    rf"(?:(?<![\w.])(?:question\s*|q\s*|\#\s*)?\d{{1,3}}\s*[.):\]]|(?:question"
    rf"|q)\s*[:.])[\W_]*(?:{_TRUE_FALSE})?[\W_]*\Z",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"[ \xa0]*[.?!:;,…_*\s\"'”’)–-]*?(?:\n|\Z|\||\t|\(?\b[a1]\s?[.):]|\b(?:answer|ans|true|false|t\s?/\s?f"
    r"|select|choose)\b)",
    re.IGNORECASE,
)
_OPENS_SENTENCE = re.compile(r"[.!?:…]+[\"'”’)]*\s+[\W_]*\Z")
_ANSWERED = re.compile(
    r"[\W_]*(?:the\s+)?(?:best|correct|right|my)?\s*(?:answers?|ans|solution)\b(?:\s*(?:is|key))?\s*[:=.-]",
    re.IGNORECASE,
)
_WORDS_FROM_LINE_START = re.compile(
    r"(?:^|[\n|\t])[\W_]*(?:(?:q|question|front)\s*:\s*)?((?:[^\W_]+[ ,]+){1,5})\Z",
    re.IGNORECASE,
)
_WORDS_TO_LINE_END = re.compile(r"((?:[ ,]+[^\W_]+){1,5})(?=[ .:?!_*…]*(?:[\n|\t]|\Z))")
_LABEL_A = re.compile(r"[\W_]*\(?(?:[aA]|1|i)[.):\]]")
_BLANK = re.compile(r"_{2,}|\.{4,}|…{2,}|\[blank\]|\(blank\)")
_NEAR_TRUE_FALSE = re.compile(rf"{_TRUE_FALSE}|(?:^|[\s(|])(?:true|false)(?=[\s.)|]|$)", re.IGNORECASE)
_QUIZ_WORDS = re.compile(
    r"\b(?:quiz(?:zes|let)?|flash\s?cards?|worksheets?|answer keys?|true or false|multiple[ -]choice|test bank|"
    r"practice test|study set|exam questions|homework|trivia|fill in the blanks?|best answer|correct answers?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The signs around one passage.

    `item`: begins and ends as a separate item; `sentence`: begins as a sentence and ends as an item;
    `numbered`: a question's number comes before it; `answered`: "Answer:" or the first choice's label follows it;
    `asks`: ends in a question mark; `touches`: one of its choices is next to it; `blank`: a blank to fill in;
    `true_false`: True or False stands next to it; `n_choices`: choices of the question near it,
    `n_listed` of them standing as items; `quiz`: quizzes, flash cards or homework are spoken of near it.
    """

    item: bool
    sentence: bool
    answered: bool
    numbered: bool
    asks: bool
    blank: bool
    true_false: bool
    n_choices: int
    n_listed: int
    touches: bool
    quiz: bool


def widened(text: str, start: int, end: int, n_words: int) -> tuple[int, int]:
    """The span grown to the ends of its line where at most `n_words` words are all that is missing on a side."""
    before = _WORDS_FROM_LINE_START.search(text[max(0, start - 60) : start])
    after = _WORDS_TO_LINE_END.match(text, end, end + 60)
    if before and len(before[1].split()) <= n_words:
        start -= len(before[1])
    if after and len(after[1].split()) <= n_words:
        end = after.end()
    return start, end


def signs_of(text: str, start: int, end: int, choices: Sequence[tuple[int, int]]) -> Signs:
    """The signs around `text[start:end]`; `choices` are the spans of the question's choices found near it."""
    beside = [choice for choice in choices if _touches(text, start, end, choice)]
    # "term: definition" is one item: it begins where the term does.
    first, last = min([start, *(one for one, _ in beside)]), max([end, *(other for _, other in beside)])
    before, after = _before(text, start), text[end : end + AFTER]
    inline = _OPENS_INLINE.search(before) is not None
    opens = inline or any(_OPENS.search(part) for part in (before, _before(text, first)))
    closes = any(_CLOSES.match(text[place : place + AFTER]) for place in (end, last))
    sentence = closes and (opens or _OPENS_SENTENCE.search(before) is not None)
    answered = _ANSWERED.match(after) is not None or _LABEL_A.match(after) is not None
    return Signs(
        item=(opens and closes) or (sentence and answered),
        sentence=sentence,
        answered=answered,
        numbered=inline,
        asks="?" in after[:3],
        blank=_BLANK.search(text[max(0, start - 12) : end + 12]) is not None,
        true_false=_NEAR_TRUE_FALSE.search(before[-40:]) is not None or _NEAR_TRUE_FALSE.search(after[:40]) is not None,
        n_choices=len(choices),
        n_listed=sum(_is_listed(text, start) for start, _ in choices),
        touches=bool(beside),
        quiz=_QUIZ_WORDS.search(text, max(0, start - QUIZ_REACH), end + QUIZ_REACH) is not None,
    )


def _before(text: str, start: int) -> str:
    """The text before a position; a cut there is not the start of a line."""
    return text[:start] if start <= BEFORE else "x" + text[start - BEFORE + 1 : start]


_LISTED = re.compile(
    r"(?:^|[\n\t|•·*○●□☐◯✓✔;\]]|(?<=\w{3})/|(?<!\w)[a-hA-H1-8]\s?[.):\]]|\([a-hA-H1-8]\))[\s\"'“_*-]*\Z"
)


def _is_listed(text: str, start: int) -> bool:
    return _LISTED.search(text[max(0, start - 8) : start]) is not None


def _touches(text: str, start: int, end: int, choice: tuple[int, int]) -> bool:
    """Whether only a label or marks are between a passage and a choice, and no prose joins them."""
    between = text[end : choice[0]] if choice[0] >= end else text[choice[1] : start]
    return len(between) <= 40 and _GAP.fullmatch(between) is not None and _PARTS.search(between) is not None


_PARTS = re.compile(r"[^\w\s,'’]|_|[\n\t]")


_GAP = re.compile(
    r"[\W_]*(?:[a-h1-8]|answer|ans|definition|term|back|correct answer|best answer)?[\W_]*", re.IGNORECASE
)
