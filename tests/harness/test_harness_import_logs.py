"""`edu-rag import` on real files of Inspect and lm-eval, and on TREC runs: answers, tokens, times, shuffled choices."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edu_rag.files.dataset import Dataset
from harness.importing.detect_format import detected
from harness.importing.zip_members import ZipMembers
from tests.harness.import_calls import FILES, ROOT, ImportCall, import_file, mini_questions, refused, written

CHOICE, SHUFFLED = FILES / "choice.eval", FILES / "shuffled.json"
TEXTS, LETTERS = FILES / "samples_mini_texts.jsonl", FILES / "samples_mini_letters.jsonl"
GENERATED = FILES / "samples_mini_generated.jsonl"


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory, build_dataset: Callable[..., Dataset]) -> Dataset:
    both = mini_questions()
    keys = {question.question_id: key for question, key in both}
    folder = tmp_path_factory.mktemp("mini") / "dataset"
    return build_dataset(folder, [question for question, _ in both], keys, name="edu-rag-mini", version="2.0.0")


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "submissions"


def samples_of(log: Path) -> dict[str, dict[str, Any]]:
    """The samples of a zipped log by their names in it."""
    with ZipMembers(log) as members:
        return {name: json.loads(members.read(name)) for name in members.names if name.startswith("samples/")}


def log_of(samples: list[dict[str, Any]], path: Path, **header: Any) -> Path:
    """A log with these samples, packed as older versions of Inspect pack it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}} | header))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return path


@pytest.fixture
def sample() -> dict[str, Any]:
    return samples_of(CHOICE)["samples/MINI_0001_epoch_1.json"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [(CHOICE, "inspect"), (SHUFFLED, "inspect"), (TEXTS, "lm-eval"), (LETTERS, "lm-eval"), (GENERATED, "lm-eval")],
)
def test_the_format_is_known_by_content(path: Path, kind: str, tmp_path: Path) -> None:
    assert detected(path) == kind
    assert detected(written(tmp_path, "renamed.txt", path.read_bytes())) == kind


def test_an_inspect_log_brings_answers_tokens_dollars_and_time(mini: Dataset, into: Path) -> None:
    done = import_file(CHOICE, mini, into)
    answers = ["C", "B", "I don't know.", "B", "The answer is A or B.", "A", "D", "B"]
    assert done.answers() == {f"MINI_{n:04}": answer for n, answer in enumerate(answers, 1)}
    assert "8 of 150 questions: abstained 1, choice 6, no line 142, unparseable 1" in done.said
    for number, row in enumerate(done.predictions.values()):
        assert row["input_tokens"] == 80 + number + 20, "tokens from the provider's cache are input too"
        assert row["output_tokens"] == 5 + number
        assert row["cost_usd"] == pytest.approx(0.0001 * (number + 1))
        assert row["latency_s"] > 0
    assert done.predictions["MINI_0002"]["response"] == "Silica makes magma thick.\n\nANSWER: B"


def test_the_output_in_the_docs_is_the_commands(mini: Dataset, into: Path) -> None:
    text = (ROOT / "docs" / "submit.md").read_text(encoding="utf-8").split("## Import predictions\n", 1)[1]
    command, shown = re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL)[:2]
    assert f"edu-rag import {CHOICE.relative_to(ROOT)} " in command
    said = import_file(CHOICE, mini, into).said.replace(str(into), "demo/submissions")
    assert said.startswith(shown + "Next:\n")


def test_what_inspect_scores_as_correct_is_correct_by_our_rules(mini: Dataset, into: Path) -> None:
    keys = {question.question_id: key for question, key in mini_questions()}
    found = import_file(CHOICE, mini, into).answers()
    right = [one["id"] for one in samples_of(CHOICE).values() if one["scores"]["choice"]["value"] == "C"]
    assert right == ["MINI_0001", "MINI_0002"]
    for question_id in right:
        assert (found[question_id] or "").lower() == keys[question_id]


def test_letters_of_shuffled_choices_become_our_labels_and_questions_are_found_by_text(
    mini: Dataset, into: Path
) -> None:
    done = import_file(SHUFFLED, mini, into)
    log = json.loads(SHUFFLED.read_text(encoding="utf-8"))
    questions = {question.question_id: question for question, _ in mini_questions()}
    for n, one in enumerate(log["samples"][:2], 1):
        assert one["id"] == n, "its ids are numbers of rows"
        question = questions[f"MINI_{n:04}"]
        chosen = one["choices"]["AB".index(one["scores"]["choice"]["answer"])]
        assert one["choices"] != list(question.choices.values())
        assert question.choices[str(done.answers()[question.question_id])] == chosen
    assert done.answers()["MINI_0003"] == "I don't know."
    assert "the log has 2 epochs: epoch 1 is read, another by --pick NUMBER" in done.said


def test_another_epoch_and_another_scorer_can_be_picked(mini: Dataset, into: Path, sample: dict[str, Any]) -> None:
    assert len(import_file(SHUFFLED, mini, into, "--pick", 2).predictions) == 3
    assert "the log has no epoch 3: it has 1, 2" in import_file(SHUFFLED, mini, into, "--pick", 3, "--force").said
    sample["scores"]["pattern"] = {"value": "I", "answer": "D"}
    log = log_of([sample], into.parent / "two.eval")
    said = import_file(log, mini, into, "--force").said
    assert "the scorers choice, pattern extracted different answers: --pick one" in said
    assert import_file(log, mini, into, "--force", "--pick", "pattern").answers() == {"MINI_0001": "D"}
    said = import_file(log, mini, into, "--force", "--pick", "patern").said
    assert "no scorer is called 'patern': --pick one of choice, pattern" in said


def test_a_sample_that_ended_with_an_error_or_a_limit_is_a_failed_question(
    mini: Dataset, into: Path, tmp_path: Path, sample: dict[str, Any]
) -> None:
    without = sample | {"output": {"choices": [], "completion": ""}, "scores": {}}
    samples = [
        without | {"id": "MINI_0001", "error": {"message": "APIError(503)"}},
        without | {"id": "MINI_0002", "limit": {"type": "time", "limit": 5}, "input": ""},
        without | {"id": "MINI_0003", "limit": {"type": "token", "limit": 5}, "input": ""},
        sample | {"id": "MINI_0004", "limit": {"type": "token", "limit": 5}, "input": "", "choices": None},
    ]
    done = import_file(log_of(samples, tmp_path / "a.eval", status="error"), mini, into)
    assert [row["status"] for row in done.predictions.values()] == ["crash", "timeout", "output_cap", "ok"]
    assert done.predictions["MINI_0001"]["response"] == "APIError(503)"
    assert "the log's status is 'error': samples may be missing" in done.said


def test_a_grader_model_is_not_counted_as_the_systems_tokens(
    mini: Dataset, into: Path, tmp_path: Path, sample: dict[str, Any]
) -> None:
    graded = {"input_tokens": 900, "output_tokens": 300, "total_tokens": 1_200}
    sample["model_usage"]["judge/model"] = graded
    sample["role_usage"] = {"grader": graded}
    done = import_file(log_of([sample], tmp_path / "a.eval"), mini, into)
    assert (done.predictions["MINI_0001"]["input_tokens"], done.predictions["MINI_0001"]["output_tokens"]) == (100, 5)


def test_inspects_figures_that_are_not_numbers_are_read_as_missing(mini: Dataset, into: Path, tmp_path: Path) -> None:
    text = SHUFFLED.read_text(encoding="utf-8")
    changed, n = re.subn(r'"value": 0\.[0-9]+', '"value": NaN', text)
    assert n
    assert len(import_file(written(tmp_path, "nan.json", changed), mini, into).predictions) == 3


def test_choices_of_another_version_are_refused(
    mini: Dataset, into: Path, tmp_path: Path, sample: dict[str, Any]
) -> None:
    sample["choices"] = ["other", "texts", "than", "these"]
    log = log_of([sample], tmp_path / "a.eval")
    (line,) = refused(log, mini, into)
    assert line.startswith(f"{log}: item 1: choices: are not those of question 'MINI_0001': ")
    assert import_file(log, mini, into, "--map", "choices=").answers() == {"MINI_0001": "C"}


def test_columns_can_be_named_in_a_log(mini: Dataset, into: Path, tmp_path: Path, sample: dict[str, Any]) -> None:
    sample |= {"id": 7, "input": "a prompt", "metadata": {"ours": "MINI_0001", "sure": 0.75}}
    log = log_of([sample], tmp_path / "a.eval")
    maps = ("--map", "question_id=metadata.ours", "--map", "confidence=metadata.sure")
    done = import_file(log, mini, into, *maps)
    assert done.predictions["MINI_0001"]["confidence"] == 0.75


def accuracy_by_lm_eval(path: Path, metric: str) -> float:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return float(sum(row[metric] for row in rows)) / len(rows)


def accuracy_by_us(done: ImportCall) -> float:
    from harness.reading.answers import read_answer

    asked = {question.question_id: (question, key) for question, key in mini_questions()}
    right = 0
    for question_id, answer in done.answers().items():
        question, key = asked[question_id]
        right += answer is not None and read_answer(answer, question.choices).label == key
    return right / len(done.predictions)


@pytest.mark.parametrize(
    ("path", "pick", "metric"),
    [(TEXTS, (), "acc"), (TEXTS, ("--pick", "acc_norm"), "acc_norm"), (LETTERS, (), "acc")],
)
def test_ranked_choices_have_the_accuracy_that_lm_eval_states(
    path: Path, pick: tuple[str, ...], metric: str, mini: Dataset, into: Path
) -> None:
    done = import_file(path, mini, into, *pick)
    assert len(done.predictions) == 8
    assert accuracy_by_us(done) == accuracy_by_lm_eval(path, metric)
    assert "samples of lm-eval hold no tokens and no times" in done.said


def test_samples_of_older_versions_are_an_array_with_lists(mini: Dataset, into: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        del row["filter"]
        row["arguments"] = [list(one.values()) for one in row["arguments"].values()]
        row["filtered_resps"] = [[float(likelihood), False] for likelihood, _ in row["filtered_resps"]]
    old = written(tmp_path, "old.jsonl", json.dumps(rows, indent=2))
    assert detected(old) == "lm-eval"
    assert import_file(old, mini, into).answers() == import_file(TEXTS, mini, into, "--force").answers()


def test_the_two_ways_to_rank_differ_on_these_samples(mini: Dataset, into: Path) -> None:
    first = import_file(TEXTS, mini, into).answers()
    assert import_file(TEXTS, mini, into, "--pick", "acc_norm", "--force").answers() != first


def test_of_several_filters_the_user_chooses(mini: Dataset, into: Path) -> None:
    (line,) = refused(GENERATED, mini, into)
    assert line.endswith("has the answers of several filters: letter, whole: choose one, such as --pick letter")
    found = import_file(GENERATED, mini, into, "--pick", "letter")
    assert list(found.answers().values())[:4] == ["C", "B", "I don't know.", "B"]
    assert found.predictions["MINI_0002"]["response"] == "Silica makes magma thick.\n\nANSWER: B"
    whole = import_file(GENERATED, mini, into, "--pick", "whole", "--force").answers()
    assert whole["MINI_0002"] == "Silica makes magma thick.\n\nANSWER: B"
    assert (
        "has no filter 'first': --pick one of letter, whole"
        in import_file(GENERATED, mini, into, "--pick", "first", "--force").said
    )


def test_a_trec_run_is_retrieval_without_answers(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    pages = sorted(tiny.pages("test"))[:3]
    lines = [f"q001 Q0 {pages[0]} 1 0.5 bm25", f"q001 Q0 {pages[1]} 2 0.9 bm25", f"q002 Q0 {pages[2]} 1 3e-1 bm25"]
    done = import_file(written(tmp_path, "bm25.run", "\n".join(lines)), tiny, into)
    assert [row["answer"] for row in done.predictions.values()] == [None, None]
    whole = [[pages[1], 0, 64], [pages[0], 0, 64]]
    assert done.predictions["q001"]["passages"] == whole, "by score, as trec_eval orders a run"
    assert "a TREC run has no answers" in done.said


def test_faults_of_a_trec_run_have_their_lines(tiny: Dataset, tmp_path: Path, into: Path) -> None:
    page = min(tiny.pages("test"))
    lines = [f"q001 Q0 {page} 1 0.5 x", "q001 Q0 d7 2 0.4 x", f"q001 Q0 {page}", f"q001 Q0 {page} 3 nan x"]
    said = refused(written(tmp_path, "a.run", "\n".join(lines)), tiny, into)
    assert [line.partition("a.run:")[2].partition(":")[0] for line in said] == ["2", "3", "4"]
    assert "'d7' is not a page of this split" in said[0]


def test_the_files_have_no_paths_of_the_machine_that_made_them() -> None:
    texts = [path.read_bytes() for path in FILES.iterdir() if path.suffix in (".json", ".jsonl")]
    with ZipMembers(CHOICE) as members:
        texts += [members.read(name) for name in members.names]
    for text in texts:
        assert re.search(rb"/(?:home|tmp|root)/|site-packages", text) is None
    assert ROOT.is_dir()
