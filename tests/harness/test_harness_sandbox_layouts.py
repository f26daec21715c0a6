"""Where Python, a checkout and a user's data lie in each other, a system sees Python and our code for systems alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edu_rag.errors import SandboxError
from harness.sandbox import runtime
from harness.sandbox.runtime import Runtime, require_hidden, runtime_of

OURS = ("edu_rag/mini", "harness", "leaderboard/results", "builder", "baselines", "submissions/another")


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python lies in, with what a user may have there."""
    for name in ("bin", "lib/python3.11/site-packages", ".ssh", "data/gold", "share/man"):
        (tmp_path / "prefix" / name).mkdir(parents=True)
    (tmp_path / "prefix" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / "prefix" / "secret.txt").write_text("x")
    for name in ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, str(tmp_path / "prefix"))
    return tmp_path / "prefix"


def checkout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in OURS:
        (folder / name).mkdir(parents=True)
    monkeypatch.setattr(runtime, "HOME", folder)
    return folder


def shows(made: Runtime, path: Path) -> bool:
    """Whether a path shows inside: the innermost of what is mounted or covered above it decides."""
    steps = [(len(m.place.parts), True) for m in made.mounts if m.place == path or m.place in path.parents]
    steps += [(len(c.parts), False) for c in made.covered if c == path or c in path.parents]
    return bool(steps) and max(steps, key=lambda step: (step[0], not step[1]))[1]


def test_of_a_folder_that_python_lies_in_only_pythons_parts_show(prefix: Path) -> None:
    made = runtime_of({})
    for name in ("bin", "lib/python3.11", "pyvenv.cfg", "share/man"):
        assert shows(made, prefix / name), name
    for name in ("", ".ssh", "data/gold", "secret.txt"):
        assert not shows(made, prefix / name), name


def test_python_at_the_top_of_the_machine_shows_no_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("prefix", "exec_prefix", "base_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, "/")
    made = runtime_of({})
    for place in ("/", "/etc", "/root", "/home", "/tmp", "/var"):
        assert not shows(made, Path(place)), place
    assert len({mount.place for mount in made.mounts}) == len(made.mounts)
    assert not {mount.place for mount in made.mounts} & {place for place, _ in made.links}


@pytest.mark.parametrize("where", ["", "src/project", "lib/python3.11/site-packages", "share/project"])
def test_of_a_checkout_or_an_installation_only_the_code_for_systems_shows(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    home = checkout(prefix / where, monkeypatch)
    made = runtime_of({})
    assert shows(made, home / "edu_rag")
    assert shows(made, home / "baselines")
    shown = [name for name in OURS if shows(made, home / name)]
    assert set(shown) <= {"baselines"} | ({"submissions/another"} if where.endswith("site-packages") else set())


@pytest.mark.parametrize("where", ["venv", "../venv"])
def test_an_environment_in_a_checkout_or_beside_it_shows_nothing_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    home = checkout(tmp_path / "checkout", monkeypatch)
    (home / where / "bin").mkdir(parents=True)
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str((home / where).resolve()))
    made = runtime_of({})
    assert shows(made, (home / where / "bin").resolve())
    assert [name for name in OURS if shows(made, home / name)] == ["baselines"]


def test_a_dataset_among_pythons_parts_is_refused_and_one_beside_them_does_not_show(prefix: Path) -> None:
    made = runtime_of({})
    with pytest.raises(SandboxError, match="which a system in the sandbox can read"):
        require_hidden(made, [prefix / "lib"])
    require_hidden(made, [prefix / "data"])


def test_what_an_image_works_on_below_usr_does_not_show() -> None:
    made = runtime_of({})
    for place in ("/usr/src/app", "/usr/src", "/usr/local/project", "/usr/data"):
        assert not shows(made, Path(place)), place
    assert shows(made, Path("/usr/lib"))
