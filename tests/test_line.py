"""The whole line, offline, through the command line, with known scores."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from edu_rag.__main__ import COMMANDS, root
from edu_rag.cli.demo import LIGHT_SYSTEMS, MINI, MODEL_SYSTEMS
from edu_rag.errors import EduRagError
from edu_rag.files.board_file import check_dataset, read_board_file
from edu_rag.files.dataset import Dataset
from edu_rag.files.table_rows import CONFIGS
from edu_rag.gold import Gold

ROOT = Path(__file__).resolve().parents[1]
OF_BUILD_ALONE = {
    "googlesearch-python": "googlesearch",
    "libzim": "libzim",
    "newspaper3k": "newspaper",
    "pandas": "pandas",
    "scipy": "scipy",
}
"""Packages of the extra `build` that `demo` lacks, with their modules."""
WITHOUT_THEM = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def edu_rag(*words: object, ok: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of ours in a process of its own; `ok` False expects exit 1 and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == (0 if ok else 1), done.stdout + done.stderr
    return done


def in_process(*words: object) -> str:
    """Run a command line that works in this process, which takes a tenth of the time; what it prints."""
    done = CliRunner().invoke(root, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of the demo without language models, in an environment with the packages of the extra `demo`."""
    folder = tmp_path_factory.mktemp("line")
    out = folder / "demo"
    without = WITHOUT_THEM.format(names=sorted(OF_BUILD_ALONE.values()))
    (folder / "sitecustomize.py").write_text(without, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    hidden = [sys.executable, "-c", "import pandas"]
    assert subprocess.run(hidden, env=os.environ | {"PYTHONPATH": path}, capture_output=True, check=False).returncode
    done = edu_rag("demo", "--light", "--out", out, PYTHONPATH=path)
    assert "index.html" in done.stderr
    (out / "stdout.txt").write_text(done.stdout, encoding="utf-8")
    return out


@pytest.fixture(scope="session")
def golds(demo: Path) -> dict[str, Gold]:
    dataset = Dataset(demo / "dataset")
    split = dataset.only_split(None)
    return {gold.question_id: gold for gold in dataset.records("gold", split, Gold)}


def test_what_the_demo_runs_without_is_what_its_extra_lacks() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["build"][0] == "edu-rag-bench[demo]"
    assert {Requirement(one).name for one in extras["build"][1:]} == set(OF_BUILD_ALONE)


def test_the_bundled_dataset_is_the_one_that_the_board_names(demo: Path) -> None:
    board = read_board_file(ROOT / "leaderboard" / "board.toml")
    check_dataset(demo / "dataset", next(one for one in board.datasets if one.bundled))


Score = Callable[[Sequence[dict[str, Any]]], dict[str, Any]]


@pytest.fixture
def score(demo: Path, tmp_path: Path) -> Score:
    """Score lines as a predictions file; return the scorecard that `--json` prints."""

    def score_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
        path = tmp_path / "predictions.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        card = json.loads(in_process("score", path, "--dataset", demo / "dataset", "--json"))
        assert isinstance(card, dict)
        return card

    return score_lines


def wrong_label(demo: Path, golds: dict[str, Gold]) -> dict[str, str]:
    dataset = Dataset(demo / "dataset")
    questions = dataset.questions(dataset.only_split(None))
    return {
        question.question_id: next(x for x in question.choices if x != golds[question.question_id].answer)
        for question in questions
    }


def test_demo_scores_every_system_and_writes_the_site(demo: Path) -> None:
    cards = {path.parent.name: json.loads(path.read_text()) for path in (demo / "results").rglob("scorecard.json")}
    assert set(cards) == set(LIGHT_SYSTEMS)
    page = (demo / "site" / "board.html").read_text(encoding="utf-8")
    for card in cards.values():
        assert card["system"]["name"] in page
    assert cards["blind-abstain"]["rates"]["score"] == 0.0


def test_the_demo_ends_with_the_ladder_and_one_sentence_on_what_it_shows(demo: Path) -> None:
    *_, given, blind, retrieval, evidence, _, last = (demo / "stdout.txt").read_text(encoding="utf-8").splitlines()
    assert given == "On the 130 questions that have evidence on their pages (score, accuracy in %):"
    rungs = [
        re.fullmatch(r"  (blind|retrieval|evidence only) +(−?[\d.]+) +[\d.]+  .+", line)
        for line in (blind, retrieval, evidence)
    ]
    scores = [float(rung[2].replace("−", "-")) for rung in rungs if rung is not None]
    assert len(scores) == 3
    assert scores == sorted(scores)
    assert last.startswith(
        "BM25 overlap scores 0.280 on 150 questions: by paired tests it is better than always abstaining"
    )


# By day, tests/baselines/test_baselines_language_models.py has house-light answer with the model that it has loaded.
@pytest.mark.nightly
@pytest.mark.model
@pytest.mark.parametrize("slug", MODEL_SYSTEMS)
def test_a_system_of_the_demo_with_a_language_model_answers(demo: Path, tmp_path: Path, slug: str) -> None:
    submission = tmp_path / slug
    shutil.copytree(ROOT / "submissions" / slug, submission, ignore=shutil.ignore_patterns("predictions"))
    given = ("--dataset", demo / "dataset", "--sample", 3)
    edu_rag("run", submission, *given, "--no-cache", "--unsafe-no-sandbox")
    card = json.loads(edu_rag("score", submission, *given, "--json").stdout)
    assert card["counts"]["failed"] == 0
    assert card["counts"]["correct"] + card["counts"]["incorrect"] > 0


@pytest.mark.nightly
def test_the_whole_demo_runs(tmp_path: Path) -> None:
    edu_rag("demo", "--out", tmp_path / "demo")
    cards = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "demo").rglob("scorecard.json")}
    assert set(cards) == {*LIGHT_SYSTEMS, *MODEL_SYSTEMS}
    assert cards[MODEL_SYSTEMS[-1]]["rates"]["score"] > cards["blind-abstain"]["rates"]["score"]


def test_every_config_of_the_demo_loads_with_datasets(demo: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    for config in CONFIGS:
        loaded = load_dataset(str(demo / "dataset"), config, cache_dir=str(tmp_path))
        assert sum(part.num_rows for part in loaded.values()) > 0, config


def test_the_mini_web_meets_every_fate_that_it_was_made_for(demo: Path) -> None:
    dataset = Dataset(demo / "dataset")
    split = dataset.only_split(None)
    outcomes = {hit.outcome for hits in dataset.hits(split).values() for hit in hits}
    assert outcomes >= {"kept", "robots", "timeout", "http_error", "redirect_loop", "not_html", "short"}


# By day, tests/builder/test_builder_build.py builds a smaller web in other environments, and the dataset of the demo
# is the one that board.toml names by its hash.
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("workers", "environment"),
    [
        (1, {"PYTHONHASHSEED": "1", "TZ": "Asia/Kolkata", "LC_ALL": "C"}),
        (4, {"PYTHONHASHSEED": "77", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}),
    ],
)
def test_building_again_gives_the_same_bytes(
    demo: Path, tmp_path: Path, workers: int, environment: dict[str, str]
) -> None:
    again = tmp_path / "again"
    edu_rag(
        "build",
        "--questions",
        MINI / "questions.jsonl",
        "--workers",
        workers,
        "--out",
        again,
        MINI / "build.toml",
        **environment,
    )
    assert (again / "manifest.json").read_bytes() == (demo / "dataset" / "manifest.json").read_bytes()


def test_replay_from_the_crawl_store_gives_the_same_bytes(demo: Path, tmp_path: Path) -> None:
    edu_rag("replay", demo / "dataset.crawl", "--out", tmp_path / "replayed")
    replayed = (tmp_path / "replayed" / "manifest.json").read_bytes()
    assert replayed == (demo / "dataset" / "manifest.json").read_bytes()


def test_known_scores(demo: Path, golds: dict[str, Gold], score: Score) -> None:
    right = [{"question_id": key, "answer": gold.answer} for key, gold in golds.items()]
    assert score(right)["score"] == 1.0
    wrong = [{"question_id": key, "answer": label} for key, label in wrong_label(demo, golds).items()]
    assert score(wrong)["score"] == -1.0
    silent = [{"question_id": key, "answer": None} for key in golds]
    assert score(silent)["score"] == 0.0
    assert score(silent)["missing"] == 1.0


def test_a_dropped_line_is_a_failed_question_and_order_does_not_matter(golds: dict[str, Gold], score: Score) -> None:
    right = [{"question_id": key, "answer": gold.answer} for key, gold in golds.items()]
    failed = [*right[:-1], {**right[-1], "answer": None, "status": "crash"}]
    dropped, marked, backwards = score(right[:-1]), score(failed), score(right[-2::-1])
    assert dropped["counts"] == marked["counts"] == backwards["counts"]
    assert dropped["counts"]["failed"] == 1
    assert dropped["outcomes"] == backwards["outcomes"]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"question_id": "MINI_0001", "answer": "a"}', "question_id"),
        ('{"question_id": "NOPE", "answer": "a"}', "NOPE"),
        ('{"question_id": "MINI_0002"', "not JSON"),
        ('{"question_id": "MINI_0002", "answer": "a", "score": 1}', "score"),
        ('{"question_id": "MINI_0002", "answer": 1}', "answer"),
        ('{"question_id": "MINI_0002", "answer": "a", "answer": "b"}', "answer"),
        ('{"question_id": "MINI_0002", "answer": "a", "confidence": NaN}', "NaN"),
    ],
)
def test_a_bad_line_is_refused_with_file_line_and_field(demo: Path, tmp_path: Path, bad: str, says: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text('{"question_id": "MINI_0001", "answer": "a"}\n' + bad + "\n", encoding="utf-8")
    with pytest.raises(EduRagError) as found:  # how a process prints it: test_each_user_mistake_gives_one_clear_line
        in_process("score", path, "--dataset", demo / "dataset")
    error = str(found.value)
    assert f"{path}:2: " in error
    assert says in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert "Example" in in_process(command, "--help")


def test_wrong_usage_exits_2_and_suggests_the_nearest_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edu_rag", "bord"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert "'board'" in done.stderr


def test_each_user_mistake_gives_one_clear_line(demo: Path, tmp_path: Path) -> None:
    def one_line(*words: object) -> str:
        with pytest.raises(EduRagError) as found:
            in_process(*words)
        (line,) = str(found.value).splitlines()
        return line

    config = tmp_path / "build.toml"
    config.write_text('nmae = "x"\n', encoding="utf-8")
    questions = MINI / "questions.jsonl"
    # As a process prints it, and as our functions raise it.
    said = edu_rag("build", "--questions", questions, "--out", tmp_path / "d", config, ok=False).stderr.splitlines()
    assert "nmae" in said[-1]
    assert one_line("build", "--questions", questions, "--out", tmp_path / "d", config) in said[-1]
    missing = tmp_path / "missing.jsonl"
    assert str(missing) in one_line("build", "--questions", missing, "--engine", "none", "--out", tmp_path / "d")
    empty = tmp_path / "empty"
    empty.mkdir()
    submission = demo / "submissions" / "blind-abstain"
    assert "no dataset folder" in one_line("score", submission, "--dataset", empty)
    other = tmp_path / "other"
    in_process(
        "build", "--questions", questions, "--engine", "none", "--name", "mini", "--version", "3.0.0", "--out", other
    )
    error = one_line("score", submission, "--dataset", other)
    assert "3.0.0" in error
    assert "2.0.0" in error


def test_every_command_of_the_teams_page_runs_on_the_demo(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "teams.md").read_text(encoding="utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    commands = [shlex.split(line) for line in lines]
    assert len(commands) > 15
    assert {words[0] for words in commands} == {"edu-rag"}
    # A copy, since commands leave predictions, pages and results where the other tests look.
    shutil.copytree(demo, tmp_path / "demo", ignore=shutil.ignore_patterns("dataset.crawl", "site"))
    monkeypatch.chdir(tmp_path)
    for words in commands:
        result = CliRunner().invoke(root, words[1:], catch_exceptions=False)
        assert result.exit_code == 0, (words, result.output)
    assert {path.name for path in (tmp_path / "demo").glob("*.html")} == {"MINI_0007.html", "comparison.html"}
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
