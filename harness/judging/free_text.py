"""Grade free text against accepted texts: the rules that need no judge (`free-text-v2`), and a judge's interface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from edu_rag.errors import SubmissionError
from edu_rag.scorecard.card import Verdict
from harness.reading.abstentions import firmly_abstains
from harness.reading.answers import MAX_CHARACTERS
from harness.reading.folding import fold_article, fold_punctuation, fold_writing
from harness.reading.wrappers import before_next_question, unwrap, without_thought

RULE = "free-text-v2"
JUDGED = ("correct", "incorrect", "abstained", "unparseable")
_LEAD = re.compile(
    r"[#*_ ]*(?:(?:the|my) )?(?:(?:final|correct|short) )?answer[*_]*(?: is\b:?|:)[*_]* *(?=\S)", re.IGNORECASE
)
_CLAUSE = re.compile(r"[.,;:!?](?= |$)| - |\bbut\b")
_APOLOGY = re.compile(r"(?:i'm |i am )?(?:very |so )?sorry|unfortunately|i apologi[sz]e")
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_NO_VALUE = frozenset({"nan", "null"})
"""Texts that mean a lost value, in a gold or an answer; they are never accepted texts."""


class Grade(NamedTuple):
    """A judge's outcome for one answer, its reason, and which judge gave it.

    `unjudged` is not an outcome; no scorecard is written while there is one. `score`: from 1 to 5, of judges that give
    one.
    """

    outcome: Literal["correct", "incorrect", "abstained", "unparseable", "unjudged"]
    reason: str
    judge: str
    score: float | None = None


class FreeTextJudge(Protocol):
    """A judge: decides whether a free-text answer is right."""

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """Grade an answer to a question against the accepted texts. Never raises because of their content."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """The facts needed to grade the same way again, in plain values, without addresses or keys."""
        ...


class Unjudged(NamedTuple):
    """A question whose answer no judge could grade, and why."""

    question_id: str
    reason: str


class UnjudgedError(SubmissionError):
    """Answers that no judge could grade: the scorecard is not made. `verdicts` are those of the other questions."""

    def __init__(self, unjudged: Sequence[Unjudged], verdicts: Sequence[Verdict], n_free_text: int) -> None:
        first = unjudged[0]
        what = (
            f"{len(unjudged):,} of {n_free_text:,} free-text answers are unjudged, so there is no score "
            f"(first {first.question_id}: {first.reason})"
        )
        failed = first.reason.startswith("the judge")
        remedy = (
            "fix that and run the command again: finished grades are kept"
            if failed
            else "add --judge model (`edu-rag score --help`)"
        )
        super().__init__("free text", what, f"{remedy}; --verdicts FILE lists them")
        self.unjudged, self.verdicts, self.n_free_text = tuple(unjudged), tuple(verdicts), n_free_text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unjudged, self.verdicts, self.n_free_text)

    def rows(self) -> list[dict[str, str]]:
        """Every question as a line of `--verdicts`, in order of id; the outcome of these is `unjudged`."""
        rows = [{"question_id": v.question_id, "outcome": str(v.outcome), "reason": v.reason} for v in self.verdicts]
        rows += [{"question_id": u.question_id, "outcome": "unjudged", "reason": u.reason} for u in self.unjudged]
        return sorted(rows, key=lambda row: row["question_id"])


def _same(text: str, accepted: str) -> bool:
    folded = fold_article(accepted)
    # A text of signs alone folds to nothing: then its writing decides.
    return fold_article(text) == folded if folded else fold_writing(text) == fold_writing(accepted)


def _holds(answer: str, accepted: str) -> bool:
    """Whether the answer contains an accepted text as whole words.

    This is not a verdict, but a reason to ask a judge.
    """
    folded = fold_article(accepted)
    return bool(folded) and re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", fold_punctuation(answer)) is not None


def only_abstains(text: str) -> bool:
    """Whether each clause says "I don't know", apologies aside.

    `I don't know; Lyon?` does not: where a hedge made a wrong guess free, and a judge paid the right one, guessing
    behind one would pay.
    """
    clauses = [clause.strip() for line in text.splitlines() for clause in _CLAUSE.split(fold_writing(line))]
    said = [clause for clause in clauses if fold_punctuation(clause) and not _APOLOGY.fullmatch(clause)]
    return bool(said) and all(map(firmly_abstains, said))


def abstains(text: str, gold: Sequence[str]) -> bool:
    """Whether a text only says "I don't know", and this is not an accepted text nor holds one."""
    accepted = _with_value(gold)
    return only_abstains(text) and not any(firmly_abstains(other) or _holds(text, other) for other in accepted)


def _with_value(gold: Sequence[str]) -> list[str]:
    return [text for text in gold if fold_article(text) not in _NO_VALUE]


def _readings(answer: str) -> list[str]:
    """The answers inside the wrappers, each without a lead such as `Answer:` at its beginning."""
    texts = [text.strip() for text in unwrap(before_next_question(answer))]
    return [text[lead.end() :] if (lead := _LEAD.match(text)) else text for text in texts]


def _match(text: str, gold: Sequence[str]) -> str | None:
    """How a text equals an accepted one, in words; None if it equals none."""
    for number, accepted in enumerate(gold):
        if _same(text, accepted):
            return "the gold answer" if number == 0 else f"alias {number} of the gold answer"
    from harness.judging.quantities import quantity_of  # here: most datasets have no free text

    said = quantity_of(text)
    if said is not None and said in map(quantity_of, gold):
        return f"the gold answer's {said.kind}, written differently"
    return None


def _equal(answer: str, gold: Sequence[str]) -> str | None:
    as_written = _match(answer, gold)
    if as_written is not None:
        return as_written
    matches = [_match(text, gold) for text in _readings(answer)]
    return matches[0] if all(matches) else None


def _says_opposite(text: str, gold: Sequence[str]) -> bool:
    said = {fold_article(reading) for reading in _readings(text)}
    return len(said) == 1 and {_OPPOSITE.get(fold_article(accepted)) for accepted in gold} == said


def grade_by_rules(gold: Sequence[str], answer: str) -> Grade:
    """`free-text-v2` on one answer and its accepted texts; `unjudged` where only a judge can tell.

    A text that merely holds an accepted one within other words is never correct by rule.
    """
    if len(answer) > MAX_CHARACTERS:
        return Grade("unparseable", f"over {MAX_CHARACTERS:,} characters", "rules")
    text = without_thought(answer)
    if text is None:
        return Grade("unparseable", "a thought that does not end", "rules")
    if not fold_writing(text):
        return Grade("abstained", "says nothing", "rules")
    if abstains(text, gold):
        return Grade("abstained", "says that it does not know", "rules")
    accepted = _with_value(gold)
    found = _equal(text, accepted)
    if found is not None:
        return Grade("correct", f"rules: {found}", "rules")
    if _says_opposite(text, accepted):
        return Grade("incorrect", "rules: the opposite of the gold answer", "rules")
    return Grade("unjudged", "none of the accepted texts, and the rules cannot tell more", "rules")


class Rules:
    """The rules as a judge: they grade exact cases, and leave the rest."""

    name = "rules"

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """Grade by `free-text-v2`; the question does not matter to it."""
        return grade_by_rules(gold, answer)

    def facts(self) -> Mapping[str, Any]:
        """The version of the rules."""
        return {"judge": self.name, "rule": RULE}
