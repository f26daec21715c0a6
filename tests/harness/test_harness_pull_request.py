"""A pull request is judged, scored and compared by the base's code; what it claims of itself counts for nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pull_request_trees import ECHO, OURS, hand_in, judged, settings, write_base, write_run

from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.names import Sample
from harness.pulls import review_warnings, score_pull
from harness.pulls.place_on_board import of_table, read_results
from harness.pulls.pull_request import take
from harness.pulls.review_records import Review
from harness.pulls.review_report import report
from harness.scoring.score import score_within

pytestmark = pytest.mark.usefixtures("read_in_this_process")

Trees = tuple[Path, Path]


@pytest.fixture
def trees(tmp_path: Path, tiny: Dataset, gold: dict[str, str]) -> Trees:
    return write_base(tmp_path, tiny, gold)


def faults(found: Review) -> str:
    return "\n".join(map(str, found.faults))


def test_predictions_are_scored_and_held_against_both_baselines(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    found = judged(base, head, tiny)
    assert found.accepted
    assert found.change is not None
    (result,) = [one for one in found.results if one.table.sample is None]
    assert (result.card.counts.correct, result.card.counts.n) == (len(gold), len(gold))
    roles = {one.role: one.comparison.second.system.slug for one in result.standing.against}
    assert roles == {"best baseline": "half-right", "best blind baseline": "always-abstain"}
    assert all(one.established for one in result.standing.against)
    assert (result.standing.first, result.standing.n) == (1, 4)


def test_a_whole_file_is_scored_on_the_samples_of_the_board_too(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    assert [one.table.sample for one in judged(base, head, tiny).results] == [None, "stratified-20-seed-0"]


def test_a_sample_of_ones_own_choice_is_refused(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    easy = dict(list(gold.items())[:5])
    hand_in(head, "new-one", easy, settings("New team"), stem="test-stratified-5-seed-7")
    found = judged(base, head, tiny)
    assert not found.accepted
    assert "test-stratified-5-seed-7.jsonl" in faults(found)


@pytest.mark.parametrize("folder", ["tiny-1.0.0", "tiny-0.9.0"])
def test_a_sample_of_ones_own_choice_is_refused_where_it_is_not_scored_too(
    trees: Trees, gold: dict[str, str], folder: str
):
    """A maintainer scores it later, with everybody else in the table that it makes."""
    base, head = trees
    made = hand_in(head, "new-one", gold, settings("New team"), stem="test-stratified-5-seed-7") / "predictions"
    (made / "tiny-1.0.0").rename(made / folder)
    found = judged(base, head)
    assert not found.accepted
    assert f"{folder}/test-stratified-5-seed-7.jsonl: the board has no such table" in faults(found)


@pytest.mark.parametrize(("folder", "refused"), [("tiny-1.0.1", True), ("tiny-2.0.0", True), ("tiny-0.9.0", False)])
def test_predictions_for_a_version_that_the_board_does_not_have_yet_are_refused(
    trees: Trees, gold: dict[str, str], folder: str, refused: bool
):
    base, head = trees
    made = hand_in(head, "new-one", gold, settings("New team")) / "predictions"
    (made / "tiny-1.0.0").rename(made / folder)
    found = judged(base, head)
    assert ("the board has tiny 1.0.0, nothing newer" in faults(found)) is refused


def test_run_records_and_claimed_numbers_are_not_believed(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    folder = hand_in(head, "new-one", None, settings("New team"))
    path = write_run(folder, dict.fromkeys(gold, "a"), latency_s=0.001)
    from edu_rag.files.jsonl import write_json
    from edu_rag.files.manifest import file_sha256
    from harness.submission.folder import Limits
    from harness.submission.run_record import RunRecord

    forged = RunRecord(
        dataset=tiny.id,
        split="test",
        sample=None,
        system_sha256="0" * 64,
        harness="x",
        limits=Limits(),
        predictions_sha256=file_sha256(path),
        caps={"sandbox": "forged"},
    )
    write_json(path.with_suffix(".run.json"), forged)
    found = judged(base, head, tiny)
    card = found.results[0].card
    assert card.cost["latency_s"]["source"] == "declared"
    assert card.caps == {}
    assert card.probes == {}
    assert "forged" not in report(found)


def test_everything_wrong_is_told_at_once_by_the_names_of_the_pull_request(trees: Trees, tiny: Dataset, tmp_path: Path):
    base, head = trees
    folder = hand_in(head, "new-one", None, settings("New team", descriptoin="x"))
    write_run(folder, {"q000": "a", "nobody-asked": "b"})
    told = faults(judged(base, head, tiny))
    assert "descriptoin" in told
    assert "nobody-asked" in told
    assert "submissions/new-one/" in told
    assert str(tmp_path) not in told
    assert "edu-rag-pr-" not in told


def test_other_changes_are_refused_and_nothing_is_scored(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    (head / "harness" / "score.py").write_text("POINTS = 2\n", encoding="utf-8")
    found = judged(base, head, tiny)
    assert "harness/score.py" in faults(found)
    assert found.results == ()
    assert "Refused" in report(found)


def test_a_new_run_of_ones_own_is_scored_alone(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    asked = choose(tiny.questions("test"), Sample.parse("stratified-20-seed-0"))
    some = {question.question_id: "a" for question in asked}
    for tree in trees:
        hand_in(tree, "own-one", some, settings("New team"), stem="test-stratified-20-seed-0")
    write_run(head / "submissions" / "own-one", gold)
    found = judged(base, head, tiny, author="me")
    assert found.change is not None
    assert found.change.kind == "new run"
    assert [one.table.sample for one in found.results] == [None]
    assert not judged(base, head, tiny, author="them").accepted


def test_a_result_is_held_against_the_teams_earlier_entries(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "second-one", gold, settings("the  OTHERS", "Theirs again"))
    found = judged(base, head, tiny)
    earlier = [one for one in found.results[0].standing.against if one.role == "previous entry of the team"]
    assert [one.comparison.second.system.slug for one in earlier] == ["theirs-one"]
    assert found.n_runs_of_team == 1


def test_what_was_merged_since_results_were_committed_counts_too(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    for tree in trees:
        hand_in(tree, "merged-one", gold, settings("New team"))
    hand_in(head, "new-one", gold, settings("New team", "Second"))
    standing = judged(base, head, tiny).results[0].standing
    assert standing.n == 5
    assert "merged-one" in [one.comparison.second.system.slug for one in standing.against]


def test_work_on_what_was_merged_is_bounded_and_the_bound_is_told(
    trees: Trees, tiny: Dataset, gold: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    base, head = trees
    for tree in trees:
        for n in range(4):
            hand_in(tree, f"merged-{n}", gold, settings(f"Team {n}"))
    hand_in(head, "new-one", gold, settings("New team", "Second"))
    scored = []
    monkeypatch.setattr(
        score_pull, "score_within", lambda *given, **more: scored.append(1) or score_within(*given, **more)
    )
    monkeypatch.setattr(score_pull, "MAX_SCORED", 3)
    results = judged(base, head, tiny).results
    result = results[0]
    assert (len(scored), result.standing.n) == ((3 + 1) * len(results), 7)  # of the base, and the new one
    assert any("1 merged submission(s) without a result yet" in reason for reason in result.standing.left_out)
    assert "not compared: `1 merged submission(s)" in report(judged(base, head, tiny))
    monkeypatch.setattr(score_pull, "MAX_BYTES", 1)
    assert any(reason.startswith("4 merged") for reason in judged(base, head, tiny).results[0].standing.left_out)


def test_answers_are_compared_only_where_the_outcomes_are_nearly_the_same(
    trees: Trees, tiny: Dataset, gold: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    base, head = trees
    for tree in trees:
        for n in range(3):
            hand_in(tree, f"merged-{n}", gold, settings(f"Team {n}"))
    hand_in(head, "new-one", gold, settings("New team", "Second"))
    read = []
    original = review_warnings._readings_in
    monkeypatch.setattr(review_warnings, "_readings_in", lambda path, exam: read.append(path) or original(path, exam))
    warnings = judged(base, head, tiny).results[0].warnings
    assert {path.parents[2].name for path in read} == {"merged-0", "merged-1", "merged-2"}
    assert sum("answers are those of the submission" in warning for warning in warnings) == 3
    monkeypatch.setattr(review_warnings, "MAX_READ", 2)
    warnings = judged(base, head, tiny).results[0].warnings
    assert any("not all answers were compared" in warning for warning in warnings)


def test_scorecards_on_other_questions_are_left_out_with_the_reason(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, _ = trees
    (card, *_), _ = read_results(base)
    path = next((base / "leaderboard" / "results").rglob("half-right/scorecard.json"))
    other = json.loads(path.read_text()) | {"exam": {"ids": "0" * 64}}
    path.write_text(json.dumps(other))
    found, left_out = of_table(read_results(base)[0], card)
    assert "half-right" not in [one.system.slug for one in found]
    assert any("half-right" in reason for reason in left_out)


def test_the_first_result_of_a_board_is_held_against_nothing(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    for tree in trees:
        shutil.rmtree(tree / "leaderboard" / "results")
        shutil.rmtree(tree / "submissions")
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    found = judged(base, head, tiny)
    assert (found.results[0].standing.n, found.results[0].standing.against) == (1, ())
    assert "no result yet to compare it with" in report(found)


def test_predictions_for_a_dataset_that_is_not_at_hand_are_told(trees: Trees, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    found = judged(base, head)
    assert found.accepted
    assert found.results == ()
    assert any("tiny-1.0.0 were not scored" in warning for warning in found.warnings)
    assert "Nothing was scored here" in report(found)


def test_many_datasets_that_are_not_at_hand_hide_no_other_warning(trees: Trees, tiny: Dataset):
    base, head = trees
    theirs = base / "submissions" / "theirs-one" / "predictions" / "tiny-1.0.0" / "test.jsonl"
    folder = hand_in(head, "new-one", None, settings("New team")) / "predictions"
    for number in range(30):
        path = folder / (f"tiny-0.9.{number}" if number else "tiny-1.0.0") / "test.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(theirs.read_bytes())
    found = judged(base, head, tiny)
    assert found.accepted
    assert "of the submission 'theirs-one'" in report(found)
    assert "nor were those for 24 more" in report(found)


def test_a_withdrawal_is_accepted_and_not_scored(trees: Trees, tiny: Dataset):
    base, head = trees
    path = head / "submissions" / "theirs-one" / "submission.toml"
    path.write_text(f'withdrawn = "a fault in our code"\n{path.read_text()}')
    found = judged(base, head, tiny, author="them")
    assert found.accepted
    assert found.change is not None
    assert found.change.kind == "withdrawal"
    assert found.results == ()
    assert "marked as withdrawn" in report(found)


def test_a_dataset_with_other_content_than_the_boards_is_refused(
    trees: Trees, gold: dict[str, str], tmp_path: Path, build_dataset: Callable[..., Dataset], questions: Any
):
    base, head = trees
    wrong = dict(gold) | {"q000": "b" if gold["q000"] == "a" else "a"}
    other = build_dataset(tmp_path / "other", questions, wrong)
    with pytest.raises(ConfigError, match="content_sha256"):
        judged(base, head, other)


def test_answers_of_another_submission_are_told(trees: Trees, tiny: Dataset):
    base, head = trees
    source = base / "submissions" / "theirs-one" / "predictions"
    folder = hand_in(head, "new-one", None, settings("New team", "Brand new"))
    shutil.copytree(source, folder / "predictions")
    warnings = judged(base, head, tiny).results[0].warnings
    assert any("theirs-one" in warning for warning in warnings)


def test_copies_that_leave_some_answers_out_are_told_too(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    theirs = {i: gold[i] if n % 3 else "a" for n, i in enumerate(sorted(gold))}
    some = {i: f"({a.upper()})" if n % 5 else None for n, (i, a) in enumerate(theirs.items())}
    hand_in(head, "new-one", some, settings("New team", "Brand new"))
    assert any("theirs-one" in warning for warning in judged(base, head, tiny).results[0].warnings)


def test_a_team_that_looks_like_the_maintainers_is_told(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings(OURS.replace("E", "\u0415").replace("l", "I"), "Brand new"))
    found = judged(base, head, tiny)
    assert any("looks like that of another team" in warning for warning in found.warnings)
    assert found.results[0].standing.against[0].role == "best baseline"


def test_who_takes_the_team_of_others_is_told(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("the others", "Brand new"))
    assert any("not among their accounts" in warning for warning in judged(base, head, tiny, author="me").warnings)
    told = judged(base, head, tiny, author="THEM").warnings
    assert not any("not among their accounts" in warning for warning in told)


def test_who_takes_the_maintainers_team_is_told(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings(f" {OURS}", "Brand new"))
    assert any("only if a maintainer opened this" in warning for warning in judged(base, head, tiny).warnings)


def test_declared_overlap_is_told_with_the_score_of_the_rest(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    folder = hand_in(head, "new-one", gold, settings("New team"))
    (folder / "overlap.txt").write_text("q000\nq001\n")
    text = report(judged(base, head, tiny))
    assert "declared as possibly seen: 2 of 40" in text


def test_a_runnable_system_without_predictions_is_refused_where_nothing_is_run(trees: Trees, tiny: Dataset):
    base, head = trees
    hand_in(head, "new-one", None, settings("New team", command=["python", "system.py"]), code=ECHO)
    found = judged(base, head, tiny)
    assert not found.accepted
    assert "was not run" in faults(found)


def test_without_a_sandbox_predictions_alone_are_scored_and_it_is_said(
    trees: Trees, tiny: Dataset, gold: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    base, head = trees
    marker = tmp_path / "it-ran"
    hand_in(
        head, "new-one", gold, settings("New team", command=["python", "system.py"]), code=f"open({str(marker)!r}, 'w')"
    )
    monkeypatch.setenv("PATH", "")
    found = judged(base, head, tiny, choice="auto")
    assert found.accepted
    assert found.results[0].card.counts.correct == len(gold)
    assert "Nothing of the submission was run" in found.sandbox
    assert found.results[0].asked is None
    assert not judged(base, head, tiny, choice="always").accepted
    assert not marker.exists()


def test_a_link_in_a_submission_is_not_followed(tmp_path: Path):
    folder = tmp_path / "head" / "submissions" / "new-one"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("gold")
    (folder / "submission.toml").symlink_to(tmp_path / "secret")
    with pytest.raises(SubmissionError, match="not a plain file"):
        take(tmp_path / "head", "new-one", tmp_path / "copy")


def test_a_pipe_in_a_submission_hangs_nobody(tmp_path: Path):
    folder = tmp_path / "head" / "submissions" / "new-one"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "submission.toml")
    with pytest.raises(SubmissionError, match="not a plain file"):
        take(tmp_path / "head", "new-one", tmp_path / "copy")


def test_a_folder_of_submissions_that_is_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "elsewhere" / "new-one").mkdir(parents=True)
    (tmp_path / "head").mkdir()
    (tmp_path / "head" / "submissions").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SubmissionError, match="not a plain folder"):
        take(tmp_path / "head", "new-one", tmp_path / "copy")


def test_a_hidden_split_is_told_in_whole_percents_and_no_detail(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold, more="hidden_gold = true")
    almost = dict(gold) | {"q000": None}
    hand_in(head, "new-one", almost, settings("New team"))
    told = report(judged(base, head, tiny))
    assert "**Score 0.97**" in told or "**Score 0.98**" in told
    for word in ("Where the points go", "Leak check", "Retrieval", "By kind", "39 "):
        assert word not in told


def test_the_same_request_gets_the_same_report(trees: Trees, tiny: Dataset, gold: dict[str, str]):
    base, head = trees
    hand_in(head, "new-one", gold, settings("New team"))
    assert report(judged(base, head, tiny)) == report(judged(base, head, tiny))
