"""Huo et al.'s self-check on real runs: what it says, how good a detector it is, what it is worth as a guard.

    python bench/papers/huo.py relations|detector|guard --run FOLDER [--sample NAME]
    python bench/papers/huo.py textbooks|numbers|queries|replaced|summary --run FOLDER --split test --sample NAME
    python bench/papers/huo.py stacks --run FOLDER --checks FILE
    python bench/papers/huo.py check --run FOLDER --to FILE [--n 100]

FOLDER is what bench/papers/scored_runs.py describes. The guarded runs' responses tell the unguarded answer, the
relation and its probabilities, so that guarded and unguarded figures come from one run. `check` asks the model again,
with each of the paper's three retrievers, on the answers of the model alone (four prompts a question), and writes JSON
lines that `stacks` reads. `textbooks`, `numbers` and `queries` also read the run of the model that generates its
letter: they compare the guard with silence by confidence, compare it on questions with and without numbers, and look
for evidence in the best passage for the question, for question + answer, and for both. `replaced` and `summary` read
runs of bench/papers/paper_runs.py.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import huo_numbers
import numpy as np
from scored_runs import (
    SAMPLE,
    SPLIT,
    Run,
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

from baselines.chunk.sentences import windows
from baselines.parts import Relation
from baselines.pipeline import Numbers, Pipeline
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.fuse import rrf
from baselines.verify.guard import Checked, checked_of
from baselines.verify.self_check import K1, RELATIONS, B, CheckQuery, best_passages, queries_of, said_in_words
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.serve import SystemPage, SystemQuestion
from edu_rag.statistics import holm, paired
from harness.exam import Exam

SYSTEMS = {
    "the model alone": "huo-self-check-vanilla",
    "the EDU-RAG paper's system": "huo-self-check-rag",
}
ALONE = "edu-rag-vanilla-qwen1b"
"""The same model without a check, on the board."""
NAMES: Mapping[Relation, str] = {"yes": "Yes", "no": "No", "not_related": "Not Related"}
PAPER = {"BM25": (5691, 521, 768), "Neural": (5934, 497, 549), "Neural + Reader": (5847, 628, 505)}
"""Table 1: Yes, No and Not Related of 6,980 questions."""
PAPER_CORRECT = {"yes": 80, "no": 71, "not_related": 74}
"""Table 2: labels that a person found right, of 100 each."""
PAPER_AGREES = (("bm25", "neural", 5263 + 192 + 285), ("neural", "neural-reader", 5414 + 253 + 234))
"""The diagonals of Tables 3 and 4, of 6,980 (the text gives 83.2 % for the second, which is 84.5 %)."""
STACKS = ("bm25", "neural", "neural-reader")
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "papers" / "huo-trade-off.svg"


class Guarded(NamedTuple):
    """A guarded run: per question the unguarded outcome, the check (None: nothing to check), and the confidence."""

    name: str
    slug: str
    outcomes: str
    checks: Sequence[Checked | None]
    confidences: np.ndarray

    def kept_where(self, keep: Sequence[bool] | np.ndarray) -> str:
        """The outcomes where the answers that are not kept become "I don't know"."""
        return "".join(letter if kept else "a" for letter, kept in zip(self.outcomes, keep, strict=True))

    def without(self, relations: Sequence[Relation]) -> str:
        """The outcomes of the guard that abstains on these relations."""
        return self.kept_where([one is None or one.relation not in relations for one in self.checks])

    @property
    def yes(self) -> np.ndarray:
        """The probability of Yes, float64 of shape (n,); 0 where nothing was compared."""
        return np.array([(one.probabilities or {}).get("yes", 0.0) if one else 0.0 for one in self.checks])


def guarded_of(folder: Path, exam: Exam, name: str, slug: str) -> Guarded | None:
    """A guarded run as it was before its guard."""
    run = run_of(folder, exam, slug)
    if run is None:
        return None
    said = [run.predictions.get(question.question_id) for question in exam.questions]
    checks = [checked_of(one.response) if one is not None else None for one in said]
    confidences = np.array([(one.confidence or 0.0) if one is not None else 0.0 for one in said])
    return Guarded(name, slug, unguarded(run).outcomes, checks, confidences)


def all_guarded(folder: Path, sample: str, split: str) -> list[Guarded]:
    """The guarded runs that are there. Ends the script where there is none."""
    exam = exam_of(folder, sample, split)
    found = [one for name, slug in SYSTEMS.items() if (one := guarded_of(folder, exam, name, slug)) is not None]
    if not found:
        raise SystemExit(f"no run of {' or '.join(SYSTEMS.values())} in {folder}")
    return found


def _counts(checks: Sequence[Checked | None]) -> list[int]:
    found = Counter(one.relation for one in checks if one is not None)
    return [found[relation] for relation in RELATIONS]


def relations(given: argparse.Namespace) -> None:
    """Table 1 in shape."""
    rows = [(f"the paper, {name} (6,980)", *(share(n, sum(ns)) for n in ns)) for name, ns in PAPER.items()]
    for one in all_guarded(given.run, given.sample, given.split):
        counts = _counts(one.checks)
        rows.append((f"ours, {one.name}, BM25 ({sum(counts)})", *(share(n, sum(counts)) for n in counts)))
    print(table(("answers of (n)", *(f"{name} %" for name in NAMES.values())), rows))


def _area(scores: np.ndarray, right: np.ndarray) -> str:
    """Probability that a right answer has the higher score than a wrong one (ties half)."""
    from scipy.stats import mannwhitneyu

    if right.all() or not right.any():
        return "-"
    test = mannwhitneyu(scores[right], scores[~right])
    return f"{test.statistic / (right.sum() * (~right).sum()):.3f} (p {p_text(float(test.pvalue))})"


def detector(given: argparse.Namespace) -> None:
    """Table 2 in shape, by the key instead of a person: is "Yes" right, is "No" wrong?"""
    from scipy.stats import fisher_exact

    print(
        "The paper, by a person's reading of 100 each: "
        + "; ".join(
            f"{NAMES[name]} {share(n, 100)}"
            for name, n in PAPER_CORRECT.items()  # type: ignore[index]
        )
        + ".\n"
    )
    rows, summary = [], []
    for one in all_guarded(given.run, given.sample, given.split):
        wrong = np.array([letter == "i" for letter in one.outcomes])
        tried = np.array([letter in "ci" for letter in one.outcomes])
        for relation in RELATIONS:
            here = np.array([c is not None and c.relation == relation for c in one.checks]) & tried
            inside, outside = int((wrong & here).sum()), int((wrong & tried & ~here).sum())
            grid = [[inside, int(here.sum()) - inside], [outside, int((tried & ~here).sum()) - outside]]
            rows.append(
                (
                    one.name,
                    NAMES[relation],
                    share(inside, int(here.sum())),
                    share(inside, int((wrong & tried).sum())),
                    p_text(float(fisher_exact(grid)[1])),
                )
            )
        rows.append((one.name, "any", share(int((wrong & tried).sum()), int(tried.sum())), "-", "-"))
        right = ~wrong[tried]
        summary.append((one.name, _area(one.yes[tried], right), _area(one.confidences[tried], right)))
    shown = ("wrong of these % (precision as a detector)", "of the wrong ones found % (recall)")
    head = ("answers of", "relation", *shown, "p: as often wrong as the rest (Fisher)")
    print(table(head, rows))
    print("How well a number tells right answers from wrong ones (area under the ROC curve; 0.5 is chance):\n")
    print(table(("answers of", "probability of Yes", "the answer's own confidence"), summary))


def _top(scores: np.ndarray, n: int) -> np.ndarray:
    kept = np.zeros(len(scores), dtype=bool)
    kept[np.argsort(-scores, kind="stable")[:n]] = True
    return kept


GUARDS: tuple[tuple[str, tuple[Relation, ...]], ...] = (
    ("No", ("no",)),
    ("Not Related", ("not_related",)),
    ("No and Not Related (the paper's)", ("no", "not_related")),
)


def guard(given: argparse.Namespace) -> None:
    """Guarded against unguarded, and the plot of it."""
    found = all_guarded(given.run, given.sample, given.split)
    _guards(found)
    _draw(found)
    print(f"![Coverage against wrong answers]({PICTURE.name})")


def _published(given: argparse.Namespace) -> tuple[Exam, Run, Run]:
    """The exam, the guarded run, and the run of the model alone. Ends the script where one is missing."""
    exam = exam_of(given.run, given.sample, given.split)
    guarded, alone = (run_of(given.run, exam, slug) for slug in (SYSTEMS["the model alone"], ALONE))
    if guarded is None or alone is None:
        raise SystemExit(f"no run of {SYSTEMS['the model alone']} and {ALONE} in {given.run}")
    return exam, guarded, alone


def numbers(given: argparse.Namespace) -> None:
    """Section 3.1: the guard where answers are numbers."""
    _, guarded, alone = _published(given)
    print(huo_numbers.report(guarded, alone))


def textbooks(given: argparse.Namespace) -> None:
    """The guard against the run of the model alone, which generates its letter."""
    exam, guarded, alone = _published(given)
    ids = [question.question_id for question in exam.questions]
    kept = [one for one in ids if guarded.predictions[one].answer is not None]
    same = sum(guarded.predictions[one].answer == alone.predictions[one].answer for one in kept)
    confidences = np.array([guarded.predictions[one].confidence or 0.0 for one in ids])
    top = _top(confidences, len(kept))
    own = "".join(letter if chosen else "a" for letter, chosen in zip(alone.outcomes, top, strict=True))
    print(f"The guarded system gives the answer of {ALONE} on {share(same, len(kept))} of those that it answers.\n")
    rows = [
        ("no guard", *_line(alone.outcomes), ""),
        ("abstains on No and Not Related (the paper's)", *_line(guarded.outcomes), ""),
        (f"as often, by own confidence: {len(kept)}", *_line(own), difference(own, guarded.outcomes)),
    ]
    head = ("guard", "answered %", "accuracy %", "hallucination %", "score %", "score minus the paper's guard")
    print(table(head, rows))


def _guards(found: Sequence[Guarded]) -> None:
    """Guarded against unguarded, against abstaining at the same rate by the answer's own confidence, and by chance."""
    rows, tests, direct = [], [], []
    for one in found:
        rows.append((one.name, "no guard", *_line(one.outcomes), ""))
        for name, bad in GUARDS:
            kept = one.without(bad)
            n_kept = len(kept) - kept.count("a")
            rows.append((one.name, f"abstains on {name}", *_line(kept), difference(kept, one.outcomes)))
            tests.append((one.name, name, paired(kept, one.outcomes).p))
            own = one.kept_where(_top(one.confidences, n_kept))
            rows.append(
                (one.name, f"… as often, by own confidence: {n_kept}", *_line(own), difference(own, one.outcomes))
            )
            direct.append((one.name, name, difference(own, kept)))
            chance = (one.outcomes.count("c") - one.outcomes.count("i")) / len(kept) * n_kept / len(kept)
            rows.append(
                (
                    one.name,
                    "… as often, by chance (expected)",
                    percent(n_kept / len(kept)),
                    "",
                    "",
                    percent(chance, sign=True),
                    "",
                )
            )
    head = ("answers of", "guard", "answered %", "accuracy %", "hallucination %", "score %", "score minus unguarded")
    print(table(head, rows))
    adjusted = holm([p for *_, p in tests])
    print(
        "Holm over the guards: "
        + "; ".join(f"{who}, {name}: p {p_text(p)}" for (who, name, _), p in zip(tests, adjusted, strict=True))
        + ".\n"
    )
    print(table(("answers of", "instead of the guard on", "silence by own confidence minus the guard, score"), direct))


def _line(outcomes: str) -> tuple[str, ...]:
    rated = rates(outcomes)
    tried = outcomes.count("c") + outcomes.count("i")
    return percent(tried / len(outcomes)), rated["accuracy"], rated["hallucination"], rated["score"]


def _curve(one: Guarded, scores: np.ndarray) -> tuple[list[float], list[float]]:
    """Share answered, and share wrong of those answered, in percent, as the threshold falls; ties go together.

    The curve starts with ten answers: a share of fewer says nothing.
    """
    found = [_point(one.kept_where(scores >= threshold)) for threshold in np.unique(scores)[::-1]]
    shown = [point for point in found if point[0] * len(scores) >= 1_000]
    return [x for x, _ in shown], [y for _, y in shown]


def _point(outcomes: str) -> tuple[float, float]:
    """Share answered, and share wrong of those answered, in percent."""
    tried = outcomes.count("c") + outcomes.count("i")
    return 100 * tried / len(outcomes), 100 * outcomes.count("i") / max(1, tried)


def _draw(found: Sequence[Guarded]) -> None:
    from plots import COLOURS, panels, save

    titles = [f"answers of {one.name}" for one in found]
    every = panels(titles, "questions answered, % of all", "wrong answers, % of those answered")
    for axes, one in zip(every, found, strict=True):
        axes.plot(*_curve(one, one.yes), color=COLOURS[0], linewidth=1.7, label="threshold on the probability of Yes")
        axes.plot(*_curve(one, one.confidences), "--", color=COLOURS[1], linewidth=1.5, label="on the own confidence")
        axes.axhline(_point(one.outcomes)[1], color="#777777", linestyle=":", linewidth=1.2, label="by chance")
        for (name, bad), mark in zip(GUARDS, "osD", strict=True):
            at = _point(one.without(bad))
            axes.scatter(*at, marker=mark, color=COLOURS[2], s=34, zorder=3, label=f"guard: {name.partition(' (')[0]}")
        axes.axhline(50, color="#333333", linewidth=0.8)
        axes.annotate("score 0", (101, 50), xytext=(0, -10), textcoords="offset points", ha="right", fontsize=8)
        axes.set_xlim(0, 102)
        axes.set_ylim(0, 100)
    save(every[0], PICTURE)


def _asked(folder: Path, exam: Exam, ids: Sequence[str]) -> dict[str, SystemQuestion]:
    dataset = Dataset(folder / "dataset")
    hits, pages = dataset.hits(exam.split), dataset.pages(exam.split)
    chosen = {question.question_id: question for question in exam.questions}
    return {
        one: SystemQuestion(
            id=one,
            text=chosen[one].text,
            choices=chosen[one].choices,
            kind=chosen[one].kind,
            pages=tuple(
                SystemPage(page_id=p.page_id, url=p.url, title=p.title, text=p.text, sentences=p.sentences)
                for p in kept_pages(hits.get(one, []), pages)
            ),
        )
        for one in ids
    }


Spans = Mapping[str, Sequence[tuple[int, int]]]
"""Evidence by page."""
QUERIES: Mapping[CheckQuery, str] = {
    "question": "question alone",
    "question-and-answer": "question + answer (the paper's)",
    "both": "both, fused",
}


def _holds_evidence(find: Pipeline, asked: SystemQuestion, answer: str, spans: Spans) -> list[bool]:
    """Whether the best passage of each query shares a character with an evidence span."""
    found = []
    for query in QUERIES:
        queries = queries_of(asked.text, said_in_words(asked, answer), query)
        best = best_passages(find, asked, queries, 1)
        found.append(
            any(one.start < end and start < one.end for one in best for start, end in spans.get(one.page_id, ()))
        )
    return found


def queries(given: argparse.Namespace) -> None:
    """The paper's future work (section 5): the combined query against the question alone, by BM25, without a model."""
    exam = exam_of(given.run, given.sample, given.split)
    alone = run_of(given.run, exam, ALONE)
    if alone is None:
        raise SystemExit(f"no run of {ALONE} in {given.run}")
    spans = exam.support.evidence
    find = Pipeline(
        chunk=windows(tokens=128, overlap=0), retrieve=[bm25(k1=K1, b=B)], fuse=rrf(), numbers=[Numbers(top_k=1)]
    )
    chosen = [
        (question.question_id, said.answer, letter == "c")
        for question, letter in zip(exam.questions, alone.outcomes, strict=True)
        if (said := alone.predictions.get(question.question_id)) is not None
        and said.answer is not None
        and question.question_id in spans
    ]
    asked = _asked(given.run, exam, [question_id for question_id, *_ in chosen])
    held = np.array([_holds_evidence(find, asked[name], answer, spans[name]) for name, answer, _ in chosen])
    right = np.array([is_right for *_, is_right in chosen])
    rows, tests = [], []
    for name, kept in (("all", right | ~right), ("right", right), ("wrong", ~right)):
        counts = held[kept].sum(axis=0)
        rows.append((f"{name} ({kept.sum()})", *(share(int(n), int(kept.sum())) for n in counts)))
        plain = held[kept, 0].astype(np.int64)
        tests.append((name, *(difference(held[kept, i].astype(np.int64), plain) for i in (1, 2))))
    print("The best window of 128 tokens by BM25 holds evidence, % of the questions with evidence:\n")
    print(table(("the model's answer (n)", *QUERIES.values()), rows))
    print(table(("the model's answer", "question + answer minus question", "both minus question"), tests))


def check(given: argparse.Namespace) -> None:
    """Ask the model about the same answers with each of the three retrievers; one JSON line a question and stack."""
    from baselines.llama_cpp import LlamaCppModel
    from baselines.verify.self_check import self_check

    exam = exam_of(given.run, given.sample, given.split)
    one = guarded_of(given.run, exam, "", SYSTEMS["the model alone"])
    if one is None:
        raise SystemExit(f"no run of {SYSTEMS['the model alone']}")
    answers = {q.question_id: c.answer for q, c in zip(exam.questions, one.checks, strict=True) if c is not None}
    ids = sorted(answers)[:: max(1, len(answers) // given.n)][: given.n]
    model = LlamaCppModel(given.model)
    asked = _asked(given.run, exam, ids)
    with given.to.open("w", encoding="utf-8") as out:
        for stack in STACKS:
            verify = self_check(model, stack=stack, rerank=given.rerank)
            for question_id in ids:
                found = verify(asked[question_id], answers[question_id])
                line = {
                    "question_id": question_id,
                    "stack": stack,
                    "relation": found.relation,
                    "span": found.passage.span if found.passage else None,
                }
                out.write(json.dumps(line) + "\n")
                out.flush()


def stacks(given: argparse.Namespace) -> None:
    """Tables 1, 3 and 4 in shape: the three retrievers on the same answers, and how often their labels agree."""
    lines = [json.loads(line) for line in given.checks.read_text(encoding="utf-8").splitlines()]
    by_stack = {stack: {x["question_id"]: x for x in lines if x["stack"] == stack} for stack in STACKS}
    shared = sorted(set.intersection(*(set(found) for found in by_stack.values())))
    rows = []
    for stack in STACKS:
        counts = Counter(by_stack[stack][one]["relation"] for one in shared)
        rows.append((stack, *(share(counts[relation], len(shared)) for relation in RELATIONS)))
    print(table((f"retriever (n = {len(shared)})", *(f"{name} %" for name in NAMES.values())), rows))
    rows = []
    for first, second, same_in_paper in PAPER_AGREES:
        pairs = [(by_stack[first][one], by_stack[second][one]) for one in shared]
        same = sum(a["relation"] == b["relation"] for a, b in pairs)
        passage = sum(a["span"] == b["span"] for a, b in pairs)
        kappa = _kappa([(a["relation"], b["relation"]) for a, b in pairs])
        rows.append(
            (
                f"{first} and {second}",
                percent(same_in_paper / 6980),
                share(same, len(pairs)),
                kappa,
                share(passage, len(pairs)),
            )
        )
    print(
        table(("retrievers", "the paper: same label %", "ours: same label %", "Cohen's kappa", "same passage %"), rows)
    )


def _kappa(pairs: Sequence[tuple[str, str]]) -> str:
    from statsmodels.stats.inter_rater import cohens_kappa

    grid = np.zeros((3, 3))
    for a, b in pairs:
        grid[RELATIONS.index(a), RELATIONS.index(b)] += 1  # type: ignore[arg-type]
    if (grid.sum(axis=0) * grid.sum(axis=1) > 0).sum() < 2:
        return "-"
    found = cohens_kappa(grid)
    return f"{found.kappa:.2f} [{found.kappa_low:.2f}, {found.kappa_upp:.2f}]"


REPLACED, SUMMARY = "huo-replace-qwen1b", "huo-summary-qwen1b"
PAPER_REPLACED: Mapping[Relation, tuple[int, int, int]] = {"yes": (6, 8, 6), "no": (2, 9, 9), "not_related": (5, 8, 7)}
"""Table 5: the model's answer is better, the reader's is better, equally good; 20 of each, by a person."""


def replaced(given: argparse.Namespace) -> None:
    """Table 5 in shape, by the key: the model's answer, and its answer when it reads the reader's extract."""
    exam = exam_of(given.run, given.sample, given.split)
    run = restricted(given.run, exam, REPLACED)
    before, after = unguarded(run).outcomes, run.outcomes
    checks = [checked_of(run.predictions[question.question_id].response) for question in exam.questions]
    rows: list[tuple[object, ...]] = []
    for relation, counts in PAPER_REPLACED.items():
        rows.append((f"the paper, {NAMES[relation]} (20)", *(share(n, 20) for n in counts), "", "", ""))
    groups = {NAMES[one]: [c is not None and c.relation == one for c in checks] for one in RELATIONS}
    for name, kept in {**groups, "all": [True] * len(checks)}.items():
        old, new = (np.array([x == "c" for x in text], dtype=np.int64)[np.array(kept)] for text in (before, after))
        n = len(old)
        if n == 0:
            continue
        only = (int((old > new).sum()), int((new > old).sum()))
        both = (share(int(old.sum()), n), share(int(new.sum()), n))
        rows.append(
            (f"ours, {name} ({n})", *(share(x, n) for x in (*only, n - sum(only))), *both, difference(new, old))
        )
    head = ("relation (n)", "the model's is better %", "the reader's is better %", "equally good %")
    print(table((*head, "model right %", "reader right %", "accuracy, reader's minus model's"), rows))


def summary(given: argparse.Namespace) -> None:
    """Section 5: the summary of three passages as the evidence, against one passage, and against one extract."""
    exam = exam_of(given.run, given.sample, given.split)
    named = {
        "best passage": SYSTEMS["the model alone"],
        "reader's extract of it": REPLACED,
        "summary of three": SUMMARY,
    }
    rows, kept_by = [], {}
    for name, slug in named.items():
        run = restricted(given.run, exam, slug)
        own = unguarded(run).outcomes
        checks = [checked_of(run.predictions[question.question_id].response) for question in exam.questions]
        said = np.array([(one.probabilities or {}).get("yes", 0.0) if one else 0.0 for one in checks])
        silent = "".join(x if one and one.relation == "yes" else "a" for x, one in zip(own, checks, strict=True))
        kept_by[name] = silent
        counts, tried = _counts(checks), np.array([x in "ci" for x in own])
        area = _area(said[tried], np.array([x == "c" for x in own])[tried])
        rated = rates(silent)
        shares = (share(n, sum(counts)) for n in counts)
        rows.append((name, *shares, area, rated["hallucination"], rated["score"], difference(silent, own)))
    head = ("compared with", *(f"{name} %" for name in NAMES.values()), "area of the probability of Yes")
    print(table((*head, "guarded: hallucination %", "guarded: score %", "guarded minus unguarded"), rows))
    first, *others = named
    print(
        table(
            (f"guarded score minus that with the {first}",),
            [(difference(kept_by[x], kept_by[first]) + f" ({x})",) for x in others],
        )
    )


PARTS = {
    "replaced": replaced,
    "summary": summary,
    "relations": relations,
    "detector": detector,
    "guard": guard,
    "textbooks": textbooks,
    "numbers": numbers,
    "queries": queries,
    "stacks": stacks,
    "check": check,
}


def main() -> None:
    """Print one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--sample", default=SAMPLE)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--checks", type=Path)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--rerank", default="bi-encoder")
    given = parser.parse_args()
    PARTS[given.part](given)


if __name__ == "__main__":
    main()
