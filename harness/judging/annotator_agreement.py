"""Two people's labels of the same answers compared: Mala et al.'s three labels (section 4.1), Cohen's kappa.

The paper has one annotator. Two files of annotations (docs/try.md) show how far its labels depend on the person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.files.annotated import ANSWER_LABELS, Annotation

LABELS = tuple(ANSWER_LABELS)
N_RESAMPLES = 10_000
Key = tuple[str, str, str, str, str, str | None]


class AnnotatorAgreement(NamedTuple):
    """`counts[i][j]`: answers with label i by the first and j by the second person; answers that one alone labelled.

    `kappa` is None if it is undefined (both used one and the same label only); `interval` is its 95 % interval.
    """

    counts: tuple[tuple[int, ...], ...]
    n_questions: int
    first_only: int
    second_only: int
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def n(self) -> int:
        """Answers that both labelled."""
        return sum(map(sum, self.counts))

    @property
    def n_same(self) -> int:
        """Answers with the same label."""
        return sum(row[i] for i, row in enumerate(self.counts))


def _labels(annotations: Sequence[Annotation]) -> dict[Key, int]:
    """The last label of each answer."""
    found: dict[Key, int] = {}
    for one in annotations:
        said = one.reply
        key = said.dataset, said.question_id, said.question, said.page_input, said.system, said.answer
        found[key] = LABELS.index(one.label)
    return found


def _kappas(tables: Any) -> Any:
    """Cohen's kappa (1960, equation 1) of tables (…, 3, 3) of counts; NaN where it is undefined."""
    import numpy as np

    n = tables.sum((-2, -1))
    same = np.trace(tables, axis1=-2, axis2=-1)
    by_chance = (tables.sum(-1) * tables.sum(-2)).sum(-1)
    left = n * n - by_chance
    return np.divide(n * same - by_chance, left, out=np.full(np.shape(n), np.nan), where=left > 0)


def agreement(first: Sequence[Annotation], second: Sequence[Annotation], seed: int = 0) -> AnnotatorAgreement:
    """How far two people agree on the answers that both labelled; the last label of an answer counts.

    The interval is a percentile bootstrap over questions (10,000 resamples); resamples without a kappa are left out.
    """
    import numpy as np

    ours, theirs = _labels(first), _labels(second)
    by_question: dict[tuple[str, ...], Any] = {}
    for key in ours.keys() & theirs.keys():
        by_question.setdefault(key[:3], np.zeros((3, 3)))[ours[key], theirs[key]] += 1
    tables = np.array([by_question[question] for question in sorted(by_question)]).reshape(-1, 3, 3)
    counts = tables.sum(0)
    kappa = float(_kappas(counts))
    return AnnotatorAgreement(
        counts=tuple(tuple(map(int, row)) for row in counts.tolist()),
        n_questions=len(tables),
        first_only=len(ours.keys() - theirs.keys()),
        second_only=len(theirs.keys() - ours.keys()),
        kappa=None if np.isnan(kappa) else round(kappa, 6),
        interval=_interval(tables, seed),
    )


def _interval(tables: Any, seed: int) -> tuple[float, float] | None:
    import numpy as np

    n = len(tables)
    if n == 0:
        return None
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES)
    kappas = _kappas(np.tensordot(drawn.astype(float), tables, axes=1))
    kappas = kappas[~np.isnan(kappas)]
    if not len(kappas):
        return None
    low, high = np.quantile(kappas, [0.025, 0.975])
    return round(float(low), 6), round(float(high), 6)


def agreement_values(found: AnnotatorAgreement) -> Mapping[str, Any]:
    """The agreement for `--json`."""
    return {
        "n": found.n,
        "questions": found.n_questions,
        "same": found.n_same,
        "kappa": found.kappa,
        "kappa_interval": found.interval,
        "first_only": found.first_only,
        "second_only": found.second_only,
        "labels": LABELS,
        "counts": found.counts,
    }


def agreement_lines(found: AnnotatorAgreement) -> Iterator[str]:
    """The agreement as text."""
    one_alone = f"{found.first_only:,} by the first person alone, {found.second_only:,} by the second"
    yield f"{found.n:,} answers to {found.n_questions:,} questions labelled by both; {one_alone}"
    if found.n == 0:
        return
    yield f"same label       {found.n_same:,} of {found.n:,} ({found.n_same / found.n:.3f})"
    interval = "" if found.interval is None else f" ({found.interval[0]:.2f} … {found.interval[1]:.2f})"
    yield "Cohen's kappa    " + ("undefined: one label only" if found.kappa is None else f"{found.kappa:.2f}{interval}")
    yield f"{'first, then second':20} " + " ".join(f"{label:>20}" for label in LABELS)
    for label, row in zip(LABELS, found.counts, strict=True):
        yield f"{label:20} " + " ".join(f"{n:20,}" for n in row)
