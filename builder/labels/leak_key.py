"""Whether the answer key is on the page of a leaked question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from builder.labels.leak_text import words_of

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
