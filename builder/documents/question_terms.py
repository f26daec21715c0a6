"""The licence of a dataset's questions: that of `[questions]` of build.toml, as a manifest keeps it, or TQA's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

# One line, with something on it: the card and `export` print it.
Line = Annotated[
    str, Meta(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*\Z")
]
TQA_LICENCE, TQA_LICENCE_URL = "CC BY-NC 3.0", "https://creativecommons.org/licenses/by-nc/3.0/"
"""The default where a build was given no terms and has questions of TQA."""
LICENCE, NOTE = "question_licence", "question_note"
"""The names in the manifest's `sources`, which has them only if they were given."""
EXTRA_COLUMNS = "extra_columns"
"""The name in `sources` of the columns that the gold keeps as `extra`, which are there only if it has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTerms:
    """[questions]: the licence of questions and golds, and a note on them. Without them, their source is unknown."""

    licence: Line | None = None
    note: Line | None = None

    def as_sources(self) -> dict[str, str]:
        """What the manifest's `sources` say of them."""
        return {name: value for name, value in ((LICENCE, self.licence), (NOTE, self.note)) if value is not None}


def terms_in(sources: Mapping[str, Any]) -> QuestionTerms | None:
    """The terms in a manifest's `sources`; None if the build was given none."""
    licence, note = (str(sources[name]) if name in sources else None for name in (LICENCE, NOTE))
    return QuestionTerms(licence=licence, note=note) if licence or note else None


def licence_of(terms: QuestionTerms | None, *, has_tqa: bool) -> str | None:
    """The licence of the questions: as given, or the address of TQA's where no terms were given; None if unknown."""
    if terms is not None:
        return terms.licence
    return TQA_LICENCE_URL if has_tqa else None


def without_terms(sources: Mapping[str, Any]) -> dict[str, Any]:
    """The `sources` without the terms."""
    return {name: value for name, value in sources.items() if name not in (LICENCE, NOTE)}
