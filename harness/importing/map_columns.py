"""Which column of a table holds which field of a prediction: by `--map`, or by the names that other programs use."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.foreign_table import Row
from edu_rag.scorecard.card import STATUSES
from harness.importing.foreign_answer import QUESTION, ForeignAnswer, flat, folded, id_text, names_shown

ID_NAMES = (
    "questionid", "qid", "queryid", "id", "uid", "uuid", "exampleid", "sampleid", "itemid", "idx",
)  # fmt: skip
QUESTION_NAMES = ("question", "questiontext", "query", "userinput", "input", "prompt", "text")
_PREDICTION = (
    "prediction", "predictedanswer", "predicted", "pred", "modelanswer", "systemanswer", "generatedanswer",
    "finalanswer", "parsedanswer", "extractedanswer", "predictedlabel", "predictedchoice",
)  # fmt: skip
_ANSWER = ("answer", "answerlabel", "selected", "selectedanswer", "choice")
_RESPONSE = (
    "response", "rawresponse", "modelresponse", "output", "rawoutput", "modeloutput", "generation", "generatedtext",
    "completion", "predictiontext",
)  # fmt: skip
_REASONING = ("rationale", "reasoning", "explanation", "cot", "thought")
_PLAIN: Mapping[str, Sequence[str]] = {
    "confidence": ("confidence", "conf", "probability", "prob"),
    "passages": ("passages",),
    "latency_s": (
        "latencys", "latencyms", "latency", "latencyseconds", "durations", "durationms", "duration", "elapseds",
        "elapsedms", "elapsed", "elapsedtime", "responsetime", "responsetimems", "seconds", "times", "timems",
    ),
    "input_tokens": (
        "inputtokens", "prompttokens", "ninputtokens", "tokensin", "usageprompttokens", "usageinputtokens",
    ),
    "output_tokens": (
        "outputtokens", "completiontokens", "noutputtokens", "tokensout", "usagecompletiontokens", "usageoutputtokens",
    ),
    "cost_usd": ("costusd", "cost", "priceusd", "totalcost"),
    "energy_j": ("energyj",),
    "error": ("error", "errormessage", "exception"),
}  # fmt: skip
"""Names of columns as `folded`, the best first."""
_ROWS_LOOKED_AT = 1_000


def columns_in(rows: Iterable[Row]) -> list[str]:
    """The names of all columns of some rows, with dotted names for values inside of values, in order."""
    return list(dict.fromkeys(name for row in rows for name, _ in flat(row.values)))


def map_columns(rows: Sequence[Row], wished: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """The column of each field that the rows give. `known` are the ids of the dataset's questions.

    Raises ConfigError for a wished column that is not in the file, DataError where no column, or more than one, can be
    the id or the answer.
    """
    names = columns_in(rows)
    place = rows[0].where.rpartition(":")[0] if rows else "file"
    for field, column in wished.items():
        if column and column not in names:
            close = difflib.get_close_matches(column, names, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"its columns are {names_shown(names)}"
            raise ConfigError(f"--map {field}", f"the file has no column {column[:80]!r}", remedy)
    taken = set(wished.values())
    free = {folded(name): name for name in reversed(names) if name not in taken and folded(name)}
    found = {field: column for field, column in wished.items() if column}
    guessed = dict(_guessed(free, rows, known, place, found))
    return found | {field: column for field, column in guessed.items() if field not in wished}


def _guessed(
    free: Mapping[str, str], rows: Sequence[Row], known: Collection[str], place: str, found: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Fields and their columns, by name alone."""
    by_name = {field: free[name] for field, names in _PLAIN.items() if (name := _first(names, free)) is not None}
    yield from by_name.items()
    yield from _asked(free, rows, known, place, found)
    answer = found.get("answer") or _answer(free, place)
    yield "answer", answer
    said = _first((*_RESPONSE, *_REASONING), {name: column for name, column in free.items() if column != answer})
    if said is not None:
        yield "response", free[said]
    status = free.get("status")
    if status is not None and all(row.values.get(status) in STATUSES for row in rows):
        yield "status", status


def _first(names: Iterable[str], free: Mapping[str, str]) -> str | None:
    return next((name for name in names if name in free), None)


def _asked(
    free: Mapping[str, str], rows: Sequence[Row], known: Collection[str], place: str, found: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The columns that name the question: the id column with most known ids, and the text of the question."""
    ids = [free[name] for name in ID_NAMES if name in free]
    looked_at = [dict(flat(row.values)) for row in rows[:_ROWS_LOOKED_AT]]
    n_known = {column: sum(id_text(values.get(column)) in known for values in looked_at) for column in ids}
    if ids:
        yield "question_id", max(ids, key=lambda column: n_known[column])  # the first of equal ones
    text = _first(QUESTION_NAMES, free)
    if text is not None:
        yield QUESTION, free[text]
    if not ids and text is None and not {"question_id", QUESTION} & found.keys():
        remedy = "add --map question_id=COLUMN"
        raise DataError(place, f"no column is a question's id or text: it has {names_shown(columns_in(rows))}", remedy)


def _answer(free: Mapping[str, str], place: str) -> str:
    """The answer's column. A prediction goes before an `answer`, which is then the key of a file of questions."""
    for names, one_alone in ((_PREDICTION, True), (_ANSWER, False), (_RESPONSE, True)):
        there = [free[name] for name in names if name in free]
        if len(there) > 1 and one_alone:
            what = f"several columns could be the answer: {names_shown(there)}"
            raise DataError(place, what, f"choose one, such as --map answer={there[0]}")
        if there:
            return there[0]
    what = f"no column is an answer: it has {names_shown(free.values())}"
    raise DataError(place, what, "add --map answer=COLUMN")


def mapped(row: Row, columns: Mapping[str, str]) -> ForeignAnswer:
    """A row under the names of our fields; times in milliseconds become seconds."""
    values = dict(flat(row.values))
    found = {field: values.get(column) for field, column in columns.items()}
    if is_in_ms(columns.get("latency_s", "")):
        found["latency_ms"] = found.pop("latency_s")
    return ForeignAnswer(row.where, found)


def is_in_ms(column: str) -> bool:
    """Whether a column's name says that its times are in milliseconds."""
    return folded(column).endswith(("ms", "milliseconds"))


def unused(rows: Sequence[Row], columns: Mapping[str, str]) -> list[str]:
    """The outermost columns that are not read."""
    read = {column.partition(".")[0] for column in columns.values()} | set(columns.values())
    return [name for name in dict.fromkeys(name for row in rows for name in row.values) if name not in read]
