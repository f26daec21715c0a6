"""Generated questions for a quiz: without the remark, the situation or the message that their type puts before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edu_rag.errors import DataError


def plain_lines(lines: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines with their field `plain` as the question; the first of those with one text.

    Raises DataError for a line without it.
    """
    seen: set[str] = set()
    for line in lines:
        plain = line.get("plain")
        if not isinstance(plain, str) or not plain.strip():
            what = "has no field `plain`, as questions of `edu-rag questions generate` have"
            raise DataError(line["id"], what, "leave out --plain")
        if plain in seen:
            continue
        seen.add(plain)
        yield {key: value for key, value in line.items() if key != "plain"} | {"question": plain}
