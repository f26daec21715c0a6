"""Read the claim of one line under the rules `answers-v3`: a decorated label, a choice's text, both, or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from harness.reading.abstentions import abstains, leans, takes_back_beside, wholly_abstains
from harness.reading.choice_text import (
    LOOSE,
    STRICT,
    by_completion,
    by_part,
    by_text,
    by_truth,
    continued,
    is_own,
    names,
    truths,
)
from harness.reading.folding import fold_punctuation, fold_writing
from harness.reading.patterns import (
    BECAUSE,
    BECAUSE_ALONE,
    BESIDE,
    EXPLICIT,
    GLOSS,
    HEDGE,
    HEDGED,
    IS_RIGHT,
    LABEL,
    LABEL_AND,
    LABEL_SPACE,
    LEAD,
    MARKED_LABEL,
    NEGATION,
    NEITHER,
    NOT_BUT,
    NOT_OTHER,
    OPTION_LABEL,
    QUESTION,
    SEVERAL,
    SUBJECT,
    TEXT_AND,
    TEXT_LABEL,
    TRUTH_AND,
    WHICH_IS,
)
from harness.reading.reading_result import Reading, abstained, named, unparseable


def _without_neither(remark: str, label: str, choices: Mapping[str, str]) -> str:
    """A remark without `neither meiosis nor mitosis`, unless that names the choice itself."""
    return NEITHER.sub(lambda match: match[0] if label in names(match[0], choices) else " ", remark)


def _may_name(others: list[str], own: str) -> bool:
    """Whether the remark on a choice may name others: those of `all of the above` and `both`, and true and false."""
    return own in ("true", "false") or (len(others) > 1 and own.startswith(("all ", "both ")))


def _with_remark(label: str, remark: str, choices: Mapping[str, str], how: str) -> Reading:
    """A choice with a remark next to it, on its own line, which takes nothing back and names no other choice."""
    remark = _without_neither(fold_writing(remark), label, choices)
    others = [other for other in names(remark, choices) if other != label]
    if others and not _may_name(others, fold_punctuation(choices[label])):
        return unparseable(f"{how} with the text of choice {others[0]}")
    if takes_back_beside(remark, label, choices):
        return unparseable(f"{how}, then hedged, taken back or given to another choice")
    return named(label, f"{how} with a remark")


def by_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """A bare label in the usual dresses, such as `(B).` or `**b**`."""
    match = LABEL.fullmatch(text)
    return named(match["label"], f"label {match['label']}") if match and match["label"] in choices else None


def _by_label_and_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`b) mitosis`, `b) because cells divide`, `b) mitosis, where a cell splits`; nothing else may follow the mark."""
    match = LABEL_AND.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    label, rest = match["label"], match["rest"]
    if SEVERAL.fullmatch(text) and fold_punctuation(rest) != label:
        return None
    own = choices[label]
    if is_own(rest, label, choices):
        return named(label, f"label {label} with its text")
    folded, start = fold_punctuation(rest), f"{fold_punctuation(own)} "
    if folded.startswith(start):
        return _with_remark(label, folded[len(start) :], choices, f"label {label} with its text")
    beside = BESIDE.fullmatch(rest)
    if beside and is_own(beside["text"], label, choices):
        return _with_remark(label, beside["rest"], choices, f"label {label} with its text")
    if BECAUSE.match(folded):
        return _with_remark(label, rest, choices, f"label {label}")
    return unparseable(f"label {label} with a text that is not its choice's: {refusal(rest, choices).reason}")


def _by_label_space_text(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`b mitosis`: without a mark between them, label and text must be the same choice; or `b because …`."""
    match = LABEL_SPACE.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    if BECAUSE_ALONE.match(match["rest"]):
        return _with_remark(match["label"], match["rest"], choices, f"label {match['label']}")
    own = by_text(match["rest"], choices, STRICT + LOOSE)
    if own is None or own.label is None:
        return None
    if own.label != match["label"]:
        return unparseable(f"label {match['label']} with the text of choice {own.label}")
    return named(own.label, f"label {own.label} with its text")


def _by_text_and_label(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`mitosis (b)`, `mitosis, which is option b`, `The process is mitosis (b)`: the label must be that of the text."""
    match = WHICH_IS.fullmatch(text) or TEXT_LABEL.fullmatch(text)
    if not match or match["label"] not in choices:
        return None
    subject = None if NEGATION.search(text) or HEDGE.search(text) else SUBJECT.fullmatch(match["text"])
    own = (match["text"], subject["rest"]) if subject else (match["text"],)
    if not any(is_own(said, match["label"], choices) for said in own):
        return None
    return named(match["label"], f"label {match['label']} with its text")


def alone(text: str, choices: Mapping[str, str]) -> str | None:
    """The choice that a text names and says nothing else, by label, text or both; a lead may come first."""
    text = without_lead(text).strip()
    by_both = [match for form in (LABEL_AND, LABEL_SPACE, TEXT_LABEL) if (match := form.fullmatch(text))]
    for match in by_both:
        if match["label"] in choices and is_own(
            match.groupdict().get("rest") or match["text"], match["label"], choices
        ):
            return match["label"]
    said = by_label(text, choices) or by_text(text, choices, STRICT + LOOSE) or by_truth(text, choices)
    return said.label if said else None


def _by_contrast(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`b is the correct answer`, `mitosis, not meiosis`, `not a but b`: the other choice is named to be denied."""
    for form in (IS_RIGHT, NOT_OTHER, NOT_BUT):
        match = form.fullmatch(text)
        label = alone(match["text"], choices) if match else None
        if match is None or label is None:
            continue
        parts = match.groupdict()
        denied = alone(parts["other"], choices) if "other" in parts else None
        if "other" not in parts or denied not in (None, label):
            return _with_remark(label, parts.get("rest") or "", choices, f"choice {label}, and not another")
    return None


def _by_text_and_remark(text: str, choices: Mapping[str, str]) -> Reading | None:
    """A text with a remark: `Mitosis. It makes two cells.`, `mitosis because …`, `True, plants do`, `CO2 (a gas)`."""
    for match in (TEXT_AND.fullmatch(text), TRUTH_AND.fullmatch(text), GLOSS.fullmatch(text)):
        if match is not None:
            said = match["text"]
            own = by_text(said, choices, STRICT + LOOSE) or by_truth(said, choices) or by_completion(said, choices)
            if own is not None and own.label is not None:
                return _with_remark(own.label, match["rest"], choices, own.reason)
    return None


def _by_text_and_more(text: str, choices: Mapping[str, str]) -> Reading | None:
    """A long choice that the dataset cut at the end of a line, with the words that were lost."""
    found = continued(text, choices)
    return found and _with_remark(*found, choices, f"the text of choice {found[0]}, completed")


def without_lead(written: str) -> str:
    """A folded text without `the answer is` and the like before it; no space need come after these: `answermitosis`."""
    for _ in range(3):  # `Answer: The answer is b`
        lead = LEAD.match(written)
        written = written[lead.end() :].strip() if lead else written
    return written


def _claim_of(text: str, raw: str, choices: Mapping[str, str]) -> Reading | None:
    """The first form that the text has; `raw` is the text before folding, since only case distinguishes choices such as
    Tt.
    """
    return (
        by_label(text, choices)
        or by_text(raw, choices, STRICT)
        or by_truth(text, choices)
        or _by_contrast(text, choices)
        or _by_label_and_text(text, choices)
        or by_text(raw, choices, LOOSE)
        or _by_label_space_text(text, choices)
        or _by_text_and_label(text, choices)
        or _by_text_and_remark(text, choices)
        or by_part(text, choices)
        or _by_text_and_more(text, choices)
    )


def claimed(line: str, choices: Mapping[str, str]) -> Reading | None:
    """The claim of one line, or None for prose that is neither a label nor a choice's text."""
    written = fold_writing(line)
    if QUESTION.search(written):
        one = alone(written.replace("?", ""), choices) or (truths(choices) and len(names(line, choices)) == 1)
        return by_text(line, choices, STRICT) or (unparseable("only asks") if one else None)
    stripped = without_lead(written)
    for text in dict.fromkeys((written, stripped)):
        tail = line.strip()[-len(text) :]
        reading = _claim_of(text, tail if fold_writing(tail) == text else text, choices)
        if reading is not None:
            return reading
    if EXPLICIT.match(written):
        if wholly_abstains(stripped) or (abstains(stripped) and not leans(stripped, choices)):
            return abstained("says that it does not know")
        if SEVERAL.fullmatch(stripped) or HEDGED.match(stripped):
            return unparseable("names more than one choice, or hedges")
    return None


def refusal(text: str, choices: Mapping[str, str]) -> Reading:
    """Why a text that names no single choice counts for nothing."""
    written, found = fold_writing(text), names(text, choices)
    if wholly_abstains(text) and any(
        fold_punctuation(choice).startswith(f"{fold_punctuation(text)} ") for choice in choices.values()
    ):
        return unparseable("says that it does not know, or begins a choice")
    if abstains(text):
        if not wholly_abstains(text) and leans(text, choices):
            return unparseable("says that it does not know, and names a choice")
        return abstained("says that it does not know")
    if SEVERAL.fullmatch(without_lead(written)) or len(found) > 1:
        return unparseable("names more than one choice")
    if NEGATION.search(written):
        return unparseable("a negation, which names no choice")
    if HEDGE.search(written):
        return unparseable("hedged")
    if found:
        return unparseable(f"holds the text of choice {found[0]} within other words; a substring is not enough")
    return unparseable("names no choice")


def begins_with_label(line: str, choices: Mapping[str, str]) -> bool:
    """Whether prose begins with a marked label or one after a lead (`(a) is …`, `Option A …`); `A cell …` does not."""
    written = fold_writing(line)
    stripped = without_lead(written)
    match = OPTION_LABEL.match(written) or MARKED_LABEL.match(written) or MARKED_LABEL.match(stripped)
    return match is not None and (match["label"] or match["bare"]) in choices
