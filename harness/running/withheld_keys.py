"""The keys that a system was given by name, taken out of what it says: its log, its answers and its errors.

A system that means to reveal a key can write it in another form; this is for a key that an error message quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

WITHHELD = "(withheld)"
_SHORTEST = 8
"""Shorter values, such as `none` for a local server, are found in ordinary answers."""
_LOOKS_LIKE_A_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_.+=-]{20,}\Z")
_SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL")
"""HF_TOKEN and EDU_RAG_LLM_KEY have a kept prefix, and are the last things to hand to a stranger's program."""


def is_secret(name: str) -> bool:
    """Whether a variable of the environment is named like a credential."""
    return any(word in name.upper() for word in _SECRET_WORDS)


class WithheldKeys:
    """The values to take out, longest first, in the forms in which programs print them."""

    def __init__(self, values: Collection[str] = ()) -> None:
        forms = {form for value in values if len(value.strip()) >= _SHORTEST for form in _forms(value.strip())}
        self.forms = sorted(forms, key=lambda form: (-len(form), form))

    @classmethod
    def passed(cls, names: Collection[str], environment: Mapping[str, str]) -> WithheldKeys:
        """The keys among the variables that are passed: by their names, or by how their values look."""
        given = {name: environment[name] for name in names if name in environment}
        return cls([value for name, value in given.items() if is_secret(name) or _LOOKS_LIKE_A_KEY.match(value)])

    def out_of(self, said: Any) -> Any:
        """A value from JSON with WITHHELD for each key in its texts."""
        if not self.forms:
            return said
        if isinstance(said, str):
            for form in self.forms:
                said = said.replace(form, WITHHELD)
            return said
        if isinstance(said, list):
            return [self.out_of(one) for one in said]
        if isinstance(said, dict):
            return {self.out_of(name): self.out_of(one) for name, one in said.items()}
        return said

    def filtered(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same for a stream of bytes, in which a key may come in pieces: what may become one is held back."""
        forms, held = [form.encode("utf-8", "surrogateescape") for form in self.forms], b""
        for chunk in chunks:
            data = held + chunk
            for form in forms:
                data = data.replace(form, WITHHELD.encode())
            n_whole = len(data) - max((_n_begun(data, form) for form in forms), default=0)
            held = data[n_whole:]
            yield data[:n_whole]
        if held:
            yield held


NO_KEYS = WithheldKeys()


def _forms(value: str) -> set[str]:
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe="", errors="surrogateescape"),
    }


def _n_begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data begin a form."""
    return next((n for n in range(min(len(form) - 1, len(data)), 0, -1) if data.endswith(form[:n])), 0)
