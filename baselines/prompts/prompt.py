"""Prompts as versioned files, filled so that no page, question or choice can break out of its place.

A prompt file has sections that start with a line `=== system` or `=== user`. Its markers are {question}, {choices},
{labels}, {context} and {answer}. A prompt whose wording changes is a new file with a new `-vN`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from edu_rag.errors import ConfigError
from edu_rag.prompt_text import harmless as harmless
from edu_rag.prompt_text import prompt_sections
from edu_rag.serve import SystemQuestion

_MARKER = re.compile(r"\{(question|choices|labels|context|answer)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPrompt:
    """A prompt ready for a model: the instruction (may be empty), the request, and the prompt that it was made from."""

    system: str
    user: str
    made_from: str

    @property
    def plain(self) -> str:
        """The prompt as one text, for models that have no chat template."""
        return f"{self.system}\n\n{self.user}" if self.system else self.user


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: its name (with version), its SHA-256, and its sections with unfilled markers."""

    name: str
    sha256: str
    system: str
    user: str

    @property
    def id(self) -> str:
        """`name@hash8`, which answers record as their prompt."""
        return f"{self.name}@{self.sha256[:8]}"

    def fill(self, question: SystemQuestion, context: str = "", answer: str = "") -> FilledPrompt:
        """Fill all markers in one pass: inserted text is never searched for markers."""
        values = {
            "question": harmless(question.text),
            "choices": " | ".join(f"{label}. {harmless(text)}" for label, text in question.choices.items()),
            "labels": ", ".join(question.choices),
            "context": harmless(context),
            "answer": harmless(answer),
        }
        system, user = (_MARKER.sub(lambda found: values[found[1]], part) for part in (self.system, self.user))
        return FilledPrompt(system=system, user=user, made_from=self.id)


def load_prompt(name: str) -> Prompt:
    """The prompt of this name. Raises ConfigError naming the ones there are."""
    folder = resources.files(__package__ or "baselines.prompts")
    names = sorted(item.name.removesuffix(".txt") for item in folder.iterdir() if item.name.endswith(".txt"))
    if name not in names:
        raise ConfigError(f"prompt {name}", "there is no such prompt", f"known are {', '.join(names)}")
    raw = folder.joinpath(f"{name}.txt").read_bytes()
    sections = prompt_sections(raw)
    if "user" not in sections:
        raise ConfigError(f"prompt {name}", "has no section `=== user`", "add it")
    return Prompt(
        name=name,
        sha256=hashlib.sha256(raw).hexdigest(),
        system=sections.get("system", ""),
        user=sections["user"],
    )
