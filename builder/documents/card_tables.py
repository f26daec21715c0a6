"""The computed tables of a dataset card: the dataset's content in numbers, as Markdown."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from builder.documents.stats import MAX_HOSTS, DatasetStats

# Every punctuation mark that Markdown, HTML or a linkifier may act on; CommonMark lets each be escaped.
_MARKS = [mark for mark in string.punctuation if mark not in ",;-/%=."]
_ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in _MARKS} | {"<": "&lt;"})
_WWW = re.compile(r"(www)\.", re.IGNORECASE)  # made a link even without a scheme
MAX_OUTSIDE = 300
MAX_LICENSES = 8


def outside(value: object) -> str:
    """A string that came from outside, on one line, so that no part of it is markup."""
    text = " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())
    text = text[:MAX_OUTSIDE] + ("…" if len(text) > MAX_OUTSIDE else "")
    return _WWW.sub(r"\1\\.", text.translate(_ESCAPES))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the cells must be safe already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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
