"""A host that a system may ask for by name: its exact name and its port."""

from __future__ import annotations

import re
from typing import NamedTuple

from edu_rag.errors import RecordError

HTTPS = 443
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_TOP = r"(?!0x)[a-z][a-z0-9-]{0,61}[a-z0-9]"
"""The last label begins with a letter, so that no name is an address: resolvers read 127.1 and 0x7f.1 as numbers."""
_HOST = re.compile(rf"(?P<name>(?:{_LABEL}\.)+{_TOP})(?::(?P<port>[1-9][0-9]{{0,4}}))?\Z", re.ASCII)
_MAX_NAME, _MAX_PORT = 253, 65_535


class NamedHost(NamedTuple):
    """One host. Two spellings of a name are two hosts: names are compared character by character."""

    name: str
    port: int

    @classmethod
    def parse(cls, text: str, where: str = "allow") -> NamedHost:
        """From `api.example.org` or `api.example.org:8443`. Raises RecordError."""
        found = _HOST.match(text)
        port = int(found["port"] or HTTPS) if found else 0
        if found is None or len(found["name"]) > _MAX_NAME or port > _MAX_PORT:
            remedy = "write the name in small letters, such as api.example.org or api.example.org:8443"
            raise RecordError(where, f"{text[:80]!a} is not a host's full name", remedy)
        return cls(found["name"], port)

    def __str__(self) -> str:
        return self.name if self.port == HTTPS else f"{self.name}:{self.port}"
