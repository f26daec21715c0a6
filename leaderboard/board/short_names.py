"""Short names of systems for small tables and pictures: the model and its size go from the name into a chip."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from edu_rag.look.texts import clip, one_line
from edu_rag.scorecard.card import SystemFacts

NO_MODEL = "no model"
MAX_NAME = 36
MAX_FULL = 60
"""Characters of a name that is not shortened, because another system would have the same short one."""
MAX_CHIP = 26
MAX_READ = 300
"""Characters of a declared text that are looked at."""
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?) ?([MBmb])(?![A-Za-z0-9])")
_NOTE = re.compile(r"\s*\([^()]*\)\s*\Z")
_EDGES = " ,:;-–·"


class ShortName(NamedTuple):
    """The short name of a system, its model in a few words, and the model's size, which may be empty."""

    text: str
    chip: str
    size: str

    @property
    def label(self) -> str:
        """The name with the model's size, where a picture shows no chip."""
        return f"{self.text} · {self.size}" if self.size else self.text


def _millions(model: str) -> float:
    found = _SIZE.search(model)
    return float(found[1]) * (1000 if found[2] in "Bb" else 1) if found else 0.0


def largest_model(models: Sequence[str]) -> tuple[str, str]:
    """The largest model with a size in its name, without what follows the size; else the first one."""
    shown = [one_line(model[:MAX_READ]).rsplit("/", 1)[-1] for model in models]
    if not shown:
        return NO_MODEL, ""
    largest = max(shown, key=_millions)
    size = _SIZE.search(largest)
    if size is None:
        return clip(shown[0], MAX_CHIP), ""
    return clip(re.sub(r"[-_\s]+", " ", largest[: size.end()]), MAX_CHIP), f"{size[1]}{size[2].upper()}"


def _name(name: str, chip: str) -> str:
    """A name without the model, which the chip has, without a note in brackets, and cut at a colon if it is long."""
    text = _NOTE.sub("", name)
    # No word of only hyphens and underscores: between them, the pattern could match in too many ways.
    words = [re.escape(word) for word in re.split(r"[-_\s]+", chip) if any(map(str.isalnum, word))]
    if words:
        text = re.sub(rf"(?<!\w){r'[-_ ]*'.join(words)}(?!\w)", " ", text, flags=re.IGNORECASE)
    text = text.strip(_EDGES)
    if len(text) > MAX_NAME:
        text = text.partition(": ")[0]
    return clip(text[:1].upper() + text[1:], MAX_NAME)


def _short(system: SystemFacts) -> ShortName:
    chip, size = largest_model(system.models)
    full = one_line(system.name[:MAX_READ])
    return ShortName(_name(full, chip) or clip(full, MAX_FULL) or system.slug, chip, size)


def short_names(systems: Sequence[SystemFacts]) -> list[ShortName]:
    """The short names of the systems of one table, in their order. Two that would look the same keep their full names.

    Systems with different models may have the same name: their chips differ.
    """
    shorts = [_short(system) for system in systems]
    times = Counter((short.text, short.chip) for short in shorts)
    return [
        short if times[short.text, short.chip] == 1 else short._replace(text=clip(one_line(system.name), MAX_FULL))
        for short, system in zip(shorts, systems, strict=True)
    ]
