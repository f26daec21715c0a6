"""Fit the model of `builder/extract/text_estimate.py` on half 0 of the test pages, and show what it gains.

Run: `PYTHONPATH=. python bench/extraction_model.py ../shared/data [--write]`. It prints, over five folds by host inside
half 0, the F1 on pages that the model was not fitted on. `--write` fits it on all of half 0 instead, and replaces
`builder/extract/text_estimate.json`. Half 1 is never read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import re
import statistics
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from extraction import CORPORA, PEERS, Page, word_f1

from builder.extract.text_estimate import SCALE

MODEL = Path(__file__).resolve().parents[1] / "builder" / "extract" / "text_estimate.json"
FOLDS = 5
SHINGLE = 4
WEIGHTS = {"aeb": 1.0, "wcxb": 1.3, "sites": 0.6}
OTHER = 0.5
_WORD = re.compile(r"\w+")


class Labelled(NamedTuple):
    """A page's blocks as rows of features, and the share of each that is in the gold text."""

    page: Page
    texts: list[str]
    rows: Any
    names: list[str]
    labels: Any

    @property
    def fold(self) -> int:
        """Which fold the page's host is in."""
        return hashlib.sha256(f"fold {self.page.host}".encode()).digest()[0] % FOLDS

    @property
    def weights(self) -> Any:
        """Long blocks count for more, though less than by their length; all pages of a collection count the same."""
        chars = np.array([len(text) for text in self.texts], dtype=np.float64) ** 0.7
        return 100 * WEIGHTS.get(self.page.corpus, OTHER) * chars / chars.sum()


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def labels(gold: str, texts: Iterable[str]) -> Any:
    """The share of each block's words that lie in a shingle of the gold text; a block of one or two is a line of it."""
    words = _words(gold)
    shingles = {words[at : at + n] for n in range(1, SHINGLE + 1) for at in range(len(words) - n + 1)}
    lines = {_words(line) for line in gold.split("\n")}
    return np.array([_label(_words(text), shingles, lines) for text in texts])


def _label(words: tuple[str, ...], shingles: set[tuple[str, ...]], lines: set[tuple[str, ...]]) -> float:
    if len(words) < 3:
        return 1.0 if words and words in lines else 0.3 if words in shingles else 0.0
    n = min(SHINGLE, len(words))
    covered = [False] * len(words)
    for at in range(len(words) - n + 1):
        if words[at : at + n] in shingles:
            covered[at : at + n] = [True] * n
    return sum(covered) / len(words)


def labelled(page: Page) -> Labelled | None:
    """A page with its labels; None if it gets no estimate."""
    from builder.extract.cascade import estimated_page
    from builder.extract.decode import decode
    from builder.extract.page_blocks import blocks_of
    from builder.extract.text_estimate import features_of

    seen = estimated_page(decode(page.body, None))
    found = blocks_of(seen.prepared) if seen is not None else None
    if found is None or not found.blocks:
        return None
    texts = [block.text for block in found.blocks]
    return Labelled(page, texts, *features_of(found), labels(page.gold, texts))


def fitted(pages: list[Labelled]) -> Any:
    """Gradient-boosted trees over the blocks that are clearly in the gold text, or clearly not."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows, found = np.vstack([page.rows for page in pages]), np.concatenate([page.labels for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    clear = (found >= 0.6) | (found <= 0.4)
    trees = HistGradientBoostingClassifier(
        max_iter=90,
        learning_rate=0.1,
        max_leaf_nodes=14,
        max_depth=5,
        min_samples_leaf=20,
        l2_regularization=5,
        max_features=0.3,
        random_state=0,
        early_stopping=False,
    )
    return trees.fit(rows[clear], (found[clear] > 0.5).astype(int), sample_weight=weights[clear])


def kept(trees: Any, names: list[str]) -> dict[str, Any]:
    """The trees as `text_estimate.json` has them."""
    nodes = [tree[0].nodes for tree in trees._predictors]
    roots = np.cumsum([0, *map(len, nodes)])[:-1]
    flat: dict[str, list[Any]] = {name: [] for name in ("column", "limit", "sides", "value")}
    for root, tree in zip(roots.tolist(), nodes, strict=True):
        for at, node in enumerate(tree):
            leaf = bool(node["is_leaf"])
            flat["column"].append(0 if leaf else int(node["feature_idx"]))
            flat["limit"].append(0.0 if leaf else float(f"{node['num_threshold']:.6g}"))
            flat["sides"] += [root + (at if leaf else int(node[side])) for side in ("left", "right")]
            flat["value"].append(round(SCALE * float(node["value"])) if leaf else 0)
    depth = max(int(tree["depth"].max()) for tree in nodes)
    start = round(SCALE * float(trees._baseline_prediction.ravel()[0]))
    return {"names": names, "roots": roots.tolist(), "depth": depth, "start": start, **flat}


def _chances(trees: Any, rows: Any) -> Any:
    return np.round(trees.predict_proba(rows)[:, 1], 3)


def out_of_fold(pages: list[Labelled]) -> Iterator[tuple[Page, float, float]]:
    """For each page the F1 of the cascade, with a model that was fitted on the hosts of the other folds, and of
    trafilatura.
    """
    from builder.extract.cascade import cascade_v1, estimated, estimated_page
    from builder.extract.decode import decode
    from builder.extract.extraction_tools import page_shape
    from builder.extract.page_text import parse_html

    for fold in range(FOLDS):
        trees = fitted([page for page in pages if page.fold != fold])
        for page, *_ in [page for page in pages if page.fold == fold]:
            html = decode(page.body, None)
            seen = estimated_page(html)
            found = estimated(seen, partial(_chances, trees)) if seen is not None else None
            text = (found or cascade_v1(html, parse_html(html), page_shape(html))).text
            yield page, word_f1(page.gold, text), word_f1(page.gold, PEERS["trafilatura"](html))


def table(scores: list[tuple[Page, float, float]]) -> Iterator[str]:
    """The mean F1 of each collection."""
    yield "| half 0, five folds by host | pages | cascade-v3 | trafilatura |\n|---|---|---|---|"
    for corpus in dict.fromkeys(page.corpus for page, _, _ in scores):
        mine = [found for found in scores if found[0].corpus == corpus]
        ours, theirs = (statistics.mean(found[at] for found in mine) for at in (1, 2))
        yield f"| {corpus} | {len(mine)} | {ours:.3f} | {theirs:.3f} |"


def main() -> None:
    """Print the F1 over folds, or with `--write` replace the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder shared/data")
    parser.add_argument("--write", action="store_true", help="fit on all of half 0, and replace the model")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    half = [page for make in CORPORA for page in make(given.data) if page.half == 0]
    pages = [found for page in half if (found := labelled(page)) is not None]
    if given.write:
        text = json.dumps(kept(fitted(pages), pages[0].names), separators=(",", ":"))
        MODEL.write_text(f"{text}\n", encoding="utf-8")
        return
    print("\n".join(table(list(out_of_fold(pages)))))


if __name__ == "__main__":
    main()
