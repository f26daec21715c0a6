"""Read answers that people labelled with the context in view: files as of HaluBench, folders as of RAGTruth."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edu_rag.errors import DataError, FaultsError
from edu_rag.files.foreign_table import ForeignRow, foreign_rows, grouped
from edu_rag.files.jsonl import read_values
from edu_rag.processes.budget import items_within_budget
from harness.judging.judge_audit import HumanVerdict

Label = Literal["correct", "hallucinated", "insufficient"]
_LABELS: Mapping[str, Label] = {
    "pass": "correct",
    "correct": "correct",
    "✓": "correct",
    "fail": "hallucinated",
    "hallucinated": "hallucinated",
    "hallucinated answer": "hallucinated",
    "✗": "hallucinated",
    "insufficient": "insufficient",
    "insufficient context": "insufficient",
    "correct answer": "correct",
    "?": "insufficient",
}
"""Labels in lower case: HaluBench's two, and Mala et al.'s three (section 4.1) in words or signs."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "context": ("context", "passage"),
    "answer": ("answer", "response"),
    "label": ("label",),
}
_MAYBE: Mapping[str, tuple[str, ...]] = {"source": ("source", "source_ds", "dataset"), "system": ("system", "model")}
RESPONSES, SOURCES = "response.jsonl", "source_info.jsonl"
MAX_CONTEXT_CHARACTERS = 80_000
MAX_BYTES = 100_000_000
"""Of a table; HaluBench has 30 million."""
MEMORY_BYTES = 1_000_000_000
_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An answer to a question on a context, and what people say of it."""

    question: str
    context: str
    answer: str
    label: Label
    source: str = ""
    system: str = ""


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files behind the given paths: a RAGTruth folder has two."""
    return [file for path in paths for file in ([path / RESPONSES, path / SOURCES] if path.is_dir() else [path])]


def read_labelled(paths: Sequence[Path]) -> list[LabelledAnswer]:
    """The labelled answers of some files and folders, each read in a child with a budget (`edu_rag.processes`).

    Raises FaultsError with the faults of a file, DataError, BudgetError.
    """
    found = [
        answer
        for path in paths
        for batch in items_within_budget(
            _ragtruth if path.is_dir() else _table, path, what=path, memory_bytes=MEMORY_BYTES
        )
        for answer in batch
    ]
    if not found:
        where = ", ".join(map(str, paths))
        raise DataError(where, "holds no labelled answer", "give rows with question, context, answer and label")
    return found


def as_verdicts(answers: Iterable[LabelledAnswer]) -> list[HumanVerdict]:
    """Labelled answers for an audit of faithfulness: the context is what the answer is held against.

    Answers with insufficient context are left out of it, as questions that people call improper are.
    """
    return [
        HumanVerdict(
            question=answer.question,
            gold=(answer.context,),
            answer=answer.answer,
            system=answer.system,
            human=None if answer.label == "insufficient" else answer.label == "correct",
            set=answer.source,
        )
        for answer in answers
    ]


def _table(path: Path) -> Generator[list[LabelledAnswer], None, None]:
    faults: list[DataError] = []
    batch: list[LabelledAnswer] = []
    for row in foreign_rows(path, MAX_BYTES):
        try:
            batch.append(_of_row(row))
        except DataError as fault:
            faults.append(fault)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if faults:
        raise FaultsError(grouped(faults))
    yield batch


def _of_row(row: ForeignRow | DataError) -> LabelledAnswer:
    if isinstance(row, DataError):
        raise row
    texts = {name: _field(row, name, names) for name, names in _NAMES.items()}
    label = _LABELS.get(texts["label"].strip().casefold())
    if label is None:
        known = "PASS, FAIL, correct, hallucinated, insufficient"
        raise DataError(row.where, f"label: unknown label {texts['label'][:40]!r}", f"known are {known}")
    maybe = {name: _field(row, name, names, required=False) for name, names in _MAYBE.items()}
    return _labelled(row.where, texts | maybe, label)


def _field(row: ForeignRow, name: str, names: Sequence[str], *, required: bool = True) -> str:
    value = next((row.values[known] for known in names if row.values.get(known) is not None), None)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)  # several passages
    if isinstance(value, str) and (value.strip() or not required):
        return value
    if value is None and not required:
        return ""
    raise DataError(row.where, f"{name}: is missing, blank or not a text", f"give one of {', '.join(names)}")


def _labelled(where: str, texts: Mapping[str, str], label: Label) -> LabelledAnswer:
    if len(texts["context"]) > MAX_CONTEXT_CHARACTERS:
        raise DataError(where, f"context: is over {MAX_CONTEXT_CHARACTERS:,} characters", "shorten it")
    return LabelledAnswer(
        question=texts["question"],
        context=texts["context"],
        answer=texts["answer"],
        label=label,
        source=texts["source"],
        system=texts["system"],
    )


def _ragtruth(folder: Path) -> Generator[list[LabelledAnswer], None, None]:
    sources = {}
    for where, value in _objects(folder / SOURCES):
        sources[_text(where, value, "source_id")] = value
    batch: list[LabelledAnswer] = []
    for where, value in _objects(folder / RESPONSES):
        if value.get("quality", "good") == "good":  # others were cut short or refused
            batch.append(_of_response(where, value, sources))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    yield batch


def _objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, value in read_values(path):
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}", "is not an object", "give the dataset's own files")
        yield f"{path}:{number}", value


def _text(where: str, value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found.strip():
        raise DataError(where, f"{name}: is missing, blank or not a text", "give the dataset's own files")
    return found


def _of_response(where: str, value: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]]) -> LabelledAnswer:
    """A response of RAGTruth: hallucinated if people marked a span of it."""
    source = sources.get(_text(where, value, "source_id"))
    if source is None:
        raise DataError(where, f"source_id: is not in {SOURCES}", "give both files of one release")
    labels = value.get("labels")
    if not isinstance(labels, list):
        raise DataError(where, "labels: is not a list", "give the dataset's own files")
    info = source.get("source_info")
    if isinstance(info, dict) and isinstance(info.get("passages"), str):
        question, context = _text(where, info, "question"), info["passages"]
    else:
        question = _TASKS.get(str(source.get("task_type")), "Answer from the text.")
        context = info if isinstance(info, str) else _plain(info)
    texts = {"question": question, "context": context, "answer": _text(where, value, "response")}
    texts |= {"source": str(source.get("task_type", "")), "system": str(value.get("model", ""))}
    return _labelled(where, texts, "hallucinated" if labels else "correct")


_TASKS = {"Summary": "Summarise the text.", "Data2txt": "Describe the business from its data."}


def _plain(info: Any) -> str:
    import msgspec

    return msgspec.json.encode(info).decode()
