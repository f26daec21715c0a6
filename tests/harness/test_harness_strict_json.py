"""Strict JSON in predictions files: every kind of fault of JSONTestSuite is refused with its file and line."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.__main__ import COMMANDS
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import MAX_LINE_BYTES, parse_json
from edu_rag.files.typed import to_record
from edu_rag.scorecard.card import Prediction
from harness.submission.predictions_file import _quick

pytestmark = pytest.mark.usefixtures("read_in_this_process")

HEAD = b'{"question_id":"q001","answer":"a"'
NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
"""Whether each line goes through every command that reads it; by day through one of the three."""

# The kinds of faults of JSONTestSuite (n_*), written down here: each is a whole line that is no JSON.
NO_JSON = {
    "array_1_true_without_comma": b"[1 true]",
    "array_colon_instead_of_comma": b'["": 1]',
    "array_comma_after_close": b'[""],',
    "array_comma_and_number": b"[,1]",
    "array_double_comma": b"[1,,2]",
    "array_double_extra_comma": b'["x",,]',
    "array_extra_close": b'["x"]]',
    "array_extra_comma": b'["",]',
    "array_incomplete": b'["x"',
    "array_inner_array_no_comma": b"[3[4]]",
    "array_just_comma": b"[,]",
    "array_just_minus": b"[-]",
    "array_missing_value": b'[   , ""]',
    "array_newlines_unclosed": b'["a",4,1,',
    "array_number_and_comma": b"[1,]",
    "array_star_inside": b"[*]",
    "array_unclosed": b'[""',
    "array_unclosed_comma": b"[1,",
    "incomplete_false": b"[fals]",
    "incomplete_null": b"[nul]",
    "incomplete_true": b"[tru]",
    "multidigit_number_then_00": b"123\x00",
    "number_++": b"[++1234]",
    "number_+1": b"[+1]",
    "number_+Inf": b"[+Inf]",
    "number_-01": b"[-01]",
    "number_-1.0.": b"[-1.0.]",
    "number_-2.": b"[-2.]",
    "number_-NaN": b"[-NaN]",
    "number_.-1": b"[.-1]",
    "number_.2e-3": b"[.2e-3]",
    "number_0.1.2": b"[0.1.2]",
    "number_0.3e": b"[0.3e]",
    "number_0.3e+": b"[0.3e+]",
    "number_0_capital_E": b"[0E]",
    "number_0.e1": b"[0.e1]",
    "number_1.0e+": b"[1.0e+]",
    "number_1_000": b"[1 000.0]",
    "number_1eE2": b"[1eE2]",
    "number_2.e+3": b"[2.e+3]",
    "number_Inf": b"[Inf]",
    "number_NaN": b"[NaN]",
    "number_Infinity": b"[Infinity]",
    "number_minus_infinity": b"[-Infinity]",
    "number_U+FF11": "[１]".encode(),
    "number_expression": b"[1+2]",
    "number_hex": b"[0x1]",
    "number_hex_2": b"[0x42]",
    "number_invalid-utf-8-in-exponent": b"[1e1\xe5]",
    "number_minus_sign_with_trailing_garbage": b"[-foo]",
    "number_minus_space_1": b"[- 1]",
    "number_neg_int_starting_with_zero": b"[-012]",
    "number_real_garbage": b"[1ea]",
    "number_starting_with_dot": b"[.123]",
    "number_then_comma": b"1,",
    "number_with_alpha": b"[1.2a-3]",
    "number_with_leading_zero": b"[012]",
    "object_bad_value": b'["x", truth]',
    "object_bracket_key": b'{[: "x"}',
    "object_comma_instead_of_colon": b'{"x", null}',
    "object_double_colon": b'{"x"::"b"}',
    "object_emoji": "{🇨🇭}".encode(),
    "object_garbage_at_end": b'{"a":"a" 123}',
    "object_key_with_single_quotes": b"{'a': 0}",
    "object_missing_colon": b'{"a" b}',
    "object_missing_key": b'{:"b"}',
    "object_missing_semicolon": b'{"a" "b"}',
    "object_missing_value": b'{"a":',
    "object_no-colon": b'{"a"',
    "object_non_string_key": b"{1:1}",
    "object_repeated_null_null": b"{null:null,null:null}",
    "object_several_trailing_commas": b'{"id":0,,,,,}',
    "object_single_quote": b"{'a':0}",
    "object_trailing_comma": b'{"id":0,}',
    "object_trailing_comment": b'{"a":"b"}/**/',
    "object_trailing_comment_slash": b'{"a":"b"}//',
    "object_trailing_hash": b'{"a":"b"}#',
    "object_two_commas": b'{"a":"b",,"c":"d"}',
    "object_unquoted_key": b'{a: "b"}',
    "object_unterminated-value": b'{"a":"a',
    "object_with_trailing_garbage": b'{"a":"b"}#',
    "single_space": b" ",
    "string_1_surrogate_then_escape": b'["\\uD800\\"]',
    "string_escape_x": b'["\\x00"]',
    "string_escaped_emoji": '["\\🌀"]'.encode(),
    "string_escaped_ctrl_char_tab": b'["\\\t"]',
    "string_incomplete_escape": b'["\\"]',
    "string_incomplete_escaped_character": b'["\\u00A"]',
    "string_incomplete_surrogate": b'["\\uD834\\uDd"]',
    "string_invalid_backslash_esc": b'["\\a"]',
    "string_invalid_unicode_escape": b'["\\uqqqq"]',
    "string_invalid_utf-8_after_escape": b'["\\\xe5"]',
    "string_leading_uescaped_thinspace": b'[\\u0020"asd"]',
    "string_no_quotes_with_bad_escape": b"[\\n]",
    "string_single_doublequote": b'"',
    "string_single_quote": b"['single quote']",
    "string_single_string_no_quotes": b"abc",
    "string_start_escape_unclosed": b'["\\',
    "string_unescaped_ctrl_char": b'["a\x00a"]',
    "string_unescaped_tab": b'["\t"]',
    "string_unescaped_escape": b'["\x1b"]',
    "string_unicode_CapitalU": b'"\\UA66D"',
    "string_with_trailing_garbage": b'""x',
    "structure_100000_opening_arrays": b"[" * 100_000,
    "structure_60000_brackets": b"[" * 60_000 + b"]" * 60_000,
    "structure_open_object_open_array": b'{"":[' * 20_000,
    "structure_U+2060_word_joined": "[\u2060]".encode(),
    "structure_UTF8_BOM_no_data": b"\xef\xbb\xbf",
    "structure_angle_bracket_.": b"<.>",
    "structure_angle_bracket_null": b"[<null>]",
    "structure_array_trailing_garbage": b"[1]x",
    "structure_array_with_extra_array_close": b"[1]]",
    "structure_asterisk": b'["asd]',
    "structure_capitalized_True": b"[True]",
    "structure_close_unopened_array": b"1]",
    "structure_comma_instead_of_close": b'{"x": true,',
    "structure_double_array": b"[][]",
    "structure_end_array": b"]",
    "structure_incomplete_UTF8_BOM": b"\xef\xbb{}",
    "structure_lone-invalid-utf-8": b"\xe5",
    "structure_lone-open-bracket": b"[",
    "structure_null-byte-outside": b"[\x00]",
    "structure_number_with_trailing_garbage": b"2@",
    "structure_object_followed_by_closing_object": b"{}}",
    "structure_object_unclosed_no_value": b'{"":',
    "structure_object_with_comment": b'{"a":/*comment*/"b"}',
    "structure_object_with_trailing_garbage": b'{"a": true} "x"',
    "structure_open_array_apostrophe": b"['",
    "structure_open_object_comma": b"{,",
    "structure_single_eacute": b"\xe9",
    "structure_single_star": b"*",
    "structure_trailing_#": b'{"a":"b"}#{}',
    "structure_unclosed_array_partial_null": b"[ false, nul",
    "structure_unicode-identifier": "å".encode(),
    "structure_whitespace_formfeed": b"[\x0c]",
    "structure_whitespace_U+2060": "\u2060{}".encode(),
    "structure_nbsp": "[\u00a0]".encode(),
}

# What JSONTestSuite leaves to the reader (i_*): our choices, each within a line that is good but for it.
REFUSED = {
    "double_huge_exp": b',"latency_s":123.456e78900',
    "neg_huge_exp": b',"latency_s":-1e9999',
    "very_big_negative_int": b',"latency_s":-237462374673276894279832749832423479823246327846',
    "50000_digits": b',"input_tokens":' + b"9" * 50_000,
    "too_big_pos_int": b',"latency_s":100000000000000000000000',
    "1st_surrogate_but_2nd_missing": b',"response":"\\uDADA"',
    "1st_valid_2nd_invalid": b',"response":"\\uD888\\u1234"',
    "inverted_surrogates": b',"response":"\\uDd1e\\uD834"',
    "lone_second_surrogate": b',"response":"\\uDFAA"',
    "lone_surrogate_in_key": b',"\\uD800":1',
    "UTF-8_invalid_sequence": b',"response":"\xe6\x97\xa5\xd1\x88\xfa"',
    "UTF8_surrogate_U+D800": b',"response":"\xed\xa0\x80"',
    "not_in_unicode_range": b',"response":"\xf4\xbf\xbf\xbf"',
    "overlong_sequence_2_bytes": b',"response":"\xc0\xaf"',
    "truncated-utf-8": b',"response":"\xe0\xff"',
    "500_nested_arrays": b',"passages":' + b"[" * 500 + b"]" * 500,
    "duplicated_key": b',"answer":"b"',
    "duplicated_key_and_value": b',"answer":"a"',
    "duplicated_key_escaped": b',"\\u0061nswer":"b"',
    "duplicated_key_spaced": b' , "answer" : "b"',
    "duplicated_key_tab": b',"answer"\t:"b"',
    "duplicated_key_deep": b',"passages":[{"a":1,"a":2}]',
    "duplicated_key_in_unknown": b',"extra":{"x":1,"x":2}',
    "nul_in_text": b',"response":"\x00"',
    "score_field": b',"score":1',
    "outcome_field": b',"outcome":"correct"',
    "points_field": b',"points":1',
    "nan_confidence": b',"confidence":NaN',
    "true_as_number": b',"confidence":true',
    "text_as_number": b',"latency_s":"1"',
    "float_as_integer": b',"input_tokens":1.0',
    "negative_tokens": b',"input_tokens":-1',
}
ACCEPTED = {
    "ordinary": b"",
    "minus_zero": b',"latency_s":-0',
    "minus_zero_real": b',"latency_s":-0.0',
    "real_underflow": b',"latency_s":123e-10000000',
    "real_exponent": b',"latency_s":1E+2',
    "int_as_real": b',"confidence":1',
    "long_fraction": b',"confidence":0.3333333333333333333333333333',
    "20_digits_in_text": b',"response":"' + b"9" * 50 + b'"',
    "surrogate_pair": b',"response":"\\ud83d\\ude00"',
    "escaped_nul": b',"response":"\\u0000"',
    "all_escapes": b',"response":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"',
    "escaped_backslash_u": b',"response":"\\\\ud800"',
    "raw_utf8": ',"response":"é \u2028 🙂 \uffff \U0010ffff"'.encode(),
    "bom_in_text": ',"response":"\ufeff"'.encode(),
    "del": b',"response":"\x7f"',
    "quote_colon_in_text": b',"response":"\\"answer\\":\\"b\\""',
    "colon_after_space_in_text": b',"response":"a : b"',
    "brackets_in_text": b',"response":"' + b"[{" * 500 + b'"',
    "spaces": b' ,\t"response" : null ',
    "escaped_key": b',"\\u0072esponse":null',
    "passages": b',"passages":[["p",0,5],["q",7,9]]',
    "19_digits": b',"passages":[["p",0,1234567890123456789]]',
    "20_digits": b',"passages":[["p",0,12345678901234567890]]',
    "as_much_as_may_be": b',"latency_s":1e12,"input_tokens":1000000000000',
    "status": b',"status":"ok"',
}


def _call(name: str, *words: object) -> Result:
    command = getattr(importlib.import_module(COMMANDS[name].module), name)
    return CliRunner().invoke(command, [str(word) for word in words])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write_second_line(line: bytes) -> Path:
        path = tmp_path / "p.jsonl"
        path.write_bytes(b'{"question_id":"q000","answer":"a"}\n' + line + b"\n")
        return path

    return write_second_line


def _refused(line: bytes, path: Path, tiny: Dataset) -> None:
    ways = [("check", path), ("check", path, "--dataset", tiny.folder), ("score", path, "--dataset", tiny.folder)]
    for words in ways if NIGHTLY else [ways[len(line) % len(ways)]]:
        result = _call(*words)
        assert isinstance(result.exception, EduRagError), (line[:60], result.output)  # anything else is a traceback
        said = str(result.exception)
        assert f"{path}:2: " in said
        assert len(said) < 1000 + 2 * len(str(path))


@pytest.mark.parametrize("kind", NO_JSON)
def test_what_is_no_json_is_refused_with_file_and_line(
    kind: str, write: Callable[[bytes], Path], tiny: Dataset
) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(NO_JSON[kind])
    _refused(NO_JSON[kind], write(NO_JSON[kind]), tiny)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_lenient_reader_would_let_through_is_refused(
    kind: str, write: Callable[[bytes], Path], tiny: Dataset
) -> None:
    line = HEAD + REFUSED[kind] + b"}"
    assert _quick(line) is None
    _refused(line, write(line), tiny)


@pytest.mark.parametrize("kind", ACCEPTED)
def test_what_is_json_and_a_prediction_is_accepted(kind: str, write: Callable[[bytes], Path], tiny: Dataset) -> None:
    line = HEAD + ACCEPTED[kind] + b"}"
    path = write(line)
    for words in (("check", path, "--dataset", tiny.folder), ("score", path, "--dataset", tiny.folder, "--brief")):
        result = _call(*words)
        assert result.exception is None, (kind, result.exception)
    record = to_record(parse_json(line), Prediction)
    assert _quick(line) in (None, record)


def test_over_long_lines_a_byte_order_mark_and_odd_encodings_are_refused_with_their_line(
    tmp_path: Path, tiny: Dataset
) -> None:
    good = HEAD + b"}\n"
    files = {
        "long": (good + b'{"question_id":"q002","answer":"' + b"a" * MAX_LINE_BYTES + b'"}\n', 2),
        "bom": (b"\xef\xbb\xbf" + good, 1),
        "utf16": (good.decode().encode("utf-16"), 1),
        "blank": (good + b"\n" + good.replace(b"q001", b"q002"), 2),
    }
    for name, (data, line) in files.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(data)
        for words in (("check", path), ("score", path, "--dataset", tiny.folder)):
            result = _call(*words)
            assert isinstance(result.exception, EduRagError), name
            assert f"{path}:{line}: " in str(result.exception)
    array = tmp_path / "array.jsonl"
    array.write_bytes(b"[" + good.strip() + b"]")
    assert "does not begin like JSON lines: `edu-rag import FILE" in str(_call("check", array).exception)


@pytest.mark.parametrize(
    "text",
    [
        "[[]   ]",
        '[""]',
        "[]",
        "[false]",
        '[null, 1, "1", {}]',
        "[1e1]",
        "[-0]",
        "[0e+1]",
        "[1E-2]",
        "[123.456789]",
        '{"":0}',
        '{"a":[]}',
        '["\\u0060\\u012a\\u12AB"]',
        '["\\uD801\\udc37"]',
        '["\\\\n"]',
        '["\x7f"]',
        '["⍂㈴⍂"]',
        "false",
        "42",
        '"x"',
        " [] ",
    ],
)
def test_good_json_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert parse_json(text.encode()) == json.loads(text)


KEYS = [f'"{name}"' for name in Prediction.__dataclass_fields__]
MARKS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\t",
    " :",
    '"',
    "\\",
    '\\"',
    "\\u0061",
    "\\ud800",
    "\\uDC00",
    "\ufeff",
    "é",
    "\x00",
]
VALUES = [
    "null",
    "true",
    '"b"',
    '"q2"',
    '":"',
    '"\\":"',
    "1",
    "-0",
    "1.5",
    "1e400",
    "NaN",
    "9" * 20,
    "9" * 21,
    "-" + "9" * 20,
    '[["p",0,5]]',
    '[["p",5,0]]',
    '[{"answer":1}]',
    '"ok"',
    '"crash"',
    "0.5",
    "1e2",
    '"\\u0022answer\\u0022:"',
]


@given(
    st.lists(st.tuples(st.sampled_from([*KEYS, '"x"']), st.sampled_from(VALUES + KEYS)), max_size=6),
    st.sampled_from([":", " :", ": ", "\t:"]),
    st.lists(st.sampled_from(MARKS), max_size=2),
    st.integers(0, 200),
)
@settings(max_examples=1500 if NIGHTLY else 400)
def test_the_quick_and_the_strict_reader_agree(
    pairs: list[tuple[str, str]], colon: str, noise: list[str], at: int
) -> None:
    text = '{"question_id":"q1","answer":null' + "".join(f",{key}{colon}{value}" for key, value in pairs) + "}"
    line = (text[:at] + "".join(noise) + text[at:]).encode()
    quick = _quick(line)
    if quick is not None:
        assert to_record(parse_json(line), Prediction) == quick


@given(
    st.fixed_dictionaries(
        {"question_id": st.text(min_size=1), "answer": st.none() | st.text()},
        optional={
            "response": st.none() | st.text(),
            "confidence": st.floats(0, 1),
            "latency_s": st.floats(0, 1e12),
            "input_tokens": st.integers(0, 10**12),
            "passages": st.lists(st.tuples(st.text(min_size=1), st.integers(0, 9), st.integers(10, 99))),
        },
    ),
    st.booleans(),
)
def test_every_good_line_as_python_writes_it_is_read_alike_by_both(values: dict[str, Any], ascii_only: bool) -> None:
    try:
        line = json.dumps(values, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:  # a lone surrogate, raw
        return
    try:
        strict = to_record(parse_json(line), Prediction)
    except ValueError as error:
        assert "surrogate" in str(error)  # noqa: PT017 - the one fault that such a line can have
        assert _quick(line) is None
    else:
        assert _quick(line) in (None, strict)
