"""The whole story of a stranger's submission: bench/story.py plays it by the workflows' own lines, and here it is held
to its turns. Real git on a local remote, the real sandbox, a loopback Hub; some half a minute.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_hub import Hub, serving_hub

ROOT = Path(__file__).resolve().parents[1]
N_QUESTIONS = len((ROOT / "edu_rag" / "mini" / "questions.jsonl").read_text(encoding="utf-8").splitlines())
sys.path.insert(0, str(ROOT / "bench"))

from story import BASELINES, SLUG, Judged, Story  # noqa: E402 - it lies in another folder


class Played:
    """What is left of the story after its last turn."""

    def __init__(self, story: Story, hub: Hub) -> None:
        self.story, self.hub = story, hub
        story.found_project()
        work = story.stranger_forks("stranger")
        story.stranger_works(work)
        self.first = story.pull_request("stranger")
        story.stranger_commits(work, self.first)
        self.again = story.pull_request("stranger")
        story.merged()
        self.board = story.push_job()
        story.hostile_works(story.stranger_forks("hostile"))
        self.second = story.pull_request("hostile")


@pytest.fixture(scope="module")
def played(bundled_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    if shutil.which("bwrap") is None:
        pytest.skip("NOT RUN: bubblewrap is not on this machine: as root, run: apt-get install bubblewrap")
    with serving_hub() as hub:
        out = tmp_path_factory.mktemp("story") / "out"
        yield Played(Story(out, hub.url, hub.token, lambda _: None, bundled_build / "dataset"), hub)


def report_of(judged: Judged) -> str:
    return judged.report


def test_the_strangers_pull_request_is_accepted_scored_and_compared(played: Played):
    report = report_of(played.first)
    assert played.first.code == 0
    assert "## Accepted" in report
    assert f"over all {N_QUESTIONS} questions" in report
    assert "best baseline: `bm25-overlap`" in report
    assert "best blind baseline: `blind-abstain`" in report


def test_its_system_was_run_in_the_sandbox_and_its_predictions_are_kept_for_its_team(
    played: Played,
):
    report = report_of(played.first)
    assert "The predictions were made here, in the sandbox" in report
    assert "### One step is left: commit the predictions" in report
    made = sorted(str(path.relative_to(played.first.made)) for path in played.first.made.rglob("*") if path.is_file())
    assert [name.rpartition("/")[2] for name in made] == ["test.jsonl", "test.run.json"]
    assert all(f"- `{name}`" in report for name in made)


def test_with_them_its_system_is_run_again_in_the_sandbox_and_gives_the_same_answers(played: Played):
    report = report_of(played.again)
    assert played.again.code == 0
    assert "20 of 20 questions that were asked again in the sandbox got the same answer" in report
    assert "bubblewrap" in report
    assert "One step is left" not in report
    assert not played.again.made.exists()


def test_after_the_merge_the_job_on_main_gives_the_score_that_the_report_told(played: Played):
    path = next((played.board / "leaderboard" / "results").rglob(f"{SLUG}/scorecard.json"))
    score = json.loads(path.read_text())["rates"]["score"]
    assert f"Score {score:.3f}".replace("-", "\u2212") in report_of(played.first)


def test_the_site_shows_the_new_row_with_its_team_and_badges(played: Played):
    page = (played.story.out / "board-temp" / "site" / "board.html").read_text(encoding="utf-8")
    assert "Word overlap" in page
    assert "A stranger" in page
    row = page[page.index("Word overlap") :]
    assert "runnable" in row[: row.index("</tr>")]


def test_the_hub_has_the_results_in_one_commit(played: Played):
    files = played.hub.commits[-1][1]
    assert len(played.hub.commits) == 2
    assert any(name.startswith("predictions/") for name in files)
    assert any(n.startswith("scorecards/") for n in files)


def test_the_hostile_pull_request_is_refused_with_every_reason(played: Played):
    report = report_of(played.second)
    assert played.second.code == 1
    assert "## Refused" in report
    theirs = f"submissions/{BASELINES[-1]}/predictions"
    for name in (
        "harness/scoring/score.py",
        ".github/workflows/submission.yml",
        "conftest.py",
        "sitecustomize.py",
        theirs,
    ):
        assert name in report


def test_nothing_of_the_hostile_pull_request_was_run(played: Played):
    planted = [path for path in played.second.head.rglob("*.py") if played.story.canary.name in path.read_text()]
    assert len(planted) > 10, "the canaries must be where something could have run them"
    assert not played.story.canary.exists()
