"""Reading an answer as one choice, as an abstention, or as neither: the rule set `answers-v3`.

docs/scoring-spec.md, section 2, has the rules in full. In short, in the order in which they apply; the modules
`wrappers`, `claims`, `several_lines`, `choice_text` and `abstentions` of this package hold theirs, `patterns` all
expressions:

1. A label alone is that choice. A text that is a choice's text is that choice, if no other choice reads the same.
2. A thought (`<think>…</think>`) goes, and what a base model adds after a blank line and a new question.
3. Wrappers go: code fences, `<answer>b</answer>`, `{"answer": "b"}`, `$\\boxed{\\text{b}}$`, `b</s>`. So do bullets,
   ticks, sources, a confidence and what is struck out.
4. One line names a choice by a label in its dress (`(B).`, `**b**`), by its text, by both, or by either after a lead
   (`Answer: b`, `It's b.`, `I would go with (b)`, `Sure! The answer is b.`); a lead alone on a line leads the next one.
   A remark may follow (`b) because …`, `True, because …`) if it takes nothing back. A choice may be called right
   (`b is correct`) and another one denied (`mitosis, not meiosis`).
5. Of several lines, the first that says `answer: …` counts; if there is none, the first line of all, or the last if
only finished sentences that name nothing are before it. No other line may name another choice, except that a list of
the choices may come before `Answer: …`. No later line may hedge, abstain or take it back (`That is wrong.`).
6. What hosted models say first (`As an AI, I cannot see images, but …`) is read only if no choice follows; so is a
question. An excuse behind a choice (`The diagram is not provided.`) takes nothing back.
7. A corrected answer is the last one, if both are in clear words: `Actually, the answer is b`, `No, mitosis`.
8. All else counts for nothing: two choices, a negated or hedged one, a choice's text within other words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial

from harness.reading.abstentions import abstains, is_phrase, is_preface
from harness.reading.choice_text import STRICT, by_text
from harness.reading.claims import by_label, claimed, refusal
from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.patterns import (
    ANNOUNCED,
    CONDITION,
    LABEL,
    LEAD,
    PREFACE,
    QUESTION,
    SENTENCE,
    TURN,
    UNSURE,
)
from harness.reading.reading_result import Reading, abstained, agree, named, unparseable
from harness.reading.several_lines import by_lines, names_one
from harness.reading.usual_forms import BARE, is_unrelated, label_and_own_text, own_text
from harness.reading.wrappers import (
    announced_json,
    before_next_question,
    undressed,
    unwrap,
    without_struck,
    without_thought,
)

RULE = "answers-v3"
MAX_CHARACTERS = 20_000
"""Longer answers are not read: they name no single choice, and reading must stay cheap."""
_SHORT = 40


Claims = Callable[[str], Reading | None]
"""The claim of a line by the choices of one question: the same line is looked at again in several steps."""


def _sentences(line: str, claim_of: Claims) -> list[str]:
    """A line that names no choice as a whole, cut into its sentences; a bare label goes with the next one."""
    if names_one(claim_of(line)):
        return [line]
    parts: list[str] = []
    begin = 0
    for match in SENTENCE.finditer(line):
        if not LABEL.fullmatch(fold_writing(line[begin : match.end()])):
            parts.append(line[begin : match.end()])
            begin = match.end()
    return [piece for part in (*parts, line[begin:]) for piece in _turns(part)]


def _turns(sentence: str) -> Iterator[str]:
    """A sentence cut where it announces an answer: `It seems to be a, | but the answer is b`.

    One that begins as a preface is cut where it turns: `I'm sorry, but | it is b`.
    """
    if not PREFACE.match(fold_writing(sentence)):
        yield from _announced(sentence)
        return
    for _ in range(3):
        turn = TURN.search(sentence) if PREFACE.match(fold_writing(sentence)) else None
        if turn is None:
            break
        yield sentence[: turn.end()]
        sentence = sentence[turn.end() :]
    yield sentence


def _announced(sentence: str) -> Iterator[str]:
    begin = 0
    for match in ANNOUNCED.finditer(sentence):
        if not CONDITION.search(fold_writing(sentence[begin : match.start()])):
            yield sentence[begin : match.end()]
            begin = match.end()
    yield sentence[begin:]


def _lines(text: str, claim_of: Claims) -> list[str]:
    """The lines and sentences that say something.

    A lead alone on its line (`Answer:`, `**Answer**`) goes before the next line.
    """
    lines: list[str] = []
    open_lead = False
    for line in (part for whole in text.splitlines() for part in _sentences(whole, claim_of)):
        written = fold_writing(line)
        if not written:
            continue
        if open_lead:
            lines[-1] += f" {line.strip()}"
            open_lead = False
        else:
            lines.append(line)
            open_lead = LEAD.fullmatch(written) is not None and claim_of(line) is None
    return lines


def _is_question(line: str, claim_of: Claims) -> bool:
    """Whether a line only asks: `Is it meiosis or mitosis?`."""
    written = fold_writing(line)
    asks = QUESTION.search(written) is not None and claim_of(line) is None
    return asks and not (UNSURE.search(written) or abstains(line))


def _read_text(text: str, choices: Mapping[str, str]) -> Reading:
    """Read one text that no wrapper holds."""
    # Folding makes one character of some scripts into eighteen.
    if len(text) > MAX_CHARACTERS or len(fold_writing(text)) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    written = [line for line in text.splitlines() if fold_writing(line)]
    claim_of = cache(partial(claimed, choices=choices))
    claim = claim_of(written[0]) if len(written) == 1 else None
    if claim is not None and claim.label is not None:
        return claim
    whole = by_text(text, choices, STRICT)
    if whole is not None:
        return whole
    if not fold_punctuation(text):
        return abstained("says nothing")
    lines = _lines(text, claim_of)
    answered = list(itertools.dropwhile(lambda line: is_preface(line, choices) or _is_question(line, claim_of), lines))
    if 0 < len(answered) < len(lines) and names_one(reading := by_lines(answered, choices)):
        return reading
    return by_lines(lines, choices) if len(lines) > 1 else claim_of(lines[0]) or refusal(lines[0], choices)


def read_answer(answer: str, choices: Mapping[str, str]) -> Reading:
    """Read one answer against the choices (label -> text) by `answers-v3`; the module says the rules."""
    if answer in choices:
        return named(answer, f"label {answer}")
    if len(answer) <= MAX_CHARACTERS and answer.isascii() and answer.isprintable():
        return _read_line(answer, choices)
    return _read_any(answer, choices)


def _read_line(answer: str, choices: Mapping[str, str]) -> Reading:
    """Read one line of ASCII: the usual forms at once, all others as any answer."""
    is_short = len(answer) < _SHORT
    usual = (
        (by_label(fold_writing(answer), choices) if is_short else None)
        or own_text(answer, choices)
        or label_and_own_text(answer, choices)
    )
    if usual is not None:
        return usual
    if not is_short:
        return _read_any(answer, choices)
    if is_unrelated(answer, choices):
        if is_phrase(answer):
            return abstained("says that it does not know")
        # Its reading depends on the labels alone: with numbers for the texts, one reading serves all such questions.
        return _remembered(answer, tuple((label, str(number)) for number, label in enumerate(choices)))
    return _remembered(answer, tuple(choices.items()))


@lru_cache(maxsize=1_024)
def _remembered(answer: str, choices: tuple[tuple[str, str], ...]) -> Reading:
    """Read a short answer: the same words answer many questions whose choices are true and false."""
    return _read_any(answer, dict(choices))


def _read_any(answer: str, choices: Mapping[str, str]) -> Reading:
    if len(answer) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    if BARE.fullmatch(answer):
        return _read_text(answer, choices)
    return _read_wrapped(answer, choices)


def _read_wrapped(answer: str, choices: Mapping[str, str]) -> Reading:
    as_written = by_text(answer, choices, STRICT)
    if as_written is not None or not fold_punctuation(answer):
        return _read_text(answer, choices)  # a choice may itself look like a wrapper: `</s>`, `{}`
    said = without_thought(answer)
    if said is None:
        return unparseable("a thought that does not end")
    first = without_struck(before_next_question(said, q_is_label="q" in choices))
    if not fold_writing(first):
        return unparseable("a thought or a text that is struck out, and nothing else")
    return agree([_read_text(_undressed(announced_json(text)), choices) for text in unwrap(first)])


def _undressed(text: str) -> str:
    return "\n".join(undressed(line) for line in text.splitlines())
