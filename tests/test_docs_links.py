"""Every link of the repository's Markdown pages leads to a file, and to a heading of it where it names one."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/*/README.md")])
_CODE = re.compile(r"^(\s*)```.*?^\s*```[^\n]*$|(?<!`)(`+)(?!`).*?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")


def anchor(heading: str) -> str:
    """The address that GitHub gives to a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    text = re.sub(r"^(\s*)```.*?^\s*```[^\n]*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found, counts = set[str](), Counter[str]()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = anchor(heading)
        found.add(f"{name}-{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return frozenset(found)


def broken(page: Path, text: str) -> list[str]:
    """The links of a text on this page that lead nowhere; addresses of the web are not looked at."""
    wrong = []
    for target in _LINK.findall(_CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = unquote(target).partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists() or (heading and (place.suffix != ".md" or heading not in anchors(place))):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_would_be_found() -> None:
    page = ROOT / "docs" / "scoring.md"
    text = (
        "[a](no-such-page.md) [b](#no-such-heading) [c](scoring-spec.md#1-input) `[d](x.md)` [e](https://x.example/#y)"
    )
    assert broken(page, text) == ["no-such-page.md", "#no-such-heading"]


def test_files_of_the_board_name_headings_that_exist() -> None:
    files = (ROOT / "leaderboard" / "errata.toml", ROOT / "docs" / "maintainers.md")  # the second shows an example
    links = [link for file in files for link in re.findall(r'^ *link = "(docs/[^"]+)"', file.read_text(), re.MULTILINE)]
    assert links
    assert broken(ROOT / "README.md", " ".join(f"[x]({link})" for link in links)) == []
