"""Reading an answer as one choice, as an abstention, or as neither: the rule set `answers-v2`.

docs/scoring-spec.md, section 2, has the rules in full. In short, in the order in which they apply; the modules
`wrappers`, `claims`, `choice_text` and `abstentions` of this package hold theirs, `patterns` all expressions:

1. A label alone is that choice. A text that is a choice's text is that choice, if no other choice reads the same.
2. A thought (`<think>…</think>`) goes, and what a base model adds after a blank line and a new question.
3. Wrappers go: code fences, `<answer>b</answer>`, `{"answer": "b"}`, `$\\boxed{\\text{b}}$`, `b</s>`.
4. One line names a choice by a label in its dress (`(B).`, `**b**`), by its text, by both, or by either after a lead
   (`Answer: b`, `It's b.`, `I would go with (b)`, `Sure! The answer is b.`); a lead alone on a line leads the next one.
   A remark may follow (`b) because …`, `True, because …`) if it takes nothing back.
5. Of several lines, the first that says `answer: …` counts; if there is none, the first line of all, or the last if
only finished sentences that name nothing are before it. No other line may name another choice, except that a list of
the choices may come before `Answer: …`. No later line may hedge, abstain or take it back (`That is wrong.`).
6. What hosted models say first (`As an AI, I cannot see images, but …`) is read only if no choice follows. An excuse
behind a choice (`The diagram is not provided.`) takes nothing back.
7. All else counts for nothing: two choices, a negated or hedged one, a choice's text within other words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from harness.reading.abstentions import firmly_abstains, is_preface, retracts, takes_back_after
from harness.reading.choice_text import STRICT, by_text
from harness.reading.claims import begins_with_label, by_label, claimed, refusal
from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.patterns import (
    EXPLICIT,
    LABEL,
    LABEL_AND,
    LEAD,
    LONE_LETTER,
    PREFACE,
    SENTENCE,
    SENTENCE_ENDS,
    TURN,
)
from harness.reading.reading_result import Reading, abstained, agree, named, unparseable
from harness.reading.wrappers import before_next_question, unwrap, without_thought

RULE = "answers-v2"
MAX_CHARACTERS = 20_000
"""Longer answers are not read: they name no single choice, and reading must stay cheap."""
_SHORT = 40


def _sentences(line: str, choices: Mapping[str, str]) -> list[str]:
    """A line that names no choice as a whole, cut into its sentences; a bare label goes with the next one."""
    if _names_one(claimed(line, choices)):
        return [line]
    parts: list[str] = []
    begin = 0
    for match in SENTENCE.finditer(line):
        if not LABEL.fullmatch(fold_writing(line[begin : match.end()])):
            parts.append(line[begin : match.end()])
            begin = match.end()
    return [piece for part in (*parts, line[begin:]) for piece in _turns(part)]


def _turns(sentence: str) -> Iterator[str]:
    """A sentence that begins as a preface, cut where it turns: `I'm sorry, but | it is b`."""
    for _ in range(3):
        turn = TURN.search(sentence) if PREFACE.match(fold_writing(sentence)) else None
        if turn is None:
            break
        yield sentence[: turn.end()]
        sentence = sentence[turn.end() :]
    yield sentence


def _lines(text: str, choices: Mapping[str, str]) -> list[str]:
    """The lines and sentences that say something.

    A lead alone on its line (`Answer:`, `**Answer**`) goes before the next line.
    """
    lines: list[str] = []
    open_lead = False
    for line in (part for whole in text.splitlines() for part in _sentences(whole, choices)):
        written = fold_writing(line)
        if not written:
            continue
        if open_lead:
            lines[-1] += f" {line.strip()}"
            open_lead = False
        else:
            lines.append(line)
            open_lead = LEAD.fullmatch(written) is not None and claimed(line, choices) is None
    return lines


def _listed(lines: list[str]) -> set[int]:
    """The indices of lines that repeat the choices (`a) meiosis`, `b) mitosis`, …), two labels or more."""
    found = {i: match["label"] for i, line in enumerate(lines) if (match := LABEL_AND.fullmatch(fold_writing(line)))}
    return set(found) if len(set(found.values())) > 1 else set()


def _names_one(claim: Reading | None) -> bool:
    return claim is not None and claim.label is not None


def _last_decides(lines: list[str], claims: list[Reading | None], choices: Mapping[str, str]) -> bool:
    """Whether the last line names a choice after finished sentences that name none and know their subject."""
    last = claims[-1]
    return (
        len(lines) > 1
        and _names_one(last)
        and not any(claims[:-1])
        and SENTENCE_ENDS.search(fold_writing(lines[-2])) is not None
        and not any(
            firmly_abstains(line)
            or begins_with_label(line, choices)
            or any(match["label"] in choices for match in LONE_LETTER.finditer(fold_writing(line)))
            for line in lines[:-1]
        )
    )


def _by_lines(lines: list[str], choices: Mapping[str, str]) -> Reading:
    """Read several lines together; a wrapper on a separate line is removed."""
    lines = [inner for line in lines for inner in unwrap(line) if fold_writing(inner)] or lines
    claims = [claimed(line, choices) for line in lines]
    explicit = [i for i, claim in enumerate(claims) if claim and EXPLICIT.match(fold_writing(lines[i]))]
    last_or_first = len(lines) - 1 if _last_decides(lines, claims, choices) else 0
    deciding = explicit[0] if explicit else last_or_first
    chosen = claims[deciding]
    if chosen is None:
        return refusal("\n".join(lines), choices)
    listed = _listed(lines[:deciding])
    if {claim.label for i, claim in enumerate(claims) if claim and i not in listed} != {chosen.label}:
        return unparseable("names more than one choice")
    if chosen.label is None:
        return chosen
    before = any(
        (retracts(line, chosen.label, choices[chosen.label]) and not (i in listed and _names_one(claims[i])))
        or (claims[i] is None and i not in listed and begins_with_label(line, choices))
        for i, line in enumerate(lines[:deciding])
    )
    if before or any(takes_back_after(line, chosen.label, choices) for line in lines[deciding + 1 :]):
        return unparseable(f"{chosen.reason}, then hedged, taken back or given to another choice")
    return chosen


def _read_text(text: str, choices: Mapping[str, str]) -> Reading:
    """Read one text that no wrapper holds."""
    # Folding makes one character of some scripts into eighteen.
    if len(text) > MAX_CHARACTERS or len(fold_writing(text)) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    written = [line for line in text.splitlines() if fold_writing(line)]
    claim = claimed(written[0], choices) if len(written) == 1 else None
    if claim is not None and claim.label is not None:
        return claim
    whole = by_text(text, choices, STRICT)
    if whole is not None:
        return whole
    if not fold_punctuation(text):
        return abstained("says nothing")
    lines = _lines(text, choices)
    answered = list(itertools.dropwhile(lambda line: is_preface(line, choices), lines))
    if 0 < len(answered) < len(lines) and _names_one(reading := _by_lines(answered, choices)):
        return reading
    return _by_lines(lines, choices) if len(lines) > 1 else claimed(lines[0], choices) or refusal(lines[0], choices)


def read_answer(answer: str, choices: Mapping[str, str]) -> Reading:
    """Read one answer against the choices (label -> text) by `answers-v2`; the module says the rules."""
    if answer in choices:
        return named(answer, f"label {answer}")
    if len(answer) < _SHORT and answer.isascii() and answer.isprintable():  # no wrapper and no second line to heed
        dressed = by_label(fold_writing(answer), choices)
        if dressed is not None:
            return dressed
    if len(answer) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    as_written = by_text(answer, choices, STRICT)
    if as_written is not None or not fold_punctuation(answer):
        return _read_text(answer, choices)  # a choice may itself look like a wrapper: `</s>`, `{}`
    said = without_thought(answer)
    if said is None:
        return unparseable("a thought that does not end")
    first = before_next_question(said, q_is_label="q" in choices)
    return agree([_read_text(text, choices) for text in unwrap(first)])
