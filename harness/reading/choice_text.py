"""Reading a text as the text of one choice: whole, completed where the dataset cut it, or shortened."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.reading.folding import fold_article, fold_edges, fold_punctuation, fold_writing
from harness.reading.reading_result import Reading, named, unparseable

Levels = tuple[Callable[[str], str], ...]
STRICT: Levels = (str.strip, fold_writing, fold_edges)
LOOSE: Levels = (fold_punctuation, fold_article)
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
    for fold in levels:
        folded = fold(text)
        labels = [label for label, choice in choices.items() if folded and fold(choice) == folded]
        if len(labels) == 1:
            return named(labels[0], f"the text of choice {labels[0]}")
        if labels:
            return unparseable(f"choices {' and '.join(labels)} read alike; only a label tells them apart")
    return None


def by_truth(text: str, choices: Mapping[str, str]) -> Reading | None:
    """`T`, `yes`, `F`, `no` where the choices are true and false, and nothing else."""
    truth = TRUTHS.get(fold_punctuation(text))
    labels = {fold_punctuation(choice): label for label, choice in choices.items()}
    if truth and len(choices) == 2 and labels.keys() == {"true", "false"}:
        return named(labels[truth], f"says {truth}")
    return None


def _continues(label: str, choice: str, text: str) -> bool:
    """Whether the text completes the cut-off last word of the choice, in one of the two ways in which TQA cuts.

    Its cleaning took a final `a.` of choice a for the label: `in the state of Californi` (a) is California, `magnetic
    fiel` (d) is field. Only the choice's own label was lost (10 of 10 in val), so `carbonic` never completes `carbon`
    and `cells` completes `cell` in no choice. And a line's end leaves a hyphen: `Southern Hemi-` may end in any letters
    (two words or more: `anti-` alone is a prefix, not a cut).
    """
    short, long = fold_punctuation(choice), fold_punctuation(text)
    tail = long[len(short) :]
    if len(short) < 5 or not long.startswith(short) or not tail.isalpha():
        return False
    if choice.rstrip().endswith("-"):
        return " " in short
    return tail == label and choice.rstrip()[-1].isalpha()


def _shortens(choice: str, text: str) -> bool:
    """Whether the text is the beginning of the choice: three whole words or more, at least half of it."""
    short, long = fold_punctuation(text), fold_punctuation(choice)
    whole_words = short.count(" ") + long.startswith(f"{short} ")
    return whole_words >= 3 and len(long) <= 2 * len(short) and long.startswith(short)


def by_part(text: str, choices: Mapping[str, str]) -> Reading | None:
    """The one choice that the text completes or shortens."""
    found = [label for label, choice in choices.items() if _continues(label, choice, text) or _shortens(choice, text)]
    if len(found) > 1:
        return unparseable(f"a part that fits choices {' and '.join(found)}")
    return named(found[0], f"choice {found[0]}, completed or shortened") if found else None


def names(text: str, choices: Mapping[str, str]) -> list[str]:
    """The labels of the choices whose texts occur as whole words in the text; used to refuse, never to credit."""
    folded = f" {fold_punctuation(text)} "
    return [label for label, choice in choices.items() if f" {fold_punctuation(choice)} " in folded]
