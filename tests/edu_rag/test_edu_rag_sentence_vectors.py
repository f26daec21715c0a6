"""Sentence vectors of a dataset: read in place, to the bit; files that do not fit are one error; all may be missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from builder_dataset import list_file, tables, write
from hash_encoder import DIMENSION, FACTS, vector_of, write_with_vectors
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import DataError
from edu_rag.files import sentence_vectors
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import VECTORS, check_vector_files, read_manifest
from edu_rag.files.sentence_vectors import (
    FACTS_FILE,
    FILES,
    KEY_BYTES,
    KEYS_FILE,
    NUMBERS_FILE,
    SentenceVectors,
    TextKeys,
    query_texts,
    sentence_texts,
    text_faults,
    vector_faults,
)

KEY_OF = TextKeys(bytes.fromhex(FACTS.fingerprint))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with_vectors(tmp_path_factory.mktemp("made") / "ds")


@pytest.fixture
def ds(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "ds"))


def texts_of(folder: Path) -> Iterator[str]:
    names = read_manifest(folder).files
    yield from sentence_texts(folder, names)
    yield from query_texts(folder, names)


def change(path: Path, edit: Callable[[bytes], bytes]) -> None:
    path.write_bytes(edit(path.read_bytes()))


def test_every_sentence_question_and_statement_has_its_vector_to_the_bit(made: Path) -> None:
    texts = list(dict.fromkeys(texts_of(made)))
    assert {"Lava flows down the volcano.", "Ice floats on water.", "What flows down a volcano? milk"} <= set(texts)
    vectors = SentenceVectors(made / VECTORS)
    assert len(vectors) == len(texts)
    assert vectors.read([KEY_OF(text) for text in texts]) == {KEY_OF(text): vector_of(text) for text in texts}
    assert [*vector_faults(vectors), *text_faults(vectors, texts)] == []


def test_a_text_without_a_vector_is_left_out_of_the_answer(made: Path) -> None:
    known, unknown = KEY_OF("Ice floats on water."), KEY_OF("Nobody wrote this.")
    vectors = SentenceVectors(made / VECTORS)
    assert set(vectors.read([unknown, known, b"\xff" * KEY_BYTES, b"\0" * KEY_BYTES])) == {known}
    assert vectors.read([]) == {}


@given(st.sets(st.binary(min_size=31, max_size=31), min_size=1, max_size=20), st.binary(min_size=31, max_size=31))
def test_keys_that_end_with_zero_bytes_are_found(starts: set[bytes], other: bytes) -> None:
    vectors = SentenceVectors.__new__(SentenceVectors)
    keys = sorted(start + b"\0" for start in starts)
    vectors.keys = np.array(keys, dtype=f"S{KEY_BYTES}")
    vectors.numbers = np.arange(len(keys), dtype=np.float32)[:, None]  # type: ignore[assignment]
    found = vectors.read([*keys, other + b"\1"])
    assert found == {key: np.float32(place).tobytes() for place, key in enumerate(keys)}


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        (NUMBERS_FILE, lambda data: data[:-4]),
        (NUMBERS_FILE, lambda data: data + b"\0"),
        (KEYS_FILE, lambda data: data[:-1]),
        (KEYS_FILE, lambda data: data[KEY_BYTES:]),
        (KEYS_FILE, lambda data: b""),
    ],
)
def test_files_whose_sizes_do_not_fit_are_one_error(ds: Path, file: str, edit: Callable[[bytes], bytes]) -> None:
    change(ds / file, edit)
    with pytest.raises(DataError, match="not vectors of 4 numbers"):
        SentenceVectors(ds / VECTORS)


@pytest.mark.parametrize(
    "facts",
    [
        {"dimension": 0},
        {"dimension": 10**9},
        {"fingerprint": "x"},
        {"fingerprint": "ab" * 31},
        {"encoder": ""},
        {"encoder": "x" * 20_000},
        {"more": 1},
    ],
)
def test_facts_that_are_none_are_one_error(ds: Path, facts: dict[str, object]) -> None:
    change(ds / FACTS_FILE, lambda data: json.dumps({**json.loads(data), **facts}).encode())
    with pytest.raises(DataError, match=r"encoder\.json"):
        SentenceVectors(ds / VECTORS)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@given(data=st.binary(max_size=300))
def test_no_bytes_for_the_facts_do_more_than_raise_our_error(scratch: Path, data: bytes) -> None:
    path = scratch / "encoder.json"
    path.write_bytes(data)
    with pytest.raises(DataError):
        sentence_vectors.read_facts(path)


def test_vectors_larger_than_the_bound_are_not_opened(ds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "MAX_BYTES", 16)
    with pytest.raises(DataError, match="is larger than"):
        SentenceVectors(ds / VECTORS)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_a_number_is_one_error_where_it_is_read(ds: Path, number: float) -> None:
    (ds / NUMBERS_FILE).write_bytes(np.full_like(np.memmap(ds / NUMBERS_FILE, np.float32, "r"), number).tobytes())
    with pytest.raises(DataError, match="not a number"):
        SentenceVectors(ds / VECTORS).read([KEY_OF("Ice floats on water.")])


def swapped(data: bytes) -> bytes:
    return data[KEY_BYTES : 2 * KEY_BYTES] + data[:KEY_BYTES] + data[2 * KEY_BYTES :]


@pytest.mark.parametrize(
    ("file", "edit", "fault"),
    [
        (KEYS_FILE, swapped, "its keys are not in ascending order"),
        (KEYS_FILE, lambda data: data[:KEY_BYTES] + data[:-KEY_BYTES], "its keys are not in ascending order"),
        (NUMBERS_FILE, lambda data: b"\0" * 4 * DIMENSION + data[4 * DIMENSION :], "are not all of length 1"),
        (NUMBERS_FILE, lambda data: b"\0\0\xc0\x7f" + data[4:], "are not all of length 1"),
        (NUMBERS_FILE, lambda data: b"\xff\xff\x7f\x7f" + data[4:], "are not all of length 1"),
        (KEYS_FILE, lambda data: data[:-1] + bytes([data[-1] ^ 1]), "belong to no text"),
    ],
)
def test_what_is_wrong_with_vectors_is_named(ds: Path, file: str, edit: Callable[[bytes], bytes], fault: str) -> None:
    change(ds / file, edit)
    vectors = SentenceVectors(ds / VECTORS)
    found = [*vector_faults(vectors, rows_at_once=3), *text_faults(vectors, texts_of(ds))]
    assert fault in found[0]


def test_a_text_without_a_vector_is_a_fault(made: Path) -> None:
    (fault,) = text_faults(SentenceVectors(made / VECTORS), [*texts_of(made), "New here.", "And this."])
    assert fault.startswith("2 of ")
    assert fault.endswith(" texts have no vector")


def test_a_dataset_with_vectors_has_the_identity_of_the_one_without(made: Path, tmp_path: Path) -> None:
    plain = Dataset(write(tmp_path / "plain", tables())).manifest
    ours = Dataset(made).manifest
    assert (ours.id, ours.content_sha256, ours.contents) == (plain.id, plain.content_sha256, plain.contents)
    assert set(ours.files) - set(plain.files) == set(FILES)


def test_a_dataset_can_be_opened_without_the_vectors_that_its_manifest_lists(ds: Path) -> None:
    assert Dataset(ds).vectors() == ds / VECTORS
    shutil.rmtree(ds / VECTORS)
    assert Dataset(ds).vectors() is None


@pytest.mark.parametrize("file", FILES)
def test_vectors_that_were_changed_or_are_not_whole_are_refused_where_they_are_used(ds: Path, file: str) -> None:
    change(ds / file, lambda data: data[:-1] + b"!")
    opened = Dataset(ds)
    with pytest.raises(DataError, match="differ from the manifest's hash"):
        opened.vectors()
    (ds / file).unlink()
    with pytest.raises(DataError, match="is listed in the manifest but missing"):
        opened.vectors()


def test_a_link_in_the_place_of_a_file_is_refused(ds: Path, tmp_path: Path) -> None:
    moved = (ds / NUMBERS_FILE).rename(tmp_path / "elsewhere")
    (ds / NUMBERS_FILE).symlink_to(moved)
    with pytest.raises(DataError, match="missing"):
        check_vector_files(ds, read_manifest(ds))


def test_other_files_under_the_name_of_vectors_are_not_shown_to_systems(ds: Path) -> None:
    (ds / VECTORS / "gold.bin").write_bytes(b"a")
    list_file(ds, f"{VECTORS}/gold.bin")
    assert Dataset(ds).vectors() is None
