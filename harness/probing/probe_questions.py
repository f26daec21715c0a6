"""The probes by name, and the question that each asks instead: with other pages, or with its choices permuted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from edu_rag.files.dataset import Dataset, kept_pages
from edu_rag.records import LABELS, Evidence, Leak, Question, Span, WebPage
from edu_rag.scorecard.card import Passage, Prediction
from harness.reading.folding import fold_writing

DRAWS = "probes-v1"
"""Names how pages and orders are drawn: answers to other draws cannot be read by these."""
REACH = 1_000
"""So many questions, or pages a page of noise, are tried at most, so that a split of any size is done in seconds."""
MAX_SPANS = 10_000
"""Spans of an answer that are led back: a page cited ten thousand times over must not make a line too long to read."""


class ProbeSource(NamedTuple):
    """The input of probes: all questions of a split, their pages, and the pages that give a question away.

    `telling`: ids of the pages that hold a question's evidence, or the question itself, wherever they were found.
    A probe's draws depend on the whole split, so a larger sample asks everything that a smaller one does, and more.
    """

    questions: Sequence[Question]
    pages: Mapping[str, Sequence[WebPage]]
    evidence: Mapping[str, Sequence[Evidence]]
    telling: Mapping[str, frozenset[str]]

    def foreign(self, question_id: str, page: WebPage) -> bool:
        """Whether a page is neither one of the question's own nor known to tell of it."""
        own = self.pages[question_id]
        return page.page_id not in self.telling[question_id] and all(page.page_id != p.page_id for p in own)


def source_of(dataset: Dataset, split: str) -> ProbeSource:
    """Read the input of probes. The gold table is never opened; evidence and leaks are."""
    questions, hits, pages = dataset.questions(split), dataset.hits(split), dataset.pages(split)
    evidence = dataset.evidence(split)
    telling: dict[str, set[str]] = {question.question_id: set() for question in questions}
    for items in evidence.values():
        for item in items:
            telling.setdefault(item.question_id, set()).add(item.page_id)
    for leak in dataset.records("leaks", split, Leak):
        telling.setdefault(leak.question_id, set()).add(leak.page_id)
    return ProbeSource(
        questions,
        {q.question_id: kept_pages(hits.get(q.question_id, ()), pages) for q in questions},
        evidence,
        {question_id: frozenset(ids) for question_id, ids in telling.items()},
    )


def draw(seed: int, *names: object) -> bytes:
    """SHA-256 of the seed and names, one a line: sorting by it is a draw that any language repeats."""
    return hashlib.sha256("\n".join(map(str, (seed, *names))).encode()).digest()


class _Cut(NamedTuple):
    """A sentence that a page was cut down to: its place in the given text, and its original place."""

    given: int
    start: int
    end: int


def _evidence_page(page: WebPage, evidence: Sequence[Evidence]) -> tuple[WebPage, list[_Cut]]:
    """A page that holds only the sentences that share a character with its evidence, one a line."""
    spans = [(item.start, item.end) for item in evidence if item.page_id == page.page_id]
    kept = [(s, e) for s, e in page.sentences if any(s < end and start < e for start, end in spans)]
    cuts, given = [], 0
    for start, end in kept or sorted(set(spans)):
        cuts.append(_Cut(given, start, end))
        given += end - start + 1
    text = "\n".join(page.text[cut.start : cut.end] for cut in cuts)
    sentences = tuple(Span(cut.given, cut.given + cut.end - cut.start) for cut in cuts)
    return replace(page, text=text, sentences=sentences), cuts


class EvidencePages:
    """The evidence-only pages of all supported questions, and the way back from their offsets to the dataset's."""

    def __init__(self, source: ProbeSource) -> None:
        self.pages: dict[str, list[WebPage]] = {}
        self._cuts: dict[tuple[str, str], list[_Cut]] = {}
        for question_id, evidence in source.evidence.items():
            held = {item.page_id for item in evidence}
            for page in source.pages.get(question_id, ()):
                if page.page_id in held:
                    given, self._cuts[question_id, page.page_id] = _evidence_page(page, evidence)
                    self.pages.setdefault(question_id, []).append(given)

    def back(self, prediction: Prediction) -> Prediction:
        """A prediction whose passages are spans of the dataset's pages: one for each sentence that a passage touches.

        A passage of a page that was not given, or outside its text, cannot be a citation and is dropped.
        """
        passages = (
            Passage(p.page_id, cut.start + max(p.start - cut.given, 0), min(cut.start + p.end - cut.given, cut.end))
            for p in prediction.passages
            for cut in self._cuts.get((prediction.question_id, p.page_id), ())
            if p.start < cut.given + cut.end - cut.start and cut.given < p.end
        )
        return replace(prediction, passages=tuple(islice(passages, MAX_SPANS)))


def other_pages(source: ProbeSource, seed: int) -> dict[str, Sequence[WebPage]]:
    """For each question with pages, the pages of another: a seeded derangement.

    Questions are put in the order of `draw(seed, "other-pages", question_id)`, and each gets the pages of the next;
    where those hold one of the question's pages, its evidence or the question itself, it swaps with the first of the
    REACH following questions for which the swap works for both. A question without such a partner is left out.
    """
    ids = sorted((i for i, pages in source.pages.items() if pages), key=lambda i: draw(seed, "other-pages", i))
    donors = ids[1:] + ids[:1]

    def serves(receiver: int, donor: str) -> bool:
        own = ids[receiver]
        return donor != own and all(source.foreign(own, page) for page in source.pages[donor])

    for i in range(len(ids)):
        if not serves(i, donors[i]):
            others = (j % len(ids) for j in range(i + 1, i + min(len(ids), REACH + 1)))
            j = next((j for j in others if serves(i, donors[j]) and serves(j, donors[i])), i)
            donors[i], donors[j] = donors[j], donors[i]
    return {own: source.pages[donors[i]] for i, own in enumerate(ids) if serves(i, donors[i])}


def half_noise(source: ProbeSource, seed: int) -> dict[str, Sequence[WebPage]]:
    """For each question with two pages or more: half of them, rounded down, replaced in place by other questions'.

    Pages without evidence are replaced first, so that the evidence is still to be found among the noise; among equals
    in the order of `draw(seed, "half-noise", question_id, page_id)`. The noise is from all pages of the split that do
    not tell of the question; where there is too little of it, the question is left out.
    """
    everything = {page.page_id: page for pages in source.pages.values() for page in pages}
    pool = [everything[page_id] for page_id in sorted(everything)]
    mixed: dict[str, Sequence[WebPage]] = {}
    for question_id, pages in source.pages.items():
        noise = _noise(source, pool, question_id, seed)
        if len(pages) > 1 and len(noise) == len(pages) // 2:
            order = _by_leaving(pages, source.telling[question_id], question_id, seed)
            instead = dict(zip(order, noise, strict=False))
            mixed[question_id] = [instead.get(page.page_id, page) for page in pages]
    return mixed


def _by_leaving(pages: Sequence[WebPage], telling: frozenset[str], question_id: str, seed: int) -> list[str]:
    """The ids of a question's pages in the order in which they give way to noise."""
    drawn = {page.page_id: draw(seed, "half-noise", question_id, page.page_id) for page in pages}
    return sorted(drawn, key=lambda page_id: (page_id in telling, drawn[page_id]))


def _noise(source: ProbeSource, pool: Sequence[WebPage], question_id: str, seed: int) -> list[WebPage]:
    """Half as many pages as the question has: of the pages in order of id, number `draw(seed, "noise", question_id,
    i)`, as an integer, modulo their number, for i = 0, 1, …, leaving out pages that are about the question or were
    taken.
    """
    n = len(source.pages[question_id]) // 2
    taken: dict[str, WebPage] = {}
    for i in range(n * REACH):
        if len(taken) == n:
            break
        page = pool[int.from_bytes(draw(seed, "noise", question_id, i), "big") % len(pool)]
        if source.foreign(question_id, page):
            taken[page.page_id] = page
    return list(taken.values())


REPEAT = "repeat"
EVIDENCE_ONLY = "evidence-only"
NAMES = ("no-context", EVIDENCE_ONLY, "other-pages", "half-noise", "permuted", REPEAT)
"""Every probe, in the order in which they are run and shown."""


_REFERS = re.compile(
    r"\b(?:all|none|both|neither|either|any|two|some|each|one) of (?:the )?(?:other )?"
    r"(?:these|those|them|above|below|others?|choices|options|answers)[\s.!]*$"
    r"|^(?:both|neither|either|all|none)[\s.!]*$|\b[a-g](?: and | or |/|&| & |, )[a-g]\b|\([a-g]\)"
)
"""Choices that refer to other choices, by label or by place, in addition to those that the dataset flags."""
_UNFIT_FLAGS = ("meta_choice", "duplicate_choices")


class Permuted(NamedTuple):
    """A question with its choices in another order; `original` gives the original label of each permuted label."""

    question: Question
    original: Mapping[str, str]

    def given(self, label: str) -> str:
        """The permuted label of the choice with this original label."""
        return next(new for new, old in self.original.items() if old == label)

    @property
    def changed(self) -> bool:
        """Whether any choice changed its place."""
        return any(new != old for new, old in self.original.items())


def may_permute(question: Question) -> bool:
    """Whether the order of a question's choices means nothing.

    It has a meaning in true/false questions (a convention), if a choice refers to others (`all of the above`, `both
    a and c`), if two choices read the same, and if a choice's text is itself a label of the question.
    """
    if question.kind in ("true_false", "free_text") or any(flag in _UNFIT_FLAGS for flag in question.flags):
        return False
    texts = [fold_writing(text) for text in question.choices.values()]
    if len(set(texts)) < len(texts) or not all(texts):
        return False
    return not any(_REFERS.search(text) or text in question.choices for text in texts)


def permute(question: Question, seed: int) -> Permuted:
    """The question under a permutation drawn evenly from all, the one that changes nothing included: its choices in
    the order of `draw(seed, "permuted", question_id, label)`.

    Because all are drawn from, the position of every choice is uniform, and a system's positions can be tested.
    """
    order = sorted(question.choices, key=lambda label: draw(seed, "permuted", question.question_id, label))
    choices = {new: question.choices[old] for new, old in zip(LABELS, order, strict=False)}
    return Permuted(replace(question, choices=choices), dict(zip(LABELS, order, strict=False)))
