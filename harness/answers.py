"""Reading an answer as one choice, as an abstention, or as neither: the rule set `answers-v1`.

The rules, in the order in which they apply; `harness.wrappers`, `harness.choice_text` and `harness.doubts` hold theirs.

1. A label alone is that choice. A text that is a choice's text is that choice, if no other reads alike.
2. What a base model adds after a blank line and a new question is not its answer (`B`, blank line, `Question: …`).
3. Wrappers go: code fences, `<answer>b</answer>`, `{"answer": "b"}`, `$\\boxed{\\text{b}}$`, `b</s>`.
4. One line names a choice by a label in its dress (`(B).`, `**b**`), by its text, by both, or by either after a lead
   (`Answer: b`, `It's b.`, `I would go with (b)`, `Sure! The answer is b.`); a lead alone on a line leads the next one.
   An explanation may follow (`b) because …`, `True, because …`) if it takes nothing back.
5. Of several lines, the first that says `answer: …` counts; if there is none, the first line of all must name the
   choice. No other line may name another choice, except that a list of the choices may stand before `Answer: …`. No
   later line may hedge, abstain or take it back (`That is wrong.`, `Answer: I don't know`).
6. All else counts for nothing: two choices, a negated or hedged one, a choice's text within other words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.choice_text import LOOSE, STRICT, by_part, by_text, by_truth, by_truth_and_why, names
from harness.doubts import HEDGE, NEGATION, abstains, answers_another, other_label, retracts, wholly_abstains
from harness.folding import fold_punctuation, fold_writing
from harness.reading import Reading, agree, named, unparseable
from harness.wrappers import before_next_question, unwrap

RULE = "answers-v1"
MAX_CHARACTERS = 20_000
"""Longer answers are not read: they name no single choice, and reading must stay cheap."""

_NOUN = (
    r"(?:(?:the|my) )?(?:(?:final|correct|best|right) )*(?:answer|choice|option|label|letter)"
    r"(?: (?:choice|option|letter|label))?(?: (?:is|would be|must be)\b)?"
)
_VERB = (
    r"(?:(?:it|that)(?:'s| is| would be| must be)"
    r"|i(?:'d| would|'ll| will|'m| am)? (?:choose|pick|select|go with|going with|say|answer))\b"
    r"(?: (?:the )?(?:answer|choice|option|letter)\b)?"
)
_LEAD = re.compile(
    r"[#*_ ]*(?:(?:sure|certainly|of course|okay|ok|well)(?: thing)?[!,.:] )?(?:(?:so|thus|therefore|hence),? )?"
    rf"(?:i (?:think|believe) (?:that )?)?(?:{_NOUN}|{_VERB})"
    r"[*_ ]*[:=]?[*_ ]*(?:(?:choice|option|letter|label) )?"
)
_EXPLICIT = re.compile(r"[#*_ ]*(?:(?:the|my) )?(?:(?:final|correct|best|right) )*answer(?: is\b|[*_ ]*[:=])")
_LABEL = re.compile(
    r"[\s(\[{<\"'*_]*(?P<label>[a-z])[\s)\]}>\"'*_.:,!]*"
    r"(?:(?:is|would be) (?:the )?(?:correct|right|best)(?: (?:answer|choice|option|one))?[.!]?)?"
)
_LABEL_AND = re.compile(r"[(\[{*_\"']*(?P<label>[a-z])(?:[)\]}*_\"']*[).\]:}=][*_\"']*|[*_)\]]* - |,) *(?P<rest>\S.*)")
_LABEL_SPACE = re.compile(r"[(\[{*_\"']*(?P<label>[a-z])[*_\"']* (?P<rest>\S.*)")
_TEXT_LABEL = re.compile(r"(?P<text>.*\S) ?[(\[](?P<label>[a-z])[)\]][.!]?")
_SEVERAL = re.compile(
    r"(?:both |either |all )?\(?[a-z]\)?(?:(?:,|/|;|&| and | or |, and |, or | )\s*\(?[a-z]\)?)+[.!]?"
)
_BECAUSE = re.compile(r"[\s,;.\-(]*\b(?:because|since|as|explanation|reason|reasoning|this is because)\b")
_BECAUSE_ALONE = re.compile(r"(?:because|since) ")


def _after_label(label: str, rest: str, choices: Mapping[str, str]) -> Reading:
    """A label with something behind it: its own choice's text, or an explanation that takes nothing back.

    `b) mitosis`, `b) because cells divide`, `b) mitosis, where a cell splits`; an explanation that hedges, negates or
    names another choice (`b, because the answer is c`) makes the whole unparseable.
    """
    own = choices[label]
    same = by_text(rest, {label: own}, STRICT + LOOSE) or by_part(rest, {label: own})
    if same is not None:
        return named(label, f"label {label} with its text")
    folded = fold_punctuation(rest)
    explained = folded.removeprefix(fold_punctuation(own)) if folded.startswith(fold_punctuation(own) + " ") else folded
    if abstains(rest) or HEDGE.search(explained):
        return unparseable(f"label {label}, then hedged")
    if NEGATION.search(explained):
        return unparseable(f"label {label}, then a negation")
    others = [other for other in names(explained, choices) if other != label]
    other = other_label(explained, label, choices) or other_label(fold_writing(rest), label, choices)
    if others or other:
        return unparseable(f"label {label} with {f'the text of choice {others[0]}' if others else f'label {other}'}")
    if explained != folded or _BECAUSE.match(folded):
        return named(label, f"label {label} with an explanation")
    return unparseable(f"label {label} with a text that is not its choice's")


def _by_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """A bare label in the usual dresses, such as `(B).` or `**b**`."""
    match = _LABEL.fullmatch(text)
    return named(match["label"], f"label {match['label']}") if match and match["label"] in choices else None


def _by_label_and_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    match = _LABEL_AND.fullmatch(text)
    if match and match["label"] in choices and not _SEVERAL.fullmatch(text):
        return _after_label(match["label"], match["rest"], choices)
    return None


def _by_label_space_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`b mitosis`: without a mark between them, label and text must be the same choice; or `b because …`."""
    match = _LABEL_SPACE.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    if _BECAUSE_ALONE.match(match["rest"]):
        return _after_label(match["label"], match["rest"], choices)
    own = by_text(match["rest"], choices, STRICT + LOOSE)
    if own is None or own.label is None:
        return None
    if own.label != match["label"]:
        return unparseable(f"label {match['label']} with the text of choice {own.label}")
    return named(own.label, f"label {own.label} with its text")


def _by_text_and_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`mitosis (b)`: the label in brackets must be that of the text."""
    match = _TEXT_LABEL.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    own = by_text(match["text"], {match["label"]: choices[match["label"]]}, STRICT + LOOSE)
    return own and named(match["label"], f"label {match['label']} with its text")


def _without_lead(written: str) -> str:
    for _ in range(3):  # `Answer: The answer is b`
        lead = _LEAD.match(written)
        written = written[lead.end() :].strip() if lead else written
    return written


def _claimed(line: str, choices: Mapping[str, str]) -> Reading | None:
    """What one line claims, or None where it is prose that is neither a label nor a choice's text."""
    written = fold_writing(line)
    stripped = _without_lead(written)
    for text in [written, stripped] if stripped and stripped != written else [written]:
        # The raw line first: case may be all that tells `Tt` from `tt`.
        tail = line.strip()[-len(text) :]
        raw = tail if fold_writing(tail) == text else text
        reading = (
            _by_label(text, choices)
            or by_text(raw, choices, STRICT)
            or by_truth(text, choices)
            or _by_label_and_text(text, choices)
            or by_truth_and_why(text, choices)
            or by_text(raw, choices, LOOSE)
            or _by_label_space_text(text, choices)
            or _by_text_and_label(text, choices)
            or by_part(text, choices)
        )
        if reading is not None:
            return reading
    return None


def _refusal(text: str, choices: Mapping[str, str]) -> Reading:
    """Why a text that names no single choice counts for nothing."""
    written, found = fold_writing(text), names(text, choices)
    body = _without_lead(written)
    if wholly_abstains(text) or wholly_abstains(body):
        return Reading("abstained", None, "says that it does not know")
    if _SEVERAL.fullmatch(body) or len(found) > 1:
        return unparseable("names more than one choice")
    if abstains(text):
        return unparseable(f"says it does not know and names choice {found[0]}") if found else (
            Reading("abstained", None, "says that it does not know")
        )  # fmt: skip
    if NEGATION.search(written):
        return unparseable("a negation, which names no choice")
    if HEDGE.search(written):
        return unparseable("hedged")
    if found:
        return unparseable(f"holds the text of choice {found[0]} within other words; a substring is not enough")
    return unparseable("names no choice")


def _lines(text: str, choices: Mapping[str, str]) -> list[str]:
    """The lines that say something; a lead alone on its line (`Answer:`, `**Answer**`) goes before the next one."""
    lines: list[str] = []
    open_lead = False
    for line in text.splitlines():
        written = fold_writing(line)
        if written and open_lead:
            lines[-1] += f" {line.strip()}"
        elif written:
            lines.append(line)
        lead = bool(written) and not open_lead and _LEAD.fullmatch(written) is not None
        open_lead = (open_lead and not written) or (lead and _claimed(line, choices) is None)
    return lines


def _doubts(line: str, label: str, choices: Mapping[str, str], later: bool) -> bool:
    """Whether a line beside the one that names `label` takes it back; a thought before `Answer: b` may waver."""
    written = fold_writing(line)
    if retracts(line, label, choices[label]) or (later and answers_another(written, label, choices)):
        return True
    if _EXPLICIT.match(written):
        wavers = later and (NEGATION.search(written) or HEDGE.search(written))
        return bool(wavers or abstains(line) or _SEVERAL.fullmatch(_without_lead(written)))
    return later and (abstains(line) or HEDGE.match(written) is not None)


def _listed(lines: list[str], claims: list[Reading | None]) -> set[int]:
    """The indices of lines that repeat the choices (`a) meiosis`, `b) mitosis`, …), two of them or more."""
    found = {i: claim.label for i, claim in enumerate(claims) if claim and _LABEL_AND.fullmatch(fold_writing(lines[i]))}
    return set(found) if len(set(found.values())) > 1 else set()


def _by_lines(lines: list[str], choices: Mapping[str, str]) -> Reading:
    """What several lines say together; a wrapper on a line of its own is taken off."""
    lines = [inner for line in lines for inner in unwrap(line) if fold_writing(inner)] or lines
    claims = [_claimed(line, choices) for line in lines]
    explicit = [i for i, claim in enumerate(claims) if claim and _EXPLICIT.match(fold_writing(lines[i]))]
    first = explicit[0] if explicit else 0
    chosen = claims[first]
    if chosen is None or chosen.label is None:
        return chosen or _refusal("\n".join(lines), choices)
    listed = _listed(lines[:first], claims[:first])
    labels = {
        claim.label for i, claim in enumerate(claims) if claim and i not in listed and (claim.label or not explicit)
    }
    if labels != {chosen.label}:
        return unparseable("names more than one choice")
    if any(_doubts(line, chosen.label, choices, i > first) for i, line in enumerate(lines) if i != first):
        return unparseable(f"{chosen.reason}, then hedged, taken back or given to another choice")
    return chosen


def _read_text(text: str, choices: Mapping[str, str]) -> Reading:
    """Read one text that no wrapper holds."""
    if len(text) == 1 and text in choices:
        return named(text, f"label {text}")
    # Folding makes one character of some scripts into eighteen.
    if len(text) > MAX_CHARACTERS or len(fold_writing(text)) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    lines = _lines(text, choices)
    whole = by_text(text, choices, STRICT)
    if whole is not None and (len(lines) != 1 or not fold_punctuation(text)):
        return whole
    if not fold_punctuation(text):
        return Reading("abstained", None, "says nothing")
    if len(lines) == 1:
        return _claimed(lines[0], choices) or _refusal(lines[0], choices)
    return _by_lines(lines, choices)


def read_answer(answer: str, choices: Mapping[str, str]) -> Reading:
    """Read one answer against the choices (label -> text) by `answers-v1`; the module says the rules."""
    if len(answer) > MAX_CHARACTERS:
        return unparseable(f"over {MAX_CHARACTERS:,} characters")
    as_written = by_text(answer, choices, STRICT)
    if as_written is not None or not fold_punctuation(answer):
        return _read_text(answer, choices)  # a choice may itself look like a wrapper: `</s>`, `{}`
    first = before_next_question(answer, q_is_label="q" in choices)
    return agree([_read_text(text, choices) for text in unwrap(first)])
