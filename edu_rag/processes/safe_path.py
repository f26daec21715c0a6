"""Keeps modules of the current folder from being imported: by us, and by every Python that we start.

`python -c` and `python -m` put the current folder first on the module search path, and multiprocessing starts its
workers with `-c`: started in a stranger's folder, they would run its `multiprocessing.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

_HOME = Path(__file__).resolve().parents[2]


def guard_children() -> None:
    """Make every Python started from now on leave the current folder out, as `python -P` does.

    An option on the command line would not reach the children of libraries (datatrove, Ray, resource trackers), so
    this sets the variable that they inherit. An empty entry of PYTHONPATH also means the current folder: it goes too.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    given = os.environ.get("PYTHONPATH")
    if given is not None:
        kept = os.pathsep.join(filter(None, given.split(os.pathsep)))
        if kept:
            os.environ["PYTHONPATH"] = kept
        else:
            del os.environ["PYTHONPATH"]


def leave_out_current_folder() -> None:
    """Do so for the children and in this process: for the start of a program, before it imports its commands.

    A checkout that is started inside (`python -m edu_rag` without an installation) stays on the path.
    """
    # `site` has made an empty entry of PYTHONPATH absolute: by now it looks like any other.
    has_empty = "" in os.environ.get("PYTHONPATH", "x").split(os.pathsep)
    guard_children()
    here = Path.cwd()
    if here == _HOME:
        return
    unsafe = [] if sys.flags.safe_path else sys.path[:1]
    unsafe += [str(here)] if has_empty else []
    sys.path[:] = [entry for entry in sys.path if entry and not (entry in unsafe and Path(entry) == here)]


def own_code_first() -> dict[str, str]:
    """Our environment, in which `python -P -m edu_rag` finds this very code, installed or not."""
    if _HOME.name in ("site-packages", "dist-packages"):
        return dict(os.environ)
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(_HOME), os.environ.get("PYTHONPATH"))))}


def spawning() -> SpawnContext:
    """Multiprocessing's way to start fresh workers, which never import from the current folder."""
    import multiprocessing

    guard_children()
    return multiprocessing.get_context("spawn")
