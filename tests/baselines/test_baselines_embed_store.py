"""Where vectors are kept: the shared file is read first and never written, memory is bounded, breaks cost nothing."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.embed.vectors import FILE, Memory, SharedVectors, VectorStore, open_store, publish, rows_of
from edu_rag.errors import DataError


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def vector(number: int, length: int = 4) -> bytes:
    return np.full(length, number, dtype=np.float32).tobytes()


def some(*numbers: int) -> dict[bytes, bytes]:
    return {key(number): vector(number) for number in numbers}


def published(folder: Path, vectors: Mapping[bytes, bytes]) -> Path:
    publish(folder / FILE, vectors.items())
    return folder / FILE


def test_what_is_written_is_read_back_to_the_bit_by_the_next_process(tmp_path: Path) -> None:
    numbers = np.array([0.1, -0.0, np.nextafter(np.float32(1), np.float32(2)), 1e-38], dtype=np.float32)
    VectorStore(tmp_path).write({key(1): numbers.tobytes()})
    assert VectorStore(tmp_path).read([key(1), key(2)]) == {key(1): numbers.tobytes()}


def test_the_shared_file_comes_before_the_cache_and_both_are_read(tmp_path: Path) -> None:
    shared = published(tmp_path / "models", {key(1): vector(10)})
    VectorStore(tmp_path).write(some(1, 2))
    assert open_store(tmp_path, shared).read([key(1), key(2), key(3)]) == {key(1): vector(10), key(2): vector(2)}


def test_more_keys_than_one_statement_takes_are_all_read(tmp_path: Path) -> None:
    vectors = some(*range(1_234))
    shared = published(tmp_path, vectors)
    assert open_store(None, shared).read([*vectors, key(9_999)]) == vectors


def test_new_vectors_never_go_into_the_shared_file(tmp_path: Path) -> None:
    shared = published(tmp_path / "models", some(1))
    before = shared.read_bytes()
    store = open_store(tmp_path, shared)
    store.write(some(2))
    assert store.read([key(1), key(2)]) == some(1, 2)
    assert shared.read_bytes() == before
    assert dict(rows_of(tmp_path / FILE)) == some(2)


def test_a_shared_file_on_a_read_only_mount_is_read_without_a_file_beside_it(tmp_path: Path) -> None:
    shared = published(tmp_path / "models", some(1))
    shared.chmod(stat.S_IRUSR)
    shared.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert open_store(None, shared).read([key(1)]) == some(1)
        assert [path.name for path in shared.parent.iterdir()] == [FILE]
    finally:
        shared.parent.chmod(stat.S_IRWXU)


def test_a_plain_copy_of_a_cache_that_is_at_rest_can_be_shared(tmp_path: Path) -> None:
    store = VectorStore(tmp_path)
    store.write(some(1))
    assert store._db is not None
    store._db.close()  # the last connection writes the log back
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / FILE).write_bytes((tmp_path / FILE).read_bytes())
    assert open_store(None, tmp_path / "models" / FILE).read([key(1)]) == some(1)


def test_a_cache_in_use_is_copied_with_what_stands_in_its_log_and_is_refused_as_shared(tmp_path: Path) -> None:
    store = VectorStore(tmp_path)
    store.write(some(1, 2))
    assert (tmp_path / f"{FILE}-wal").stat().st_size > 0
    assert publish(tmp_path / "models" / FILE, rows_of(tmp_path / FILE)) == 2
    assert open_store(None, tmp_path / "models" / FILE).read([key(2)]) == some(2)
    with pytest.raises(DataError, match="is being written"):
        SharedVectors(tmp_path / FILE)


def test_publishing_adds_keeps_what_is_there_and_gives_the_same_bytes_for_the_same_rows(tmp_path: Path) -> None:
    shared = published(tmp_path / "a", some(3, 1))
    assert publish(shared, [(key(2), vector(2)), (key(1), vector(99))]) == 3
    assert dict(rows_of(shared)) == some(1, 2, 3)
    rows = sorted(some(1, 2, 3).items())
    publish(tmp_path / "b" / FILE, rows)
    publish(tmp_path / "c" / FILE, rows)
    assert (tmp_path / "b" / FILE).read_bytes() == (tmp_path / "c" / FILE).read_bytes()
    assert [path.name for path in shared.parent.iterdir()] == [FILE]


def test_a_reader_of_the_old_shared_file_goes_on_while_a_new_one_takes_its_place(tmp_path: Path) -> None:
    shared = published(tmp_path, some(*range(600)))
    old = open_store(None, shared)
    publish(shared, some(*range(600, 1_200)).items())
    assert old.read([key(number) for number in range(600)]) == some(*range(600))
    assert old.read([key(1_000)]) == {}
    assert open_store(None, shared).read([key(1_000)]) == some(1_000)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 500])
def test_a_broken_shared_file_is_an_error_that_names_it_and_the_remedy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(DataError, match=rf"{FILE}: is not a file of vectors .*baselines\.retrieve\.warm"):
        open_store(None, tmp_path / FILE)
    with pytest.raises(DataError, match="is not a file of vectors"):
        list(rows_of(tmp_path / FILE))


def test_a_shared_file_that_breaks_off_is_an_error_and_not_a_vector_less(tmp_path: Path) -> None:
    shared = published(tmp_path, {key(number): vector(number, 384) for number in range(300)})
    content = shared.read_bytes()
    shared.write_bytes(content[:20_000] + b"\xff" * (len(content) - 20_000))
    with pytest.raises(DataError, match="malformed"):
        open_store(None, shared).read([key(number) for number in range(300)])


def test_a_target_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        publish(tmp_path / "file" / FILE, some(1).items())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_without_a_shared_file_and_a_folder_vectors_live_in_memory(tmp_path: Path) -> None:
    store = open_store(None, tmp_path / "models" / FILE)
    store.write(some(1))
    assert store.read([key(1), key(2)]) == some(1)


def test_a_disk_that_is_full_costs_the_cache_and_not_the_answer(tmp_path: Path) -> None:
    store = VectorStore(tmp_path)
    assert store._db is not None
    store._db.execute("PRAGMA max_page_count = 3")  # what SQLite says of a full disk, it says of a full file
    many = {key(number): vector(number, 2_000) for number in range(50)}
    store.write(many)
    assert store.read(list(many)) == many
    store.write(some(100))
    assert store.read([key(100)]) == some(100)


def test_what_was_read_once_is_not_read_from_disk_again(tmp_path: Path) -> None:
    store = open_store(None, published(tmp_path, some(1, 2)))
    store.read([key(1)])
    asked: list[bytes] = []
    store._below = lambda keys: asked.extend(keys) or some(2)  # type: ignore[method-assign,func-returns-value]
    assert store.read([key(1), key(2)]) == some(1, 2)
    assert asked == [key(2)]


def test_memory_holds_the_vectors_used_last() -> None:
    memory = Memory(n_bytes=3 * 16)  # three vectors of four float32
    memory.write(some(1, 2, 3))
    memory.read([key(1)])
    memory.write(some(4))
    assert memory.read([key(number) for number in range(1, 5)]) == some(1, 3, 4)  # 2 was used longest ago


def test_a_vector_larger_than_memory_is_not_held() -> None:
    memory = Memory(n_bytes=16)
    memory.write({key(1): vector(1, 100)})
    assert memory.read([key(1)]) == {}
    memory.write(some(2))
    assert memory.read([key(2)]) == some(2)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), max_size=40), st.integers(0, 100))
def test_memory_is_never_over_its_bound_and_never_wrong(writes: list[tuple[int, int]], n_bytes: int) -> None:
    memory = Memory(n_bytes)
    last: dict[bytes, bytes] = {}
    for number, length in writes:
        memory.write({key(number): vector(number, length)})
        last[key(number)] = vector(number, length)
        held = memory.read([key(other) for other in range(10)])
        assert sum(map(len, held.values())) <= n_bytes
        assert held.items() <= last.items()


def test_a_store_with_a_tiny_memory_reads_what_a_large_one_reads(tmp_path: Path) -> None:
    vectors = some(*range(100))
    shared = SharedVectors(published(tmp_path, vectors))
    small = VectorStore(None, above=[shared], memory_bytes=64)
    assert small.read(list(vectors)) == vectors
    assert small.read(list(vectors)[::-1]) == vectors


def test_rows_of_a_file_without_the_table_are_an_error(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE words (word)").connection.close()
    with pytest.raises(DataError, match="no such table"):
        list(rows_of(tmp_path / "other.sqlite"))
