"""The card of published results: README.md with the YAML header that the Hub and `datasets` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.files.card_markdown import config_digest, markdown_table, outside, size_category
from edu_rag.files.manifest import FileEntry
from publishing.result_entries import ResultEntry
from publishing.result_rows import ABSENT, CONFIGS, MAX_ANSWER, REVEALS_GOLD, Cut

_HOW = f"""\
- **`scorecards`**: one row for each system on each split, or on a seeded sample of it. The five counts are over all
  questions; `score` = `accuracy` - `hallucination`; `_low` and `_high` bound the 95 % interval. What is nested is JSON.
  `outcomes` has one letter a question in order of question ids: correct, incorrect, abstained, unparseable, failed.
  `caps` are those in force when the benchmark's harness made the predictions, empty where they were handed in; `rerun`
  says how a maintainers' run compares. Ranks are not stored: they depend on who else is in the table.
- **`predictions`**: one row for each prediction behind a scorecard, with its outcome. A question that a system left out
  has the status `{ABSENT}` and counts as failed. `latency_s`, tokens and cost are as the system's run or its team gave
  them: `cost` of the scorecard says which. A file that was scored on a split and on samples of it appears under each:
  choose one `sample` before you count.
- `withdrawn` holds the reason where a team took its system back: its rows stay. `tqa_overlap` and `overlap` (a '1' for
  each question) are what a team says about having seen the questions before.
"""
_NOT = f"""\
- No question texts, choices, pages or gold answers: those are in the dataset that `dataset` and `version` name.
- No contact addresses of teams.
- No answer beyond {MAX_ANSWER:,} characters: longer ones end in `…`.
"""
_LICENCE = """\
Scorecards and outcomes: Apache-2.0. Predictions are under the licence that their team chose: column `licence` of
`scorecards`. Names and descriptions are the teams' own words.
"""
_TAKE_DOWN = """\
A system that is taken down goes with the next commit; older commits of this repository keep it until its history is
rewritten. To ask for that, open a discussion here or an issue in the benchmark's repository.
"""


class CardFacts(NamedTuple):
    """The facts on the card in addition to its tables."""

    hidden: tuple[str, ...]
    responses: bool
    n_without_predictions: int
    n_without_outcomes: int
    n_left_out: int
    cut: Cut


def rows_of(files: Mapping[str, FileEntry]) -> dict[str, dict[str, int]]:
    """Rows by config and split."""
    tables: dict[str, dict[str, int]] = {}
    for config in CONFIGS:
        for name in sorted(files):
            if name.startswith(f"{config}/"):
                split = name.removeprefix(f"{config}/").rsplit("-", 3)[0]
                rows = tables.setdefault(config, {})
                rows[split] = rows.get(split, 0) + (files[name].rows or 0)
    return tables


def _configs(files: Mapping[str, FileEntry], tables: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    configs: list[dict[str, Any]] = []
    for config, splits in tables.items():
        paths = [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits]
        # The digest keeps `datasets` from answering out of its cache, which knows a local folder by this header alone.
        about = f"files {config_digest(files, config)}"
        configs.append({"config_name": config, "data_files": paths, "description": about})
    configs[0]["default"] = True
    return configs


def _header(files: Mapping[str, FileEntry], tables: Mapping[str, Mapping[str, int]]) -> str:
    from huggingface_hub import DatasetCardData

    rows = max(sum(splits.values()) for splits in tables.values())
    data = DatasetCardData(
        language=["en"],
        license="other",
        license_name="mixed-see-card",
        pretty_name="EDU-RAG results",
        task_categories=["question-answering", "multiple-choice"],
        size_categories=[size_category(rows)],
        tags=["retrieval-augmented-generation", "education", "science", "benchmark", "leaderboard"],
        configs=_configs(files, tables),
    )
    return str(data.to_yaml(line_break="\n"))


def _load(repo: str, tables: Mapping[str, Mapping[str, int]]) -> str:
    lines = [
        f'{config} = load_dataset("{repo}", "{config}", split="{next(iter(splits))}")'
        for config, splits in tables.items()
    ]
    return "```python\nfrom datasets import load_dataset\n\n" + "\n".join(lines) + "\n```\n"


def _scored(entries: Sequence[ResultEntry]) -> str:
    groups: dict[tuple[str, str, str], list[ResultEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.dataset, entry.split, entry.sample or "whole"), []).append(entry)
    rows = [
        [f"`{dataset}`", outside(split), outside(sample), f"{group[0].n:,}", f"{len(group):,}"]
        for (dataset, split, sample), group in groups.items()
    ]
    return markdown_table(["dataset", "split", "sample", "questions", "systems"], rows)


def _gaps(facts: CardFacts) -> str:
    lines = [_NOT] if facts.responses else [_NOT + "- No `response` (a system's whole words), which may quote pages.\n"]
    if facts.hidden:
        named, columns = ", ".join(outside(split) for split in facts.hidden), ", ".join(f"`{c}`" for c in REVEALS_GOLD)
        lines.append(f"- Of hidden splits ({named}): no predictions, and no {columns}, which would tell the gold.\n")
    for n, what in (
        (facts.n_without_predictions, "whose predictions are not kept with the results"),
        (facts.n_without_outcomes, "whose predictions have no outcome here, since the order of its ids is not known"),
        (facts.n_left_out, "on a sample, whose predictions are left out, since the ids of the sample are not known"),
    ):
        if n:
            lines.append(f"- Scorecards {what}: {n:,}.\n")
    return "".join(lines)


def results_card(repo: str, entries: Sequence[ResultEntry], files: Mapping[str, FileEntry], facts: CardFacts) -> str:
    """README.md of published results: a function of its arguments alone, without a word of any team's."""
    tables = rows_of(files)
    counted = [[f"`{c}`", outside(s), f"{n:,}"] for c, splits in tables.items() for s, n in splits.items()]
    sections = [
        "# EDU-RAG results\n",
        "What systems answered to the questions of the EDU-RAG benchmark, and what they scored.\n",
        "## What is in it\n",
        markdown_table(["config", "split", "rows"], counted),
        _scored(entries),
        "## How rows are made\n",
        "Everything is made by `edu-rag publish` from committed scorecards and the predictions with the very hash\n"
        "that was scored; no number that a team claims enters. `manifest.json` lists the files' hashes.\n",
        _HOW,
        "## What is not in it\n",
        _gaps(facts),
        "## How to load it\n",
        _load(repo, tables),
        "## How to cite it\n",
        f"Name this repository ({outside(repo)}) with the commit that you used, the dataset with its version, and the\n"
        "harness (column `harness`). A system is its team's: cite what its `links` name.\n",
        "## Licences\n",
        _LICENCE,
        "## Take-down\n",
        _TAKE_DOWN,
    ]
    return f"---\n{_header(files, tables)}\n---\n\n" + "\n".join(sections)
