"""Publishing: one commit and a tag a version, read back before it counts, and no hidden gold on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from builder_dataset import FISH, ICE, LAVA, ask, page, tables, write
from click.testing import CliRunner
from fake_hub import Hub, serving_hub

from builder.dataset.check_dataset import check_folder
from edu_rag.__main__ import root
from edu_rag.cli.dataset_group import staged
from edu_rag.errors import ConfigError, DataError, EngineError, FaultsError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import read_manifest
from edu_rag.gold import Gold
from edu_rag.records import Leak
from publishing.hub import without_xet_where_missing
from publishing.push_dataset import PushPlan, push

MINI = Path(__file__).resolve().parents[2] / "edu_rag" / "mini"
REPO = "school/edu-rag-mini"


@pytest.fixture(scope="module")
def folder(bundled_build: Path) -> Path:
    return bundled_build / "dataset"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the loopback hub speaks the protocol before Xet
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving_hub() as server:
        yield server


def pushed(hub: Hub, folder: Path, hidden: tuple[str, ...] = (), token: str | None = None) -> PushPlan:
    with staged(Dataset(folder), REPO, hidden) as (stage, plan):
        push(stage, plan, token=token or hub.token, endpoint=hub.url, private=False)
    return plan


def test_a_version_is_one_commit_and_one_tag_with_exactly_the_files_of_the_manifest(hub: Hub, folder: Path) -> None:
    plan = pushed(hub, folder)
    assert len(hub.commits) == 2  # the Hub's own first one, and ours
    oid, files = hub.commits[-1]
    assert hub.tags == {"2.0.0": oid}
    assert set(files) == {".gitattributes", "manifest.json", *read_manifest(folder).files}
    assert all(files[name] == (folder / name).read_bytes() for name in plan.sizes)


@pytest.mark.parametrize(("status", "is_disabled"), [(404, True), (None, True), (200, False)])
def test_a_hub_has_no_xet_if_it_has_no_token_to_give(
    status: int | None, is_disabled: bool, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi, constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    hub.xet_status = status
    api = HfApi(endpoint=hub.url, token=hub.token)
    api.create_repo(REPO, repo_type="dataset")
    with without_xet_where_missing(api, REPO):
        assert constants.HF_HUB_DISABLE_XET is is_disabled


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (429, "run the same command again in some minutes: the Hub limits requests"),
        (500, "run the same command again in some minutes: the Hub is busy or has a fault"),
        (503, "run the same command again in some minutes: the Hub is busy or has a fault"),
        (403, "check HF_TOKEN and its rights"),
    ],
)
def test_a_hub_that_is_busy_is_not_taken_for_one_without_xet(
    status: int, remedy: str, hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    hub.xet_status = status
    with pytest.raises(EngineError) as caught:
        pushed(hub, folder)
    assert str(caught.value) == f"hub {REPO}: answered with status {status}: {remedy}"
    assert not hub.objects
    assert constants.HF_HUB_DISABLE_XET is False


@pytest.mark.slow
def test_a_hub_without_xet_gets_the_files_by_the_older_protocol(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)  # as on any machine
    pushed(hub, folder)
    assert set(hub.tags) == {"2.0.0"}
    assert sum("xet-write-token" in request for request in hub.requests) == 1
    assert constants.HF_HUB_DISABLE_XET is False
    assert "it has no Xet: large files are sent by the older protocol" in capsys.readouterr().err


def test_what_is_published_stays_as_it_is(hub: Hub, folder: Path) -> None:
    pushed(hub, folder)
    with pytest.raises(DataError, match=r"has a version 2\.0\.0 already"):
        pushed(hub, folder)
    assert len(hub.commits) == 2


def test_gold_of_a_hidden_split_and_what_gives_it_away_never_leaves_the_machine(hub: Hub, folder: Path) -> None:
    plan = pushed(hub, folder, hidden=("test",))
    files = hub.commits[-1][1]
    assert not [name for name in files if name.startswith(("gold/", "evidence/", "leaks/"))]
    assert {name.split("/")[0] for name in plan.withheld} == {"gold", "evidence", "leaks"}
    secret = [(folder / name).read_bytes() for name in plan.withheld]
    assert not [data for data in hub.objects.values() if data in secret]
    card = files["README.md"].decode()
    assert "gold is a" not in card
    assert "config_name: gold" not in card
    assert plan.manifest.id == read_manifest(folder).id  # results name the same dataset


def test_a_published_hidden_split_is_a_sound_dataset(hub: Hub, folder: Path, tmp_path: Path) -> None:
    with staged(Dataset(folder), REPO, ("test",)) as (stage, _):
        opened = Dataset(stage)
        assert len(opened.questions("test")) == read_manifest(folder).sources["questions"]
        assert opened.files("gold", "test") == []
        assert opened.manifest.content_sha256 == read_manifest(folder).content_sha256
        assert opened.manifest.contents == read_manifest(folder).contents
        done = CliRunner().invoke(root, ["dataset", "check", str(stage)])
        assert done.exit_code == 0
        assert "gold/test                left out: it would give away a hidden split's gold" in done.stdout


def test_pages_that_lose_a_flag_for_publishing_are_verified_by_their_own_hash(tmp_path: Path) -> None:
    made = tables()
    key = Leak(question_id="q2", page_id=made["pages"]["val"][0].page_id, start=0, end=20, kind="leak_key")
    made["leaks"]["val"] = [key]
    made["pages"]["val"][0] = replace(made["pages"]["val"][0], flags=("leak_key",))
    dataset = Dataset(write(tmp_path / "ds", made))
    with staged(dataset, REPO, ("val",)) as (stage, plan):
        opened = Dataset(stage)
        assert opened.id == dataset.id
        assert set(plan.manifest.published) == {"pages/val"}
        assert plan.manifest.published["pages/val"] != dataset.manifest.contents["pages/val"]
        with staged(opened, REPO, ("val",)) as (_, again):  # publishing what was published changes nothing more
            assert again.manifest == plan.manifest


def test_a_file_that_reads_back_with_other_bytes_gets_no_tag(hub: Hub, folder: Path) -> None:
    hub.corrupt = "README.md"
    with pytest.raises(DataError, match=r"README\.md reads back with other bytes"):
        pushed(hub, folder)
    assert hub.tags == {}


def test_files_of_the_version_before_that_are_no_more_are_deleted(hub: Hub, folder: Path) -> None:
    hub.repos.add(REPO)
    hub.commits.append(("1" * 40, {".gitattributes": b"", "questions/old.parquet": b"old"}))
    hub.tags["0.9.0"] = "1" * 40
    pushed(hub, folder)
    assert "questions/old.parquet" not in hub.commits[-1][1]
    assert hub.files("0.9.0") == ("1" * 40, {".gitattributes": b"", "questions/old.parquet": b"old"})


def test_a_wrong_token_is_one_error_that_does_not_repeat_it(hub: Hub, folder: Path) -> None:
    with pytest.raises(EngineError, match="status 401") as caught:
        pushed(hub, folder, token="hf_wrong_and_secret")
    assert "hf_wrong" not in str(caught.value)
    assert "HF_TOKEN" in str(caught.value)


def test_a_hub_that_cannot_be_reached_is_one_error(folder: Path) -> None:
    with staged(Dataset(folder), REPO, ()) as (stage, plan), pytest.raises(EngineError, match="cannot be reached"):
        push(stage, plan, token="t", endpoint="http://127.0.0.1:9", private=False)


def test_an_unknown_hidden_split_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no split 'tset'"), staged(Dataset(folder), REPO, ("tset",)):
        pass


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    """q1 and q2 in val, t1 and its twin's twin in test; pages of both flagged as holding a key."""
    made = tables()
    leak = partial(Leak, start=0, end=20, kind="leak_key")
    made["questions"]["test"].append(ask("t2", "Ice floats on water.", split="test"))
    made["gold"]["test"].append(Gold(question_id="t2", answer="a"))
    made["pages"]["val"] = [page(LAVA, flags=("leak_key",)), page(ICE, flags=("leak_key", "pii_masked"))]
    made["pages"]["test"] = [page(FISH, flags=("leak_question", "leak_key"))]
    made["leaks"] = {
        "val": [leak(question_id="q1", page_id=page(LAVA).page_id)],
        "test": [leak(question_id="t1", page_id=page(FISH).page_id)],
    }
    counts = {"page_flags": {"leak_key": 3}, "leaks": {"leak_key": 2}, "questions_leaked": 2}
    return write(tmp_path / "leaky", made, sources=counts)


def test_no_page_says_that_the_answer_on_it_is_the_gold_of_a_hidden_question(leaky: Path) -> None:
    with staged(Dataset(leaky), REPO, ("test",)) as (stage, plan):
        opened = Dataset(stage)
        flags = {p.url: p.flags for split in opened.splits() for p in opened.pages(split).values()}
        # ICE leaks a question of the test split, though no table of the val split says so.
        assert flags == {LAVA: ("leak_key",), ICE: ("leak_question", "pii_masked"), FISH: ("leak_question",)}
        rest = [replace(p, flags=()) for p in opened.pages("val").values()]
        assert rest == [replace(p, flags=()) for p in Dataset(leaky).pages("val").values()]
        assert not check_folder(stage, ["test"]).faults
        sources = plan.manifest.sources
        assert sources["page_flags"] == {"leak_key": 1, "leak_question": 2, "pii_masked": 1}
        assert (sources["leaks"], sources["questions_leaked"]) == ({"leak_key": 1}, 1)
        assert "Of the 2 questions whose gold is here" in (stage / "README.md").read_text()


def test_the_plan_says_whose_gold_goes_out_and_which_hidden_questions_have_a_published_twin(leaky: Path) -> None:
    with staged(Dataset(leaky), REPO, ("test",)) as (_, plan):
        told = "\n".join(plan.lines())
    assert "gold that becomes public: val" in told
    assert "repeats, with gold: 1 (t2 = q2)" in told
    with staged(Dataset(leaky), REPO, ()) as (_, plan):
        assert "gold that becomes public: test, val" in "\n".join(plan.lines())


def test_a_dry_run_prints_the_plan_and_asks_the_hub_nothing(hub: Hub, folder: Path) -> None:
    words = ["dataset", "push", str(folder), REPO, "--endpoint", hub.url]
    done = CliRunner().invoke(root, [*words, "--dry-run", "--yes"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "manifest.json" in done.output
    assert "dry run: nothing was published" in done.output
    assert hub.requests == []
    with pytest.raises(ConfigError, match="add --yes, or --dry-run"):
        CliRunner().invoke(root, words, catch_exceptions=False)
    assert hub.requests == []


@pytest.mark.slow
def test_a_dataset_that_lost_its_pages_is_refused_before_the_hub_is_asked(hub: Hub, tmp_path: Path) -> None:
    made = tables()
    made["hits"] = {
        split: [replace(hit, outcome="timeout", detail="", page_id=None) for hit in hits]
        for split, hits in made["hits"].items()
    }
    for name in ("pages", "evidence", "leaks"):
        made[name] = {split: [] for split in made.get(name, {})}
    lost = write(tmp_path / "lost", made, sources={"engine": "folder"})
    words = ["dataset", "push", str(lost), REPO, "--endpoint", hub.url, "--yes"]
    with pytest.raises(FaultsError) as caught:
        CliRunner().invoke(root, words, catch_exceptions=False)
    assert any("lost 100.0% of its search results" in str(error) for error in caught.value.faults)
    assert hub.requests == []
