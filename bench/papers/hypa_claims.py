"""The power of HyPA-RAG's own table: how many questions it counts, and which differences those could establish."""

from __future__ import annotations

from collections.abc import Sequence

from scored_runs import p_text, percent, table

from harness.probing.probe_rates import wilson

CORRECTNESS = {
    "GPT-3.5-Turbo alone": 0.1973,
    "GPT-4o-Mini alone": 0.4572,
    "fixed k = 3": 0.7546,
    "fixed k = 5": 0.7584,
    "fixed k = 7": 0.7621,
    "fixed k = 10": 0.7658,
    "PA: k, Q (2 class)": 0.8104,
    "PA: k, Q (3 class)": 0.8141,
    "HyPA: k, Q, K, S (2 class)": 0.7770,
    "HyPA: k, Q, K, S (3 class)": 0.7918,
}
"""Table 2, column "Correctness (Threshold=4.0)": a share of questions."""
REFERENCE = "fixed k = 10"
MOST = 1_000


def fits(share: float, n: int) -> bool:
    """Whether a share, to four places, can be a count over `n` questions."""
    return round(round(share * n) / n, 4) == share


def sizes(shares: Sequence[float], most: int = MOST) -> list[int]:
    """The numbers of questions below `most` that every share fits."""
    return [n for n in range(2, most) if all(fits(one, n) for one in shares)]


def _p_unpaired(first: int, second: int, n: int) -> float:
    from statsmodels.stats.proportion import proportions_ztest

    return float(proportions_ztest([first, second], [n, n])[1])


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    retrieving = {name: share for name, share in CORRECTNESS.items() if not name.endswith("alone")}
    fitting = sizes(list(retrieving.values()))
    n = fitting[0]
    others = [name for name, share in CORRECTNESS.items() if not fits(share, n)]
    reference = round(CORRECTNESS[REFERENCE] * n)
    rows = []
    for name, share in CORRECTNESS.items():
        right = round(share * n)
        p = p_text(_p_unpaired(right, reference, n))
        against = "" if name == REFERENCE else f"{100 * (right - reference) / n:+.1f}, p {p}"
        about = "" if fits(share, n) else "about "
        rows.append([name, f"{share:.4f}", f"{about}{right} of {n}", percent(right / n, wilson(right, n)), against])
    print(
        f"The paper gives no number of questions. The shares of its eight RAG systems are counts over **{n}** of them "
        f"(below {MOST:,} these fit: {', '.join(map(str, fitting))}). No count over {n}: {', '.join(others) or 'none'}."
    )
    head = [
        "system",
        "paper, correctness",
        "as a count",
        "percent, 95 % (Wilson)",
        "against fixed k = 10, unpaired test",
    ]
    print("\n" + table(head, rows))
    worst, best = (extreme(retrieving, key=retrieving.__getitem__) for extreme in (min, max))
    furthest = _p_unpaired(round(retrieving[best] * n), round(retrieving[worst] * n), n)
    print(f"The two RAG systems furthest apart are {worst} and {best}: unpaired p {p_text(furthest)}.")


if __name__ == "__main__":
    main()
