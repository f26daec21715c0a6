"""A small synthetic dataset and submissions for the harness's tests, and the real TQA questions as a dataset."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.processes import bounded_child
from edu_rag.records import Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of
from harness.sandbox.caps import Caps
from harness.sandbox.doctor import examine

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
TEXT = "Cells divide by mitosis. Water boils at 100 degrees. Ice floats."


def _question(i: int) -> Question:
    kind, texts = [
        ("true_false", ["true", "false"]),
        ("multiple_choice", ["meiosis", "mitosis", "osmosis"]),
        ("multiple_choice", ["glaciers.", "moving air.", "flowing water.", "all of the above"]),
        ("matching", ["cell", "nucleus", "organ", "tissue", "gene"]),
    ][i % 4]
    return Question(
        question_id=f"q{i:03}",
        text=f"Question number {i}?",
        choices=dict(zip("abcde", texts, strict=False)),
        kind=kind,
        split="test",
        lesson=None if i % 5 == 0 else f"lesson {i % 3}",
        flags=("meta_choice",) if i % 4 == 2 else (),
    )


def _page(i: int) -> WebPage:
    url = f"http://site{i}.example/page"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"Page {i}",
        text=TEXT,
        sentences=(Span(0, 24), Span(25, 52), Span(53, 64)),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor="test",
    )


def build(
    folder: Path,
    questions: Sequence[Question],
    answers: Mapping[str, str],
    *,
    name: str = "tiny",
    version: str = "1.0.0",
    pages: bool = False,
    leaked: int | None = None,
) -> Dataset:
    """Write a dataset through the real writer and open it; `leaked` questions stand on its first page."""
    split = questions[0].split
    golds = [Gold(question_id=question_id, answer=label) for question_id, label in answers.items()]
    tables: dict[str, dict[str, Sequence[object]]] = {"questions": {split: questions}, "gold": {split: golds}}
    if pages:
        web = [_page(i) for i in range(4)]
        asked = [q for i, q in enumerate(questions) if i % 3]
        tables["pages"] = {split: web}
        tables["hits"] = {
            split: [
                SearchHit(
                    question_id=q.question_id,
                    page_id=page.page_id,
                    url=page.url,
                    rank=rank + 1,
                    engine="test",
                    query=q.text,
                    searched_at=WHEN,
                    outcome="kept",
                )
                for q in asked
                for rank, page in enumerate(web[:2])
            ]
        }
        tables["evidence"] = {
            split: [
                Evidence(question_id=q.question_id, page_id=web[0].page_id, start=0, end=24, method="test-v1")
                for q in asked[::2]
            ]
        }
        tables["leaks"] = {
            split: [
                Leak(question_id=q.question_id, page_id=web[0].page_id, start=0, end=24, kind="leak_question")
                for q in questions[: leaked or 0]
            ]
        }
    write_dataset(
        folder,
        tables,
        name=name,
        version=version,
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={} if leaked is None else {"leaks": {"leak_question": leaked}},
        documents=lambda folder, files: {"README.md": b"# tiny\n"},
    )
    return Dataset(folder)


@pytest.fixture(scope="module")
def read_in_this_process() -> Iterator[None]:
    """Read strangers' files in this process: a child for each takes half the processor time of tests that read many.

    At night they are read in bounded children, as in real use; test_harness_reading_budget.py always does so, for every
    command.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("EDU_RAG_NIGHTLY"):
            patch.setattr(bounded_child, "_inside", True)
        yield


@pytest.fixture(scope="session")
def new_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for caches that do not exist yet. For each that it makes, `mktemp` reads the names of all there are."""
    folder = tmp_path_factory.mktemp("own-caches")
    return (folder / str(number) for number in count())


@pytest.fixture(scope="session")
def verified_datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The names of manifests whose rows were read and fitted: reading them again takes a third of a short command."""
    return tmp_path_factory.mktemp("verified")


@pytest.fixture(autouse=True)
def own_cache(new_caches: Iterator[Path], verified_datasets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test uses or fills the user's caches, nor those of another test, but for what was verified."""
    cache = next(new_caches)
    cache.mkdir(mode=0o700)
    (cache / "verified").symlink_to(verified_datasets)
    monkeypatch.setenv("EDU_RAG_CACHE", str(cache))


@pytest.fixture(scope="session")
def build_dataset() -> Callable[..., Dataset]:
    return build


@pytest.fixture(scope="session")
def questions() -> list[Question]:
    return [_question(i) for i in range(40)]


@pytest.fixture(scope="session")
def gold(questions: list[Question]) -> dict[str, str]:
    return {q.question_id: list(q.choices)[i % len(q.choices)] for i, q in enumerate(questions)}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, questions: list[Question], gold: dict[str, str]) -> Dataset:
    return build(tmp_path_factory.mktemp("tiny") / "dataset", questions, gold, pages=True)


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    def write(lines: Sequence[object], name: str = "predictions.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
        return path

    return write


@pytest.fixture
def write_answers(write_lines: Callable[..., Path]) -> Callable[..., Path]:
    def write(answers: Mapping[str, str | None], name: str = "predictions.jsonl") -> Path:
        return write_lines([{"question_id": i, "answer": a} for i, a in answers.items()], name)

    return write


@pytest.fixture
def write_system(tmp_path: Path) -> Callable[..., Path]:
    def write(code: str, *, slug: str = "test-system", extra: str = "") -> Path:
        folder = tmp_path / "submissions" / slug
        folder.mkdir(parents=True, exist_ok=True)
        settings = f'name = "Test system"\nteam = "us"\ncommand = ["python", "system.py"]\n{extra}'
        (folder / "submission.toml").write_text(settings)
        (folder / "system.py").write_text(code)
        return folder

    return write


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read.

    It is not below pytest's own temporary folder: each start of pytest closes that one to other users, also a start
    in another process while this test runs.
    """
    with tempfile.TemporaryDirectory(prefix="edu-rag-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if not all(parent.stat().st_mode & 0o001 for parent in folder.parents):
            pytest.skip(
                f"NOT RUN: other users cannot reach {folder.parent}: set TMPDIR to a folder that they can reach"
            )
        yield folder


@pytest.fixture(scope="session")
def tqa_val(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """All 2,524 real TQA validation questions, read here without the builder, which the harness may not know."""
    kinds = {"Multiple Choice": "multiple_choice", "True or False": "true_false"}
    questions, answers = [], {}
    with (shared_data / "tqa" / "val" / "questions.jsonl").open(encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            kind = kinds.get(row["type"], "matching")
            # One question, NDQ_004046, has the labels a, c, d, e; ours have no gap.
            moved = dict(zip(row["choices"], "abcdefg", strict=False))
            choices = {moved[label]: text for label, text in row["choices"].items()}
            questions.append(
                Question(question_id=row["id"], text=row["question"], choices=choices, kind=kind, split="val")
            )
            answers[row["id"]] = moved[row["answer"]]
    return build(tmp_path_factory.mktemp("tqa") / "dataset", questions, answers, name="tqa")


@pytest.fixture(scope="session")
def sandbox_here() -> None:
    """What runs a system as a user does needs the sandbox; that it lacks is a failure for root and in CI."""
    check = examine(Caps())[0]
    if not check.in_force:
        tell = pytest.fail if os.geteuid() == 0 or os.environ.get("CI") else pytest.skip
        tell(f"NOT RUN: no sandbox on this machine: {check.detail}: {check.remedy}")
