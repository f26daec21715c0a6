"""Warnings for the maintainer before merging: copied answers, confusable names, broken runs, odd citations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path

from edu_rag.errors import EduRagError
from edu_rag.look.lookalikes import name_key, resembles
from edu_rag.names import is_slug
from edu_rag.processes.budget import within_budget
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction, ScoreCard, SystemFacts
from harness.exam import Exam
from harness.pulls.changed_files import accounts_of, is_among
from harness.pulls.sandboxed_runs import SandboxedRun
from harness.pulls.scored_tables import PullTable
from harness.rescoring.rerun import FAILED, said
from harness.submission.folder import Submission, open_submission
from harness.submission.predictions_file import read_predictions

MAX_SAME = 0.99
"""Of the answers of another submission: from here on a reader should ask where they come from."""
MAX_MISSING = 0.05
"""Of the questions unparseable, or failed, that need no word."""
MIN_SAME_AGAIN = 0.9
"""Of the answers of a re-run: models on other machines differ in a few."""
MIN_GIVEN = 20
"""Answers below which that many may be the same by chance."""
MAX_SHOWN = 5
MAX_READ = 20
"""Predictions files of others that are read because their outcomes are nearly the same."""
_NO_ANSWER = (FAILED, "abstained")
_MAX_SUBMISSIONS = 2_000


def of_names(mine: SystemFacts, base: Path, cards: Sequence[ScoreCard]) -> Iterator[str]:
    """Teams, names and slugs of the base that look like this one's; the team's own systems do not count."""
    known = [*_settings(base), *((card.system.slug, card.system.name, card.system.team) for card in cards)]
    others = [one for one in known if one[0] != mine.slug and name_key(one[2]) != name_key(mine.team)]
    teams = {team for _, _, team in others if resembles(mine.team, team)}
    slugs = {slug for slug, _, _ in others if resembles(mine.slug, slug)}
    same = {name for _, name, _ in others if name_key(name) == name_key(mine.name) or resembles(mine.name, name)}
    alike = {
        "the team's name looks like that of another team": teams,
        "the folder's name looks like that of another team's": slugs,
        "the system's name is, or looks like, that of another team's": same,
    }
    for what, names in alike.items():
        for name in sorted(names)[:MAX_SHOWN]:
            yield f"{what}: {name!r}"


def of_claims(mine: SystemFacts, base: Path, author: str | None, baselines_team: str) -> Iterator[str]:
    """A team name that another submitter uses already: the new system would be counted for that team."""
    if name_key(mine.team) == name_key(baselines_team):
        yield "the team is that of the project's own baselines: merge it only if a maintainer opened this"
        return
    others = [one for one in _submissions(base) if name_key(one.settings.team) == name_key(mine.team)]
    known = {account for one in others for account in accounts_of(base, one.slug)}
    if any(one.slug != mine.slug for one in others) and not is_among(author, known):
        who = author or "nobody known"
        yield f"the team {mine.team!r} has submissions already, and {who} is not among their accounts"


def _settings(base: Path) -> Iterator[tuple[str, str, str]]:
    """Slug, name and team of each submission of the base."""
    for one in _submissions(base):
        yield one.slug, one.settings.name, one.settings.team


def _submissions(base: Path) -> Iterator[Submission]:
    """The submissions of the base, in order of slug; unreadable ones are left out."""
    folder = base / "submissions"
    for path in sorted(folder.iterdir())[:_MAX_SUBMISSIONS] if folder.is_dir() else ():
        if is_slug(path.name):
            try:
                yield open_submission(path)
            except EduRagError:
                continue


def runs_of_team(team: str, cards: Sequence[ScoreCard]) -> int:
    """The number of a team's results in the base, under any spelling of its name."""
    return sum(name_key(card.system.team) == name_key(team) for card in cards)


def readings(exam: Exam, predictions: Mapping[str, Prediction]) -> list[str]:
    """The reading of each prediction of an exam, in the order of the exam's questions."""
    return [said(question, predictions.get(question.question_id)) for question in exam.questions]


def _is_given(question: Question, answer: str) -> bool:
    """Whether the text is a real answer, so that two equal ones mean something."""
    return answer not in _NO_ANSWER and not (question.choices and answer.startswith(("'", '"')))


def of_copies(
    table: PullTable, exam: Exam, mine: Sequence[str], card: ScoreCard, base: Path, others: Sequence[ScoreCard]
) -> Iterator[str]:
    """Submissions of the base that gave the very same answers, or nearly, as `mine` (see `readings`), scored on `card`.

    The same answers have the same outcomes: `others` (results on these questions) say whose predictions need be read.
    """
    given = [_is_given(question, answer) for question, answer in zip(exam.questions, mine, strict=True)]
    n_read = 0
    for other in sorted(others, key=lambda other: other.system.slug):
        slug = other.system.slug
        path = _file(table, base, slug)
        if slug == card.system.slug or path is None or not _alike(card.outcomes, other.outcomes, given):
            continue
        if n_read == MAX_READ:
            yield f"the outcomes of more than {MAX_READ} submissions are nearly its own: not all answers were compared"
            return
        n_read += 1
        try:
            theirs = _readings_in(path, exam)
        except EduRagError:
            continue
        if _alike(mine, theirs, given):
            same = sum(a == b for a, b, is_given in zip(mine, theirs, given, strict=True) if is_given)
            yield f"{same:,} of its {sum(given):,} answers are those of the submission {slug!r}"


def _readings_in(path: Path, exam: Exam) -> list[str]:
    """As `readings`, of a predictions file. Raises EduRagError."""
    return within_budget(_read_all, path, exam, what=path)


def _read_all(path: Path, exam: Exam) -> list[str]:
    return readings(exam, read_predictions(path, exam.known))


def _alike(mine: Sequence[str], theirs: Sequence[str], given: Sequence[bool]) -> bool:
    """Whether nearly all are the same; of the given answers too, so that leaving some out does not hide a copy."""
    same = [a == b for a, b in zip(mine, theirs, strict=True)]
    n_given, n_same = sum(given), sum(compress(same, given))
    return sum(same) > MAX_SAME * len(same) or (n_given >= MIN_GIVEN and n_same > MAX_SAME * n_given)


def _file(table: PullTable, base: Path, slug: str) -> Path | None:
    """The base's predictions of a system for a table: its own, or those of the whole split."""
    for name in (table.name, table.split):
        path = base / "submissions" / slug / "predictions" / table.folder / f"{name}.jsonl"
        if is_slug(slug) and path.is_file() and not path.is_symlink():
            return path
    return None


def of_outcomes(card: ScoreCard) -> Iterator[str]:
    """Broken runs: questions that failed, answers that name no single choice."""
    counts = card.counts
    for outcome, remedy in (("unparseable", "`edu-rag check` shows some"), ("failed", "`response` says why")):
        n = getattr(counts, outcome)
        if n > MAX_MISSING * counts.n:
            yield f"{n:,} of {counts.n:,} questions are {outcome}: {remedy}"


def of_rerun(asked: SandboxedRun) -> Iterator[str]:
    """A system that does not give the answers that were submitted for it."""
    if asked.n_same < MIN_SAME_AGAIN * asked.n:
        yield f"only {asked.n_same:,} of {asked.n:,} answers were the same when the system was asked again"


def of_citations(predictions: Mapping[str, Prediction], lengths: Mapping[str, int]) -> Iterator[str]:
    """How many cited passages cannot exist, by the lengths of the pages."""
    n = sum(end > lengths.get(page, -1) for one in predictions.values() for page, _, end in one.passages)
    if n:
        yield f"{n:,} cited passage(s) cannot exist: `edu-rag check` shows some"
