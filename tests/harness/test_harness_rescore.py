from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, EduRagError, FaultsError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.results_folder import read_scorecard, write_scorecard
from harness.rescoring.rescore import (
    RECORD,
    Rescoring,
    causes_of,
    rescore,
    rescoring_lines,
    rescoring_values,
    write_record,
)
from harness.scoring.score import now_utc

pytestmark = pytest.mark.usefixtures("read_in_this_process")

WHEN, LATER = now_utc({"SOURCE_DATE_EPOCH": "946684800"}), now_utc({"SOURCE_DATE_EPOCH": "946684900"})

RUN_RECORD = {
    "split": "test",
    "sample": None,
    "system_sha256": "0" * 64,
    "harness": "h",
    "limits": {"time_s": 1.0, "start_s": 1.0},
}


class Bench:
    """Datasets, submissions and results in one folder, as a maintainer has them."""

    def __init__(self, folder: Path, build: Callable[..., Dataset], questions: list[Question], gold: Mapping[str, str]):
        self.folder, self.questions, self.gold = folder, questions, dict(gold)
        self._build, self.submissions, self.results = build, folder / "submissions", folder / "results"
        self.submissions.mkdir()

    def dataset(self, version: str, *, gold: Mapping[str, str] | None = None, **more: object) -> Dataset:
        shutil.rmtree(self.folder / version, ignore_errors=True)
        questions = more.pop("questions", self.questions)
        return self._build(self.folder / version, questions, gold or self.gold, version=version, **more)

    def predict(self, slug: str, answers: Mapping[str, str | None], *, place: str = "tiny-1.0.0/test") -> Path:
        folder = self.submissions / slug
        path = folder / "predictions" / f"{place}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        (folder / "submission.toml").write_text(f'name = "{slug}"\nteam = "us"\n')
        path.write_text("".join(json.dumps({"question_id": i, "answer": a}) + "\n" for i, a in answers.items()))
        return path

    def rescore(self, *datasets: Dataset, late: bool = False) -> Rescoring:
        return rescore(self.submissions, datasets, self.results, scored_at=LATER if late else WHEN)

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.results.rglob("*") if path.is_file())
        return {path.relative_to(self.results).as_posix(): path.read_bytes() for path in found}

    def card(self, slug: str, version: str = "1.0.0", table: str = "test") -> Path:
        return self.results / f"tiny-{version}" / table / slug / "scorecard.json"


@pytest.fixture
def bench(
    tmp_path: Path, build_dataset: Callable[..., Dataset], questions: list[Question], gold: dict[str, str]
) -> Bench:
    return Bench(tmp_path, build_dataset, questions, gold)


def other_label(question: Question, label: str) -> str:
    return next(other for other in question.choices if other != label)


def told(found: Rescoring) -> dict[str, tuple[str, ...]]:
    return {move.system: move.causes for move in found.moves}


def test_every_submission_is_scored_and_scored_again_gives_the_same_bytes(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0", pages=True)
    bench.predict("oracle", bench.gold)
    bench.predict("silent", dict.fromkeys(bench.gold))
    first = bench.rescore(dataset)
    assert told(first) == {"oracle": ("new",), "silent": ("new",)}
    assert (first.n_unchanged, first.kept, first.faults) == (0, (), ())
    assert read_scorecard(bench.card("oracle")).counts.score == 1.0
    before = bench.files()
    second = bench.rescore(dataset, late=True)
    assert (second.moves, second.n_unchanged) == ((), 2)
    assert bench.files() == before
    assert read_scorecard(bench.card("oracle")).scored_at == "2000-01-01T00:00:00Z"


def test_samples_are_scored_on_their_own_questions(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    bench.predict("oracle", bench.gold)
    bench.predict("oracle", bench.gold, place="tiny-1.0.0/test-stratified-12-seed-3")
    found = bench.rescore(dataset)
    assert {(move.sample, move.after) for move in found.moves} == {(None, 1.0), ("stratified-12-seed-3", 1.0)}
    assert read_scorecard(bench.card("oracle", table="test-stratified-12-seed-3")).counts.n == 12


def test_a_corrected_gold_moves_scores_and_the_record_names_the_question_and_the_cause(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.predict("silent", dict.fromkeys(bench.gold))
    bench.rescore(bench.dataset("1.0.0"))
    corrected = bench.gold | {"q006": other_label(bench.questions[6], bench.gold["q006"])}
    found = bench.rescore(bench.dataset("1.0.0", gold=corrected))
    assert told(found) == {"oracle": ("gold changed",), "silent": ("gold changed",)}
    oracle, silent = found.moves
    assert (oracle.before, oracle.after, oracle.question_ids) == (1.0, 0.95, ("q006",))
    assert (silent.before, silent.after, silent.question_ids) == (0.0, 0.0, ())
    assert "oracle on tiny@1.0.0#" in (lines := "\n".join(rescoring_lines(found)))
    assert "+100.00 % -> +95.00 % (gold changed)" in lines
    assert "1 outcome(s) changed: q006" in lines


def test_changed_predictions_are_told_from_changed_questions(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.rescore(bench.dataset("1.0.0"))
    bench.predict("oracle", bench.gold | {"q000": None, "q001": "zzz"})
    (move,) = bench.rescore(bench.dataset("1.0.0")).moves
    assert (move.causes, move.question_ids) == (("predictions changed",), ("q000", "q001"))
    reworded = [replace(question, text=f"{question.text} Really?") for question in bench.questions]
    (move,) = bench.rescore(bench.dataset("1.0.0", questions=reworded)).moves
    assert move.causes == ("questions changed",)
    assert move.question_ids == ()


def test_other_questions_leave_no_outcomes_to_compare(bench: Bench) -> None:
    fewer = {question_id: label for question_id, label in bench.gold.items() if question_id != "q039"}
    bench.predict("oracle", fewer)
    bench.rescore(bench.dataset("1.0.0"))
    dataset = bench.dataset("1.0.0", questions=bench.questions[:39], gold=fewer)
    (move,) = bench.rescore(dataset).moves
    assert move.causes == ("questions changed", "gold changed", "evidence or slices changed")
    assert (move.before, move.question_ids) == (pytest.approx(0.975), None)


def test_new_pages_move_slices_alone_and_say_so(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.rescore(bench.dataset("1.0.0"))
    (move,) = bench.rescore(bench.dataset("1.0.0", pages=True)).moves
    assert (move.causes, move.question_ids) == (("evidence or slices only",), ())


def test_answers_move_to_a_newer_version_of_the_same_major_without_what_hangs_on_pages(bench: Bench) -> None:
    bench.predict("another", dict.fromkeys(bench.gold))
    bench.rescore(bench.dataset("1.0.0", pages=True))
    shutil.rmtree(bench.submissions / "another")
    bench.predict("oracle", bench.gold)
    bench.rescore(bench.dataset("1.0.0", pages=True))
    found = bench.rescore(bench.dataset("1.1.0", pages=True))
    (move,) = found.moves
    assert move.causes == ("evidence or slices only", "carried to another version")
    assert (move.before, move.after, move.question_ids) == (1.0, 1.0, ())
    card = read_scorecard(bench.card("oracle", "1.1.0"))
    assert card.made_on == "tiny@1.0.0"
    assert (card.retrieval, card.attribution, card.probes) == ({}, {}, {})
    assert {part.attribute for part in card.slices} == {"kind", "n_choices", "lesson", "flag"}
    assert [(kept.scorecard, kept.why) for kept in found.kept] == [
        (f"tiny-1.0.0/test/{slug}/scorecard.json", "another version than the ones given")
        for slug in ("another", "oracle")
    ]


def test_own_predictions_go_before_carried_ones_and_newer_ones_never_go_back(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.predict("oracle", dict.fromkeys(bench.gold), place="tiny-1.1.0/test")
    bench.rescore(bench.dataset("1.0.0"), bench.dataset("1.1.0"), bench.dataset("1.2.0"))
    cards = [read_scorecard(bench.card("oracle", version)) for version in ("1.0.0", "1.1.0", "1.2.0")]
    assert [(card.counts.score, card.made_on) for card in cards] == [(1.0, ""), (0.0, ""), (0.0, "tiny@1.1.0")]


def test_another_major_is_kept_and_never_mixed_unless_its_questions_are_known_to_be_the_same(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    corrected = bench.gold | {"q006": other_label(bench.questions[6], bench.gold["q006"])}
    new_gold = bench.dataset("2.0.0", gold=corrected)
    assert bench.rescore(new_gold).moves == ()  # nothing is known of version 1's questions
    bench.rescore(bench.dataset("1.0.0"))
    found = bench.rescore(new_gold)
    (move,) = found.moves
    assert (move.dataset, move.after, move.question_ids) == (new_gold.id, 0.95, ("q006",))
    assert found.kept[0].why == "another major version, which is never mixed with the ones given"
    shutil.rmtree(bench.results)
    both = bench.rescore(bench.dataset("1.0.0"), new_gold)  # the older dataset itself says what its questions were
    assert [(move.dataset.partition("#")[0], move.after) for move in both.moves] == [
        ("tiny@1.0.0", 1.0),
        ("tiny@2.0.0", 0.95),
    ]
    reworded = [replace(question, text=f"{question.text} Really?") for question in bench.questions]
    assert bench.rescore(bench.dataset("3.0.0", questions=reworded)).moves == ()
    assert not bench.card("oracle", "3.0.0").exists()


def test_a_run_record_of_another_content_of_the_same_version_is_another_version(bench: Bench) -> None:
    path, dataset = bench.predict("oracle", bench.gold), bench.dataset("1.0.0", pages=True)
    path.with_suffix(".run.json").write_text(json.dumps(RUN_RECORD | {"dataset": dataset.id}))
    bench.rescore(dataset)
    assert read_scorecard(bench.card("oracle")).made_on == ""
    path.with_suffix(".run.json").write_text(json.dumps(RUN_RECORD | {"dataset": "tiny@1.0.0#00000000"}))
    bench.rescore(dataset)
    assert read_scorecard(bench.card("oracle")).made_on == "tiny@1.0.0#00000000"


@pytest.mark.parametrize("name", ["tiny@2.0.0#aaaaaaaa", "far@1.0.0#aaaaaaaa", "tiny@1.0.0", "x" * 5_000])
def test_a_run_record_cannot_name_another_dataset_than_the_place(bench: Bench, name: str) -> None:
    path = bench.predict("oracle", bench.gold)
    path.with_suffix(".run.json").write_text(json.dumps(RUN_RECORD | {"dataset": name}))
    found = bench.rescore(bench.dataset("1.0.0"))
    assert found.moves == ()
    assert [fault.what for fault in found.faults] == [f"is under tiny@1.0.0, but its run record names {name[:80]}"]


def test_what_is_no_file_costs_itself_alone_and_never_hangs(bench: Bench) -> None:
    path = bench.predict("piped", bench.gold)
    path.unlink()
    os.mkfifo(path)
    assert [fault.what for fault in bench.rescore(bench.dataset("1.0.0")).faults] == ["is not a regular file"]


def test_faulty_submissions_cost_themselves_alone_and_all_are_told(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    bench.predict("oracle", bench.gold)
    broken = bench.predict("broken", bench.gold)
    bench.rescore(dataset)
    broken.write_text("{nonsense\n")
    (bench.submissions / "nameless").mkdir()
    (bench.submissions / "nameless" / "submission.toml").write_text("nam = 1\n")
    (bench.submissions / ".hidden").mkdir()
    linked = bench.predict("linked", bench.gold)
    linked.rename(bench.folder / "elsewhere.jsonl")
    linked.symlink_to(bench.folder / "elsewhere.jsonl")
    found = bench.rescore(dataset)
    said = "\n".join(str(fault) for fault in found.faults)
    for part in ("test.jsonl:1: line: not JSON", "unknown field", "missing field", "linked folder"):
        assert part in said
    assert found.n_unchanged == 1
    assert [(kept.scorecard, kept.why) for kept in found.kept] == [
        ("tiny-1.0.0/test/broken/scorecard.json", "its predictions could not be scored")
    ]


def test_results_without_predictions_are_kept_and_named(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    bench.predict("oracle", bench.gold)
    bench.predict("silent", dict.fromkeys(bench.gold))
    bench.rescore(dataset)
    shutil.rmtree(bench.submissions / "silent")
    other = bench.card("oracle")
    card = replace(read_scorecard(other), dataset="other@1.0.0#00000000")
    write_scorecard(bench.results / "other-1.0.0" / "test" / "oracle" / "scorecard.json", card)
    before = bench.files()
    found = bench.rescore(dataset)
    assert {kept.dataset.partition("@")[0]: kept.why for kept in found.kept} == {
        "other": "its dataset was not given",
        "tiny": "its predictions are gone",
    }
    assert bench.files() == before


def test_a_result_that_cannot_be_read_is_replaced_or_told(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    bench.predict("oracle", bench.gold)
    bench.rescore(dataset)
    whole = bench.card("oracle").read_bytes()
    bench.card("oracle").write_text("{}")
    nameless = bench.results / "odd" / "scorecard.json"
    nameless.parent.mkdir(parents=True)
    nameless.write_bytes(whole.replace(_card_of(whole, bench).dataset.encode(), b"nonsense"))
    found = bench.rescore(dataset)
    assert told(found) == {"oracle": ("new",)}
    assert bench.card("oracle").read_bytes() == whole
    assert [str(fault) for fault in found.faults] == [
        f"{nameless}: dataset: 'nonsense' is not name@version#hash8, without leading zeros"
    ]


def _card_of(data: bytes, bench: Bench):  # type: ignore[no-untyped-def]
    path = bench.folder / "card.json"
    path.write_bytes(data)
    return read_scorecard(path)


def test_a_missing_copy_of_the_predictions_is_written_again(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    path = bench.predict("oracle", bench.gold)
    bench.rescore(dataset)
    scorecard = bench.card("oracle").read_bytes()
    copy = bench.card("oracle").with_name("predictions.jsonl")
    copy.unlink()
    assert bench.rescore(dataset, late=True).n_unchanged == 1
    assert copy.read_bytes() == path.read_bytes()
    copy.write_bytes(b"somebody else's")
    assert bench.rescore(dataset, late=True).n_unchanged == 1
    assert copy.read_bytes() == path.read_bytes()
    assert bench.card("oracle").read_bytes() == scorecard


def test_every_cause_has_its_name(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.rescore(bench.dataset("1.0.0"))
    card = read_scorecard(bench.card("oracle"))
    assert causes_of(card, replace(card, scored_at="2001-01-01T00:00:00Z")) == ()
    for change, cause in (
        ({"answers_rule": "answers-v4"}, "answers rule changed"),
        ({"judges": {"judge": "other"}}, "judge changed"),
        ({"harness": "edu-rag-bench 9.9"}, "harness version"),
        ({"system": replace(card.system, team="them")}, "declared facts changed"),
        ({"probes": {"no-context": {"n": 1}}}, "probes changed"),
        ({"interval_method": "other"}, "harness changed within its version"),
    ):
        assert causes_of(card, replace(card, **change)) == (cause,)  # type: ignore[arg-type]
    old = replace(card, exam={}, dataset="tiny@1.0.0#00000000")
    assert causes_of(old, card) == ("dataset changed",)


def test_scorecards_from_before_fingerprints_are_compared_by_position(bench: Bench) -> None:
    bench.predict("oracle", bench.gold | {"q003": "zzz"})
    dataset = bench.dataset("1.0.0")
    bench.rescore(dataset)
    card = read_scorecard(bench.card("oracle"))
    write_scorecard(bench.card("oracle"), replace(card, exam={}, dataset="tiny@1.0.0#00000000"))
    bench.predict("oracle", bench.gold)
    (move,) = bench.rescore(dataset).moves
    assert (move.causes, move.question_ids) == (("predictions changed", "dataset changed"), ("q003",))


def test_the_record_stays_as_it_is_where_nothing_moved(bench: Bench) -> None:
    dataset, path = bench.dataset("1.0.0"), bench.results / RECORD
    bench.predict("oracle", bench.gold)
    assert write_record(path, bench.rescore(dataset))
    written = path.read_bytes()
    assert not write_record(path, bench.rescore(dataset))
    assert path.read_bytes() == written
    path.write_text("{half")
    assert write_record(path, bench.rescore(dataset))
    assert json.loads(path.read_text())["moves"] == []
    shutil.rmtree(bench.submissions / "oracle")
    assert write_record(path, bench.rescore(dataset))
    assert json.loads(path.read_text())["kept"][0]["why"] == "its predictions are gone"


def test_what_cannot_be_meant_is_refused(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    with pytest.raises(ConfigError, match="is given twice"):
        bench.rescore(dataset, dataset)
    with pytest.raises(ConfigError, match="is not a folder"):
        rescore(bench.folder / "none", [dataset], bench.results, scored_at=WHEN)


def test_one_submission_is_no_folder_of_submissions_and_leaves_no_record(bench: Bench) -> None:
    one = bench.predict("oracle", bench.gold).parents[2]
    words = ["score", "--all", one, "--dataset", bench.dataset("1.0.0").folder, "--out", bench.results]
    error = CliRunner().invoke(root, [str(word) for word in words]).exception
    assert isinstance(error, ConfigError)
    assert "is one submission: give the folder that contains it, or score it without --all" in str(error)
    assert not bench.results.exists()


def test_long_lists_of_questions_are_cut_and_say_how_many_more() -> None:
    from harness.rescoring.rescore import Kept, ScoreChange

    move = ScoreChange(
        system="s",
        dataset="d@1.0.0#0",
        split="test",
        sample="stratified-3-seed-0",
        causes=("gold changed",),
        before=0.5,
        after=0.25,
        question_ids=tuple(f"q{i}" for i in range(12)),
    )
    kept = Kept(scorecard="a/b", dataset="d@2.0.0#0", why="gone")
    found = Rescoring(datasets=("d@1.0.0#0",), n_unchanged=3, moves=(move,), kept=(kept,), faults=())
    assert list(rescoring_lines(found, limit=2)) == [
        "s on d@1.0.0#0, test, stratified-3-seed-0: +50.00 % -> +25.00 % (gold changed)",
        "  12 outcome(s) changed: q0, q1 … and 10 more",
        "1 result(s) moved, 3 unchanged, 1 kept",
        "  kept a/b (d@2.0.0#0): gone",
    ]
    assert list(rescoring_lines(replace(found, moves=(replace(move, question_ids=None),))))[1].startswith("1 result")
    faulty = replace(found, faults=(EduRagError("a", "b"),))
    assert rescoring_values(faulty)["faults"] == ["a: b"]
    assert rescoring_values(found)["format"] == "edu-rag-rescoring-v1"


def test_the_command_ends_with_exit_1_and_all_faults_after_its_work(bench: Bench) -> None:
    dataset = bench.dataset("1.0.0")
    bench.predict("oracle", bench.gold)
    bench.predict("broken", {"stranger": "a"})
    words = ["score", "--all", str(bench.submissions), "--dataset", str(dataset.folder), "--out", str(bench.results)]
    done = CliRunner().invoke(root, words)
    assert isinstance(done.exception, FaultsError)
    assert "oracle on tiny@1.0.0" in done.stdout
    assert "score: 2 of 2: done 1, not scored 1: faulty 1" in done.stderr
    assert json.loads((bench.results / RECORD).read_text())["moves"][0]["system"] == "oracle"
    shutil.rmtree(bench.submissions / "broken")
    again = CliRunner().invoke(root, [*words, "--json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["n_unchanged"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--dataset", "d"], "--all needs --out"),
        (["--all", "--dataset", "d", "--out", "r", "--split", "val"], "--all takes no --split"),
        (["--all", "--dataset", "d", "--out", "r", "--brief"], "--all takes no --split"),
        (["--dataset", "d"], "Missing argument"),
        (["x", "--dataset", "d", "--dataset", "e"], "Several --dataset"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(words: list[str], said: str) -> None:
    done = CliRunner().invoke(root, ["score", *words])
    assert (done.exit_code, said in done.output) == (2, True)


def test_files_that_are_no_predictions_of_a_dataset_are_left_alone(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.predict("oracle", {"stranger": "a"}, place="notes/test")
    bench.predict("oracle", {"stranger": "a"}, place="tiny-1.0.0/test.no-context")
    bench.predict("oracle", {"stranger": "a"}, place="tiny-1.0.0/val")
    bench.predict("oracle", {"stranger": "a"}, place="other-1.0.0/test")
    (bench.submissions / "README.md").write_text("notes")
    found = bench.rescore(bench.dataset("1.0.0"))
    assert ([move.system for move in found.moves], found.faults) == (["oracle"], ())


def test_a_sample_that_a_version_cannot_have_costs_that_version_alone(bench: Bench) -> None:
    bench.predict("oracle", bench.gold)
    bench.predict("other", bench.gold, place="tiny-1.0.0/test-stratified-50-seed-0")
    bench.predict("older", bench.gold, place="tiny-0.9.0/test-stratified-50-seed-0")
    bench.rescore(bench.dataset("1.0.0"))
    write_scorecard(
        bench.results / "tiny-0.9.0" / "test-stratified-50-seed-0" / "older" / "scorecard.json",
        replace(
            read_scorecard(bench.card("oracle")),
            dataset="tiny@0.9.0#00000000",
            sample="stratified-50-seed-0",
        ),
    )
    found = bench.rescore(bench.dataset("1.0.0"))
    assert found.n_unchanged == 1
    assert len(found.faults) == 2
    assert all("50 is more than the split's 40 questions" in str(fault) for fault in found.faults)
