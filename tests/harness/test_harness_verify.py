from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import read_scorecard
from harness.rescoring.rescore import rescore
from harness.rescoring.verify import differences, verify
from harness.scoring.score import now_utc
from harness.trust.rerun_log import read_reruns

pytestmark = pytest.mark.usefixtures("read_in_this_process")

ROOT = Path(__file__).resolve().parents[2]
WHEN = now_utc({"SOURCE_DATE_EPOCH": "946684800"})


class Board:
    """A repository's submissions and results, scored, with a dataset."""

    def __init__(self, folder: Path, dataset: Dataset) -> None:
        self.folder, self.dataset = folder, dataset
        self.submissions, self.results = folder / "submissions", folder / "results"

    def hand_in(self, slug: str, answers: Mapping[str, str], table: str = "test") -> Path:
        path = self.submissions / slug / "predictions" / "tiny-1.0.0" / f"{table}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.submissions / slug / "submission.toml").write_text(f'name = "{slug}"\nteam = "us"\n')
        path.write_text("".join(json.dumps({"question_id": i, "answer": a}) + "\n" for i, a in answers.items()))
        return path

    def score(self) -> None:
        rescore(self.submissions, [self.dataset], self.results, scored_at=WHEN)

    def card(self, slug: str = "oracle", table: str = "test") -> Path:
        return self.results / "tiny-1.0.0" / table / slug / "scorecard.json"

    def verify(self, *more: object) -> Result:
        words = ["verify", "--results", self.results, "--submissions", self.submissions]
        words += [] if "--dataset" in more else ["--dataset", self.dataset.folder]
        return CliRunner().invoke(root, [str(word) for word in (*words, *more)])

    def statuses(self) -> dict[str, str]:
        found, _ = verify(self.results, self.submissions, [self.dataset])
        return {one.file.removeprefix("tiny-1.0.0/").removesuffix("/scorecard.json"): one.status for one in found}

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset, gold: dict[str, str]) -> Board:
    board = Board(tmp_path_factory.mktemp("scored"), tiny)
    board.hand_in("oracle", gold)
    board.hand_in("always-b", dict.fromkeys(gold, "b"))
    board.hand_in("always-b", dict.fromkeys(gold, "b"), "test-stratified-12-seed-3")
    board.score()
    return board


@pytest.fixture
def board(tmp_path: Path, scored: Board) -> Board:
    shutil.copytree(scored.folder, tmp_path, dirs_exist_ok=True)
    return Board(tmp_path, scored.dataset)


def test_a_board_that_nobody_touched_is_the_same_and_nothing_is_written(board: Board) -> None:
    before = board.files()
    done = board.verify()
    assert done.exit_code == 0
    assert done.stdout == "4 of 4 are the same when made again\n"
    assert board.files() == before


def test_who_answered_the_whole_split_stands_in_the_tables_of_samples_and_is_verified_there(board: Board) -> None:
    assert set(board.statuses()) == {
        "test/oracle",
        "test/always-b",
        "test-stratified-12-seed-3/oracle",
        "test-stratified-12-seed-3/always-b",
    }
    assert read_scorecard(board.card(table="test-stratified-12-seed-3")).counts.correct == 12


def tampered(board: Board, change: Callable[[dict[str, object]], object]) -> Result:
    values = json.loads(board.card().read_text())
    change(values)
    board.card().write_text(json.dumps(values))
    return board.verify()


TAMPERINGS: list[tuple[Callable[..., object], str]] = [
    (lambda v: v["intervals"].update(score=[0.9, 1.0]), "intervals.score: [0.9,1.0] is [1.0,1.0] when made again"),
    (lambda v: v["system"].update(team="them"), 'system.team: "them" is "us" when made again'),
    (lambda v: v.update(predictions_sha256="0" * 64), "predictions_sha256: "),
    (lambda v: v.update(caps={"sandbox": "bubblewrap"}), 'caps.sandbox: "bubblewrap" is nothing when made again'),
    (lambda v: v.update(rerun={"n": 9, "n_same": 9}), "rerun.n: 9 is nothing when made again"),
    (lambda v: v.update(overlap="1" * 40), "overlap: "),
    (lambda v: v.update(system_sha256="0" * 64), "system_sha256: "),
    (lambda v: v.update(dataset="tiny@1.0.0#00000000"), "dataset: "),
    (lambda v: v["rates"].update(score=0.5), "rates: are not those of the counts"),
    (lambda v: v["exam"].update(gold="0" * 64), "exam.gold: "),
    (lambda v: v.update(answers_rule="answers-v4"), "answers_rule: "),
]


@pytest.mark.parametrize(("change", "told"), TAMPERINGS)
def test_a_number_that_was_changed_by_hand_is_named(board: Board, change: Callable[..., object], told: str) -> None:
    done = tampered(board, change)
    assert done.exit_code == 1
    assert "tiny-1.0.0/test/oracle/scorecard.json: differs" in done.stdout
    assert told in done.stdout
    assert done.stdout.endswith("3 of 4 are the same when made again, 1 differs\n")


def test_outcomes_that_were_exchanged_by_hand_are_named(board: Board) -> None:
    def exchange(values: dict[str, object]) -> None:
        outcomes = str(read_scorecard(board.card("always-b")).outcomes)
        first, second = outcomes.index("c"), outcomes.index("i")
        letters = list(outcomes)
        letters[first], letters[second] = "i", "c"
        values["outcomes"] = "".join(letters)

    card = board.card("always-b")
    values = json.loads(card.read_text())
    exchange(values)
    card.write_text(json.dumps(values))
    assert board.verify().exit_code == 1
    assert board.statuses()["test/always-b"] == "differs"


def test_time_of_scoring_and_version_of_the_harness_are_no_difference(board: Board) -> None:
    done = tampered(board, lambda v: v.update(scored_at="2026-01-01T00:00:00Z", harness="edu-rag-bench 0.0.9"))
    assert done.exit_code == 0
    assert "1 scorecard(s) were written by another version of the harness: edu-rag-bench 0.0.9" in done.stdout


def test_changed_and_lost_predictions_are_told(board: Board, gold: dict[str, str]) -> None:
    board.hand_in("oracle", gold | {"q000": "zzz"})
    statuses = board.statuses()
    assert statuses["test/oracle"] == "differs"
    shutil.rmtree(board.submissions / "oracle" / "predictions")
    done = board.verify()
    assert done.exit_code == 1
    assert "test/oracle/scorecard.json: cannot be made again: its predictions are gone" in done.stdout
    (board.submissions / "always-b" / "predictions" / "tiny-1.0.0" / "test.jsonl").write_text("{}\n")
    assert "test.jsonl:1: question_id: missing field" in board.verify().stdout


def test_a_scorecard_that_no_predictions_stand_for_is_found_wherever_it_lies(board: Board) -> None:
    forged = board.results / "tiny-1.0.0" / "test" / "invented" / "scorecard.json"
    shutil.copytree(board.card().parent, forged.parent)
    aside = board.results / "aside" / "scorecard.json"
    aside.parent.mkdir()
    shutil.copy(board.card(), aside)
    found, _ = verify(board.results, board.submissions, [board.dataset])
    assert {one.file: one.status for one in found if one.status != "same"} == {
        "tiny-1.0.0/test/invented/scorecard.json": "cannot be made again",
        "aside/scorecard.json": "cannot be made again",
    }


def test_a_copy_of_other_predictions_beside_a_scorecard_is_a_difference(board: Board) -> None:
    (board.card().parent / "predictions.jsonl").write_text("{}\n")
    assert "  predictions.jsonl: " in board.verify().stdout
    (board.card().parent / "predictions.jsonl").unlink()
    assert board.verify().exit_code == 0


def test_predictions_that_stand_nowhere_on_the_board_are_told_and_faulty_ones_are_not(
    board: Board, gold: dict[str, str]
) -> None:
    board.hand_in("new-one", gold)
    board.hand_in("faulty", {"no-such-question": "a"})
    statuses = board.statuses()
    assert statuses["test/new-one"] == "not on the board"
    assert "test/faulty" not in statuses
    assert board.verify().exit_code == 1


def test_what_could_not_be_verified_is_counted_out_loud_and_fails_with_strict(
    board: Board, build_dataset: Callable[..., Dataset], tmp_path: Path
) -> None:
    other = build_dataset(tmp_path / "other", list(board.dataset.questions("test")), {}, name="other")
    done = board.verify("--dataset", other.folder)
    assert done.exit_code == 0
    assert f"4 could not be verified: {board.dataset.id}: its dataset was not given\n" in done.stdout
    assert done.stdout.endswith("0 of 4 are the same when made again, 4 not given\n")
    assert board.verify("--dataset", other.folder, "--strict").exit_code == 1


def test_an_older_versions_result_that_the_board_no_longer_shows_is_told_apart(
    board: Board, tmp_path: Path, build_dataset: Callable[..., Dataset], gold: dict[str, str]
) -> None:
    questions = list(board.dataset.questions("test"))
    newer = build_dataset(tmp_path / "newer", questions, gold, version="1.1.0")
    rescore(board.submissions, [newer], board.results, scored_at=WHEN)
    done = board.verify("--dataset", newer.folder, "--strict")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "4 superseded by a newer version's result, which is the one that is ranked: "
        f"{board.dataset.id}: another version than the ones given",
        "4 of 8 are the same when made again, 4 superseded",
    ]
    for folder in (*(board.results / "tiny-1.1.0").glob("*/oracle"), board.submissions / "oracle"):
        shutil.rmtree(folder)
    assert board.verify("--dataset", newer.folder).exit_code == 0
    assert board.verify("--dataset", newer.folder, "--strict").exit_code == 1


def test_json_names_every_scorecard_and_every_difference(board: Board) -> None:
    values = json.loads(board.card().read_text()) | {"answers_rule": "answers-v9"}
    board.card().write_text(json.dumps(values))
    found = json.loads(board.verify("--json").stdout)
    assert found["format"] == "edu-rag-verification-v1"
    assert found["n"] == {
        "same": 3,
        "differs": 1,
        "cannot be made again": 0,
        "superseded": 0,
        "not given": 0,
        "not on the board": 0,
    }
    (bad,) = [one for one in found["findings"] if one["status"] != "same"]
    assert bad["differences"] == [{"field": "answers_rule", "stored": "answers-v9", "remade": "answers-v3"}]


def test_the_folders_must_be_there(board: Board, tmp_path: Path) -> None:
    assert board.verify("--results", tmp_path / "none").exit_code == 2
    assert "is not a folder" in str(board.verify("--submissions", tmp_path / "none").exception)


def test_differences_are_found_at_every_depth_and_numbers_are_not_their_look_alikes() -> None:
    assert list(differences({"a": {"b": 1}, "c": [1]}, {"a": {"b": 1}, "c": [1]})) == []
    found = list(differences({"a": {"b": 1}, "x": True}, {"a": {"b": 2, "c": None}, "x": 1}))
    assert [one.field for one in found] == ["a.b", "x"]


@pytest.fixture(scope="module")
def built(scored: Board, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the scorecards, built once."""
    folder = tmp_path_factory.mktemp("built") / "site"
    done = CliRunner().invoke(root, ["board", str(scored.results), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def site(built: Path, tmp_path: Path) -> Path:
    """A copy of the site, to change as a test likes."""
    return Path(shutil.copytree(built, tmp_path / "site"))


def rehash(site: Path) -> None:
    """Make site.json fit what lies there, as whoever tampers with a site would."""
    listed = json.loads((site / "site.json").read_text())
    for file in listed["files"]:
        listed["files"][file] = hashlib.sha256((site / file).read_bytes()).hexdigest()
    (site / "site.json").write_text(json.dumps(listed))


def test_a_site_of_these_scorecards_is_the_same(board: Board, site: Path) -> None:
    done = board.verify("--site", site)
    assert (done.exit_code, done.stdout) == (0, "5 of 5 are the same when made again\n")


def test_a_site_with_changed_added_or_lost_files_is_told(board: Board, site: Path) -> None:
    (site / "index.html").write_text("<h1>We won</h1>")
    (site / "extra.html").touch()
    (site / "board.csv").unlink()
    done = board.verify("--site", site)
    assert done.exit_code == 1
    for told in (
        "index.html: differs: is not what site.json says",
        "extra.html: differs: is not in site.json",
        "board.csv: differs: site.json names it, but it is not there",
    ):
        assert f"site/{told}" in done.stdout


def test_a_site_whose_board_or_scorecards_say_more_than_the_results_is_told(board: Board, site: Path) -> None:
    text = json.loads((site / "board.json").read_text())
    row = next(row for table in text["tables"] for row in table["rows"] if row["slug"] == "always-b")
    row["correct"] += 1
    (site / "board.json").write_text(json.dumps(text))
    rehash(site)
    done = board.verify("--site", site)
    assert "is not what the scorecard says" in done.stdout
    assert f"  correct: {row['correct']} is {row['correct'] - 1} when made again" in done.stdout
    card = next((site / "data").rglob("always-b/scorecard.json"))
    card.write_text(card.read_text().replace('"team": "us"', '"team": "them"'))
    rehash(site)
    assert "always-b/scorecard.json: differs: is not the file among the results" in board.verify("--site", site).stdout


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("rerun_own", True),
        ("rerun_n", 20),
        ("rerun_same", 20),
        ("runnable", True),
        ("blind", True),
        ("withdrawn", "why"),
        ("overlap_declared", 1),
        ("predictions_sha256", "0" * 64),
        ("system_sha256", "0" * 64),
        ("interval_method", "another"),
    ],
)
def test_a_board_whose_rows_claim_more_than_their_scorecards_is_told(
    board: Board, site: Path, field: str, said: object
) -> None:
    text = json.loads((site / "board.json").read_text())
    row = next(row for table in text["tables"] for row in table["rows"] if row["slug"] == "always-b")
    row[field] = (not row[field]) if isinstance(said, bool) else said
    (site / "board.json").write_text(json.dumps(text))
    rehash(site)
    done = board.verify("--site", site)
    assert done.exit_code == 1
    assert f"  {field}: " in done.stdout


@pytest.mark.parametrize("board_json", ["[]", "{}", '{"tables": 3}', '{"tables": [{}]}', '{"tables": [{"rows": [1]}]}'])
def test_a_board_file_of_another_form_is_an_error_of_ours(board: Board, site: Path, board_json: str) -> None:
    (site / "board.json").write_text(board_json)
    assert "holds no tables with rows" in str(board.verify("--site", site).exception)


def test_the_committed_predictions_are_those_of_the_committed_scorecards_and_are_vouched_for() -> None:
    """What `edu-rag verify` needs of the repository; the dataset itself, of 60 MB, is not in it."""
    results = ROOT / "leaderboard" / "results" / "open-textbooks-1.0.0"
    files = {
        (path.parents[2].name, file_sha256(path)): path
        for path in (ROOT / "submissions").glob("*/predictions/*/*.jsonl")
    }
    own = {(line.slug, line.predictions_sha256): line for line in read_reruns(ROOT / "leaderboard" / "reruns.jsonl")}
    cards: list[ScoreCard] = [read_scorecard(path) for path in sorted(results.rglob("scorecard.json"))]
    assert cards
    for card in cards:
        key = card.system.slug, card.predictions_sha256
        assert key in files
        assert (card.rerun["own"], card.caps) == (True, own[key].caps)
    # The demo's pages are the project's own, so what its systems quote of them may stand here.
    others = {key: path for key, path in files.items() if not path.parent.name.startswith("edu-rag-mini-")}
    quoting = [path for key, path in others.items() if key in own and '"response"' in path.read_text()]
    assert quoting == []
