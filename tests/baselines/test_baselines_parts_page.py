"""docs/parts.md: what it shows runs as it stands there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from baselines.parts import NAMES
from baselines.recipe import recipe_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "parts.md").read_text(encoding="utf-8")
TEXT = "Cells are small. ATP is made by the mitochondrion of the cell. Leaves are green."
QUESTION = {
    "id": "q1",
    "text": "Which part of the cell makes ATP?",
    "kind": "multiple_choice",
    "choices": {"a": "the ribosome", "b": "the mitochondrion"},
    "pages": [
        {
            "page_id": "p1",
            "url": "https://x.example/",
            "title": "",
            "text": TEXT,
            "sentences": [[0, 16], [17, 62], [63, 80]],
        }
    ],
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


DRIVER = """
import io, os, runpy, sys
question, out = sys.stdin.buffer.read(), os.dup(1)
for folder in sys.argv[1:]:
    os.chdir(folder)
    os.dup2(out, 1)  # serve() sends what is printed to stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(question))
    runpy.run_path("system.py", run_name="__main__")
"""
"""One process, because each loads PyTorch and a model."""


def answers_of(*folders: Path) -> list[dict[str, object]]:
    given = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *map(str, folders)],
        input=json.dumps(QUESTION) + "\n",
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=480,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    said: list[dict[str, object]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert not any("error" in one for one in said)
    return said


def test_the_recipe_and_the_twenty_lines_are_one_system(tmp_path: Path) -> None:
    (recipe,) = (block for block in blocks("toml") if "[parts]" in block)
    by_recipe, by_hand = blocks("python")[:2]
    for name, code in (("recipe", by_recipe), ("hand", by_hand)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "system.py").write_text(code, encoding="utf-8")
        (tmp_path / name / "submission.toml").write_text(recipe, encoding="utf-8")
    said = answers_of(tmp_path / "recipe", tmp_path / "hand")
    assert len(said) == 2
    assert said[0] == said[1]
    assert said[0]["passages"] == [["p1", 0, 80]]
    assert len(by_hand.strip().splitlines()) <= 27


def test_every_recipe_on_the_page_is_read() -> None:
    for block in blocks("toml"):
        assert recipe_of(tomllib.loads(block)["parts"]).model.name


def test_the_page_lists_every_part_by_its_name() -> None:
    listed = set(re.findall(r"`([a-z0-9-]+)`", PAGE[PAGE.index("## Choose parts") :]))
    assert {name for names in NAMES.values() for name in names} <= listed
