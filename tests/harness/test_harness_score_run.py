"""`edu-rag score --run`: a retrieval run is scored by page, with trec_eval, and every question counts."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from builder.exports.export_folder import export_folder
from edu_rag.errors import DataError, FaultsError, RecordError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, Question, WebPage
from edu_rag.scorecard.retrieval_card import read_retrieval_card, retrieval_cards, write_retrieval_card
from harness.check_submission import check_submission
from harness.commands.score_command import score
from harness.rescoring import score_run as scoring
from harness.submission.folder import all_faults


def invoked(*words: object) -> Result:
    return CliRunner().invoke(score, list(map(str, words)))


def scored(run: Path, dataset: Dataset, *words: object) -> dict[str, Any]:
    done = invoked("--run", run, "--dataset", dataset.folder, "--json", *words)
    if done.exception is not None:
        raise done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_text(dataset: Dataset, questions: list[Question], seed: int = 7) -> str:
    """A run of all questions but every fifth, with the pages in a random order of scores."""
    chance = random.Random(seed)
    pages = sorted(dataset.pages("test"))
    lines = []
    for question in [one for at, one in enumerate(questions) if at % 5]:
        for rank, page_id in enumerate(chance.sample(pages, len(pages)), 1):
            lines.append(f"{question.question_id} Q0 {page_id} {rank} {1 / rank} chance\n")
    return "".join(lines)


@pytest.fixture
def run(tiny: Dataset, questions: list[Question], tmp_path: Path) -> Path:
    path = tmp_path / "chance.trec"
    path.write_text(run_text(tiny, questions))
    return path


def test_the_measures_are_those_of_trec_eval_on_the_exported_judgements(
    tiny: Dataset, run: Path, tmp_path: Path
) -> None:
    from pytrec_eval import RelevanceEvaluator, parse_qrel, parse_run

    export_folder(tiny, "test", "trec", tmp_path / "trec", 500)
    with (tmp_path / "trec" / "qrels-evidence.txt").open() as qrels, run.open() as lines:
        judged, ranked = parse_qrel(qrels), parse_run(lines)
    theirs = RelevanceEvaluator(judged, {"ndcg_cut_10", "recip_rank", "map_cut_5", "P_1", "recall_3"}).evaluate(ranked)
    ours = scored(run, tiny)["evidence"]
    assert ours["n"] == len(judged)
    for name, theirs_name in (
        ("NDCG@10", "ndcg_cut_10"),
        ("MRR", "recip_rank"),
        ("MAP@5", "map_cut_5"),
        ("P@1", "P_1"),
        ("R@3", "recall_3"),
    ):
        mean = sum(theirs[one][theirs_name] for one in judged if one in theirs) / len(judged)
        assert ours["metrics"][name] == pytest.approx(mean, abs=1e-6)
        low, high = ours["intervals"][name]
        assert low <= ours["metrics"][name] <= high


def test_a_question_without_a_page_in_the_run_counts_zero(
    tiny: Dataset, questions: list[Question], tmp_path: Path
) -> None:
    judged = sorted(tiny.evidence("test"))
    path = tmp_path / "one.trec"
    path.write_text(f"{judged[0]} Q0 {tiny.evidence('test')[judged[0]][0].page_id} 1 9.5 x\n")
    found = scored(path, tiny)
    assert (found["n"], found["n_ranked"]) == (len(questions), 1)
    assert found["evidence"]["metrics"]["P@1"] == pytest.approx(1 / len(judged))
    assert found["home"] is None


def test_home_pages_are_measured_apart_from_evidence(tiny: Dataset, tmp_path: Path) -> None:
    page_id = max(tiny.pages("test"))
    home = Evidence(question_id="q001", page_id=page_id, start=0, end=64, method=HOME_PAGE)
    made = with_evidence(tiny, [*tiny.records("evidence", "test", Evidence), home], tmp_path / "with-home")
    path = tmp_path / "a.trec"
    path.write_text(f"q001 Q0 {page_id} 1 1 x\n")
    found = scored(path, made)
    assert (found["home"]["n"], found["home"]["metrics"]["MRR"]) == (1, 1.0)
    assert found["evidence"]["metrics"]["MRR"] == 0


def with_evidence(dataset: Dataset, evidence: list[Evidence], folder: Path) -> Dataset:
    """The dataset with other evidence."""
    kinds = {"questions": Question, "gold": Gold, "pages": WebPage}
    tables: dict[str, Any] = {name: {"test": list(dataset.records(name, "test", kind))} for name, kind in kinds.items()}
    write_dataset(
        folder,
        tables | {"evidence": {"test": evidence}},
        name="tiny",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda *_: {"README.md": b"# tiny\n"},
    )
    return Dataset(folder)


def test_a_full_run_is_scored_on_a_sample_of_its_questions(tiny: Dataset, run: Path) -> None:
    found = scored(run, tiny, "--sample", 12, "--seed", 3)
    assert (found["n"], found["sample"]) == (12, "stratified-12-seed-3")
    assert found["n_ranked"] <= 12


def test_all_faults_of_a_run_are_named_with_their_lines(tiny: Dataset, tmp_path: Path) -> None:
    page = min(tiny.pages("test"))
    path = tmp_path / "a.trec"
    path.write_text(
        f"q001 Q0 {page} 1 0.5 x\nq001 Q0 d7 2 0.4 x\nq001 Q0\nzzz Q0 {page} 1 1 x\nq001 Q0 {page} 1 inf x\n"
    )
    with pytest.raises(FaultsError) as caught:
        scored(path, tiny)
    text = "\n".join(map(str, caught.value.faults))
    for line, what in ((2, "'d7' is not a page"), (3, "has 2 parts"), (4, "unknown question 'zzz'"), (5, "is inf")):
        assert f"a.trec:{line}" in text
        assert what in text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "ranks no page"),
        (b"\x1f\x8b\x08\x00", "is packed by gzip"),
        (b"\xff\xfe\xfd", "ot"),
        (b"q001 " * 200_000, "parts"),
        (b"q001 Q0 p 1" + b"0" * 5_000 + b" 1 x", "is not a page"),
    ],
)
def test_a_hostile_run_is_one_line_of_error(tiny: Dataset, tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "bad.trec"
    path.write_bytes(content)
    with pytest.raises((DataError, FaultsError)) as caught:
        scored(path, tiny)
    assert what in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_a_run_over_the_most_bytes_is_not_read(tiny: Dataset, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "MAX_RUN_BYTES", 100)
    with pytest.raises(SubmissionError, match="leave out the pages below the first hundred"):
        scored(run, tiny)


def test_a_dataset_without_a_relevant_page_is_refused(tiny: Dataset, run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no page is known to be relevant"):
        scored(run, with_evidence(tiny, [], tmp_path / "bare"))


@pytest.fixture
def submission(tmp_path: Path, run: Path) -> Path:
    folder = tmp_path / "submissions" / "my-retriever"
    (folder / "runs" / "tiny-1.0.0").mkdir(parents=True)
    (folder / "submission.toml").write_text('name = "My retriever"\nteam = "us"\n')
    (folder / "runs" / "tiny-1.0.0" / "test.trec").write_bytes(run.read_bytes())
    return folder


def test_a_submission_may_hold_runs_alone(submission: Path, tiny: Dataset) -> None:
    assert all_faults(submission)[1] == []
    found = scored(submission / "runs" / "tiny-1.0.0" / "test.trec", tiny)
    assert found["system"]["slug"] == "my-retriever"
    moved = submission / "runs" / "tiny-9.0.0"
    (submission / "runs" / "tiny-1.0.0").rename(moved)
    with pytest.raises(SubmissionError, match=r"this run is for tiny-9\.0\.0"):
        scored(moved / "test.trec", tiny)


def test_check_reads_the_runs_of_a_submission_and_names_their_faults(submission: Path, tiny: Dataset) -> None:
    sound = check_submission(submission, tiny)
    assert sound.faults == []
    assert any("a retrieval run with pages for 32 of 40 questions" in note for note in sound.notes)
    path = submission / "runs" / "tiny-1.0.0" / "test.trec"
    path.write_text("q001 Q0 nowhere 1 1 x\n")
    path.with_name("other.trec").write_text("")
    path.with_name("Not_A_Split.trec").write_text("")
    path.with_name("test-stratified-999-seed-0.trec").write_text("")
    told = "\n".join(map(str, check_submission(submission, tiny).faults))
    assert "test.trec:1: page: 'nowhere' is not a page" in told
    assert "other.trec: the dataset has no split 'other': it has test" in told
    assert "Not_A_Split.trec: is not named like a run" in told
    assert "999" in told


def test_score_all_scores_the_runs_of_submissions_and_names_the_broken_ones(
    submission: Path, tiny: Dataset, tmp_path: Path
) -> None:
    broken = submission.parent / "broken"
    (broken / "runs" / "tiny-1.0.0").mkdir(parents=True)
    (broken / "submission.toml").write_text('name = "Broken"\nteam = "them"\n')
    (broken / "runs" / "tiny-1.0.0" / "test.trec").write_text("q001 Q0 nowhere 1 1 x\n")
    results = tmp_path / "results"
    done = invoked("--all", submission.parent, "--dataset", tiny.folder, "--out", results)
    assert isinstance(done.exception, FaultsError)
    assert "'nowhere' is not a page of this split" in str(done.exception)
    assert [path.relative_to(results).as_posix() for path in retrieval_cards(results)] == [
        "tiny-1.0.0/test/my-retriever/retrieval.json"
    ]


def test_a_card_is_read_back_as_it_was_written_and_a_false_one_is_refused(
    tiny: Dataset, run: Path, tmp_path: Path
) -> None:
    scored(run, tiny, "--out", tmp_path / "results")
    (path,) = retrieval_cards(tmp_path / "results")
    card = read_retrieval_card(path)
    assert card.evidence is not None
    written = path.stat().st_mtime_ns
    assert write_retrieval_card(tmp_path / "results", replace(card, scored_at="2030-01-01T00:00:00Z")) == path
    assert path.stat().st_mtime_ns == written, "only the time differs"
    with pytest.raises(RecordError, match="is not within"):
        replace(card.evidence, metrics=dict.fromkeys(card.evidence.metrics, 2.0))
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"n_ranked": 999, "extra": 1}))
    with pytest.raises(FaultsError, match="unknown field"):
        read_retrieval_card(path)


def test_options_that_a_run_has_no_use_for_are_wrong_usage(tiny: Dataset, run: Path) -> None:
    assert invoked("--run", run, "--dataset", tiny.folder, "--brief").exit_code == 2
    assert invoked("--run", run, run, "--dataset", tiny.folder).exit_code == 2
    text = invoked("--run", run, "--dataset", tiny.folder)
    assert text.exit_code == 0
    assert "pages with evidence" in text.stdout
    assert "MRR" in text.stdout
