"""The judges of free text by name, and a chain of them: the first that reaches a verdict decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError
from harness.judging.free_text import FreeTextJudge, Grade, Rules


class JudgeChain:
    """Judges in order, each asked where those before it cannot tell."""

    def __init__(self, judges: Sequence[FreeTextJudge]) -> None:
        self.parts = tuple(judges)

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The first grade that is not unjudged; else the last judge's reason."""
        grade = Grade("unjudged", "no judge was asked", "none")
        for judge in self.parts:
            grade = judge.grade(question, gold, answer)
            if grade.outcome != "unjudged":
                break
        return grade

    def facts(self) -> Mapping[str, Any]:
        """The judges' facts in order, and in `name` the names of those that have one: models, with their prompts."""
        chain = [dict(judge.facts()) for judge in self.parts]
        names = [str(facts["name"]) for facts in chain if "name" in facts]
        return {"chain": chain} | ({"name": ", ".join(names)} if names else {})


def is_offline(judge: FreeTextJudge) -> bool:
    """Whether a judge only applies rules: it needs no server, and keeps no state between questions."""
    return isinstance(judge, Rules) or (isinstance(judge, JudgeChain) and all(map(is_offline, judge.parts)))


def _model() -> FreeTextJudge:
    from harness.judging.judge_model import JudgeSettings, ModelJudge

    return ModelJudge(JudgeSettings.from_environment())


JUDGES: Mapping[str, Callable[[], FreeTextJudge]] = {"rules": Rules, "model": _model}


def open_judge(name: str, cache: Path | None = None, *, rules_first: bool = True) -> FreeTextJudge:
    """The chain that a name such as `rules` or `model` stands for; `free-text-v2` comes first unless others rule.

    With `cache` a judge's grades are kept in that file. Raises ConfigError for an unknown name, or a judge without its
    settings.
    """
    from harness.judging.cache import CachedJudge

    names = [part.strip() for part in name.split(",")]
    for part in names:
        if part not in JUDGES:
            raise ConfigError("--judge", f"unknown judge {part[:60]!r}", f"known are {', '.join(JUDGES)}")
    others = [JUDGES[part]() for part in dict.fromkeys(names) if part != "rules"]
    first: list[FreeTextJudge] = [Rules()] if rules_first else []
    return JudgeChain([*first, *(CachedJudge(judge, cache) if cache else judge for judge in others)])
