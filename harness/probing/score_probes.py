"""Score probes: how the score changes without pages, with other pages, or with shuffled choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.records import LABELS, Question
from edu_rag.scorecard.card import OUTCOME_LETTERS, OUTCOMES, Counts, Prediction
from harness.judging.outcomes import judge
from harness.probing.probe_files import ProbeAnswers, probe_answers
from harness.probing.probe_questions import REPEAT, permute
from harness.probing.probe_rates import position_p, positions_of, stability_of, wilson
from harness.reading.answers import read_answer

if TYPE_CHECKING:
    from edu_rag.gold import Gold
    from harness.exam import Exam
    from harness.submission.run_record import ProbeRun


def _letters(questions: Sequence[Question], gold: Mapping[str, Gold], predictions: Mapping[str, Prediction]) -> str:
    verdicts = (judge(q, gold[q.question_id], predictions.get(q.question_id)) for q in questions)
    return "".join(OUTCOME_LETTERS[verdict.outcome] for verdict in verdicts)


def _reading(question: Question, prediction: Prediction | None) -> str:
    """The reading of an answer: a label, `abstained`, `unparseable` or `failed`."""
    if prediction is None or prediction.status != "ok":
        return "failed"
    if prediction.answer is None:
        return "abstained"
    reading = read_answer(prediction.answer, question.choices)
    return reading.label or reading.kind


def _readings(questions: Sequence[Question], predictions: Mapping[str, Prediction]) -> dict[str, str]:
    return {q.question_id: _reading(q, predictions.get(q.question_id)) for q in questions}


def _counts(letters: str) -> Counts:
    found = Counter(letters)
    return Counts(**{str(outcome): found[OUTCOME_LETTERS[outcome]] for outcome in OUTCOMES})


def _compared(answered: ProbeAnswers, letters: str) -> dict[str, Any]:
    """The figures of every probe: counts, rates with the score's interval, and the difference to the main run."""
    from edu_rag.statistics import paired, rate_intervals

    lessons = [question.lesson for question in answered.questions]
    main = _letters(answered.questions, answered.gold, answered.main)
    counts, difference = _counts(letters), paired(letters, main, lessons)
    return {
        "n": counts.n,
        "sample": answered.run.sample,
        "seed": answered.run.seed,
        "counts": {outcome: getattr(counts, outcome) for outcome in OUTCOMES},
        "score": counts.score,
        "interval": list(rate_intervals(letters, lessons)[0]["score"]),
        "main_score": _counts(main).score,
        "difference": difference.difference,
        "difference_interval": [difference.low, difference.high],
        "p": difference.p,
    }


def _supported(answered: ProbeAnswers, letters: str) -> dict[str, Any]:
    """The scores on the questions with evidence, where pages can help or mislead; empty if there are none."""
    main = _letters(answered.questions, answered.gold, answered.main)
    held = [i for i, question in enumerate(answered.questions) if question.question_id in answered.supported]
    scores = [_counts("".join(run[i] for i in held)).score for run in (letters, main)]
    return {"supported": {"n": len(held), "score": scores[0], "main_score": scores[1]}} if held else {}


def _noisy(answered: ProbeAnswers) -> dict[str, Any]:
    letters = _letters(answered.questions, answered.gold, answered.predictions)
    return _compared(answered, letters) | _supported(answered, letters)


def _plain(answered: ProbeAnswers) -> dict[str, Any]:
    return _compared(answered, _letters(answered.questions, answered.gold, answered.predictions))


def _share(holds: Sequence[bool]) -> tuple[float, list[float]]:
    return sum(holds) / len(holds), list(wilson(sum(holds), len(holds)))


def _rejecting(answered: ProbeAnswers) -> dict[str, Any]:
    """With `rejection`: the share of questions that the system abstained from, as it should."""
    letters = _letters(answered.questions, answered.gold, answered.predictions)
    main = _letters(answered.questions, answered.gold, answered.main)
    share, interval = _share([letter == "a" for letter in letters])
    return _compared(answered, letters) | {
        "rejection": share,
        "rejection_interval": interval,
        "main_rejection": main.count("a") / len(main),
    }


def _without(answered: ProbeAnswers) -> dict[str, Any]:
    letters = _letters(answered.questions, answered.gold, answered.predictions)
    return _rejecting(answered) | _supported(answered, letters)


def _permuted(answered: ProbeAnswers) -> dict[str, Any]:
    """With `consistency` and the places that were chosen, by number of choices.

    Answers are read against the choices as they were given, and the label then goes back to the choice that it was.
    Consistent is the same choice in both runs, among questions whose order changed and which either run answered.
    """
    given = {q.question_id: permute(q, answered.run.seed) for q in answered.questions}
    asked = [one.question for one in given.values()]
    read, before = _readings(asked, answered.predictions), _readings(answered.questions, answered.main)
    gold = {i: replace(answered.gold[i], answer=one.given(answered.gold[i].answer or "")) for i, one in given.items()}
    after = {i: given[i].original.get(label, label) for i, label in read.items()}
    same = [
        after[i] == before[i]
        for i, one in given.items()
        if one.changed and (after[i] in one.original or before[i] in one.original)
    ]
    labels = [(list(q.choices), read[q.question_id]) for q in asked]
    positions = positions_of([(len(known), known.index(label)) for known, label in labels if label in known])
    consistency = dict(zip(("consistency", "consistency_interval"), _share(same), strict=True)) if same else {}
    return (
        _compared(answered, _letters(asked, gold, answered.predictions))
        | consistency
        | {
            "n_compared": len(same),
            "positions": positions,
            "position_p": position_p(positions, answered.run.seed),
        }
    )


_RATES: Mapping[str, Callable[[ProbeAnswers], dict[str, Any]]] = {
    "no-context": _without,
    "evidence-only": _plain,
    "other-pages": _rejecting,
    "half-noise": _noisy,
    "permuted": _permuted,
}


def _repeated(runs: Sequence[ProbeAnswers]) -> dict[str, Any]:
    """The first repeat against the main run, and the agreement of all runs, including the main one."""
    first = runs[0]
    everything = [first.main, *(run.predictions for run in runs)]
    readings = [_readings(first.questions, predictions) for predictions in everything]
    letters = [_letters(first.questions, first.gold, predictions) for predictions in everything]
    return _compared(first, letters[1]) | stability_of(readings, letters)


def probes_of(predictions_path: Path, exam: Exam, vouched: Collection[ProbeRun] | None = None) -> dict[str, Any]:
    """The figures of the probes next to a predictions file, by name in the order of NAMES; empty if none was run.

    `vouched`: only these count, and not the run records next to the files. Of several samples of one probe, the
    one with most of the exam's questions counts. Raises DataError for a probe's file that cannot be read.
    """
    found = probe_answers(predictions_path, exam, vouched)
    values = {name: rates(found[name]) for name, rates in _RATES.items() if name in found}
    runs = [found[name] for name in sorted(found, key=lambda name: (len(name), name)) if name.startswith(f"{REPEAT}-")]
    alike = [
        run for run in runs if [q.question_id for q in run.questions] == [q.question_id for q in runs[0].questions]
    ]
    return values | ({REPEAT: _repeated(alike)} if alike else {})


def _row(name: str, values: Mapping[str, Any]) -> str:
    counts, (low, high) = values["counts"], values["difference_interval"]
    shares = " ".join(f"{100 * counts[outcome] / values['n']:{max(len(outcome), 7) - 1}.1f}%" for outcome in OUTCOMES)
    change = f"{100 * values['difference']:+.1f} ({100 * low:+.1f} … {100 * high:+.1f})"
    scores = f"{100 * values['score']:+6.1f}% {100 * values['main_score']:+6.1f}%"
    return f"{name:13} {values['n']:6,} {scores} {change:>24} {shares}"


def _percent(share: float, interval: Sequence[float]) -> str:
    return f"{100 * share:.1f} % ({100 * interval[0]:.1f} … {100 * interval[1]:.1f})"


def _meant(consistency: float | None) -> str:
    """How to read a p of places, given the share of questions whose order changed and whose choice did not."""
    if consistency is None:
        return ""
    if consistency == 1:
        return ", but the same choice on 100 % of the questions in another order: place cannot matter"
    return f" (and {100 * consistency:.1f} % keep their choice in another order)"


def _own_lines(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The lines that only this probe has."""
    supported = values.get("supported")
    if supported:
        scores = f"score {100 * supported['score']:+.1f} %, in the main run {100 * supported['main_score']:+.1f} %"
        yield f"{name}: on questions with evidence (n = {supported['n']:,}) {scores}"
    if "rejection" in values:
        share, before = _percent(values["rejection"], values["rejection_interval"]), 100 * values["main_rejection"]
        yield f"{name}: abstained on {share}, in the main run on {before:.1f} % of the same"
    if "consistency" in values:
        share = _percent(values["consistency"], values["consistency_interval"])
        yield f"{name}: the same choice on {share} of {values['n_compared']:,} questions in another order"
    for n_choices, counts in values.get("positions", {}).items():
        places = ", ".join(f"{label} {n:,}" for label, n in zip(LABELS, counts, strict=False))
        yield f"{name}: of {n_choices} places chosen: {places}"
    if values.get("position_p") is not None:
        yield f"{name}: places chosen evenly? p = {values['position_p']:.4g}{_meant(values.get('consistency'))}"
    if "identical" in values:
        scores = ", ".join(f"{100 * score:+.2f} %" for score in values["scores"])
        yield (
            f"{name}: {values['n_runs']} runs read alike on {100 * values['identical']:.1f} % of the questions, "
            f"{values['n_flips']:,} change their outcome; scores {scores}"
        )


def probe_lines(probes: Mapping[str, Any]) -> Iterator[str]:
    """`ScoreCard.probes` for a terminal: a table, then the extra figures of each probe."""
    if not probes:
        return
    titles = " ".join(f"{outcome:>7}" for outcome in OUTCOMES)
    yield f"{'probe':13} {'n':>6} {'score':>7} {'main':>7} {'change (95 % interval)':>24} {titles}"
    for name, values in probes.items():
        yield _row(name, values)
    for name, values in probes.items():
        yield from _own_lines(name, values)
