"""`review.html`: the kept questions on one page for people, static and offline; all outside text is shown as text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from builder.generating.generated_question import GeneratedQuestion
from builder.question_sets.question_reviews import CRITERIA, question_key
from edu_rag import __version__
from edu_rag.files.jsonl import write_file
from edu_rag.look.jinja_pages import environment, look_css

PAGE_FILE = "review.html"
CONTEXT_CHARACTERS = 300
_HERE = Path(__file__).resolve().parent


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _context(found: GeneratedQuestion) -> Iterator[dict[str, str]]:
    """Each span with the text around it; the whole passages where there is no span."""
    text = found.task.page.text
    for start, end in found.evidence:
        before, after = text[max(0, start - CONTEXT_CHARACTERS) : start], text[end : end + CONTEXT_CHARACTERS]
        yield {"before": before, "evidence": text[start:end], "after": after}
    if not found.evidence:
        yield from ({"before": passage, "evidence": "", "after": ""} for passage in found.task.texts())


def _shown(found: GeneratedQuestion) -> dict[str, Any]:
    gold = found.gold.answer
    return {
        "id": found.question.question_id,
        "key": question_key(found.line()),
        "type": found.task.type.name,
        "description": found.task.type.description,
        "text": found.question.text,
        "answer": "" if gold is not None else found.gold.texts[0],
        "choices": [
            {"label": label, "text": text, "is_gold": label == gold} for label, text in found.question.choices.items()
        ],
        "context": list(_context(found)),
        "title": found.task.page.title,
        "url": found.task.page.url,
    }


def review_page(questions: Sequence[GeneratedQuestion], dataset: str) -> str:
    """The page. Its policy allows our own style and script by their hashes, and nothing else."""
    from markupsafe import Markup

    style = look_css() + (_HERE / "review.css").read_text(encoding="utf-8")
    script = (_HERE / "review.js").read_text(encoding="utf-8")
    shown = [_shown(found) for found in questions]
    return (
        environment(_HERE)
        .get_template("review.html.j2")
        .render(
            questions=shown,
            criteria=CRITERIA,
            dataset=dataset,
            set_key=hashlib.sha256("".join(one["key"] for one in shown).encode()).hexdigest()[:16],
            style=Markup(style),  # noqa: S704 - our own two files
            script=Markup(script),  # noqa: S704 - our own file
            style_hash=_sha256(style),
            script_hash=_sha256(script),
            made_by=f"edu-rag-bench {__version__}",
        )
    )


def write_review_page(out: Path, questions: Sequence[GeneratedQuestion], dataset: str) -> Path:
    """Write the page into a folder; return its path."""
    path = out / PAGE_FILE
    write_file(path, review_page(questions, dataset).encode("utf-8", "replace"))
    return path
