"""List sentences that a native engineer might not have written, for a person to read.

Usage: .venv/bin/python bench/plain_english.py [--area AREA] [--counts] [PATH …]

Reads docs (Markdown), docstrings, help texts and templates; with PATHs only those files and folders. Prints one line a
sentence, then the number of hits per 10,000 words of each area. Code, tables that bench/page.py wrote, quoted strings
and docs/figures (raw material) are left out. Many hits are good English: the script decides nothing and always exits
with 0.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CODE = ("baselines", "bench", "builder", "edu_rag", "harness", "leaderboard", "publishing")
AREAS = ("docs", "docstrings", "help", "templates")
MARKERS = {
    "who": r"^\W*who\b[^?]*$|\bwho(?:so)?ever\b",
    "told": r"\b(?:told|tells)\b|\bsay(?:s|ing)? so\b|\bout loud\b|\bloudly\b",
    "stands": r"\b(?:stands?|stood|standing)\b(?! (?:for|alone|still)\b)|\b(?:lie|lies)\b|\bis there(?= |[.,;]|$)",
    "mend": r"\bmend(?:s|ed|ing)?\b",
    "dear": r"\bdear(?:er|est|ly)?\b",
    "anew": r"\banew\b",
    "beside": r"\bbesides?\b",
    "handed": r"\bhand(?:ed|s)(?: in| out| over| on| through)?\b|\basked no more\b",
    "own": r"\bof (?:its|their|our|one's|his|your) own\b|\bone's own\b|\bcosts (?:only )?(?:its|itself)\b",
    "whatever": r"\bwhatever\b|\bwhichever\b",
}
"""The words that we count: a text of ours should have fewer than three in 10,000."""
SHAPES = {
    "no X": r"(?<!there )\b(?:is|are|was|were|be) (?:no|none|nothing)\b(?! (?:longer|more than|less than|fewer)\b)",
    "old word": r"\b(?:thrice|hence|alike|lest|somebody|nobody|wholly)\b",
    "no verb": r"^\W*of (?:the|a|an|all|one|its|their|this|that)\b(?:[\s,]+[\w'-]+){1,5}\.$",
    "riddle": r"^\W*what\b[^?]*[.:]$",
}
"""Turns of phrase that are often a translation, and often fine."""
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in (MARKERS | SHAPES).items()}
_MARKED = re.compile(r"<!-- (\S+): begin -->.*?<!-- \1: end -->", re.DOTALL)
_FENCED = re.compile(r"^(\s*)```.*?^\s*```[^\n]*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_BLOCK = re.compile(r"^\s*(?:$|[-*#|>] ?|\d+\. )")
_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*\|\s*")


class Text(NamedTuple):
    """A paragraph: its area, its file and first line, and its words on one line."""

    area: str
    path: Path
    line: int
    words: str


class Hit(NamedTuple):
    """A sentence and the pattern that it matches."""

    text: Text
    pattern: str
    sentence: str


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text without what matches, in as many lines as before."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n") or "X", text)


def paragraphs(area: str, path: Path, text: str, first: int = 1) -> Iterator[Text]:
    """The paragraphs of a text; list items, headings and rows of tables count as paragraphs."""
    for pattern in (_MARKED, _FENCED, re.compile(r"<!--.*?-->", re.DOTALL), _INLINE):
        text = _blanked(pattern, text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    begin, lines = first, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], first):
        if _BLOCK.match(line):
            if lines:
                yield Text(area, path, begin, " ".join(" ".join(lines).split()))
            lines = []
        if line.strip(" |-"):
            begin = begin if lines else number
            lines.append(line.strip(" |*#>-"))


def _is_command(node: ast.FunctionDef) -> bool:
    """Whether click shows the function's docstring as help."""
    return any(re.search(r"\.(?:command|group)\b", ast.unparse(decorator)) for decorator in node.decorator_list)


def of_code(path: Path) -> Iterator[Text]:
    """Docstrings, and the help texts of commands and options."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    shown = {node.body[0] for node in nodes if isinstance(node, ast.FunctionDef) and _is_command(node)}
    for node in nodes:
        is_option = isinstance(node, ast.keyword) and node.arg in ("help", "short_help", "epilog")
        value = node.value if isinstance(node, ast.Expr | ast.keyword) else None
        if (
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and (is_option or isinstance(node, ast.Expr))
        ):
            area = "help" if is_option or node in shown else "docstrings"
            yield from paragraphs(area, path, value.value, value.lineno)


def read(path: Path) -> Iterator[Text]:
    """The paragraphs of one file, by its kind."""
    if path.suffix == ".py":
        yield from of_code(path)
    elif path.suffix == ".j2":
        yield from paragraphs("templates", path, _blanked(_JINJA, path.read_text(encoding="utf-8")))
    else:
        yield from paragraphs("docs", path, path.read_text(encoding="utf-8"))


def files(paths: Sequence[Path]) -> list[Path]:
    """The files to read: those below the paths, or of the whole repository."""
    below = paths or [*ROOT.glob("*.md"), ROOT / "docs", *(ROOT / name for name in CODE)]
    found = {path for top in below for path in ([top] if top.is_file() else top.rglob("*"))}
    read = (path for path in found if path.suffix in (".md", ".py", ".j2") and path.name != "CHANGELOG.md")
    return sorted(path for path in read if paths or ROOT / "docs" / "figures" not in path.parents)


def hits(text: Text) -> Iterator[Hit]:
    """The sentences of a paragraph that a pattern matches, once for each pattern."""
    for sentence in _SENTENCE.split(text.words):
        for name, pattern in PATTERNS.items():
            if pattern.search(sentence):
                yield Hit(text, name, sentence)


def main() -> None:
    """Print the sentences and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*")
    parser.add_argument("--area", choices=AREAS, help="read this area alone")
    parser.add_argument("--counts", action="store_true", help="print the counts alone")
    given = parser.parse_args()
    texts = [text for path in files(given.paths) for text in read(path) if given.area in (None, text.area)]
    found = [hit for text in texts for hit in hits(text)]
    for hit in () if given.counts else found:
        print(f"{os.path.relpath(hit.text.path, ROOT)}:{hit.text.line}: {hit.pattern}: {hit.sentence}")
    words = Counter[str]()
    for text in texts:
        words[text.area] += len(text.words.split())
    print("\n| area | words | marker words | per 10,000 | other shapes | per 10,000 | most common |")
    print("|---|---|---|---|---|---|---|")
    for area in sorted(words):
        kinds = Counter(hit.pattern for hit in found if hit.text.area == area)
        cells = [f"{words[area]:,}"]
        for group in (MARKERS, SHAPES):
            n = sum(kinds[name] for name in group)
            cells += [str(n), f"{10_000 * n / words[area]:.1f}"]
        cells.append(", ".join(f"{name} {n}" for name, n in kinds.most_common(5)))
        print(f"| {area} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
