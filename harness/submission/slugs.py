"""Slugs, the names of submissions' folders: their form, which are reserved, and which look like another."""

from __future__ import annotations

import re
from collections.abc import Collection

from edu_rag.errors import SubmissionError
from edu_rag.names import is_slug

TEMPLATE_SLUG = "template"
TEMPLATES = ("langchain", "llama-index", "haystack", "dspy", "openai", "parts")
"""Other systems to start from, as folders in that of the template."""
_RESERVED = re.compile(r"(?:template|con|prn|aux|nul|com[0-9]|lpt[0-9])\Z")
_ALIKE = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"))


def is_reserved(slug: str) -> bool:
    """Whether a slug is reserved: the template, and names that Windows does not allow."""
    return _RESERVED.match(slug) is not None


def look_of(slug: str) -> str:
    """The visual form of a slug: two slugs with the same form could be confused on the board."""
    look = slug.casefold().replace("-", "").replace("_", "")
    for seen, taken_for in _ALIKE:
        look = look.replace(seen, taken_for)
    return look


def suggested(name: str) -> str:
    """A valid slug that is close to an invalid name."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    if len(plain) < 3 or is_reserved(plain):
        return f"{plain}-system".strip("-") if plain else "my-system"
    return plain


def slug_fault(slug: str, taken: Collection[str]) -> SubmissionError | None:
    """Why a new submission cannot be called so; `taken` are the slugs that there are."""
    if not is_slug(slug):
        remedy = f"call it {suggested(slug)}"
        return SubmissionError(ascii(slug[:80]), "is not 3-40 of a-z, 0-9 and '-'", remedy)
    if is_reserved(slug):
        return SubmissionError(slug, "is a reserved name", f"call it {suggested(slug)}")
    if slug in taken:
        return SubmissionError(slug, "there is a submission of this name", "choose another name")
    alike = sorted(other for other in taken if look_of(other) == look_of(slug))
    if alike:
        what = f"could be taken for {alike[0]}, which is another submission"
        return SubmissionError(slug, what, "choose a name that differs by more than '-' and letters that look alike")
    return None
