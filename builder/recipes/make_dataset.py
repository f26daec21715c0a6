"""Making a dataset by its recipe: sources to a folder of web sites and a file of questions, and the build over them."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from builder.build import build, n_cores
from builder.config import read_config
from builder.question_sets.flat_question import FlatQuestion
from builder.recipes.dataset_recipe import DatasetRecipe, Splits, read_recipe
from builder.recipes.recipe_sources import BookFolder, copy_sites, open_questions, open_sources
from builder.textbooks.book import Module
from builder.textbooks.exercise_questions import LEFT_OUT, identity_of, question_of
from edu_rag.bundled import MINI
from edu_rag.errors import DataError
from edu_rag.files.board_file import BoardDataset
from edu_rag.files.jsonl import write_records
from edu_rag.files.manifest import Manifest
from edu_rag.progress import Stage, say

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="license" href="{licence}"><meta name="author" content="{author}"></head>
<body><main><h1>{title}</h1>
{html}
</main></body></html>
"""


def make_dataset(
    recipe: DatasetRecipe, out: Path, *, sources: Path | None = None, workers: int = 1, confirm: bool = True
) -> Manifest:
    """Build the dataset of a recipe in the folder `out`, from the archives in `sources` or from downloaded ones.

    With `confirm`, the dataset must have the content hash that the recipe names. Raises DataError if a source is
    missing or has changed, or if the content hash is another; what `build` raises.
    """
    scratch = out.with_name(f".{out.name}.sources")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        kept, sites = out.with_name(f"{out.name}.archives"), scratch / "sites"
        if recipe.questions is not None:
            questions, split = open_questions(recipe.questions, sources, kept, scratch), recipe.questions.split
            copy_sites(recipe.site, sources, sites)
        else:
            questions, split = scratch / "questions.jsonl", None
            books = open_sources(recipe, sources, kept, scratch / "unpacked")
            write_records(questions, _write_books(books, recipe, sites))
        manifest = build([questions], out, recipe.config(sites), split=split, workers=workers, fresh=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if confirm and manifest.content_sha256 != recipe.content_sha256:
        what = f"has the content hash {manifest.content_sha256}, but the recipe says {recipe.content_sha256}"
        raise DataError(out, what, "install the versions of constraints.txt, or add --any-content")
    return manifest


def make_board_dataset(dataset: BoardDataset, out: Path, *, sources: Path | None = None) -> None:
    """Build a dataset of the board that is bundled with the package, or that has a recipe."""
    if dataset.bundled:
        build([MINI / "questions.jsonl"], out, read_config(MINI / "build.toml", {}))
    else:
        make_dataset(read_recipe(dataset.name), out, sources=sources, workers=n_cores())


def _write_books(books: Sequence[BookFolder], recipe: DatasetRecipe, sites: Path) -> Iterator[FlatQuestion]:
    """Write every module as a page of a site, and give the questions as lines of a question file."""
    seen: set[tuple[str, ...]] = set()
    left_out: Counter[str] = Counter()
    with Stage("modules", total=sum(len(chapter.module_ids) for book in books for chapter in book.chapters())) as stage:
        for book in books:
            for chapter in book.chapters():
                for module_id in chapter.module_ids:
                    module = book.read(module_id)
                    _write_page(book, module, sites)
                    yield from _questions(book, chapter.title, module, recipe.splits, seen, left_out)
                    stage.add("done")
    for reason, meaning in LEFT_OUT.items():
        if left_out[reason]:
            say(f"left out {left_out[reason]:,} exercises: {meaning}")


def _page_url(address: str) -> str:
    """The URL that the folder engine gives to a module's page: its folder on its host."""
    parts = urlsplit(address)
    return f"http://{parts.hostname}{parts.path}/"


def _write_page(book: BookFolder, module: Module, sites: Path) -> None:
    address = urlsplit(book.address_of(module.module_id))
    path = sites / str(address.hostname) / address.path.lstrip("/") / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = book.source
    page = _PAGE.format(
        title=escape(module.title),
        licence=escape(source.licence_url),
        author=escape(source.attribution),
        html=module.html,
    )
    path.write_text(page, encoding="utf-8")


def _questions(
    book: BookFolder,
    chapter: str,
    module: Module,
    splits: Splits | None,
    seen: set[tuple[str, ...]],
    left_out: Counter[str],
) -> Iterator[FlatQuestion]:
    if splits is None or not book.source.questions:
        return
    lesson = f"{book.source.title}: {chapter or module.title}"
    for exercise in module.exercises:
        question = question_of(exercise)
        if isinstance(question, str):
            left_out[question] += 1
            continue
        identity = identity_of(question)
        if identity in seen:
            left_out["repeated"] += 1
            continue
        seen.add(identity)
        yield FlatQuestion(
            id=f"{book.source.id}-{module.module_id}-{exercise.number:02}",
            type="multiple choice",
            question=question.text,
            choices=dict(question.choices),
            answer=question.answer,
            lesson=lesson,
            split=split_of(lesson, splits),
            page=_page_url(book.address_of(module.module_id)),
        )


def split_of(lesson: str, splits: Splits) -> str:
    """`dev` or `test`, by a hash of the seed and the chapter's name: a chapter's questions stay together."""
    number = int(hashlib.sha256(f"{splits.seed}\0{lesson}".encode()).hexdigest()[:13], 16)
    return "dev" if number < splits.dev * 16**13 else "test"
