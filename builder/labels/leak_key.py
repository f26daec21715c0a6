"""Whether a passage is a quiz and has its answer key: the signs of a quiz, and the key of a leaked question.

A textbook sentence may be word for word the same as a true/false statement; it is evidence, not a leak. The same words
are a leak if they have the form of a question: a separate item, before a blank, with True and False next to them, or
with the question's choices after them. No sign looks at the gold answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.labels.leak_match import words_of

REACH = 700
_KEY = re.compile(
    r"\b(?:(?:best|correct|right|the)\s+)?(?:answers?|ans|key|solution|correct)(?:\s+(?:choice|option))?\s*(?:is|was|=|:|-|–|\))\s*",
    re.IGNORECASE,
)
_KEY_SECTION = re.compile(r"\banswers?(?:\s*(?:key|sheet))?\b[^\n]{0,40}", re.IGNORECASE)
_OWN_NUMBER = re.compile(r"(\d{1,3})\s*[.):\]|\t-]*[\W_]*\Z")
_LINE_OF_KEY = re.compile(r"\s{0,20}[^\n]{0,200}")
_MARK_AFTER = re.compile(r"[^\n]{0,12}")
_MARK = re.compile(r"[*✓✔☑✅]|\[x\]|\(x\)|\(correct\)|←", re.IGNORECASE)
_NEXT_ITEM = re.compile(r"\n\s*(?:question\s*)?\d{1,3}\s*[.):\n]|\n\s*\n\s*\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyBlock:
    """A leaked question on its page: its span, its choices' spans by label, the labels' texts, and the gold label."""

    text: str
    start: int
    end: int
    choices: Mapping[str, tuple[int, int]]
    answer: str
    gold: str | None


def holds_key(block: KeyBlock) -> bool:
    """Whether the page gives the answer next to the question, or in a key at its end."""
    return _named(block) or _marked(block) or _on_the_back(block) or _in_key_section(block)


def span_with_key(block: KeyBlock) -> tuple[int, int]:
    """The span of a question whose answer is on the page: from the question through its choices and its answer.

    A key at the end of the page stays: without the question it says nothing.
    """
    starts, ends = [block.start], [block.end]
    for choice_start, choice_end in block.choices.values():
        starts.append(choice_start)
        ends.append(choice_end)
    after = _after(block)
    keys = [match.end() for match in _KEY.finditer(after) if _says_gold(after[match.end() : match.end() + 200], block)]
    if keys:
        ends.append(_through_line(block.text, block.end + keys[0]))
    elif _on_the_back(block):
        before = _before(block) if len(block.choices) < 2 else ""
        starts.append(block.start - len(before))
        ends.append(max(ends) if before else _through_line(block.text, max(ends)))
    elif _marked(block):
        ends.append(_MARK_AFTER.match(block.text, max(ends)).end())  # type: ignore[union-attr]  # it matches anything
    return min(starts), max(ends)


def _through_line(text: str, start: int) -> int:
    """The end of the line with the next word, but not far away."""
    return _LINE_OF_KEY.match(text, start).end()  # type: ignore[union-attr]  # it matches anything


def _before(block: KeyBlock) -> str:
    """The text before the question that a flash card's answer would be in, if the answer is at its end."""
    text = block.text[max(0, block.start - 20 - 2 * len(block.answer)) : block.start]
    words, answer = words_of(text), words_of(block.answer).words
    if not answer or words.words[-len(answer) :] != answer:
        return ""
    return text[words.starts[-len(answer)] :]


def _after(block: KeyBlock) -> str:
    """The text from the question on, up to the next item after its last choice."""
    last = max([block.end, *(end for _, end in block.choices.values())])
    limit = min(last + 250, block.end + REACH + (last - block.end))
    following = _NEXT_ITEM.search(block.text, last, limit)
    return block.text[block.end : following.start() if following else limit]


def _says_gold(said: str, block: KeyBlock) -> bool:
    """Whether the text after `Answer:` is the gold text, or a letter that labels a choice."""
    words, answer = words_of(said).words, words_of(block.answer).words
    head = words[: len(answer) + 6]
    if answer and any(head[at : at + len(answer)] == answer for at in range(7)):
        return True
    if _LETTER.match(said):
        return True
    return answer[:1] in (["true"], ["false"]) and words[:1] == [answer[0][0]]


_LETTER = re.compile(r"\W{0,3}(?:[a-h][.):\]]|[A-H]\b(?!['’])|[a-h]\s*(?:\n|\Z))")


def _named(block: KeyBlock) -> bool:
    after = _after(block)
    return any(_says_gold(after[match.end() : match.end() + 200], block) for match in _KEY.finditer(after))


def _marked(block: KeyBlock) -> bool:
    """Whether the gold choice has a mark and none of the others has one."""
    marked = {
        label
        for label, (start, end) in block.choices.items()
        if _MARK.search(block.text[max(block.end, start - 8) : start])
        or _MARK.match(block.text[end : end + 12].strip(" ."))
    }
    return block.gold is not None and marked == {block.gold}


def _on_the_back(block: KeyBlock) -> bool:
    """Whether the gold text stands alone right after the question or right before it, as on a flash card.

    Or once more after all choices, as in the last column of a table.
    """
    answer = words_of(block.answer).words
    if not answer:
        return False
    last = max([block.end, *(end for _, end in block.choices.values())])
    if len(block.choices) >= 2:
        return _begins(block.text[last : last + 20 + 2 * len(block.answer)], answer)
    after = words_of(block.text[block.end : block.end + 60]).words[:6]
    if answer in (["true"], ["false"]) and {"true", "false"} <= set(after):
        shown = [word for word in after if word in ("true", "false")]
        return shown[2:3] == answer
    return _begins(block.text[block.end : block.end + 40 + 2 * len(block.answer)], answer) or _before(block) != ""


def _begins(text: str, answer: list[str]) -> bool:
    words = words_of(text).words
    return any(words[skip : skip + len(answer)] == answer for skip in (0, 1))


def _in_key_section(block: KeyBlock) -> bool:
    """Whether a key later on the page gives a letter for the question's number."""
    number = _OWN_NUMBER.search(block.text[max(0, block.start - 12) : block.start])
    if number is None:
        return False
    given = re.compile(rf"(?<!\d){number[1]}\s*[.):\-–]?\s*\(?(?:[a-h]\b|true\b|false\b|t\b|f\b)", re.IGNORECASE)
    sections = list(_KEY_SECTION.finditer(block.text, block.end))
    return any(given.search(block.text, section.start(), section.end() + 3_000) for section in sections[-3:])


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
    `true_false`: True or False is next to it; `n_choices`: choices of the question near it,
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
    near = [choice for choice in choices if _touches(text, start, end, choice)]
    # "term: definition" is one item: it begins where the term does.
    first, last = min([start, *(one for one, _ in near)]), max([end, *(other for _, other in near)])
    before, after = _text_before(text, start), text[end : end + AFTER]
    inline = _OPENS_INLINE.search(before) is not None
    opens = inline or any(_OPENS.search(part) for part in (before, _text_before(text, first)))
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
        touches=bool(near),
        quiz=_QUIZ_WORDS.search(text, max(0, start - QUIZ_REACH), end + QUIZ_REACH) is not None,
    )


def _text_before(text: str, start: int) -> str:
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
