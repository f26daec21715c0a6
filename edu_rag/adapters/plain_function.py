"""Any function as a system: it may return a label, a text, a dict, None or a SystemAnswer, and it may be async."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from edu_rag.author_lines import returns_of
from edu_rag.serve import SystemAnswer, SystemQuestion

if TYPE_CHECKING:
    from asyncio import Runner

FIELDS = tuple(field.name for field in fields(SystemAnswer))


def answer_of(said: Any, place: str) -> Any:
    """A mapping with the fields of SystemAnswer as one, anything else unchanged.

    Raises TypeError, with the place that returned it, for other keys.
    """
    if not isinstance(said, Mapping):
        return said
    for key in said:
        if key not in FIELDS:
            close = difflib.get_close_matches(str(key), FIELDS, n=1)
            known = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(FIELDS)}"
            raise TypeError(f"{place}: the dict has an unknown key {str(key)[:80]!r}: {known}")
    if "answer" not in said:
        raise TypeError(
            f"{place}: the dict has no key 'answer': return {{'answer': 'b'}}, or None for \"I don't know\""
        )
    given = {key: value for key, value in said.items() if value is not None}
    return SystemAnswer(**{"answer": None, **given})


class _Loop:
    """One event loop for all questions: an async client stays bound to the loop that it was first used in."""

    def __init__(self) -> None:
        self._runner: Runner | None = None

    def wait_for(self, said: Awaitable[Any]) -> Any:
        import asyncio

        async def awaited() -> Any:
            return await said

        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(awaited())


def any_callable(function: Callable[[SystemQuestion], Any]) -> Callable[[SystemQuestion], Any]:
    """Make a function for `serve` of one that returns a label, a text, None, a dict or a SystemAnswer.

    A dict has the key `answer`, and may have the other fields of SystemAnswer. An async function is awaited.
    """
    loop, place = _Loop(), returns_of(function) or "the function"

    def answer(question: SystemQuestion) -> Any:
        said = function(question)
        return answer_of(loop.wait_for(said) if inspect.isawaitable(said) else said, place)

    answer.__wrapped__ = function  # type: ignore[attr-defined] # `serve` names the lines of the author's own function
    return answer
