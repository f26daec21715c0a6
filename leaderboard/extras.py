"""Parts of a site that need the extra `board`: one message says that they are missing, with the remedy; all numbers are
there.
"""

from __future__ import annotations

from edu_rag.errors import MissingExtraError
from edu_rag.look.matplotlib_svg import can_draw
from leaderboard.edition import Edition
from leaderboard.questions.search_index import can_search

REMEDY = "pip install 'edu-rag-bench[board]'"


def missing_extra(edition: Edition) -> MissingExtraError | None:
    """The missing parts of an edition's pages, with the remedy; None if nothing is missing."""
    lacks = [] if can_draw() else [("no plot is drawn", "matplotlib")]
    if edition.exams and not can_search():
        lacks.append(("questions cannot be searched by text", "pagefind-bin"))
    if not lacks:
        return None
    told, packages = (" and ".join(words) for words in zip(*lacks, strict=True))
    verb = "is" if len(lacks) == 1 else "are"
    return MissingExtraError("edu-rag board", f"{told}: {packages} {verb} not installed", REMEDY)
