"""Evidence methods against hand labels: precision, recall and F1 with intervals, and the share of questions covered.

Usage (from a checkout):

    .venv/bin/python bench/evidence.py --data ../shared/data [--dataset runs/tqa-val/dataset] [--json FILE]

The peer is what most retrieval benchmarks do: a page supports the gold when the answer's string occurs anywhere in it.
Thresholds were chosen on the pairs of half `tune`; the figures are those of half `test` (`--half tune` for the other).
Intervals: 95 %, percentile bootstrap over questions, seeded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]

from evidence_pairs import SECOND, Counts, Pair, count, page_rates, rates, read_pairs, read_tqa, with_pages  # noqa: E402

from builder.evidence import METHODS  # noqa: E402
from builder.evidence.spans import gold_texts  # noqa: E402
from builder.evidence.telling_words import words_of  # noqa: E402
from edu_rag.errors import ConfigError, MissingExtraError  # noqa: E402
from edu_rag.gold import Gold  # noqa: E402
from edu_rag.records import Question, Span, WebPage  # noqa: E402

PEER = "answer string anywhere (peer)"
UNION = "answer-string-v2 + embedding-v1"
CHOICE_KINDS = ("multiple_choice", "matching")
N_RESAMPLES = 2_000
SEED = 0
Find = Callable[[Question, Gold, Sequence[WebPage]], Sequence[tuple[str, Span]]]


def answer_anywhere(question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[tuple[str, Span]]:
    """The sentences that hold the gold's words in order, for any question."""
    needles = [f" {' '.join(words_of(text))} " for text in gold_texts(question, gold)]
    return [
        (page.page_id, span)
        for page in pages
        for span in page.sentences
        for line in [f" {' '.join(words_of(page.text[span.start : span.end]))} "]
        if any(needle.strip() and needle in line for needle in needles)
    ]


def finder(name: str) -> Find:
    """A method of ours as a function to (page id, span)."""
    method = METHODS[name]
    return lambda q, g, pages: [(e.page_id, Span(e.start, e.end)) for e in method.find(q, g, pages)]


def finders(skip: Sequence[str]) -> dict[str, Find]:
    """The peer, our methods, and the union of the lexical and the embedding method where both run."""
    found: dict[str, Find] = {PEER: answer_anywhere} | {name: finder(name) for name in METHODS if name not in skip}
    if "embedding-v1" in found:
        two = found["answer-string-v2"], found["embedding-v1"]
        found[UNION] = lambda q, g, pages: sorted({*two[0](q, g, pages), *two[1](q, g, pages)})
    return found


def _interval(by_question: Mapping[str, list[Counts]], rate: str) -> tuple[float, float]:
    import numpy as np

    sums = np.array([[sum(column) for column in zip(*counts, strict=True)] for counts in by_question.values()])
    rng = np.random.default_rng(SEED)
    drawn = [
        rates([Counts(*sums[rng.integers(0, len(sums), len(sums))].sum(axis=0))])[rate] for _ in range(N_RESAMPLES)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def measure(pairs: Sequence[Pair], per_pair: Mapping[tuple[str, str], Counts]) -> dict[str, Any]:
    """Rates and intervals of one method over some pairs."""
    by_question: dict[str, list[Counts]] = {}
    for pair in pairs:
        by_question.setdefault(pair.question_id, []).append(per_pair[pair.question_id, pair.page_id])
    counts = [one for some in by_question.values() for one in some]
    row: dict[str, Any] = {**rates(counts), **page_rates(counts)}
    for rate in ("precision", "lenient", "recall", "f1"):
        row[f"{rate}_interval"] = _interval(by_question, rate)
    row |= {"n_found": sum(c.right + c.partly + c.wrong for c in counts), "n_unjudged": sum(c.unjudged for c in counts)}
    return row | {
        "n_pairs": len(counts),
        "n_questions": len(by_question),
        "n_supports": sum(c.supports for c in counts),
    }


def kinds_of(name: str) -> tuple[str, ...]:
    """The kinds that a method is for."""
    return ("true_false",) if name.startswith("true-false") else CHOICE_KINDS


def all_rows(
    pairs: Sequence[Pair], pages: Mapping[str, WebPage], data: Path, skip: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """One row a method and kind of question."""
    questions, golds = read_tqa(data / "tqa" / "val" / "questions.jsonl")
    for name, find in finders(skip).items():
        mine = [pair for pair in pairs if pair.kind in kinds_of(name)]
        per_pair = {}
        for pair in mine:
            question, gold = questions[pair.question_id], golds[pair.question_id]
            if gold.answer != pair.gold:
                raise ValueError(f"{pair.question_id}: the gold is not the labelled one")
            found = [span for _, span in find(question, gold, [pages[pair.page_id]])]
            per_pair[pair.question_id, pair.page_id] = count(pair, found)
        kinds = sorted({pair.kind for pair in mine})
        for kind in ["all", *kinds] if len(kinds) > 1 else kinds:
            some = [pair for pair in mine if kind in ("all", pair.kind)]
            yield {"method": name, "kind": kind, **measure(some, per_pair)}


def coverage(dataset: Path, skip: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The share of a built dataset's questions for which each lexical method finds evidence on their pages."""
    import pyarrow.parquet as pq

    def table(name: str) -> list[dict[str, Any]]:
        return [row for path in sorted((dataset / name).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]

    pages = {row["page_id"]: _record(row) for row in table("pages")}
    hits: dict[str, dict[str, None]] = {}
    for row in table("hits"):
        if row["page_id"]:
            hits.setdefault(row["question_id"], {})[row["page_id"]] = None
    golds = {row["question_id"]: Gold(question_id=row["question_id"], answer=row["answer"]) for row in table("gold")}
    rows = table("questions")
    questions = [
        Question(
            question_id=row["question_id"],
            text=row["text"],
            kind=row["kind"],
            split=row["split"],
            choices={choice["label"]: choice["text"] for choice in row["choices"]},
        )
        for row in rows
    ]
    for name, find in finders([*skip, "embedding-v1"]).items():
        mine = [question for question in questions if question.kind in kinds_of(name)]
        found = [len(find(q, golds[q.question_id], [pages[p] for p in hits.get(q.question_id, ())])) for q in mine]
        n = sum(number > 0 for number in found)
        yield {"method": name, "n_questions": len(mine), "n_covered": n, "share": n / len(mine), "n_spans": sum(found)}


def _record(row: Mapping[str, Any]) -> WebPage:
    fields = ("page_id", "url", "title", "text", "fetched_at", "html_sha256", "extractor")
    sentences = tuple(Span(item["start"], item["end"]) for item in row["sentences"])
    return WebPage(sentences=sentences, **{name: row[name] for name in fields})


def agreement(pairs: Sequence[Pair]) -> dict[str, Any]:
    """How often the second reading of the same sentences gave the same label, and Cohen's kappa."""
    first = {(p.question_id, p.page_id, j.words_sha256): j.label for p in pairs for j in p.judged}
    second = {(p.question_id, p.page_id, j.words_sha256): j.label for p in read_pairs(SECOND) for j in p.judged}
    both = [(first[key], label) for key, label in second.items()]

    def kappa(rows: Sequence[tuple[Any, Any]]) -> float:
        same = sum(a == b for a, b in rows) / len(rows)
        chance = (
            sum(
                sum(a == x for a, _ in rows) * sum(b == x for _, b in rows)
                for x in {a for a, _ in rows} | {b for _, b in rows}
            )
            / len(rows) ** 2
        )
        return (same - chance) / (1 - chance)

    binary = [(a == "supports", b == "supports") for a, b in both]
    return {
        "n_pairs": len({key[:2] for key in second}),
        "n_sentences": len(both),
        "same": sum(a == b for a, b in both) / len(both),
        "kappa": kappa(both),
        "kappa_supports": kappa(binary),
    }


def _rate(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_interval"]
    return f"{row[name]:.2f} [{low:.2f}, {high:.2f}]"


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """The tables, as lines."""
    yield "| method | kind | precision | precision, `partly` too | recall | F1 | pages: precision / recall | found |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in result["rows"]:
        cells = " | ".join(_rate(row, name) for name in ("precision", "lenient", "recall", "f1"))
        unjudged = f" (+{row['n_unjudged']} not judged)" if row["n_unjudged"] else ""
        pages = f"{row['page_precision']:.2f} / {row['page_recall']:.2f}"
        yield f"| {row['method']} | {row['kind']} | {cells} | {pages} | {row['n_found']}{unjudged} |"
    same = result["agreement"]
    yield ""
    lost = f"{result['n_lost']} judged sentences no longer told apart"
    yield f"{result['n_pairs']} pairs of half `{result['half']}`, {lost}."
    yield (
        f"Second reading of {same['n_pairs']} pairs, {same['n_sentences']} sentences: same label {same['same']:.2f}, "
        f"kappa {same['kappa']:.2f}; supports or not: kappa {same['kappa_supports']:.2f}."
    )
    if result["coverage"]:
        yield ""
        yield "| method | questions of its kinds | with evidence | spans |"
        yield "|---|---|---|---|"
    for row in result["coverage"]:
        covered = f"{row['n_covered']:,} ({row['share']:.1%})"
        yield f"| {row['method']} | {row['n_questions']:,} | {covered} | {row['n_spans']:,} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--dataset", type=Path, help="a built dataset, for the share of questions covered")
    parser.add_argument("--half", choices=("test", "tune"), default="test")
    parser.add_argument("--without", action="append", default=[], metavar="METHOD", help="leave a method out")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    labelled = read_pairs()
    pairs, pages, n_lost = with_pages([pair for pair in labelled if pair.half == given.half], given.data / "web")
    try:
        rows = list(all_rows(pairs, pages, given.data, given.without))
    except (MissingExtraError, ConfigError) as error:
        print(f"{error}; measured without it", file=sys.stderr)
        rows = list(all_rows(pairs, pages, given.data, [*given.without, "embedding-v1"]))
    result = {
        "half": given.half,
        "n_pairs": len(pairs),
        "n_lost": n_lost,
        "rows": rows,
        "agreement": agreement(labelled),
        "coverage": list(coverage(given.dataset, given.without)) if given.dataset else [],
    }
    print("\n".join(markdown(result)))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
