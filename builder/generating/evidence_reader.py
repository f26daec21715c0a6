"""Method evidence-lm-v1: a language model reads the likeliest sentences of a question's pages and marks the evidence.

The passages are spans of `evidence-v4`: a sentence, with one neighbour where that adds words or is needed. The model
gets the N_READ that its trees find best, and says in one reply which of them show that the gold answer is right. True
statements, questions with "not" and golds such as "both a and b", to which the trees do not apply, get the passages
that share most with question and choices.

The marks are a file for `[label] marks`, so that a dataset is built again from it without the model. docs/evidence.md
says how well a strong reader agrees with the labels.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from builder.evidence.boosted_support import ScoredSpan, apart, boosted_trees, span_of
from builder.evidence.given_evidence import READ, MarkedText
from builder.evidence.spans import SpanPlace
from builder.evidence.support_model import answers_to_support
from builder.evidence.support_signs import SignedQuestion
from builder.generating.call_estimate import CHARACTERS_PER_TOKEN, RoleEstimate
from builder.generating.chat_prompts import ChatRequest, fenced, filled, lettered
from builder.generating.failed_requests import FailedRequests
from builder.generating.question_draft import without_thinking
from builder.generating.reply_file import ChatModel, ReplyFile
from edu_rag.errors import NoReplyError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.processes.worker_threads import in_order
from edu_rag.progress import Stage
from edu_rag.prompt_text import untagged
from edu_rag.records import Question, WebPage

PROMPT = "read-evidence-v1"
N_READ = 32
"""Passages of a question that the model reads."""
MAX_CHARACTERS = 600
READ_TOKENS = 160
AT_ONCE = 256
"""Questions whose pages are in memory."""
_LIST_WORDS = re.compile(r"passages?[_ ]?|numbers?|\band\b|[\[\]():;.*`#]")
_LIST_BREAKS = re.compile(r"[,\s]+")


def passages_to_read(question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[SpanPlace]:
    """The spans of a question that a model reads, likeliest first; they do not overlap. `pages` are in rank order."""
    answers = answers_to_support(question, gold)
    spans = [span for answer in answers for span in _scored(question, answer, gold, pages)]
    if not answers:
        shared = "" if question.kind == "true_false" else " ".join([*question.choices.values(), *gold.texts])
        spans = [one._replace(score=-order) for order, one in enumerate(_scored(question, shared, gold, pages))]
    return [one.span for one in islice(apart(spans), N_READ)]


def _scored(question: Question, answer: str, gold: Gold, pages: Sequence[WebPage]) -> list[ScoredSpan]:
    """The candidates for one text of the gold, heaviest first, with the score of evidence-v4."""
    signed, trees = SignedQuestion(question, answer, pages, gold.home_page).signs(), boosted_trees()
    return [
        ScoredSpan(trees.score(signs), place.rank, span_of(pages[place.rank], place, signs)) for place, signs in signed
    ]


def read_request(question: Question, gold: Gold, passages: Sequence[str]) -> ChatRequest:
    """The request for one question. The numbers of the passages begin at 1."""
    answer = " / ".join(gold.texts) if gold.answer is None else f"{gold.answer}. {question.choices[gold.answer]}"
    values = {
        "passages": fenced([text[:MAX_CHARACTERS] for text in passages]),
        "question": untagged(question.text),
        "choices": lettered(question.choices),
        "answer": untagged(answer),
    }
    return filled(PROMPT, values, READ_TOKENS)


def named_passages(reply: str, n: int) -> list[int] | None:
    """The places, from 0 on, of the passages that a reply's last line names; None if it is no list of their numbers."""
    lines = without_thinking(reply).strip().splitlines()
    words = [word for word in _LIST_BREAKS.split(_LIST_WORDS.sub(" ", (lines or [""])[-1].casefold())) if word]
    if words == ["none"]:
        return []
    if not words or not all(word.isascii() and word.isdecimal() and 1 <= int(word[:4]) <= n for word in words):
        return None
    return sorted({int(word) - 1 for word in words})


class ReadQuestion(NamedTuple):
    """A question that a model was asked about, and its marks; None without a usable reply."""

    question: Question
    marks: list[MarkedText] | None


class _Asked(NamedTuple):
    question: Question
    spans: Sequence[tuple[WebPage, SpanPlace]]
    request: ChatRequest

    def marks(self, reply: str) -> list[MarkedText] | None:
        named = named_passages(reply, len(self.spans))
        if named is None:
            return None
        some = [self.spans[place] for place in named]
        id_ = self.question.question_id
        return [
            MarkedText(question_id=id_, url=page.url, text=page.text[span.start : span.end], method=READ)
            for page, span in some
        ]


class EvidenceReader:
    """Asks a model about questions of a dataset. Questions without a page or without candidates are not asked."""

    def __init__(self, dataset: Dataset, model: ChatModel, replies: ReplyFile, n_workers: int = 1) -> None:
        self._dataset, self._model, self._replies, self._n_workers = dataset, model, replies, n_workers
        self._failed, self._turn = FailedRequests(), threading.Lock()
        self.used: Counter[str] = Counter()
        """Calls and tokens, kept replies included, so that a resumed run reports the same."""

    def _requests(self, splits: Sequence[str], first: int | None) -> Iterator[list[_Asked]]:
        """The requests, AT_ONCE questions at a time, and of all splits at most the `first`."""
        left = first
        for split in splits:
            golds = {gold.question_id: gold for gold in self._dataset.records("gold", split, Gold)}
            hits, questions = self._dataset.hits(split), self._dataset.questions(split)[:left]
            left = None if left is None else left - len(questions)
            for start in range(0, len(questions), AT_ONCE):
                some = questions[start : start + AT_ONCE]
                pages_of = {
                    one.question_id: list(
                        dict.fromkeys(hit.page_id for hit in hits.get(one.question_id, ()) if hit.page_id)
                    )
                    for one in some
                }
                pages = self._dataset.pages(split, {page_id for ids in pages_of.values() for page_id in ids})
                yield [
                    asked
                    for one in some
                    if one.question_id in golds
                    and (asked := _asked(one, golds[one.question_id], [pages[i] for i in pages_of[one.question_id]]))
                ]

    def estimate(self, splits: Sequence[str], first: int | None = None) -> RoleEstimate:
        """What asking may still take; kept replies cost nothing."""
        every = (one.request for some in self._requests(splits, first) for one in some)
        asked = [one for one in every if not self._replies.has(self._model, one)]
        n_characters = sum(len(one.system) + len(one.user) for one in asked)
        return RoleEstimate(len(asked), n_characters // CHARACTERS_PER_TOKEN, len(asked) * READ_TOKENS)

    def read(self, splits: Sequence[str], first: int | None = None) -> list[ReadQuestion]:
        """Ask about the questions, in order. Raises SubmissionError after several requests in a row without a reply."""
        found = list[ReadQuestion]()
        n = sum(len(self._dataset.questions(split)) for split in splits)
        with Stage("read evidence", n if first is None else min(n, first), bad="failed") as stage:
            for some in self._requests(splits, first):
                for one, marks in zip(some, in_order(self._marks, some, self._n_workers), strict=True):
                    found.append(ReadQuestion(one.question, marks))
                    stage.add("no usable reply" if marks is None else "done")
        return found

    def _marks(self, asked: _Asked) -> list[MarkedText] | None:
        try:
            kept = self._replies.reply(self._model, asked.request)
        except NoReplyError as error:
            self._failed.failed(error)
            return None
        self._failed.replied()
        with self._turn:
            self.used.update(calls=1, input_tokens=kept.n_input, output_tokens=kept.n_output)
        return asked.marks(kept.text)

    def report(self, found: Sequence[ReadQuestion], splits: Sequence[str]) -> Mapping[str, Any]:
        """The dataset, the pinned model and prompt, and what came of the questions."""
        return {
            "dataset": self._dataset.id,
            "splits": list(splits),
            "method": READ,
            "reader": dict(self._model.facts),
            "prompt": filled(PROMPT, dict.fromkeys(("passages", "question", "choices", "answer"), ""), 1).made_from,
            "questions": len(found),
            "with_evidence": sum(bool(one.marks) for one in found),
            "without_usable_reply": sum(one.marks is None for one in found),
            "marks": sum(len(one.marks or ()) for one in found),
            "used": dict(self.used),
        }


def _asked(question: Question, gold: Gold, pages: Sequence[WebPage]) -> _Asked | None:
    by_id = {page.page_id: page for page in pages}
    spans = [(by_id[span.page_id], span) for span in passages_to_read(question, gold, pages)]
    texts = [page.text[span.start : span.end] for page, span in spans]
    return _Asked(question, spans, read_request(question, gold, texts)) if spans else None
