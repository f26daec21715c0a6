"""The question explorer: a page a lesson, its shard for scripts, the index, and the search built ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import jinja2
from markupsafe import Markup

from edu_rag.look.bar_geometry import outcome_parts
from leaderboard.edition import Edition
from leaderboard.exams import SiteExam
from leaderboard.questions.exam_pages import QuestionSite, key_text
from leaderboard.questions.page_addresses import TOP, explorer_of, first_page
from leaderboard.questions.search_index import can_search, search_files
from leaderboard.questions.shards import index_files
from leaderboard.questions.system_rows import counts_at
from leaderboard.questions.views import LETTER_OUTCOMES
from leaderboard.render import frame_of
from leaderboard.site_parts import SitePart, key_of

Files = Iterator[tuple[str, bytes]]


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
    yield TOP, pages.get_template("questions_list.html.j2").render(root="../", here=TOP, exams=shown).encode()


def _exam_parts(edition: Edition, pages: jinja2.Environment, exam: SiteExam) -> Iterator[SitePart]:
    question_site, frame = QuestionSite(edition, exam), frame_of(edition)
    here = first_page(edition) or ""
    whole = key_text([frame, question_site.made_from, here])
    try:
        for at, page in enumerate(question_site.pages):
            files = partial(_lesson_files, pages, question_site, at)
            yield SitePart(f"{question_site.folder}/{page.slug}", key_of("lesson", whole, at), files)
    finally:
        question_site.leave()
    yield SitePart(
        f"{question_site.folder}/index", key_of("explorer", whole), partial(_explorer_files, pages, question_site, here)
    )
    if can_search():
        key = key_of("search", exam.dataset.id, exam.split)
        yield SitePart(f"{question_site.folder}/search", key, partial(_search_files, question_site))


def parts(edition: Edition, pages: jinja2.Environment) -> Iterator[SitePart]:
    """All explorers, and the list of them where there are several."""
    exams = list(edition.exams.values())
    for exam in exams:
        yield from _exam_parts(edition, pages, exam)
    if len(exams) > 1:
        key = key_of(frame_of(edition), [(exam.dataset.id, exam.split) for exam in exams])
        yield SitePart("questions", key, partial(_top_files, pages, exams))
