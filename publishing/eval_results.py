"""Metadata for the pages of models: scores as the Hub shows them, for teams to put into their own repositories.

Two conventions, both written through `huggingface_hub`'s own classes:

- `.eval_results/*.yaml` in a model's repository and `eval.yaml` in the benchmark's dataset repository. Source: Hub
  documentation, "Evaluation Results" (huggingface.co/docs/hub/eval-results, marked as work in progress), the
  specification eval_results.yaml in github.com/huggingface/hub-docs, and `huggingface_hub.EvalResultEntry`. An entry
  has one value of one task, so that score and accuracy are two tasks. The Hub shows entries for datasets that it lists
  as benchmarks: ours needs `eval.yaml`, whose `evaluation_framework` must be on a list (EVALUATION_FRAMEWORKS in
  packages/tasks of github.com/huggingface/huggingface.js), and a request to be listed.
- `model-index` in the header of a model's README.md, older, shown for any dataset. Source: modelcard.md in
  github.com/huggingface/hub-docs, and `huggingface_hub.EvalResult`.

We push neither to strangers' repositories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edu_rag.errors import ConfigError
from edu_rag.files.board_file import BoardFile
from edu_rag.files.jsonl import write_file
from edu_rag.names import Release, is_release
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import read_card
from publishing.result_entries import ResultEntry
from publishing.results_tables import WrittenResults, make_empty

FRAMEWORK = "edu-rag-bench"
METRICS: Mapping[str, str] = {"score": "Score (accuracy - hallucination)", "accuracy": "Accuracy"}
"""The rates that get a task each, the first of them the benchmark's own."""
MAX_NAME = 80
_BENCHMARK = re.compile(r"(?P<release>[^=]+)=(?P<repo>[^@=\s]+/[^@=\s]+?)(?:@(?P<sha>[0-9a-f]{40}))?\Z")


class Benchmark(NamedTuple):
    """One version of a dataset on the Hub: its repository, and the commit `sha` if it was named."""

    release: Release
    repo: str
    sha: str | None


Known = Mapping[Release, Benchmark]


def _is_repo(text: str) -> bool:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # lazily exported

    try:
        validate_repo_id(text)
    except HFValidationError:
        return False
    return text.count("/") == 1


def require_repo(option: str, text: str) -> None:
    """Raise ConfigError if a text is not an `org/name` of the Hub."""
    if not _is_repo(text):
        raise ConfigError(option, f"{text[:80]!r} is not a repository", "give ORG/NAME")


def benchmarks_of(texts: Sequence[str], board: BoardFile | None, *, is_asked: bool) -> Known:
    """`NAME@VERSION=ORG/REPO[@SHA]`, parsed, next to the datasets that the board gets from the Hub.

    Raises ConfigError, also where metadata is asked for and no dataset is known to be on the Hub.
    """
    on_hub = [one for one in (board.datasets if board is not None else ()) if one.hub]
    known = {one.release: Benchmark(one.release, one.hub, one.revision) for one in on_hub}
    for text in texts:
        match = _BENCHMARK.match(text)
        if match is None or not is_release(match["release"]):
            raise ConfigError("--benchmark", f"{text[:120]!r} is not NAME@VERSION=ORG/REPO[@SHA]")
        require_repo("--benchmark", match["repo"])
        release = Release.parse(match["release"])
        known[release] = Benchmark(release, match["repo"], match["sha"])
    if is_asked and not known:
        remedy = "add --benchmark tqa-val@3.0.0=my-org/tqa-val, the dataset's own repository"
        raise ConfigError("--eval-results", "needs to know where the dataset is on the Hub", remedy)
    return known


def model_of(card: ScoreCard) -> str | None:
    """The one Hub id among the models that a system names; None if there is none or more than one."""
    ids = sorted({model for model in card.system.models if _is_repo(model)})
    return ids[0] if len(ids) == 1 else None


def said(text: str) -> str:
    """A team's words on one line, without orders to a terminal, and not longer than a line."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain[:MAX_NAME] + ("…" if len(plain) > MAX_NAME else "")


def made_by(card: ScoreCard) -> str:
    """The maker of the predictions, as far as the harness or the maintainers know."""
    if card.caps and card.caps.get("sandbox") != "none":
        return "made by the benchmark's harness in its sandbox"
    if card.caps or card.rerun.get("own") is True:
        return "made by the benchmark's harness without a sandbox"
    return "handed in"


def _notes(card: ScoreCard) -> str:
    counts = card.counts
    interval = card.intervals.get("score")
    bounds = f" (95 % interval {interval[0]:+.3f} to {interval[1]:+.3f})" if interval else ""
    return (
        f"System: {said(card.system.name)} ({card.system.slug}), of which this model is a part. {card.dataset}, "
        f"n = {counts.n}: score {counts.score:+.3f}{bounds}, accuracy {counts.accuracy:.3f}, hallucination "
        f"{counts.hallucination:.3f}, missing {counts.missing:.3f}. Predictions {made_by(card)}; {card.answers_rule}."
    )


def _task(split: str, metric: str) -> str:
    return f"{split}_{metric}"


def _entries(card: ScoreCard, benchmark: Benchmark, source: str) -> list[Any]:
    from huggingface_hub import EvalResultEntry

    rates = card.counts.rates()
    return [
        EvalResultEntry(
            dataset_id=benchmark.repo,
            task_id=_task(card.split, metric),
            value=round(rates[metric] or 0.0, 6),
            dataset_revision=benchmark.sha,
            date=card.scored_at or None,
            source_url=source,
            source_name="EDU-RAG results",
            source_org=source.split("/")[-2],
            notes=_notes(card),
        )
        for metric in METRICS
    ]


def _index_results(card: ScoreCard, benchmark: Benchmark, source: str) -> list[Any]:
    from huggingface_hub import EvalResult

    rates = card.counts.rates()
    return [
        EvalResult(
            task_type="question-answering",
            dataset_type=benchmark.repo,
            dataset_name=f"{benchmark.release.name} {benchmark.release.version}",
            dataset_config="questions",
            dataset_split=card.split,
            dataset_revision=benchmark.sha,
            metric_type=metric,
            metric_name=name,
            metric_value=round(rates[metric] or 0.0, 6),
            source_name="EDU-RAG results",
            source_url=source,
        )
        for metric, name in METRICS.items()
    ]


def _write_model(folder: Path, model: str, cards: Sequence[tuple[ScoreCard, Benchmark]], source: str) -> None:
    from huggingface_hub import ModelCardData, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # lazily exported

    entries = [entry for card, benchmark in cards for entry in _entries(card, benchmark, source)]
    text = yaml_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
    write_file(folder / ".eval_results" / "edu-rag.yaml", text.encode())
    results = [result for card, benchmark in cards for result in _index_results(card, benchmark, source)]
    header = ModelCardData(model_name=model.split("/")[1], eval_results=results)
    write_file(folder / "model-index.yaml", (str(header.to_yaml(line_break="\n")) + "\n").encode())


def _write_benchmark(folder: Path, benchmark: Benchmark, splits: Iterable[str]) -> None:
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # lazily exported

    tasks = [
        {"id": _task(split, metric), "config": "questions", "split": split}
        for split in sorted(splits)
        for metric in METRICS
    ]
    values = {
        "name": f"EDU-RAG {benchmark.release.name}",
        "description": "School-science questions answered from web pages; score = accuracy - hallucination.",
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    write_file(folder / "eval.yaml", yaml_dump(values, sort_keys=False).encode())


def write_eval_results(folder: Path, made: WrittenResults, known: Known) -> str:
    """Write metadata into a new or empty folder; return what was written, for people.

    `models/SLUG/` has, for each system that names one Hub model and is not withdrawn, `.eval_results/edu-rag.yaml` and
    `model-index.yaml`; `benchmarks/NAME-VERSION/eval.yaml` is for our own dataset repository. Results on samples of a
    split are left out: a reader of a model's page would take them for results on the split. Raises ConfigError.
    """
    make_empty(folder, "--eval-results")
    source = f"https://huggingface.co/datasets/{made.repo}"
    cards: dict[tuple[str, str], list[tuple[ScoreCard, Benchmark]]] = {}
    splits: dict[Benchmark, set[str]] = {benchmark: set() for benchmark in known.values()}
    for entry, benchmark in _whole(made.entries, known):
        splits[benchmark].add(entry.split)
        card = read_card(entry.path)
        model = model_of(card)
        if model is not None and not card.system.withdrawn:
            cards.setdefault((entry.slug, model), []).append((card, benchmark))
    for (slug, model), group in cards.items():
        _write_model(folder / "models" / slug, model, group, source)
    for benchmark, named in splits.items():
        if named:
            _write_benchmark(folder / "benchmarks" / benchmark.release.folder, benchmark, named)
    return f"metadata of {len(cards):,} models"


def _whole(entries: Iterable[ResultEntry], known: Known) -> Iterable[tuple[ResultEntry, Benchmark]]:
    for entry in entries:
        benchmark = known.get(entry.dataset_id.release)
        if benchmark is not None and entry.sample is None:
            yield entry, benchmark
