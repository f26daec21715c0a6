"""The dataset card: README.md with its YAML header, the text for people, and the computed tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builder.documents.question_terms import TQA_LICENCE, QuestionTerms, terms_in, without_terms
from builder.documents.stats import MAX_HOSTS, DatasetStats
from builder.lost_hits import fault_in_sources
from edu_rag.files.card_markdown import config_digest, markdown_table, outside, size_category
from edu_rag.files.manifest import VECTORS, FileEntry
from edu_rag.files.sentence_vectors import KEY_BYTES, VectorFacts
from edu_rag.files.table_rows import CONFIGS

MAX_LICENSES = 8


def _share(n: int, total: int) -> str:
    return f"{n / total:.1%}" if total else "-"


def counts_table(title: str, what: str, counts: Mapping[str, int], total: int, most: int = 30) -> str:
    """Counts with their share of `total`, the largest first; empty if there is nothing to count."""
    order = sorted(counts, key=lambda name: (-counts[name], name))[:most]
    rows = [[outside(name), f"{counts[name]:,}", _share(counts[name], total)] for name in order]
    return markdown_table([title, what, "share"], rows) if rows else ""


def _kinds(stats: DatasetStats) -> str:
    labels = sorted({label for found in stats.labels.values() for label in found})
    rows = []
    for (kind, n_choices), n in sorted(stats.kinds.items()):
        gold = stats.labels.get((kind, n_choices), Counter())
        total = sum(gold.values())
        shares = [_share(gold[label], total) if gold.get(label) else "-" for label in labels]
        rows.append([f"`{kind}`", str(n_choices), f"{n:,}", _share(n, stats.n_questions), *shares])
    return markdown_table(["kind", "choices", "questions", "share", *(f"gold is {label}" for label in labels)], rows)


def _section(title: str, text: str) -> list[str]:
    return [f"### {title}\n", text] if text else []


def _labels(stats: DatasetStats) -> str:
    total = stats.n_with_gold or stats.n_questions
    rows = [
        [
            f"evidence by `{method}`" if method != "any" else "evidence by any method",
            f"{n:,}",
            _share(n, total),
        ]
        for method, n in sorted(stats.evidence.items())
    ]
    if stats.n_pages:
        rows.append(
            ["on a page of the dataset (a leak)", f"{stats.leaked_questions:,}", _share(stats.leaked_questions, total)]
        )
    table = markdown_table(["questions with", "questions", "share"], rows) if rows else ""
    if table and total < stats.n_questions:
        table += f"\nOf the {total:,} questions whose gold is here; what hidden splits hold is not counted.\n"
    return table


def statistics(stats: DatasetStats, plots: Sequence[str]) -> str:
    """All computed tables and the plots, as the sections of a card."""
    pictures = "\n".join(
        f"![{name.rsplit('/', 1)[-1].removesuffix('.svg').replace('-', ' ')}]({name})\n" for name in plots
    )
    sections = [
        *_section("Questions", _kinds(stats)),
        *_section("Flags of questions", counts_table("flag", "questions", stats.question_flags, stats.n_questions)),
        *_section("Evidence and leaks", _labels(stats)),
        *_section("Flags of pages", counts_table("flag", "pages", stats.page_flags, stats.n_pages)),
        *_section("Languages", counts_table("language", "pages", stats.languages, stats.n_pages, MAX_LICENSES)),
        *_section(
            "Licences that pages name", counts_table("licence", "pages", stats.licenses, stats.n_pages, MAX_LICENSES)
        ),
        *_section("What extracted the text", counts_table("extractor", "pages", stats.extractors, stats.n_pages)),
        *_section("Hosts", counts_table("host", "pages", stats.hosts, stats.n_pages, MAX_HOSTS)),
        *_section("Plots", pictures),
    ]
    return "\n".join(sections)


_TEMPLATE = Path(__file__).with_name("datasheet.md")
_NOT_COLLECTED = "Questions and golds were read from their files; nothing was collected from the web."
_COLLECTED = (
    "Each question's text, without its choices, was the query; of each result the page was fetched over HTTP,\n"
    "robots.txt obeyed, and its raw response kept. Nobody was asked for consent page by page; signals against text\n"
    "and data mining are recorded, and owners can have pages taken out (see Take-down)."
)
_SEEN_TQA = "Systems may have seen the questions: TQA is public since 2017."
_SEEN = "Systems may have seen the questions, where their source is public."


_NOT_COMMERCIAL = "Not for commercial use (see Licences); not to train a system that is then scored on\nit"
_AS_LICENSED = "Not beyond the licences (see Licences); not to train a system that is then scored on\nit"


def datasheet(sources: Mapping[str, Any], stats: DatasetStats) -> str:
    """The datasheet as Markdown, the numbers filled in. Holds no string from outside."""
    terms = terms_in(sources)
    flags = ("truncated", "context_bound", "duplicate_choices", "duplicate_question")
    return _TEMPLATE.read_text(encoding="utf-8").format(
        n_questions=stats.n_questions,
        n_pages=stats.n_pages,
        pii_masked=stats.page_flags["pii_masked"],
        seen=_SEEN_TQA if stats.n_tqa and terms is None else _SEEN,
        not_for=_NOT_COMMERCIAL if terms is None else _AS_LICENSED,
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
_OF_TQA = f"""\
- **Questions and golds** where they come from TQA (Kembhavi et al., *Are You Smarter Than A Sixth Grader? Textbook
  Question Answering for Multimodal Machine Comprehension*, CVPR 2017), built from CK-12 material: {TQA_LICENCE}; else
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


def _question_terms(terms: QuestionTerms | None, *, may_hold_tqa: bool) -> str:
    """Under which terms the questions are: those that the maintainers gave, or what is known of TQA's."""
    if terms is None:
        return _OF_TQA if may_hold_tqa else _NOT_OF_TQA
    licence = f": {outside(terms.licence)}." if terms.licence else " are under the terms of their own source."
    return f"- **Questions and golds**{licence}" + (f" {outside(terms.note)}" if terms.note else "") + "\n"


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


def _configs(files: Mapping[str, FileEntry], tables: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    configs = []
    for config, splits in tables.items():
        # `load_dataset` fails on a split without rows unless it streams: next to others, such a split is not named.
        named = [split for split, rows in splits.items() if rows] or list(splits)
        data_files = [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in named]
        entry: dict[str, Any] = {"config_name": config, "data_files": data_files}
        # `datasets` caches a local folder under its name and a hash of this header, not of the files: without a word
        # of the content here, another dataset in a folder of the same name would be answered from the cache.
        entry["description"] = f"files {config_digest(files, config)}"
        if config == "questions":
            entry["default"] = True
        configs.append(entry)
    return configs


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


def _losses(sources: Mapping[str, Any]) -> list[str]:
    """The warning on a dataset that lost its pages; nothing on any other."""
    fault = fault_in_sources(sources)
    warning = "It was written with `--allow-partial`; do not compare results on it with results on a whole dataset."
    return [f"> **Not complete.** This dataset {outside(fault)}. {warning}\n"] if fault else []


def _load(name: str, tables: Mapping[str, Mapping[str, int]]) -> str:
    lines = [
        f'{config} = load_dataset("PATH", "{config}")'
        if any(rows.values())
        else f'{config} = load_dataset("PATH", "{config}", streaming=True)  # no rows'
        for config, rows in tables.items()
    ]
    return "```python\nfrom datasets import load_dataset\n\n" + "\n".join(lines) + "\n```\n"


def _cite(name: str, version: str, *, may_hold_tqa: bool) -> str:
    named = f"Name the dataset with its version: {outside(name)} {outside(version)}"
    return f"{named}; where TQA's questions are in it, cite TQA as given above.\n" if may_hold_tqa else f"{named}.\n"


class VectorsOnCard(NamedTuple):
    """The sentence vectors of a dataset: their encoder, and how many there are."""

    facts: VectorFacts
    n: int


def _vectors(vectors: VectorsOnCard) -> str:
    """The section on sentence vectors."""
    facts, n_bytes = vectors.facts, vectors.n * (4 * vectors.facts.dimension + KEY_BYTES)
    return (
        f"`{VECTORS}/` holds {vectors.n:,} vectors of {facts.dimension:,} numbers ({n_bytes / 1e6:,.1f} MB): of every "
        f"sentence of the pages, and of\nevery question alone and with each choice, by {outside(facts.encoder)} on "
        f"{outside(facts.back_end)}. `edu-rag run` shows them to systems, which then\ndo not encode these texts. "
        "They are not part of the content hash: the last bits differ between processors.\n"
    )


def dataset_card(
    name: str,
    version: str,
    sources: Mapping[str, Any],
    files: Mapping[str, FileEntry],
    stats: DatasetStats | None = None,
    plots: Sequence[str] = (),
    vectors: VectorsOnCard | None = None,
) -> str:
    """README.md of a dataset folder: a function of its arguments alone, in which no outside string is markup.

    `files` are the tables by name, as `write_dataset` passes them; `sources` is the manifest's,
    with the counts of search results by outcome under `hits_by_outcome`. `stats` are the tables' numbers, `plots`
    the names of the pictures next to the card, `vectors` what is known of the sentence vectors.
    """
    tables, terms = _tables(files), terms_in(sources)
    may_hold_tqa = terms is None and (stats is None or stats.n_tqa > 0)
    described = {key: value for key, value in without_terms(sources).items() if key != "hits_by_outcome"}
    sections = [
        f"# {outside(name)} {outside(version)}\n",
        "School-science questions with web pages to answer them from: a dataset of the EDU-RAG benchmark.\n",
        *_losses(sources),
        "## What is in it\n",
        _counts(tables),
        *(["## Sentence vectors\n", _vectors(vectors)] if vectors is not None else []),
        "## How it was built\n",
        _HOW if any((*tables.get("pages", {}).values(), *tables.get("hits", {}).values())) else _HOW_WITHOUT_PAGES,
        "\n".join(_source_lines(described)) + "\n",
        "## What became of the search results\n",
        _fates(sources),
        *(["## In numbers\n", statistics(stats, plots)] if stats is not None else []),
        "## Licences\n",
        _question_terms(terms, may_hold_tqa=may_hold_tqa) + _LICENCES,
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
