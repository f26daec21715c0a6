"""Markdown for a job's summary: strangers' words are put in code spans, where they are neither markup nor commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edu_rag.look.texts import clip, one_line

MAX_WORDS = 300
_CUT = "\n\n*The report is cut here: the rest is in the JSON file.*\n"


def code(words: object, limit: int = MAX_WORDS) -> str:
    """A stranger's words as one code span of at most `limit` characters.

    Inside one neither Markdown, HTML, links, @mentions, #references nor :emoji: mean anything. A backtick would end it
    and becomes an apostrophe. The job's runner reads `::command::` and `##[command]` from all output.
    """
    # Cut before it is looked at: a stranger's text may be as long as a file.
    text = clip(one_line(str(words)[: 4 * limit]), limit).replace("`", "'").replace("::", ": :").replace("##[", "## [")
    return f"`{text}`" if text else "(nothing)"


def cell(words: object, limit: int = 80) -> str:
    """As `code`, for a table's cell: there a bar parts cells even inside of code."""
    return code(words, limit).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table, with its first column to the left and the others to the right; a blank line after it."""
    lines = [list(head), ["---", *("---:" for _ in head[1:])], *(list(map(str, row)) for row in rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def prose_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table of sentences: every column to the left."""
    lines = [list(head), ["---" for _ in head], *(list(map(str, row)) for row in rows)]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def ours(lines: Iterable[str]) -> list[str]:
    """Lines of a terminal report, which hold only our words and numbers, unchanged."""
    return ["```text", *(one_line(line).replace("`", "'") for line in lines), "```", ""]


def within(text: str, n_bytes: int) -> str:
    """A text cut at a line's end to at most so many bytes of UTF-8; it says that it was cut."""
    if len(text.encode()) <= n_bytes:
        return text
    room = text.encode()[: n_bytes - len(_CUT.encode()) - 8].decode("utf-8", "ignore")
    kept = room[: room.rfind("\n")]
    # A code block that is left open would swallow the note.
    return kept + ("\n```" if kept.count("```") % 2 else "") + _CUT
