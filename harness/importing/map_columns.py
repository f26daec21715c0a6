"""Which column of a table holds which field of a prediction: by `--map`, or by the names that other programs use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.foreign_table import ForeignRow
from edu_rag.files.jsonl import JsonFaultError, parse_json
from edu_rag.records import Question
from edu_rag.scorecard.card import STATUSES
from harness.importing.find_question import listed_choices, plain_text
from harness.importing.foreign_answer import CHOICES, QUESTION, ForeignAnswer, dug, flat, folded, id_text, names_shown

ID_NAMES = (
    "questionid", "qid", "queryid", "id", "uid", "uuid", "customid", "exampleid", "sampleid", "itemid", "idx",
)  # fmt: skip
QUESTION_NAMES = ("question", "questiontext", "beingasked", "query", "userinput", "input", "inputs", "prompt", "text")
_CHOICES = ("choices", "options", "answerchoices", "answeroptions", "candidates")
_ONE_CHOICE = re.compile(r"(?:option|choice|opt|answer)?[a-j]\Z")
"""A column of one choice: `A`, `option_b`."""
_PREDICTION = (
    "prediction", "predictions", "predictedanswer", "predicted", "pred", "predictedlabel", "predictedchoice",
    "modelanswer", "systemanswer", "generatedanswer", "finalanswer", "parsedanswer", "extractedanswer", "actualoutput",
    "selected", "selectedanswer", "chosenanswer",
)  # fmt: skip
_ANSWER = ("answer", "answerlabel")
_RESPONSE = (
    "response", "rawresponse", "modelresponse", "output", "outputs", "rawoutput", "modeloutput", "generation",
    "generatedtext", "completion", "predictiontext",
)  # fmt: skip
_BY_TRUST = (_PREDICTION, _ANSWER, _RESPONSE)
_OWN = frozenset(("question_id", "answer", "response"))
"""The columns of predictions as we write them, where `response` is the text around the answer."""
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


def columns_in(rows: Iterable[ForeignRow]) -> list[str]:
    """The names of all columns of some rows, with dotted names for values inside of values, in order."""
    return list(dict.fromkeys(name for row in rows for name, _ in flat(row.values)))


def map_columns(rows: Sequence[ForeignRow], wished: Mapping[str, str], known: Mapping[str, Question]) -> dict[str, str]:
    """The column of each field that the rows give; of choices, also several with commas. `known` are the dataset's
    questions by id.

    Raises ConfigError for a wished column that is not in the file, DataError where no column, or more than one, can be
    the id or the answer.
    """
    names = columns_in(rows)
    place = rows[0].where.rpartition(":")[0] if rows else "file"
    for field, column in wished.items():
        if column and column not in names and not any(_cell(row, field, column) is not None for row in rows):
            close = difflib.get_close_matches(column, names, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"its columns are {names_shown(names)}"
            raise ConfigError(f"--map {field}", f"the file has no column {column[:80]!r}", remedy)
    taken = set(wished.values())
    free = {folded(name): name for name in reversed(names) if name not in taken and folded(name)}
    found = {field: column for field, column in wished.items() if column}
    guessed = dict(_guessed(free, rows, known, place, found))
    guessed |= _choices(rows, known, guessed | found, taken)
    return found | {field: column for field, column in guessed.items() if field not in wished}


def _guessed(
    free: Mapping[str, str],
    rows: Sequence[ForeignRow],
    known: Mapping[str, Question],
    place: str,
    found: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """Fields and their columns, by name alone."""
    for field, known_names in _PLAIN.items():
        name = _first(known_names, free) or _first(_with_usage(known_names, free), free)
        if name is not None:
            yield field, free[name]
    yield from _asked(free, rows, known, place, found)
    answer = found.get("answer") or _answer(free, place)
    yield "answer", answer
    texts = {name: column for name, column in free.items() if column != answer and _is_text(column, rows)}
    said = _first((*_RESPONSE, *_REASONING), texts)
    if said is not None:
        yield "response", free[said]
    status = free.get("status")
    if status is not None and all((row.values.get(status) or "ok") in STATUSES for row in rows):
        yield "status", status


def _with_usage(names: Iterable[str], free: Mapping[str, str]) -> list[str]:
    """Names of token counts deeper inside, as in `response.body.usage.prompt_tokens`."""
    ends = tuple(name for name in names if name.startswith("usage"))
    return [name for name in free if ends and name.endswith(ends)]


def _is_text(column: str, rows: Sequence[ForeignRow]) -> bool:
    """Whether a column has no objects and lists, as far as is looked at."""
    return not any(isinstance(dug(row.values, column), dict | list) for row in rows[:_ROWS_LOOKED_AT])


def _first(names: Iterable[str], free: Mapping[str, str]) -> str | None:
    return next((name for name in names if name in free), None)


def _asked(
    free: Mapping[str, str],
    rows: Sequence[ForeignRow],
    known: Mapping[str, Question],
    place: str,
    found: Mapping[str, str],
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
    """The answer's column. Raises DataError if there is none, or if it could be one of several.

    A prediction goes before an `answer`, which is then the key of a file of questions. Next to a `response`, an
    `answer` may be either, except in our own form: taken for the answer, a key would score 100 %.
    """
    predicted, answers, said = ([free[name] for name in names if name in free] for names in _BY_TRUST)
    raw = [column for column in said if folded(column).startswith("raw")]
    doubtful = [*answers[:1], *(column for column in said if column not in raw)]
    candidates = predicted or (answers[:1] if set(free.values()) >= _OWN else doubtful) or raw
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        what = f"several columns could be the answer: {names_shown(candidates)}"
        raise DataError(place, what, f"choose one, such as --map answer={candidates[-1]}")
    what = f"no column is an answer: it has {names_shown(free.values())}"
    raise DataError(place, what, "add --map answer=COLUMN")


def _choices(
    rows: Sequence[ForeignRow], known: Mapping[str, Question], found: Mapping[str, str], taken: Collection[str]
) -> dict[str, str]:
    """The column of the choices, or several with commas, if all rows have their question's choices there.

    They may be shuffled, and then a letter means another choice than in the dataset. Other columns of these names are
    not read.
    """
    names = [name for name in dict.fromkeys(name for row in rows for name in row.values) if name not in taken]
    single = [name for name in names if _ONE_CHOICE.match(folded(name)) and name != found.get("answer")]
    each = ",".join(sorted(single, key=lambda name: folded(name)[-1]))
    for column in (*(name for name in names if folded(name) in _CHOICES), *([each] if "," in each else [])):
        if _are_choices(rows, column, known, found.get("question_id", "")):
            return {CHOICES: column}
    return {}


def _are_choices(rows: Sequence[ForeignRow], column: str, known: Mapping[str, Question], id_column: str) -> bool:
    """Whether each row of a known question has its choices in a column, in any order."""
    asked = [(row, known.get(id_text(dug(row.values, id_column)))) for row in rows[:_ROWS_LOOKED_AT]]
    pairs = [(listed_choices(_cell(row, CHOICES, column)), question) for row, question in asked if question is not None]
    return bool(pairs) and all(
        sorted(map(plain_text, listed)) == sorted(map(plain_text, question.choices.values()))
        for listed, question in pairs
    )


def _cell(row: ForeignRow, field: str, column: str) -> Any:
    """The value of a field in a row; choices as a list or a map, also from several columns or a text of JSON."""
    value = row.values[column] if column in row.values else dug(row.values, column)
    if field != CHOICES:
        return value
    if value is None and "," in column:
        cells = [row.values.get(name.strip()) for name in column.split(",")]
        return [str(cell) for cell in cells if cell not in (None, "")] or None
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = parse_json(value.encode("utf-8", "surrogatepass"))
        except JsonFaultError:
            return value
    if isinstance(value, Mapping) and all(len(folded(str(label))) == 1 for label in value):
        return [value[label] for label in sorted(value, key=folded)]
    return value


def mapped(row: ForeignRow, columns: Mapping[str, str]) -> ForeignAnswer:
    """A row under the names of our fields; times in milliseconds become seconds."""
    values = dict(flat(row.values))
    found = {
        field: values[column] if column in values and field != CHOICES else _cell(row, field, column)
        for field, column in columns.items()
    }
    if is_in_ms(columns.get("latency_s", "")):
        found["latency_ms"] = found.pop("latency_s")
    return ForeignAnswer(row.where, found)


def is_in_ms(column: str) -> bool:
    """Whether a column's name says that its times are in milliseconds."""
    return folded(column).endswith(("ms", "milliseconds"))


def unused(rows: Sequence[ForeignRow], columns: Mapping[str, str]) -> list[str]:
    """The outermost columns that are not read."""
    read = {column.partition(".")[0] for column in columns.values()} | set(columns.values())
    read |= {name.strip() for name in columns.get(CHOICES, "").split(",")}
    return [name for name in dict.fromkeys(name for row in rows for name in row.values) if name not in read]
