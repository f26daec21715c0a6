"""Method evidence-lm-v1: a language model reads the likeliest sentences of a question's pages and marks the evidence.

The passages are spans of `evidence-v4`: a sentence, with one neighbour where that adds words or is needed. The model
gets the N_READ that its trees find best, and says in one reply which of them show that the gold answer is right. For
true/false statements, questions with "not" and golds such as "both a and b", to which the trees do not apply, it gets
the passages that share most with question and choices. It does not read pages that are flagged in _UNREAD.

The marks are a file for `[label] marks`, so that a dataset is built again from it without the model. docs/evidence.md
says how well a strong reader agrees with the labels.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from edu_rag.errors import DataError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.processes.worker_threads import in_order
from edu_rag.progress import Stage
from edu_rag.prompt_text import untagged
from edu_rag.records import Question, SearchHit, WebPage

PROMPT = "read-evidence-v1"
N_READ = 32
"""Passages of a question that the model reads."""
MAX_CHARACTERS = 600
"""Of a passage. What is longer is cut, for the model and in the mark."""
READ_TOKENS = 160
AT_ONCE = 256
"""Questions whose pages are in memory."""
MAX_UNUSABLE = 10
"""Replies of another form, without a usable one before them, after which a run ends."""
MANY = 0.5
"""The share of passages above which a model seems not to choose. Strong readers mark 9 to 12 % (docs/evidence.md)."""
_UNREAD = frozenset({"injection", "hidden_text"})
"""Flags of pages that the model does not read: they may address it."""
_LIST_WORDS = re.compile(r"passages?[_ ]?|numbers?|\b(?:and|answer)\b|[\[\]():;.*`#\"']")
_LIST_BREAKS = re.compile(r"[,\s]+")
_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


def passages_to_read(question: Question, gold: Gold, pages: Sequence[WebPage]) -> list[SpanPlace]:
    """The spans of a question that a model reads, likeliest first; they do not overlap. `pages` are in rank order."""
    answers = answers_to_support(question, gold)
    spans = [span for answer in answers for span in _scored(question, answer, gold, pages)]
    if not answers:
        shared = "" if question.kind == "true_false" else " ".join([*question.choices.values(), *gold.texts])
        spans = [one._replace(score=-order) for order, one in enumerate(_scored(question, shared, gold, pages))]
    return [
        span._replace(end=min(span.end, span.start + MAX_CHARACTERS)) for _, _, span in islice(apart(spans), N_READ)
    ]


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
        "passages": fenced(passages),
        "question": untagged(question.text),
        "choices": lettered(question.choices),
        "answer": untagged(answer),
    }
    return filled(PROMPT, values, READ_TOKENS)


def named_passages(reply: str, n: int) -> list[int] | None:
    """The places, from 0 on, of the passages that a reply names at its end; None if no list of their numbers is there.

    A list may have several lines: those at the end that hold nothing else.
    """
    places = set[int]()
    for line in reversed(without_thinking(reply).split("\n")):
        words = [word for word in _LIST_BREAKS.split(_LIST_WORDS.sub(" ", line.casefold())) if word]
        if words == ["none"] and not places:
            return []
        if words and not all(_NUMBER.fullmatch(word) and int(word) <= n for word in words):
            break
        places.update(int(word) - 1 for word in words)
    return sorted(places) or None


class ReadQuestion(NamedTuple):
    """A question that a model was asked about, and its marks; None without a usable reply. `replied` is False if the
    model gave no reply at all, so that the next run asks again.
    """

    question: Question
    marks: list[MarkedText] | None
    replied: bool
    n_passages: int


class _Task(NamedTuple):
    """A question with a kept page."""

    split: str
    question: Question
    gold: Gold
    page_ids: Sequence[str]


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
            MarkedText(
                question_id=id_, url=page.url, text=page.text[span.start : span.end], start=span.start, method=READ
            )
            for page, span in some
        ]


class EvidenceReader:
    """Asks a model about the questions of some splits that have a page, at most about the `first`.

    Raises DataError for a split whose gold answers are not in the folder.
    """

    def __init__(
        self,
        dataset: Dataset,
        splits: Sequence[str],
        model: ChatModel,
        replies: ReplyFile,
        *,
        first: int | None = None,
        n_workers: int = 1,
    ) -> None:
        self._dataset, self._splits, self._model, self._replies = dataset, splits, model, replies
        self._n_workers, self._failed, self._turn = n_workers, FailedRequests(), threading.Lock()
        tasks = [task for split in splits for task in _tasks(dataset, split)]
        self.n_without_pages = sum(not task.page_ids for task in tasks)
        self._tasks = [task for task in tasks if task.page_ids][:first]
        self.used: Counter[str] = Counter()
        """Calls and tokens, kept replies included, so that a resumed run reports the same."""

    def _requests(self) -> Iterator[list[_Asked]]:
        """The requests, of AT_ONCE questions at a time; none for a question whose pages have no sentence for it."""
        for split in self._splits:
            tasks = [task for task in self._tasks if task.split == split]
            for start in range(0, len(tasks), AT_ONCE):
                some = tasks[start : start + AT_ONCE]
                pages = self._dataset.pages(split, {page_id for task in some for page_id in task.page_ids})
                yield [_asked(task.question, task.gold, [pages[i] for i in task.page_ids]) for task in some]

    def estimate(self) -> RoleEstimate:
        """What asking may still take; kept replies cost nothing."""
        with Stage("prepare requests", len(self._tasks)) as stage:
            asked = []
            for one in (one for some in self._requests() for one in some):
                stage.add("done")
                if one.spans and not self._replies.has(self._model, one.request):
                    asked.append(len(one.request.system) + len(one.request.user))
        return RoleEstimate(len(asked), sum(asked) // CHARACTERS_PER_TOKEN, len(asked) * READ_TOKENS)

    def read(self) -> list[ReadQuestion]:
        """Ask about the questions, in order.

        Raises SubmissionError after several requests in a row without a reply, and if the replies have another form
        from the beginning.
        """
        found = list[ReadQuestion]()
        with Stage("read evidence", len(self._tasks), bad="failed") as stage:
            for some in self._requests():
                for one in in_order(self._read, some, self._n_workers):
                    found.append(one)
                    stage.add("done" if one.marks is not None else "other form" if one.replied else "no reply")
                    if len(found) == MAX_UNUSABLE and all(one.replied and one.marks is None for one in found):
                        what = f"the first {MAX_UNUSABLE} replies are not lists of passages ({self._replies.path})"
                        raise SubmissionError(f"model {self._model.facts.get('model', '')}", what, "use another model")
        return found

    def _read(self, asked: _Asked) -> ReadQuestion:
        if not asked.spans:
            return ReadQuestion(asked.question, [], replied=True, n_passages=0)
        try:
            kept = self._replies.reply(self._model, asked.request)
        except SubmissionError as error:
            self._failed.failed(error)
            return ReadQuestion(asked.question, None, replied=False, n_passages=len(asked.spans))
        self._failed.replied()
        with self._turn:
            self.used.update(calls=1, input_tokens=kept.n_input, output_tokens=kept.n_output)
        return ReadQuestion(asked.question, asked.marks(kept.text), replied=True, n_passages=len(asked.spans))

    def report(self, found: Sequence[ReadQuestion]) -> Mapping[str, Any]:
        """The dataset, the pinned model and prompt, and what came of the questions."""
        return {
            "dataset": self._dataset.id,
            "splits": list(self._splits),
            "method": READ,
            "reader": dict(self._model.facts),
            "prompt": filled(PROMPT, dict.fromkeys(("passages", "question", "choices", "answer"), ""), 1).made_from,
            "questions": len(found),
            "without_pages": self.n_without_pages,
            "with_evidence": sum(bool(one.marks) for one in found),
            "replies_of_another_form": sum(one.replied and one.marks is None for one in found),
            "without_reply": sum(not one.replied for one in found),
            "passages": sum(one.n_passages for one in found if one.marks is not None),
            "marks": sum(len(one.marks or ()) for one in found),
            "used": dict(self.used),
        }


def share_marked(found: Iterable[ReadQuestion]) -> float:
    """The share of the passages with a usable reply that were marked."""
    read = [one for one in found if one.marks is not None]
    n = sum(one.n_passages for one in read)
    return sum(len(one.marks or ()) for one in read) / n if n else 0.0


def _tasks(dataset: Dataset, split: str) -> list[_Task]:
    golds = {gold.question_id: gold for gold in dataset.records("gold", split, Gold)}
    if not golds:
        raise DataError(dataset.folder, f"has no gold answers of split {split!r}", "name other splits with --split")
    hits = dataset.hits(split)
    return [
        _Task(split, one, golds[one.question_id], _page_ids(hits.get(one.question_id, ())))
        for one in dataset.questions(split)
    ]


def _page_ids(hits: Sequence[SearchHit]) -> list[str]:
    return list(dict.fromkeys(hit.page_id for hit in hits if hit.page_id))


def _asked(question: Question, gold: Gold, pages: Sequence[WebPage]) -> _Asked:
    by_id = {page.page_id: page for page in pages if not _UNREAD.intersection(page.flags)}
    spans = [(by_id[span.page_id], span) for span in passages_to_read(question, gold, list(by_id.values()))]
    texts = [page.text[span.start : span.end] for page, span in spans]
    return _Asked(question, spans, read_request(question, gold, texts))
