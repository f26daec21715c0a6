"""A judge compared with people: agreement, Cohen's kappa and Spearman's rho with intervals, precision and recall.

Human verdicts are JSON lines: `question`, `gold` (texts), `answer`, `system` (several joined by `+`), `human` (true,
false, or null where people called the question improper: left out), `set`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.jsonl import read_records
from edu_rag.processes.budget import items_within_budget
from edu_rag.processes.worker_threads import in_order
from harness.judging.free_text import FreeTextJudge, Grade

N_RESAMPLES = 10_000
MAX_EXAMPLES = 50
LEAST_KAPPA = 0.6
"""A judge below it is marked; where "substantial" agreement begins (Landis & Koch 1977, table 2)."""
MIN_QUESTIONS = 20
_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanVerdict:
    """One answer and what people said of it; `human` null: they called the question improper."""

    question: str
    gold: tuple[str, ...]
    answer: str
    system: str
    human: bool | None
    set: str = ""


class JudgedPair(NamedTuple):
    """A human verdict and a judge's grade of the same answer."""

    verdict: HumanVerdict
    grade: Grade

    @property
    def says_correct(self) -> bool:
        """Whether the judge says `correct`; every other outcome, and an unjudged answer, is not."""
        return self.grade.outcome == "correct"

    @property
    def level(self) -> float:
        """The judge's score, or 1 and 0 for `correct` and not; an unjudged answer has 0, as a no has."""
        if self.grade.outcome == "unjudged":
            return 0.0
        return float(self.says_correct) if self.grade.score is None else self.grade.score


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A judge against people on n answers, each either correct or not.

    `both`: both say correct; `judge_only`: only the judge; `human_only`: only people; `neither`. A rate whose
    denominator is 0 is None. `kappa_interval`: 95 %, bootstrap over questions; None if kappa is undefined. `spearman`:
    of the judge's scores (1 and 0 of a judge without scores) with people's yes and no.
    """

    n: int
    n_questions: int
    both: int
    judge_only: int
    human_only: int
    neither: int
    kappa_interval: tuple[float, float] | None
    spearman: float | None = None
    spearman_interval: tuple[float, float] | None = None

    @property
    def agreement(self) -> float | None:
        """Share of answers on which judge and people say the same."""
        return (self.both + self.neither) / self.n if self.n else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (Cohen 1960, equation 1)."""
        return cohen_kappa(self.both, self.judge_only, self.human_only, self.neither)

    @property
    def precision(self) -> float | None:
        """Share of right ones among the answers that the judge calls correct."""
        said = self.both + self.judge_only
        return self.both / said if said else None

    @property
    def recall(self) -> float | None:
        """Share of the right answers that the judge calls correct."""
        right = self.both + self.human_only
        return self.both / right if right else None

    @property
    def human_accuracy(self) -> float | None:
        """Share of answers that people call correct."""
        return (self.both + self.human_only) / self.n if self.n else None

    @property
    def judge_accuracy(self) -> float | None:
        """Share of answers that the judge calls correct."""
        return (self.both + self.judge_only) / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditGroup:
    """One group of answers (`all`, a system or a set): the judged ones alone, and all with unjudged as not correct."""

    attribute: str
    value: str
    n_unjudged: int
    judged: Agreement
    all: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """The findings of an audit, for a page or a table.

    `facts`: the judge's own (`FreeTextJudge.facts`). `files`: name and SHA-256 of each file of human verdicts.
    `sample`: how many answers were drawn (None: all), with `seed`. `n_improper`: left out, since people called the
    question improper. `groups`: `all` first, then by set, then by system. `by_judge`: how often each judge of the chain
    gave which outcome. `differences`: answers on which judge and people differ, at most MAX_EXAMPLES, in a fixed order.
    `unjudged`: the reasons why answers stayed unjudged, with their numbers. `least_kappa`: the bound below which a
    judge is marked.
    """

    facts: Mapping[str, Any]
    files: tuple[tuple[str, str], ...]
    sample: int | None
    seed: int
    n_improper: int
    groups: tuple[AuditGroup, ...]
    by_judge: Mapping[str, Mapping[str, int]]
    unjudged: Mapping[str, int]
    differences: tuple[JudgedPair, ...]
    least_kappa: float = LEAST_KAPPA


def cohen_kappa(both: int, judge_only: int, human_only: int, neither: int) -> float | None:
    """(p_o - p_e) / (1 - p_e) of a 2 x 2 table (Cohen 1960, equation 1); None if p_e is 1, or the table empty."""
    n = both + judge_only + human_only + neither
    yes, no = (both + judge_only) * (both + human_only), (human_only + neither) * (judge_only + neither)
    by_chance = yes + no  # n * n * p_e, in whole numbers
    return (n * (both + neither) - by_chance) / (n * n - by_chance) if n * n > by_chance else None


def kappa_interval(tables: Sequence[tuple[int, int, int, int]], seed: int = 0) -> tuple[float, float] | None:
    """The 95 % percentile interval of kappa, by resampling clusters: one 2 x 2 table a question.

    `tables`: (both, judge_only, human_only, neither) of each question. A resample is a multinomial draw over the
    distinct tables. Resamples in which kappa is undefined are left out; None if none is defined.
    """
    import numpy as np

    cells = sorted(Counter(tables).items())
    if not cells:
        return None
    shapes, times = np.array([table for table, _ in cells]), np.array([n for _, n in cells])
    drawn = np.random.default_rng(seed).multinomial(times.sum(), times / times.sum(), size=N_RESAMPLES)
    both, judge_only, human_only, neither = (drawn @ shapes).T.astype(float)
    n = both + judge_only + human_only + neither
    by_chance = (both + judge_only) * (both + human_only) + (human_only + neither) * (judge_only + neither)
    defined = n * n > by_chance
    if not defined.any():
        return None
    kappas = (n * (both + neither) - by_chance)[defined] / (n * n - by_chance)[defined]
    low, high = np.quantile(kappas, [0.025, 0.975])
    return round(float(low), 6), round(float(high), 6)


def _agreement(pairs: Sequence[JudgedPair]) -> Agreement:
    from harness.judging.rank_correlation import Scored, spearman, spearman_interval

    by_question: dict[str, list[int]] = {}
    scored: dict[str, list[Scored]] = {}
    for pair in pairs:
        scored.setdefault(pair.verdict.question, []).append((pair.level, bool(pair.verdict.human)))
        table = by_question.setdefault(pair.verdict.question, [0, 0, 0, 0])
        table[2 * (not pair.says_correct) + (not pair.verdict.human)] += 1
    tables = [(t[0], t[1], t[2], t[3]) for t in by_question.values()]
    both, judge_only, human_only, neither = (sum(table[i] for table in tables) for i in range(4))
    return Agreement(
        n=len(pairs),
        n_questions=len(tables),
        both=both,
        judge_only=judge_only,
        human_only=human_only,
        neither=neither,
        kappa_interval=kappa_interval(tables),
        spearman=spearman([one for answers in scored.values() for one in answers]),
        spearman_interval=spearman_interval(list(scored.values())),
    )


def kappa_mark(found: Agreement, least: float) -> str:
    """How a judge compares with the bound: `below` it, `reached` by the whole interval, else `open`.

    Where judge or people say the same of every answer, kappa says nothing: `open`. The interval of few questions is too
    narrow to reach a bound.
    """
    if found.kappa is None or found.spearman is None:
        return "open"
    if found.kappa < least:
        return "below"
    low = found.kappa_interval[0] if found.kappa_interval is not None else -1.0
    return "reached" if found.n_questions >= MIN_QUESTIONS and low >= least else "open"


def _group(attribute: str, value: str, pairs: Sequence[JudgedPair]) -> AuditGroup:
    judged = [pair for pair in pairs if pair.grade.outcome != "unjudged"]
    return AuditGroup(
        attribute=attribute,
        value=value,
        n_unjudged=len(pairs) - len(judged),
        judged=_agreement(judged),
        all=_agreement(pairs),
    )


def _groups(pairs: Sequence[JudgedPair]) -> tuple[AuditGroup, ...]:
    by_set: dict[str, list[JudgedPair]] = {}
    by_system: dict[str, list[JudgedPair]] = {}
    for pair in pairs:
        by_set.setdefault(pair.verdict.set, []).append(pair)
        for system in dict.fromkeys(pair.verdict.system.split("+")):
            by_system.setdefault(system, []).append(pair)
    parts = [_group("set", name, found) for name, found in sorted(by_set.items())]
    parts += [_group("system", name, found) for name, found in sorted(by_system.items())]
    return (_group("all", "", pairs), *parts)


def _place(verdict: HumanVerdict, seed: int) -> str:
    """A key that shuffles answers by the seed, independent of the order of the files."""
    parts = [str(seed), verdict.set, verdict.question, verdict.answer, verdict.system, *verdict.gold]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def read_human(paths: Sequence[Path]) -> list[HumanVerdict]:
    """The human verdicts of some files. Raises DataError with file, line and field, or if there is none.

    Each is read in a child with the budget of `edu_rag.processes.budget`: raises BudgetError too.
    """
    verdicts = [
        verdict for path in paths for batch in items_within_budget(_batches, path, what=path) for verdict in batch
    ]
    if not any(verdict.human is not None for verdict in verdicts):
        where = ", ".join(map(str, paths))
        raise DataError(where, "holds no human verdict", "give lines with question, gold, answer, system and human")
    return verdicts


def _batches(path: Path) -> Generator[list[HumanVerdict], None, None]:
    batch: list[HumanVerdict] = []
    for _, verdict in read_records(path, HumanVerdict):
        batch.append(verdict)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    yield batch


def audit(
    verdicts: Iterable[HumanVerdict],
    judge: FreeTextJudge,
    *,
    files: Sequence[tuple[str, str]] = (),
    sample: int | None = None,
    seed: int = 0,
    least_kappa: float = LEAST_KAPPA,
    report: Callable[[Grade], None] = lambda grade: None,
    n_workers: int = 1,
) -> JudgeAudit:
    """Grade the answers (or a seeded sample of them) and compare the grades with people's.

    `report` is called with each grade, in the order of the answers; `n_workers` are graded at a time. Raises
    ConfigError for a sample larger than the number of answers.
    """
    everything = list(verdicts)
    proper = sorted((v for v in everything if v.human is not None), key=lambda v: _place(v, seed))
    if sample is not None and sample > len(proper):
        raise ConfigError("--sample", f"is {sample:,}, but there are {len(proper):,} answers", "give a smaller one")
    pairs: list[JudgedPair] = []
    graded = in_order(lambda v: JudgedPair(v, judge.grade(v.question, v.gold, v.answer)), proper[:sample], n_workers)
    for pair in graded:
        pairs.append(pair)
        report(pair.grade)
    spoke: dict[str, dict[str, int]] = {}
    for (name, outcome), n in sorted(Counter((p.grade.judge, p.grade.outcome) for p in pairs).items()):
        spoke.setdefault(name, {})[outcome] = n
    open_ = Counter(pair.grade.reason for pair in pairs if pair.grade.outcome == "unjudged")
    differ = [p for p in pairs if p.grade.outcome != "unjudged" and p.says_correct != p.verdict.human]
    return JudgeAudit(
        facts=judge.facts(),
        files=tuple(sorted(files)),
        sample=sample,
        seed=seed,
        n_improper=len(everything) - len(proper),
        groups=_groups(pairs),
        by_judge=spoke,
        unjudged=dict(sorted(open_.items(), key=lambda item: (-item[1], item[0]))),
        differences=tuple(differ[:MAX_EXAMPLES]),
        least_kappa=least_kappa,
    )


def _rate(value: float | None) -> str:
    return "      -" if value is None else f"{value:7.3f}"


def _interval(value: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value[0]:.3f} … {value[1]:.3f}"


def _name(group: AuditGroup) -> str:
    return "all" if group.attribute == "all" else f"{group.attribute} = {group.value}"


def _table(audit: JudgeAudit, part: str) -> Iterator[str]:
    head = f"{'answers':34} {'n':>6} {'agree':>7} {'kappa':>7} {'95 %':>15} {'rho':>7} {'95 %':>15}"
    yield f"{head} {'precis.':>7} {'recall':>7} bound {audit.least_kappa:g}"
    for group in audit.groups:
        found: Agreement = getattr(group, part)
        rates = " ".join(_rate(rate) for rate in (found.agreement, found.kappa))
        ends = " ".join(_rate(rate) for rate in (found.precision, found.recall))
        rho = f"{_rate(found.spearman)} {_interval(found.spearman_interval):>15}"
        mark = kappa_mark(found, audit.least_kappa)
        yield f"{_name(group)[:34]:34} {found.n:6,} {rates} {_interval(found.kappa_interval):>15} {rho} {ends} {mark}"


def audit_lines(audit: JudgeAudit) -> Iterator[str]:
    """An audit as a readable table: the judged answers, and all of them where some are unjudged."""
    whole = audit.groups[0]
    drawn = f", a sample of {audit.sample:,} with seed {audit.seed}" if audit.sample is not None else ""
    yield f"judge      {audit.facts.get('name', 'rules')}"
    yield f"human      {', '.join(name for name, _ in audit.files)}{drawn}; {audit.n_improper:,} improper left out"
    for name, outcomes in audit.by_judge.items():
        yield f"spoke      {name}: {', '.join(f'{outcome} {n:,}' for outcome, n in outcomes.items())}"
    yield f"judged answers ({whole.judged.n:,} of {whole.all.n:,})"
    yield from _table(audit, "judged")
    if whole.n_unjudged:
        yield f"all answers, the {whole.n_unjudged:,} unjudged ones taken as not correct"
        yield from _table(audit, "all")
        for reason, n in list(audit.unjudged.items())[:5]:
            yield f"unjudged   {n:,}: {reason[:200]}"


def _agreement_values(found: Agreement) -> dict[str, Any]:
    names = (
        "n",
        "n_questions",
        "both",
        "judge_only",
        "human_only",
        "neither",
        "agreement",
        "kappa",
        "kappa_interval",
        "spearman",
        "spearman_interval",
        "precision",
        "recall",
        "human_accuracy",
        "judge_accuracy",
    )
    return {name: getattr(found, name) for name in names}


def audit_values(audit: JudgeAudit) -> dict[str, Any]:
    """An audit as JSON-ready values, rates included."""
    from edu_rag.files.typed import to_plain

    groups = [
        {"attribute": g.attribute, "value": g.value, "n_unjudged": g.n_unjudged}
        | {"mark": kappa_mark(g.judged, audit.least_kappa)}
        | {"judged": _agreement_values(g.judged), "all": _agreement_values(g.all)}
        for g in audit.groups
    ]
    differences = [
        to_plain(pair.verdict) | {"outcome": pair.grade.outcome, "reason": pair.grade.reason}
        for pair in audit.differences
    ]
    return {
        "judge": dict(audit.facts),
        "files": [list(file) for file in audit.files],
        "sample": audit.sample,
        "seed": audit.seed,
        "n_improper": audit.n_improper,
        "least_kappa": audit.least_kappa,
        "by_judge": audit.by_judge,
        "unjudged": audit.unjudged,
        "groups": groups,
        "differences": differences,
    }
