"""An asked question and its answers as lines for a terminal, and as JSON-ready values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from edu_rag.files.typed import to_plain
from edu_rag.look.texts import clip, seconds
from harness.asking.asked import AskedQuestion, SystemReply
from harness.explaining.explain import Marked, passage_lines, said
from harness.reading.answers import read_answer

MAX_LISTED, MAX_READ = 20, 20
"""Pages, and passages of an answer, that are printed."""


def label_of(asked: AskedQuestion, reply: SystemReply) -> str | None:
    """The label that an answer names by the rules of reading; None if it names no single choice."""
    answer = reply.prediction.answer
    return read_answer(answer, asked.question.choices).label if answer is not None and asked.question.choices else None


def time_text(reply: SystemReply) -> str:
    """The time of an answer, and whether it includes the start of the process."""
    return f"{seconds(reply.time_s)} s{' (first answer of the process)' if reply.is_first else ''}"


def tokens_text(reply: SystemReply) -> str:
    """The tokens that an answer declares; '' for none."""
    counts = ((reply.prediction.input_tokens, "in"), (reply.prediction.output_tokens, "out"))
    return ", ".join(f"{count:,} {way}" for count, way in counts if count is not None)


def _question_lines(asked: AskedQuestion) -> Iterator[str]:
    question, gold = asked.question, asked.gold
    yield f"question   {question.question_id} ({question.kind})"
    yield f"           {question.text}"
    for label, text in question.choices.items():
        yield f"         {'=' if gold and label == gold.answer else ' '} {label}) {text}"
    if gold is not None:
        yield f"gold       {gold.answer or ' | '.join(gold.texts[:MAX_LISTED])}"


def _page_lines(asked: AskedQuestion) -> Iterator[str]:
    pages = asked.pages_shown
    held = any(page.page_id in asked.evidence for page in pages)
    yield f"pages      {len(pages)} ({asked.page_input.name}){'; * holds evidence' if held else ''}"
    for rank, page in enumerate(pages[:MAX_LISTED], 1):
        yield f"{rank:>3} {'*' if page.page_id in asked.evidence else ' '} {clip(page.title or 'untitled page', 80)}"
        yield f"      {page.url}"
    if len(pages) > MAX_LISTED:
        yield f"      … and {len(pages) - MAX_LISTED:,} more"


def question_lines(asked: AskedQuestion) -> Iterator[str]:
    """The question, its gold where that is known, and the pages; `=` marks the gold choice, `*` evidence."""
    yield from _question_lines(asked)
    yield from _page_lines(asked)


def reply_lines(asked: AskedQuestion, reply: SystemReply) -> Iterator[str]:
    """One system's answer; `*` marks passages with evidence, `>> <<` the evidence itself."""
    prediction, verdict = reply.prediction, reply.verdict
    yield ""
    yield f"system     {reply.system.slug} ({reply.system.name})"
    label = label_of(asked, reply)
    choice = f": {asked.question.choices[label]}" if label is not None else ""
    yield f"answer     {said(prediction)}{choice}"
    if prediction.response is not None:
        yield f"response   {clip(prediction.response, 600)}"
    if verdict is not None:
        yield f"verdict    {verdict.outcome} ({verdict.points:+d}): {verdict.reason}"
    if prediction.confidence is not None:
        yield f"confidence {prediction.confidence:.3f}"
    yield f"time       {time_text(reply)}"
    if tokens := tokens_text(reply):
        yield f"tokens     {tokens}"
    read = reply.read(asked)
    yield f"read       {len(read)} passage(s)"
    for marked in read[:MAX_READ]:
        yield from passage_lines(marked)
    if len(read) > MAX_READ:
        yield f"      … and {len(read) - MAX_READ:,} more"


def _page_values(asked: AskedQuestion) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "page_id": page.page_id,
            "url": page.url,
            "title": page.title,
            "n_characters": len(page.text),
            "evidence": [list(span) for span in asked.evidence.get(page.page_id, ())],
        }
        for rank, page in enumerate(asked.pages_shown, 1)
    ]


def _read_values(marked: Marked) -> dict[str, Any]:
    return {
        "passage": list(marked.passage),
        "url": marked.page.url if marked.page else None,
        "text": marked.text,
        "is_evidence": bool(marked.evidence),
    }


def _reply_values(asked: AskedQuestion, reply: SystemReply) -> dict[str, Any]:
    prediction, verdict = reply.prediction, reply.verdict
    return {
        "system": reply.system.slug,
        "name": reply.system.name,
        "status": prediction.status,
        "answer": prediction.answer,
        "label": label_of(asked, reply),
        "response": prediction.response,
        "confidence": prediction.confidence,
        "time_s": round(reply.time_s, 6),
        "is_first": reply.is_first,
        "input_tokens": prediction.input_tokens,
        "output_tokens": prediction.output_tokens,
        "cost_usd": prediction.cost_usd,
        "verdict": None if verdict is None else to_plain(verdict) | {"points": verdict.points},
        "read": [_read_values(marked) for marked in reply.read(asked)],
    }


def asked_values(asked: AskedQuestion, replies: Sequence[SystemReply]) -> dict[str, Any]:
    """A question and all answers as JSON-ready values."""
    return {
        "dataset": asked.dataset,
        "question": to_plain(asked.question),
        "gold": None if asked.gold is None else to_plain(asked.gold),
        "page_input": asked.page_input.name,
        "pages": _page_values(asked),
        "replies": [_reply_values(asked, reply) for reply in replies],
    }
