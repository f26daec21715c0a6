"""The tables of docs/figures/house.md: what each sign is worth on the tuning questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from house_fit import ROUNDS, Case, Guess, best_l2, guesses, is_read, points, train

BOUNDS = (0.40, 0.45, 0.50, 0.55, 0.60)
TITLES = {"choices": "Multiple choice and matching", "true_false": "True/false"}
PAGES = ("page_bm25", "page_support")
ALONE = ("page_bm25", "page_support", "small_closed", "small_read", "large_closed", "large_read")
"""Signs of choices that could answer every question without any weight."""
MEASURED: Mapping[str, Sequence[tuple[str, ...]]] = {
    "choices": (
        PAGES,
        (*PAGES, "page_cover"),
        (*PAGES, "page_cosine"),
        (*PAGES, "small_closed"),
        (*PAGES, "small_read"),
        (*PAGES, "small_closed", "small_read"),
        (*PAGES, "large_closed"),
        (*PAGES, "large_read"),
        (*PAGES, "large_closed", "large_read"),
    ),
    "true_false": (
        ("page_cover",),
        ("page_support",),
        ("small_read",),
        ("small_closed", "small_read"),
        ("large_read",),
        ("large_closed", "large_read"),
    ),
}
Held = Sequence[Sequence[Guess]]
HEAD = ["signs", "n", "log P(right)", "accuracy, all answered", "answered", "points", "points, all answered"]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def _held(cases: Sequence[Case], names: Sequence[str]) -> Held:
    l2 = best_l2(cases, names)
    return [guesses(cases, names, l2, seed) for seed in range(ROUNDS)]


def _row(label: str, held: Held) -> list[object]:
    every = [one for some in held for one in some]
    right = sum(one.is_right for one in every) / len(every)
    return [
        label,
        len(held[0]),
        f"{sum(one.logprob for one in every) / len(every):.3f}",
        f"{right:.3f}",
        f"{sum(one.probability > 0.5 for one in every) / len(every):.2f}",
        f"{points(every, 0.5):+.3f}",
        f"{2 * right - 1:+.3f}",
    ]


def _unweighed(cases: Sequence[Case], sign: str) -> list[object]:
    """The system that always answers with the choice that has most of one sign; ties go to the first."""
    best = [max(range(len(case.signs[sign])), key=case.signs[sign].__getitem__) for case in cases]
    right = sum(place == case.right for place, case in zip(best, cases, strict=True)) / len(cases)
    always = f"{2 * right - 1:+.3f}"
    return [f"{sign}, no weights", len(cases), "", f"{right:.3f}", "1.00", always, always]


def _rows(cases: Sequence[Case], which: str, kept: Sequence[str], model: str) -> Iterator[list[object]]:
    """The signs of the pages on all cases; then, on those that the model read, each sign and the kept ones."""
    read = [case for case in cases if is_read(case, [f"{model}_read"])]
    measured = [names for names in MEASURED[which] if all(is_read(case, names) for case in read)]
    yield ["always abstain", "", "", "", "0.00", "+0.000", ""]
    if which == "choices":
        yield from (_unweighed(read, sign) for sign in ALONE if sign in read[0].signs)
        yield _row(f"{', '.join(PAGES)}, all questions", _held(cases, PAGES))
    for names in measured:
        pages = all(name.startswith("page_") for name in names)
        label = f"**{', '.join(names)}**" if tuple(names) == tuple(kept) else ", ".join(names)
        yield _row(label, _held(read if pages else cases, names))


def _thresholds(held: Held) -> str:
    every = [one for some in held for one in some]
    rows = []
    for bound in BOUNDS:
        said = [one.is_right for one in every if one.probability > bound]
        share = f"{sum(said) / len(said):.3f}" if said else ""
        rows.append([f"{bound:.2f}", f"{len(said) / len(every):.2f}", share, f"{points(every, bound):+.3f}"])
    return table(["answer above", "answered", "right of these", "points"], rows)


def _calibration(held: Held) -> str:
    every = [one for some in held for one in some]
    rows = []
    for tenth in range(2, 10):
        some = [one for one in every if min(9, int(one.probability * 10)) == tenth]
        if some:
            stated = sum(one.probability for one in some) / len(some)
            right = sum(one.is_right for one in some) / len(some)
            between = f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
            rows.append([between, round(len(some) / ROUNDS), f"{stated:.2f}", f"{right:.2f}"])
    return table(["probability", "questions", "stated", "right"], rows)


def _apart(cases: Sequence[Case], dataset: str) -> str:
    l2 = best_l2(cases, PAGES)
    weights = ", ".join(f"{name} {value:.2f}" for name, value in train(cases, PAGES, l2).items())
    return f"Fitted on {dataset} alone: {weights} (penalty {l2:.0f})."


def tuning_page(cases: Sequence[Case], kept: Mapping[str, Sequence[str]], model: str) -> str:
    """What the signs are worth by cross-validation over lessons; thresholds and calibration of the kept ones."""
    parts = []
    for which, title in TITLES.items():
        own = [case for case in cases if case.which == which]
        datasets = sorted({case.dataset for case in own})
        counts = ", ".join(f"{sum(case.dataset == name for case in own)} of {name}" for name in datasets)
        read = sum(is_read(case, [f"{model}_read"]) for case in own)
        parts.append(f"**{title}**: {counts}; the model read {read}. Kept: {', '.join(kept[which]) or 'no sign'}.")
        parts.append(table(HEAD, _rows(own, which, kept[which], model)))
        if which == "choices":
            parts += [_apart([case for case in own if case.dataset == name], name) for name in datasets]
        if kept[which]:
            held = _held(own, kept[which])
            parts += ["The kept signs:", _thresholds(held), _calibration(held)]
    return "\n\n".join(parts)
