"""Fit the two thresholds of `cascade-v2` on half of the test pages, and look at the other half once.

Run: `PYTHONPATH=. python bench/extraction_fit.py ../shared/data`. For each pair of thresholds: on how many pages
resiliparse alone answers, and the word F1 that this costs or gains over `cascade-v1`. Take the pair from half 0.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from extraction import CORPORA, Page, word_f1

CHARS = (3_000, 4_000, 6_000, 8_000, 12_000)
SHARES = (0.75, 0.8, 0.85, 0.9)
GROUPS = ("aeb", "wcxb", "school")


class Signs(NamedTuple):
    """What the decision looks at on one page, and the F1 of either answer."""

    group: str
    half: int
    n_main: int
    n_all: int
    f1_main: float
    f1_v1: float


def signs_of(page: Page) -> Signs | None:
    """Both answers on one page; None if the page's shape allows only one."""
    from builder.extract.cascade import cascade_v1
    from builder.extract.decode import decode
    from builder.extract.extraction_tools import (
        drop_unread,
        html_of,
        page_shape,
        refused,
        resiliparse_all,
        resiliparse_main,
    )
    from builder.extract.page_text import clean_text, parse_html
    from builder.extract.prepass import apply_prepass

    html = decode(page.body, None)
    shape, tree = page_shape(html), parse_html(html)
    if refused(page.body) is not None or not (shape.may_judge and shape.may_nest) or tree is None:
        return None
    apply_prepass(tree)
    drop_unread(tree)
    prepared = html_of(tree)
    main = resiliparse_main(prepared)
    group = page.corpus if page.corpus in GROUPS else "school"
    f1_v1 = word_f1(page.gold, cascade_v1(html, parse_html(html), shape).text)
    return Signs(
        group, page.half, len(main), len(resiliparse_all(prepared)), word_f1(page.gold, clean_text(main)), f1_v1
    )


def row(pages: list[Signs], is_main: Callable[[Signs], bool]) -> Iterator[str]:
    """By group: the share of pages that resiliparse answers, and F1 with the change."""
    for group in GROUPS:
        mine = [page for page in pages if page.group == group]
        used = statistics.mean(map(is_main, mine))
        f1 = statistics.mean(page.f1_main if is_main(page) else page.f1_v1 for page in mine)
        yield f"{100 * used:.0f} %: {f1:.4f} ({f1 - statistics.mean(page.f1_v1 for page in mine):+.4f})"


def main() -> None:
    """Print the grid of half 0 and, with `--look`, that of half 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder shared/data")
    parser.add_argument("--look", action="store_true", help="print the other half too")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    pages = [found for make in CORPORA for page in make(given.data) if (found := signs_of(page)) is not None]
    for half in (0, 1) if given.look else (0,):
        mine = [page for page in pages if page.half == half]
        print(f"\n| half {half}: characters | share | {' | '.join(GROUPS)} |\n|---|---|---|---|---|")
        for chars in CHARS:
            for share in SHARES:
                cells = row(mine, lambda page, n=chars, part=share: page.n_main >= max(n, part * page.n_all))
                print(f"| {chars:,} | {share} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
