"""Prints figures about the code base: size, names, import circles, words.

Usage: .venv/bin/python bench/code_figures.py

They describe the code and are not limits: where a figure and clarity disagree, choose clarity. bench/record_walks.py
says how the files on the way of a record are counted, and prints their names. The times of `make check`, `make test`
and `make ci` are not here: they need a quiet machine.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
from plain_english import MARKERS, files, hits, read
from record_walks import PACKAGES, walks

ROOT = Path(__file__).resolve().parents[1]
SHARED_NAMES = {"__init__", "__main__", "commands", "settings"}
"""Base names that may occur in several packages."""
DOCS: Mapping[str, tuple[str, ...]] = {
    "for people": ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"),
    "specification": ("docs/scoring-spec.md",),
    "papers' claims": ("docs/papers/*.md",),
}
"""Pages by their readers. The specification is for those who write a second scorer, so it is counted apart.
Tables that scripts write (docs/figures) are not counted."""


def modules() -> list[Path]:
    """The Python files of the packages."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def _classes(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def repeated(names: Iterator[str]) -> list[str]:
    """The names that occur more than once."""
    return sorted(name for name, n in Counter(names).items() if n > 1)


def circles() -> int:
    """Pairs of parts of one package that import each other, directly or by way of other parts."""
    graph = grimp.build_graph(*PACKAGES)
    return sum(len(_circle(graph, package)) for package in PACKAGES)


def _circle(graph: grimp.ImportGraph, package: str) -> set[frozenset[str]]:
    parts = graph.find_children(package)
    reaches = {
        part: {other for other in parts if other != part and graph.chain_exists(part, other, as_packages=True)}
        for part in parts
    }
    return {frozenset((one, other)) for one in parts for other in reaches[one] if one in reaches[other]}


def n_words() -> dict[str, int]:
    """Words of each kind of page, without code blocks."""
    pages = {kind: {path for pattern in patterns for path in ROOT.glob(pattern)} for kind, patterns in DOCS.items()}
    pages["for people"] -= pages["specification"]
    return {kind: sum(map(_words, paths)) for kind, paths in pages.items()}


def _words(path: Path) -> int:
    return len(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).split())


def n_skips() -> int:
    """Places where the formatter is turned off, in all Python files."""
    folders = (*PACKAGES, "bench", "tests")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))
    return sum(path.read_text(encoding="utf-8").count("# fmt: skip") for path in paths)


def marker_words() -> dict[str, float]:
    """Marker words in 10,000 words of each area of prose (bench/plain_english.py)."""
    words, found = Counter[str](), Counter[str]()
    for path in files([]):
        for text in read(path):
            words[text.area] += len(text.words.split())
            found[text.area] += sum(hit.pattern in MARKERS for hit in hits(text))
    return {area: 10_000 * found[area] / words[area] for area in sorted(words)}


def main() -> None:
    """Print the figures, one a line."""
    paths = modules()
    listed = [path for path in paths if path.stem != "__init__"]
    loose = {package: len([path for path in listed if path.parent == ROOT / package]) for package in PACKAGES}
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    names = repeated(path.stem for path in paths if path.stem not in SHARED_NAMES)
    classes = repeated(name for path in paths for name in _classes(path))
    print(f"import circles               {circles()}")
    print(f"modules                      {len(listed)}")
    print(f"loose at a package's top     {', '.join(f'{package} {n}' for package, n in loose.items())}")
    print(f"base names used twice        {len(names)} {' '.join(names)}")
    print(f"class names used twice       {len(classes)} {' '.join(classes)}")
    print(f"lines, and without blanks    {len(lines):,}; {sum(bool(line.strip()) for line in lines):,}")
    print(f"places of `fmt: skip`        {n_skips()}")
    for kind, n in n_words().items():
        print(f"words, {kind:21} {n:,}")
    for record, found in zip(("question", "prediction"), walks(), strict=True):
        print(f"files of a {record:10}        {found}")
    for area, rate in marker_words().items():
        print(f"marker words, {area:14} {rate:.1f} per 10,000")


if __name__ == "__main__":
    main()
