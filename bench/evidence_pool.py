"""Draw questions that no reader has judged, pool candidate sentences, and write packets for readers.

    python bench/evidence_pool.py --dataset RUNS/open-textbooks --dataset RUNS/tqa-val --out PACKETS [--seed N]
    python bench/evidence_pool.py --dataset ... --out PACKETS --judged PACKETS/read-1.jsonl ... > fresh_spans.jsonl

The questions are drawn at random by kind from those with pages, without the flags in EXCLUDED and without questions
that are labelled already. Seed SEED draws those of fresh_spans.jsonl again. The sentences of a question are those
that a method returns (at most PER_METHOD each), then in turn the next heaviest by words over all pages, the next
nearest by embedding, and the next heaviest of the page that the question was taken from, up to MAX_SENTENCES. Readers
see a sentence with the edges of its neighbours in the order of the pages, and not what proposed it. The packets
contain text: keep them out of the repository. `places.jsonl` says where each sentence is. With --judged, the readers'
files become lines of labels without text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evidence_labels")]

from built_dataset import BuiltDataset  # noqa: E402
from evidence_pairs import words_sha256  # noqa: E402
from labelled_spans import FRESH, read_spans  # noqa: E402

from builder.evidence import METHODS  # noqa: E402
from builder.evidence.embedding import DEFAULT_MODEL, load_encoder  # noqa: E402
from builder.evidence.support_signs import SignedQuestion  # noqa: E402
from builder.evidence.telling_words import words_of  # noqa: E402
from edu_rag.gold import Gold  # noqa: E402
from edu_rag.records import Question, WebPage  # noqa: E402

SEED = 20261125
DRAWN = {
    ("open-textbooks", "multiple_choice"): 120,
    ("tqa-val", "multiple_choice"): 90,
    ("tqa-val", "matching"): 30,
    ("tqa-val", "true_false"): 60,
}
EXCLUDED = frozenset(("truncated", "context_bound", "duplicate_question", "duplicate_choices"))
N_PACKETS = 4
AGAIN = 40
AGAIN_FROM = (1, 2, 4)
"""The last packet repeats AGAIN questions of these, for a second reader who judges the other packet."""
MAX_SENTENCES = 24
PER_METHOD = 4
PER_PAGE = 16
N_DENSE = 48
"""Sentences by words whose embeddings are compared."""
EDGE = 120
MAX_CHARACTERS = 600
Place = tuple[int, int]
"""The rank of a page and the number of a sentence on it."""
Encode = Callable[[Sequence[str]], Any]


def draw(data: Iterable[BuiltDataset], seed: int) -> list[tuple[BuiltDataset, str]]:
    """New questions by kind, in random order."""
    rng, known = random.Random(seed), [*read_spans(), *(read_spans(FRESH) if seed != SEED else ())]
    labelled = {(one.dataset, one.question_id) for one in known}
    drawn = []
    for one in data:
        for (name, kind), n in DRAWN.items():
            if name == one.name:
                some = sorted(
                    id_
                    for id_, question in one.questions.items()
                    if question.kind == kind
                    and one.hits.get(id_)
                    and (name, id_) not in labelled
                    and EXCLUDED.isdisjoint(question.flags)
                )
                drawn += [(one, id_) for id_ in rng.sample(some, n)]
    rng.shuffle(drawn)
    return drawn


def by_words(question: Question, answer: str, pages: Sequence[WebPage], n: int) -> list[Place]:
    """The n heaviest sentences of the pages, best first."""
    return [(rank, number) for _, rank, number in nsmallest(n, SignedQuestion(question, answer, pages).weighed())]


def pooled(question: Question, gold: Gold, pages: Sequence[WebPage], encode: Encode) -> list[Place]:
    """The places of a question's candidates, in the order of the pages."""
    answer = question.choices[gold.answer] if gold.answer is not None else " ".join(gold.texts)
    if question.kind == "true_false":
        answer = ""
    rank_of = {page.page_id: rank for rank, page in enumerate(pages)}
    found: dict[Place, None] = {}
    for name in ("answer-string-v1", "answer-string-v2", "true-false-v1", "evidence-v3"):
        for span in list(METHODS[name].find(question, gold, pages))[:PER_METHOD]:
            page = pages[rank_of[span.page_id]]
            inside = [n for n, (start, end) in enumerate(page.sentences) if span.start <= start and end <= span.end]
            found |= dict.fromkeys((rank_of[span.page_id], n) for n in inside)
    heavy = by_words(question, answer, pages, N_DENSE)
    home = rank_of.get(gold.home_page or "")
    at_home = [] if home is None else by_words(question, answer, [pages[home]], PER_PAGE)
    compared = list(dict.fromkeys([*heavy, *((home or 0, number) for _, number in at_home)]))
    texts = [pages[rank].text[slice(*pages[rank].sentences[n])][:MAX_CHARACTERS] for rank, n in compared]
    if texts:
        vectors = encode([f"{question.text} {answer}"[:MAX_CHARACTERS], *texts])
        near = [compared[i] for i in np.argsort(-np.round(vectors[1:] @ vectors[0], 4), kind="stable")]
        for three in zip_longest(heavy, near, [(home or 0, number) for _, number in at_home]):
            for place in three:
                if place is not None and len(found) < MAX_SENTENCES:
                    found[place] = None
    return sorted(found)


def packet_line(question: Question, gold: Gold, pages: Sequence[WebPage], places: Sequence[Place]) -> dict[str, Any]:
    """What a reader sees of a question."""

    def text(rank: int, number: int) -> str:
        page = pages[rank]
        return page.text[slice(*page.sentences[number])] if 0 <= number < len(page.sentences) else ""

    return {
        "id": question.question_id,
        "question": question.text,
        "choices": dict(question.choices),
        "gold": gold.answer,
        "kind": question.kind,
        "sentences": [
            {
                "n": n,
                "page": pages[rank].title,
                "before": text(rank, number - 1)[-EDGE:],
                "text": text(rank, number),
                "after": text(rank, number + 1)[:EDGE],
            }
            for n, (rank, number) in enumerate(places, start=1)
        ],
    }


def place_line(name: str, question_id: str, pages: Sequence[WebPage], places: Sequence[Place]) -> dict[str, Any]:
    """Where the sentences of a packet's line are."""
    spans = [(pages[rank].page_id, *pages[rank].sentences[number]) for rank, number in places]
    return {"dataset": name, "id": question_id, "places": {str(n): span for n, span in enumerate(spans, start=1)}}


def packets(lines: Sequence[dict[str, Any]], seed: int) -> Iterator[list[dict[str, Any]]]:
    """The lines in N_PACKETS parts, and one part that repeats some of them."""
    parts = [list(lines[number::N_PACKETS]) for number in range(N_PACKETS)]
    yield from parts
    yield random.Random(seed).sample([line for number in AGAIN_FROM for line in parts[number - 1]], AGAIN)


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def half_of(question_id: str) -> str:
    """`test` or `tune`, by a hash of the id."""
    return "tune" if hashlib.sha256(question_id.encode()).digest()[0] % 2 else "test"


def label_lines(judged: Iterable[Path], places: Path, data: Sequence[BuiltDataset]) -> Iterator[dict[str, Any]]:
    """The labels as tests/evidence_labels holds them, without text, in the order of the draw."""
    rows = [json.loads(line) for path in judged for line in path.read_text(encoding="utf-8").splitlines()]
    labels, named = {row["id"]: row["labels"] for row in rows}, {one.name: one for one in data}
    for line in places.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["id"] in labels:
            one = named[row["dataset"]]
            sentences = [
                {
                    "page_id": page_id,
                    "start": start,
                    "end": end,
                    "words_sha256": words_sha256(words_of(one.pages[page_id].text[start:end])),
                    "label": labels[row["id"]][n],
                }
                for n, (page_id, start, end) in row["places"].items()
            ]
            kind, half = one.questions[row["id"]].kind, half_of(row["id"])
            found = {"dataset": one.name, "question_id": row["id"], "kind": kind, "half": half}
            yield {**found, "sentences": sentences}


def main() -> None:
    """Draw, pool, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
    parser.add_argument("--out", type=Path, required=True, help="a folder outside of the repository")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--judged", type=Path, action="append", default=[], help="a reader's file; once for each")
    given = parser.parse_args()
    data = [BuiltDataset.read(folder) for folder in given.dataset]
    if given.judged:
        for line in label_lines(given.judged, given.out / "places.jsonl", data):
            print(json.dumps(line))
        return
    drawn = draw(data, given.seed)
    drawn_pages = sorted(drawn, key=lambda one: (one[0].name, one[0].hits[one[1]][0]))  # questions that share pages
    encode, seen, places = load_encoder(DEFAULT_MODEL), {}, {}
    for one, question_id in drawn_pages:
        question, gold, pages = one.exam(question_id)
        found = pooled(question, gold, pages, encode)
        seen[question_id] = packet_line(question, gold, pages, found)
        places[question_id] = place_line(one.name, question_id, pages, found)
    given.out.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(packets([seen[id_] for _, id_ in drawn], given.seed), start=1):
        write_lines(given.out / f"packet-{number}.jsonl", part)
    write_lines(given.out / "places.jsonl", (places[id_] for _, id_ in drawn))
    print(f"{len(drawn)} questions, {sum(len(one['sentences']) for one in seen.values()):,} sentences")


if __name__ == "__main__":
    main()
