"""The tables of docs/figures/house.md: what each sign is worth on the tuning questions, and the system's place on the
board.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from house_fit import (
    BOUNDS,
    ROUNDS,
    Case,
    Guess,
    best_l2,
    design,
    guesses,
    habit_weights,
    points,
)

from edu_rag.names import Sample
from edu_rag.statistics.ranks import holm

ALONE = {
    "choices": (
        "large_few",
        "large_few_other",
        "large_chat",
        "large_notes",
        "large_right",
        "small_gain",
        "small_mean",
        "page_bm25",
        "page_cosine",
        "page_near",
    ),
    "true_false": (
        "large_few",
        "large_chat",
        "large_notes",
        "small_mean",
        "small_least",
        "page_bm25",
        "page_cosine",
    ),
}
SLUG = "house"
HEAD_AGAINST = ["against", "score difference", "95 % interval", "p", "p, Holm over these", "p, Holm over all pairs"]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def _held(cases: Sequence[Case], names: Sequence[str], habits: Mapping[str, float], l2: float) -> list[list[Guess]]:
    rows, right = design(cases, names, habits), [case.right for case in cases]
    return [guesses(rows, right, l2, seed) for seed in range(ROUNDS)]


def _line(name: str, held: Sequence[Sequence[Guess]]) -> list[str]:
    every = [one for turn in held for one in turn]
    answered = [one for one in every if one.probability > 0.5]
    return [
        name,
        f"{sum(one.logprob for one in every) / len(every):.3f}",
        f"{sum(one.is_right for one in every) / len(every):.3f}",
        f"{len(answered) / len(every):.2f}",
        f"{points(every, 0.5):+.3f}",
    ]


def _sets(which: str, kept: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The variants to compare: habits alone, each sign alone, the kept ones, each of these left out, each other one
    added.
    """
    found: dict[str, tuple[str, ...]] = {"habits alone": ()}
    found |= {f"habits, {name}": (name,) for name in ALONE[which]}
    found["**kept**: habits, " + ", ".join(kept)] = tuple(kept)
    if len(kept) > 1:
        found |= {f"kept without {name}": tuple(one for one in kept if one != name) for name in kept}
    return found | {f"kept and {name}": (*kept, name) for name in ALONE[which] if name not in kept}


HEAD = ["signs", "log P(right)", "accuracy, all answered", "answered", "points a question"]


def _signs_table(cases: Sequence[Case], which: str, kept: Sequence[str], habits: Mapping[str, float], l2: float) -> str:
    every = _sets(which, kept).items()
    return table(HEAD, [_line(name, _held(cases, names, habits, l2)) for name, names in every])


def _bounds_table(turns: Sequence[Sequence[Guess]]) -> str:
    every = [one for turn in turns for one in turn]
    rows = []
    for bound in BOUNDS:
        said = [one for one in every if one.probability > bound]
        right = sum(one.is_right for one in said) / max(1, len(said))
        rows.append([f"{bound:.2f}", f"{len(said) / len(every):.2f}", f"{right:.3f}", f"{points(every, bound):+.3f}"])
    return table(["answer above", "answered", "right of these", "points a question"], rows)


def _calibration_table(turns: Sequence[Sequence[Guess]]) -> str:
    every = [one for turn in turns for one in turn]
    rows = []
    for low in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        inside = [one for one in every if low <= one.probability < low + 0.1 + (low == 0.9)]
        if inside:
            stated = sum(one.probability for one in inside) / len(inside)
            right = sum(one.is_right for one in inside) / len(inside)
            rows.append([f"{low:.1f} to {low + 0.1:.1f}", round(len(inside) / ROUNDS), f"{stated:.2f}", f"{right:.2f}"])
    return table(["probability", "questions", "stated", "right"], rows)


def tuning_page(tuned: Sequence[Case], others: Sequence[Case], kept: Mapping[str, Sequence[str]]) -> str:
    """The tables on the tuning questions, all cross-validated."""
    parts = [f"{len(tuned)} tuning questions; habits from {len(others)} other questions outside the sample."]
    together: list[list[Guess]] = [[] for _ in range(ROUNDS)]
    for which, names in kept.items():
        habits = habit_weights(others, which)
        own = [case for case in tuned if case.which == which]
        l2 = best_l2(design(own, names, habits), [case.right for case in own])
        title = "True/false" if which == "true_false" else "Multiple choice and matching"
        weights = ", ".join(f"{name} {value:+.2f}" for name, value in habits.items())
        parts.append(f"**{title}**, {len(own)} questions, penalty {l2:g}. Habits alone: {weights}.")
        parts.append(_signs_table(own, which, names, habits, l2))
        for turn, held in zip(together, _held(own, names, habits, l2), strict=True):
            turn.extend(held)
    parts += ["**All kinds together**, the kept signs:", _bounds_table(together), _calibration_table(together)]
    return "\n\n".join(parts)


def _said(*words: str) -> Any:
    done = subprocess.run([sys.executable, "-m", "edu_rag", *words], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _on_board(folder: Path, dataset: str, sample: str) -> tuple[list[Path], list[str]]:
    """The submissions that answered this sample of the dataset, or more; and the names of the others."""
    size = Sample.parse(sample).n

    def covers(name: str) -> bool:
        said = name.partition("-")[2]
        return not said or Sample.parse(said).n >= size

    name = dataset.partition("#")[0].replace("@", "-")
    paths = sorted(path for path in folder.iterdir() if (path / "submission.toml").is_file())
    stems = {path: [found.stem for found in path.glob(f"predictions/{name}/*.jsonl")] for path in paths}
    there = [path for path in paths if any(covers(stem) for stem in stems[path])]
    return there, [path.name for path in paths if path not in there]


def _against(result: Mapping[str, Any]) -> list[list[object]]:
    """One line a system: how far ahead the house is, and p alone, among these lines, and among all pairs."""
    names = [one["system"] for one in result["systems"]]
    own = names.index(SLUG)
    pairs = [pair for pair in result["pairs"] if own in (pair["first"], pair["second"])]
    family = holm([pair["sign_flip_p"] for pair in pairs])
    rows: list[list[object]] = []
    for pair, held in zip(pairs, family, strict=True):
        turn = 1 if pair["first"] == own else -1
        other = names[pair["second"] if turn == 1 else pair["first"]]
        low, high = sorted(turn * end for end in pair["interval"])
        p_values = (pair["sign_flip_p"], held, pair["sign_flip_p_holm"])
        ahead = turn * pair["score_difference"]
        rows.append([f"`{other}`", f"{ahead:+.3f}", f"{low:+.3f} … {high:+.3f}", *(f"{p:.1e}" for p in p_values)])
    return sorted(rows, key=lambda row: float(str(row[1])))


def _slices(card: Mapping[str, Any]) -> list[list[object]]:
    counted = [one for one in card["slices"] if one["attribute"] in ("kind", "evidence")]
    rows = []
    for one in counted:
        counts = one["counts"]
        n = sum(counts.values())
        points = (counts["correct"] - counts["incorrect"]) / n
        cells = [counts[name] for name in ("correct", "incorrect", "abstained")]
        rows.append([f"{one['attribute']}: {one['value']}", n, *cells, f"{points:+.3f}"])
    return rows


def board_page(dataset: Path, submissions: Path, sample: str) -> str:
    """The score of the system, and its paired differences from every other system on the same questions."""
    n, seed = Sample.parse(sample)
    asked = ["--dataset", str(dataset), "--sample", str(n), "--seed", str(seed)]
    card = _said("score", str(submissions / SLUG), *asked, "--json")
    there, missing = _on_board(submissions, card["dataset"], sample)
    result = _said("compare", *map(str, there), *asked, "--json")
    low, high = card["intervals"]["score"]
    rates = ", ".join(f"{name} {card[name]:.3f}" for name in ("accuracy", "hallucination", "missing"))
    ranks = [one["rank"] for one in result["systems"]]
    own = next(one["rank"] for one in result["systems"] if one["system"] == SLUG)
    return "\n\n".join(
        [
            f"Dataset `{card['dataset']}`, {sample}: **score {card['score']:+.3f}** "
            f"({low:+.3f} … {high:+.3f}), {rates}, accuracy given attempted "
            f"{card['accuracy_given_attempted']:.3f}. Rank {own} of {len(ranks)} "
            f"systems, shared by {ranks.count(own)}.",
            table(["slice", "n", "correct", "incorrect", "abstained", "score"], _slices(card)),
            f"Differences on the same {result['n']} questions, the smallest first; exact paired sign-flip test. Holm's "
            f"adjustment over these {len(ranks) - 1} differences, which answers whether this system beats all others; "
            f"and over all {len(result['pairs'])} pairs of systems, as a board's ranks have it.",
            table(HEAD_AGAINST, _against(result)),
            f"Without answers to these questions on this version when this was made: {', '.join(missing) or 'none'}.",
        ]
    )
