"""The two tables of published results: their columns, their rows with only what may be public, and their shards.

`outcomes` has one letter a question in the order of ids, and a results folder holds no list of those. A list of ids is
the exam's if its SHA-256 is the scorecard's `exam.ids`; it may come from a dataset, or from any predictions file that
answers every question. Scorecards older than that fingerprint need the dataset with their very content hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from edu_rag.draw_sample import choose
from edu_rag.errors import ConfigError, DataError, RecordError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import SHARD_BYTES, open_table
from edu_rag.files.jsonl import numbered_lines
from edu_rag.files.manifest import FileEntry, file_sha256
from edu_rag.files.typed import first_line, to_plain
from edu_rag.names import Sample
from edu_rag.records import Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, OUTCOMES, Passage, Prediction, ScoreCard
from publishing.result_entries import ResultEntry

if TYPE_CHECKING:
    import pyarrow as pa


CONFIGS = ("scorecards", "predictions")
GROUP_ROWS = 20_000
GROUP_BYTES = 64_000_000
"""A row group is ended by either: 20,000 predictions are 10 MB, but with their responses they have no bound."""
RATES = (
    "score",
    "accuracy",
    "hallucination",
    "missing",
    "attempt_rate",
    "strict_score",
    "accuracy_given_attempted",
)
INTERVALS = ("score", "accuracy", "hallucination", "missing")
JSON_COLUMNS = ("slices", "retrieval", "attribution", "confidence", "judges", "cost", "probes", "caps", "rerun")
PRINTS = ("ids", "questions", "gold", "support")
REVEALS_GOLD = (
    "outcomes",
    "lessons",
    "slices",
    "retrieval",
    "attribution",
    "confidence",
    "judges",
    "probes",
    "exam_gold_sha256",
    "exam_support_sha256",
)
"""Columns of a scorecard that tell, or with a slice or bin of one question may tell, the gold of single questions."""


def prediction_schema(*, responses: bool) -> pa.Schema:
    """One row a prediction."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    passage = pa.struct([("page_id", text), ("start", pa.int64()), ("end", pa.int64())])
    columns = [
        ("dataset", text),
        ("version", text),
        ("content_hash", text),
        ("split", text),
        ("sample", text),
        ("slug", text),
        ("team", text),
        ("question_id", text),
        ("answer", text),
        ("confidence", number),
        ("passages", pa.list_(passage)),
        ("latency_s", number),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", number),
        ("energy_j", number),
        ("status", text),
        ("outcome", text),
    ]
    return pa.schema([*columns, ("response", text)] if responses else columns)


def scorecard_schema() -> pa.Schema:
    """One row a scorecard: counts, rates and intervals flat, everything nested as JSON."""
    import pyarrow as pa

    text, texts, number, whole, flag = pa.string(), pa.list_(pa.string()), pa.float64(), pa.int64(), pa.bool_()
    columns = [
        ("dataset", text),
        ("version", text),
        ("content_hash", text),
        ("split", text),
        ("sample", text),
        ("slug", text),
        ("name", text),
        ("team", text),
        ("description", text),
        ("links", texts),
        ("licence", text),
        ("models", texts),
        ("outside_knowledge", text),
        ("tqa_overlap", text),
        ("runnable", flag),
        ("blind", flag),
        ("withdrawn", text),
        ("n", whole),
        *((outcome, whole) for outcome in OUTCOMES),
        *((rate, number) for rate in RATES),
        *((f"{name}_{end}", number) for name in INTERVALS for end in ("low", "high")),
        ("interval_method", text),
        ("harness", text),
        ("answers_rule", text),
        ("made_on", text),
        ("scored_at", text),
        ("outcomes", text),
        ("overlap", text),
        ("n_overlap", whole),
        ("lessons", pa.list_(pa.int32())),
        *((name, text) for name in JSON_COLUMNS),
        *((f"exam_{part}_sha256", text) for part in PRINTS),
        ("system_sha256", text),
        ("predictions_sha256", text),
        ("n_predictions", whole),
    ]
    return pa.schema(columns)


class ShardedTable:
    """One table of one split as shards of bounded size: memory holds one row group for any number of rows."""

    def __init__(self, folder: Path, config: str, split: str, columns: pa.Schema) -> None:
        self._folder, self._config, self._split = folder, config, split
        self._columns = columns
        self._waiting: list[pa.Table] = []
        self._n_waiting = self._bytes_waiting = self._shard_bytes = 0
        self._writer: Any = None
        self._rows_of: list[int] = []

    def add(self, table: pa.Table) -> None:
        """More rows, in order."""
        self._waiting.append(table)
        self._n_waiting += table.num_rows
        self._bytes_waiting += table.nbytes
        if self._n_waiting >= GROUP_ROWS or self._bytes_waiting >= GROUP_BYTES:
            self._write_group()

    def _shard(self, number: int) -> Path:
        return self._folder / self._config / f"{self._split}-{number:05d}.writing"

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._writer is None:
            path = self._shard(len(self._rows_of))
            path.parent.mkdir(exist_ok=True)
            self._writer = open_table(path, self._columns)
            self._rows_of.append(0)
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._rows_of[-1] += rows.num_rows
        self._shard_bytes += self._bytes_waiting
        self._waiting.clear()
        self._n_waiting = self._bytes_waiting = 0
        if self._shard_bytes >= SHARD_BYTES:
            self._end_shard()

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._shard_bytes = None, 0

    def close(self) -> dict[str, FileEntry]:
        """The entries of the table's files; none where it has no row, since `datasets` cannot load such a split."""
        if self._n_waiting:
            self._write_group()
        self._end_shard()
        entries: dict[str, FileEntry] = {}
        for number, rows in enumerate(self._rows_of):
            name = f"{self._config}/{self._split}-{number:05d}-of-{len(self._rows_of):05d}.parquet"
            path = self._shard(number).rename(self._folder / name)
            entries[name] = FileEntry(sha256=file_sha256(path), rows=rows)
        return entries


Ids = tuple[str, ...]


class _Line(msgspec.Struct):
    question_id: str


_LINES = msgspec.json.Decoder(_Line)


def ids_sha256(ids: Sequence[str]) -> str:
    """The fingerprint of an exam's question ids, in order: `exam.ids` of the scorecards made on it."""
    return hashlib.sha256(msgspec.json.encode(list(ids), order="sorted")).hexdigest()


def ids_in(path: Path) -> Ids:
    """The question ids of a predictions file, sorted. Raises DataError."""
    try:
        return tuple(sorted(_LINES.decode(line).question_id for _, line in numbered_lines(path)))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read as predictions: {error}", "run `edu-rag score` again") from None


class ExamIds:
    """Lists of question ids by exam, from datasets and from the predictions of the entries themselves."""

    def __init__(self, datasets: Sequence[Path] = ()) -> None:
        self._datasets = {opened.id: opened for opened in map(Dataset, datasets)}
        self._questions: dict[tuple[str, str], list[Question]] = {}
        self._by_fingerprint: dict[str, Ids | None] = {}

    def learn(self, entries: Iterable[ResultEntry]) -> None:
        """Find the ids of every exam of these entries, as far as they can be proven."""
        by_exam: dict[str, list[ResultEntry]] = {}
        for entry in entries:
            by_exam.setdefault(entry.ids_sha256, []).append(entry)
        by_exam.pop("", None)
        for fingerprint, group in by_exam.items():
            self._by_fingerprint[fingerprint] = self._proven(fingerprint, group)

    def ids_of(self, entry: ResultEntry) -> Ids | None:
        """The ids behind a scorecard's letters, in their order; None if nothing proves them."""
        ids = self._by_fingerprint.get(entry.ids_sha256) if entry.ids_sha256 else self._from_dataset(entry)
        return ids if ids is not None and len(ids) == entry.n else None

    def _proven(self, fingerprint: str, group: Sequence[ResultEntry]) -> Ids | None:
        for entry in {(entry.dataset, entry.split, entry.sample): entry for entry in group}.values():
            ids = self._from_dataset(entry)
            if ids is not None and ids_sha256(ids) == fingerprint:
                return ids
        seen: set[str] = set()
        for entry in group:
            if entry.predictions is None or entry.predictions_sha256 in seen:
                continue
            seen.add(entry.predictions_sha256)
            ids = ids_in(entry.predictions)
            if len(ids) == entry.n and ids_sha256(ids) == fingerprint:
                return ids
        return None

    def _from_dataset(self, entry: ResultEntry) -> Ids | None:
        opened = self._datasets.get(entry.dataset)
        if opened is None or entry.split not in opened.splits():
            return None
        key = entry.dataset, entry.split
        if key not in self._questions:
            self._questions[key] = opened.questions(entry.split)
        questions = self._questions[key]
        try:
            asked = choose(questions, Sample.parse(entry.sample)) if entry.sample else questions
        except ConfigError:  # a sample larger than the split
            return None
        return tuple(question.question_id for question in asked)


ABSENT = "absent"
"""The status of a question for which no prediction was submitted."""
MAX_ANSWER = 1_000
"""Characters of an answer: a longer one does not answer these questions, but may quote someone's page."""
MAX_PAGE_ID = 100
MAX_OFFSET = 2**31 - 1
_OUTCOMES = {letter: outcome for outcome, letter in OUTCOME_LETTERS.items()}
_PLAIN = ("latency_s", "input_tokens", "output_tokens", "cost_usd", "energy_j", "status")
_DECODER = msgspec.json.Decoder(Prediction)


class Cut(NamedTuple):
    """Counts of values left out of predictions because they were far too large."""

    answers: int = 0
    passages: int = 0

    def plus(self, other: Cut) -> Cut:
        """Both together."""
        return Cut(self.answers + other.answers, self.passages + other.passages)


def _json(value: object) -> str:
    return msgspec.json.encode(to_plain(value), order="sorted").decode()


def scorecard_row(card: ScoreCard, entry: ResultEntry, n_predictions: int, *, hidden: bool) -> dict[str, Any]:
    """One scorecard as a row. For a hidden split, every field that could reveal a single question's gold stays empty.

    A team's contact is left out: it was given for this repository, not to be collected from a public dataset.
    """
    facts: dict[str, Any] = to_plain(card.system)
    facts.pop("contact")
    facts.pop("asks_network", None)  # there only where a system asks for hosts, and a table has one set of columns
    bounds: dict[str, float | None] = {}
    for name in INTERVALS:
        low, high = card.intervals.get(name, (None, None))
        bounds |= {f"{name}_low": low, f"{name}_high": high}
    row: dict[str, Any] = {
        "dataset": entry.dataset_id.name,
        "version": str(entry.dataset_id.version),
        "content_hash": entry.dataset_id.hash8,
        "split": card.split,
        "sample": card.sample,
        **facts,
        "n": card.counts.n,
        **to_plain(card.counts),
        **card.counts.rates(),
        **bounds,
        "interval_method": card.interval_method,
        "harness": card.harness,
        "answers_rule": card.answers_rule,
        "made_on": card.made_on,
        "scored_at": card.scored_at,
        "outcomes": card.outcomes,
        "overlap": card.overlap,
        "n_overlap": card.overlap.count("1"),
        "lessons": list(card.lessons),
        **{name: _json(getattr(card, name)) for name in JSON_COLUMNS},
        **{f"exam_{part}_sha256": card.exam.get(part, "") for part in PRINTS},
        "system_sha256": card.system_sha256,
        "predictions_sha256": card.predictions_sha256,
        "n_predictions": n_predictions,
    }
    return row | dict.fromkeys(REVEALS_GOLD) if hidden else row


def _read(path: Path, *, responses: bool) -> Iterator[Prediction]:
    """The predictions of a file that was scored: its bytes are known, so that one quick strict decoder is enough."""
    for number, line in numbered_lines(path):
        try:
            prediction = _DECODER.decode(line)
        except RecordError as error:
            raise DataError(f"{path}:{number}", f"{error.where}: {first_line(error)}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{path}:{number}", f"is not a prediction: {error}", "run `edu-rag score` again") from None
        if not responses and prediction.response is not None:
            prediction = replace(prediction, response=None)  # else a file's responses would be held all at once
        yield prediction


def _possible(passages: Sequence[Passage]) -> list[Passage]:
    """The passages that some page could have; a start of 10**19 fits no column."""
    return [passage for passage in passages if len(passage[0]) <= MAX_PAGE_ID and passage[2] <= MAX_OFFSET]


def _short(answer: str | None) -> str | None:
    return answer[:MAX_ANSWER] + "…" if answer is not None and len(answer) > MAX_ANSWER else answer


def _passages(per_row: Sequence[Sequence[Passage]]) -> pa.Array:
    import pyarrow as pa

    flat = [passage for row in per_row for passage in row]
    offsets = pa.array([0, *accumulate(map(len, per_row))], pa.int32())
    page_ids, starts, ends = zip(*flat, strict=True) if flat else ((), (), ())
    spans = pa.StructArray.from_arrays(
        [pa.array(page_ids, pa.string()), pa.array(starts, pa.int64()), pa.array(ends, pa.int64())],
        names=["page_id", "start", "end"],
    )
    return pa.ListArray.from_arrays(offsets, spans)


def prediction_table(
    entry: ResultEntry, card: ScoreCard, ids: Ids | None, *, responses: bool
) -> tuple[pa.Table | None, Cut]:
    """The rows of one scorecard's predictions in order of question id, and the cuts; None if there are no rows.

    With ids, one row for every question of the exam, those without a prediction as `absent`, each with its outcome.
    Without ids the outcome stays empty; and nothing is published of a sample, since its lines are not known. Raises
    DataError.
    """
    if entry.predictions is None or (ids is None and entry.sample is not None):
        return None, Cut()
    said = {one.question_id: one for one in _read(entry.predictions, responses=responses)}
    asked: Sequence[str] = ids if ids is not None else sorted(said)
    rows = [said.get(i) or Prediction(question_id=i, answer=None) for i in asked]
    kept = [_possible(row.passages) for row in rows]
    shared: Mapping[str, str | None] = {
        "dataset": entry.dataset_id.name,
        "version": str(entry.dataset_id.version),
        "content_hash": entry.dataset_id.hash8,
        "split": entry.split,
        "sample": entry.sample,
        "slug": entry.slug,
        "team": card.system.team,
    }
    columns: dict[str, Any] = {name: [value] * len(rows) for name, value in shared.items()}
    columns |= {"question_id": asked, "answer": [_short(row.answer) for row in rows], "passages": _passages(kept)}
    columns |= {name: [getattr(row, name) for row in rows] for name in ("confidence", *_PLAIN)}
    columns["status"] = [row.status if row.question_id in said else ABSENT for row in rows]
    columns["outcome"] = [_OUTCOMES[letter] for letter in card.outcomes] if ids is not None else [None] * len(rows)
    if responses:
        columns["response"] = [row.response for row in rows]
    cut = Cut(
        sum(row.answer is not None and len(row.answer) > MAX_ANSWER for row in rows),
        sum(len(row.passages) for row in rows) - sum(map(len, kept)),
    )
    return _table(columns, responses=responses), cut


def _table(columns: Mapping[str, Any], *, responses: bool) -> pa.Table:
    import pyarrow as pa

    schema = prediction_schema(responses=responses)
    arrays = [
        columns[field.name] if isinstance(columns[field.name], pa.Array) else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
