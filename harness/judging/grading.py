"""The grading of a split: its rules, its chain of judges of free text by name, and their names on the scorecard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError, SubmissionError
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, Verdict
from harness.judging import crag_compat, free_text, outcomes
from harness.judging.free_text import FreeTextJudge, Grade, Rules, Unjudged, UnjudgedError
from harness.reading.answers import RULE as CHOICE_RULE


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


def open_audited(name: str, cache: Path | None = None) -> FreeTextJudge:
    """The judge that `judge audit --judge` names: as `open_judge`, or a claim metric, which is audited alone.

    Raises ConfigError.
    """
    from harness.judging.claims.claim_graders import CLAIM_GRADERS
    from harness.judging.judge_cache import CachedJudge

    names = [part.strip() for part in name.split(",")]
    graders = [part for part in names if part in CLAIM_GRADERS]
    if not graders:
        unknown = next((part for part in names if part not in JUDGES), None)
        if unknown is not None:
            known = ", ".join((*JUDGES, *CLAIM_GRADERS))
            raise ConfigError("--judge", f"unknown judge {unknown[:60]!r}", f"known are {known}")
        return open_judge(name, cache)
    if len(names) > 1:
        raise ConfigError("--judge", f"{graders[0]} is audited alone", f"give --judge {graders[0]}")
    judge = CLAIM_GRADERS[graders[0]]()
    return JudgeChain([CachedJudge(judge, cache) if cache else judge])


def open_judge(name: str, cache: Path | None = None, *, rules_first: bool = True) -> FreeTextJudge:
    """The chain that a name such as `rules` or `model` stands for; `free-text-v2` comes first unless others rule.

    With `cache` a judge's grades are kept in that file. Raises ConfigError for an unknown name, or a judge without its
    settings.
    """
    names = [part.strip() for part in name.split(",")]
    for part in names:
        if part not in JUDGES:
            raise ConfigError("--judge", f"unknown judge {part[:60]!r}", f"known are {', '.join(JUDGES)}")
    others = [JUDGES[part]() for part in dict.fromkeys(names) if part != "rules"]
    first: list[FreeTextJudge] = [Rules()] if rules_first else []
    if cache and others:
        from harness.judging.judge_cache import CachedJudge

        others = [CachedJudge(judge, cache) for judge in others]
    return JudgeChain([*first, *others])


Judging = Callable[[Question, Gold, Prediction | None, FreeTextJudge | None], Verdict]
EDU_RAG = "edu-rag"
RULES: Mapping[str, Judging] = {EDU_RAG: outcomes.judge, "crag-compat": crag_compat.judge}
"""The rule sets that `--rules` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """The rules and the judge of one scoring."""

    rules: str = EDU_RAG
    judge: FreeTextJudge = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise SubmissionError("--rules", f"unknown rules {self.rules[:60]!r}", f"known are {', '.join(RULES)}")


def open_grading(rules: str, judge: str, cache: Path | None = None) -> Grading:
    """The grading that `--rules`, `--judge` and `--judge-cache` ask for. Raises ConfigError or SubmissionError."""
    opened = open_judge(judge, cache, rules_first=rules == EDU_RAG)
    return Grading(rules=rules, judge=opened)


class Tally:
    """A judge that counts the outcomes of each judge."""

    def __init__(self, judge: FreeTextJudge) -> None:
        self._judge = judge
        self.counts: Counter[tuple[str, str]] = Counter()

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """The grade of the judge inside."""
        grade = self._judge.grade(question, gold, answer)
        self.counts[grade.judge, grade.outcome] += 1
        return grade

    def facts(self) -> Mapping[str, Any]:
        """The facts of the judge inside, with the counts by judge and outcome."""
        by_judge: dict[str, dict[str, int]] = {}
        for (judge, outcome), n in sorted(self.counts.items()):
            by_judge.setdefault(judge, {})[outcome] = n
        return dict(self._judge.facts()) | {"counts": by_judge}


def grade_all(
    questions: Sequence[Question], gold: Mapping[str, Gold], predictions: Mapping[str, Prediction], grading: Grading
) -> tuple[list[Verdict], Mapping[str, Any]]:
    """One verdict for every question, in their order, and `ScoreCard.judges` (empty if no question is free text).

    Raises UnjudgedError with all answers that no judge could grade.
    """
    tally, judging = Tally(grading.judge), RULES[grading.rules]
    verdicts: list[Verdict] = []
    unjudged: list[Unjudged] = []
    for question in questions:
        question_id = question.question_id
        try:
            verdicts.append(judging(question, gold[question_id], predictions.get(question_id), tally))
        except UnjudgedError as error:
            unjudged += [Unjudged(question_id, open_.reason) for open_ in error.unjudged]
    n_free_text = sum(question.kind == "free_text" for question in questions)
    if unjudged:
        raise UnjudgedError(unjudged, verdicts, n_free_text)
    return verdicts, tally.facts() if n_free_text else {}


def answers_rule_of(questions: Sequence[Question], grading: Grading) -> str:
    """The name of the rules on scorecards and boards: results under different rules never share a table."""
    kinds = {question.kind for question in questions}
    if grading.rules != EDU_RAG:
        return f"{crag_compat.RULE}{_by(grading.judge)}"
    rules = [CHOICE_RULE] if kinds - {"free_text"} or not kinds else []
    rules += [f"{free_text.RULE}{_by(grading.judge)}"] if "free_text" in kinds else []
    return " + ".join(rules)


def _by(judge: FreeTextJudge) -> str:
    name = judge.facts().get("name", "")
    return f" by {name}" if name else ""
