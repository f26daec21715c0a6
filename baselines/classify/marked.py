"""Training lines for the classifier from answers that people marked: HyPA-RAG's feedback loop (figure 4, section 10).

The paper draws the loop and does not say how feedback becomes a class. Here the class is its definition, the number of
contexts that a question needs (section 7.1), with a page as the context: on the page of `edu-rag try` a visitor asks a
question with the first K pages (`top-K`) and marks the answers. "Correct Answer" with K pages means that K are enough;
"Insufficient Context" with K pages means that more are needed. "Hallucinated Answer" says nothing about their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from baselines.classify.training import Example, merged
from edu_rag.files.annotated import Annotation, read_annotations

FORM = "marked"
"""Takes the place of the line of the grammar, which these questions do not have."""
TIMES = 20
"""How often each marked question is a training line: a few among 1,800 generated questions would change nothing."""
_TOP = re.compile(r"top-([1-9][0-9]{0,2})")
_NO_BOUND = 999


def _latest(annotations: Iterable[Annotation]) -> Iterable[Annotation]:
    """The last judgement of each answer."""
    by_answer = {}
    for one in annotations:
        said = one.reply
        by_answer[said.question, said.question_id, said.dataset, said.page_input, said.system, said.answer] = one
    return by_answer.values()


def contexts_needed(annotations: Iterable[Annotation]) -> Mapping[str, tuple[int, int]]:
    """The fewest and the most pages that each question can need, by its text; only questions with a right answer.

    The most is 999 where an answer is right with all pages alone. The fewest is above the most where judgements
    contradict each other.
    """
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for one in _latest(annotations):
        found = _TOP.fullmatch(one.reply.page_input)
        n_pages = int(found[1]) if found is not None else None
        question = one.reply.question
        if one.label == "Insufficient Context" and n_pages is not None:
            least[question] = max(least.get(question, 1), n_pages + 1)
        elif one.label == "Correct Answer" and (n_pages is not None or one.reply.page_input == "own"):
            most[question] = min(most.get(question, _NO_BOUND), n_pages or _NO_BOUND)
    return {question: (least.get(question, 1), most[question]) for question in most}


def marked_examples(annotations: Iterable[Annotation], n_classes: Literal[2, 3]) -> list[Example]:
    """The questions whose judgements leave one class, each `TIMES` times; the others are left out."""
    found = []
    for question, (least, most) in contexts_needed(annotations).items():
        low, high = (min(n, 3) - 1 for n in (least, most))
        if least <= most and merged(low, n_classes) == merged(high, n_classes):
            found += [Example(question, low, FORM)] * TIMES
    return found


def read_marked(path: str | None, n_classes: Literal[2, 3]) -> list[Example]:
    """The examples of a file of annotations; none without a path. Raises DataError that names file and line."""
    return [] if path is None else marked_examples(read_annotations(Path(path)), n_classes)
