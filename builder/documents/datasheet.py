"""The dataset's datasheet: the questions of Gebru et al., Datasheets for Datasets (CACM 64(12), 2021), answered.

The text is in datasheet.md; the numbers are filled in here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.documents.stats import DatasetStats

_TEMPLATE = Path(__file__).with_suffix(".md")
_NOT_COLLECTED = "Questions and golds were read from their files; nothing was collected from the web."
_COLLECTED = (
    "Each question's text, without its choices, was the query; of each result the page was fetched over HTTP,\n"
    "robots.txt obeyed, and its raw response kept. Nobody was asked for consent page by page; signals against text\n"
    "and data mining are recorded, and owners can have pages taken out (see Take-down)."
)
_SEEN_TQA = "Systems may have seen the questions: TQA is public since 2017."
_SEEN = "Systems may have seen the questions, where their source is public."


def datasheet(sources: Mapping[str, Any], stats: DatasetStats) -> str:
    """The datasheet as Markdown, the numbers filled in. Holds no string from outside."""
    flags = ("truncated", "context_bound", "duplicate_choices", "duplicate_question")
    return _TEMPLATE.read_text(encoding="utf-8").format(
        n_questions=stats.n_questions,
        n_pages=stats.n_pages,
        pii_masked=stats.page_flags["pii_masked"],
        seen=_SEEN_TQA if stats.n_tqa else _SEEN,
        collected=_NOT_COLLECTED if sources.get("engine", "none") == "none" else _COLLECTED,
        **{flag: stats.question_flags[flag] for flag in flags},
    )
