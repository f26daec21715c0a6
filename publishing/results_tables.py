"""Writing results as a dataset folder: two tables, a card and a manifest; same inputs, same bytes."""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from edu_rag.errors import ConfigError
from edu_rag.files.jsonl import write_file, write_json
from edu_rag.files.manifest import FileEntry, file_sha256
from edu_rag.progress import Stage
from edu_rag.scorecard.results_folder import read_card
from publishing.result_entries import ResultEntry, is_hidden, read_entries, refuse_unknown
from publishing.result_rows import (
    Cut,
    ExamIds,
    ShardedTable,
    prediction_schema,
    prediction_table,
    scorecard_row,
    scorecard_schema,
)
from publishing.results_card import CardFacts, results_card, rows_of


def _files(submissions: Path) -> Iterator[Path]:
    """`SLUG/predictions/NAME-VERSION/*.jsonl`, no part of it a link: a stranger's link could name any file of ours."""
    for path in sorted(submissions.glob("*/predictions/*/*.jsonl")):
        parts = [path, *list(path.parents)[:3]]
        if path.is_file() and not any(part.is_symlink() for part in parts):
            yield path


def with_predictions(entries: Sequence[ResultEntry], submissions: Path | None) -> list[ResultEntry]:
    """The entries, with predictions from a folder of submissions if they are not next to the scorecard.

    Files are matched by their bytes alone. Raises ConfigError if `submissions` is not a folder.
    """
    if submissions is None:
        return list(entries)
    if not submissions.is_dir():
        raise ConfigError(submissions, "is not a folder", "give the folder of submissions, or leave --submissions out")
    wanted = {entry.predictions_sha256 for entry in entries if entry.predictions is None} - {""}
    if not wanted:
        return list(entries)
    found = _by_hash(_files(submissions), wanted)
    return [
        entry if entry.predictions is not None else replace(entry, predictions=found.get(entry.predictions_sha256))
        for entry in entries
    ]


def _by_hash(files: Iterable[Path], wanted: set[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        sha256 = file_sha256(path)
        if sha256 in wanted:
            found.setdefault(sha256, path)
    return found


CARD = "README.md"
MANIFEST = "manifest.json"
MAX_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """A request to publish: the results folder, other places of predictions, datasets for their ids, and omissions.

    `hidden` are rules from the command line, each of which must hide something; `hidden_by_board` those of board.toml.
    """

    results: Path
    repo: str
    submissions: Path | None = None
    datasets: tuple[Path, ...] = ()
    hidden: tuple[str, ...] = ()
    hidden_by_board: tuple[str, ...] = ()
    responses: bool = False

    @property
    def all_hidden(self) -> tuple[str, ...]:
        """Every rule, sorted."""
        return tuple(sorted({*self.hidden, *self.hidden_by_board}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenResults:
    """A folder of exactly the files to publish: the files, and remarks that a person should read before."""

    repo: str
    entries: Sequence[ResultEntry]
    files: dict[str, FileEntry]
    sizes: dict[str, int]
    hidden: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def message(self) -> str:
        """The commit's message, which describes the results."""
        systems = len({entry.slug for entry in self.entries})
        named = sorted({f"{entry.dataset_id.name} {entry.dataset_id.version}" for entry in self.entries})
        more = " …" if len(named) > MAX_NAMED else ""
        rows = sum(rows_of(self.files).get("predictions", {}).values())
        counts = f"{systems:,} systems, {len(self.entries):,} scorecards, {rows:,} predictions"
        return f"Results: {counts} ({', '.join(named[:MAX_NAMED])}{more})"

    def lines(self) -> list[str]:
        """The plan for people."""
        total = sum(self.sizes.values())
        lines = [self.message, f"-> {self.repo}: {len(self.sizes)} files, {total / 1e6:,.1f} MB"]
        return [*lines, *(f"  {name:<56} {size:>13,}" for name, size in self.sizes.items()), *self.notes]


@dataclass(slots=True)
class _Gaps:
    """Items that could not be published in full, by place."""

    no_predictions: list[str] = field(default_factory=list)
    no_outcomes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    cut: Cut = field(default_factory=Cut)

    def notes(self) -> Iterable[str]:
        for places, what, remedy in (
            (self.no_predictions, "without their predictions", "give --submissions if there are any"),
            (self.no_outcomes, "whose predictions get no outcome, as their ids are unproven", "give its --dataset"),
            (self.left_out, "on a sample whose ids are unproven, predictions left out", "give its --dataset"),
        ):
            if places:
                more = " …" if len(places) > MAX_NAMED else ""
                yield f"scorecards {what}: {len(places):,} ({', '.join(places[:MAX_NAMED])}{more}): {remedy}"
        if self.cut.answers:
            yield f"answers cut short: {self.cut.answers:,}"
        if self.cut.passages:
            yield f"passages left out, as no page can have them: {self.cut.passages:,}"


class _Writer:
    """Both tables at once, entry by entry: memory holds one system's predictions and one row group of each table."""

    def __init__(self, folder: Path, asked: PublishRequest, exams: ExamIds) -> None:
        self.gaps = _Gaps()
        self._folder, self._asked, self._exams = folder, asked, exams
        self._tables: dict[tuple[str, str], ShardedTable] = {}

    def _table(self, config: str, split: str) -> ShardedTable:
        made = self._tables.get((config, split))
        if made is None:
            columns = (
                scorecard_schema() if config == "scorecards" else prediction_schema(responses=self._asked.responses)
            )
            made = self._tables[config, split] = ShardedTable(self._folder, config, split, columns)
        return made

    def add(self, entry: ResultEntry) -> str:
        """The rows of one entry; returns the fate of its predictions."""
        import pyarrow as pa

        card = read_card(entry.path)
        hidden, ids, rows = is_hidden(entry, self._asked.all_hidden), None, None
        if not hidden:
            ids = self._exams.ids_of(entry)
            rows, cut = prediction_table(entry, card, ids, responses=self._asked.responses)
            self.gaps.cut = self.gaps.cut.plus(cut)
        n_rows = 0 if rows is None else rows.num_rows
        if rows is not None and n_rows:
            self._table("predictions", entry.split).add(rows)
        row = scorecard_row(card, entry, n_rows, hidden=hidden)
        self._table("scorecards", entry.split).add(pa.Table.from_pylist([row], schema=scorecard_schema()))
        return "hidden" if hidden else self._completeness(entry, is_proven=ids is not None)

    def _completeness(self, entry: ResultEntry, *, is_proven: bool) -> str:
        name, version, _ = entry.dataset_id
        place = f"{entry.slug} on {name} {version} {entry.split} {entry.sample or ''}".rstrip()
        if entry.predictions is None:
            self.gaps.no_predictions.append(place)
            return "no predictions"
        if is_proven:
            return "done"
        (self.gaps.no_outcomes if entry.sample is None else self.gaps.left_out).append(place)
        return "ids unproven"

    def close(self) -> dict[str, FileEntry]:
        """The entries of all files."""
        files: dict[str, FileEntry] = {}
        for key in sorted(self._tables):
            files |= self._tables[key].close()
        return files


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the cyclic garbage collector: records form no cycles, and walking them again and again is 40 % of all."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def write_results(folder: Path, asked: PublishRequest) -> WrittenResults:
    """Write the dataset folder of some results into an empty folder.

    Raises FaultsError for scorecards that cannot be read, ConfigError for a hidden split that does not exist,
    DataError for predictions that cannot be read.
    """
    entries = with_predictions(read_entries(asked.results), asked.submissions)
    refuse_unknown(asked.hidden, entries)
    exams = ExamIds(asked.datasets)
    exams.learn(entry for entry in entries if not is_hidden(entry, asked.all_hidden))
    writer = _Writer(folder, asked, exams)
    with _uncollected(), Stage("tables", total=len(entries), bad="not in full") as stage:
        for entry in entries:
            stage.add(writer.add(entry))
    files, gaps, hidden = writer.close(), writer.gaps, asked.all_hidden
    facts = CardFacts(
        hidden, asked.responses, len(gaps.no_predictions), len(gaps.no_outcomes), len(gaps.left_out), gaps.cut
    )
    write_file(folder / CARD, results_card(asked.repo, entries, files, facts).encode())
    files[CARD] = FileEntry(sha256=file_sha256(folder / CARD))
    write_json(
        folder / MANIFEST, {"hidden": hidden, "responses": asked.responses, "files": dict(sorted(files.items()))}
    )
    sizes = {name: (folder / name).stat().st_size for name in sorted([*files, MANIFEST])}
    notes = [f"hidden splits, without predictions and outcomes: {', '.join(hidden)}"] if hidden else []
    return WrittenResults(
        repo=asked.repo, entries=entries, files=files, sizes=sizes, hidden=hidden, notes=(*notes, *gaps.notes())
    )


def make_empty(folder: Path, option: str) -> None:
    """Make a folder. Raises ConfigError if there is one that holds something."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise ConfigError(option, f"{folder} is not empty", "choose a new or empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(option, f"{folder} cannot be made: {error.strerror}", "choose another folder") from None


@contextmanager
def written(asked: PublishRequest, out: Path | None) -> Iterator[tuple[Path, WrittenResults]]:
    """A folder of exactly the files to publish, and its description; kept as `out` if that is given."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="edu-rag-results-") as scratch:
            yield Path(scratch), write_results(Path(scratch), asked)
        return
    make_empty(out, "--out")
    unfinished = out.absolute().with_name(f".{out.absolute().name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    made = write_results(unfinished, asked)
    unfinished.rename(out)
    yield out, made
