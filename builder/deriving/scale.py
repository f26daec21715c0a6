"""Beyond one machine: the page stage as a datatrove pipeline (Local, Ray and Slurm executors; extra [scale]).

The pages of a derivation are cut into tasks. Each task reads its responses from the crawl store (a shared folder), runs
the same stage function in a killable worker, and writes one file of results; the parent puts them together in the order
of the pages. The dataset is the same as without it. Tasks that are done are not done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from builder.config import ScaleConfig
from builder.deriving import page_stage
from builder.deriving.page_stage import PageResult, PageSettings, page_results
from builder.store.reader import StoreReader
from edu_rag import __version__
from edu_rag.errors import ConfigError, DataError, MissingExtraError
from edu_rag.files.jsonl import write_file
from edu_rag.processes.safe_path import guard_children

PAGES_FILE, SETTINGS_FILE = "pages.jsonl", "settings.msgpack"
_LENGTH_BYTES = 8


def _results_file(folder: Path, rank: int) -> Path:
    return folder / f"results-{rank:05d}.msgpack"


def _pages_of(folder: Path, rank: int, n_tasks: int) -> Iterator[tuple[str, str]]:
    with (folder / PAGES_FILE).open("rb") as lines:
        for number, line in enumerate(lines):
            if number % n_tasks == rank:
                page_url, fetch_url = msgspec.json.decode(line, type=tuple[str, str])
                yield page_url, fetch_url


@dataclass(frozen=True)
class PageTask:
    """One datatrove step, pickled for the machine that runs it: it knows only the paths of the store and the work
    folder.
    """

    store: str
    folder: str

    def __call__(self, data: Iterable[Any] | None, rank: int = 0, world_size: int = 1) -> Iterable[Any]:
        """Make the pages of one rank. An existing result file is complete, and is never made twice."""
        folder = Path(self.folder)
        done = _results_file(folder, rank)
        if not done.exists():
            settings = msgspec.msgpack.decode((folder / SETTINGS_FILE).read_bytes(), type=PageSettings)
            store = StoreReader(Path(self.store), trusting=True)
            try:
                jobs = page_stage.jobs(_pages_of(folder, rank, world_size), store)
                _write_results(done, page_results(jobs, settings, workers=1))
            finally:
                store.close()
        return data or ()


def _write_results(path: Path, results: Iterable[tuple[str, PageResult]]) -> None:
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        for item in results:
            packed = msgspec.msgpack.encode(item)
            file.write(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def _read_result(file: IO[bytes]) -> tuple[str, PageResult]:
    length = int.from_bytes(file.read(_LENGTH_BYTES), "big")
    return msgspec.msgpack.decode(file.read(length), type=tuple[str, PageResult])


def _merged(folder: Path, n_tasks: int) -> Iterator[tuple[str, PageResult]]:
    """All results in the order of the pages, one in memory at a time."""
    files = [_results_file(folder, rank).open("rb") for rank in range(n_tasks)]
    try:
        for number, (page_url, _) in enumerate(_pages_of(folder, 0, 1)):
            found, result = _read_result(files[number % n_tasks])
            if found != page_url:
                raise DataError(_results_file(folder, number % n_tasks), "is of other pages", f"delete {folder}")
            yield page_url, result
    finally:
        for file in files:
            file.close()


def _local(task: PageTask, config: ScaleConfig, workers: int, logs: str) -> Any:
    from builder.deriving.scale_local import QuietLocalExecutor

    return QuietLocalExecutor([task], tasks=config.tasks, workers=workers, logging_dir=logs)


def _ray(task: PageTask, config: ScaleConfig, workers: int, logs: str) -> Any:
    import ray
    from datatrove.executor.ray import RayPipelineExecutor

    if not ray.is_initialized():
        n_cpus = workers if config.ray_address is None else None  # a cluster that is there has its own number
        with contextlib.chdir("/"):  # Ray puts the current folder first on its workers' module search path
            ray.init(address=config.ray_address, num_cpus=n_cpus, include_dashboard=False, log_to_driver=False)
    return RayPipelineExecutor(
        [task], tasks=config.tasks, workers=workers, logging_dir=logs, mem_per_cpu_gb=config.mem_per_cpu_gb
    )


def _leave_ray(config: ScaleConfig) -> None:
    """Stop the Ray that was started here; a cluster that was joined goes on."""
    if config.executor == "ray" and config.ray_address is None:
        import ray

        ray.shutdown()


def _slurm(task: PageTask, config: ScaleConfig, workers: int, logs: str) -> Any:
    from datatrove.executor.slurm import SlurmPipelineExecutor

    return SlurmPipelineExecutor(
        [task],
        tasks=config.tasks,
        workers=workers,
        logging_dir=logs,
        time=config.time,
        partition=config.partition,
        mem_per_cpu_gb=config.mem_per_cpu_gb,
        job_name="edu-rag-pages",
    )


EXECUTORS: Mapping[str, Callable[[PageTask, ScaleConfig, int, str], Any]] = {
    "local": _local,
    "ray": _ray,
    "slurm": _slurm,
}


def check_executor(config: ScaleConfig) -> None:
    """Raise ConfigError for an executor that this machine lacks, before anything is fetched for it."""
    if config.executor == "slurm" and shutil.which("sbatch") is None:
        remedy = "run this where Slurm's commands are, or use --executor local"
        raise ConfigError("[scale] executor slurm", "sbatch was not found", remedy)


def _prepared(store: Path, pages: Iterable[tuple[str, str]], settings: PageSettings, n_tasks: int) -> Path:
    """The work folder in the crawl store, named by a hash of the work.

    Other settings, other responses (after a refresh) and another version of this package get another folder.
    """
    packed = msgspec.msgpack.encode(settings)
    todo = list(pages)
    lines = b"".join(msgspec.json.encode(page) + b"\n" for page in todo)
    name = hashlib.sha256(packed + lines + f"{n_tasks} {__version__}".encode())
    reader = StoreReader(store, trusting=True)
    try:
        for _, fetch_url in todo:
            fetch = reader.fetch(fetch_url)
            name.update(f"{fetch.digest} {fetch.fetched_at}\n".encode() if fetch is not None else b"none\n")
    finally:
        reader.close()
    folder = store / f"scale-{name.hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    write_file(folder / SETTINGS_FILE, packed)
    write_file(folder / PAGES_FILE, lines)
    return folder


def scaled_results(
    pages: Iterable[tuple[str, str]], store: Path, settings: PageSettings, config: ScaleConfig, workers: int
) -> Iterator[tuple[str, PageResult]]:
    """The results of the page stage for (page URL, fetched URL), made by the executor that the settings name.

    Raises MissingExtraError without datatrove, DataError while tasks are not done (Slurm's run on their own).
    """
    guard_children()
    folder = _prepared(store.absolute(), pages, settings, config.tasks)
    task = PageTask(store=str(store.absolute()), folder=str(folder))
    # Read when datatrove's logger is imported, here and in the processes that it starts: our stages talk already.
    os.environ.setdefault("LOGURU_LEVEL", "WARNING")
    try:
        executor = EXECUTORS[config.executor](task, config, workers, str(folder / "logs"))
    except ImportError as error:
        what = f"needs a package that is missing ({error.name})"
        raise MissingExtraError(
            f"[scale] executor {config.executor}", what, "pip install 'edu-rag-bench[scale]'"
        ) from None
    try:
        executor.run()
    finally:
        _leave_ray(config)
    missing = _missing(folder, range(config.tasks))
    if missing:
        what = f"{len(missing):,} of {config.tasks:,} tasks are not done (the first is {missing[0]})"
        raise DataError(folder, what, "see its logs; run the same command again when they are, or to try again")
    yield from _merged(folder, config.tasks)
    shutil.rmtree(folder)


def _missing(folder: Path, ranks: Sequence[int]) -> list[int]:
    return [rank for rank in ranks if not _results_file(folder, rank).exists()]
