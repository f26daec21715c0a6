"""Free text from predictions to scorecard: which judge spoke, what blocks, and which rules a result stands under."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.commands.score_command import score as score_command
from harness.judging.free_text import UnjudgedError
from harness.judging.grading import Grading, answers_rule_of, grade_all, open_grading
from harness.judging.judge_model import template
from harness.judging.outcomes import judge
from harness.rescoring.rescore import rescore
from harness.scoring.score import now_utc
from tests.harness.judge_server import Script, said, serving

GOLD = {"q0": ("Paris", "Lutetia"), "q1": ("4",), "q2": ("osmosis",)}
ANSWERS = {"q0": "lutetia", "q1": "four", "q2": "It is osmosis, through a membrane"}


def _free(question_id: str) -> Question:
    return Question(question_id=question_id, text=f"{question_id}?", choices={}, kind="free_text", split="test")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("free") / "dataset"
    golds = [Gold(question_id=question_id, texts=texts) for question_id, texts in GOLD.items()]
    write_dataset(
        folder,
        {"questions": {"test": [_free(q) for q in GOLD]}, "gold": {"test": golds}},
        name="free",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# free\n"},
    )
    return Dataset(folder)


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    lines = [json.dumps({"question_id": q, "answer": answer}) for q, answer in ANSWERS.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving([said("VERDICT: CORRECT")]) as script:
        monkeypatch.setenv("EDU_RAG_JUDGE_URL", script.url)
        monkeypatch.setenv("EDU_RAG_JUDGE_MODEL", "m")
        yield script


@pytest.fixture
def run(free: Dataset, predictions: Path) -> Callable[..., Any]:
    def go(*options: str) -> Any:
        return CliRunner().invoke(score_command, [str(predictions), "--dataset", str(free.folder), *options])

    return go


def test_one_unjudged_answer_blocks_the_scorecard_and_is_listed(run: Callable[..., Any], tmp_path: Path) -> None:
    result = run("--verdicts", str(tmp_path / "v.jsonl"), "--json", "--out", str(tmp_path / "results"))
    assert isinstance(result.exception, UnjudgedError)
    assert "1 of 3 free-text answers are unjudged" in str(result.exception)
    assert result.stdout == ""
    assert not (tmp_path / "results").exists()
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [(row["question_id"], row["outcome"]) for row in rows] == [
        ("q0", "correct"),
        ("q1", "correct"),
        ("q2", "unjudged"),
    ]


def test_scoring_all_names_the_file_whose_answers_are_unjudged(
    free: Dataset, tmp_path: Path, predictions: Path
) -> None:
    place = tmp_path / "subs" / "mine" / "predictions" / f"{free.manifest.name}-{free.manifest.version}"
    place.mkdir(parents=True)
    (place.parents[1] / "submission.toml").write_text('name = "Mine"\nteam = "us"\n')
    path = place / f"{free.splits()[0]}.jsonl"
    path.write_bytes(predictions.read_bytes())
    (fault,) = rescore(tmp_path / "subs", [free], tmp_path / "results", scored_at=now_utc()).faults
    assert str(fault).startswith(f"{path}: 1 of 3 free-text answers are unjudged")
    assert not list((tmp_path / "results").rglob("scorecard.json"))


def test_the_scorecard_says_who_judged_and_how_often(run: Callable[..., Any], server: Script) -> None:
    card = json.loads(run("--judge", "model", "--json").stdout)
    form = template()
    assert card["counts"]["correct"] == 3
    assert card["answers_rule"] == f"free-text-v2 by m (judge-v1#{form.sha256[:8]})"
    assert card["judges"]["counts"] == {"model": {"correct": 1}, "rules": {"correct": 2}}
    assert card["judges"]["chain"][1]["prompt_sha256"] == form.sha256
    assert len(server.asked) == 1


def test_scoring_again_asks_nobody(
    run: Callable[..., Any], server: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    first = run("--judge", "model", "--json", "--out", str(results))
    monkeypatch.delenv("EDU_RAG_JUDGE_URL")
    again = run("--judge", "model", "--json", "--out", str(results))
    assert json.loads(again.stdout)["outcomes"] == json.loads(first.stdout)["outcomes"] == "ccc"
    assert len(server.asked) == 1
    assert (results / "judgements.jsonl").is_file()


def test_a_grade_in_the_submissions_own_folder_is_never_read(run: Callable[..., Any], predictions: Path) -> None:
    row = {"key": "0", "outcome": "correct", "reason": "mine", "judge": "model"}
    for name in ("judgements.jsonl", "mine.judgements.jsonl"):
        (predictions.parent / name).write_text(json.dumps(row) + "\n")
    assert isinstance(run().exception, UnjudgedError)


def test_crag_compat_is_named_on_the_scorecard(run: Callable[..., Any], server: Script) -> None:
    card = json.loads(run("--rules", "crag-compat", "--judge", "model", "--json").stdout)
    assert card["answers_rule"].startswith("crag-compat-v1 by m (judge-v1#")
    # "four" is no exact match for CRAG: its judge decides.
    assert card["judges"]["counts"] == {"model": {"correct": 2}}
    assert len(server.asked) == 2


def test_unknown_rules_and_judges_are_refused(run: Callable[..., Any]) -> None:
    for options, what in ((("--rules", "mine"), "unknown rules 'mine'"), (("--judge", "x"), "unknown judge 'x'")):
        error = run(*options).exception
        assert isinstance(error, EduRagError)
        assert what in str(error)


def test_choices_need_no_judge_and_keep_their_rule() -> None:
    choice = Question(question_id="c", text="?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="test")
    predictions = {"c": Prediction(question_id="c", answer="a")}
    verdicts, judges = grade_all([choice], {"c": Gold(question_id="c", answer="a")}, predictions, Grading())
    assert [verdict.outcome for verdict in verdicts] == ["correct"]
    assert judges == {}
    assert answers_rule_of([choice], Grading()) == "answers-v3"
    assert answers_rule_of([choice, _free("q")], Grading()) == "answers-v3 + free-text-v2"
    assert answers_rule_of([_free("q")], Grading()) == "free-text-v2"
    assert answers_rule_of([_free("q")], Grading(rules="crag-compat")) == "crag-compat-v1"
    assert answers_rule_of([], Grading()) == "answers-v3"


def test_silence_needs_no_judge() -> None:
    questions = [_free(f"q{i}") for i in range(4)]
    gold = {question.question_id: Gold(question_id=question.question_id, texts=("x",)) for question in questions}
    predictions = {
        "q0": Prediction(question_id="q0", answer=None),
        "q1": Prediction(question_id="q1", answer=None, status="timeout"),
        "q2": Prediction(question_id="q2", answer="I don\u2019t know"),
    }
    verdicts, judges = grade_all(questions, gold, predictions, Grading())
    assert [verdict.outcome for verdict in verdicts] == ["abstained", "failed", "abstained", "failed"]
    assert judges["counts"] == {"rules": {"abstained": 1}}


def test_one_free_text_answer_is_judged_alone_too() -> None:
    gold = Gold(question_id="q", texts=("Paris",))
    assert judge(_free("q"), gold, Prediction(question_id="q", answer="paris")).outcome == "correct"
    with pytest.raises(UnjudgedError, match="1 of 1 free-text answers are unjudged"):
        judge(_free("q"), gold, Prediction(question_id="q", answer="Paris, France"))


def test_a_grading_opens_its_judge_for_its_rules() -> None:
    assert [facts["judge"] for facts in open_grading("edu-rag", "rules").judge.facts()["chain"]] == ["rules"]
    assert open_grading("crag-compat", "rules").judge.facts()["chain"] == []
    with pytest.raises(SubmissionError, match="known are edu-rag, crag-compat"):
        Grading(rules="other")
