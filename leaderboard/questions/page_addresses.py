"""The paths of question pages in the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaderboard.edition import Edition
    from leaderboard.exams import SiteExam

TOP = "questions/index.html"
"""The list of explorers, where there are several."""


def folder_of(exam: SiteExam) -> str:
    """The folder of an exam's pages; a split's name holds no '-', so that no two exams share a folder."""
    name, major, split = exam.key
    return f"questions/{name}-v{major}-{split}"


def explorer_of(exam: SiteExam) -> str:
    """The page of an exam's explorer."""
    return f"{folder_of(exam)}/index.html"


def first_page(edition: Edition) -> str | None:
    """Where the navigation leads: the only explorer, or the list of several; None if no questions are shown."""
    exams = list(edition.exams.values())
    if not exams:
        return None
    return explorer_of(exams[0]) if len(exams) == 1 else TOP
