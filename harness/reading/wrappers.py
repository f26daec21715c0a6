"""Unwrap an answer: thoughts, code fences, tags, JSON, TeX, end marks, a run-on."""

from __future__ import annotations

import json

from edu_rag.files.nesting import too_deep
from harness.reading.folding import fold_writing
from harness.reading.patterns import (
    BULLET,
    END_MARKS,
    FENCE,
    NEGATION,
    NEXT_QUESTION,
    STRUCK,
    TEX,
    THOUGHT_BEGINS,
    THOUGHT_ENDS,
    TRAILER,
)

ANSWER_KEYS = frozenset({"answer", "final_answer", "correct_answer", "label", "choice", "option", "letter"})
_LONGEST_MARK = max(map(len, END_MARKS))


def without_thought(text: str) -> str | None:
    """The text after the last mark that ends a thought (`</think>`); None if a thought begins and never ends.

    Some chat templates write the opening mark themselves, so only the end counts; a text that is cut inside a thought
    has no answer.
    """
    ends = 0
    for match in THOUGHT_ENDS.finditer(text):
        ends = match.end()
    return None if THOUGHT_BEGINS.search(text, ends) else text[ends:]


def before_next_question(text: str, q_is_label: bool = False) -> str:
    """The text up to a blank line with a new question behind it, where a base model runs on; else the whole text.

    `B`, blank line, `Question: next one …`, `Answer: A` is the answer `B`: the rest answers questions that were not
    asked. A text that begins with the question is not cut there. `Q:` opens a question unless q is a label.
    """
    lines = text.splitlines(keepends=True)
    begun = False
    for index, line in enumerate(lines):
        if begun and not lines[index - 1].strip() and NEXT_QUESTION.match(line.casefold()):
            letter_q = q_is_label and line.casefold().lstrip("#>*_ ").startswith(("q:", "q "))
            if not letter_q:
                return "".join(lines[:index])
        begun = begun or bool(line.strip())
    return text


def _without_end_marks(text: str) -> str:
    """`b</s>` is `b`; a mark inside the text stays, so `b</s>c` is not an answer."""
    end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        tail = text[max(0, end - _LONGEST_MARK) : end].casefold()
        mark = next((mark for mark in END_MARKS if tail.endswith(mark)), None)
        if mark is None:
            return text[:end]
        end -= len(mark)


def _without_fences(text: str) -> str:
    """Without lines such as ```` ```text ````; a one-letter language stays, since it may be a label."""
    lines = text.splitlines(keepends=True)
    return text if len(lines) < 2 else "".join(line for line in lines if not FENCE.fullmatch(line))


def _without_tag(text: str) -> str:
    """`<answer>b</answer>` is `b`, if one such tag holds the whole text."""
    whole = text.strip()
    inner = whole[len("<answer>") : -len("</answer>")]
    tagged = whole.casefold().startswith("<answer>") and whole.casefold().endswith("</answer>")
    return inner if tagged and "answer>" not in inner.casefold() else text


def _without_tex(text: str) -> str:
    """`$\\boxed{\\text{b}}$` is `b`: only the commands go, so `not \\boxed{b}` stays `not b`."""
    if "\\" in text:
        for _ in range(4):
            text = TEX.sub(r"\1", text)
    return text


Pairs = list[tuple[str, object]]


def _pairs(text: str) -> Pairs | None:
    """The pairs of a text that is one JSON object with the key `answer`; a Python dict's single quotes are allowed."""
    whole = text.strip()
    whole = whole if '"' in whole else whole.replace("'", '"')
    if not whole.startswith("{") or too_deep(whole):  # how deep JSON may be must not hang on the stack that is left
        return None
    try:
        pairs: Pairs = json.loads(whole, object_pairs_hook=list, parse_int=str, parse_float=str)
    except ValueError:
        return None  # not JSON: read as any other text
    return pairs if "answer" in {key.casefold() for key, _ in pairs} else None


def _values(pairs: Pairs, keys: frozenset[str] = ANSWER_KEYS) -> list[str]:
    """The values of the answer keys; of an object as a value those of its answer keys and of `text`."""
    found: list[str] = []
    for value in [value for key, value in pairs if key.casefold() in keys]:
        deeper: list[str] = []
        if isinstance(value, list) and value and isinstance(value[0], tuple):  # an object
            deeper = _values(value, ANSWER_KEYS | {"text"})
        found += deeper or [value if isinstance(value, str) else json.dumps(value)]
    return found


def _json_answers(text: str) -> list[str] | None:
    """The values of the answer keys, where the whole text is one JSON object that has the key `answer`.

    `{"answer": "b", "confidence": 0.9}` is `b`. A key given twice, and `final_answer`, `label`, `choice`, `option`,
    `letter` next to it, must agree. `null` is an abstention. Of lists as values only `["b"]`, a label in its dress,
    can be read.
    """
    pairs = _pairs(text)
    return None if pairs is None else _values(pairs)


def announced_json(text: str) -> str:
    """A text that ends in such an object, with the line `Answer: …` in its place, unless what comes before negates."""
    begin = text.find("{")
    before = text[:begin].strip()
    pairs = _pairs(text[begin:]) if before.endswith((":", ".", "!")) else None
    values = _values(pairs) if pairs else []
    if len(set(values)) != 1 or NEGATION.search(fold_writing(before.splitlines()[-1])):
        return text
    return f"{before}\nAnswer: {values[0]}"


def without_struck(text: str) -> str:
    """A text without what is struck out: `~~a~~ b` is `b`."""
    return STRUCK.sub("", text)


_TAIL = 100
"""Characters at the end of a line in which a trailer is looked for."""


def undressed(line: str) -> str:
    """A line without a bullet or a tick before it, and without ticks, sources and a confidence behind it."""
    bullet = BULLET.match(line)
    line = line[bullet.end() :] if bullet else line
    for _ in range(4):
        trailer = TRAILER.search(line[-_TAIL:])
        if trailer is None:
            break
        line = line[: max(0, len(line) - _TAIL) + trailer.start()]
    return line


def _peeled(text: str) -> str:
    for _ in range(3):  # a tag in a fence in a turn
        before, text = text, _without_tex(_without_tag(_without_fences(_without_end_marks(text))))
        if text == before:
            break
    return text


def unwrap(text: str) -> list[str]:
    """The answers inside a text's wrappers: one, or one for each answer key of a JSON object."""
    peeled = _peeled(text)
    values = _json_answers(peeled)
    return [peeled] if values is None else [_peeled(value) for value in values]
