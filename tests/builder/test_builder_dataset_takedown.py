"""`edu-rag dataset takedown`: what is asked for goes, its hits say so, and nothing brings it back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builder_dataset import FISH, ICE, LAVA, MOVED, file_hash, hit, tables, write
from builder_store import fetches
from click.testing import CliRunner

from builder.dataset.check_dataset import check_folder
from builder.dataset.diff import compare_folders
from builder.dataset.takedown import STORE_MARK, plan_takedown, results_to_score_again, take_down, to_takedown
from builder.store.reader import StoreReader
from builder.store.takedowns import read_takedowns
from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.dataset import Dataset
from edu_rag.records import page_id_of

AT = datetime(2026, 2, 3, tzinfo=UTC)


def taken(folder: Path, target: str, out: Path | None = None) -> Dataset:
    dataset = Dataset(folder)
    take_down(dataset, plan_takedown(dataset, to_takedown(target, "owner asked", AT)), out or folder)
    return Dataset(out or folder)


def fates(dataset: Dataset, split: str = "val") -> dict[tuple[str, int], str]:
    return {(hit.question_id, hit.rank): hit.outcome for hits in dataset.hits(split).values() for hit in hits}


@pytest.mark.parametrize("target", [LAVA, LAVA.replace("http://one", "HTTP://ONE") + "#top", file_hash(LAVA)])
def test_a_page_goes_with_every_hit_that_led_to_it_and_its_labels(tmp_path: Path, target: str) -> None:
    after = taken(write(tmp_path / "ds"), target)
    assert fates(after) == {
        ("q1", 1): "taken_down",
        ("q1", 2): "taken_down",
        ("q1", 3): "robots",
        ("q2", 1): "kept",
        ("q2", 2): "taken_down",
    }
    assert set(after.pages("val")) == {page_id_of(ICE)}
    assert (after.evidence("val"), after.manifest.version) == ({}, "1.1.0")
    assert not check_folder(tmp_path / "ds").faults


def test_an_address_that_only_led_to_a_page_goes_alone(tmp_path: Path) -> None:
    after = taken(write(tmp_path / "ds"), MOVED)
    assert list(fates(after).values()).count("taken_down") == 1
    assert set(after.pages("val")) == {page_id_of(ICE), page_id_of(LAVA)}
    assert "q1" in after.evidence("val")


def test_a_host_stands_for_its_subdomains_and_for_hits_without_a_page(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    after = taken(ds, "two.example", tmp_path / "b")
    assert set(after.pages("val")) == {page_id_of(LAVA)}
    assert list(after.records("leaks", "val", object)) == []
    assert fates(taken(ds, "one.example", tmp_path / "c"))["q1", 3] == "taken_down"
    with pytest.raises(DataError, match=r"nothing here matches host wo\.example"):
        taken(ds, "wo.example")


def test_the_other_version_is_left_as_it_is_and_the_new_one_says_what_went(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    before = Dataset(ds).id
    after = taken(ds, FISH, tmp_path / "new")
    assert Dataset(ds).id == before
    changes = (tmp_path / "new" / "CHANGES.md").read_text()
    assert "## 1.1.0 (2026-02-03)" in changes
    assert "1 pages, 1 hits, 0 evidence spans, 0 leaks" in changes
    assert after.manifest.sources["hits_taken_down"] == 1
    assert after.manifest.sources["pages_taken_down"] == 1
    assert after.manifest.sources["hits_by_outcome"] == {"kept": 4, "robots": 1, "taken_down": 1}
    assert after.manifest.sources["pages"] == 2
    assert compare_folders(ds, tmp_path / "new").fault is None
    again = taken(tmp_path / "new", LAVA)
    text = (tmp_path / "new" / "CHANGES.md").read_text()
    assert text.index("## 1.2.0") < text.index("## 1.1.0")
    assert again.manifest.sources["pages_taken_down"] == 2
    assert "pages\\_taken\\_down: 2" in (tmp_path / "new" / "README.md").read_text()


@pytest.mark.parametrize("target", ["", "no host", "ftp://x.example/", "http://", "a..b", "x" * 300, "\x1b[31m"])
def test_what_is_no_target_is_refused_in_one_line(target: str) -> None:
    with pytest.raises(ConfigError) as told:
        to_takedown(target, "owner asked", AT)
    assert len(str(told.value).splitlines()) == 1
    assert "\x1b" not in str(told.value)


def test_the_store_beside_remembers_and_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    ds, store = write(tmp_path / "ds"), tmp_path / "ds.crawl"
    store.mkdir()
    (store / STORE_MARK).write_text('{"config": {"version": "1.0.0"}, "crawl": {}}')
    before = Dataset(ds).id
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "one.example", "--dry-run", "--json"])
    assert json.loads(done.stdout)["hits"] == 4
    assert (Dataset(ds).id, read_takedowns(store).entries) == (before, ())
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "one.example", "--reason", "law"])
    assert done.exit_code == 0, done.output
    assert read_takedowns(store).matches("http://a.one.example/", "a.one.example", None)
    assert read_takedowns(store).entries[0].reason == "law"
    assert Dataset(ds).id != before
    assert json.loads((store / STORE_MARK).read_text()) == {"config": {"version": "1.1.0"}, "crawl": {}}


def test_it_is_said_that_a_repeat_may_have_to_come_back(tmp_path: Path) -> None:
    made = tables()
    made["hits"]["val"][2] = hit("q1", 3, "http://mirror.example/lava.html", outcome="near_duplicate")
    ds = str(write(tmp_path / "ds", made))
    done = CliRunner().invoke(root, ["dataset", "takedown", ds, LAVA, "--out", str(tmp_path / "new")])
    assert "1 other hits of these questions were dropped as repeats" in done.stderr


def test_a_wrong_store_is_refused_before_anything_changes(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    before = Dataset(ds).id
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "one.example", "--store", str(tmp_path)])
    assert isinstance(done.exception, DataError)
    assert Dataset(ds).id == before


def test_without_a_store_the_next_build_is_warned_of(tmp_path: Path) -> None:
    done = CliRunner().invoke(root, ["dataset", "takedown", str(write(tmp_path / "ds")), "one.example"])
    assert "no crawl store here" in done.stderr


def _scorecard(folder: Path, slug: str, dataset: str) -> None:
    from edu_rag.scorecard.card import Counts, ScoreCard, SystemFacts
    from edu_rag.scorecard.results_folder import write_scorecard

    card = ScoreCard(
        system=SystemFacts(slug=slug, name=slug, team="t"),
        dataset=dataset,
        split="val",
        sample=None,
        harness="h",
        answers_rule="r",
        counts=Counts(correct=1),
        outcomes="c",
    )
    write_scorecard(folder / slug / "scorecard.json", card)


def test_results_of_the_same_minor_version_are_listed_to_score_again(tmp_path: Path) -> None:
    manifest = Dataset(write(tmp_path / "ds")).manifest
    results = tmp_path / "results"
    _scorecard(results, "mine", manifest.id)
    _scorecard(results, "patched", "small@1.0.7#00000000")
    _scorecard(results, "older", "small@0.9.0#00000000")
    _scorecard(results, "longer", "small-too@1.0.0#00000000")
    (results / "odd").mkdir()
    (results / "odd" / "scorecard.json").write_text("{")
    assert [name for name, _, _ in results_to_score_again(results, manifest)] == ["mine", "unreadable", "patched"]


def test_a_take_down_in_place_and_a_replay_of_the_store_hold_the_same_rows(tmp_path: Path) -> None:
    from builder.build import build, replay
    from builder.config import read_config

    site = tmp_path / "sites" / "one.example"
    site.mkdir(parents=True)
    for name in ("lava", "ice"):
        text = "".join(
            f"<p>Here is said no. {n} of all that {name} does on its mountain of {name}.</p>" for n in range(30)
        )
        (site / f"{name}.html").write_text(f"<html><title>{name}</title><body><article>{text}</article></body></html>")
    (tmp_path / "q.jsonl").write_text(
        json.dumps(
            {
                "id": "Q1",
                "split": "val",
                "type": "True or False",
                "question": "Does lava and ice move on a mountain?",
                "choices": {"a": "true", "b": "false"},
                "answer": "a",
            }
        )
        + "\n"
    )
    config = read_config(None, {"search": {"engine": "folder", "folder": {"sites": str(tmp_path / "sites")}}})
    ds = tmp_path / "ds"
    before = build([tmp_path / "q.jsonl"], ds, config)
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "http://one.example/lava.html"])
    assert done.exit_code == 0, done.output
    after = Dataset(ds).manifest
    again = replay(tmp_path / "ds.crawl", tmp_path / "again")
    assert (again.content_sha256, again.version) == (after.content_sha256, after.version)
    assert after.content_sha256 != before.content_sha256
    assert [hit.outcome for hit in Dataset(ds).hits("val")["Q1"]].count("taken_down") == 1


def test_a_build_after_a_take_down_keeps_its_version_though_the_settings_say_the_old_one(tmp_path: Path) -> None:
    from builder.build import build
    from builder.config import read_config

    site = tmp_path / "sites" / "one.example"
    site.mkdir(parents=True)
    text = "".join(f"<p>Here is said no. {n} of all that lava does on its mountain.</p>" for n in range(30))
    (site / "lava.html").write_text(f"<html><title>lava</title><body><article>{text}</article></body></html>")
    question = {
        "id": "Q1",
        "split": "val",
        "type": "True or False",
        "question": "Does lava move on a mountain?",
        "choices": {"a": "true", "b": "false"},
        "answer": "a",
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n")
    config = read_config(None, {"search": {"engine": "folder", "folder": {"sites": str(tmp_path / "sites")}}})
    build([tmp_path / "q.jsonl"], tmp_path / "ds", config)
    assert CliRunner().invoke(root, ["dataset", "takedown", str(tmp_path / "ds"), "one.example"]).exit_code == 0
    after = Dataset(tmp_path / "ds").manifest
    again = build([tmp_path / "q.jsonl"], tmp_path / "ds", config)  # build.toml still says 1.0.0
    assert (again.version, again.content_sha256) == ("1.1.0", after.content_sha256)
    lower = build([tmp_path / "q.jsonl"], tmp_path / "ds", config, version="1.0.5")
    assert lower.version == "1.0.5"  # a version named on the command line wins


def test_what_extracted_the_pages_that_stay_is_counted_anew(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds", sources={"extracted_by": {"cascade-v1": 3}})
    assert taken(ds, FISH).manifest.sources["extracted_by"] == {"cascade-v1": 2}


def _store_beside(ds: Path) -> Path:
    store = ds.with_name(f"{ds.name}.crawl")
    store.mkdir()
    (store / STORE_MARK).write_text('{"config": {"version": "1.0.0"}, "crawl": {}}')
    return store


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_name_that_matches_nothing_is_refused_and_leaves_no_tombstone(tmp_path: Path, more: list[str]) -> None:
    ds = write(tmp_path / "ds")
    store = _store_beside(ds)
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "wo.example", *more])
    assert isinstance(done.exception, DataError)
    assert "nothing here matches host wo.example" in str(done.exception)
    assert not (store / "takedowns.jsonl").exists()


@pytest.mark.parametrize("target", [LAVA, "one.example", file_hash(LAVA)])
def test_a_take_down_done_twice_says_so_and_changes_nothing(tmp_path: Path, target: str) -> None:
    ds = write(tmp_path / "ds")
    store = _store_beside(ds)
    call = ["dataset", "takedown", str(ds), target]
    assert CliRunner().invoke(root, call).exit_code == 0
    before = {path: path.read_bytes() for at in (ds, store) for path in at.rglob("*") if path.is_file()}
    for more in ([], ["--dry-run"]):
        done = CliRunner().invoke(root, [*call, *more])
        assert done.exit_code == 0, done.output
        assert "already taken down" in done.stdout
    assert {path: path.read_bytes() for at in (ds, store) for path in at.rglob("*") if path.is_file()} == before


def test_a_store_that_did_not_hear_of_a_take_down_is_told_when_it_is_repeated(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    taken(ds, "one.example")
    store = _store_beside(ds)
    done = CliRunner().invoke(root, ["dataset", "takedown", str(ds), "one.example"])
    assert (done.exit_code, "already taken down" in done.stdout) == (0, True)
    assert [entry.value for entry in read_takedowns(store).entries] == ["one.example"]
    assert json.loads((store / STORE_MARK).read_text())["config"]["version"] == "1.1.0"


def test_what_only_the_store_holds_is_noted_for_later_builds(tmp_path: Path) -> None:
    from builder.build import build
    from builder.config import read_config

    mini = Path(__file__).resolve().parents[2] / "edu_rag" / "mini"
    build([mini / "questions.jsonl"], tmp_path / "mini", read_config(mini / "build.toml", {}))
    reader = StoreReader(tmp_path / "mini.crawl")
    url = next(iter(fetches(reader)))
    reader.close()
    call = ["dataset", "takedown", str(write(tmp_path / "ds")), "--store", str(tmp_path / "mini.crawl")]
    assert isinstance(CliRunner().invoke(root, [*call, "no.such.example"]).exception, DataError)
    done = CliRunner().invoke(root, [*call, url])
    assert done.exit_code == 0, done.output
    assert "not in this dataset, but in its crawl store" in done.stdout
    assert [entry.value for entry in read_takedowns(tmp_path / "mini.crawl").entries] == [url]
