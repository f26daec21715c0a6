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
_LOOKS_LIKE_A_KEY = re.compile(r"(?!.*://)(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_.+=/:-]{20,}\Z")
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
        self._bytes = [form.encode("utf-8", "surrogateescape") for form in self.forms]
        self._found = re.compile(b"|".join(map(re.escape, self._bytes)))

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

    def out_of_name(self, name: str) -> str:
        """A host's name with WITHHELD for each key, in any case: clients write names in small letters."""
        return re.sub("|".join(map(re.escape, self.forms)), WITHHELD, name, flags=re.IGNORECASE) if self.forms else name

    def filtered(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same for a stream of bytes, in which a key may come in pieces: what may become one is held back."""
        if not self.forms:
            yield from chunks
            return
        held = b""
        for chunk in chunks:
            whole, held = self._whole_and_rest(held + chunk)
            yield whole
        if held:
            yield self._found.sub(WITHHELD.encode(), held)

    def _whole_and_rest(self, data: bytes) -> tuple[bytes, bytes]:
        """Bytes without their keys, and the end of the data, unchanged, if it may become a key or a longer one."""
        parts, at, longest = list[bytes](), 0, max(map(len, self._bytes))
        for found in self._found.finditer(data):
            if found.start() > len(data) - longest and found.start() >= self._rest_at(data, at):
                break
            parts += [data[at : found.start()], WITHHELD.encode()]
            at = found.end()
        end = self._rest_at(data, at)
        return b"".join([*parts, data[at:end]]), data[end:]

    def _rest_at(self, data: bytes, at: int) -> int:
        """Where the end of the data begins, from `at` on, that may become a key."""
        return len(data) - max(_n_begun(data[at:], form) for form in self._bytes)


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
