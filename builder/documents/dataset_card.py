"""The dataset card: README.md with the YAML header that the Hub and `datasets` read, and the text for people."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builder.documents.card_tables import markdown_table, outside, statistics
from builder.documents.stats import DatasetStats
from edu_rag.files.manifest import FileEntry
from edu_rag.files.table_rows import CONFIGS

_TEMPLATE = Path(__file__).with_name("datasheet.md")
_NOT_COLLECTED = "Questions and golds were read from their files; nothing was collected from the web."
_COLLECTED = (
    "Each question's text, without its choices, was the query; of each result the page was fetched over HTTP,\n"
    "robots.txt obeyed, and its raw response kept. Nobody was asked for consent page by page; signals against text\n"
    "and data mining are recorded, and owners can have pages taken out (see Take-down)."
)
_SEEN_TQA = "Systems may have seen the questions: TQA is public since 2017."
_SEEN = "Systems may have seen the questions, where their source is public."


def datasheet(sources: Mapping[str, Any], stats: DatasetStats) -> str:
    """The datasheet as Markdown, the numbers filled in. Holds no string from outside."""
    flags = ("truncated", "context_bound", "duplicate_choices", "duplicate_question")
    return _TEMPLATE.read_text(encoding="utf-8").format(
        n_questions=stats.n_questions,
        n_pages=stats.n_pages,
        pii_masked=stats.page_flags["pii_masked"],
        seen=_SEEN_TQA if stats.n_tqa else _SEEN,
        collected=_NOT_COLLECTED if sources.get("engine", "none") == "none" else _COLLECTED,
        **{flag: stats.question_flags[flag] for flag in flags},
    )


ABOUT: Mapping[str, str] = {
    "questions": "questions with their choices, kind, lesson and flags; no answers",
    "hits": "every result the search engine gave for a question, with its rank and its fate",
    "pages": "the clean text of each kept page, with sentence offsets",
    "evidence": "spans of pages that support the gold answer, by a named method",
    "leaks": "spans of pages that hold a question of the dataset, alone or with its answer",
    "gold": "the right answers, apart from the questions",
}
_HOW = """\
Each question, without its choices, was given to a search engine; the results were fetched politely (robots.txt obeyed,
sizes and times bounded), their main text extracted and cut into sentences. No page was edited. Every search result is
kept in `hits` with its fate, also where its page was dropped. The same crawl store and settings give the same bytes.
"""
_HOW_WITHOUT_PAGES = "Questions and golds were read from their files; no search was made, so there are no pages.\n"
_OF_TQA = """\
- **Questions and golds** where they come from TQA (Kembhavi et al., *Are You Smarter Than A Sixth Grader? Textbook
  Question Answering for Multimodal Machine Comprehension*, CVPR 2017), built from CK-12 material: CC BY-NC 3.0; else
  under the terms of their own source.
"""
_NOT_OF_TQA = "- **Questions and golds** are under the terms of their own source. No id is one of TQA's.\n"
_LICENCES = """\
- **Pages** belong to their owners. Their text is here for research on retrieval; column `license` gives the licence a
  page names, empty where it names none.
- **The rest** (offsets, labels, flags): Apache-2.0.
"""
_LIMITS = """\
- Questions are as their source has them: some are cut short, refer to a neighbour or have a wrong gold. See `flags`.
- Pages are what a search engine gave on one day; some hold a question with its answer.
- Evidence was found by rule, not by people: it is neither complete nor always right.
"""
_TAKE_DOWN = """\
If you own a page and want it out: open an issue or a discussion on this repository with its URL. The page, its
sentences and its evidence are removed in the next version.
"""


def _tables(files: Mapping[str, FileEntry]) -> dict[str, dict[str, int]]:
    """Rows by config and split, for the tables that are in the folder."""
    tables: dict[str, dict[str, int]] = {}
    for config in CONFIGS:
        for name in sorted(files):
            if name.startswith(f"{config}/") and name.endswith(".parquet"):
                split = name.removeprefix(f"{config}/").rsplit("-", 3)[0]
                rows = tables.setdefault(config, {})
                rows[split] = rows.get(split, 0) + (files[name].rows or 0)
    return tables


def config_digest(files: Mapping[str, FileEntry], config: str) -> str:
    """A hash of the bytes of a config's files, 16 hexadecimal digits."""
    named = [f"{name} {entry.sha256}\n" for name, entry in sorted(files.items()) if name.startswith(f"{config}/")]
    return hashlib.sha256("".join(named).encode()).hexdigest()[:16]


def _configs(files: Mapping[str, FileEntry], tables: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    configs = []
    for config, splits in tables.items():
        data_files = [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits]
        entry: dict[str, Any] = {"config_name": config, "data_files": data_files}
        # `datasets` caches a local folder under its name and a hash of this header, not of the files: without a word
        # of the content here, another dataset in a folder of the same name would be answered from the cache.
        entry["description"] = f"files {config_digest(files, config)}"
        if config == "questions":
            entry["default"] = True
        configs.append(entry)
    return configs


def size_category(n_rows: int) -> str:
    """The Hub's name for a number of rows."""
    bounds = (
        (1_000, "n<1K"),
        (10_000, "1K<n<10K"),
        (100_000, "10K<n<100K"),
        (1_000_000, "100K<n<1M"),
        (10_000_000, "1M<n<10M"),
    )
    return next((name for bound, name in bounds if n_rows < bound), "10M<n<100M")


def _task_categories(stats: DatasetStats | None) -> list[str]:
    """The Hub's names for the task of the questions: free text has no choices."""
    has_choices = stats is None or any(kind != "free_text" for kind, _ in stats.kinds)
    return ["question-answering", *(["multiple-choice"] if has_choices else [])]


def _header(
    name: str,
    version: str,
    files: Mapping[str, FileEntry],
    tables: Mapping[str, Mapping[str, int]],
    stats: DatasetStats | None,
) -> str:
    from huggingface_hub import DatasetCardData

    data = DatasetCardData(
        language=["en"],
        license="other",
        license_name="mixed-see-card",
        pretty_name=f"{name} {version}",
        task_categories=_task_categories(stats),
        size_categories=[size_category(sum(tables.get("questions", {}).values()))],
        tags=["retrieval-augmented-generation", "education", "science", "benchmark"],
        configs=_configs(files, tables),
    )
    return str(data.to_yaml(line_break="\n"))


def _counts(tables: Mapping[str, Mapping[str, int]]) -> str:
    splits = sorted({split for rows in tables.values() for split in rows})
    rows = [
        [f"`{config}`", ABOUT[config], *(f"{found.get(split, 0):,}" for split in splits)]
        for config, found in tables.items()
    ]
    return markdown_table(["config", "what it holds", *(f"rows in {outside(split)}" for split in splits)], rows)


def _source_lines(value: Any, depth: int = 0) -> list[str]:
    """Nested values as a nested list, keys and values escaped."""
    indent = "  " * depth
    if isinstance(value, Mapping):
        lines = []
        for key in value:
            inner = value[key]
            if isinstance(inner, Mapping | list | tuple) and inner:
                lines += [f"{indent}- {outside(key)}:", *_source_lines(inner, depth + 1)]
            else:
                lines.append(f"{indent}- {outside(key)}: {outside(inner)}")
        return lines
    if isinstance(value, list | tuple):
        return [line for item in value for line in _source_lines(item, depth)]
    return [f"{indent}- {outside(value)}"]


def _fates(sources: Mapping[str, Any]) -> str:
    """The outcomes of the search results, from the counts in `sources["hits_by_outcome"]`."""
    fates = sources.get("hits_by_outcome")
    if not isinstance(fates, Mapping) or not fates:
        return "No search results: this dataset has no pages.\n"
    total = sum(int(n) for n in fates.values())
    order = sorted(fates, key=lambda fate: (fate != "kept", -int(fates[fate]), str(fate)))
    rows = [[outside(fate), f"{int(fates[fate]):,}", f"{int(fates[fate]) / max(1, total):.1%}"] for fate in order]
    return markdown_table(["fate of a search result", "results", "share"], rows)


def _load(name: str, tables: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f'{config} = load_dataset("PATH", "{config}")' for config in tables]
    return "```python\nfrom datasets import load_dataset\n\n" + "\n".join(lines) + "\n```\n"


def _cite(name: str, version: str, *, may_hold_tqa: bool) -> str:
    named = f"Name the dataset with its version: {outside(name)} {outside(version)}"
    return f"{named}; where TQA's questions are in it, cite TQA as given above.\n" if may_hold_tqa else f"{named}.\n"


def dataset_card(
    name: str,
    version: str,
    sources: Mapping[str, Any],
    files: Mapping[str, FileEntry],
    stats: DatasetStats | None = None,
    plots: Sequence[str] = (),
) -> str:
    """README.md of a dataset folder: a function of its arguments alone, in which no outside string is markup.

    `files` are the tables by name, as `write_dataset` passes them; `sources` is the manifest's,
    with the counts of search results by outcome under `hits_by_outcome`. `stats` are the tables' numbers, `plots`
    the names of the pictures next to the card.
    """
    tables, may_hold_tqa = _tables(files), stats is None or stats.n_tqa > 0
    told = {key: value for key, value in sources.items() if key != "hits_by_outcome"}
    sections = [
        f"# {outside(name)} {outside(version)}\n",
        "School-science questions with web pages to answer them from: a dataset of the EDU-RAG benchmark.\n",
        "## What is in it\n",
        _counts(tables),
        "## How it was built\n",
        _HOW if "pages" in tables or "hits" in tables else _HOW_WITHOUT_PAGES,
        "\n".join(_source_lines(told)) + "\n",
        "## What became of the search results\n",
        _fates(sources),
        *(["## In numbers\n", statistics(stats, plots)] if stats is not None else []),
        "## Licences\n",
        (_OF_TQA if may_hold_tqa else _NOT_OF_TQA) + _LICENCES,
        "## Limits\n",
        _LIMITS,
        *(["## Datasheet\n", datasheet(sources, stats)] if stats is not None else []),
        "## How to load it\n",
        _load(name, tables),
        "## How to cite it\n",
        _cite(name, version, may_hold_tqa=may_hold_tqa),
        "## Take-down\n",
        _TAKE_DOWN,
    ]
    return f"---\n{_header(name, version, files, tables, stats)}\n---\n\n" + "\n".join(sections)
