"""The EDU-RAG paper's Tables 1 and 2 in shape, and its third question answered with controls; prints Markdown.

    python bench/papers/edu_rag_paper.py tables|hallucination|controls|models --run FOLDER [--sample NAME]
    python bench/papers/edu_rag_paper.py textbooks|coverage|documents --run FOLDER --split test --sample NAME
    python bench/papers/edu_rag_paper.py thresholds[-tqa] --run FOLDER [--split test] --sample NAME
    python bench/papers/edu_rag_paper.py fine-tuning --run FOLDER     (answers of edu_rag_fine_tuning.py)

FOLDER is what bench/papers/scored_runs.py describes; bench/papers/paper_runs.py makes such folders. `thresholds`
encodes the questions and the sentences that the run cites: the ten closest, so no other sentence has a higher cosine.
`coverage` also writes docs/figures/papers/edu-rag-coverage.svg. `models` is Table 3: the whole split, without pages.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu
from scored_runs import (
    SAMPLE,
    SPLIT,
    Run,
    cites_evidence,
    difference,
    exam_of,
    p_text,
    percent,
    rates,
    restricted,
    run_of,
    share,
    table,
    unguarded,
)

from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import OUTCOME_LETTERS, Prediction
from harness.judging.outcomes import judge
from harness.probing.probe_files import ProbeAnswers, probe_answers
from harness.probing.probe_rates import wilson
from harness.scoring.confidence import area_of, steps_of

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "edu-rag-coverage.svg"


class Pair(NamedTuple):
    """A model without and with the paper's retrieval."""

    name: str
    vanilla: str
    rag: str


PAIRS = (
    Pair("Qwen2.5-Coder 1.5B, letter", "edu-rag-vanilla-qwen1b", "edu-rag-paper-qwen1b"),
    Pair("Gemma 3 270M, likelihood", "edu-rag-vanilla-gemma3", "edu-rag-paper-gemma3"),
    Pair("SmolLM2 135M, likelihood", "edu-rag-vanilla-smollm2", "edu-rag-paper-smollm2"),
    Pair("SmolLM2 135M, letter", "edu-rag-vanilla-smollm2-letter", "edu-rag-paper-smollm2-letter"),
)


class Published(NamedTuple):
    """Counts of the paper's Table 1."""

    name: str
    correct: int
    incorrect: int
    missing: int


N_PUBLISHED = 1_255
PUBLISHED = (
    (Published("Llama 2 7B", 318, 234, 703), Published("Llama 2 7B", 653, 510, 92)),
    (Published("Llama 3 8B", 880, 375, 0), Published("Llama 3 8B", 932, 323, 0)),
    (Published("GPT-4o", 1099, 141, 15), Published("GPT-4o", 1112, 130, 13)),
)


CONFIDENT = Pair("Qwen2.5-Coder 1.5B, likeliest letter", "huo-self-check-vanilla", "huo-self-check-rag")
"""The same systems with a confidence: those behind Huo et al.'s guard, taken without it."""


def pairs_of(
    folder: Path, sample: str, pairs: Sequence[Pair] = PAIRS, split: str = SPLIT
) -> list[tuple[Pair, Run, Run]]:
    """The pairs whose two runs are there."""
    exam = exam_of(folder, sample, split)
    found = []
    for pair in pairs:
        vanilla, rag = run_of(folder, exam, pair.vanilla), run_of(folder, exam, pair.rag)
        if vanilla is not None and rag is not None:
            named = pair._replace(name=pair.name + (vanilla.made_on or rag.made_on))
            found.append((named, unguarded(vanilla), unguarded(rag)))
    return found


def tables(folder: Path, sample: str, split: str) -> None:
    """Tables 1 and 2: the paper's counts, and ours in the same columns with intervals."""
    head = ("", "correct", "incorrect", "missing", "accuracy %", "hallucination %", "missing %", "score %")
    print("The paper (1,255 questions of its own crawl; Wilson intervals by us, from its counts):\n")
    rows = []
    for both in PUBLISHED:
        for how, one in zip(("alone", "with retrieval"), both, strict=True):
            cells = [percent(n / N_PUBLISHED, wilson(n, N_PUBLISHED)) for n in one[1:]]
            score = percent((one.correct - one.incorrect) / N_PUBLISHED, sign=True)
            rows.append((f"{one.name} {how}", *one[1:], *cells, score))
    print(table(head, rows))
    found = pairs_of(folder, sample, split=split)
    print(f"Ours ({len(found[0][1].verdicts)} questions, the same for all; 95 % bootstrap intervals over questions):\n")
    rows = []
    for pair, *runs in found:
        for how, run in zip(("alone", "with retrieval"), runs, strict=True):
            text, rated = run.outcomes, rates(run.outcomes)
            missing = len(text) - text.count("c") - text.count("i")
            cells = [rated[name] for name in ("accuracy", "hallucination", "missing", "score")]
            rows.append((f"{pair.name}, {how}", text.count("c"), text.count("i"), missing, *cells))
    print(table(head, rows))
    print("With retrieval minus alone, in points of percent (paired interval, exact sign-flip test):\n")
    rows = []
    for pair, vanilla, rag in found:
        right = [np.array([letter == "c" for letter in run.outcomes], dtype=np.int64) for run in (vanilla, rag)]
        rows.append((pair.name, difference(right[1], right[0]), difference(rag.outcomes, vanilla.outcomes)))
    print(table(("model", "accuracy", "score"), rows))
    _by_evidence(found)


def _by_evidence(found: Sequence[tuple[Pair, Run, Run]]) -> None:
    """The change in accuracy by what the ten sentences contain, as far as it is labelled."""
    rows = []
    for pair, vanilla, rag in found:
        asked = rag.exam.questions
        statement = np.array([one.kind == "true_false" for one in asked])
        known = np.array([one.question_id in rag.exam.support.evidence for one in asked])
        read = np.array([cites_evidence(rag, one.question_id) for one in asked])
        groups = {
            "evidence among the sentences that it read": read,
            "evidence elsewhere on its pages": known & ~read,
            "no evidence labelled": ~known & ~statement,
            "true/false: never labelled": ~known & statement,
        }
        right = [np.array([letter == "c" for letter in run.outcomes], dtype=np.int64) for run in (vanilla, rag)]
        for name, group in groups.items():
            n = int(group.sum())
            if n:
                alone, with_it = (one[group] for one in right)
                counts = (share(int(one.sum()), n) for one in (alone, with_it))
                rows.append((pair.name, name, *counts, difference(with_it, alone)))
    print("By what the labeller finds:\n")
    print(table(("model", "questions", "accuracy alone %", "with retrieval %", "change"), rows))


def _published_change(before: Published, after: Published, count: Callable[[Published], tuple[int, int]]) -> str:
    from statsmodels.stats.proportion import confint_proportions_2indep

    (n1, of1), (n2, of2) = count(after), count(before)
    low, high = confint_proportions_2indep(n1, of1, n2, of2, method="newcomb", compare="diff")
    return percent(n1 / of1 - n2 / of2, (float(low), float(high)), sign=True)


def hallucination(folder: Path, sample: str, split: str) -> None:
    """RQ3: attempt rate, hallucination of all questions, and of those attempted, without and with retrieval."""
    print("The paper's counts, with retrieval minus alone. Which questions changed is not published, so that the")
    print("intervals (Newcombe) treat the two runs as if they were on different questions: wider than paired ones.\n")
    measures: list[tuple[str, Callable[[Published], tuple[int, int]]]] = [
        ("attempted", lambda one: (one.correct + one.incorrect, N_PUBLISHED)),
        ("hallucination", lambda one: (one.incorrect, N_PUBLISHED)),
        ("wrong of those attempted", lambda one: (one.incorrect, one.correct + one.incorrect)),
    ]
    rows = [(before.name, *(_published_change(before, after, m) for _, m in measures)) for before, after in PUBLISHED]
    print(table(("model", *(f"{name}, change" for name, _ in measures)), rows))
    print("Ours:\n")
    _our_hallucination(pairs_of(folder, sample, split=split))


def textbooks(folder: Path, sample: str, split: str) -> None:
    """The same of published predictions on another dataset, and the change in accuracy."""
    found = pairs_of(folder, sample, split=split)
    _our_hallucination(found)
    rows = []
    for pair, vanilla, rag in found:
        right = [np.array([letter == "c" for letter in run.outcomes], dtype=np.int64) for run in (vanilla, rag)]
        rows.append((pair.name, difference(right[1], right[0]), difference(rag.outcomes, vanilla.outcomes)))
    print(table(("with retrieval minus alone", "accuracy, points", "score, points"), rows))
    _by_evidence(found)
    controls(folder, sample, split)


def _our_hallucination(found: Sequence[tuple[Pair, Run, Run]]) -> None:
    rows = []
    for pair, vanilla, rag in found:
        for how, run in (("alone", vanilla), ("with retrieval", rag)):
            tried, wrong = int(run.attempted.sum()), int(run.wrong.sum())
            n = len(run.verdicts)
            rows.append((f"{pair.name}, {how}", share(tried, n), share(wrong, n), share(wrong, tried)))
        rows.append(
            (
                f"{pair.name}, change",
                difference(rag.attempted, vanilla.attempted),
                difference(rag.wrong, vanilla.wrong),
                _both_attempted(vanilla, rag),
            )
        )
    print(table(("", "attempted %", "hallucination %", "wrong of those attempted %"), rows))
    print("The last column's change is over the questions that both attempted.\n")


def _both_attempted(vanilla: Run, rag: Run) -> str:
    both = (vanilla.attempted & rag.attempted).astype(bool)
    if not both.any():
        return "-"
    return f"{difference(rag.wrong[both], vanilla.wrong[both])} ({int(both.sum())} questions)"


def stated(run: Run) -> list[tuple[float, bool]]:
    """Confidence and correctness of the attempted questions that state a confidence."""
    found = []
    for verdict in run.verdicts:
        confidence = run.predictions[verdict.question_id].confidence if verdict.question_id in run.predictions else None
        if verdict.outcome in ("correct", "incorrect") and confidence is not None:
            found.append((confidence, verdict.outcome == "correct"))
    return found


def at_rate(run: Run, rate: float) -> np.ndarray:
    """1 where the answer is wrong and among the `rate` of all questions that the run is surest of (ties by id)."""
    sure = [
        (-(run.predictions[v.question_id].confidence or 0.0), place)
        for place, v in enumerate(run.verdicts)
        if v.outcome in ("correct", "incorrect") and v.question_id in run.predictions
    ]
    kept = [place for _, place in sorted(sure)[: round(rate * len(run.verdicts))]]
    wrong = np.zeros(len(run.verdicts), dtype=np.int64)
    wrong[kept] = run.wrong[kept]
    return wrong


def coverage(folder: Path, sample: str, split: str) -> None:
    """RQ3 at matched attempt rates: both runs answer the same share of questions, those each is surest of."""
    found = [
        (pair, one, two)
        for pair, one, two in pairs_of(folder, sample, (CONFIDENT, *PAIRS), split)
        if stated(one) and stated(two)
    ]
    _matched(found)
    _draw(found)
    print(f"![Risk and coverage]({PICTURE.name})")


def _matched(found: Sequence[tuple[Pair, Run, Run]]) -> None:
    rates_kept = (0.1, 0.25, 0.5, 0.75, 1.0)
    print("Hallucination (wrong answers, % of all questions) where each run answers only the questions that it is")
    print("surest of, the same number in both. Change: with retrieval minus alone, paired, exact sign-flip p.\n")
    rows = []
    for pair, vanilla, rag in found:
        for rate in rates_kept:
            one, two = at_rate(vanilla, rate), at_rate(rag, rate)
            rows.append(
                (pair.name, f"{100 * rate:.0f}", percent(one.mean()), percent(two.mean()), difference(two, one))
            )
    print(table(("model", "answered %", "alone", "with retrieval", "change"), rows))
    rows = []
    for pair, vanilla, rag in found:
        areas = [area_of(steps_of(stated(run))) for run in (vanilla, rag)]
        rows.append((pair.name, *(f"{100 * area:.1f}" for area in areas)))
    print("Area under the risk-coverage curve (mean share of wrong answers over all coverages, %; lower is better):\n")
    print(table(("model", "alone", "with retrieval"), rows))


def _draw(found: list[tuple[Pair, Run, Run]]) -> None:
    from plots import COLOURS, panels, save

    titles = [pair.name.replace(", ", "\n", 1) for pair, *_ in found]
    every = panels(titles, "questions answered, % of all", "wrong answers, % of those answered")
    for axes, (_, vanilla, rag) in zip(every, found, strict=True):
        for run, style, colour, how in ((vanilla, "--", COLOURS[1], "alone"), (rag, "-", COLOURS[0], "with retrieval")):
            # A share of fewer than ten answers says nothing.
            steps = [step for step in steps_of(stated(run)) if step.n_kept >= 10]
            x = [100 * step.n_kept / len(run.verdicts) for step in steps]
            axes.plot(x, [100 * step.risk for step in steps], style, color=colour, label=how, linewidth=1.6)
        axes.axhline(50, color="#333333", linewidth=0.8)
        axes.annotate("score 0", (101, 50), xytext=(0, -10), textcoords="offset points", ha="right", fontsize=8)
        axes.set_ylim(0, 100)
        axes.set_xlim(0, 102)
    save(every[0], PICTURE)


PROBES = {
    "no_context": "no context: the system gets no pages",
    "evidence_only": "evidence only: the pages are cut down to the sentences that support the right answer",
    "other_pages": "another question's pages: nothing in them answers this one",
    "half_noise": "half noise: as many pages of other questions as of its own",
}


def controls(folder: Path, sample: str, split: str) -> None:
    """The controls (probes of the harness) of each system with retrieval, where they were run."""
    rows, lacking = [], []
    for pair, _, rag in pairs_of(folder, sample, split=split):
        answered = probe_answers(rag.path, rag.exam)
        if not answered:
            lacking.append(pair.name)
        for name in PROBES:
            key = next((key for key in answered if key.replace("-", "_") == name), None)
            if key is None:
                continue
            one = answered[key]
            with_it = _letters(one, one.predictions)
            without = _letters(one, one.main)
            rated = rates(with_it)
            rows.append(
                (
                    pair.name,
                    name.replace("_", " "),
                    len(with_it),
                    rated["accuracy"],
                    rated["hallucination"],
                    rated["missing"],
                    difference(with_it, without),
                )
            )
    for meaning in PROBES.values():
        print(f"- {meaning}.")
    print()
    if rows:
        head = (
            "model",
            "control",
            "questions",
            "accuracy %",
            "hallucination %",
            "missing %",
            "score minus the run's own",
        )
        print(table(head, rows))
    if lacking:
        print(f"**Not measured yet**: {'; '.join(lacking)}. `edu-rag probe` makes the runs (docs/teams.md); then")
        print("`python bench/page.py papers/edu_rag:controls --run FOLDER` fills this part.")


def _letters(one: ProbeAnswers, predictions: Mapping[str, Prediction]) -> str:
    verdicts = (judge(q, one.gold[q.question_id], predictions.get(q.question_id)) for q in one.questions)
    return "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in verdicts)


PUBLISHED_MODELS = (
    ("Llama 2 7B", 24.56, 18.75, 56.69),
    ("Llama 3 8B", 70.06, 29.94, 0.0),
    ("GPT-4o", 89.41, 9.55, 1.04),
)
"""Table 3: accuracy, hallucination and missing in percent."""
N_MODELS = 2_512


def models(folder: Path, _sample: str, split: str) -> None:
    """Table 3: the models alone, on the whole split."""
    exam = exam_of(folder, None, split)
    head = ("alone", "accuracy %", "hallucination %", "missing %", "score %")
    published = [(name, *map(str, values), f"{values[0] - values[1]:+.2f}") for name, *values in PUBLISHED_MODELS]
    print(f"The paper, {N_MODELS:,} questions:\n\n{table(head, published)}\nOurs, {len(exam.questions):,} questions:\n")
    runs = [(pair.name, run_of(folder, exam, pair.vanilla)) for pair in PAIRS]
    found = [(name, rates(run.outcomes)) for name, run in runs if run is not None]
    print(
        table(
            head,
            [(name, *(rate[one] for one in ("accuracy", "hallucination", "missing", "score"))) for name, rate in found],
        )
    )


QWEN = PAIRS[0]
SHARES = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)
"""Of the questions that a threshold leaves answered."""


def best_cosines(folder: Path, run: Run) -> np.ndarray:
    """The highest cosine between each question and a sentence that it was answered from; -1 where none was."""
    from baselines.embed import Encoder

    encoder, pages = Encoder.default(), Dataset(folder / "dataset").pages(run.exam.split)
    found = []
    for question in run.exam.questions:
        cited = run.predictions[question.question_id].passages
        texts = [pages[one.page_id].text[one.start : one.end] for one in cited]
        asked = encoder.encode([question.text])[0]
        found.append(float((encoder.encode(texts) @ asked).max()) if texts else -1.0)
    return np.array(found)


def thresholds(folder: Path, sample: str, split: str) -> None:
    """RQ3: answers only where the closest sentence's cosine is above a threshold; below it silence, or no pages."""
    ((_, vanilla, rag),) = pairs_of(folder, sample, (QWEN,), split)
    values = best_cosines(folder, rag)
    print(
        "Answered only where the closest sentence has at least this cosine with the question; else silent, or answered"
    )
    print(f"by the model without pages. {QWEN.name}, {len(values)} questions.\n")
    rows = [_at_threshold(vanilla, rag, values, kept) for kept in SHARES]
    shown = ("wrong of those answered %", "score %", "score, silent minus no threshold")
    last = "score, without pages below it minus no threshold"
    print(table(("answered %", "cosine from", "accuracy %", "hallucination %", *shown, last), rows))
    right, wrong = (values[[x == letter for x in rag.outcomes]] for letter in "ci")
    test = mannwhitneyu(right, wrong)
    area, p = test.statistic / (len(right) * len(wrong)), p_text(float(test.pvalue))
    print(f"A right answer's cosine is above a wrong one's with probability {area:.3f} (p {p}).\n")


def _at_threshold(vanilla: Run, rag: Run, values: np.ndarray, share_kept: float) -> tuple[str, ...]:
    least = float(np.sort(values)[::-1][max(0, round(share_kept * len(values)) - 1)])
    above = values >= least
    silent = "".join(x if one else "a" for x, one in zip(rag.outcomes, above, strict=True))
    mixed = "".join(x if one else y for x, y, one in zip(rag.outcomes, vanilla.outcomes, above, strict=True))
    rated, wrong, tried = rates(silent), silent.count("i"), silent.count("i") + silent.count("c")
    changes = [difference(one, rag.outcomes) if share_kept < 1 else "-" for one in (silent, mixed)]
    shown = (rated["accuracy"], rated["hallucination"], share(wrong, tried), rated["score"])
    return percent(above.mean()), f"{least:.3f}", *shown, *changes


DOCUMENTS = "edu-rag-whole-qwen1b"


def documents(folder: Path, sample: str, split: str) -> None:
    """Section 4.3: whole documents in the prompt, against the ten closest sentences, and against no pages."""
    exam = exam_of(folder, sample, split)
    named = {
        "whole documents, cut at 7,500 characters": DOCUMENTS,
        "ten closest sentences": QWEN.rag,
        "no pages": QWEN.vanilla,
    }
    rows, outcomes = [], {}
    for name, slug in named.items():
        said = restricted(folder, exam, slug)
        outcomes[name] = said.outcomes
        read = [one.input_tokens or 0 for one in said.predictions.values()]
        rated = rates(said.outcomes)
        rows.append((name, *(rated[x] for x in ("accuracy", "hallucination", "score")), f"{np.mean(read):,.0f}"))
    first, *others = named
    print(f"{QWEN.name}, {len(exam.questions)} questions.\n")
    print(table(("in the prompt", "accuracy %", "hallucination %", "score %", "tokens read a question"), rows))
    print(
        table(("whole documents minus", "score"), [(one, difference(outcomes[first], outcomes[one])) for one in others])
    )


PARTS: Mapping[str, Callable[[Path, str, str], None]] = {
    "models": models,
    "tables": tables,
    "hallucination": hallucination,
    "textbooks": textbooks,
    "coverage": coverage,
    "controls": controls,
    "documents": documents,
    "thresholds": thresholds,
    "thresholds-tqa": thresholds,
}


def main() -> None:
    """Print one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=(*PARTS, "fine-tuning"))
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--sample", default=SAMPLE)
    parser.add_argument("--split", default=SPLIT)
    given = parser.parse_args()
    if given.part == "fine-tuning":
        from edu_rag_fine_tuning_report import fine_tuning

        fine_tuning(given.run)
    else:
        PARTS[given.part](given.run, given.sample, given.split)


if __name__ == "__main__":
    main()
