"""A run that is killed while it starts leaves nothing behind: a few of the kills of `bench/sandbox.py --kills`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from aimed_kills import MOMENTS, ROOT

from edu_rag.files.dataset import Dataset

pytestmark = pytest.mark.usefixtures("sandbox_here")
LIMIT_S = 600


def test_a_run_that_is_killed_at_any_moment_of_its_start_leaves_no_process(tmp_path: Path, tiny: Dataset) -> None:
    folder = tmp_path / "sleeper"
    folder.mkdir()
    command = '["python", "-c", "import time; time.sleep(600)"]'
    (folder / "submission.toml").write_text(f'name = "Sleeper"\nteam = "us"\ncommand = {command}\n')
    run = [sys.executable, "-P", "-m", "edu_rag", "run", str(folder), "--dataset", str(tiny.folder), "--no-cache"]
    kills = str(Path(__file__).with_name("aimed_kills.py"))
    done = subprocess.run(
        [sys.executable, kills, str(len(MOMENTS)), *run],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "EDU_RAG_CACHE": str(tmp_path)},
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(MOMENTS), done.stderr
    assert [line for line in lines if not line.endswith(":")] == []
