"""Our workflow files against zizmor, actionlint and a policy of our own; and mutations of them, each of them caught."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import workflow_policy as policy
from workflow_mutations import MUTATIONS, Mutation, text_of

from edu_rag.__main__ import COMMANDS
from edu_rag.cli import dataset_group

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = GITHUB / "workflows"
WRITTEN_LATER = {"leaderboard/reruns.jsonl", "leaderboard/SETTINGS.md"}
"""There once a maintainer has run a system again, and in a fork after `edu-rag board init`."""


def tool(name: str) -> str:
    """The program that pip put beside this Python."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is missing: pip install -c constraints.txt '.[dev]'")
    return found


def zizmor(folder: Path) -> list[str]:
    """What zizmor finds in a folder as its strictest persona, without a network and without looking away."""
    done = subprocess.run(
        [
            tool("zizmor"),
            "--persona=auditor",
            "--offline",
            "--no-config",
            "--no-ignores",
            "--collect=all",
            "--strict-collection",
            "--no-progress",
            "--format=json",
            str(folder),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if not done.stdout.strip():
        return ["cannot be read"]
    return [finding["ident"] for finding in json.loads(done.stdout)]


def actionlint(*files: Path) -> list[str]:
    done = subprocess.run(
        [tool("actionlint"), "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", *map(str, files)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


def test_zizmor_finds_nothing_as_auditor_and_is_told_to_ignore_nothing():
    assert zizmor(GITHUB) == []


def test_actionlint_finds_nothing():
    assert actionlint(*sorted(WORKFLOWS.glob("*.yml"))) == []


def test_the_policy_finds_nothing():
    assert policy.faults(GITHUB) == []


def write(mutation: Mutation, folder: Path) -> Path:
    """A repository with the mutated file alone."""
    workflows = folder / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / mutation.file).write_text(text_of(mutation, WORKFLOWS), encoding="utf-8")
    return folder


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_weakened_workflow_is_caught_by_the_policy(mutation: Mutation):
    assert policy.faults_of(mutation.file, text_of(mutation, WORKFLOWS)) != []


def test_zizmor_alone_catches_the_classic_mistakes(tmp_path: Path):
    classic = [
        "trigger: pull_request_target",
        "action by tag",
        "title inside a script",
        "permissions: write-all",
        "credentials kept",
        "self-hosted runner",
        "all secrets",
        "environment left out of the hub's job",
    ]
    found = {m.name: zizmor(write(m, tmp_path / str(n))) for n, m in enumerate(MUTATIONS) if m.name in classic}
    assert sorted(found) == sorted(classic)
    assert [name for name, findings in found.items() if not findings] == []


def test_every_mutation_changes_something_and_has_a_name_of_its_own():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
    for mutation in MUTATIONS:
        assert mutation.old != mutation.new


@pytest.mark.parametrize("name", ["zizmor.yml", "zizmor.yaml", "actionlint.yml", "actionlint.yaml", "actions"])
def test_a_file_that_would_quieten_a_linter_or_add_an_action_is_caught(tmp_path: Path, name: str):
    shutil.copytree(GITHUB, tmp_path / ".github")
    (tmp_path / ".github" / name).mkdir()
    assert policy.faults(tmp_path / ".github") == [f"{name} has no place here"]


def test_a_workflow_that_went_missing_is_caught(tmp_path: Path):
    shutil.copytree(GITHUB, tmp_path / ".github")
    (tmp_path / ".github" / "workflows" / "board.yml").unlink()
    assert policy.faults(tmp_path / ".github") == ["board.yml is missing"]


def test_the_profile_gives_bubblewrap_leave_for_namespaces_and_nothing_else():
    text = (GITHUB / "apparmor" / "bwrap").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert lines == [
        "abi <abi/4.0>,",
        "include <tunables/global>",
        "profile edu-rag-bwrap /usr/bin/bwrap flags=(unconfined) {",
        "userns,",
        "}",
    ]


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/operators.md"])
def test_files_that_the_pages_name_are_there(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(
        re.findall(r"`((?:tests|bench|harness|leaderboard|\.github)/[\w/.-]+\.\w+|\.github/apparmor/bwrap)`", text)
    )
    assert named
    assert sorted(name for name in named - WRITTEN_LATER if not (ROOT / name).exists()) == []


def test_every_command_that_the_operators_page_names_exists():
    text = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    named = set(re.findall(r"edu-rag (?:dataset )?([a-z]+)\b", text))
    assert named - {"dataset", *COMMANDS, *dataset_group.dataset.commands} == set()


def test_actionlint_is_awake(tmp_path: Path):
    text = (WORKFLOWS / "submission.yml").read_text(encoding="utf-8")
    (tmp_path / "submission.yml").write_text(text.replace("runs-on", "run-on"), encoding="utf-8")
    assert any('unexpected key "run-on"' in line for line in actionlint(tmp_path / "submission.yml"))
