"""The datasets: a page a version with numbers, plots, changes and licences, and datasets.html that leads to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jinja2

from edu_rag.look.matplotlib_svg import can_draw
from leaderboard.datasets import meanings
from leaderboard.datasets.loading import codes_of
from leaderboard.datasets.pictures import Count, largest, plots_of, share_of
from leaderboard.datasets.table_figures import Facts
from leaderboard.datasets.version_pages import CARD, CHANGES, CROISSANT, MANIFEST, TOP, ShownVersion, versions_of
from leaderboard.edition import Edition
from leaderboard.issue_links import takedown_link
from leaderboard.pages.plot_pages import alt_of, height_of, is_drawn
from leaderboard.plots.plot import NARROW, WIDE, Plot, Sheet
from leaderboard.questions.page_addresses import explorer_of
from leaderboard.site import Files

FILE_WORDS = {
    CARD: "dataset card (Markdown)",
    CROISSANT: "Croissant metadata (JSON)",
    MANIFEST: "manifest: every file with its hash (JSON)",
    CHANGES: "all changes (Markdown)",
}
TOOLS = {
    "WIDE": WIDE,
    "NARROW": NARROW,
    "alt_of": alt_of,
    "is_drawn": is_drawn,
    "height_of": height_of,
    "can_draw": can_draw,
    "share_of": share_of,
    "meanings": meanings,
    "FILE_WORDS": FILE_WORDS,
    "explorer_of": explorer_of,
}


def picture_of(version: ShownVersion, plot: Plot, sheet: Sheet) -> str:
    """The path of a picture in the site."""
    return f"{version.folder}/{plot.name}{sheet.suffix}.svg"


class CountTable(NamedTuple):
    """A small table: `head` is the heading of the names, `means` explains those that are our flags."""

    title: str
    head: str
    what: str
    total: int
    counts: Sequence[Count]
    means: Mapping[str, str]


def _tables(facts: Facts) -> list[CountTable]:
    """Flags, languages and extractors; those that count nothing are left out."""
    n, pages = facts.n_questions, facts.n_pages
    flags = largest(facts.question_flags), largest(facts.page_flags)
    found = (
        CountTable("Flags of questions", "flag", "questions", n, flags[0], meanings.QUESTION_FLAGS),
        CountTable("Flags of pages", "flag", "pages", pages, flags[1], meanings.PAGE_FLAGS),
        CountTable("Languages of the pages", "language", "pages", pages, largest(facts.languages), {}),
        CountTable("What extracted the text", "extractor", "pages", pages, largest(facts.extractors), {}),
    )
    return [table for table in found if table.counts]


def _page(pages: jinja2.Environment, version: ShownVersion, others: Sequence[ShownVersion], repository: str) -> bytes:
    facts = version.facts
    template = pages.get_template("dataset.html.j2" if version.dataset else "dataset_known.html.j2")
    text = template.render(
        version=version,
        others=others,
        facts=facts,
        plots=plots_of(facts) if facts else [],
        tables=_tables(facts) if facts else [],
        licences=largest(facts.licences) if facts else [],
        codes=codes_of(version),
        takedown=takedown_link(repository, version.text),
        picture_of=partial(picture_of, version),
        root="../",
        here="",
        **TOOLS,
    )
    return text.encode()


def _files(pages: jinja2.Environment, version: ShownVersion, others: Sequence[ShownVersion], repository: str) -> Files:
    yield version.page, _page(pages, version, others, repository)
    for name, path in version.files().items():
        yield f"{version.folder}/{name}", path
    for plot in filter(is_drawn, plots_of(version.facts) if version.facts else []):
        for sheet in (WIDE, NARROW):
            yield picture_of(version, plot, sheet), plot.svg(sheet, f"{plot.title}: {version.text}")


def _list(pages: jinja2.Environment, versions: Sequence[ShownVersion]) -> Files:
    yield TOP, pages.get_template("datasets.html.j2").render(versions=versions, root="", here=TOP, **TOOLS).encode()


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """The page of each version with its pictures and files, and the list of them."""
    versions = versions_of(edition)
    for version in versions:
        others = [other for other in versions if other.id.name == version.id.name and other is not version]
        yield from _files(pages, version, others, edition.repository)
    yield from _list(pages, versions)
