"""The scripts of the workflow files, played as the runner plays them: bash, real git, a merge as GitHub makes it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest
import workflow_policy as policy
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def script(file: str, job: str, step: str) -> str:
    flow = yaml.load((WORKFLOWS / file).read_text(encoding="utf-8"), yaml.BaseLoader)
    return next(one["run"] for one in flow["jobs"][job]["steps"] if one.get("name") == step)


def play(text: str, workspace: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """As `shell: bash` does it on a runner."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=workspace,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **IDENTITY, **environment},
    )


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, env={**os.environ, **IDENTITY}
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", name)
    return git(folder, "rev-parse", "HEAD")


class Pull(NamedTuple):
    """A repository with a pull request, and the commits of it."""

    origin: Path
    merged_onto: str
    head: str
    merge: str


@pytest.fixture
def pull(tmp_path: Path) -> Pull:
    """main, a stranger's branch from an older main, and the merge that GitHub makes of both."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch=main")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit(origin, "README.md", "the first")
    git(origin, "checkout", "--quiet", "-b", "stranger")
    head = commit(origin, "submissions/new/submission.toml", "name = 'new'")
    git(origin, "checkout", "--quiet", "main")
    merged_onto = commit(origin, "harness/rule.py", "RULE = 1")
    git(origin, "checkout", "--quiet", "--detach", merged_onto)
    git(origin, "merge", "--quiet", "--no-ff", "--no-edit", head)
    merge = git(origin, "rev-parse", "HEAD")
    git(origin, "checkout", "--quiet", "main")
    return Pull(origin, merged_onto, head, merge)


def check_out(pull: Pull, workspace: Path, merge: str) -> None:
    """What the two checkout steps leave: main with its history, and the merge two commits deep."""
    url = pull.origin.as_uri()
    git(pull.origin, "clone", "--quiet", "--branch", "main", url, str(workspace / "base"))
    git(pull.origin, "init", "--quiet", str(workspace / "head"))
    git(workspace / "head", "fetch", "--quiet", "--depth=2", url, merge)
    git(workspace / "head", "checkout", "--quiet", "--detach", "FETCH_HEAD")


def line_up(pull: Pull, tmp_path: Path, *, merge: str = "", head: str = "") -> tuple[Path, int]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    check_out(pull, workspace, merge or pull.merge)
    text = script("submission.yml", "judge", "Both trees of the same merge")
    return workspace, play(text, workspace, HEAD_SHA=head or pull.head).returncode


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_base_and_head_differ_by_the_pull_request_alone_though_its_branch_is_old(pull: Pull, tmp_path: Path):
    workspace, code = line_up(pull, tmp_path)
    assert code == 0
    assert files(workspace / "base") == ["README.md", "harness/rule.py"]
    assert files(workspace / "head") == ["README.md", "harness/rule.py", "submissions/new/submission.toml"]


def test_the_base_is_what_the_merge_was_made_onto_though_main_has_moved_since(pull: Pull, tmp_path: Path):
    commit(pull.origin, "harness/rule.py", "RULE = 2")
    workspace, code = line_up(pull, tmp_path)
    assert code == 0
    assert (workspace / "base" / "harness" / "rule.py").read_text() == "RULE = 1"


def test_a_merge_of_another_commit_than_the_event_names_is_refused(pull: Pull, tmp_path: Path):
    workspace, code = line_up(pull, tmp_path, head=pull.merged_onto)
    assert code != 0
    assert (workspace / "base" / ".git").exists()


def test_a_commit_that_is_no_merge_is_refused(pull: Pull, tmp_path: Path):
    assert line_up(pull, tmp_path, merge=pull.head)[1] != 0


def test_a_base_that_does_not_lie_on_main_is_refused(pull: Pull, tmp_path: Path):
    git(pull.origin, "checkout", "--quiet", "--orphan", "foreign")
    foreign = commit(pull.origin, "harness/rule.py", "RULE = 'mine'")
    git(pull.origin, "merge", "--quiet", "--no-ff", "--no-edit", "--allow-unrelated-histories", pull.head)
    merge = git(pull.origin, "rev-parse", "HEAD")
    git(pull.origin, "checkout", "--quiet", "main")
    assert git(pull.origin, "rev-parse", f"{merge}^1") == foreign
    assert line_up(pull, tmp_path, merge=merge)[1] != 0


def judged(tmp_path: Path, exit_code: int, author: str = "octocat") -> tuple[subprocess.CompletedProcess[str], str]:
    """The judging step with a harness that prints orders to the runner; also what it was called with."""
    (tmp_path / "datasets").write_text("/srv/edu-rag/a b-1.0.0\n/srv/edu-rag/c-1.0.0\n", encoding="utf-8")
    sudo = tmp_path / "bin" / "sudo"
    sudo.parent.mkdir()
    sudo.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/words"\necho "::set-env name=PATH::/evil"\nexit {exit_code}\n',
        encoding="utf-8",
    )
    sudo.chmod(0o755)
    done = play(
        script("submission.yml", "judge", "Judge"),
        tmp_path,
        RUNNER_TEMP=str(tmp_path),
        AUTHOR=author,
        PATH=f"{sudo.parent}:{os.environ['PATH']}",
    )
    return done, (tmp_path / "words").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", [0, 1, 2, 137])
def test_the_step_ends_as_the_verdict_ends_and_strangers_words_are_no_orders(tmp_path: Path, code: int):
    done, _ = judged(tmp_path, code)
    first, said, last = done.stdout.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert done.returncode == code
    assert len(token) == 32
    assert said == "::set-env name=PATH::/evil"
    assert last == f"::{token}::"


def test_no_two_runs_share_the_word_that_lets_orders_through_again(tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert judged(tmp_path / "one", 0)[0].stdout != judged(tmp_path / "two", 0)[0].stdout


def test_a_login_and_a_folder_stay_one_word_whatever_they_hold(tmp_path: Path):
    _, words = judged(tmp_path, 0, author="--report=x $(id) `id`\n;")
    assert words.splitlines()[1:5] == ["pr", "--base=base", "--head=head", "--author=--report=x $(id) `id`"]
    assert "--dataset=/srv/edu-rag/a b-1.0.0" in words.splitlines()


def scored(tmp_path: Path, *failing: str) -> tuple[int, str]:
    """The scoring step with a command that fails at some of its tasks; the job's outputs."""
    (tmp_path / "datasets").write_text("data\n", encoding="utf-8")
    command = tmp_path / "bin" / "edu-rag"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\ncase "$1" in {"|".join(failing) or "none"}) exit 1;; esac\n', encoding="utf-8")
    command.chmod(0o755)
    out = tmp_path / "out"
    done = play(
        script("board.yml", "score", "Score"),
        tmp_path,
        RUNNER_TEMP=str(tmp_path),
        GITHUB_OUTPUT=str(out),
        PATH=f"{command.parent}:{os.environ['PATH']}",
    )
    return done.returncode, out.read_text(encoding="utf-8") if out.exists() else ""


@pytest.mark.parametrize(
    ("failing", "outputs"),
    [((), "all=yes\nagain=yes\n"), (("score",), "all=no\nagain=yes\n"), (("verify",), "all=yes\nagain=no\n")],
)
def test_a_broken_submission_stops_nobody_else_and_is_told(tmp_path: Path, failing: tuple[str, ...], outputs: str):
    assert scored(tmp_path, *failing) == (0, outputs)


def test_a_board_that_cannot_be_written_is_not_published(tmp_path: Path):
    assert scored(tmp_path, "board") == (1, "")


def test_the_site_is_packed_with_its_index_on_top_and_readable_by_all(tmp_path: Path):
    site = tmp_path / "site"
    (site / "systems").mkdir(parents=True, mode=0o700)
    for name in ("index.html", "systems/a.html"):
        (site / name).write_text("page", encoding="utf-8")
        (site / name).chmod(0o600)
    site.chmod(0o700)
    done = play(script("board.yml", "score", "Pack the site as Pages takes it"), tmp_path, RUNNER_TEMP=str(tmp_path))
    assert done.returncode == 0
    with tarfile.open(tmp_path / "artifact.tar") as packed:
        modes = {member.name: member.mode & 0o055 for member in packed}
    assert modes == {".": 0o055, "./index.html": 0o044, "./systems": 0o055, "./systems/a.html": 0o044}


@pytest.mark.parametrize(("all_", "again", "sound"), [("yes", "yes", True), ("no", "yes", False), ("yes", "no", False)])
def test_the_run_turns_red_where_a_submission_or_a_number_is_not_sound(
    tmp_path: Path, all_: str, again: str, sound: bool
):
    done = play(script("board.yml", "sound", "Turn red where not"), tmp_path, ALL=all_, AGAIN=again)
    assert (done.returncode == 0) == sound


def test_a_continued_line_is_one_command_and_a_comment_is_none():
    assert policy.lines_of("a \\\n  b\n# c\n\n  d") == ["a b", "d"]


@pytest.mark.parametrize(
    "words", [["pr", "--base=base", "--head=base"], ["verify", "--results=results", "--dataset=no"]]
)
def test_the_real_command_line_ends_with_1_where_it_refuses(tmp_path: Path, words: list[str]):
    (tmp_path / "base" / "submissions").mkdir(parents=True)
    (tmp_path / "results").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", *words],
        cwd=tmp_path,
        timeout=60,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
