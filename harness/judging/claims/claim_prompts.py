"""The prompts of the claims judge: one versioned file a step, with untrusted text that cannot leave its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.judging.judge_model import JudgePrompt, neutral, template
from harness.reading.wrappers import without_thought

STEPS: Mapping[str, str] = {
    "claims": "claims-v1",
    "support": "support-v1",
    "relevant": "relevant-v1",
    "asked": "asked-v1",
    "nuggets": "nuggets-v1",
    "assigned": "assigned-v1",
    "correctness-1": "correctness-1-v1",
    "correctness-2": "correctness-2-v1",
    "correctness-3": "correctness-3-v1",
}
"""Each step and the version of its prompt: a changed prompt is a new version."""
_COUNTED = {"claims": "claim", "nuggets": "nugget"}
"""The lists whose items a reply counts, and the tag of one item."""
_PLACE = re.compile(r"\{([a-z]+)\}")
_KEY = re.compile(r"(\"\s*):")


def neutral_json(text: str) -> str:
    """As `neutral`, and nothing in it can be read as a JSON object with keys: a judge that copies it gives no value."""
    return _KEY.sub(r"\1 -", neutral(text))


def plain_answer(text: str) -> str:
    """A text of a system without its thoughts."""
    return without_thought(text) or text


def numbered(texts: Sequence[str]) -> str:
    """Texts as one line: `(1) … (2) …`. A text may hold such a number too: only for lists that no reply counts."""
    return " ".join(f"({i}) {neutral_json(text)}" for i, text in enumerate(texts, 1))


def tagged(texts: Sequence[str], tag: str) -> str:
    """Texts as one line: `<claim_1>…</claim_1> <claim_2>…`; neutral text holds no tag, so none adds an item."""
    return " ".join(f"<{tag}_{i}>{neutral_json(text)}</{tag}_{i}>" for i, text in enumerate(texts, 1))


def step_prompt(step: str, **values: str | Sequence[str] | int) -> JudgePrompt:
    """The request of a step. A text is made neutral, a list is numbered or tagged, a number stays."""
    form = template(STEPS[step])
    filled = {name: _written(name, value) for name, value in values.items()}
    return JudgePrompt(form.system, _PLACE.sub(lambda found: filled[found[1]], form.user))


def _written(name: str, value: str | Sequence[str] | int) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return neutral_json(value)
    return tagged(value, _COUNTED[name]) if name in _COUNTED else numbered(value)


def prompt_facts(steps: Sequence[str]) -> Mapping[str, Any]:
    """The version and SHA-256 of the prompts of some steps, and one hash over them."""
    forms = [template(STEPS[step]) for step in sorted(steps)]
    whole = hashlib.sha256("".join(form.sha256 for form in forms).encode()).hexdigest()
    return {"prompts": {form.version: form.sha256 for form in forms}, "prompts_sha256": whole}
