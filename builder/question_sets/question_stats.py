"""A look at questions before a build: flat lines, drawn examples for a terminal, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec

from builder.question_sets.flat_question import FlatQuestion
from builder.question_sets.question_files import ReadQuestions
from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError
from edu_rag.gold import Gold
from edu_rag.names import Sample
from edu_rag.records import Question

_OURS = frozenset(one.name for one in fields(FlatQuestion))
_TYPES: Mapping[str, str] = {
    "multiple_choice": "Multiple Choice",
    "true_false": "True or False",
    "matching": "Matching",
    "free_text": "Free Text",
}


def flat_line(question: Question, gold: Gold, page: str | None) -> dict[str, Any]:
    """A question as a line of a flat question file; its `extra` are further fields.

    A further field that has the name of one of ours gets `source_` before it.
    """
    line: dict[str, Any] = {
        "id": question.question_id,
        "split": question.split,
        "type": _TYPES[question.kind],
        "question": question.text,
        "choices": dict(question.choices),
        "answer": gold.answer if gold.answer is not None else list(gold.texts),
    }
    if question.lesson is not None:
        line["lesson"] = question.lesson
    if page is not None:
        line["page"] = page
    others = msgspec.json.decode(gold.extra) if gold.extra else {}
    return line | {(f"source_{name}" if name in _OURS else name): value for name, value in others.items()}


def flat_lines(found: ReadQuestions) -> Iterator[dict[str, Any]]:
    """All questions as flat lines, in order of their ids."""
    golds = {gold.question_id: gold for gold in found.golds}
    for question in found.questions:
        yield flat_line(question, golds[question.question_id], found.pages.get(question.question_id))


def drawn(found: ReadQuestions, n: int, seed: int) -> list[dict[str, Any]]:
    """At most `n` questions as flat lines, drawn within splits, kinds and numbers of choices as a build draws them."""
    if not found.questions:
        raise ConfigError("--n", "there are no questions to draw from", "give a file with at least one")
    sample = Sample(min(n, len(found.questions)), seed)
    chosen = {question.question_id for question in choose(found.questions, sample, by_split=True)}
    return [line for line in flat_lines(found) if line["id"] in chosen]


def printable(text: str, most: int = 600) -> str:
    """A stranger's text as one line that gives no orders to a terminal."""
    cut = text if len(text) <= most else f"{text[:most]}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(cut.split()))


def example_lines(line: Mapping[str, Any]) -> Iterator[str]:
    """A flat line for a terminal; `*` marks the gold."""
    yield printable(f"{line['id']} [{line['split']}, {line['type']}] {line['question']}")
    for label, text in line["choices"].items():
        yield f"  {'*' if label == line['answer'] else ' '} {label}. {printable(text)}"
    if not line["choices"]:
        yield f"  * {printable(' | '.join(line['answer']))}"
    for name, value in line.items():
        if name not in _OURS or name in ("lesson", "page"):
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            yield f"    {printable(name, 60)}: {printable(text, 200)}"


def _counted(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): n for value, n in sorted(Counter(values).items(), key=lambda item: str(item[0]))}


def question_stats(found: ReadQuestions) -> dict[str, Any]:
    """Counts of questions by split, kind, number of choices and flag, of golds by letter, and of `extra` columns."""
    questions, golds = found.questions, {gold.question_id: gold for gold in found.golds}
    lengths = sorted(len(question.text) for question in questions)
    return {
        "questions": len(questions),
        "splits": _counted(question.split for question in questions),
        "kinds": _counted(question.kind for question in questions),
        "choices": _counted(len(question.choices) for question in questions if question.choices),
        "gold_letters": _counted(gold.answer for gold in golds.values() if gold.answer is not None),
        "flags": _counted(flag for question in questions for flag in question.flags),
        "lessons": len({question.lesson for question in questions if question.lesson is not None}),
        "question_characters": {"least": lengths[0], "median": lengths[len(lengths) // 2], "most": lengths[-1]},
        "longest_choice_is_gold": _longest_share(questions, golds),
        "extra_columns": _counted(
            name for gold in golds.values() if gold.extra for name in msgspec.json.decode(gold.extra)
        ),
        "questions_from": list(found.origins),
    }


def _longest_share(questions: Sequence[Question], golds: Mapping[str, Gold]) -> float | None:
    """The share of multiple-choice questions whose longest choice, the first of equals, is the gold."""
    picked = []
    for question in questions:
        if question.kind == "multiple_choice":
            longest = max(question.choices, key=lambda label: len(question.choices[label]))
            picked.append(longest == golds[question.question_id].answer)
    return round(sum(picked) / len(picked), 4) if picked else None


def stats_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """The counts for a terminal."""
    for name, value in stats.items():
        title = f"{name.replace('_', ' '):<24}"
        if isinstance(value, Mapping):
            counts = ", ".join(f"{key}: {n:,}" for key, n in value.items())
            yield f"{title} {printable(counts, 2_000) or 'none'}"
        elif isinstance(value, list):
            if value:
                yield f"{title} {printable(', '.join(value), 2_000)}"
        else:
            yield f"{title} {'none' if value is None else value}"
