"""Which changes a pull request may make: hostile trees are refused with the file named, good ones are taken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edu_rag.errors import FaultsError, SubmissionError
from edu_rag.files.typed import faults_and_record
from harness.pulls.changed_files import Change, judge
from harness.pulls.tree_differences import differences
from harness.submission.folder import SubmissionFile
from harness.submission.slugs import look_of
from tests.harness.hostile_pulls import GOOD, HOSTILE, NEW, OLD, OWN, RUN, Pull, add, put, settings, write_base

ROOT = Path(__file__).resolve().parents[2]
CROWD = "60,000 files"
"""They take seconds to make and to remove. By day, `many files beside a workflow` has more than a folder may have."""
BY_DAY = [pytest.param(pull, marks=pytest.mark.nightly) if pull.name == CROWD else pull for pull in HOSTILE]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_base(tmp_path / "base")


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Path]:
    yield write_base(tmp_path / "head")
    deep = tmp_path / "head" / NEW / "a-folder"
    if deep.is_dir():  # Python's own removal stumbles over a deep tree, here and in every later session
        subprocess.run(["rm", "-rf", deep], check=True)


def refused(base: Path, head: Path, author: str | None = "me") -> list[str]:
    with pytest.raises(FaultsError) as error:
        judge(base, head, author)
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize("pull", BY_DAY, ids=lambda pull: pull.name)
def test_a_hostile_tree_is_refused_and_the_file_named(pull: Pull, base: Path, head: Path) -> None:
    pull.build(head)
    lines = refused(base, head, pull.author)
    for name in pull.named:
        assert any(name in line for line in lines)
    assert len(lines) <= 130
    assert all(line.isprintable() and line.replace("…", "").isascii() for line in lines)
    assert not any(line.startswith("::") for line in lines)


@pytest.mark.parametrize("pull", GOOD, ids=lambda pull: pull.name)
def test_a_good_tree_is_taken_for_what_it_is(pull: Pull, base: Path, head: Path) -> None:
    pull.build(head)
    change = judge(base, head, pull.author)
    assert change.kind == pull.kind
    assert change.files == tuple(sorted(change.files))
    assert all((head / name).is_file() and name.startswith(f"submissions/{change.slug}/") for name in change.files)


def test_everything_wrong_is_told_at_once(base: Path, head: Path) -> None:
    add(head)
    put(head, "conftest.py")
    put(head, f"{OLD}/system.py", "x")
    put(head, f"{NEW}/.env")
    (head / NEW / "link").symlink_to("/")
    (head / "Makefile").unlink()
    told = "\n".join(refused(base, head))
    for name in ("conftest.py", f"{OLD}/system.py", f"{NEW}/.env", f"{NEW}/link", "Makefile: is removed"):
        assert name in told


def test_many_faults_of_a_kind_are_counted_and_those_of_another_kind_are_told_beside_them(
    base: Path, head: Path
) -> None:
    for number in range(300):
        put(head, f"aaa/{number:03}.py")
    put(head, "harness/running/run.py", "evil\n")
    lines = refused(base, head)
    assert len(lines) == 22
    assert lines[0].startswith("aaa/000.py: is added")
    assert any(line.startswith("harness/running/run.py: is changed") for line in lines)
    assert any(line.startswith("… and 280 more: like these") for line in lines)


def test_the_base_decides_who_may_change_a_submission(base: Path, head: Path) -> None:
    put(head, f"{OLD}/submission.toml", settings(OLD, '["them", "me"]', "them"))
    put(head, f"{OLD}/{RUN}-stratified-300-seed-0.jsonl", "{}\n")
    assert all("me is not among the accounts" in line for line in refused(base, head, "me"))


def test_a_new_submission_that_cannot_be_matched_to_its_team_later_is_taken_with_a_warning(
    base: Path, head: Path
) -> None:
    add(head, accounts="[]")
    (warning,) = judge(base, head, "me").warnings
    assert "accounts = []" in warning
    add(head, accounts='["somebody-else"]')
    (warning,) = judge(base, head, "me").warnings
    assert "accounts: me, who opened this, is not among them" in warning
    add(head, accounts='["ME"]')
    assert judge(base, head, "me").warnings == ()


def test_settings_that_cannot_be_read_are_left_to_check(base: Path, head: Path) -> None:
    add(head)
    put(head, f"{NEW}/submission.toml", "= no toml\n")
    assert judge(base, head, "me").kind == "new"


def test_a_withdrawal_below_the_limits_is_told_to_stand_above_them(base: Path, head: Path) -> None:
    path = head / OWN / "submission.toml"
    path.write_text(path.read_text() + 'withdrawn = "x"\n')
    (line,) = refused(base, head)
    assert line.startswith(f"{OWN}/submission.toml:8: limits.withdrawn: unknown field: withdraw it by one line above")


@pytest.mark.parametrize(
    "line", ['withdrawn = "a fault"\n', "withdrawn = 'a fault'\n", '  withdrawn="a \\"fault\\" # here" \r\n']
)
def test_one_line_that_withdraws_is_all_that_a_withdrawal_needs(base: Path, head: Path, line: str) -> None:
    path = head / OWN / "submission.toml"
    first, _, rest = path.read_text().partition("\n")
    path.write_text(f"{first}\n{line}{rest}")
    assert judge(base, head, "me").kind == "withdrawal"


def test_an_empty_line_that_was_there_is_filled(base: Path, head: Path) -> None:
    for tree, line in ((base, 'withdrawn = ""\n'), (head, 'withdrawn = "a fault"\n')):
        path = tree / OWN / "submission.toml"
        path.write_text(line + path.read_text())
    assert judge(base, head, "me").kind == "withdrawal"


def test_nine_thousand_unknown_settings_are_twenty_faults_and_a_number() -> None:
    found, record = faults_and_record({f"k{n}": n for n in range(9_000)}, SubmissionFile)
    assert record is None
    unknown = [fault for fault in found if fault.what == "unknown field"]
    assert len(unknown) == 20
    assert any("8,980 more unknown fields" in str(fault) for fault in found)


def test_a_letter_that_becomes_a_login_in_small_letters_is_no_login(base: Path, head: Path) -> None:
    for tree in (base, head):
        path = tree / OWN / "submission.toml"
        path.write_text(re.sub("accounts = .*", 'accounts = ["kim"]', path.read_text()))
    put(head, f"{OWN}/{RUN.replace('2.1.0', '2.2.0')}.jsonl", "{}\n")
    assert judge(base, head, "KIM").kind == "new run"
    assert "\u212aim".lower() == "kim"
    assert "is not among the accounts" in refused(base, head, "\u212aim")[0]


def test_what_our_tools_leave_in_the_base_is_nobodys_removal(base: Path, head: Path) -> None:
    for name in ("harness/__pycache__/run.cpython-311.pyc", ".venv/bin/python", "demo/dataset/x", f"{OWN}/{RUN}.log"):
        put(base, name)
    put(base, ".git/config")
    add(head)
    assert judge(base, head, "me").kind == "new"
    put(head, "harness/__pycache__/run.cpython-311.pyc")
    assert "harness/__pycache__/run.cpython-311.pyc" in refused(base, head)[0]


def test_a_repository_at_the_top_is_how_git_keeps_the_checkout(base: Path, head: Path) -> None:
    put(head, ".git", "gitdir: elsewhere\n")
    assert "changes nothing" in refused(base, head)[0]
    add(head)
    assert judge(base, head, "me").files == (f"{NEW}/submission.toml", f"{NEW}/system.py")


def test_a_change_that_leaves_the_size_as_it_was_is_seen(base: Path, head: Path) -> None:
    one = put(base, "big.bin", b"x" * 3_000_000)
    other = put(head, "big.bin", b"x" * 2_999_999 + b"y")
    os.utime(other, ns=(one.stat().st_atime_ns, one.stat().st_mtime_ns))
    assert refused(base, head)[0].startswith("big.bin: is changed")


def test_trees_that_are_no_folders_are_one_line(base: Path, tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="give a checkout's folder"):
        judge(base, tmp_path / "none", "me")


def test_a_folder_that_cannot_be_read_is_a_fault(open_folder: Path) -> None:
    base, head = write_base(open_folder / "base"), write_base(open_folder / "head")
    put(head, f"{NEW}/secret/x.py")
    add(head)
    (head / NEW / "secret").chmod(0)
    is_root = os.geteuid() == 0
    try:
        if is_root:  # who may read everything
            os.seteuid(65534)
        found = differences(base, head)[0]
    finally:
        if is_root:
            os.seteuid(0)
    (head / NEW / "secret").chmod(0o755)
    assert (f"{NEW}/secret", "cannot be read") in [(one.name, one.what) for one in found]


@pytest.mark.skipif(not shutil.which("strace"), reason="NOT RUN: strace is not installed")
def test_nothing_of_the_head_is_run_and_no_link_of_it_followed(base: Path, head: Path, tmp_path: Path) -> None:
    add(head)
    for name in ("sitecustomize.py", "conftest.py", "harness/__init__.py", f"{NEW}/system.py"):
        put(head, name, f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    secret = put(tmp_path, "outside/secret.txt", "gold\n")
    (head / NEW / "link.txt").symlink_to(secret)
    (head / NEW / "folder").symlink_to(secret.parent)
    (head / NEW / "submission.toml").unlink()
    (head / NEW / "submission.toml").symlink_to(secret)
    os.mkfifo(head / NEW / "pipe")
    log = tmp_path / "calls"
    code = (
        "import sys; from pathlib import Path; from harness.pulls.changed_files import judge\n"
        "judge(Path(sys.argv[1]), Path(sys.argv[2]), 'me')"
    )
    subprocess.run(
        [
            "strace",
            "-f",
            "-o",
            log,
            "-e",
            "trace=execve,execveat,open,openat,openat2,fork,vfork",
            sys.executable,
            "-c",
            code,
            base,
            head,
        ],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    calls = log.read_text(errors="replace").splitlines()
    in_head = [call for call in calls if f'"{head}' in call]
    assert len(in_head) > 10
    assert all("O_NOFOLLOW" in call or "O_DIRECTORY" in call for call in in_head if "open" in call)
    for name in (str(secret.parent), f"{NEW}/link.txt", f"{NEW}/folder", f"{NEW}/pipe"):
        assert not any(name in call for call in calls)
    assert sum("execve" in call for call in calls) == 1
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_a_link_now_is_not_looked_into(base: Path, head: Path) -> None:
    shutil.rmtree(head / OWN)
    (head / OWN).symlink_to("/etc")
    told = "\n".join(refused(base, head))
    assert f"{OWN}: was a folder and is now a link" in told
    assert "passwd" not in told


def test_no_two_submissions_of_the_repository_look_alike() -> None:
    slugs = [path.parent.name for path in (ROOT / "submissions").glob("*/submission.toml")]
    assert len({look_of(slug) for slug in slugs}) == len(slugs) > 10


def test_a_change_is_a_plain_record() -> None:
    assert Change(slug="x", kind="new", files=()).warnings == ()
