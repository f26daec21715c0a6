"""The answer key of the shared TQA validation file, put back in step with its choices.

In that file the letters b and c, d and e, f and g of the key are exchanged against the choices wherever a question
has both (so in multiple choice and matching, never in true/false). An example: "When a rock falls from a cliff face,
the agent of erosion is usually" has gold b, water, where c is gravity. docs/real-run.md shows that the answers of
every system that reads say the same. A 2018 model's letters, made on the source itself, agree with the letters of the
file: so the texts of the choices were exchanged, not the letters. For scoring, both repairs are the same; this one
leaves the questions as they are, so that a choice that names letters itself ("both a and b") still means the order of
the source.
"""

from __future__ import annotations

import json
from pathlib import Path

EXCHANGED = {"b": "c", "c": "b", "d": "e", "e": "d", "f": "g", "g": "f"}


def mended_answer(answer: str, labels: list[str]) -> str:
    """The label that the key means: the other one of its pair where the question has both."""
    other = EXCHANGED.get(answer, answer)
    return other if other in labels else answer


def mend(source: Path, target: Path) -> int:
    """Write the questions with the mended key; return how many answers changed."""
    lines, n_changed = [], 0
    for line in source.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        answer = mended_answer(question["answer"], list(question["choices"]))
        n_changed += answer != question["answer"]
        lines.append(json.dumps(question | {"answer": answer}, ensure_ascii=False))
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return n_changed
