"""Which results may share a table: one dataset, major version, split, sample, and rules by which answers are read."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_PLAIN_RULE = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
FIRST_RULE = "answers-v2"
"""The rules of the first published board: ids of its tables do not name them. Tables of other rules do."""
MAX_RULE = 300
"""Characters of the name of the rules by which answers were read; a judge's name may be part of it."""


class TableKey(NamedTuple):
    """The properties that results of one table share."""

    name: str
    major: int
    split: str
    sample: str | None
    answers_rule: str

    @property
    def id(self) -> str:
        """A file and fragment name; '.' occurs in none of its parts, so that no two keys share one."""
        rule = None if self.answers_rule == FIRST_RULE else _rule_id(self.answers_rule)
        parts = (self.name, f"v{self.major}", self.split, self.sample, rule)
        return ".".join(part for part in parts if part is not None)


def _rule_id(rule: str) -> str:
    """A rule's name as part of a file name; one that is not plain gets a hash of all of it."""
    if _PLAIN_RULE.match(rule):
        return rule
    plain = re.sub(r"[^a-z0-9]+", "-", rule.casefold()).strip("-")[:40].strip("-")
    return f"{plain}-{hashlib.sha256(rule.encode()).hexdigest()[:8]}"
