"""A made-up dataset with a card, changes and a hidden split, and results on it and on others. Never results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fixture_board as made
from some_pages import build_some

from builder.documents.dataset_documents import dataset_documents
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.manifest import FileEntry
from edu_rag.gold import Gold
from edu_rag.records import HIT_OUTCOMES, PAGE_FLAGS, Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of
from leaderboard.exams import open_exams
from leaderboard.pages import assets, dataset_pages

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
NAME, VERSION = "lab", "2.1.0"
REPOSITORY = "https://code.example/edu-rag/bench"
N_VAL, N_TEST = 60, 7
FLAGS = ("meta_choice", "truncated", "context_bound")
EXTRACTORS = ("cascade-v1:fast", "cascade-v1:slow")
LICENCES = ("https://creativecommons.org/licenses/by/4.0/", None, None)
CHANGES = b"""# Changes

Major: questions or gold changed. Minor: pages, evidence or labels. Patch: metadata alone.

## 2.1.0 (2026-11-22)

Against `lab@2.0.0#00000000`: pages changed.

- **hits**: 3 changed (outcome 3)
  - changed: q\\_001
- **taken down**: host gone.example (owner asked): 1 pages, 3 hits, 0 evidence spans, 0 leaks

## 2.0.0 (2026-11-01)

- **questions**: 4 changed (text 4)
"""


def _question(number: int, split: str) -> Question:
    kinds = (("true_false", 2), ("multiple_choice", 3), ("multiple_choice", 4))
    kind, n = kinds[number % 3]
    return Question(
        question_id=f"{split}_{number:03}",
        text=f"What is thing {number} of {split}?",
        kind=kind,
        split=split,
        choices={"abcd"[at]: f"choice {at}" for at in range(n)},
        flags=FLAGS[number % 5 : number % 5 + 1],
    )


def page_of(number: int, **more: Any) -> WebPage:
    """A page of one of 25 hosts, of a length of its own."""
    url = f"https://host-{number % 25:02}.example/{number}"
    text = "A thing is a thing. " * (1 + number * number)
    values: dict[str, Any] = {
        "url": url,
        "license": LICENCES[number % 3],
        "extractor": EXTRACTORS[number % 2],
        "language": None if number % 10 == 9 else "en",
        "flags": PAGE_FLAGS[number % 9 : number % 9 + 1],
    }
    values |= more
    return WebPage(
        page_id=page_id_of(values["url"]),
        title="Things",
        text=text,
        sentences=(Span(0, 19),),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        **values,
    )


def _hits(question: Question, number: int, pages: list[WebPage]) -> list[SearchHit]:
    """Up to five results; a page may be found twice, and of every seventh question nothing was kept."""
    found = []
    for rank in range(1, 6):
        page = pages[(number * (rank // 2 + 1)) % len(pages)]
        kept = number % 7 != 3 and (number + rank) % 4 != 0
        dropped = HIT_OUTCOMES[1 + (number * rank) % (len(HIT_OUTCOMES) - 1)]
        found.append(
            SearchHit(
                question_id=question.question_id,
                page_id=page.page_id if kept else None,
                url=page.url,
                rank=rank,
                engine="x",
                query="q",
                searched_at=WHEN,
                outcome="kept" if kept else dropped,
            )
        )
    return found


def tables_of(**more: Any) -> dict[str, dict[str, list[Any]]]:
    """Two splits, the gold of one of them; `more` goes to every page."""
    found: dict[str, dict[str, list[Any]]] = {name: {} for name in ("questions", "hits", "pages")}
    for split, n in (("val", N_VAL), ("test", N_TEST)):
        questions = [_question(number, split) for number in range(n)]
        pages = [page_of(number, **more) for number in range(n)]
        hits = [_hits(question, number, pages) for number, question in enumerate(questions)]
        used = {hit.page_id for of in hits for hit in of}
        found["questions"][split], found["hits"][split] = questions, [hit for of in hits for hit in of]
        found["pages"][split] = [page for page in pages if page.page_id in used]
    ids = [question.question_id for question in found["questions"]["val"]]
    page_id = found["pages"]["val"][0].page_id
    found["gold"] = {"val": [Gold(question_id=one, answer="a") for one in ids]}
    found["evidence"] = {
        "val": [
            Evidence(question_id=one, page_id=page_id, start=0, end=7, method=method)
            for method, step in (("made-v1", 4), ("other-v1", 6))
            for one in ids[::step]
        ]
    }
    found["leaks"] = {
        "val": [
            Leak(question_id=one, page_id=page_id, start=0, end=7, kind=("leak_question", "leak_key")[at % 2])
            for at, one in enumerate(ids[::11])
        ]
    }
    return found


def sources_of(tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, Any]:
    fates: dict[str, int] = {}
    for hit in (hit for hits in tables["hits"].values() for hit in hits):
        fates[hit.outcome] = fates.get(hit.outcome, 0) + 1
    return {"engine": "x", "hits_by_outcome": fates}


def write_lab(folder: Path) -> Dataset:
    """A dataset with the card that the builder writes."""
    tables = tables_of()
    sources = sources_of(tables)
    card = dataset_documents(NAME, VERSION, WHEN.isoformat(), sources)

    def documents(at: Path, files: Mapping[str, FileEntry]) -> Mapping[str, bytes]:
        return {**card(at, files), "CHANGES.md": CHANGES}

    write_dataset(
        folder,
        tables,
        name=NAME,
        version=VERSION,
        created_at=WHEN.isoformat(),
        builder="edu-rag-bench 0.1.0",
        config_sha256="0" * 64,
        sources=sources,
        documents=documents,
    )
    return Dataset(folder)


def write_hostile_lab(folder: Path, text: str, bare: bool = False) -> Dataset:
    """The same with a string of an attacker's in every field that a page or a maintainer's file may fill."""
    plain = text.replace("\x00", "") or "x"
    tables = tables_of(license=plain, language=plain, extractor=plain, url=f"https://{plain[:200]}/x y?q={plain[:200]}")
    body = f"# a\n\n## Licences\n\n- {text}\n\n{text}\n\n## Take-down\n\n[x](javascript:window.harmed=1) {text}\n"
    changes = f"# Changes\n\n## 2.1.0 {text}\n\n- **{text}\n  - {text}\n```\n{text}\n"
    files = {} if bare else {"README.md": body.encode(), "CHANGES.md": changes.encode() + b"\xff\x00"}
    write_dataset(
        folder,
        tables,
        name=NAME,
        version=VERSION,
        created_at=WHEN.isoformat(),
        builder=plain,
        config_sha256="0" * 64,
        sources={plain: {plain: [plain]}},
        documents=lambda *_: files,
    )
    return Dataset(folder)


def write_results(results: Path, dataset: Dataset) -> None:
    """alpha and beta on the dataset, beta on the version before as well, gamma on that alone, delta on another."""
    outcomes = ("c" * 20 + "i" * 30 + "a" * 10)[:N_VAL]
    before = f"{NAME}@2.0.0#0123abcd"
    for slug, on in (
        ("alpha", dataset.id),
        ("beta", dataset.id),
        ("beta", before),
        ("gamma", before),
        ("delta", "other@3.0.0#9c9c9c9c"),
    ):
        card = made.card_of(slug, outcomes, dataset=on, name=slug)
        made.write_card(results / on.split("#")[1], card)


def write_site(folder: Path, dataset: Dataset, **given: Any) -> Path:
    """Results and site under a folder; the site's path."""
    write_results(folder / "results", dataset)
    values = {"exams": open_exams([dataset.folder]), "repository": REPOSITORY} | given
    return build_some(folder / "results", folder / "site", (dataset_pages, assets), **values)
