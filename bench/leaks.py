"""Mirror pages planted among clean ones: how many leaks are found, how many clean pages are flagged, and how fast.

The peers are an exact substring match and the 13-gram overlap of GPT-3's contamination study (Brown et al. 2020,
appendix C), in the same run.

    python bench/leaks.py --data ../shared/data [--clean 5000] [--questions 13693] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leak_pages import KINDS, WITH_KEY, Mirror, clean_pages, long_pages, mirrors, varied

from builder.labels.leaks import LeakIndex
from builder.question_sets.question_files import read_questions
from edu_rag.gold import Gold
from edu_rag.records import Question


def _substring(questions: Sequence[Question]) -> Callable[[str], set[str]]:
    def flat(text: str) -> str:
        return " ".join(text.lower().split())

    wanted = [(question.question_id, flat(question.text)) for question in questions]

    def find(text: str) -> set[str]:
        page = flat(text)
        return {question_id for question_id, stem in wanted if stem in page}

    return find


def _ngrams(words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def _thirteen_grams(questions: Sequence[Question]) -> Callable[[str], set[str]]:
    """GPT-3's rule: any shared 13-gram of lower-case words; texts of fewer words cannot collide."""
    index: dict[tuple[str, ...], set[str]] = {}
    for question in questions:
        words = re.findall(r"\w+", " ".join((question.text, *question.choices.values())).lower())
        for gram in _ngrams(words, 13):
            index.setdefault(gram, set()).add(question.question_id)

    def find(text: str) -> set[str]:
        grams = _ngrams(re.findall(r"\w+", text.lower()), 13)
        return {question_id for gram in grams for question_id in index.get(gram, ())}

    return find


def wilson(n_found: int, n_all: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate."""
    if not n_all:
        return 0.0, 1.0
    z, rate = 1.96, n_found / n_all
    middle, spread = rate + z * z / (2 * n_all), z * (rate * (1 - rate) / n_all + z * z / (4 * n_all * n_all)) ** 0.5
    return (middle - spread) / (1 + z * z / n_all), (middle + spread) / (1 + z * z / n_all)


Finder = Callable[[str], set[str]]


def measure(finders: Mapping[str, Finder], made: Sequence[Mirror], clean: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """For each finder: questions found of those planted, by kind and layout; clean pages flagged; pages a second."""
    results: dict[str, Any] = {}
    for name, find in finders.items():
        found: Counter[str] = Counter()
        planted: Counter[str] = Counter()
        for mirror in made:
            got = find(mirror.text)
            for key in (mirror.kind, f"{mirror.kind}, {mirror.layout}"):
                planted[key] += len(mirror.question_ids)
                found[key] += len(got.intersection(mirror.question_ids))
            planted[f"{mirror.kind} pages"] += 1
            found[f"{mirror.kind} pages"] += bool(got)
        started = time.process_time()
        flagged = [source for source, text in clean if find(text)]
        spent = time.process_time() - started
        results[name] = {
            "recall": {key: _rate(found[key], planted[key]) for key in sorted(planted)},
            "clean": _rate(len(flagged), len(clean)) | {"flagged": flagged[:200]},
            "pages_per_s": round(len(clean) / spent, 1),
        }
    return results


def _rate(n_found: int, n_all: int) -> dict[str, Any]:
    low, high = wilson(n_found, n_all)
    return {"n": n_found, "of": n_all, "rate": round(n_found / n_all, 4), "low": round(low, 4), "high": round(high, 4)}


def key_rate(index: LeakIndex, made: Sequence[Mirror]) -> dict[str, Any]:
    """Of the found questions: how many on pages with a key are `leak_key`, and how many on pages without."""
    counts: Counter[tuple[bool, str]] = Counter()
    for mirror in made:
        for leak in index.find(mirror.text):
            if leak.question_id in mirror.question_ids:
                counts[mirror.layout in WITH_KEY, leak.kind] += 1
    return {
        name: _rate(counts[keyed, "leak_key"], counts[keyed, "leak_key"] + counts[keyed, "leak_question"])
        for name, keyed in (("with a key", True), ("without", False))
    }


def speed(questions: Sequence[Question], golds: Mapping[str, Gold], n_questions: int, data: Path) -> dict[str, Any]:
    """Pages a second of processor time on long school pages, where as many questions are looked for."""
    pairs = varied(questions, golds, n_questions)
    started = time.process_time()
    index = LeakIndex([question for question, _ in pairs], [gold for _, gold in pairs])
    built = time.process_time()
    pages = long_pages(data)
    begun = time.process_time()
    n_flagged = sum(bool(index.find(text)) for _, text in pages)
    spent = time.process_time() - begun
    return {
        "questions": len(pairs),
        "unprotected": len(index.unprotected),
        "index_s": round(built - started, 2),
        "pages": len(pages),
        "kb": round(sum(len(text) for _, text in pages) / len(pages) / 1_000, 1),
        "flagged": n_flagged,
        "pages_per_s": round(len(pages) / spent, 1),
    }


def print_report(results: Mapping[str, Any], keys: Mapping[str, Any], n_clean: int) -> None:
    """The Markdown table."""
    print(f"| finder | {' | '.join(KINDS)} | clean pages flagged, of {n_clean:,} | pages/s a core |")
    print("|---" * (len(KINDS) + 3) + "|")
    for name, result in results.items():
        cells = [f"{r['rate']:.3f} ({r['low']:.3f}–{r['high']:.3f})" for r in map(result["recall"].get, KINDS)]
        print(f"| {name} | {' | '.join(cells)} | {result['clean']['rate']:.2%} | {result['pages_per_s']:,.0f} |")
    for name, rate in keys.items():
        print(f"\nMarked `leak_key` on pages {name}: {rate['rate']:.3f} of {rate['of']:,}.", end="")
    print()


def main() -> None:
    """Measure, print, and write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--clean", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=13_693, help="how many for the measurement of speed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    questions, golds = read_questions([options.data / "tqa/val/questions.jsonl"], "val")
    clean = clean_pages(options.data, options.clean)
    started = time.process_time()
    index = LeakIndex(questions, golds)
    built_s = round(time.process_time() - started, 2)
    made = mirrors(questions, {gold.question_id: gold for gold in golds}, clean)
    finders: dict[str, Finder] = {
        "ours": lambda text: {leak.question_id for leak in index.find(text)},
        "exact substring": _substring(questions),
        "13-gram overlap": _thirteen_grams(questions),
    }
    results, keys = measure(finders, made, clean), key_rate(index, made)
    print_report(results, keys, len(clean))
    print(f"\n{len(questions):,} questions, {len(index.unprotected)} not protected; index built in {built_s} s.")
    fast = speed(questions, {gold.question_id: gold for gold in golds}, options.questions, options.data)
    print(
        f"\n{fast['pages_per_s']:,.0f} pages/s a core with {fast['questions']:,} questions on {fast['pages']} school"
        f" pages of {fast['kb']} KB; index built in {fast['index_s']} s, {fast['unprotected']} not protected."
    )
    if options.json:
        report = {
            "results": results,
            "keys": keys,
            "unprotected": len(index.unprotected),
            "index_s": built_s,
            "speed": fast,
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
