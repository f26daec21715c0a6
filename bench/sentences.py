"""Sentence selection for all questions of a dataset: ours and sentence-transformers as the EDU-RAG paper used it.

    python bench/sentences.py DATASET [--pages 4] [--back-end onnx] [--sample 20] [--agreement 40]

The paper's way: for each question by itself, encode the sentences of its pages (fp32, PyTorch, in page order), encode
the question, take cosines, keep the ten best. That is timed on a seeded sample of questions, and the whole is projected
by the number of sentences, since all of it would take hours. Ours is timed on all questions, from an empty cache: each
distinct sentence once, sorted by length, vectors kept. Both run after one another on the same machine, on the threads
that OMP_NUM_THREADS allows; seconds are of process time a thread, which a busy machine disturbs least.

Agreement: the top 10 of each back end against PyTorch's, over all sentences of a question, and the cosine of the two
vectors of the same sentence. ONNX models must have been exported (python -P -m baselines.embed.export).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from baselines.chunk.sentences import sentences_of
from baselines.embed import DEFAULT_MODEL, Encoder, locate_encoder
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.serve import SystemPage, SystemQuestion

TOP = 10
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and the sentences of its pages, equal ones once."""

    text: str
    sentences: list[str]


def asked_of(folder: Path, n_pages: int) -> list[Asked]:
    """All questions of a dataset's only split that have pages, with the sentences of their first `n_pages` pages."""
    dataset = Dataset(folder)
    split = dataset.only_split(None)
    hits, pages = dataset.hits(split), dataset.pages(split)
    found = []
    for question in dataset.questions(split):
        given = tuple(
            SystemPage(page_id=p.page_id, url=p.url, title=p.title, text=p.text, sentences=tuple(p.sentences))
            for p in kept_pages(hits.get(question.question_id, []), pages)[:n_pages]
        )
        alone = SystemQuestion(id="1", text=question.text, choices={}, kind="free_text", pages=given)
        sentences = [one.text for one in sentences_of(alone)]
        if sentences:
            found.append(Asked(text=question.text, sentences=sentences))
    return found


def best(sentences: Vectors, query: Vectors) -> list[int]:
    """The places of the ten closest sentences."""
    return [int(place) for place in np.argsort(-(sentences @ query), kind="stable")[:TOP]]


class AsThePaper:
    """sentence-transformers, one question at a time, with its own defaults."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(locate_encoder(DEFAULT_MODEL), device="cpu")

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, in the order given."""
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    def select(self, asked: Asked) -> list[int]:
        """The ten best sentences of one question."""
        return best(self.encode(asked.sentences), self.encode([asked.text])[0])


def timed(work: Callable[[], object]) -> float:
    """Seconds of process time that the work takes, over all of its threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


def select_all(encoder: Encoder, every: Sequence[Asked]) -> list[list[int]]:
    """Ours for all questions: what they share is encoded once, in large lots that are sorted by length."""
    distinct = list(dict.fromkeys(text for one in every for text in [*one.sentences, one.text]))
    for start in range(0, len(distinct), 4_096):
        encoder.vectors(distinct[start : start + 4_096])
        print(f"{start:,} of {len(distinct):,} sentences", file=sys.stderr, flush=True)
    return [best(encoder.encode(one.sentences), encoder.encode([one.text])[0]) for one in every]


def row(*cells: object) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def speed(every: Sequence[Asked], sample: Sequence[Asked], back_ends: Sequence[str]) -> Iterator[str]:
    """The table of times, and the basis of the reference."""
    paper = AsThePaper()
    paper.encode([one.text for one in sample])  # the first batches of a process are slow
    theirs: list[list[int]] = []
    spent = timed(lambda: theirs.extend(paper.select(one) for one in sample))
    n_sample, n_all = (sum(len(one.sentences) + 1 for one in some) for some in (sample, every))
    whole = spent / n_sample * n_all
    distinct = len({text for one in every for text in [*one.sentences, one.text]})
    yield f"{len(every):,} questions, {n_all:,} texts to encode, {distinct:,} of them distinct."
    yield ""
    yield row("way", "texts encoded", "CPU s", "texts a CPU s", "times as fast", f"same top {TOP} as the paper's way")
    yield row("---", *["--:"] * 5)
    yield row("the paper's way (projected)", f"{n_all:,}", f"{whole:,.0f}", f"{n_sample / spent:,.0f}", "1.0", "")
    for name in back_ends:
        yield ours_row(name, every, sample, theirs, whole, distinct)
    yield ""
    yield (
        f"The paper's way was timed on {len(sample)} questions drawn at random ({n_sample:,} texts, {spent:,.0f} s) "
        "and projected by the number of texts; ours on all questions, from an empty cache, with reading and ranking."
    )


def ours_row(
    name: str, every: Sequence[Asked], sample: Sequence[Asked], theirs: Sequence[list[int]], whole: float, distinct: int
) -> str:
    """One back end on all questions."""
    with tempfile.TemporaryDirectory() as cache:
        encoder = Encoder(DEFAULT_MODEL, back_end=name, cache=Path(cache))
        found: list[list[int]] = []
        spent = timed(lambda: found.extend(select_all(encoder, every)))
    by_question = dict(zip(map(id, every), found, strict=True))
    same = np.mean([overlap(by_question[id(one)], places) for one, places in zip(sample, theirs, strict=True)])
    cells = (f"{distinct:,}", f"{spent:,.0f}", f"{distinct / spent:,.0f}", f"{whole / spent:,.1f}", f"{same:.4f}")
    return row(f"ours, {name}", *cells)


def overlap(one: Sequence[int], other: Sequence[int]) -> float:
    """The part of the one top ten that the other has too."""
    return len(set(one) & set(other)) / max(len(one), 1)


def agreement(sample: Sequence[Asked]) -> Iterator[str]:
    """The table of back ends against PyTorch, one text at a time."""
    texts = list(dict.fromkeys(text for one in sample for text in [*one.sentences, one.text]))
    made: dict[str, Mapping[str, Vectors]] = {}
    for name in ("torch", "onnx", "onnx-int8"):
        vectors = Encoder(DEFAULT_MODEL, back_end=name).encode(texts)
        made[name] = dict(zip(texts, vectors, strict=True))
    yield row("back end", "mean cosine with torch", "lowest", f"same top {TOP}", "same best sentence")
    yield row("---", *["--:"] * 4)
    for name in ("onnx", "onnx-int8"):
        yield agreement_row(name, sample, made["torch"], made[name])
    yield ""
    yield f"{len(sample)} questions, {len(texts):,} distinct texts."


def agreement_row(
    name: str, sample: Sequence[Asked], reference: Mapping[str, Vectors], vectors: Mapping[str, Vectors]
) -> str:
    """One back end against the reference."""
    cosines = [float(reference[text] @ vectors[text]) for text in reference]
    tops = [
        [best(np.stack([source[text] for text in one.sentences]), source[one.text]) for source in (reference, vectors)]
        for one in sample
    ]
    same = np.mean([overlap(wanted, found) for wanted, found in tops])
    first = np.mean([wanted[0] == found[0] for wanted, found in tops])
    return row(name, f"{np.mean(cosines):.6f}", f"{min(cosines):.6f}", f"{same:.4f}", f"{first:.4f}")


def main() -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument(
        "--pages", type=int, default=4, help="pages a question, as the paper has (default: %(default)s)"
    )
    parser.add_argument("--back-end", nargs="+", default=["torch", "onnx"], help="ours (default: torch onnx)")
    parser.add_argument("--n", type=int, help="only so many questions, drawn at random")
    parser.add_argument(
        "--sample", type=int, default=5, help="questions asked in the paper's way (default: %(default)s)"
    )
    parser.add_argument(
        "--agreement", type=int, default=5, help="questions to compare back ends (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    every = asked_of(asked.dataset, asked.pages)
    drawn = random.Random(asked.seed)
    if asked.n is not None:
        every = drawn.sample(every, min(asked.n, len(every)))
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    print(f"all-MiniLM-L6-v2, the first {asked.pages} pages of each question, threads: {threads}.\n")
    print(*speed(every, drawn.sample(every, min(asked.sample, len(every))), asked.back_end), sep="\n")
    print()
    print(*agreement(drawn.sample(every, min(asked.agreement, len(every)))), sep="\n")


if __name__ == "__main__":
    main()
