"""Plain values to records: every fault at once, with a guess at what was meant; TOML the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from edu_rag.errors import ConfigError, FaultsError, RecordError
from edu_rag.files.mistyped import mistyped
from edu_rag.files.toml import MAX_BYTES, read_toml
from edu_rag.files.typed import faults_and_record, to_plain, to_record
from edu_rag.scorecard.card import Counts, Prediction


@dataclass(frozen=True, kw_only=True)
class Limits:
    time_s: float = 60.0
    start_s: float = 300.0

    def __post_init__(self) -> None:
        if self.time_s <= 0:
            raise RecordError("time_s", f"{self.time_s} is not above 0")


@dataclass(frozen=True, kw_only=True)
class Settings:
    name: str
    links: list[str] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)


def toml(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "s.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_all_faults_of_a_value_are_found_at_once() -> None:
    faults, record = faults_and_record({"answr": "a", "confidence": "high", "latency_s": []}, Prediction)
    assert record is None
    assert [fault.where for fault in faults] == ["answr", "question_id", "answer", "confidence", "latency_s"]
    assert faults[0].remedy == "did you mean 'answer'?"


def test_an_unknown_field_far_from_all_lists_the_known_ones() -> None:
    faults, _ = faults_and_record({"zzz": 1}, Counts)
    assert "known are correct, incorrect" in str(faults[0])


@dataclass(frozen=True, kw_only=True)
class Choices:
    size: Literal["small", "large"] = "small"
    tones: tuple[Literal["high", "low"], ...] = ()
    other: Annotated[Literal["x"], Meta(description="y")] | None = None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"size": "huge"}, "size: unknown value 'huge': known are small, large"),
        ({"size": 3}, "size: is a whole number, not a text: known are small, large"),
        ({"tones": ["high", "mid"]}, "tones: item 2 has the unknown value 'mid': known are high, low"),
        ({"other": "z"}, "other: unknown value 'z': known are x"),
    ],
)
def test_a_value_of_no_enumeration_is_told_with_the_allowed_ones(values: dict[str, Any], told: str) -> None:
    assert [str(fault) for fault in faults_and_record(values, Choices)[0]] == [told]


@dataclass(frozen=True, kw_only=True)
class Mixed:
    text: Annotated[str, Meta(min_length=1, max_length=3)] = "a"
    texts: tuple[str, ...] = ()
    by_name: Mapping[str, str] = field(default_factory=dict)
    either: str | tuple[str, ...] | None = None
    number: Annotated[float, Meta(le=1)] = 0.5
    whole: int = 0
    is_on: bool = False


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"text": 3}, "text: is a whole number, not a text: write a text in quotes"),
        ({"text": ""}, "text: is empty: fill it in"),
        ({"text": "long"}, "text: has more than 3 characters: shorten it"),
        ({"texts": "a"}, 'texts: is a text, not a list: write a list in brackets, such as ["one", "two"]'),
        ({"texts": ["a", 2]}, "texts: item 2 is a whole number, not a text: write a text in quotes"),
        ({"by_name": ["a"]}, "by_name: is a list, not a table of names and values: give each value its name"),
        ({"by_name": {"a": 1}}, "by_name: a value in it is a whole number, not a text: write a text in quotes"),
        ({"either": 1}, "either: is a whole number, not a text or a list: write a text in quotes"),
        ({"number": 2}, "number: is above 1.0: give at most 1.0"),
        ({"number": "1"}, "number: is a text, not a number: write a number without quotes"),
        ({"whole": 1.5}, "whole: is a number, not a whole number: write a whole number"),
        ({"is_on": "no"}, "is_on: is a text, not true or false: write true or false without quotes"),
        ({"is_on": None}, "is_on: is empty, not true or false: write true or false"),
    ],
)
def test_a_value_of_another_type_is_reported_in_plain_words(values: dict[str, Any], said: str) -> None:
    assert [str(fault) for fault in faults_and_record(values, Mixed)[0]] == [said]


class Pair(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    first: int
    second: int = 0


class Named(msgspec.Struct, forbid_unknown_fields=True, tag="named"):
    size: int


class Other(msgspec.Struct, tag="other"):
    size: int


class Holder(msgspec.Struct):
    links: list[int] = []
    inner: dict[str, list[Named]] = {}
    when: Annotated[datetime, Meta(tz=True)] | None = None
    local: Annotated[datetime, Meta(tz=False)] | None = None


@pytest.mark.parametrize(
    ("value", "wanted", "said"),
    [
        (
            [["x"]],
            list[list[int]],
            "item 1 of item 1 is a text, not a whole number: write a whole number without quotes",
        ),
        (
            [{"size": "x"}],
            list[Other | None],
            "size of item 1 is a text, not a whole number: write a whole number without",
        ),
        ([1.5], list[int], "item 1 is a number, not a whole number: write a whole number"),
        ({"links": [True]}, Holder, "item 1 of links is true or false, not a whole number: write a whole number"),
        ({"inner": {"x": [{}]}}, Holder, "item 1 of a value of inner has no field 'size': add it"),
        (
            {"a": [["x"]]},
            dict[str, list[list[Literal["y"]]]],
            "item 1 of item 1 of a value in it has the unknown value 'x'",
        ),
        (
            {"a": {"b": [1]}},
            dict[str, dict[str, list[str]]],
            "item 1 of a value of a value in it is a whole number, not",
        ),
        ({"x": 1}, dict[int, int], "a key is a text, not a whole number"),
        ([{"x": 1}], list[dict[int, int]], "a key of item 1 is a text, not a whole number"),
        ({"abc": 1}, dict[Annotated[str, Meta(max_length=1)], int], "a key has more than 1 character"),
        ({"z": 1}, dict[Literal["a"], int], "a key has the unknown value 'z'"),
        ([1, 2], tuple[int, int, int], "has 2 items, not 3: give 3"),
        ([], Pair, "has 0 items, not at least 1: give at least 1"),
        ([1, 2, 3], Pair, "has 3 items, not at most 2: give at most 2"),
        ([1], Annotated[list[int], Meta(min_length=2)], "has fewer than 2 items: fill it in"),
        ([1, 2], Annotated[list[int], Meta(max_length=1)], "has more than 1 item: shorten it"),
        ([1], Annotated[list[int], Meta(max_length=0)], "is not empty: empty it"),
        ({}, Annotated[dict[str, int], Meta(min_length=1)], "is empty: fill it in"),
        ("abc", Annotated[str, Meta(max_length=1)], "has more than 1 character: shorten it"),
        (b"abc", Annotated[bytes, Meta(max_length=1)], "has more than 1 byte: shorten it"),
        (3, Annotated[int, Meta(le=2)], "is above 2: give at most 2"),
        (3, Annotated[float, Meta(gt=3)], "is not above 3.0: give more than 3.0"),
        (3, Annotated[int, Meta(multiple_of=2)], "is not a multiple of 2: give one"),
        ("a", Annotated[str, Meta(pattern="b+")], "does not match the pattern 'b+': write it as the pattern has it"),
        ({"type": "named"}, Named, "has no field 'size': add it"),
        ({"size": 1, "b": 2}, Named, "has the unknown field 'b': remove it"),
        ({"size": 1, "type": "no"}, Named | Other, "type has the unknown value 'no'"),
        ("z", Literal["a"], "unknown value 'z'"),
        (1, None, "is a whole number, not empty: leave it out"),
        ("no", datetime, "is not a time: 2026-11-21T09:30:00Z is one"),
        ("no", date, "is not a date: 2026-11-21 is one"),
        ("no", time, "is not a time of a day: 09:30:00 is one"),
        ("no", timedelta, "is not a duration: PT90S is one"),
        ({"when": "2026-01-01T00:00:00"}, Holder, "when has no time zone: 2026-11-21T09:30:00Z has one"),
        ({"local": "2026-01-01T00:00:00Z"}, Holder, "local has a time zone: leave the zone out"),
        ("no", UUID, "is not a UUID"),
        ("no", Decimal, "is not a number: write a number"),
        ("!", bytes, "is not base64"),
    ],
)
def test_each_form_of_msgspecs_messages_has_plain_words_and_the_whole_place(value: Any, wanted: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, wanted, strict=True)
    found = mistyped(str(caught.value))
    assert (f"{found.what}: {found.remedy}" if found.remedy else found.what).startswith(said)
    assert "`" not in found.what
    assert "$" not in found.what


def test_plain_values_and_records_are_each_others_inverse() -> None:
    record = Prediction(question_id="q1", answer=None, response="é")
    assert to_record(to_plain(record), Prediction) == record


def test_a_toml_file_reports_all_its_faults_one_a_line(tmp_path: Path) -> None:
    path = toml(tmp_path, 'nam = "x"\nlinks = "one"\n[limits]\ntime = 3\nstart_s = "soon"\n')
    with pytest.raises(FaultsError) as caught:
        read_toml(path, Settings)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["nam", "name", "links", "limits.time", "limits.start_s"]
    assert "did you mean 'name'?" in lines[0]
    assert "did you mean 'time_s'?" in lines[3]
    assert all(line.startswith(str(path)) for line in lines)


def test_an_invariant_of_a_nested_record_names_its_field(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match=r"limits\.time_s: 0.0 is not above 0"):
        read_toml(toml(tmp_path, 'name = "x"\n[limits]\ntime_s = 0.0\n'), Settings)


def test_a_good_toml_file_is_a_record(tmp_path: Path) -> None:
    settings = read_toml(toml(tmp_path, 'name = "x"\n[limits]\ntime_s = 3\n'), Settings)
    assert settings == Settings(name="x", limits=Limits(time_s=3.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "not TOML"),
        (b'name = "\xff"', "not TOML"),
        ('name = "x"\nname = "y"', "not TOML"),
        ("a = " + "[" * 5_000, "nested deeper than 32 levels"),
        ("#" * (MAX_BYTES + 1), "is over 1,000,000 bytes"),
    ],
)
def test_what_is_no_toml_is_one_clear_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read_toml(toml(tmp_path, text), Settings)
    assert "\n" not in str(caught.value)


def test_a_missing_toml_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.toml: No such file"):
        read_toml(tmp_path / "no.toml", Settings)
