from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import ScoreCard
from edu_rag.statistics import rate_intervals
from edu_rag.statistics.two_parts import Part, difference_of, is_lower, part_of
from harness.scoring.score import now_utc, score_target
from harness.scoring.scorecard_text import card_lines
from harness.submission.declared_overlap import FILE_NAME, MAX_BYTES, marks, overlap_lines, read_overlap, subset
from harness.submission.target import find_target

WHEN = now_utc({"SOURCE_DATE_EPOCH": "946684800"})


@pytest.fixture
def handed_in(tmp_path: Path, gold: Mapping[str, str]) -> Path:
    folder = tmp_path / "submissions" / "seen-some"
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    path.parent.mkdir(parents=True)
    (folder / "submission.toml").write_text('name = "Seen some"\nteam = "us"\n')
    answers = {i: label if n < 20 else ("a" if label != "a" else "b") for n, (i, label) in enumerate(gold.items())}
    path.write_text("".join(f'{{"question_id": "{i}", "answer": "{a}"}}\n' for i, a in answers.items()))
    return folder


def card_of(folder: Path, dataset: Dataset, sample: str | None = None) -> ScoreCard:
    target = find_target(folder, dataset.manifest, "test", sample)
    return score_target(dataset, "test", sample, target, scored_at=WHEN).card


def test_declared_questions_are_marked_and_the_score_stays_the_full_one(handed_in: Path, tiny: Dataset) -> None:
    before = card_of(handed_in, tiny)
    (handed_in / FILE_NAME).write_text("# what we trained on\nq000\n\nq003\r\nother-dataset-7\nq039\n")
    card = card_of(handed_in, tiny)
    assert [i for i, mark in enumerate(card.overlap) if mark == "1"] == [0, 3, 39]
    assert (card.counts, card.intervals, card.outcomes) == (before.counts, before.intervals, before.outcomes)
    assert before.overlap == ""


def test_a_sample_has_the_marks_of_its_own_questions(handed_in: Path, tiny: Dataset) -> None:
    (handed_in / FILE_NAME).write_text("".join(f"q{i:03}\n" for i in range(0, 40, 2)))
    card = card_of(handed_in, tiny, "stratified-12-seed-0")
    assert len(card.overlap) == 12
    assert set(card.overlap) == {"0", "1"}


def test_nothing_of_this_dataset_declared_is_nothing_declared(handed_in: Path, tiny: Dataset) -> None:
    (handed_in / FILE_NAME).write_text("another-1\n")
    assert card_of(handed_in, tiny).overlap == ""
    assert marks(frozenset({"b"}), ["a", "b", "c"]) == "010"


def test_the_report_shows_both_parts_with_intervals_of_their_own_questions(handed_in: Path, tiny: Dataset) -> None:
    (handed_in / FILE_NAME).write_text("".join(f"q{i:03}\n" for i in range(20)))
    card = card_of(handed_in, tiny)
    outcomes, lessons = subset(card, "0")
    assert (outcomes, len(lessons)) == ("i" * 20, 20)
    low, high = rate_intervals(outcomes, lessons)[0]["score"]
    assert list(overlap_lines(card)) == [
        "declared as possibly seen: 20 of 40: score +100.00 %   95 % interval +100.00 … +100.00 %",
        f"  on the other 20: score -100.00 %   95 % interval {100 * low:+.2f} … {100 * high:+.2f} %",
    ]
    assert "declared as possibly seen: 20 of 40" in "\n".join(card_lines(card))


def test_a_declared_part_that_scores_lower_by_more_than_luck_is_named(handed_in: Path, tiny: Dataset) -> None:
    (handed_in / FILE_NAME).write_text("".join(f"q{i:03}\n" for i in range(20, 40)))
    assert list(overlap_lines(card_of(handed_in, tiny)))[2].startswith("  the declared part scores lower, by more than")
    (handed_in / FILE_NAME).write_text("".join(f"q{i:03}\n" for i in range(21, 40)))
    assert len(list(overlap_lines(card_of(handed_in, tiny)))) == 2, "19 questions may be luck"


def test_the_interval_of_two_parts_is_that_of_its_source_and_covers_as_it_should() -> None:
    first, second = Part(56, 0.9, (0.8, 0.95)), Part(48, 0.7, (0.5, 0.8))
    low, high = difference_of(first, second)
    assert low == pytest.approx(0.2 - (0.1**2 + 0.1**2) ** 0.5)
    assert high == pytest.approx(0.2 + (0.05**2 + 0.2**2) ** 0.5)
    drawn = random.Random(7)
    flagged = 0
    for _ in range(400):  # both parts are of one system that is right half of the time: lower is luck
        letters = "".join(drawn.choice("ci") for _ in range(120))
        marks = "1" * 30 + "0" * 90
        flagged += is_lower(part_of(letters, (), marks, "1"), part_of(letters, (), marks, "0"))
    assert flagged <= 400 * 0.05, "a one-sided 2.5 %, with room for its luck"


def test_a_part_has_its_own_lessons_and_equal_parts_are_not_lower() -> None:
    letters, lessons, marks = "ccccciiiii" * 6, [at // 5 for at in range(60)], "1" * 40 + "0" * 20
    part = part_of(letters, lessons, marks, "1")
    assert part is not None
    assert (
        part.interval
        == rate_intervals(letters[:40], lessons[:40])[0]["score"]
        != rate_intervals(letters[:40])[0]["score"]
    )
    assert not is_lower(Part(20, 1.0, (1.0, 1.0)), Part(20, 1.0, (1.0, 1.0)))
    assert is_lower(Part(20, 0.9, (0.9, 0.9)), Part(20, 1.0, (1.0, 1.0)))


def test_everything_declared_leaves_no_other_part(handed_in: Path, tiny: Dataset) -> None:
    (handed_in / FILE_NAME).write_text("".join(f"q{i:03}\n" for i in range(40)))
    (line,) = overlap_lines(card_of(handed_in, tiny))
    assert line.startswith("declared as possibly seen: 40 of 40: score +0.00 %")


def test_overlap_in_words_alone_is_shown_and_no_subset_computed(handed_in: Path, tiny: Dataset) -> None:
    settings = handed_in / "submission.toml"
    settings.write_text(settings.read_text() + 'tqa_overlap = "the base model may\\u001b[31m have"\n')
    card = card_of(handed_in, tiny)
    assert card.overlap == ""
    (line,) = overlap_lines(card)
    assert line.startswith("overlap with TQA, in the words of its team: the base model may")


FAULTS: list[tuple[bytes, str]] = [
    (b"q000\nq001\nq000\n", ":3: 'q000' is repeated, first on line 1"),
    (b"q000 q001\n", ":1: 'q000 q001' is not a question id"),
    (b"q000\n q001\n", ":2: ' q001' is not a question id"),
    (b"q000 # one\n", ":1: 'q000 # one' is not a question id"),
    (b"q000\n\xff\n", ":2: is not UTF-8"),
    (b"q\x00\n", ":1: 'q\\x00' is not a question id"),
    (b"\xef\xbb\xbfq000\n", ":1: '\\ufeffq000' is not a question id"),
    (b"q" * 201 + b"\n", ":1: "),
    (b"#" * (MAX_BYTES + 1), ": is over 1,000,000 bytes"),
]


@pytest.mark.parametrize(("data", "fault"), FAULTS)
def test_a_fault_of_the_file_is_told_with_its_line(tmp_path: Path, data: bytes, fault: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(data)
    with pytest.raises(SubmissionError) as caught:
        read_overlap(tmp_path)
    assert f"{path}{fault}" in f"{caught.value.where}: {caught.value.what}"


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_whatever_the_bytes_ids_are_printable_words_or_the_fault_is_told(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE_NAME).write_bytes(data)
        found, where = frozenset[str](), ""
        try:
            found = read_overlap(Path(folder))
        except SubmissionError as error:
            where = error.where
        assert where.startswith(f"{Path(folder) / FILE_NAME}" if where else "")
        assert all(one.isprintable() and one == "".join(one.split()) and one in data.decode() for one in found)


def test_no_link_and_no_pipe_is_read(tmp_path: Path, write_lines: Callable[..., Path]) -> None:
    path = tmp_path / FILE_NAME
    path.symlink_to(write_lines(["q000\n"], "elsewhere.txt"))
    with pytest.raises(SubmissionError, match="link or not a regular file"):
        read_overlap(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SubmissionError, match="link or not a regular file"):
        read_overlap(tmp_path)
    path.unlink()
    assert read_overlap(tmp_path) == frozenset()
