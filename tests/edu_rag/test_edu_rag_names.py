"""Slugs, versions, dataset ids, samples and places: one form each, read the same way by every part."""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import RecordError
from edu_rag.names import (
    DATASET_NAME,
    DatasetId,
    QuestionSet,
    Release,
    Sample,
    Version,
    is_dataset_name,
    is_sample,
    is_slug,
    is_split,
    require_slug,
    require_split,
    split_and_sample,
    table_name,
)

numbers = st.integers(0, 999_999)
versions = st.builds(Version, numbers, numbers, numbers)
names = st.from_regex(re.compile(DATASET_NAME), fullmatch=True)
splits = st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True)
releases = st.builds(Release, names, versions)
ids = st.builds(DatasetId, names, versions, st.from_regex(r"[0-9a-f]{8}", fullmatch=True))
samples = st.builds(Sample, st.integers(1, 9_999_999), st.integers(0, 999_999_999))
question_sets = st.builds(QuestionSet, releases, splits, st.none() | samples.map(lambda sample: sample.name))


@given(versions)
def test_a_version_is_read_as_it_is_written(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(releases, ids)
def test_a_release_and_an_id_are_read_as_they_are_written(release: Release, dataset: DatasetId) -> None:
    assert Release.parse(str(release)) == release == Release.of_folder(release.folder)
    assert DatasetId.parse(str(dataset)) == dataset
    assert str(dataset).startswith(str(dataset.release))


@given(question_sets)
def test_a_place_names_the_questions_that_its_file_answers(asked: QuestionSet) -> None:
    assert QuestionSet.of_place(asked.place) == asked
    assert split_and_sample(table_name(asked.split, asked.sample)) == (asked.split, asked.sample)


@given(samples)
def test_a_sample_is_read_as_it_is_written(sample: Sample) -> None:
    assert Sample.parse(sample.name) == sample
    assert is_sample(sample.name)


near = st.from_regex(r"([a-z0-9-]{1,4}@)?[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(#[0-9a-f]{7,9})?", fullmatch=True)


@given(near | st.text(max_size=20))
def test_a_name_that_is_taken_is_written_the_same_way(text: str) -> None:
    for parse in (Version.parse, Release.parse, DatasetId.parse):
        with contextlib.suppress(RecordError):
            assert str(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "01.0.0",  # the builder refused it, the board took it
        "1.00.0",
        "1.0",
        "1.0.0.0",
        "1.0.0\n",
        " 1.0.0",
        "+1.0.0",
        "1_0.0.0",
        "1000000.0.0",
        "\u0661.0.0",  # a digit to Python's int, not to a file name
        "",
    ],
)
def test_a_version_has_one_spelling(text: str) -> None:
    with pytest.raises(RecordError, match=re.escape("is not MAJOR.MINOR.PATCH")):
        Version.parse(text)


@pytest.mark.parametrize(
    "name",
    [
        "stratified-0300-seed-0",  # four readers took it, three refused it
        "stratified-0-seed-0",
        "stratified-300-seed-00",
        "stratified-300-seed-",
        "stratified-300",
        "stratified--300-seed-0",
        "stratified-12345678-seed-0",
        "Stratified-300-seed-0",
        "whole",
        "random-5-seed-1",
        "stratified-5-seed-1\n",
        "",
    ],
)
def test_a_sample_has_one_spelling(name: str) -> None:
    assert not is_sample(name)
    assert split_and_sample(f"val-{name}") is None
    assert QuestionSet.of_place(f"tqa-1.0.0/val-{name}.jsonl") is None
    with pytest.raises(RecordError, match="is not stratified-N-seed-S"):
        Sample.parse(name)


@pytest.mark.parametrize("rule", [is_slug, is_split, is_dataset_name])
@pytest.mark.parametrize(
    "text", ["", ".", "..", "a/b", "a\\b", "a b", "a\n", "a\0b", "\u0430bc", "ABC", "x" * 41, "~", "a:b"]
)
def test_a_name_cannot_leave_its_folder(rule: Callable[[str], bool], text: str) -> None:
    assert not rule(text)


@pytest.mark.parametrize(
    "place",
    [
        "tqa-1.0.0/val",
        "tqa-1.0.0/val.json",
        "tqa-1.0.0/sub/val.jsonl",
        "tqa/val.jsonl",
        "tqa-1.0/val.jsonl",
        "../tqa-1.0.0/val.jsonl",
        "tqa-1.0.0/.jsonl",
        "tqa-1.0.0/val.jsonl.partial",
    ],
)
def test_a_file_elsewhere_answers_no_question_set(place: str) -> None:
    assert QuestionSet.of_place(place) is None


def test_the_error_names_the_field_and_cuts_a_long_value() -> None:
    with pytest.raises(RecordError, match=r"^system\.slug: 'A+' is not 3-40 of a-z, 0-9 and '-'$") as found:
        require_slug("A" * 5_000, "system.slug")
    assert len(str(found.value)) < 200
    with pytest.raises(RecordError, match=r"^split: 'Val' is not a split's name"):
        require_split("Val")


def test_versions_are_ordered_as_numbers_and_raised_by_a_step() -> None:
    assert sorted(map(Version.parse, ("1.10.0", "1.9.9", "1.2.30"))) == [(1, 2, 30), (1, 9, 9), (1, 10, 0)]
    version = Version(2, 3, 4)
    raised = [version.raised("major"), version.raised("minor"), version.raised("patch"), version.raised("none")]
    assert list(map(str, raised)) == ["3.0.0", "2.4.0", "2.3.5", "2.3.4"]


def test_names_travel_between_processes() -> None:
    asked = QuestionSet(Release.parse("tqa@1.2.3"), "val", Sample(3, 0).name)
    assert pickle.loads(pickle.dumps(asked)) == asked
