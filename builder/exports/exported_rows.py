"""The rows of an exported task: every question of a split with its gold, and the parts of its pages that are shown."""

from __future__ import annotations

from collections.abc import Iterator

from builder.exports.export_pairs import (
    PageShelf,
    asked_text,
    clean_own_pages,
    clean_pages,
    material_of,
    pages_text,
    shown_spans,
)
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.exported_question import ExportedQuestion
from edu_rag.gold import Gold, match_gold


def exported_rows(dataset: Dataset, split: str, max_characters: int) -> Iterator[ExportedQuestion]:
    """The rows of a split in order of question id. Raises DataError if the split's gold is not in the folder.

    Pages are those of the export of fine-tuning pairs: up to five of the question's own, without pages that leak a
    question or hold planted text. A question without such a page is asked without pages: no question is left out.
    """
    if not dataset.files("gold", split):
        raise DataError(dataset.folder, f"the gold of split {split!r} is not here", "choose a split that has gold")
    questions = dataset.questions(split)
    gold = match_gold(questions, dataset.records("gold", split, Gold), dataset.folder)
    with PageShelf(clean_pages(dataset, split)) as shelf:
        material = material_of(dataset, split, shelf)
        for question in questions:
            pages = clean_own_pages(question, material)
            shown = pages_text(pages, shown_spans(pages, question, max_characters))
            yield ExportedQuestion.of(question, gold[question.question_id], asked_text(question), shown)
