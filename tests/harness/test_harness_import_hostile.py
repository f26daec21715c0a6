"""`edu-rag import` on hostile files: one line, bounded work, and nothing written."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.errors import DataError, EduRagError
from edu_rag.files.dataset import Dataset
from harness.importing.detect_format import FORMATS
from harness.importing.import_predictions import ImportWishes, read_foreign
from harness.importing.match_answers import ImportQuestions
from harness.importing.zip_members import MAX_MEMBER_BYTES, ZipMembers
from tests.harness.import_calls import FILES, mini_questions, refused, written

HEADER = json.dumps({"version": 2, "status": "success", "eval": {}}).encode()
SAMPLE = json.dumps({"id": "q001", "epoch": 1, "input": "?", "output": {"completion": "b"}}).encode()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "submissions"


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return stream.getvalue()


def zstd_member(content: bytes, claimed: int) -> bytes:
    """An archive with a header and one sample packed by zstd, which claims another size than it has."""
    packed = pa.compress(content, codec="zstd", asbytes=True)
    head, name = archive({"header.json": HEADER, "samples/1.json": packed}, zipfile.ZIP_STORED), b"samples/1.json"
    sizes = struct.pack("<II", len(packed), len(packed))
    place = head.index(name)
    changed = bytearray(head)
    changed[place - 22 : place - 20] = struct.pack("<H", 93)
    central = head.index(name, place + 1)
    assert changed[central - 26 : central - 18] == sizes
    changed[central - 36 : central - 34] = struct.pack("<H", 93)
    changed[central - 22 : central - 18] = struct.pack("<I", claimed)
    return bytes(changed)


def bomb() -> bytes:
    """An archive whose one sample unpacks to more than is read."""
    return archive({"header.json": HEADER, "samples/1.json": b" " * (MAX_MEMBER_BYTES + 1)})


HOSTILE = {
    "a bomb": (bomb, f"is over {MAX_MEMBER_BYTES:,} bytes"),
    "a bomb that says it is small": (
        lambda: zstd_member(b"x" * 10_000_000, 1_000),
        "is damaged: its checksum is wrong",
    ),
    "an archive of something else": (lambda: archive({"../../etc/passwd": b"x"}), "is a ZIP archive, but not a log of"),
    "half an archive": (lambda: archive({"header.json": HEADER, "samples/1.json": SAMPLE})[:-40], "is not a whole ZIP"),
    "a damaged sample": (
        lambda: archive({"header.json": HEADER, "samples/1.json": SAMPLE}, zipfile.ZIP_STORED).replace(
            b'"q001"', b'"q002"'
        ),
        "its checksum is wrong",
    ),
    "a sample that is deep": (
        lambda: archive({"header.json": HEADER, "samples/1.json": b"[" * 100_000 + b"]" * 100_000}),
        "nested deeper than",
    ),
    "a sample that is no object": (lambda: archive({"header.json": HEADER, "samples/1.json": b"7"}), "is not a sample"),
    "a log without samples": (lambda: archive({"header.json": HEADER}), "the log holds no samples"),
    "an unknown packing": (
        lambda: archive({"header.json": HEADER, "samples/1.json": SAMPLE * 50}, zipfile.ZIP_LZMA),
        "packed by method 14, which is not read",
    ),
    "an Excel workbook": (lambda: archive({"[Content_Types].xml": b"x", "xl/a.xml": b""}), "is an Excel workbook"),
    "deep JSON": (lambda: b'{"q001": ' + b"[" * 100_000, "nested deeper than"),
    "a number of a million digits": (lambda: b'[{"id": "q001", "answer": ' + b"1" * 1_000_000 + b"}]", "is too long"),
    "a repeated key": (lambda: b'{"q001": "a", "q001": "b"}', "the key is repeated"),
    "an answer that is an object": (
        lambda: b'[{"id": "q001", "answer": {"text": "b"}}]',
        "answer: is an object, not a text: name the part that is the text: --map answer=COLUMN.NAME",
    ),
    "an answer that is a list": (lambda: b'[{"id": "q001", "answer": ["a", "b"]}]', "answer: is a list of 2"),
    "a lone surrogate": (lambda: b'[{"id": "q001", "answer": "\\ud800"}]', "holds a lone surrogate"),
    "text in no encoding": (lambda: b"id,answer\nq001,\xff\xfe\n", "not UTF-8"),
    "nothing": (lambda: b"", "is empty"),
    "a header alone": (lambda: b"id,answer\n", "has no rows"),
    "columns without an end": (lambda: b",".join(b"c%d" % n for n in range(50_000)) + b"\n", "at most 1,000 are read"),
    "a cell without an end": (lambda: b'id,answer\nq001,"' + b"x" * 500_000, "over 131,072 characters"),
    "an id that orders the terminal about": (lambda: b"id,answer\n\x1b[2J\x1b[31mq001,a\n", "none of its 1 rows"),
    "an index of another base": (lambda: b"\x1f\x8b\x08\x00" + b"x" * 50, "is packed by gzip"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_line(name: str, tiny: Dataset, tmp_path: Path, into: Path) -> None:
    make, fault = HOSTILE[name]
    lines = refused(written(tmp_path, "file", make()), tiny, into)
    assert len(lines) == 1
    assert fault in lines[0]
    assert lines[0].isprintable()


def test_a_folder_and_a_pipe_are_not_read(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is not a regular file: give one file" in refused(pipe, tiny, into)[0]
    assert "is a folder: give one file" in refused(tmp_path, tiny, into)[0]
    assert "No such file or directory" in refused(tmp_path / "missing.csv", tiny, into)[0]


def test_a_member_that_leaves_its_folder_is_only_a_name(tmp_path: Path) -> None:
    path = written(tmp_path, "a.eval", archive({"../../outside": b"x", "/abs": b"y"}))
    with ZipMembers(path) as members:
        assert [members.read(name) for name in members.names] == [b"x", b"y"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.eval"]


def test_the_packed_bytes_of_inspect_are_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path, "a.eval", zstd_member(b"x" * 1_000, 999))
    with ZipMembers(path) as members, pytest.raises(DataError, match="is damaged"):
        members.read("samples/1.json")


MINI = ImportQuestions("mini", {question.question_id: question for question, _ in mini_questions()}, {}, {})
REAL = [path.read_bytes() for path in sorted(FILES.iterdir()) if path.suffix in (".eval", ".jsonl")]


@settings(max_examples=60)
@given(
    raw=st.one_of(
        st.binary(max_size=300),
        st.text(alphabet='{}[]":,\n\t idanswer0MINI_\\u', max_size=200).map(str.encode),
        st.builds(
            lambda whole, place, byte: whole[: place % len(whole)] + bytes([byte]) + whole[place % len(whole) + 1 :],
            st.sampled_from(REAL),
            st.integers(0, 10**6),
            st.integers(0, 255),
        ),
    ),
    kind=st.sampled_from([None, *FORMATS]),
)
def test_any_bytes_are_predictions_or_an_error_of_ours(
    raw: bytes, kind: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import edu_rag.processes.bounded_child as child

    path = written(tmp_path_factory.getbasetemp(), "any", raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "_inside", True)  # without a process for each example
        try:
            found = read_foreign(path, MINI, ImportWishes(format=kind))  # type: ignore[arg-type]
        except EduRagError:
            return
        assert found.n_answers == found.lines.count(b"\n") > 0
