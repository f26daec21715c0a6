"""Reading a text as the text of one choice: whole, completed where the dataset cut it, or shortened."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.reading.folding import (
    fold_article,
    fold_edges,
    fold_formula,
    fold_owner,
    fold_punctuation,
    fold_writing,
)
from harness.reading.patterns import BREAK, TRUTH_OF
from harness.reading.reading_result import Reading, named, unparseable

Levels = tuple[Callable[[str], str], ...]
STRICT: Levels = (str.strip, fold_writing, fold_edges)
LOOSE: Levels = (fold_punctuation, fold_article, fold_owner, fold_formula)
TQA_LABELS = "abcdefg"
LONG = 60
"""Characters of a choice that the dataset may have cut at the end of a line."""
SENTENCE_LIKE = 30
"""Characters of a choice whose last word may lack any letters: no other word is likely to begin like all of it."""
TRUTHS = {
    "true": "true",
    "t": "true",
    "yes": "true",
    "y": "true",
    "false": "false",
    "f": "false",
    "no": "false",
    "n": "false",
}


def by_text(text: str, choices: Mapping[str, str], levels: Levels) -> Reading | None:
    """The choice whose own text this is, at the strictest level at which there is one."""
    # Each strict level folds further than the one before: texts that differ at the last one differ at all.
    if levels is STRICT and fold_edges(text) not in map(fold_edges, choices.values()):
        return None
    for fold in levels:
        folded = fold(text)
        labels = [label for label, choice in choices.items() if folded and fold(choice) == folded]
        if len(labels) == 1:
            return named(labels[0], f"the text of choice {labels[0]}")
        if labels:
            return unparseable(f"choices {' and '.join(labels)} read alike; only a label tells them apart")
    return None


def truths(choices: Mapping[str, str]) -> dict[str, str]:
    """The labels of `true` and `false`, where the question has these two choices and no other."""
    if len(choices) != 2:
        return {}
    labels = {fold_punctuation(choice): label for label, choice in choices.items()}
    return labels if labels.keys() == {"true", "false"} else {}


def by_truth(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`T`, `yes`, `F`, `the statement is not true` where the choices are true and false, and nothing else."""
    labels = truths(choices)
    said = TRUTH_OF.fullmatch(fold_writing(text)) if labels else None
    truth = said.lastgroup if said else TRUTHS.get(fold_punctuation(text))
    return named(labels[truth], f"says {truth}") if labels and truth else None


def _begins_alone(label: str, choices: Mapping[str, str], text: str) -> str | None:
    """What the text says behind the whole of this choice, if no other choice begins in the same way."""
    short, long = fold_article(choices[label]), fold_article(text)
    if not long.startswith(short):
        return None
    as_near = any(other != label and fold_article(choice).startswith(short) for other, choice in choices.items())
    return None if as_near else long[len(short) :]


def _completes(label: str, choices: Mapping[str, str], text: str) -> bool:
    """Whether the text completes the cut-off last word of the choice, in one of the two ways in which TQA cuts.

    Its cleaning took a final `a.` for a label: `in the state of Californi` is California, `magnetic fiel` is field. The
    letter is the choice's own label or another one from a to g; d and e, which also make words (`humane`), only where
    the choice has two words or another choice kept its stop. So `carbonic` never completes `carbon`, nor `cells`
    `cell`. And a line's end leaves a hyphen: `Southern Hemi-` may end in any letters (two words or more: `anti-` alone
    is a prefix, not a cut). A choice of 30 characters may lack any letters.
    """
    choice, short = choices[label].rstrip(), fold_article(choices[label])
    tail = _begins_alone(label, choices, text)
    if len(short) < 5 or not tail or not tail.isalpha():
        return False
    if choice.endswith("-"):
        return " " in short
    if not choice[-1].isalpha() or short[-2] == " ":
        return False
    if len(short) >= SENTENCE_LIKE:
        return True
    if len(tail) > 1:
        return False
    certain = " " in short or tail not in "de" or any(other.rstrip().endswith(".") for other in choices.values())
    return tail == label or (tail in TQA_LABELS and certain)


def continued(text: str, choices: Mapping[str, str]) -> tuple[str, str] | None:
    """The long choice, cut at a line's end, that the text repeats and goes on from; and the words that it adds."""
    if BREAK.search(text):
        return None
    for label, choice in choices.items():
        words = _begins_alone(label, choices, text) or ""
        if len(fold_article(choice)) >= LONG and choice.rstrip()[-1].isalpha() and words.startswith(" "):
            return label, words[1:]
    return None


def _shortens(choice: str, text: str) -> bool:
    """Whether the text is the beginning of the choice: three whole words or more, at least half of it."""
    short, long = fold_punctuation(text), fold_punctuation(choice)
    whole_words = short.count(" ") + long.startswith(f"{short} ")
    return whole_words >= 3 and len(long) <= 2 * len(short) and long.startswith(short)


def by_completion(text: str, choices: Mapping[str, str]) -> Reading | None:
    """The choice that the text completes; there is at most one, since no other one may begin like it."""
    label = next((label for label in choices if _completes(label, choices, text)), None)
    return named(label, f"choice {label}, completed") if label else None


def by_part(text: str, choices: Mapping[str, str], only: str | None = None) -> Reading | None:
    """The one choice that the text completes or shortens; `only` this one, if it is given."""
    found = [
        label
        for label in choices
        if only in (None, label) and (_completes(label, choices, text) or _shortens(choices[label], text))
    ]
    if len(found) > 1:
        return unparseable(f"a part that fits choices {' and '.join(found)}")
    return named(found[0], f"choice {found[0]}, completed or shortened") if found else None


def is_own(text: str, label: str, choices: Mapping[str, str]) -> bool:
    """Whether a text with a label before or behind it is the text of that choice, whole, completed or shortened."""
    return bool(by_text(text, {label: choices[label]}, STRICT + LOOSE) or by_part(text, choices, label))


def names(text: str, choices: Mapping[str, str]) -> list[str]:
    """The labels of the choices whose texts occur as whole words in the text; used to refuse, never to credit."""
    folded = f" {fold_punctuation(text)} "
    return [label for label, choice in choices.items() if f" {fold_punctuation(choice)} " in folded]
