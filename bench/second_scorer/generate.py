"""Seeded random exams, and random submissions to them: what the two scorers are given."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from faults import spoilt
from grammar import answer
from phrases import ABSTENTIONS, HOSTILE, WHOLE, WORDS

Exam = dict[str, Any]
PER_EXAM = 10
"""Submissions to one exam, so that two can be compared with each other."""
FLAGS = ("meta_choice", "duplicate_choices", "truncated", "context_bound", "duplicate_question")
LABELS = "abcdefghijklmnopqrstuvwxyz"
STATUSES = ("crash", "timeout", "output_cap", "protocol")
CONFIDENCES = (0, 1, 0.5, 0.9, 0.6, 0.3, 1 / 15, 2 / 15, 0.2, 0.8, 1.0, 0.0, -0.0, 7 / 15, 1e-9, 0.1 + 0.2, 0.7)


class Case(NamedTuple):
    """One submission: its number, the exam, the bytes of its file, and which fault was put in (none: empty)."""

    number: int
    exam: Exam
    lines: bytes
    fault: str


def _phrase(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.choice((1, 1, 1, 2, 2, 3, 4, 6))))


def _varied(rng: random.Random, texts: list[str]) -> str:
    """A text much like one that is there: what TQA's choices are full of."""
    text = rng.choice(texts)
    return rng.choice(
        (
            text,
            text + ".",
            text.upper(),
            text.capitalize(),
            f"{text} {rng.choice(WORDS)}",
            f"{rng.choice(WORDS)} {text}",
            text[:-1],
            f"the {text}",
            f"not {text}",
            f"{text}-",
            text + rng.choice(LABELS[:7]),
            text.replace(" ", "-"),
        )
    )


def _texts(rng: random.Random, k: int) -> list[str]:
    texts: list[str] = []
    while len(texts) < k:
        kind = rng.random()
        if texts and kind < 0.15:
            texts.append(_varied(rng, texts))
        elif kind < 0.35:
            texts.append(rng.choice(WHOLE))
        elif kind < 0.37:
            texts.append(_phrase(rng) + rng.choice(HOSTILE))
        else:
            texts.append(_phrase(rng))
    return texts


def _choices(rng: random.Random) -> tuple[str, dict[str, str]]:
    kind = rng.choices(("multiple_choice", "true_false", "matching"), (6, 3, 1))[0]
    if kind == "true_false":
        texts = list(
            rng.choice(
                (("true", "false"), ("true", "false"), ("True", "False"), ("false", "true"), ("true.", "FALSE "))
            )
        )
    else:
        texts = _texts(
            rng, rng.choice((2, 3, 4, 4, 4, 5)) if kind == "multiple_choice" else rng.choice((5, 7, 7, 18, 26))
        )
    return kind, dict(zip(LABELS, texts, strict=False))


def _ids(rng: random.Random, n: int) -> list[str]:
    """Ids whose order as code points is neither that of numbers nor that of UTF-16."""
    heads = ("q", "Q", "é", "\uffe6", "𝒳", "nd", "T_")
    return [f"{rng.choice(heads)}{number}" for number in rng.sample(range(10 * n), n)]


def _lessons(rng: random.Random, n: int) -> list[str | None]:
    kind = rng.randrange(6)
    if kind < 3:
        return [None] * n
    if kind == 3:
        return ["only one"] * n if rng.random() < 0.5 else [f"l{number}" for number in range(n)]
    names: list[str | None] = [f"lesson {number}" for number in range(rng.randint(2, max(2, n // 2)))]
    return [None if kind == 5 and rng.random() < 0.2 else rng.choice(names) for _ in range(n)]


def _spans(rng: random.Random) -> list[list[int]]:
    starts = [rng.randrange(0, 60, 5) for _ in range(rng.choice((1, 1, 2, 3)))]
    return [[start, start + rng.choice((1, 5, 10, 20, 50))] for start in starts]


def _pages(rng: random.Random, ids: list[str]) -> dict[str, Any]:
    """Support by the pages: pages and evidence by question, and the leaked ids; empty in a third of the exams."""
    pages_of: dict[str, list[str]] = {}
    evidence: dict[str, dict[str, list[list[int]]]] = {}
    page_ids = [f"p{number:016x}" for number in range(rng.randint(1, 12))]
    if rng.random() < 0.66:
        for question_id in ids:
            if rng.random() < 0.9:
                pages_of[question_id] = rng.sample(page_ids, rng.randint(1, min(5, len(page_ids))))
            if question_id in pages_of and rng.random() < 0.7:
                found = rng.sample(pages_of[question_id], rng.randint(1, min(3, len(pages_of[question_id]))))
                evidence[question_id] = {page_id: _spans(rng) for page_id in found}
    leaked = [one for one in ids if rng.random() < 0.1] if rng.random() < 0.5 else None
    return {"evidence": evidence, "pages_of": pages_of, "has_pages": bool(pages_of), "leaked": leaked}


def exam_of(rng: random.Random) -> Exam:
    """A random exam: questions in no order, gold, evidence, pages, leaks."""
    n = rng.choice((1, 2, 3, 5, 5, 8, 8, 10, 10, 12, 15, 15, 20, 25, 30, 40, 60, 200 if rng.random() < 0.5 else 6))
    ids, lessons = _ids(rng, n), _lessons(rng, n)
    questions, gold = [], {}
    for question_id, lesson in zip(ids, lessons, strict=True):
        kind, choices = _choices(rng)
        flags = rng.sample(FLAGS, rng.choice((0, 0, 0, 0, 1, 1, 2)))
        questions.append(
            {
                "question_id": question_id,
                "text": f"{_phrase(rng)}?",
                "choices": choices,
                "kind": kind,
                "lesson": lesson,
                "flags": flags,
            }
        )
        gold[question_id] = rng.choice(list(choices))
    return {"questions": questions, "gold": gold, **_pages(rng, ids)}


def _passages(rng: random.Random, exam: Exam, question_id: str) -> list[list[Any]]:
    evidence = exam["evidence"].get(question_id, {})
    places = [(page_id, start, end) for page_id, spans in evidence.items() for start, end in spans]
    passages: list[list[Any]] = []
    for _ in range(rng.choice((1, 1, 2, 3, 5, 12))):
        if places and rng.random() < 0.5:
            page_id, start, end = rng.choice(places)
            length = end - start
            begin = max(0, start + rng.choice((0, 0, 1, -5, length, 20)))
            passages.append([page_id, begin, begin + rng.choice((1, 5, length, 100))])
        elif passages and rng.random() < 0.3:
            passages.append(rng.choice(passages))
        else:
            start = rng.randrange(0, 80)
            passages.append([f"p{rng.randrange(12):016x}", start, start + rng.randint(1, 30)])
    return passages


class Habits(NamedTuple):
    """How a submission's system behaves, in shares: right aims, plain labels, nulls, faults, absent lines, etc."""

    right: float
    plain: float
    null: float
    failed: float
    absent: float
    confident: float
    citing: float
    tied: float


def _habits(rng: random.Random) -> Habits:
    pick = rng.choice
    return Habits(
        pick((0.0, 0.25, 0.5, 0.5, 0.8, 0.95, 1.0)),
        pick((0.0, 0.0, 0.0, 0.3, 0.9)),
        pick((0, 0, 0, 0.1, 0.1, 0.5, 1 if rng.random() < 0.2 else 0)),
        pick((0, 0, 0.05, 0.3)),
        pick((0, 0, 0.05, 0.3, 1 if rng.random() < 0.1 else 0)),
        pick((0, 0, 0.5, 1, 1)),
        pick((0, 0, 0.5, 1)),
        pick((0.7, 0.7, 0.0)),
    )


def _answer(rng: random.Random, question: dict[str, Any], gold: str, habits: Habits) -> str | None:
    choices = question["choices"]
    label = gold if rng.random() < habits.right else rng.choice(list(choices))
    if rng.random() < habits.null:
        return None if rng.random() < 0.7 else rng.choice(ABSTENTIONS)
    return label if rng.random() < habits.plain else answer(rng, choices, label)


def _prediction(rng: random.Random, exam: Exam, question: dict[str, Any], habits: Habits) -> dict[str, Any]:
    question_id = question["question_id"]
    told: dict[str, Any] = {
        "question_id": question_id,
        "answer": _answer(rng, question, exam["gold"][question_id], habits),
    }
    if rng.random() < habits.failed:
        told |= {"answer": None, "status": rng.choice(STATUSES)}
    elif rng.random() < 0.1:
        told["status"] = "ok"
    if rng.random() < habits.confident:
        told["confidence"] = (
            rng.choice(CONFIDENCES) if rng.random() < habits.tied else rng.choice((rng.random(), rng.random(), None))
        )
    if rng.random() < habits.citing:
        told["passages"] = _passages(rng, exam, question_id)
    for name, value in (
        ("response", rng.choice((None, "I say b", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")))),
        ("latency_s", rng.choice((None, 0, 1.5, 1e-300, 12e2))),
        ("cost_usd", rng.choice((None, 0.01, 3))),
        ("energy_j", rng.choice((None, 0.5))),
        ("input_tokens", rng.choice((None, 7, 10**12))),
        ("output_tokens", 0),
    ):
        if rng.random() < 0.05:
            told[name] = value
    return told


def encoded(rng: random.Random, told: dict[str, Any]) -> str:
    """One line, its fields in any order, with blanks and escapes as some writer would set them."""
    fields = list(told.items())
    rng.shuffle(fields)
    separators = rng.choice(((",", ":"), (", ", ": "), (" , ", " : "), (",\t", ":\t")))
    text = json.dumps(dict(fields), ensure_ascii=rng.random() < 0.5, separators=separators)
    return rng.choice((text, text, text, f" {text}", f"{text} ", f"{text}\t"))


def submission(rng: random.Random, exam: Exam) -> tuple[bytes, str]:
    """The bytes of a random predictions file, and the name of the fault in it; in five of six there is none."""
    habits = _habits(rng)
    questions = [one for one in exam["questions"] if rng.random() >= habits.absent]
    rng.shuffle(questions)
    lines = [encoded(rng, _prediction(rng, exam, question, habits)).encode() for question in questions]
    fault = ""
    if lines and rng.random() < 1 / 6:
        lines, fault = spoilt(rng, lines)
    end = rng.choice((b"\n", b"\n", b"\r\n"))
    data = end.join(lines)
    return (data + end if lines and rng.random() < 0.8 else data), fault


def cases(n: int, seed: int, first: int = 0) -> Iterator[Case]:
    """Submissions number `first` … `first + n - 1`; each depends on the seed and its number alone."""
    exam: Exam = {}
    exam_number = -1
    for number in range(first, first + n):
        if number // PER_EXAM != exam_number:
            exam_number = number // PER_EXAM
            exam = exam_of(random.Random(f"exam {seed} {exam_number}"))
        lines, fault = submission(random.Random(f"submission {seed} {number}"), exam)
        yield Case(number, exam, lines, fault)
