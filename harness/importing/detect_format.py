"""Detect the format of a file of predictions, by its first bytes and lines rather than by its name."""

from __future__ import annotations

import codecs
import re
import shlex
from pathlib import Path
from typing import Literal, get_args

from edu_rag.errors import DataError, SubmissionError
from edu_rag.files.foreign_table import SUFFIXES
from edu_rag.files.jsonl import JsonFaultError, parse_json

Format = Literal["csv", "json", "inspect", "lm-eval", "trec"]
FORMATS: tuple[Format, ...] = get_args(Format)
_HEAD_BYTES = 4_000_000
_LINE_BYTES = 100_000
"""Bytes in which the first line of predictions nearly always ends; to decode all of the head takes 7 ms."""
_BLANK = "\ufeff \t\r\n"
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_INSPECT = re.compile(r'\{\s*"version"\s*:\s*[0-9]+\s*,\s*"status"\s*:\s*"[a-z]*"\s*,\s*"eval"\s*:')
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OFFICE = "[Content_Types].xml"


def _head(path: Path, n_bytes: int = _HEAD_BYTES) -> bytes:
    try:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else "is not a regular file"
            raise DataError(path, what, "give one file: a table, a .eval log, or samples_*.jsonl")
        with path.open("rb") as stream:
            return stream.read(n_bytes)
    except OSError as error:
        raise DataError(path, error.strerror or str(error), "give a readable file") from None


def _text(raw: bytes) -> str:
    """The beginning as text, for a look at it: the readers decode strictly."""
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(name, "replace")
    return raw.decode("utf-8", "replace")


def detected(path: Path) -> Format:
    """The format of a file; a table where nothing else fits. Raises DataError if it cannot be read."""
    raw = _head(path)
    if raw.startswith(_PARQUET):
        raise DataError(path, "is a Parquet file", "save it as CSV or as JSON lines")
    if raw.startswith(_ZIP) and _OFFICE.encode() not in raw[:10_000]:  # the reader of tables knows Excel's
        return "inspect"
    text = _text(raw).lstrip()
    if not text:
        raise DataError(path, "is empty", "give a file with an answer a row")
    if text[0] in "[{":
        return "inspect" if _INSPECT.match(text) else "lm-eval" if _begins_with_sample(text) else "json"
    if SUFFIXES.get(path.suffix.casefold()) in ("json", "lines"):
        return "json"
    return "trec" if _is_run(text.partition("\n")[0]) else "csv"


def _is_run(line: str) -> bool:
    from harness.importing.trec_run import RankedPage, run_line  # here: predictions of ours are JSON

    return isinstance(run_line("", line), RankedPage)


def require_own_form(path: Path) -> None:
    """Raise SubmissionError for a file of another program, with the command that reads it.

    Faults of single lines, and files that no command reads, are for the reader of predictions to report.
    """
    if not path.is_file():
        return
    raw = _head(path, _LINE_BYTES)
    first = _first_line(raw if "\n" in _text(raw).lstrip(_BLANK) else _head(path))
    if not first or first.startswith("#"):
        return
    if not (first[0] == "{" and first.rstrip().endswith("}")) and _is_run(first):
        remedy = f"`edu-rag score --run {shlex.quote(str(path))}` scores it"
        raise SubmissionError(path, "is a retrieval run, which ranks pages", remedy)
    what = "does not begin like JSON lines" if first[0] != "{" else _fault_of_names(first)
    if what:
        remedy = "`edu-rag import FILE --dataset DIR --submission SLUG` reads tables and files of other programs"
        raise SubmissionError(path, f"is not in the form of predictions: it {what}", remedy)


def _first_line(raw: bytes) -> str:
    """The first line that is not blank; '' for bytes that are no text, unless they may be a log in an archive."""
    text = _text(raw)
    is_text = not raw.startswith(_GZIP) and "\0" not in text
    return text.lstrip(_BLANK).partition("\n")[0] if is_text or raw.startswith(_ZIP) else ""


def _fault_of_names(line: str) -> str:
    """Why a JSON object is not a prediction of ours; '' for one that may be, and for a line that is not JSON."""
    try:
        values = parse_json(line.encode("utf-8", "surrogatepass"))
    except JsonFaultError:
        return ""
    is_foreign = isinstance(values, dict) and "question_id" not in values
    return "has no question_id on its first line" if is_foreign else ""


def _begins_with_sample(text: str) -> bool:
    """Whether JSON lines, or an array on several lines, begin with a sample of lm-eval."""
    from harness.importing.lm_eval_samples import is_sample  # here: scoring looks at the form alone

    if text.startswith("["):
        head = text[:100_000]
        return re.match(r'\[\s*\{\s*"doc_id"\s*:', head) is not None and '"resps"' in head
    try:
        return is_sample(parse_json(text.partition("\n")[0].encode("utf-8", "surrogatepass")))
    except JsonFaultError:
        return False
