"""Beyond one machine: datatrove's executors run the same stage and give the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builder_crash import tree

from builder.build import read_inputs
from builder.config import ExtractConfig, FilterConfig, LabelConfig, ScaleConfig
from builder.deriving import scale
from builder.deriving.derive import derive
from builder.deriving.page_stage import PageSettings
from builder.store.crawl_store import CrawlStore
from builder.store.store_folder import store_folder
from edu_rag.errors import DataError
from edu_rag.files.manifest import Manifest


@pytest.fixture(scope="module")
def built(bundled_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, since the executors work in the store."""
    return shutil.copytree(bundled_build, tmp_path_factory.mktemp("scale") / "plain") / "dataset"


def derived(built: Path, out: Path, scale_config: ScaleConfig, workers: int = 2) -> Manifest:
    with CrawlStore(store_folder(built)) as store:
        inputs = read_inputs(store.folder)
        return derive(store, replace(inputs, config=replace(inputs.config, scale=scale_config)), out, workers)


# A cluster of Ray's takes ten seconds of processor time to start.
@pytest.mark.parametrize("executor", ["local", pytest.param("ray", marks=pytest.mark.nightly)])
def test_an_executor_makes_the_same_dataset_as_the_plain_build_and_its_log_stays_off_the_terminal(
    built: Path, tmp_path: Path, executor: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    derived(built, tmp_path / "scaled", ScaleConfig(executor=executor, tasks=3))
    assert tree(tmp_path / "scaled") == tree(built)
    assert not list(store_folder(built).glob("scale-*"))
    told = capfd.readouterr()
    assert "extract: 120 of 120" in told.err
    assert not [level for level in ("| DEBUG ", "| INFO ", "| SUCCESS ", "PIPELINE") if level in told.err + told.out]


class Half:
    """An executor that runs only some of the ranks, as a cluster does that was stopped."""

    def __init__(self, task: scale.PageTask, n_tasks: int, ranks: set[int], ran: list[int]) -> None:
        self.task, self.n_tasks, self.ranks, self.ran = task, n_tasks, ranks, ran

    def run(self) -> None:
        for rank in sorted(self.ranks):
            if not (Path(self.task.folder) / f"results-{rank:05d}.msgpack").exists():
                self.ran.append(rank)
            self.task(None, rank, self.n_tasks)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[int]]]:
    plans: list[set[int]] = []
    done: list[int] = []

    def half(task: scale.PageTask, config: ScaleConfig, workers: int, logs: str) -> Half:
        return Half(task, config.tasks, plans.pop(0), done)

    monkeypatch.setattr(scale, "EXECUTORS", {**scale.EXECUTORS, "slurm": half})
    yield plans
    assert sorted(done) == sorted(set(done)), "a task that was done was done again"


def test_tasks_that_are_not_done_are_named_and_only_they_are_done_by_the_next_run(
    built: Path, tmp_path: Path, ran: list[set[int]]
) -> None:
    slurm = ScaleConfig(executor="slurm", tasks=3)
    ran += [{0, 2}, {0, 1, 2}]
    with pytest.raises(DataError, match="1 of 3 tasks are not done"):
        derived(built, tmp_path / "scaled", slurm)
    derived(built, tmp_path / "scaled", slurm)
    assert tree(tmp_path / "scaled") == tree(built)


def test_slurm_is_asked_for_what_the_settings_say(tmp_path: Path) -> None:
    config = ScaleConfig(executor="slurm", tasks=7, partition="long", time="3-00:00:00", mem_per_cpu_gb=3)
    task = scale.PageTask(store=str(tmp_path), folder=str(tmp_path))
    executor = scale.EXECUTORS["slurm"](task, config, 4, str(tmp_path / "logs"))
    script = executor.get_launch_file_contents(executor.get_sbatch_args(), "echo run")
    for line in ("--partition=long", "--time=3-00:00:00", "--mem-per-cpu=3G"):
        assert line in script
    assert executor.world_size == 7


def test_results_of_other_responses_are_never_taken_for_those_of_these(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig())
    store = store_folder(built)
    with CrawlStore(store) as opened:
        url = next(fetch.url for fetch in opened.iter_fetches() if fetch.outcome == "kept")
    before = scale._prepared(store, [(url, url)], settings, 2)
    assert scale._prepared(store, [(url, url)], settings, 2) == before
    fetch_of = scale.StoreReader.fetch
    monkeypatch.setattr(  # as a refresh leaves it: the same address, another body
        scale.StoreReader, "fetch", lambda self, asked: replace(fetch_of(self, asked), digest="f" * 64)
    )
    after = scale._prepared(store, [(url, url)], settings, 2)
    assert after != before
    for folder in (before, after):
        shutil.rmtree(folder)
