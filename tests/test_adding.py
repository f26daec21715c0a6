"""docs/adding.md: its diffs apply to this code, and what they add works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("baselines", "builder", "edu_rag", "harness", "leaderboard", "publishing")
CARDS = ROOT / "leaderboard" / "results" / "open-textbooks-1.0.0" / "test"
ENGINE = """
import json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from builder.config import to_config
from builder.search import open_engines, reader_of
from builder.search_results import RawResponse
body = json.dumps({"urls": ["https://a.example/", "ftp://no"]}).encode()
class Catalogue(BaseHTTPRequestHandler):
    def do_GET(self):
        assert self.path == "/find?q=Why%3F&n=10&page=0&shelf=art", self.path
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
server = HTTPServer(("127.0.0.1", 0), Catalogue)
threading.Thread(target=server.serve_forever, daemon=True).start()
library = {"base_url": f"http://127.0.0.1:{server.server_port}", "shelf": "art"}
config = to_config({"search": {"engine": "library", "adapters": {"library": library}}}, "test").search
(engine,) = open_engines(config, "test")
said = engine.search("Why?", 10)
assert (engine.name, config.of_results()) == ("library", library)
assert (said.state, said.urls) == ("hits", ("https://a.example/",)), said
assert reader_of("library")(said.raw, 10).urls == said.urls
refused = reader_of("library")([RawResponse(url="https://library.example/find", status=403, body=b"")], 10)
assert refused.state == "blocked"
"""
SLICE = """
from edu_rag.records import Question
from edu_rag.scorecard.slices import slice_keys
from edu_rag.scorecard.support import Support
from leaderboard.questions.question_slices import attributes_of
from types import SimpleNamespace
def asked(question_id, text):
    choices = {"a": "iron", "b": "gold"}
    return Question(question_id=question_id, text=text, choices=choices, kind="multiple_choice", split="test")
both = [asked("q1", "What is it?"), asked("q2", "What is it? " * 9)]
support = Support(frozenset(), {}, has_pages=False)
assert [dict(slice_keys(one, support))["length"] for one in both] == ["short", "long"]
exam = SimpleNamespace(questions=both, support=support)
(found,) = [one for one in attributes_of(exam, ["q1", "q2"]) if one.attribute == "length"]
assert (list(found.values), found.at) == (["long", "short"], "10")
"""
PART = """
from baselines.parts import make
ranked = make("retrieve", "shared-words", {"min_length": 2})("what makes ATP", ["Leaves are green.", "ATP makes it"], 1)
assert [(one.place, one.score) for one in ranked] == [(1, 2)]
"""


def diffs() -> dict[str, str]:
    """The diffs of the page by their heading."""
    text = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([^\n]+)\n.*?^```diff\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with all four diffs applied."""
    folder = tmp_path_factory.mktemp("adding")
    for name in PACKAGES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    for heading, diff in diffs().items():
        command = ["git", "apply", "--verbose", "-"]
        done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (heading, done.stderr)
    install(folder, folder / "library-engine")
    return folder


def install(folder: Path, package: Path) -> None:
    """Install the engine's package next to the copy of ours, as pip does it."""
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    given = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def test_the_page_has_four_diffs() -> None:
    assert list(diffs()) == [
        "A search engine",
        "An outcome slice",
        "A column of the board",
        "A part of a RAG system",
    ]


@pytest.mark.process
@pytest.mark.parametrize("code", [ENGINE, SLICE, PART], ids=["engine", "slice", "part"])
def test_what_a_diff_adds_works(changed: Path, code: str) -> None:
    done = run(changed, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_the_added_column_is_on_the_board(changed: Path, tmp_path: Path) -> None:
    for slug in ("blind-a", "blind-d"):
        shutil.copytree(CARDS / slug, tmp_path / "results" / "open-textbooks-1.0.0" / "test" / slug)
    done = run(changed, "-m", "edu_rag", "board", tmp_path / "results", "--out", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "board.html").read_text(encoding="utf-8")
    cells = re.findall(r'<td data-column="attempt_rate" data-value="(\d+)">([\d.]+)', page)
    assert cells == [("1748", "100.0"), ("1745", "99.8")]
    assert re.search(r'<th scope="col" data-column="attempt_rate"[^>]*>Attempted', page)
