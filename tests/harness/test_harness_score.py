from __future__ import annotations

import gc
import hashlib
import json
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edu_rag.errors import DataError, FaultsError, RecordFaultsError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Counts, Prediction, ScoreCard, SystemFacts
from edu_rag.scorecard.results_folder import read_scorecard, scorecard_values, write_scorecard
from harness.exam import Exam, fingerprints, lesson_numbers, open_exam
from harness.scoring.score import Origin, now_utc, score, score_target, uncollected, write_results
from harness.submission.target import Target

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
FACTS = SystemFacts(slug="test-system", name="Test", team="us")


@pytest.fixture(scope="module")
def exam(tiny: Dataset) -> Exam:
    return open_exam(tiny, "test", None)


def card_of(exam: Exam, answers: Mapping[str, str | None]) -> ScoreCard:
    predictions = {i: Prediction(question_id=i, answer=answer) for i, answer in answers.items()}
    return score(exam, predictions, FACTS, scored_at=WHEN).card


def from_file(dataset: Dataset, path: Path, split: str = "test", sample: str | None = None) -> ScoreCard:
    return score_target(dataset, split, sample, Target(path, FACTS), scored_at=WHEN).card


def wrong(question: Question, right: str) -> str:
    return next(label for label in question.choices if label != right)


def test_always_abstaining_scores_exactly_zero(exam: Exam, gold: dict[str, str]) -> None:
    for answer in (None, "I don't know", "I don’t know"):
        card = card_of(exam, dict.fromkeys(gold, answer))
        assert (card.counts.score, card.counts.missing, card.counts.abstained) == (0.0, 1.0, 40)
        assert card.intervals["score"] == (0.0, 0.0)


def test_an_oracle_scores_plus_one_by_label_and_by_text(
    exam: Exam, gold: dict[str, str], questions: list[Question]
) -> None:
    assert card_of(exam, gold).counts.score == 1.0
    texts = {q.question_id: q.choices[gold[q.question_id]] for q in questions}
    assert card_of(exam, texts).outcomes == "c" * 40


def test_the_inverse_of_an_oracle_scores_minus_one(exam: Exam, gold: dict[str, str], questions: list[Question]) -> None:
    card = card_of(exam, {q.question_id: wrong(q, gold[q.question_id]) for q in questions})
    assert (card.counts.score, card.counts.hallucination) == (-1.0, 1.0)


def test_knowing_nothing_is_worth_nothing(exam: Exam, gold: dict[str, str], questions: list[Question]) -> None:
    everything = {q.question_id: ", ".join(q.choices.values()) for q in questions}
    assert card_of(exam, {}).counts.failed == 40
    assert card_of(exam, {}).counts.score == 0.0
    assert card_of(exam, everything).counts.correct == 0
    assert card_of(exam, dict.fromkeys(gold, "a b c d e")).counts.score == 0.0


def test_dropping_a_line_equals_a_failed_question(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path]
) -> None:
    lines = [{"question_id": i, "answer": a} for i, a in gold.items()]
    dropped = from_file(tiny, write_lines(lines[:7] + lines[8:], "dropped.jsonl"))
    failed_line = lines[7] | {"answer": None, "status": "crash"}
    failed = from_file(tiny, write_lines([*lines[:7], failed_line, *lines[8:]], "failed.jsonl"))
    assert dropped.outcomes == failed.outcomes
    assert dropped.counts == Counts(correct=39, failed=1)
    assert (dropped.slices, dropped.intervals) == (failed.slices, failed.intervals)


def test_shuffling_lines_changes_nothing_but_the_files_hash(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path]
) -> None:
    lines: list[object] = [
        {"question_id": i, "answer": "b", "latency_s": n / 7, "cost_usd": 0.1} for n, i in enumerate(gold)
    ]
    first = scorecard_values(from_file(tiny, write_lines(lines, "one.jsonl")))
    random.Random(3).shuffle(lines)
    second = scorecard_values(from_file(tiny, write_lines(lines, "two.jsonl")))
    assert first.pop("predictions_sha256") != second.pop("predictions_sha256")
    assert first == second


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        ('{"question_id": "q000", "answer": "a"}', r":41: question_id: .*repeated"),
        ('{"question_id": "stranger", "answer": "a"}', r":41: question_id: .*not a question"),
        ("{broken", r":41: line: not JSON"),
        ('{"question_id": "q000"}', r":41: answer: missing"),
    ],
)
def test_duplicate_unknown_and_malformed_lines_are_refused(
    tiny: Dataset, gold: dict[str, str], write_lines: Callable[..., Path], extra: str, fault: str
) -> None:
    lines: list[object] = [{"question_id": i, "answer": a} for i, a in gold.items()]
    with pytest.raises(DataError, match=fault):
        from_file(tiny, write_lines([*lines, extra + "\n"]))


TABLES = [  # EDU-RAG (2024), Table 1 (counts) and Table 2 (accuracy, hallucination, missing, score in %), n = 1,255
    ("Llama2-7b", (318, 234, 703), (25.34, 18.65, 56.02, 6.69)),
    ("Llama2-7b RAG", (653, 510, 92), (52.03, 40.64, 7.33, 11.39)),
    ("Llama3-8b", (880, 375, 0), (70.12, 29.88, 0.0, 40.24)),
    ("Llama3-8b RAG", (932, 323, 0), (74.26, 25.74, 0.0, 48.53)),
    ("GPT-4o", (1099, 141, 15), (87.57, 11.24, 1.20, 76.33)),
    ("GPT-4o RAG", (1112, 130, 13), (88.61, 10.36, 1.04, 78.25)),
]


@pytest.mark.parametrize(("name", "counts", "table2"), TABLES)
def test_the_counts_of_the_papers_table_1_give_its_table_2(
    name: str, counts: tuple[int, int, int], table2: tuple[float, ...], tmp_path: Path
) -> None:
    right, wrong_, missing = counts
    card = ScoreCard(
        system=SystemFacts(slug="paper-row", name=name, team="EDU-RAG"),
        dataset="paper@1.0.0#00000000",
        split="test",
        sample=None,
        harness="t",
        answers_rule="answers-v3",
        outcomes="c" * right + "i" * wrong_ + "a" * missing,
        counts=Counts(correct=right, incorrect=wrong_, abstained=missing),
    )
    write_scorecard(tmp_path / "scorecard.json", card)
    rates = json.loads((tmp_path / "scorecard.json").read_text())["rates"]
    assert card.counts.n == 1255
    shown = tuple(round(100 * rates[rate], 2) for rate in ("accuracy", "hallucination", "missing", "score"))
    assert shown == table2


def test_the_harness_shows_88_61_where_the_papers_table_1_prints_88_68() -> None:
    assert f"{100 * Counts(correct=1112, incorrect=130, abstained=13).accuracy:.2f}" == "88.61"


@given(st.lists(st.sampled_from(["a", "b", "I don't know", None, "zzz", "absent"]), min_size=40, max_size=40))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_slices_of_an_attribute_add_up_to_the_whole(exam: Exam, answers: list[str | None]) -> None:
    said = {q.question_id: a for q, a in zip(exam.questions, answers, strict=True) if a != "absent"}
    card = card_of(exam, said)
    for attribute in ("kind", "n_choices", "pages", "evidence"):
        parts = [part.counts for part in card.slices if part.attribute == attribute]
        assert sum(part.n for part in parts) == 40
        assert sum(part.correct for part in parts) == card.counts.correct
    assert card.counts.score == pytest.approx(card.counts.accuracy - card.counts.hallucination)


def test_slices_tell_pages_and_evidence_and_flags_apart(exam: Exam, gold: dict[str, str]) -> None:
    found = {(part.attribute, part.value): part.counts.n for part in card_of(exam, gold).slices}
    assert (found["pages", "has pages"], found["pages", "no pages"]) == (26, 14)
    assert found["evidence", "supported"] == 13
    assert found["flag", "meta_choice"] == 10
    assert found["lesson", "lesson 1"] == 11
    assert list(found) == sorted(found)


def test_a_dataset_without_pages_has_no_slices_about_pages(
    build_dataset: Callable[..., Dataset], questions: list[Question], gold: dict[str, str], tmp_path: Path
) -> None:
    exam = open_exam(build_dataset(tmp_path / "bare", questions, gold), "test", None)
    assert {part.attribute for part in card_of(exam, gold).slices} == {"kind", "n_choices", "lesson", "flag"}


@pytest.mark.parametrize(("leaked", "told"), [(None, {}), (0, {"clean": 40}), (7, {"clean": 33, "leaked": 7})])
def test_leaked_and_clean_are_told_apart_where_leaks_were_looked_for(
    build_dataset: Callable[..., Dataset],
    questions: list[Question],
    gold: dict[str, str],
    tmp_path: Path,
    leaked: int | None,
    told: dict[str, int],
) -> None:
    exam = open_exam(build_dataset(tmp_path / "d", questions, gold, pages=True, leaked=leaked), "test", None)
    card = card_of(exam, gold)
    assert {part.value: part.counts.n for part in card.slices if part.attribute == "leak"} == told
    assert card.counts.n == 40


def test_a_full_file_is_scored_on_a_sample_alone(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path]
) -> None:
    card = from_file(tiny, write_answers(gold), sample="stratified-12-seed-0")
    assert (card.counts.n, card.sample, card.counts.score) == (12, "stratified-12-seed-0", 1.0)


def test_scored_at_is_the_clock_or_source_date_epoch() -> None:
    assert now_utc({"SOURCE_DATE_EPOCH": "946684800"}) == datetime(2000, 1, 1, tzinfo=UTC)
    assert abs((now_utc({}) - datetime.now(UTC)).total_seconds()) < 5
    for odd in ("soon", "-1", "1" * 40, ""):
        with pytest.raises(SubmissionError):
            now_utc({"SOURCE_DATE_EPOCH": odd})


def test_a_scorecard_reads_back_equal_and_lies_are_refused(exam: Exam, gold: dict[str, str], tmp_path: Path) -> None:
    path, card = tmp_path / "scorecard.json", card_of(exam, gold | {"q001": "zzz", "q002": None})
    write_scorecard(path, card)
    assert read_scorecard(path) == card
    values = json.loads(path.read_text())
    lies: list[dict[str, object]] = [
        values | {"rates": values["rates"] | {"score": 0.99}},
        values | {"rates": values["rates"] | {"score": None}},
        values | {"rates": {}},
        {k: v for k, v in values.items() if k != "rates"},
        values | {"counts": values["counts"] | {"correct": 40}},
        values | {"outcomes": "c" * 40},
        values | {"extra": 1},
    ]
    for lie in lies:
        path.write_text(json.dumps(lie))
        with pytest.raises(FaultsError):
            read_scorecard(path)


def test_results_lie_where_the_board_looks_with_the_same_predictions(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_answers(gold)
    scored = score_target(tiny, "test", "stratified-8-seed-0", Target(path, FACTS), scored_at=WHEN)
    written = write_results(tmp_path / "results", scored.card, path)
    assert written.relative_to(tmp_path) == Path(
        "results/tiny-1.0.0/test-stratified-8-seed-0/test-system/scorecard.json"
    )
    assert (written.parent / "predictions.jsonl").read_bytes() == path.read_bytes()
    assert read_scorecard(written) == scored.card


def test_the_same_inputs_give_the_same_bytes(
    tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path], tmp_path: Path
) -> None:
    path, written = write_answers(gold), []
    for name in ("one", "two"):
        scored = score_target(tiny, "test", None, Target(path, FACTS), scored_at=WHEN)
        written.append(write_results(tmp_path / name, scored.card, path).read_bytes())
    assert written[0] == written[1]


def test_lessons_are_numbered_by_first_occurrence_and_none_is_minus_one(questions: list[Question]) -> None:
    named = ["plants", None, "cells", "plants", None, "cells", "air"]
    asked = [replace(q, lesson=lesson) for q, lesson in zip(questions, named, strict=False)]
    assert lesson_numbers(asked) == (0, -1, 1, 0, -1, 1, 2)
    assert lesson_numbers([replace(q, lesson=None) for q in questions]) == ()
    assert lesson_numbers([]) == ()


def test_the_card_carries_lessons_attribution_confidence_and_fingerprints(exam: Exam, gold: dict[str, str]) -> None:
    card = card_of(exam, gold | {"q001": None})
    assert (len(card.lessons), min(card.lessons), max(card.lessons)) == (40, -1, 2)
    assert sum(card.attribution.values()) == 1
    assert set(card.exam) == {"ids", "questions", "gold", "support"}
    stated = {i: Prediction(question_id=i, answer=a, confidence=0.75) for i, a in gold.items()}
    assert score(exam, stated, FACTS, scored_at=WHEN).card.confidence["n"] == 40
    assert card.confidence == {}


def test_each_fingerprint_moves_with_its_own_part_alone(exam: Exam) -> None:
    first, *others = exam.questions
    changes: dict[str, tuple[set[str], Exam]] = {
        "text": ({"questions"}, exam._replace(questions=[replace(first, text="Other?"), *others])),
        "lesson": ({"support"}, exam._replace(questions=[replace(first, lesson="new"), *others])),
        "flags": ({"support"}, exam._replace(questions=[replace(first, flags=("truncated",)), *others])),
        "gold": ({"gold"}, exam._replace(gold={**exam.gold, "q000": Gold(question_id="q000", answer="b")})),
        "pages": ({"support"}, exam._replace(support=exam.support._replace(with_pages=frozenset({"q000"})))),
        "fewer": ({"ids", "questions", "gold", "support"}, exam._replace(questions=others)),
    }
    same = fingerprints(exam)
    assert same == exam.prints
    for name, (moved, changed) in changes.items():
        prints = fingerprints(changed)
        assert {part for part in prints if prints[part] != same[part]} == moved, name


def test_fingerprints_are_what_the_page_says(exam: Exam) -> None:
    def sha256(entries: object) -> str:
        text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    asked, support = exam.questions, exam.support
    offered = [sorted(support.with_pages), support.evidence, support.has_pages, support.leaked]
    assert exam.prints == {
        "ids": sha256([q.question_id for q in asked]),
        "questions": sha256([[q.question_id, q.text, q.choices, q.kind] for q in asked]),
        "gold": sha256([[q.question_id, exam.gold[q.question_id].answer, []] for q in asked]),
        "support": sha256([*([q.lesson, q.flags] for q in asked), *offered]),
    }


def test_answers_given_on_other_pages_leave_out_what_hangs_on_pages(exam: Exam, gold: dict[str, str]) -> None:
    page_id = next(iter(next(iter(exam.support.evidence.values()))))
    said = {i: Prediction(question_id=i, answer=a, passages=((page_id, 0, 9),)) for i, a in gold.items()}  # type: ignore[arg-type]
    own = score(exam, said, FACTS, scored_at=WHEN).card
    carried = score(exam, said, FACTS, scored_at=WHEN, origin=Origin(made_on="tiny@0.9.0")).card
    assert own.retrieval
    assert (carried.retrieval, carried.attribution, carried.made_on) == ({}, {}, "tiny@0.9.0")
    assert {part.attribute for part in own.slices} - {part.attribute for part in carried.slices} == {
        "pages",
        "evidence",
    }
    assert (carried.outcomes, carried.intervals) == (own.outcomes, own.intervals)
    assert carried.exam["questions"] == own.exam["questions"]


def test_the_collector_rests_while_scoring_and_is_as_it_was_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with suppress(SubmissionError), uncollected():
        raise SubmissionError("a", "b")
    assert gc.isenabled()


def test_what_was_made_while_the_collector_rested_is_left_to_it_and_counts_as_old() -> None:
    with uncollected():
        made: list[list[int]] = [[] for _ in range(10_000)]
        assert gc.get_count()[0] >= len(made)
    assert gc.get_count()[0] < len(made)
    assert gc.get_freeze_count() == 0


def test_all_faults_of_a_scorecard_are_told_at_once(exam: Exam, gold: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "scorecard.json"
    write_scorecard(path, card_of(exam, gold))
    values = json.loads(path.read_text())
    spoilt = values | {
        "outcomes": "c" * 39,
        "lessons": [7] * 3,
        "attribution": {"failed": -1},
        "intervals": {"score": [1, -1]},
    }
    path.write_text(json.dumps(spoilt))
    with pytest.raises(FaultsError) as caught:
        read_scorecard(path)
    said = [fault.what.partition(":")[0] for fault in caught.value.faults]
    assert said == ["outcomes", "outcomes", "lessons", "lessons", "intervals", "attribution", "attribution"]
    assert all(fault.where == str(path) for fault in caught.value.faults)
    path.write_text("[]")
    with pytest.raises(FaultsError, match="not an object with fields"):
        read_scorecard(path)


def test_attribution_adds_up_to_the_questions_that_are_not_correct(exam: Exam, gold: dict[str, str]) -> None:
    card = card_of(exam, gold | {"q001": None})
    assert replace(card, attribution={"evidence_not_found": 1}) != card
    with pytest.raises(RecordFaultsError, match="adds up to 2 questions, but 1 are not correct"):
        replace(card, attribution={"evidence_not_found": 2})


REAL = [("bad_student", 881, 0), ("jiwanchung_mc_baseline", 1012, 7)]


@pytest.mark.parametrize(("name", "n_right", "n_past_last"), REAL)
def test_real_predictions_on_all_tqa_validation_questions_get_their_known_counts(
    tqa_val: Dataset, shared_data: Path, write_answers: Callable[..., Path], name: str, n_right: int, n_past_last: int
) -> None:
    letters = json.loads((shared_data / "tqa" / "val" / "predictions" / f"{name}.json").read_text())
    letters["NDQ_004046"] = dict(zip("acde", "abcd", strict=True))[letters["NDQ_004046"]]  # its labels have a gap
    card = from_file(tqa_val, write_answers(letters), split="val")
    assert card.counts == Counts(correct=n_right, unparseable=n_past_last, incorrect=2524 - n_right - n_past_last)


def test_every_real_choice_text_reads_as_its_label_or_as_one_of_several_alike(tqa_val: Dataset) -> None:
    from harness.reading.answers import read_answer

    unread = []
    for question in tqa_val.questions("val"):
        for label, text in question.choices.items():
            reading = read_answer(text, question.choices)
            if reading.label != label and "alike" not in reading.reason:
                unread.append((question.question_id, label, text, reading))
    assert unread == []
