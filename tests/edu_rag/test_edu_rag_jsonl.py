"""Strict JSON lines: whatever is odd is refused with its file, line and field."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.__main__ import main, root
from edu_rag.errors import DataError
from edu_rag.files.jsonl import (
    MAX_LINE_BYTES,
    parse_json,
    read_json,
    read_records,
    read_values,
    to_line,
    write_file,
    write_json,
    write_records,
)
from edu_rag.scorecard.card import Passage, Prediction
from harness.running.resume import Partial

DEEP = b"[" * 40 + b"]" * 40
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def faults_of(tmp_path: Path, *lines: bytes) -> str:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DataError) as caught:
        list(read_records(path, Prediction))
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), "p.jsonl")


GOOD = b'{"question_id": "q1", "answer": "a"}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"question_id": "q1", "answer": "a", "answer": "b"}', "p.jsonl:2: answer: the key is repeated"),
        (b'{"question_id": "q1", "answer": "a", "confidence": NaN}', "p.jsonl:2: NaN is not JSON"),
        (b'{"question_id": "q1", "answer": "a", "confidence": -Infinity}', "p.jsonl:2: -Infinity is not JSON"),
        (b'{"question_id": "q1", "answer": "a", "confidence": 1e999}', "p.jsonl:2: the number 1e999 is too large"),
        (b'{"question_id": "q1", "answer": "a", "input_tokens": ' + b"9" * 5000 + b"}", "integer of 5000 digits"),
        (b'{"question_id": "q1", "answer": "\\ud800"}', "p.jsonl:2: holds a lone surrogate"),
        (b'{"question_id": "q1", "answer": "\xed\xa0\x80"}', "p.jsonl:2: not UTF-8 at byte 34"),
        (b'{"question_id": "q1", "answer": ' + DEEP + b"}", "p.jsonl:2: nested deeper than 32"),
        (b'{"question_id": "q1", "answer": ' + b"[" * 100_000, "p.jsonl:2: nested deeper than 32"),
        (b'\xef\xbb\xbf{"question_id": "q1", "answer": "a"}', "p.jsonl:2: starts with a byte order mark"),
        (b"", "p.jsonl:2: line is blank"),
        (b"  \t ", "p.jsonl:2: line is blank"),
        (b'{"question_id": "q1", "answer": "a"', "p.jsonl:2: not JSON"),
        (b'{"question_id": "q1", "answer": "a"} x', "p.jsonl:2: not JSON: Extra data"),
        (b'{"question_id": "q1", "answer": 1}', "p.jsonl:2: answer: is a whole number, not a text"),
        (b'{"question_id": "q1", "anser": "a"}', "p.jsonl:2: anser: unknown field: did you mean 'answer'?"),
        (b'{"answer": "a"}', "p.jsonl:2: question_id: missing field"),
        (b'{"question_id": "q1", "answer": "a", "passages": [["p", 4, 2]]}', "p.jsonl:2: passages: span 4..2"),
        (b'{"question_id": "q1", "answer": "a", "passages": [["p", 4]]}', "p.jsonl:2: passages: "),
        (
            b'{"question_id": "q1", "answer": "a", "confidence": true}',
            "p.jsonl:2: confidence: is true or false, not a number",
        ),
        (b"[1]", "p.jsonl:2: value: is a list, not an object"),
        (b"null", "p.jsonl:2: value: is empty, not an object"),
    ],
)
def test_a_faulty_line_is_refused_with_file_line_and_field(tmp_path: Path, line: bytes, said: str) -> None:
    assert said in faults_of(tmp_path, GOOD, line)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": "b', "Unterminated string starting at character 7"),
        ('["\t"]', "Invalid control character at character 3"),
    ],
)
def test_what_is_no_json_is_told_in_plain_words(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"^not JSON: {told}$"):
        parse_json(text.encode())


def test_an_over_long_line_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    line = b'{"question_id": "q1", "answer": "' + b"a" * MAX_LINE_BYTES + b'"}'
    assert "p.jsonl:2: line is over 4,000,000 bytes" in faults_of(tmp_path, GOOD, line)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_longest_line_is_measured_without_its_end(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'"' + b"a" * (MAX_LINE_BYTES - 2) + b'"' + end)
    assert [len(value) for _, value in read_values(path)] == [MAX_LINE_BYTES - 2]
    path.write_bytes(b'"' + b"a" * (MAX_LINE_BYTES - 1) + b'"' + end)
    with pytest.raises(DataError, match=r"p\.jsonl:1: line is over 4,000,000 bytes"):
        list(read_values(path))


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.jsonl: No such file"):
        list(read_values(tmp_path / "no.jsonl"))
    with pytest.raises(DataError, match="give a readable file"):
        read_json(tmp_path)


def test_a_faulty_json_file_is_named_with_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": 1, "b": 2, "b": 3}')
    with pytest.raises(DataError, match=r"x\.json: b: the key is repeated"):
        read_json(path)


def test_windows_line_ends_and_a_missing_last_line_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(GOOD + b"\r\n" + GOOD.replace(b"q1", b"q2"))
    assert [(n, p.question_id) for n, p in read_records(path, Prediction)] == [(1, "q1"), (2, "q2")]


def test_brackets_inside_strings_are_no_depth() -> None:
    text = "[{" * 500 + '\\"' + "[" * 100
    assert parse_json(json.dumps({"a": text, "b": "\\" * 41}).encode()) == {"a": text, "b": "\\" * 41}


@given(JSON_VALUES)
def test_every_plain_json_value_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        try:
            assert parse_json(text.encode("utf-8")) == json.loads(text)
        except ValueError as error:
            assert "deeper" in str(error) or "lone surrogate" in str(error)  # noqa: PT017 - both are stated limits


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_as_a_value_error(data: bytes) -> None:
    try:
        value = parse_json(data)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - that it says something is the rule
    else:
        assert value == json.loads(data)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    records = [
        Prediction(
            question_id="q1", answer="b", response="\u2028 naïve 🙂", passages=(Passage("p", 0, 3),), cost_usd=0.1
        ),
        Prediction(question_id="q2", answer=None, status="timeout"),
    ]
    path = tmp_path / "deep" / "p.jsonl"
    assert write_records(path, records) == 2
    assert [record for _, record in read_records(path, Prediction)] == records
    assert [entry.name for entry in path.parent.iterdir()] == ["p.jsonl"]
    assert to_line(records[0]).count(b"\n") == 1


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_json(path, {"old": 1})

    def broken() -> Any:
        yield Prediction(question_id="q1", answer="a")
        raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError):
        write_records(path, broken())
    assert read_json(path) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]


def test_a_full_disk_is_reported_with_the_file_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target, partial = tmp_path / "scorecard.json", tmp_path / "val.jsonl.partial"
    writers: dict[Path, Callable[[], object]] = {
        target: lambda: write_file(target, b"{}"),
        partial: lambda: Partial(partial, {}, fresh=True),
    }
    monkeypatch.setattr("os.fsync", fill)
    for path, write in writers.items():
        monkeypatch.setattr(root, "main", lambda write=write, **_: write())
        with pytest.raises(SystemExit) as ended:
            main([])
        assert ended.value.code == 1
        told = f"{path}: No space left on device: free some disk space and run this command again"
        assert capsys.readouterr().err.splitlines() == [told]
    assert not target.exists()
    assert [path.name for path in tmp_path.iterdir()] == [partial.name]
