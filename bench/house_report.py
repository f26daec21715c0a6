"""The tables of docs/figures/house.md: what each sign is worth on the tuning questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from house_fit import ROUNDS, Case, Guess, best_l2, guesses, is_read, points

BOUNDS = (0.40, 0.45, 0.50, 0.55, 0.60)
TITLES = {"choices": "Multiple choice and matching", "true_false": "True/false"}
Held = Sequence[Sequence[Guess]]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def _held(cases: Sequence[Case], names: Sequence[str]) -> Held:
    l2 = best_l2(cases, names)
    return [guesses(cases, names, l2, seed) for seed in range(ROUNDS)]


def _mean(held: Held, value: Callable[[Sequence[Guess]], float]) -> float:
    return sum(map(value, held)) / len(held)


def _answered(held: Sequence[Guess]) -> float:
    return sum(one.probability > 0.5 for one in held) / len(held)


def _row(label: str, held: Held) -> list[object]:
    return [
        label,
        f"{_mean(held, lambda one: sum(guess.logprob for guess in one) / len(one)):.3f}",
        f"{_mean(held, lambda one: sum(guess.is_right for guess in one) / len(one)):.3f}",
        f"{_mean(held, _answered):.2f}",
        f"{_mean(held, lambda one: points(one, 0.5)):+.3f}",
        f"{_mean(held, lambda one: points(one, 0.0)):+.3f}",
    ]


def _always(label: str, cases: Sequence[Case], sign: str) -> list[object]:
    """The system that always answers by one sign, with no fit: the first of the best choices."""
    places = [max(range(len(case.signs[sign])), key=case.signs[sign].__getitem__) for case in cases]
    right = sum(place == case.right for place, case in zip(places, cases, strict=True)) / len(cases)
    return [label, "", f"{right:.3f}", "1.00", f"{2 * right - 1:+.3f}", f"{2 * right - 1:+.3f}"]


def _rows(cases: Sequence[Case], names: Sequence[str], which: str) -> Iterator[list[object]]:
    """On the cases that a model read: always abstain, one sign unweighed, the signs of the pages, then all kept."""
    read = [case for case in cases if is_read(case, names)]
    yield ["always abstain", "", "", "0.00", "+0.000", ""]
    closed = next((name for name in read[0].signs if name.endswith("_closed")), None)
    if which == "choices":
        yield _always("BM25 overlap", read, "page_bm25")
        if closed is not None:
            yield _always(f"{closed}: the model without pages", read, closed)
    pages = [name for name in names if name.startswith("page_")]
    yield _row(f"pages alone: {', '.join(pages)}", _held(read, pages))
    for name in (name for name in names if name not in pages):
        yield _row(f"pages and {name}", _held(cases, [*pages, name]))
    yield _row("**kept**: " + ", ".join(names), _held(cases, names))


def _bounds(held: Held) -> str:
    def right(bound: float) -> float:
        said = [one.is_right for some in held for one in some if one.probability > bound]
        return sum(said) / max(1, len(said))

    rows = (
        [
            f"{bound:.2f}",
            f"{_mean(held, lambda one, b=bound: sum(guess.probability > b for guess in one) / len(one)):.2f}",
            f"{right(bound):.3f}",
            f"{_mean(held, lambda one, b=bound: points(one, b)):+.3f}",
        ]
        for bound in BOUNDS
    )
    return table(["answer above", "answered", "right of these", "points a question"], rows)


def _calibration(held: Held) -> str:
    every = [one for some in held for one in some]
    rows = []
    for tenth in range(2, 10):
        some = [one for one in every if tenth / 10 <= one.probability < (tenth + 1) / 10 + (tenth == 9)]
        if some:
            stated = sum(one.probability for one in some) / len(some)
            right = sum(one.is_right for one in some) / len(some)
            counted = round(len(some) / ROUNDS)
            rows.append([f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", counted, f"{stated:.2f}", f"{right:.2f}"])
    return table(["probability", "questions", "stated", "right"], rows)


def tuning_page(cases: Sequence[Case], kept: Mapping[str, Sequence[str]]) -> str:
    """What the signs are worth by cross-validation over lessons, by dataset and kind; thresholds; calibration."""
    parts = []
    every: list[list[Guess]] = [[] for _ in range(ROUNDS)]
    for which, names in kept.items():
        own = [case for case in cases if case.which == which]
        read = sum(is_read(case, names) for case in own)
        parts.append(f"**{TITLES[which]}**: {len(own)} questions, of which the model read {read}.")
        head = ["signs", "log P(right)", "accuracy, all answered", "answered", "points", "points, all answered"]
        parts.append(table(head, _rows(own, names, which)))
        for some, more in zip(every, _held(own, names), strict=True):
            some += more
    parts += ["**All kinds together**, the kept signs:", _bounds(every), _calibration(every)]
    return "\n\n".join(parts)
