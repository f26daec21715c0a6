"""A run shows a system the dataset's sentence vectors, read-only, and nothing else of the dataset's folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hash_encoder import write_with_vectors

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import VECTORS
from edu_rag.files.sentence_vectors import NUMBERS_FILE, VARIABLE
from harness.running.answer_cache import AnswerCache
from harness.running.run import Manner, _given, hiding, run_submission
from harness.sandbox.caps import Caps
from harness.submission.folder import open_submission
from harness.submission.run_record import read_run_record

SYSTEM = """
import json, os
from pathlib import Path
from edu_rag import serve
from edu_rag.files.sentence_vectors import SentenceVectors, TextKeys
from edu_rag.serve import SystemAnswer

place = os.environ.get("EDU_RAG_VECTORS")

def answer(question):
    if place is None:
        return SystemAnswer(answer=None, response="none")
    vectors = SentenceVectors(Path(place))
    key_of = TextKeys(bytes.fromhex(vectors.facts.fingerprint))
    texts = {page.text[start:end] for page in question.pages for start, end in page.sentences} | {question.text}
    seen = {"missing": len(texts) - len(vectors.read([key_of(text) for text in texts])), "place": place}
    seen["files"] = sorted(os.listdir(place))
    seen["written"] = any(os.access(path, os.W_OK) for path in [place, *Path(place).iterdir()])
    return SystemAnswer(answer=None, response=json.dumps(seen))

serve(answer)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with_vectors(tmp_path_factory.mktemp("made") / "ds")


def said(folder: Path, dataset: Dataset, manner: Manner) -> str:
    path = run_submission(open_submission(folder), dataset, "test", None, manner)
    return str(json.loads(path.read_text().splitlines()[0])["response"])


def test_in_the_sandbox_a_system_reads_every_vector_and_sees_nothing_else_of_the_dataset(
    made: Path, write_system: Callable[..., Path], sandbox_here: None
) -> None:
    seen = json.loads(said(write_system(SYSTEM), Dataset(made), Manner()))
    assert seen == {
        "missing": 0,
        "place": "/vectors",
        "files": ["encoder.json", "keys.bin", "vectors.bin"],
        "written": False,
    }


def test_without_a_sandbox_a_system_gets_the_folder_and_never_that_of_another_dataset(
    made: Path, tmp_path: Path
) -> None:
    elsewhere = {"PATH": "/usr/bin", VARIABLE: "/elsewhere"}
    manner = hiding(Dataset(made), Manner(environment=elsewhere, caps=None))
    assert _given(manner)[VARIABLE] == str(made / VECTORS)
    bare = Path(shutil.copytree(made, tmp_path / "bare", ignore=shutil.ignore_patterns(VECTORS)))
    assert VARIABLE not in _given(hiding(Dataset(bare), replace(manner, vectors=None)))


def test_changed_vectors_are_refused_before_anything_runs(
    made: Path, tmp_path: Path, write_system: Callable[..., Path]
) -> None:
    ds = Path(shutil.copytree(made, tmp_path / "ds"))
    (ds / NUMBERS_FILE).write_bytes(b"\0" * (ds / NUMBERS_FILE).stat().st_size)
    folder = write_system(SYSTEM)
    with pytest.raises(DataError, match=r"vectors\.bin: its bytes differ from the manifest's hash"):
        said(folder, Dataset(ds), Manner(caps=Caps()))
    assert not (folder / "predictions").exists()


def test_answers_that_were_given_with_other_vectors_are_not_used_again(
    made: Path, tmp_path: Path, write_system: Callable[..., Path]
) -> None:
    folder, cache = write_system(SYSTEM), AnswerCache(tmp_path / "answers.sqlite")
    bare = Path(shutil.copytree(made, tmp_path / "bare", ignore=shutil.ignore_patterns(VECTORS)))
    manner = Manner(caps=None, cache=cache)
    assert "place" in said(folder, Dataset(made), manner)
    assert said(folder, Dataset(bare), manner) == "none"
    assert "place" in said(folder, Dataset(made), manner)
    record = read_run_record(
        open_submission(folder).predictions_path(Dataset(made).manifest.release.folder, "test", None)
    )
    assert record is not None
    assert (record.n_asked, record.n_cached) == (0, record.n_questions)
