"""The question explorer: a page a lesson, its shard for scripts, the index, and the search built ahead."""

from __future__ import annotations

from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from edu_rag.look.bar_geometry import outcome_parts
from leaderboard.edition import EXPLORERS, Edition, questions_page
from leaderboard.exams import SiteExam, explorer_of
from leaderboard.questions.exam_pages import QuestionSite
from leaderboard.questions.lesson_markup import LETTER_OUTCOMES
from leaderboard.questions.question_index import index_files
from leaderboard.questions.search_index import can_search, search_files
from leaderboard.questions.system_rows import counts_at
from leaderboard.site import Files


def _lesson_files(pages: jinja2.Environment, question_site: QuestionSite, at: int) -> Files:
    page, made = question_site.pages[at], question_site.lesson(at)
    # The questions were escaped where they were made.
    questions = Markup(made.markup)  # noqa: S704
    lesson = pages.get_template("lesson.html.j2").render(
        root="../../",
        here="",
        question_site=question_site,
        page=page,
        title=page.title(question_site.questions),
        questions=questions,
        before=question_site.pages[at - 1] if at else None,
        after=question_site.pages[at + 1] if at + 1 < len(question_site.pages) else None,
    )
    yield f"{question_site.folder}/{page.slug}.html", lesson.encode()
    yield f"{question_site.folder}/data/{page.slug}.json", made.shard


def _explorer_files(pages: jinja2.Environment, question_site: QuestionSite, here: str) -> Files:
    counts = [counts_at(question_site.tallied, page.numbers) for page in question_site.pages]
    bars = [outcome_parts(one) if one else [] for one in counts]
    explorer = pages.get_template("questions.html.j2").render(
        root="../../",
        here=here,
        question_site=question_site,
        lessons=list(zip(question_site.pages, counts, bars, strict=True)),
        search=can_search(),
        outcomes=LETTER_OUTCOMES,
    )
    yield f"{question_site.folder}/index.html", explorer.encode()
    yield from index_files(question_site, search=can_search())


def _search_files(question_site: QuestionSite) -> Files:
    for name, data in search_files(question_site.questions):
        yield f"{question_site.folder}/search/{name}", data


def _top_files(pages: jinja2.Environment, exams: Sequence[SiteExam]) -> Files:
    shown = [(explorer_of(exam), exam) for exam in exams]
    yield (
        EXPLORERS,
        pages.get_template("questions_list.html.j2").render(root="../", here=EXPLORERS, exams=shown).encode(),
    )


def _exam_files(edition: Edition, pages: jinja2.Environment, exam: SiteExam) -> Files:
    question_site = QuestionSite(edition, exam)
    try:
        for at in range(len(question_site.pages)):
            yield from _lesson_files(pages, question_site, at)
    finally:
        question_site.leave()
    yield from _explorer_files(pages, question_site, questions_page(edition) or "")
    if can_search():
        yield from _search_files(question_site)


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """All explorers, and the list of them if there are several."""
    exams = list(edition.exams.values())
    for exam in exams:
        yield from _exam_files(edition, pages, exam)
    if len(exams) > 1:
        yield from _top_files(pages, exams)
