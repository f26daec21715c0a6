"""BEIR and TREC folders: the pages as documents, the questions as queries, and which pages are relevant.

A page is relevant to a question if it holds evidence, or if the question was taken from it (its home page). Both kinds
have a file of judgements (qrels), and a third file has the two together.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import to_line
from edu_rag.records import HOME_PAGE, Evidence, Question, WebPage

Relevant = Mapping[str, frozenset[str]]


class Judgements(NamedTuple):
    """The relevant pages by question id, in order of id: those with evidence, and home pages."""

    evidence: Relevant
    home: Relevant

    def files(self, name: str) -> dict[str, Relevant]:
        """The judgements by name of file: both kinds as `name`, then each kind that there is."""
        ids = sorted(self.evidence.keys() | self.home.keys())
        none: frozenset[str] = frozenset()
        both = {one: self.evidence.get(one, none) | self.home.get(one, none) for one in ids}
        each = {f"{name}-evidence": self.evidence, f"{name}-home": self.home}
        return {name: both} | {label: found for label, found in each.items() if found}


def judgements(dataset: Dataset, split: str) -> Judgements:
    """The relevant pages of a split's questions. Raises DataError if there are none."""
    kinds: tuple[dict[str, set[str]], dict[str, set[str]]] = ({}, {})
    for item in dataset.records("evidence", split, Evidence):
        kinds[item.method == HOME_PAGE].setdefault(item.question_id, set()).add(item.page_id)
    if not any(kinds):
        raise _none_relevant(dataset, split)
    evidence, home = ({one: frozenset(found[one]) for one in sorted(found)} for found in kinds)
    return Judgements(evidence, home)


def _none_relevant(dataset: Dataset, split: str) -> DataError:
    """The fault of a split without a relevant page: there are no pages, or none holds evidence, or it is hidden."""
    pages = dataset.columns("pages", split, ["page_id"])
    if pages is None or not pages.num_rows:
        what = f"split {split!r} has no pages, and these formats are for retrieval"
        remedy = "build the dataset with an engine, or export it to inspect or lm-eval"
        return DataError(dataset.folder, what, remedy)
    what = f"split {split!r} has no evidence and no home pages, so no page is known to be relevant"
    return DataError(dataset.folder, what, "choose a split whose gold is in the folder")


def write_beir_folder(folder: Path, dataset: Dataset, split: str) -> tuple[int, int]:
    """Write corpus.jsonl, queries.jsonl and qrels/*.tsv; return the numbers of documents and queries.

    Raises DataError for a split without a relevant page, and for a question id with a blank.
    """
    questions, judged = _queries(dataset, split), judgements(dataset, split)
    n_pages = _write_lines(folder / "corpus.jsonl", map(_beir_page, dataset.records("pages", split, WebPage)))
    _write_lines(folder / "queries.jsonl", map(_beir_query, questions))
    for name, relevant in judged.files(split).items():
        rows = (f"{question_id}\t{page_id}\t1\n".encode() for question_id, page_id in _pairs(relevant))
        _write_lines(folder / "qrels" / f"{name}.tsv", (b"query-id\tcorpus-id\tscore\n", *rows))
    return n_pages, len(questions)


def _queries(dataset: Dataset, split: str) -> list[Question]:
    """The questions of a split. Raises DataError for an id with a blank: a blank ends a column of judgements."""
    questions = dataset.questions(split)
    blank = next((one.question_id for one in questions if len(one.question_id.split()) != 1), None)
    if blank is not None:
        what = f"the question id {blank!r} has a blank, which files of judgements cannot hold"
        raise DataError(dataset.folder, what, "give the questions ids without blanks, and build again")
    return questions


def _beir_page(page: WebPage) -> bytes:
    metadata = {"url": page.url, "license": page.license, "flags": page.flags}
    return to_line({"_id": page.page_id, "title": page.title, "text": page.text, "metadata": metadata})


def _beir_query(question: Question) -> bytes:
    metadata = {"kind": question.kind, "choices": question.choices, "lesson": question.lesson}
    return to_line({"_id": question.question_id, "text": question.text, "metadata": metadata})


def write_trec_folder(folder: Path, dataset: Dataset, split: str) -> tuple[int, int]:
    """Write documents.trec, topics.trec, topics.tsv and qrels*.txt; return the numbers of documents and topics.

    Raises as `write_beir_folder`.
    """
    questions, judged = _queries(dataset, split), judgements(dataset, split)
    n_pages = _write_lines(folder / "documents.trec", map(_trec_page, dataset.records("pages", split, WebPage)))
    _write_lines(folder / "topics.trec", map(_trec_topic, questions))
    _write_lines(folder / "topics.tsv", (f"{one.question_id}\t{_line(one.text)}\n".encode() for one in questions))
    for name, relevant in judged.files("qrels").items():
        rows = (f"{question_id} 0 {page_id} 1\n".encode() for question_id, page_id in _pairs(relevant))
        _write_lines(folder / f"{name}.txt", rows)
    return n_pages, len(questions)


def _line(text: str) -> str:
    return " ".join(text.split())


def _trec_page(page: WebPage) -> bytes:
    """A page as a TREC document. Its text is escaped, so that no page ends its document or begins another one."""
    title, url, text = (html.escape(one, quote=False) for one in (_line(page.title), page.url, page.text))
    return (
        f"<DOC>\n<DOCNO>{page.page_id}</DOCNO>\n<URL>{url}</URL>\n<TITLE>\n{title}\n</TITLE>\n"
        f"<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
    ).encode()


def _trec_topic(question: Question) -> bytes:
    choices = "".join(f"{label}. {_line(text)}\n" for label, text in question.choices.items())
    return (
        f"<top>\n<num> Number: {question.question_id}\n<title> {_line(question.text)}\n"
        f"<desc> Description:\n{choices}<narr> Narrative:\n</top>\n"
    ).encode()


def _pairs(relevant: Relevant) -> Iterator[tuple[str, str]]:
    return ((question_id, page_id) for question_id, pages in relevant.items() for page_id in sorted(pages))


def _write_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Write lines into a new file of a folder that is not in its place yet; return their number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        return sum(stream.write(line) > 0 for line in lines)
