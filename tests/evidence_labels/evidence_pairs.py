"""The hand-labelled question-page pairs: reading them, making their pages again from the sites, scoring methods."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from builder.evidence.telling_words import words_of
from builder.extract.extract import Extracted, extract_page
from builder.extract.sentence_splitter import split_sentences
from builder.question_sets.question_files import read_questions
from edu_rag.gold import Gold
from edu_rag.records import Question, Span, WebPage, page_id_of

PAIRS = Path(__file__).with_name("pairs.jsonl")
SECOND = Path(__file__).with_name("second_pass.jsonl")
FOLDERS = {"www.mstworkbooks.co.za": "siyavula", "physics.school-reader.example": "openstax-physics"}
LABELS = ("supports", "partly", "no")


class Judged(NamedTuple):
    """A sentence that was read and judged; number and hash of its words (`words_of`) find it in another extraction."""

    span: Span
    n_words: int
    words_sha256: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question, one page, and the judged sentences of the page."""

    question_id: str
    kind: str
    gold: str
    half: str
    stratum: str
    url: str
    html_sha256: str
    text_sha256: str
    extractor: str
    judged: tuple[Judged, ...]

    @property
    def page_id(self) -> str:
        """The page's id, as the dataset has it."""
        return page_id_of(self.url)


def words_sha256(words: Sequence[str]) -> str:
    """The first 16 hexadecimal digits of the hash of some words."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]


def read_pairs(path: Path = PAIRS) -> list[Pair]:
    """All pairs of the file, in its order."""
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        judged = tuple(
            Judged(Span(s["start"], s["end"]), s["n_words"], s["words_sha256"], s["label"]) for s in row["sentences"]
        )
        fields = ("question_id", "kind", "gold", "half", "stratum", "url", "html_sha256", "text_sha256", "extractor")
        pairs.append(Pair(judged=judged, **{name: row[name] for name in fields}))
    return pairs


def read_tqa(path: Path) -> tuple[dict[str, Question], dict[str, Gold]]:
    """The TQA validation questions and their golds, both by question id."""
    questions, golds = read_questions([path], None)
    return {item.question_id: item for item in questions}, {item.question_id: item for item in golds}


def _page(pair: Pair, web: Path) -> WebPage:
    parts = urlsplit(pair.url)
    body = (web / FOLDERS[parts.hostname or ""] / parts.path.lstrip("/")).read_bytes()
    if hashlib.sha256(body).hexdigest() != pair.html_sha256:
        raise ValueError(f"{pair.url}: not the page that was labelled")
    got = extract_page(body, None, pair.extractor)
    if not isinstance(got, Extracted):
        raise ValueError(f"{pair.url}: {got.reason}")  # noqa: TRY004
    return WebPage(
        page_id=pair.page_id,
        url=pair.url,
        title=got.title,
        text=got.text,
        sentences=split_sentences(got.text),
        fetched_at=datetime(2000, 1, 1, tzinfo=UTC),
        html_sha256=pair.html_sha256,
        extractor=pair.extractor,
    )


def _places(pair: Pair, page: WebPage) -> dict[str, Span]:
    """By the hash of the judged words, the sentence of the page in which they begin, if they are there at all."""
    words, owners = [], []
    for span in page.sentences:
        some = words_of(page.text[span.start : span.end])
        words += some
        owners += [span] * len(some)
    wanted = {item.words_sha256 for item in pair.judged}
    places: dict[str, Span] = {}
    for n in sorted({item.n_words for item in pair.judged}):
        for at in range(len(words) - n + 1):
            digest = words_sha256(words[at : at + n])
            if digest in wanted:
                places.setdefault(digest, owners[at])
    return places


def _found_again(pair: Pair, page: WebPage) -> Pair:
    """The pair with its sentences at their places in a text that is no longer the labelled one.

    Where the new text has one sentence for two judged ones, it gets the better label: it holds what supports the gold.
    """
    if hashlib.sha256(page.text.encode()).hexdigest() == pair.text_sha256:
        return pair
    places = _places(pair, page)
    best: dict[Span, Judged] = {}
    for item in sorted(pair.judged, key=lambda item: LABELS.index(item.label)):
        if item.words_sha256 in places:
            span = places[item.words_sha256]
            best.setdefault(span, item._replace(span=span))
    return replace(pair, judged=tuple(best[span] for span in sorted(best)))


def with_pages(pairs: Iterable[Pair], web: Path) -> tuple[list[Pair], dict[str, WebPage], int]:
    """The pairs with their pages by id, extracted anew, and the number of judged sentences that are no longer there.

    Raises ValueError where a site's file is not the one that was labelled.
    """
    pages: dict[str, WebPage] = {}
    kept, n_lost = [], 0
    for pair in pairs:
        if pair.page_id not in pages:
            pages[pair.page_id] = _page(pair, web)
        kept.append(_found_again(pair, pages[pair.page_id]))
        n_lost += len(pair.judged) - len(kept[-1].judged)
    return kept, pages, n_lost


class Counts(NamedTuple):
    """One pair's counts: found and judged spans by label, found but not judged, and what there was to find."""

    right: int
    partly: int
    wrong: int
    unjudged: int
    supports: int


Find = Callable[[Pair], Collection[Span]]


def count(pair: Pair, found: Collection[Span]) -> Counts:
    """What a method found on one pair, against the labels."""
    labels: Mapping[Span, str] = {item.span: item.label for item in pair.judged}
    got = [labels.get(span) for span in found]
    there = sum(label == "supports" for label in labels.values())
    return Counts(got.count("supports"), got.count("partly"), got.count("no"), got.count(None), there)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def rates(counts: Sequence[Counts]) -> dict[str, float]:
    """Precision (strict; lenient counts `partly` as right), recall of supporting sentences, F1; over judged spans."""
    right, partly, wrong, _, supports = (sum(column) for column in zip(*counts, strict=True))
    n_found = right + partly + wrong
    precision, recall = _ratio(right, n_found), _ratio(right, supports)
    return {
        "precision": precision,
        "lenient": _ratio(right + partly, n_found),
        "recall": recall,
        "f1": _ratio(2 * precision * recall, precision + recall),
    }


def page_rates(counts: Sequence[Counts]) -> dict[str, float]:
    """The same question asked of whole pages: does the page support the gold, and does the method say so."""
    said = [c for c in counts if c.right + c.partly + c.wrong + c.unjudged]
    true = sum(c.supports > 0 for c in counts)
    right = sum(c.supports > 0 for c in said)
    return {"page_precision": _ratio(right, len(said)), "page_recall": _ratio(right, true)}
