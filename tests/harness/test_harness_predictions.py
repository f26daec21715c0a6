from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.errors import BudgetError, DataError
from edu_rag.files.jsonl import line_blocks, numbered_lines, parse_json
from edu_rag.files.typed import to_record
from edu_rag.scorecard.card import Prediction
from harness.submission import predictions_file
from harness.submission.predictions_file import MAX_FAULTS, _quick, faults_in, predictions_within, read_predictions

KNOWN = {"q1", "q2", "q3"}
GOOD = '{"question_id": "q1", "answer": "b"}\n'

BAD_LINES = [
    ('{"question_id": "q9", "answer": "b"}', "question_id: 'q9' is not a question"),
    ('{"question_id": "q1", "answer": "b"}', "question_id: 'q1' is repeated, first on line 1"),
    ('{"question_id": "q2"}', "answer: missing field"),
    ('{"answer": "b"}', "question_id: missing field"),
    ('{"question_id": "q2", "answer": 1}', "answer: "),
    ('{"question_id": "q2", "answer": "b", "score": 1}', "score: unknown field"),
    ('{"question_id": "q2", "answer": "b", "outcome": "correct"}', "outcome: unknown field"),
    ('{"question_id": "q2", "answer": "b", "answer": "c"}', "answer: the key is repeated"),
    ('{"question_id": "q2", "answer" : "b", "answer" : "c"}', "answer: the key is repeated"),
    ('{"question_id": "q2", "answer" : "b", "answer": "c"}', "answer: the key is repeated"),
    ('{"question_id": "q2", "answer": "b", "\\u0061nswer": "c"}', "answer: the key is repeated"),
    ('{"question_id": "q2", "answer": "b\tc"}', "not JSON"),
    ('{"question_id": "q2", "answer": "b"} {}', "not JSON"),
    ('{"question_id": "q2", "answer": "b", "latency_s": 1e999}', "too large"),
    ('{"question_id": "q2", "answer": "b", "confidence": true}', "confidence: "),
    ('{"question_id": "q2", "answer": "b", "input_tokens": "3"}', "input_tokens: "),
    ('{"question_id": "q2", "answer": "b", "confidence": NaN}', "NaN is not JSON"),
    ('{"question_id": "q2", "answer": "b", "confidence": 1.5}', "confidence: 1.5 is above 1"),
    ('{"question_id": "q2", "answer": "b", "latency_s": -1}', "latency_s: "),
    ('{"question_id": "q2", "answer": "b", "input_tokens": 1.5}', "input_tokens: "),
    ('{"question_id": "q2", "answer": "b", "passages": [["p", 5, 2]]}', "passages: "),
    ('{"question_id": "q2", "answer": "b", "status": "fine"}', "status: unknown status"),
    ('{"question_id": "q2", "answer": "b", "status": "crash"}', "answer: must be null"),
    ('{"question_id": "q2", "answer": "\\ud800"}', "lone surrogate"),
    ('{"question_id": "q2", "answer": "b"', "not JSON"),
    ('["q2", "b"]', "not an object with fields"),
    ("null", "not an object with fields"),
    ("[" * 60_000, "nested deeper"),
    ('{"question_id": "q2", "answer": "b", "input_tokens": ' + "9" * 50_000 + "}", "too long"),
    ("", "is blank"),
]


@pytest.mark.parametrize(("line", "fault"), BAD_LINES)
def test_a_bad_line_is_refused_with_file_line_and_field(
    write_lines: Callable[..., Path], line: str, fault: str
) -> None:
    path = write_lines([GOOD, line + "\n"])
    with pytest.raises(DataError) as error:
        read_predictions(path, KNOWN)
    assert str(error.value).startswith(f"{path}:2: ")
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


@given(
    st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                '"question_id"',
                '"answer"',
                ":",
                " :",
                ",",
                '"q2"',
                '"b"',
                "null",
                "1",
                "-0",
                "1.5",
                "NaN",
                '"\\u0061"',
                '"confidence"',
                "[",
                "]",
                " ",
                "\t",
                '"passages"',
                '["p",0,5]',
                "9" * 25,
                '":"',
                "\ufeff",
                "true",
            ]
        ),
        max_size=14,
    )
)
@settings(max_examples=500)
def test_the_quick_reader_accepts_only_what_the_strict_one_reads_alike(tokens: list[str]) -> None:
    for text in ("".join(tokens), '{"question_id":"q2","answer":"b"' + "".join(tokens) + "}"):
        quick = _quick(text.encode())
        if quick is not None:
            assert to_record(parse_json(text.encode()), Prediction) == quick


def test_more_passages_than_memory_should_hold_are_refused(
    write_lines: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"q{number}" for number in range(4)]
    path = write_lines([{"question_id": one, "answer": "a" * 30_000, "passages": [["p", 0, 1]] * 3} for one in ids])
    monkeypatch.setattr(predictions_file, "MAX_PASSAGES", 12)
    assert list(predictions_within(path, ids)) == ids
    monkeypatch.setattr(predictions_file, "MAX_PASSAGES", 11)
    with pytest.raises(BudgetError, match="cites more than 11 passages: cite fewer for each question"):
        predictions_within(path, ids)


def test_bytes_that_are_no_utf8_and_a_byte_order_mark_are_refused(tmp_path: Path) -> None:
    for number, raw in enumerate([b'{"question_id": "q1", "answer": "\xff"}\n', b"\xef\xbb\xbf" + GOOD.encode()]):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(raw)
        with pytest.raises(DataError, match=r"\.jsonl:1: "):
            read_predictions(path, KNOWN)


def test_a_minimal_and_a_full_line_are_read(write_lines: Callable[..., Path]) -> None:
    full = {
        "question_id": "q2",
        "answer": None,
        "response": "hm",
        "confidence": 1,
        "passages": [["p1", 0, 5]],
        "latency_s": 0.5,
        "input_tokens": 3,
        "output_tokens": 1,
        "cost_usd": 0.1,
        "status": "ok",
    }
    found = read_predictions(write_lines([GOOD, full]), KNOWN)
    assert found["q1"].answer == "b"
    assert found["q2"].passages == (("p1", 0, 5),)
    assert found["q2"].confidence == 1.0
    assert "q3" not in found


def test_all_faults_are_listed_for_check_but_not_without_end(write_lines: Callable[..., Path]) -> None:
    faults = faults_in(write_lines([GOOD, *(line + "\n" for line, _ in BAD_LINES)]), KNOWN, limit=100)
    told = "\n".join(map(str, faults))
    assert all(fault in told for _, fault in BAD_LINES)
    many = write_lines(['{"question_id": "q9", "answer": "b"}\n'] * 500)
    (same,) = faults_in(many, KNOWN)
    assert same.where == f"{many}:1 and 499 more lines"
    different = write_lines([f'{{"question_id": "x{i}", "answer": "b"}}\n' for i in range(500)])
    assert len(faults_in(different, KNOWN)) == MAX_FAULTS
    without_end = write_lines(['{"question_id": "q9", "answer": "b"}\n'] * 5_000)
    *_, last = faults_in(without_end, KNOWN)
    assert "has 1,000 faulty lines: the rest was not read" in str(last)


def test_two_faults_of_one_line_are_both_listed(write_lines: Callable[..., Path]) -> None:
    found = faults_in(write_lines([{"question_id": "q1", "answer": 1, "confidence": "x"}]), KNOWN)
    assert [str(fault).split(": ")[1] for fault in found] == ["answer", "confidence"]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ('{"question_id": "TQA_7", "answer": 3, "passages": [["p1", 5, 2]]}', ["answer", "passages", "question_id"]),
        ('{"question_id": "q1", "answer": "b", "confidence": 2, "latency_s": -1}', ["latency_s", "confidence"]),
        ('{"question_id": "q1", "answer": "b", "status": "crash", "cost_usd": -1}', ["answer", "cost_usd"]),
        ('{"question_id": 1, "status": "odd", "energy_j": -1}', ["question_id", "answer", "status", "energy_j"]),
        ('{"answer": "b", "points": 1, "input_tokens": -5}', ["points", "question_id", "input_tokens"]),
        ('["q1", "b"]', ["value"]),
    ],
)
def test_every_fault_of_a_line_is_told_at_once(write_lines: Callable[..., Path], line: str, fields: list[str]) -> None:
    path = write_lines([line + "\n"])
    assert [str(fault).split(": ")[1] for fault in faults_in(path, KNOWN)] == fields


def test_a_line_repeated_after_a_faulty_one_is_told_too(write_lines: Callable[..., Path]) -> None:
    path = write_lines(['{"question_id": "q1", "answer": 1}\n', GOOD])
    assert [fault.what.split(": ")[0] for fault in faults_in(path, KNOWN)] == ["answer", "question_id"]


def test_a_missing_file_is_one_clear_fault(tmp_path: Path) -> None:
    assert "No such file" in str(faults_in(tmp_path / "none.jsonl", KNOWN)[0])


def test_without_a_dataset_only_the_form_is_checked(write_lines: Callable[..., Path]) -> None:
    assert faults_in(write_lines([{"question_id": "anything", "answer": "b"}]), None) == []


USUAL = st.builds(
    '{{"question_id": "{}", "answer": "{}"{}}}'.format,
    st.sampled_from(["q1", "q2", "q3", "q4", "q9"]),
    st.sampled_from(["b", "a: b", r"say \"x\": y", r"\u00e9"]),
    st.sampled_from(["", ', "confidence": 0.5', ', "passages": [["p", 1, 2]], "status": "ok"']),
)
ODD = st.sampled_from(
    [
        *(line for line, _ in BAD_LINES if len(line) < 200),
        '{"answer": "b", "question_id": "q3"}',
        '{"question_id": "q1", "answer": "b"} {"question_id": "q2", "answer": "b"}',
        '{"question_id": "q3",\n"answer": "b"}',
        '{"question_id": "q3", "answer": "b"}\r',
        '{ "question_id": "q3", "answer": "b"}',
    ]
)


@given(st.lists(USUAL | ODD, max_size=8) | st.lists(USUAL, max_size=8), st.integers(1, 400), st.booleans())
@settings(max_examples=60, deadline=None)
def test_lines_that_are_read_together_are_read_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block_bytes: int, ended: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.jsonl"
    path.write_bytes(("\n".join(lines) + "\n" * ended).encode())
    known = KNOWN | {"q4"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions_file, "line_blocks", partial(line_blocks, block_bytes=block_bytes))
        together = [([str(fault) for fault in faults], read) for faults, read in predictions_file._read(path, known)]
        patch.setattr(predictions_file, "_quick_block", lambda block: None)
        alone = [([str(fault) for fault in faults], read) for faults, read in predictions_file._read(path, known)]
    assert together == alone
    assert len(alone) == len(list(numbered_lines(path)))


def test_only_plain_lines_are_read_together() -> None:
    plain = b'{"question_id": "q1", "answer": "a: b"}\n{"question_id": "q2", "answer": null, "status": "ok"}'
    assert [read.question_id for read in predictions_file._quick_block(plain) or ()] == ["q1", "q2"]
    for fault in (b"\n", b'\n{"answer": "b", "question_id": "q3"}', b'{"question_id": "q3", "answer": "b"}'):
        assert predictions_file._quick_block(plain + fault + b"\n") is None
