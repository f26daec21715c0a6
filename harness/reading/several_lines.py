"""Read several lines together: which line decides, what corrects it, what takes it back, what only lists choices."""

from __future__ import annotations

from collections.abc import Mapping

from harness.reading.abstentions import firmly_abstains, retracts, takes_back_after
from harness.reading.choice_text import truths
from harness.reading.claims import begins_with_label, claimed, refusal
from harness.reading.folding import fold_writing
from harness.reading.patterns import (
    CONTRASTS,
    CORRECTS,
    EXPLICIT,
    GRADE,
    LABEL_AND,
    LONE_LETTER,
    NEGATION,
    SAYS_RIGHT,
    SENTENCE_ENDS,
)
from harness.reading.reading_result import Reading, unparseable
from harness.reading.wrappers import unwrap


def names_one(claim: Reading | None) -> bool:
    """Whether a claim names a choice."""
    return claim is not None and claim.label is not None


def _listed(lines: list[str], deciding: int, explicit: bool) -> set[int]:
    """The indices of lines that repeat the choices (`a) meiosis`, `b) mitosis`, …), two labels or more.

    They come before the deciding line, or on either side of an explicit one.
    """
    found = {
        i: match["label"]
        for i, line in enumerate(lines)
        if (i < deciding or (explicit and i > deciding)) and (match := LABEL_AND.fullmatch(fold_writing(line)))
    }
    return set(found) if len(set(found.values())) > 1 else set()


def _is_about_a_label(line: str, explicit: bool, choices: Mapping[str, str]) -> bool:
    """Whether prose begins with a label; before an explicit answer it may deny that one: `Option a is not right.`."""
    denied = explicit and NEGATION.search(fold_writing(line)) is not None
    return begins_with_label(line, choices) and not denied


def _lists_another(line: str, label: str) -> bool:
    """Whether a listed line is about another choice and does not call it right: `a) meiosis makes gametes`."""
    written = fold_writing(line)
    match = LABEL_AND.fullmatch(written)
    another = match is not None and match["label"] != label
    return another and (SAYS_RIGHT.search(written) is None or NEGATION.search(written) is not None)


def _corrected(lines: list[str], choices: Mapping[str, str]) -> list[str]:
    """The lines from the last correction on, if an answer follows it: `Actually, the answer is b`.

    `No, mitosis` corrects as well; `But the answer is b` does where no answer was announced before.
    """

    def announces(line: str) -> bool:
        return EXPLICIT.match(fold_writing(line)) is not None and names_one(claimed(line, choices))

    announced = [announces(line) for line in lines]
    for i in range(len(lines) - 1, 0, -1):
        written = fold_writing(lines[i])
        if corrects := CORRECTS.match(written):
            if any(announced[i:]):
                return lines[i:] if claimed(lines[i], choices) else lines[i + 1 :]
            direct = written[corrects.end() :].strip()
            if not truths(choices) and names_one(claimed(direct, choices)):
                return [direct, *lines[i + 1 :]]
        if CONTRASTS.match(written) and announced[i] and not any(announced[:i]):
            return lines[i:]
    return lines


def _last_decides(lines: list[str], claims: list[Reading | None], choices: Mapping[str, str]) -> bool:
    """Whether the last line names a choice after finished sentences that name none and know their subject.

    A grade (`Correct.`) does not: the sentence before it may be an order to the scorer.
    """
    last = claims[-1]
    return (
        len(lines) > 1
        and names_one(last)
        and GRADE.fullmatch(fold_writing(lines[-1])) is None
        and not any(claims[:-1])
        and SENTENCE_ENDS.search(fold_writing(lines[-2])) is not None
        and not any(
            firmly_abstains(line)
            or begins_with_label(line, choices)
            or any(match["label"] in choices for match in LONE_LETTER.finditer(fold_writing(line)))
            for line in lines[:-1]
        )
    )


def by_lines(lines: list[str], choices: Mapping[str, str]) -> Reading:
    """Read several lines together; a wrapper on a separate line is removed."""
    lines = [inner for line in lines for inner in unwrap(line) if fold_writing(inner)] or lines
    lines = _corrected(lines, choices)
    claims = [claimed(line, choices) for line in lines]
    explicit = [i for i, claim in enumerate(claims) if claim and EXPLICIT.match(fold_writing(lines[i]))]
    last_or_first = len(lines) - 1 if _last_decides(lines, claims, choices) else 0
    deciding = explicit[0] if explicit else last_or_first
    chosen = claims[deciding]
    if chosen is None:
        return refusal("\n".join(lines), choices)
    listed = _listed(lines, deciding, bool(explicit))
    if {claim.label for i, claim in enumerate(claims) if claim and i not in listed} != {chosen.label}:
        return unparseable("names more than one choice")
    if chosen.label is None:
        return chosen
    aside = {i for i in listed if _lists_another(lines[i], chosen.label)}
    doubted = any(
        (retracts(line, chosen.label, choices[chosen.label]) and not (i in listed and names_one(claims[i])))
        or (claims[i] is None and i not in listed and _is_about_a_label(line, bool(explicit), choices))
        for i, line in enumerate(lines[:deciding])
        if i not in aside
    )
    later = (line for i, line in enumerate(lines) if i > deciding and i not in aside)
    if doubted or any(takes_back_after(line, chosen.label, choices) for line in later):
        return unparseable(f"{chosen.reason}, then hedged, taken back or given to another choice")
    return chosen
