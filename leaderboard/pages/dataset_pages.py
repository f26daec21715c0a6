"""The datasets: a page a version with numbers, plots, changes, licences and the code that loads it, and datasets.html
that leads to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jinja2

from edu_rag.look.matplotlib_svg import can_draw
from leaderboard.datasets import meanings
from leaderboard.datasets.pictures import Count, largest, plots_of, share_of
from leaderboard.datasets.table_figures import Facts
from leaderboard.datasets.version_pages import CARD, CHANGES, CROISSANT, MANIFEST, TOP, ShownVersion, versions_of
from leaderboard.edition import Edition
from leaderboard.exams import explorer_of
from leaderboard.issue_links import takedown_link
from leaderboard.pages.plot_pages import alt_of, height_of, is_drawn
from leaderboard.plots.plot import NARROW, WIDE, Plot, Sheet
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


class Code(NamedTuple):
    """Code in words of one language, and what it is for."""

    about: str
    language: str
    text: str


def folder_name(version: ShownVersion) -> str:
    """Where `edu-rag dataset fetch --out datasets` puts it."""
    return f"datasets/{version.id.name}-{version.version}"


def _fetch(version: ShownVersion) -> Code:
    text = (
        f"edu-rag dataset fetch --board leaderboard/board.toml --only {version.id.name} --out datasets\n"
        f"edu-rag dataset check {folder_name(version)}"
    )
    return Code(
        "Get the folder and check it. The first command runs in a checkout of the repository, whose board.toml says "
        "where each dataset is, and in which version. It names a dataset that is not published, and leaves it out.",
        "sh",
        text,
    )


def _check(version: ShownVersion) -> Code:
    # `dataset fetch` gets the one version that board.toml names, which an older one is not.
    about = (
        "Check a copy of the folder. It is this version if the content_sha256 in its manifest.json begins "
        f"with {version.id.hash8}."
    )
    return Code(about, "sh", f"edu-rag dataset check {folder_name(version)}")


def _with_datasets(version: ShownVersion, configs: list[str]) -> Code:
    lines = [f'{config} = load_dataset("{folder_name(version)}", "{config}")' for config in configs]
    text = "\n".join(["from datasets import load_dataset", "", *lines])
    return Code("Load it with Hugging Face datasets (pip install datasets), one configuration a table.", "python", text)


def _with_records(version: ShownVersion, split: str) -> Code:
    text = f"""\
from pathlib import Path

from edu_rag.files.dataset import Dataset

dataset = Dataset(Path("{folder_name(version)}"))  # every file must have the manifest's hash
questions = dataset.questions("{split}")
hits = dataset.hits("{split}")  # by question id, best rank first
pages = dataset.pages("{split}")  # by page id"""
    return Code("Or as checked records, with edu-rag-bench alone.", "python", text)


def codes_of(version: ShownVersion) -> list[Code]:
    """The commands and programs of a page; those that need the tables' names only where the folder was given."""
    facts = version.facts
    if facts is None:
        return [_check(version)]
    sizes = facts.rows["questions"]
    largest = max(sorted(sizes), key=lambda split: sizes[split])
    return [_fetch(version), _with_datasets(version, list(facts.rows)), _with_records(version, largest)]


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
