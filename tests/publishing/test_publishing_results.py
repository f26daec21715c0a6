"""Results as a dataset: what a row holds, what stays at home, and the same bytes from the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builder_dataset import ask, tables, write
from publishing_results import DATASET, IDS, card, facts, full, prediction, put, rows

from edu_rag.errors import ConfigError, DataError, FaultsError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.scorecard.card import Passage, Slice
from publishing.result_entries import rules_of
from publishing.result_rows import REVEALS_GOLD, ids_sha256, prediction_schema, scorecard_schema
from publishing.results_tables import PublishRequest, WrittenResults, write_results, written

ROOT = Path(__file__).resolve().parents[2]
REPO = "school/results"


def made(results: Path, out: Path, **more: Any) -> WrittenResults:
    out.mkdir()
    return write_results(out, PublishRequest(results=results, repo=REPO, **more))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two systems, one of which answered all, the other all but q003 and q005 (which counts as failed)."""
    folder = tmp_path / "results"
    put(folder, card(facts("whole")), full())
    partial = [one for one in full(latency_s=1.5, input_tokens=7) if one.question_id not in ("q003", "q005")]
    put(folder, card(facts("partial"), "ciafffci"), partial[::-1])
    return folder


def test_everything_loads_with_the_datasets_library(results: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    made(results, tmp_path / "out")
    cache = str(tmp_path / "cache")
    predictions = load_dataset(str(tmp_path / "out"), "predictions", cache_dir=cache)["val"]
    cards = load_dataset(str(tmp_path / "out"), "scorecards", cache_dir=cache)["val"]
    assert predictions.column_names == prediction_schema(responses=False).names
    assert cards.column_names == scorecard_schema().names
    assert cards["slug"][:] == ["partial", "whole"]
    assert predictions.filter(lambda row: row["outcome"] == "correct" and row["slug"] == "whole").num_rows == 3
    assert load_dataset(str(tmp_path / "out"), cache_dir=cache)["val"].num_rows == 2  # scorecards are the default


def test_each_prediction_has_the_outcome_of_its_own_question_also_where_lines_are_missing_or_unordered(
    results: Path, tmp_path: Path
) -> None:
    made(results, tmp_path / "out")
    found = {row["question_id"]: row for row in rows(tmp_path / "out", "predictions") if row["slug"] == "partial"}
    assert [found[i]["outcome"] for i in IDS] == [
        "correct",
        "incorrect",
        "abstained",
        "failed",
        "failed",
        "failed",
        "correct",
        "incorrect",
    ]
    assert [i for i in IDS if found[i]["status"] == "absent"] == ["q003", "q005"]
    assert (found["q000"]["latency_s"], found["q000"]["input_tokens"], found["q003"]["latency_s"]) == (1.5, 7, None)


def test_counts_of_the_outcomes_are_those_of_the_scorecard(results: Path, tmp_path: Path) -> None:
    made(results, tmp_path / "out")
    for row in rows(tmp_path / "out", "scorecards"):
        own = [one for one in rows(tmp_path / "out", "predictions") if one["slug"] == row["slug"]]
        assert len(own) == row["n"] == row["n_predictions"] == 8
        assert sum(one["outcome"] == "correct" for one in own) == row["correct"]
        assert row["score"] == (row["correct"] - row["incorrect"]) / row["n"]
        assert (row["score_low"], row["accuracy_high"], row["missing_low"]) == (-0.5, 0.9, None)


def test_no_outcome_is_guessed_where_nothing_proves_the_ids(tmp_path: Path) -> None:
    results = tmp_path / "results"
    put(results, card(facts("partial"), "ciafffci"), full()[:5])
    put(results, card(facts("sampled"), sample="stratified-8-seed-0"), full())
    put(results, card(facts("old"), exam={}), full())
    told = made(results, tmp_path / "out")
    found = rows(tmp_path / "out", "predictions")
    # All ids of "sampled" prove the exam that "partial" was asked in too: the fingerprint is over the ids alone.
    assert {row["slug"] for row in found if row["outcome"]} == {"partial", "sampled"}
    assert [row["outcome"] for row in found if row["slug"] == "old"] == [None] * 8
    assert [note for note in told.notes if "ids are unproven: 1 (old on tiny 1.2.0 val)" in note]


def test_of_a_sample_with_unproven_ids_no_line_is_published(tmp_path: Path) -> None:
    results = tmp_path / "results"
    put(results, card(facts("sampled"), sample="stratified-8-seed-0"), full(("other", *IDS)))
    told = made(results, tmp_path / "out")
    assert list(told.files) == ["scorecards/val-00000-of-00001.parquet", "README.md"]
    assert [note for note in told.notes if "sample whose ids are unproven" in note]
    assert rows(tmp_path / "out", "scorecards")[0]["n_predictions"] == 0


def test_a_dataset_gives_the_ids_of_a_split_and_of_a_sample(tmp_path: Path) -> None:
    content = tables()
    content["questions"]["val"] = [ask(f"n{number}", f"What is {number}?") for number in range(6)]
    content["gold"]["val"] = [Gold(question_id=f"n{number}", answer="a") for number in range(6)]
    for name in ("hits", "pages", "evidence", "leaks"):
        content.get(name, {}).pop("val", None)
    dataset = Dataset(write(tmp_path / "dataset", content))
    ids = [question.question_id for question in dataset.questions("val")]
    from edu_rag.draw_sample import choose
    from edu_rag.names import Sample

    few = [question.question_id for question in choose(dataset.questions("val"), Sample.parse("stratified-3-seed-0"))]
    results = tmp_path / "results"
    put(results, card(facts("one-line"), "cfffff", ids, dataset=dataset.id), full(ids[:1]))
    sampled = card(facts("one-line"), "iff", few, dataset=dataset.id, sample="stratified-3-seed-0")
    put(results, sampled, full(few[:1]))
    old = card(facts("old"), "cccccc", ids, dataset=dataset.id, exam={})
    put(results, old, full(ids))
    told = made(results, tmp_path / "out", datasets=(dataset.folder,))
    assert told.notes == ()
    found = rows(tmp_path / "out", "predictions")
    assert [(row["question_id"], row["outcome"]) for row in found if row["sample"]] == [
        (few[0], "incorrect"),
        (few[1], "failed"),
        (few[2], "failed"),
    ]
    assert [row["outcome"] for row in found if row["slug"] == "old"] == ["correct"] * 6


def test_the_fingerprint_is_the_one_that_scoring_writes() -> None:
    from edu_rag.scorecard.support import Support
    from harness.exam import Exam, fingerprints

    questions = [ask(question_id, "Why?") for question_id in IDS]
    gold = {i: Gold(question_id=i, answer="a") for i in IDS}
    support = Support(with_pages=frozenset(), evidence={}, has_pages=False)
    exam = Exam(DATASET, "val", None, questions, gold, support, frozenset(IDS), {})
    assert fingerprints(exam)["ids"] == ids_sha256(IDS)


def test_of_a_hidden_split_nothing_goes_out_that_tells_a_single_answer(results: Path, tmp_path: Path) -> None:
    slices = (Slice(attribute="lesson", value="cells", counts=card(facts("any")).counts),)
    secret = card(facts("whole"), split="test", slices=slices)
    put(results, secret, full(answer="secret-answer"))
    told = made(results, tmp_path / "out", hidden=("test",))
    names = list(told.files)
    assert "predictions/test-00000-of-00001.parquet" not in names
    (row,) = rows(tmp_path / "out", "scorecards", "test")
    assert [row[name] for name in REVEALS_GOLD] == [None] * len(REVEALS_GOLD)
    assert (row["score"], row["correct"], row["n_predictions"]) == (0.125, 3, 0)
    assert not [row for row in rows(tmp_path / "out", "predictions") if row["answer"] not in ("a", None)]
    assert "Of hidden splits (test)" in (tmp_path / "out" / "README.md").read_text()


def test_the_board_hides_a_split_of_every_version_of_its_dataset_and_of_no_other(results: Path, tmp_path: Path) -> None:
    from edu_rag.files.board_file import BoardDataset, BoardFile

    secret = BoardDataset(
        name="tiny",
        version="1.0.0",
        content_sha256="0" * 64,
        manifest_sha256="0" * 64,
        split="val",
        samples=("whole",),
        hidden_gold=True,
    )
    put(results, card(facts("whole"), dataset="huge@1.0.0#0123abcd"), full())
    rules = rules_of(BoardFile(baselines_team="us", datasets=[secret]))
    told = made(results, tmp_path / "out", hidden_by_board=rules)
    assert {row["dataset"] for row in rows(tmp_path / "out", "predictions")} == {"huge"}
    assert {row["dataset"] for row in rows(tmp_path / "out", "scorecards") if row["outcomes"]} == {"huge"}
    assert told.hidden == ("tiny/val",)


def test_a_misspelt_hidden_split_is_refused(results: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no split 'tset'"):
        made(results, tmp_path / "out", hidden=("tset",))


def test_responses_and_contacts_stay_at_home_unless_responses_are_asked_for(results: Path, tmp_path: Path) -> None:
    made(results, tmp_path / "out")
    made(results, tmp_path / "all", responses=True)
    assert "response" not in rows(tmp_path / "out", "predictions")[0]
    assert rows(tmp_path / "all", "predictions")[0]["response"] == "A page says so."
    for folder in ("out", "all"):
        assert not [path for path in (tmp_path / folder).rglob("*.*") if b"me@home.test" in path.read_bytes()]


def test_predictions_elsewhere_are_found_by_their_hash_and_missing_ones_are_told(tmp_path: Path) -> None:
    results, submissions = tmp_path / "results", tmp_path / "submissions"
    put(results, card(facts("found")), full(), beside=submissions / "found/predictions/tiny-1.2.0/val.jsonl")
    put(results, card(facts("lost")), None)
    told = made(results, tmp_path / "out", submissions=submissions)
    assert {row["slug"] for row in rows(tmp_path / "out", "predictions")} == {"found"}
    assert [note for note in told.notes if "without their predictions: 1 (lost on tiny 1.2.0 val)" in note]
    assert "not kept with the results: 1" in (tmp_path / "out" / "README.md").read_text()


def test_a_link_in_a_submission_is_not_followed(tmp_path: Path) -> None:
    results, submissions = tmp_path / "results", tmp_path / "submissions"
    put(results, card(facts("linked")), full(), beside=tmp_path / "home" / "val.jsonl")
    (submissions / "linked/predictions").mkdir(parents=True)
    (submissions / "linked/predictions/tiny-1.2.0").symlink_to(tmp_path / "home")
    told = made(results, tmp_path / "out", submissions=submissions)
    assert "predictions/val-00000-of-00001.parquet" not in told.files


def test_predictions_that_are_not_those_that_were_scored_are_refused_by_name(results: Path, tmp_path: Path) -> None:
    changed = results / "tiny-1.2.0/val/whole/predictions.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b'"a"', b'"b"'))
    with pytest.raises(FaultsError, match=r"whole/predictions\.jsonl: is not the file that the scorecard scored"):
        made(results, tmp_path / "out")


def test_every_broken_scorecard_is_named_at_once(results: Path, tmp_path: Path) -> None:
    for slug in ("bad-one", "bad-two"):
        folder = results / "tiny-1.2.0" / "val" / slug
        folder.mkdir()
        (folder / "scorecard.json").write_text('{"system": 1}')
    put(results / "again", card(facts("whole")), None)
    evil = put(results, card(facts("evil")), None) / "scorecard.json"
    evil.write_text(evil.read_text().replace('"split": "val"', '"split": "../../etc"'))
    with pytest.raises(FaultsError) as caught:
        made(results, tmp_path / "out")
    told = str(caught.value)
    assert "bad-one" in told
    assert "bad-two" in told
    assert "split: '../../etc' is not a split's name" in told
    assert "is a second result:" in told


def test_hostile_words_are_data_in_rows_and_nothing_in_the_card(tmp_path: Path) -> None:
    results = tmp_path / "results"
    name = '<script>alert(1)</script>\n---\n\x1b[31m"; rm -rf / #'
    far = Passage("p", 1, 10**19)
    hostile = [
        prediction("q000", answer=name),
        prediction("q001", answer="y" * 5_000),
        prediction("q002", passages=(far, Passage("p" * 5_000, 1, 2), Passage("p1", 0, 3))),
        *full(IDS[3:]),
    ]
    put(results, card(facts("hostile", name=name, team=name, description=name)), hostile)
    told = made(results, tmp_path / "out")
    found = rows(tmp_path / "out", "predictions")
    assert found[0]["answer"] == found[0]["team"] == name
    assert found[1]["answer"] == "y" * 1_000 + "…"
    assert found[2]["passages"] == [{"page_id": "p1", "start": 0, "end": 3}]
    assert "answers cut short: 1" in told.notes
    assert "passages left out, as no page can have them: 2" in told.notes
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "alert" not in readme
    assert "\x1b" not in readme + "\n".join(told.lines())


def test_a_withdrawn_system_keeps_its_row_with_the_reason_and_a_removed_one_is_gone(
    results: Path, tmp_path: Path
) -> None:
    put(results, card(facts("taken-back", withdrawn="trained on the split")), full())
    made(results, tmp_path / "out")
    assert {row["slug"]: row["withdrawn"] for row in rows(tmp_path / "out", "scorecards")} == {
        "partial": "",
        "taken-back": "trained on the split",
        "whole": "",
    }
    for path in (results / "tiny-1.2.0/val/taken-back").iterdir():
        path.unlink()
    made(results, tmp_path / "later")
    assert not [path for path in (tmp_path / "later").rglob("*.*") if b"taken-back" in path.read_bytes()]


def test_the_same_results_give_the_same_bytes_whatever_the_order_of_files_or_the_hash_seed(tmp_path: Path) -> None:
    systems = [facts(f"system-{number}") for number in range(6)]
    for name, order in (("first", systems), ("second", systems[::-1])):
        for system in order:
            put(tmp_path / name, card(system), full(latency_s=0.25))
    script = (
        "import sys; from pathlib import Path\n"
        "from publishing.results_tables import PublishRequest, write_results\n"
        f"write_results(Path(sys.argv[2]), PublishRequest(results=Path(sys.argv[1]), repo={REPO!r}))"
    )
    found = []
    for number, (name, seed, zone) in enumerate((("first", "1", "UTC"), ("second", "77", "Asia/Tokyo"))):
        out = tmp_path / f"out-{number}"
        out.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "TZ": zone}
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / name), str(out)], env=environment, check=True, timeout=120
        )
        found.append({str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")})
    assert found[0] == found[1]
    assert set(json.loads(found[0]["manifest.json"])["files"]) == set(found[0]) - {"manifest.json"}


def test_rows_are_sharded_and_a_row_group_holds_a_bounded_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    from publishing import result_rows as tables_of

    monkeypatch.setattr(tables_of, "GROUP_ROWS", 16)
    monkeypatch.setattr(tables_of, "SHARD_BYTES", 3_000)
    results = tmp_path / "results"
    for number in range(7):
        put(results, card(facts(f"system-{number}")), full())
    told = made(results, tmp_path / "out")
    shards = sorted(name for name in told.files if name.startswith("predictions/"))
    assert len(shards) > 1
    assert shards[-1].endswith(f"-of-{len(shards):05d}.parquet")
    assert sum(told.files[name].rows or 0 for name in shards) == 7 * 8
    file = pq.ParquetFile(tmp_path / "out" / shards[0])
    assert max(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)) <= 16


def test_a_folder_that_holds_something_is_never_written_over(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with written(PublishRequest(results=results, repo=REPO), out) as (folder, told):
        assert sorted(told.sizes) == sorted(str(path.relative_to(folder)) for path in out.rglob("*.*"))
    with (
        pytest.raises(ConfigError, match="is not empty"),
        written(PublishRequest(results=results, repo=REPO), out),
    ):
        pass


def test_an_empty_folder_and_a_missing_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no scorecard\.json"):
        made(tmp_path / "empty", tmp_path / "out")
    (tmp_path / "empty" / "retrieval.json").write_text("{}")
    with pytest.raises(DataError, match="the tables of retrieval runs need one, too"):
        made(tmp_path / "empty", tmp_path / "out3")
    with pytest.raises(ConfigError, match="is not a folder"):
        made(tmp_path / "nowhere", tmp_path / "out2")


def _peak_mb(results: Path, out: Path) -> float:
    """The most memory that writing these results took, in a process of its own."""
    script = (
        "import resource, sys; from pathlib import Path; from publishing import result_rows as tables\n"
        "from publishing.results_tables import PublishRequest, write_results\n"
        "tables.GROUP_ROWS = 2_000\n"
        "write_results(Path(sys.argv[2]), PublishRequest(results=Path(sys.argv[1]), repo='a/b', responses=True))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, str(results), str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
        stdout=subprocess.PIPE,
    )
    return float(done.stdout)


def test_memory_does_not_grow_with_the_number_of_systems(tmp_path: Path) -> None:
    ids = [f"q{number:04}" for number in range(200)]
    results, said = tmp_path / "results", "x" * 8_000
    for number in range(60):
        put(results, card(facts(f"system-{number:02}"), "c" * 200, ids), full(ids, response=f"{number} {said}"))
        if number == 14:  # more than one row group already
            few = _peak_mb(results, tmp_path / "few")
    many = _peak_mb(results, tmp_path / "many")
    assert many - few < 36, f"{few:.0f} MB for 15 systems, {many:.0f} MB for 60"  # 45 more hold 72 MB of responses
