from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from edu_rag.__main__ import root
from edu_rag.errors import SandboxError
from edu_rag.files.dataset import Dataset
from harness.sandbox import doctor, launch, policy
from harness.sandbox.caps import GIB, Caps
from harness.sandbox.doctor import examine
from harness.sandbox.launch import find_tools, open_sandbox, why_not

TOOLS = ("setsid", "setpriv", "prlimit", "env", "nice", "unshare", "mount")


@pytest.fixture
def programs(open_folder: Path) -> Path:
    """A folder with the sandbox's programs, without bubblewrap. The sandbox runs them as nobody."""
    for name in TOOLS:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"NOT RUN: {name} is not on this machine")
        (open_folder / name).symlink_to(found)
    return open_folder


@pytest.fixture
def marking(write_system: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    """A system that leaves a mark when it is run."""
    mark = tmp_path / "was-run"
    return write_system(f"open({str(mark)!r}, 'w')"), mark


def fake(folder: Path, said: str, code: int = 1) -> None:
    script = folder / "bwrap"
    script.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {code}\n")
    script.chmod(0o755)


def test_without_bubblewrap_nothing_is_run_and_the_remedy_is_told(
    programs: Path, marking: tuple[Path, Path], tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, mark = marking
    monkeypatch.setenv("PATH", str(programs))
    done = CliRunner().invoke(root, ["run", str(folder), "--dataset", str(tiny.folder)])
    assert isinstance(done.exception, SandboxError)
    assert str(done.exception) == (
        "sandbox: not installed: bwrap: apt-get install bubblewrap; see docs/operators.md; or "
        "`edu-rag run --unsafe-no-sandbox` for a system that you trust"
    )
    assert not mark.exists()
    assert not list((folder / "predictions").rglob("*.jsonl"))


REFUSALS = [
    ("bwrap: No permissions to create a new namespace, likely because the kernel does not allow it", "namespace"),
    ("bwrap: Unknown option --disable-userns", "older than 0.8.0"),
    ("bwrap: something else", "cannot be started: bwrap: something else"),
    ("", "it said nothing"),
]


@pytest.mark.parametrize(("said", "told"), REFUSALS)
def test_a_bubblewrap_that_refuses_runs_nothing(
    programs: Path, marking: tuple[Path, Path], said: str, told: str
) -> None:
    fake(programs, said)
    folder, mark = marking
    with pytest.raises(SandboxError, match=told) as error, open_sandbox(folder, {}, Caps(), search_path=str(programs)):
        pytest.fail("it was opened")
    assert "--unsafe-no-sandbox" in str(error.value)
    assert not mark.exists()


def test_a_bubblewrap_that_does_nothing_and_says_that_all_is_well_is_found_out(
    programs: Path, marking: tuple[Path, Path]
) -> None:
    fake(programs, "", 0)
    folder, mark = marking
    with pytest.raises(SandboxError), open_sandbox(folder, {}, Caps(), search_path=str(programs)):
        pytest.fail("it was opened")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [(ImportError("no"), "pip install pyseccomp"), (RuntimeError("no libseccomp"), "apt-get install libseccomp2")],
)
def test_without_libseccomp_nothing_is_run(
    marking: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, error: Exception, remedy: str
) -> None:
    def missing() -> object:
        raise error

    folder, mark = marking
    monkeypatch.setattr(policy, "_imported", missing)
    with pytest.raises(SandboxError, match=remedy), open_sandbox(folder, {}, Caps()):
        pytest.fail("it was opened")
    assert not mark.exists()


def test_where_apparmor_or_a_switch_forbids_it_the_remedy_names_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "bwrap: setting up uid map: Permission denied"
    on, off = tmp_path / "on", tmp_path / "off"
    on.write_text("1\n")
    off.write_text("0\n")
    assert "AppArmor" not in str(why_not(said))
    monkeypatch.setattr(launch, "_SWITCHES", {off: "user.max_user_namespaces=10000"})
    assert "sysctl -w user.max_user_namespaces=10000" in str(why_not(said))
    monkeypatch.setattr(launch, "_APPARMOR", on)
    assert "AppArmor keeps programs from making user namespaces here" in str(why_not(said))
    assert "docs/operators.md" in str(why_not(said))


def test_elsewhere_than_on_linux_it_is_one_clear_error() -> None:
    with pytest.raises(SandboxError, match="works on Linux only, and this is darwin"):
        find_tools(platform="darwin")


def test_without_a_sandbox_a_system_runs_where_one_says_so_and_the_record_tells(
    programs: Path, marking: tuple[Path, Path], tiny: Dataset
) -> None:
    folder, mark = marking
    (folder / "system.py").write_text(
        (folder / "system.py").read_text()
        + """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""
    )
    words = [sys.executable, "-m", "edu_rag", "run", str(folder), "--dataset", str(tiny.folder), "--unsafe-no-sandbox"]
    given = os.environ | {"PATH": str(programs), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(words, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert mark.exists()
    record = json.loads((folder / "predictions" / "tiny-1.0.0" / "test.run.json").read_text())
    assert record["caps"] == {"sandbox": "none"}


@pytest.mark.usefixtures("sandbox_here")
@pytest.mark.parametrize(
    ("module", "seconds", "what"),
    [
        (doctor, "_WAIT_S", "a shell inside gave no answer in 30 s"),
        (
            launch,
            "_TRIAL_S",
            "cannot be started: its trial did not end in 0 s: try again when less is running",
        ),
    ],
)
def test_a_look_inside_that_does_not_end_in_time_is_one_failed_check(
    module: ModuleType, seconds: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that is too busy: one line, and no traceback."""
    monkeypatch.setattr(module, seconds, 0.0)
    (check,) = examine(Caps())
    assert (check.in_force, check.detail) == (False, what)


def test_the_command_prints_what_is_in_force_and_fails_where_something_is_not(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = examine(Caps())
    done = CliRunner().invoke(root, ["sandbox", "--json"])
    values = json.loads(done.stdout)
    assert values["in_force"] is all(check.in_force for check in here)
    assert done.exit_code == (0 if values["in_force"] else 1)
    assert [check["name"] for check in values["checks"]] == [check.name for check in here]
    monkeypatch.setenv("PATH", str(programs))
    without = CliRunner().invoke(root, ["sandbox"])
    assert without.exit_code == 1
    assert without.stdout.startswith("MISSING sandbox  not installed: bwrap: apt-get install bubblewrap")


@pytest.mark.usefixtures("sandbox_here")
def test_the_options_of_run_are_caps(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("from edu_rag.serve import serve\nserve(lambda question: 'a')\n")
    words = ["run", folder, "--dataset", tiny.folder, "--no-cache", "--memory-gb", 0.5, "--processes", 20]
    done = CliRunner().invoke(root, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    caps = json.loads((folder / "predictions" / "tiny-1.0.0" / "test.run.json").read_text())["caps"]
    assert (caps["memory_bytes"], caps["n_processes"]) == (GIB // 2, 20)
