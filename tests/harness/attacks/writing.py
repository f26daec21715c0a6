"""Attacks that write where nothing of theirs belongs. The test looks afterwards whether the host has the file."""

# ruff: noqa: PTH123

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

from attack import TARGETS, attack

NAME = f"attack-{TARGETS['mark']}"


def _write(*folders: str | Path) -> str | None:
    """Make a file in the first folder that lets us."""
    for folder in folders:
        path = Path(folder, NAME)
        try:
            path.write_text("was here")
        except OSError:
            continue
        return f"wrote {path}"
    return None


@attack
def write_to_own_submission() -> str | None:
    return _write(Path.cwd(), TARGETS["submission"], Path(__file__).parent)


@attack
def change_own_program() -> str | None:
    """What answers question 5 must be what was checked before question 1."""
    try:
        with open(__file__, "a") as stream:
            stream.write("# changed\n")
    except OSError:
        return None
    return f"changed {__file__}"


@attack
def write_to_own_predictions() -> str | None:
    places = [Path(TARGETS["submission"], "predictions"), Path("predictions"), Path("/app/predictions")]
    return _write(*(folder for place in places if place.is_dir() for folder in (place, *place.iterdir())))


@attack
def write_to_the_root() -> str | None:
    return _write("/")


@attack
def write_to_usr() -> str | None:
    return _write("/usr", "/usr/bin", "/usr/local/bin", "/usr/lib", "/lib")


@attack
def write_to_etc() -> str | None:
    return _write("/etc", "/etc/cron.d")


@attack
def write_to_the_runtime() -> str | None:
    return _write(sys.prefix, sys.base_prefix, *site.getsitepackages(), Path(os.__file__).parent)


@attack
def write_to_the_repository() -> str | None:
    return _write(*(Path(TARGETS["repository"], name) for name in ("", "harness", "edu_rag", "tests")))


@attack
def write_to_the_hosts_tmp() -> str | None:
    """Allowed in a /tmp of its own: the test looks whether the host has it."""
    return _write("/tmp", "/var/tmp")


@attack
def write_to_the_hosts_shared_memory() -> str | None:
    return _write("/dev/shm")


@attack
def write_to_the_dataset() -> str | None:
    return _write(TARGETS["dataset"], Path(TARGETS["dataset"], "gold"))


@attack
def write_to_another_submission() -> str | None:
    return _write(Path(TARGETS["other_submission"]).parent)


@attack
def write_to_the_home_folder() -> str | None:
    return _write(TARGETS["home"])


@attack
def write_to_devices_and_run() -> str | None:
    return _write("/dev", "/run", "/var", "/var/lib", "/home", "/root", "/opt", "/srv", "/mnt")


@attack
def write_through_proc() -> str | None:
    return _write(*(f"/proc/{pid}/root{TARGETS['home']}" for pid in ("1", "self", os.getppid())))
