"""The task of a run: questions with their pages, and the line that a system gets for one of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from edu_rag.draw_sample import choose
from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.files.jsonl import to_line
from edu_rag.names import Sample
from edu_rag.records import Question, WebPage
from edu_rag.scorecard.card import Prediction


def _as_said(prediction: Prediction) -> Prediction:
    return prediction


class Task(NamedTuple):
    """The questions of a run in order of id, and the pages of each, in rank order, by question id.

    `back` turns citations of pages that were changed for the system into offsets of the dataset's pages.
    """

    questions: Sequence[Question]
    pages: Mapping[str, Sequence[WebPage]]
    back: Callable[[Prediction], Prediction] = _as_said


def task_of(dataset: Dataset, split: str, sample: str | None) -> Task:
    """The task of a split, or of a sample of it. The gold table is never opened."""
    questions = dataset.questions(split)
    if sample is not None:
        questions = choose(questions, Sample.parse(sample))
    hits, pages = dataset.hits(split), dataset.pages(split)
    return Task(questions, {q.question_id: kept_pages(hits.get(q.question_id, ()), pages) for q in questions})


def read_task(dataset: Dataset, split: str, sample: str | None) -> Task:
    """As `task_of`, but read by a separate process if that is cheap: reading takes 100 MB that a run would keep.

    Only before threads or pyarrow (which has its own) are there, since a fork copies none of them but their locks.
    """
    import multiprocessing
    import sys
    import threading
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

    if "pyarrow" not in sys.modules and threading.active_count() == 1:
        forked = multiprocessing.get_context("fork")
        with suppress(BrokenExecutor), ProcessPoolExecutor(1, mp_context=forked) as pool:  # killed: it is read here
            return pool.submit(task_of, dataset, split, sample).result()
    return task_of(dataset, split, sample)


def _page(page: WebPage) -> dict[str, Any]:
    shown = ("page_id", "url", "title", "text", "sentences")
    return {name: getattr(page, name) for name in shown}


def question_line(question: Question, pages: Sequence[WebPage], random_id: str) -> bytes:
    """The line a system gets: no split, lesson, flags or file order, from which answers could be guessed."""
    return to_line(
        {
            "id": random_id,
            "text": question.text,
            "choices": dict(question.choices),
            "kind": question.kind,
            "pages": [_page(page) for page in pages],
        }
    )


def asking_order(questions: Sequence[Question], seed: int) -> list[Question]:
    """A seeded order that depends on the question ids alone, so that position carries no information."""
    ordered = sorted(questions, key=lambda question: question.question_id)
    random.Random(seed).shuffle(ordered)
    return ordered
