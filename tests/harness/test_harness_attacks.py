"""Everything an attacker could try from inside, in one sandboxed run: as root, and as another user."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack_arms import arms, run_attacks
from attack_world import STATED, a_world, attack_names, left_in_temp, python_for, survivors

NAMES = attack_names()
USER = 1_000
WORST = (
    "gold_by_path",
    "secret_file_of_the_caller",
    "memory_of_other_processes",
    "environment_of_the_first_process",
    "tcp_to_the_loopback",
    "unix_socket_by_name",
    "write_to_usr",
    "daemon",
    "fill_shared_memory",
)
MANY = "fill_memory_by_many_processes"
BY_DAY = NAMES if os.environ.get("EDU_RAG_NIGHTLY") else sorted({*NAMES[::3], *WORST, MANY})
"""The attacks that are tried without a sandbox, to show that they are attacks, and by root in the sandbox.

Root's are the slowest. The other user, as whom CI runs, tries all of them every time.
"""
Said = dict[str, dict[str, Any]]
ENDED_BY_THE_HARNESS = {"write_to_the_harness_output"}
"""It writes to its own pipe, which is the only one in reach: that is an answer which breaks the protocol."""


def test_there_are_attacks_of_every_kind() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 120


@pytest.fixture(scope="session")
def attacked(sandbox_here: None) -> Callable[[str, int], Said]:
    """What each attack said in an arm, as a user; each pair runs once."""
    done: dict[tuple[str, int], Said] = {}
    if os.geteuid() != 0:
        pytest.skip("NOT RUN: only root can play the attacks on itself and on another user")

    def run(arm: str, uid: int) -> Said:
        if (arm, uid) not in done:
            if python_for(uid) is None:
                pytest.skip(f"NOT RUN: user {uid} can start no Python that has our packages")
            names = NAMES if arm == "ours" and (uid == USER or python_for(USER) is None) else BY_DAY
            with a_world(uid, names) as world:
                done[arm, uid] = run_attacks(world, arms()[arm], names)
                done[arm, uid]["left"] = {"files": left_in_temp(world), "processes": survivors(world)}
        return done[arm, uid]

    return run


def succeeded(said: Said) -> list[str]:
    tried = [name for name in NAMES if name in said and name not in STATED]
    return [f"{name}: {said[name]['evidence']}" for name in tried if said[name]["success"]]


@pytest.mark.parametrize("words", STATED.values())
def test_what_succeeds_is_stated(words: str) -> None:
    assert words in (Path(__file__).resolve().parents[2] / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("uid", [0, USER])
def test_no_attack_succeeds_in_the_sandbox(attacked: Callable[[str, int], Said], uid: int) -> None:
    said = attacked("ours", uid)
    assert succeeded(said) == []
    assert said[MANY]["evidence"] is None


def test_run_by_root_the_sandbox_has_no_gap(attacked: Callable[[str, int], Said]) -> None:
    assert attacked("ours", 0)["caps"]["gaps"] == []


@pytest.mark.parametrize("uid", [0, USER])
def test_an_attack_that_fails_was_refused_not_broken(attacked: Callable[[str, int], Said], uid: int) -> None:
    said = attacked("ours", uid)
    tried = [name for name in NAMES if name in said]
    assert set(tried) >= set(NAMES if uid == USER else BY_DAY)
    assert [(name, said[name]["broken"]) for name in tried if said[name].get("broken")] == []
    unsaid = {name for name in tried if "nothing was said" in str(said[name].get("ended"))}
    assert unsaid == set()
    stopped = {name for name in tried if (said[name].get("ended") or "").startswith(("protocol", "timeout"))}
    assert stopped <= ENDED_BY_THE_HARNESS


@pytest.mark.parametrize("uid", [0, USER])
def test_nothing_of_a_run_full_of_attacks_stays_on_the_machine(attacked: Callable[[str, int], Said], uid: int) -> None:
    assert attacked("ours", uid)["left"] == {"files": [], "processes": []}


def test_the_same_attacks_succeed_without_a_sandbox(attacked: Callable[[str, int], Said]) -> None:
    said = attacked("plain subprocess", 0)
    assert [(name, said[name]["broken"]) for name in BY_DAY if said[name].get("broken")] == []
    assert len(succeeded(said)) >= 0.75 * len(BY_DAY)
    for name in WORST:
        assert said[name]["success"], name
