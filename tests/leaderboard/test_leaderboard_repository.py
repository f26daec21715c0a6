"""`edu-rag board init` and `check`: a fork's files, and how they agree with the rest of its repository."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from edu_rag.errors import DataError, EduRagError, FaultsError
from edu_rag.files.board_file import read_board_file
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from leaderboard.commands import board
from leaderboard.repository.check_board import WORKFLOWS, check_board
from leaderboard.repository.code_owners import GUARDED, owner_faults, owners_text
from leaderboard.repository.init_board import init_board
from leaderboard.repository.settings_checklist import ITEMS, checklist_faults

ROOT = Path(__file__).resolve().parents[2]


def printed(*arguments: object) -> str:
    done = CliRunner().invoke(board, list(map(str, arguments)), prog_name="edu-rag board", catch_exceptions=True)
    if isinstance(done.exception, EduRagError):
        return str(done.exception)
    return done.output


def small_dataset(folder: Path) -> Path:
    """A dataset with one question in each of two splits."""
    question = Question(
        question_id="q1", text="Cold?", choices={"a": "yes", "b": "no"}, kind="true_false", split="test"
    )
    questions = {split: [replace(question, question_id=split, split=split)] for split in ("test", "val")}
    gold = {split: [Gold(question_id=split, answer="a")] for split in questions}
    write_dataset(
        folder,
        {"questions": questions, "gold": gold, "hits": {}, "pages": {}},
        name="lab",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# lab\n"},
    )
    return folder


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A repository with the workflows, and the files of `init` with every setting ticked."""
    for name in WORKFLOWS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    list(init_board(tmp_path, ["@my-team/maintainers"], []))
    settings = tmp_path / "leaderboard" / "SETTINGS.md"
    settings.write_text(settings.read_text().replace("[ ]", "[x]"))
    return tmp_path


def told(root: Path) -> list[str]:
    return [str(fault).replace(f"{root}/", "") for fault in check_board(root).faults]


def test_a_new_board_has_no_faults_once_its_settings_are_ticked(fork: Path) -> None:
    assert told(fork) == []
    assert [one.name for one in read_board_file(fork / "leaderboard" / "board.toml").datasets] == [
        "open-textbooks",
        "edu-rag-mini",
    ]
    out = printed("check", fork)
    assert out.startswith("open-textbooks@1.0.0#7b18001f: test, stratified-500-seed-0")
    assert "; CI can get it; 0 results\n" in out


def test_existing_files_are_kept_unless_they_are_to_be_replaced(fork: Path) -> None:
    (fork / "CODEOWNERS").write_text("* @others\n")
    out = printed("init", fork, "--owner", "@me")
    assert [line.split()[0] for line in out.splitlines()] == ["kept", "kept", "kept"]
    assert (fork / "CODEOWNERS").read_text() == "* @others\n"
    printed("init", fork, "--owner", "@me", "--replace")
    assert (fork / "CODEOWNERS").read_text() == owners_text(["@me"])


def test_a_dataset_of_the_fork_is_pinned_by_its_hashes(tmp_path: Path) -> None:
    built = small_dataset(tmp_path / "lab")
    with pytest.raises(DataError, match="choose --split from test, val"):
        list(init_board(tmp_path, ["@me"], [built]))
    list(init_board(tmp_path, ["@me"], [built], split="val", team="Our lab"))
    made = read_board_file(tmp_path / "leaderboard" / "board.toml")
    assert made.baselines_team == "Our lab"
    assert (made.datasets[0].name, made.datasets[0].can_be_had) == ("lab", False)
    assert len({one.name for one in made.datasets}) == 3
    assert '# hub = "my-org/lab"' in (tmp_path / "leaderboard" / "board.toml").read_text()


def test_nothing_is_written_for_an_owner_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="'me' is not an owner"):
        list(init_board(tmp_path, ["me", "@org/", "@fine"], []))
    assert list(tmp_path.iterdir()) == []


def test_all_that_disagrees_is_told_at_once(fork: Path) -> None:
    (fork / "CODEOWNERS").write_text("* @my-org/all\n/harness/\n/leaderboard/results @me\n")
    settings = fork / "leaderboard" / "SETTINGS.md"
    lines = settings.read_text().replace("[x] **pages**", "[ ] **pages**").splitlines()
    settings.write_text("\n".join(line for line in lines if "**ruleset**" not in line))
    (fork / WORKFLOWS[0]).unlink()
    stray = fork / "submissions" / "one" / "predictions" / "open-textbooks-1.0.0" / "test-stratified-9-seed-0.jsonl"
    stray.parent.mkdir(parents=True)
    stray.touch()
    assert [line.partition(": ")[2][:60] for line in told(fork)] == [
        "is no table of open-textbooks@1.0.0 in board.toml, which has",
        "no such file: copy it from the project (docs/operators.md)",
        "/harness/ has no owner: add a line: /harness/ @ORG/TEAM",
        "@my-org/all is a placeholder: write the owners of this board",
        "ruleset is missing: add the line `- [ ] **ruleset** Rulesets",
        "pages: is not ticked: Pages: the source is *GitHub Actions*.",
    ]


def test_results_on_other_content_than_the_pinned_are_faults(fork: Path) -> None:
    results = fork / "leaderboard" / "results"
    shutil.copytree(ROOT / "leaderboard" / "results" / "edu-rag-mini-2.0.0", results / "edu-rag-mini-2.0.0")
    path = fork / "leaderboard" / "board.toml"
    path.write_text(path.read_text().replace('content_sha256 = "520bf2f4', 'content_sha256 = "00000000'))
    found = told(fork)
    assert found
    assert all("the board's dataset is edu-rag-mini@2.0.0#00000000" in line for line in found)


def test_a_board_file_with_faults_does_not_hide_the_others(fork: Path) -> None:
    (fork / "leaderboard" / "board.toml").write_text("datasets = 3\nodd = 1\n")
    (fork / "CODEOWNERS").unlink()
    found = told(fork)
    assert len(found) >= 3
    assert found[-1].startswith("CODEOWNERS: no such file")


@pytest.mark.parametrize(
    ("text", "n"), [("* @a", 0), ("* @a\n/.ci/**\n", 1), ("/.github/ @a", len(GUARDED) - 1), ("# * @a", len(GUARDED))]
)
def test_the_last_matching_line_decides_who_owns_a_path(tmp_path: Path, text: str, n: int) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "CODEOWNERS").write_text(text)
    (tmp_path / "CODEOWNERS").write_text("* @b")  # the code host reads the first file alone
    assert len(list(owner_faults(tmp_path))) == n


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("/harness/* @o/a", "/harness/ has no owner"),
        ("/* @o/a", "/harness/ has no owner"),
        ("* @o/a\n*.py", "*.py has no owner and could match in /.github/, /.ci/, /leaderboard/, /harness/, /edu_rag/"),
        ("* @o/a\n/harness/sandbox/", "/harness/sandbox/ has no owner and could match in /harness/"),
        ("* @o/a\n/harness/*", "/harness/* has no owner and could match in /harness/"),
        ("* @o/a\n**/run.py", "**/run.py has no owner and could match in /.github/"),
        ("* @o/a\n/h*/run.py", "/h*/run.py has no owner and could match in /harness/"),
        ("* @o/a\n/py*", "/py* has no owner and could match in /pyproject.toml"),
        ("* @o/a\n/pyproject.toml", "/pyproject.toml has no owner"),
        ("* @my-org", "@my-org is a placeholder"),
        ("* @ORG/TEAM", "@ORG/TEAM is a placeholder"),
        ("* @o/a\n*.py\n* @o/b", ""),
        ("* @o/a\n/submissions/\n/docs/*.md\n/tests/**/x.py", ""),
        ("* @examplecorp/x", ""),
    ],
)
def test_no_later_line_may_take_the_owners_of_guarded_files_away(tmp_path: Path, text: str, faults: str) -> None:
    (tmp_path / "CODEOWNERS").write_text(text)
    found = "\n".join(map(str, owner_faults(tmp_path)))
    assert faults in found
    assert bool(faults) == bool(found)


def test_owners_in_the_folder_docs_guard_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "CODEOWNERS").write_text("".join(f"{path} @o\n" for path in GUARDED))
    assert [str(fault).partition(": ")[2] for fault in owner_faults(tmp_path)] == [
        "/docs/CODEOWNERS has no owner: add a line: /docs/CODEOWNERS @ORG/TEAM"
    ]


def test_a_placeholder_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="@my-org/x is a placeholder"):
        list(init_board(tmp_path, ["@my-org/x"], []))
    assert list(tmp_path.iterdir()) == []


def test_every_setting_of_the_list_is_explained_to_operators() -> None:
    page = (ROOT / "docs" / "operators.md").read_text()
    assert all(f"`{name}`" in page for name in ITEMS)
    assert len(list(checklist_faults(ROOT / "docs"))) == 1


def test_a_folder_called_init_is_still_a_folder_of_results(tmp_path: Path) -> None:
    assert "init: is not a folder" in printed("./init", "--out", tmp_path / "site")
    assert printed("init", "--help").startswith("Usage: edu-rag board init [OPTIONS] [REPOSITORY]")
