"""Huo et al.'s self-check: the model compares its answer with the passage retrieved for question + answer (section 2).

Steps (section 2): collect the answer; put it behind the question; retrieve the best passage for both; ask the same
model whether answer and passage agree: Yes, No or Not Related. Where the paper is silent, we chose:

- How question and answer are combined: one after the other, with a space. The answer of a multiple-choice question is
  the text of the choice, not its letter, since no passage holds a letter.
- Which tokens decide: the paper takes what the model generates (`by = "generation"`). `by = "likelihood"` takes the
  likeliest of the three words as the first token of the reply, so that there is always a relation, and a probability
  whose threshold can be moved.
- An unreadable reply means not related, since nothing is then known about the answer.
- Without any passage (no pages, blank pages) the result is not related, without asking the model.

Two things that the paper leaves to future work (section 5) are settings: the query may be the question alone, or both
queries with their rankings fused; and the reader may summarise the best `n_passages` instead of reading one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from baselines.parts import Check, PagePassage, Relation, Verify, make
from baselines.pipeline import Numbers, Pipeline
from baselines.prompts.generate import LanguageModel, shares
from baselines.prompts.prompt import FilledPrompt, load_prompt
from baselines.recipe import Choice, name_and_settings
from baselines.retrieve.fuse import rrf
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemQuestion

MAX_QUERY_CHARS = 2_000
"""Of question and of answer: a model's answer may run on, and a query of a book's length finds nothing."""


def with_answer(question: str, answer: str) -> str:
    """The question's text, then the answer's text (of a label, the choice's).

    Huo et al. join question and generated answer into one query, so that passages about this answer are found, not
    about another acceptable one. The paper does not give their order or separator; here they follow in this
    order, separated by a space. Either may be empty.
    """
    return " ".join(part for part in (question[:MAX_QUERY_CHARS].strip(), answer[:MAX_QUERY_CHARS].strip()) if part)


Stack = Literal["bm25", "bm25-reader", "neural", "neural-reader"]
By = Literal["likelihood", "generation"]
CheckQuery = Literal["question-and-answer", "question", "both"]

K1, B = 0.82, 0.68
"""Huo et al., section 2.1: tuned for MS MARCO's passages."""
MAX_CHARS = 1_200
"""Of a passage in the prompt: a window of 128 tokens is about 700; a sentence without end is cut."""
RELATIONS: tuple[Relation, ...] = ("yes", "no", "not_related")
FIRST_WORDS = ("Yes", "No", "Not")
"""The first word of each class's name, which identifies it (figure 4)."""
N_CLASS_TOKENS = 4
N_READER_TOKENS = 48
N_SUMMARY_TOKENS = 96
_AROUND_LABEL = " \t\r\n.:()[]*\"'"
_CLASS = re.compile(r"\b(not[\s_-]*related|yes|no)\b", re.IGNORECASE)


class Judged(NamedTuple):
    """The model's judgement of an answer and a passage; `probabilities` of the relations, where they were read."""

    relation: Relation
    probabilities: dict[Relation, float] | None
    n_input: int
    n_output: int


def relation_of(text: str) -> Relation:
    """The class that a reply names first; one that names none is not related."""
    found = _CLASS.search(text)
    if found is None:
        return "not_related"
    word = found[1].casefold()
    return "yes" if word == "yes" else "no" if word == "no" else "not_related"


def by_generation(model: LanguageModel, prompt: FilledPrompt) -> Judged:
    """The paper's way: the reply is generated greedily and read."""
    said = model.generate(prompt, N_CLASS_TOKENS)
    return Judged(relation_of(said.text), None, said.n_input, said.n_output)


def by_likelihood(model: LanguageModel, prompt: FilledPrompt) -> Judged:
    """The likeliest of the three words as the reply's first token; a tie of two goes to yes, then no.

    If all three are equal, the reply names none (a server that returns the likeliest 200 tokens gives each word the
    last one's probability if none is among them): then the answer is not related.
    """
    found = model.next_token_logprobs(prompt, FIRST_WORDS)
    each = dict(zip(RELATIONS, shares(found.logprobs), strict=True))
    named = len(set(found.logprobs)) > 1
    relation: Relation = max(each, key=each.__getitem__) if named else "not_related"
    return Judged(relation, each, found.n_input, 1)


WAYS: dict[By, Callable[[LanguageModel, FilledPrompt], Judged]] = {
    "likelihood": by_likelihood,
    "generation": by_generation,
}


def said_in_words(question: SystemQuestion, answer: str) -> str:
    """The text of the choice that an answer names, or the answer itself.

    Styles that generate say a label in their own way ("B", "b.", "(b)"): no passage holds a letter, so it is read.
    """
    texts = {label.casefold(): text for label, text in question.choices.items()}
    return question.choices.get(answer, texts.get(answer.strip(_AROUND_LABEL).casefold(), answer))


def _stack(model: LanguageModel, stack: Stack, chunk: Choice, rerank: Choice) -> Pipeline:
    """The paper's retrievers: BM25 alone, or BM25 and dense retrieval as one pool that is reranked.

    The paper pools SPLADE and ANCE and reranks with MonoT5 and DuoT5; no registry package carries those weights.
    """
    name, settings = name_and_settings("parts.verify.chunk", chunk)
    sparse = make("retrieve", "bm25", {"k1": K1, "b": B})
    cut = make("chunk", name, settings)
    if stack.startswith("bm25"):
        return Pipeline(chunk=cut, retrieve=[sparse], fuse=rrf(), numbers=[Numbers(top_k=1)])
    name, settings = name_and_settings("parts.verify.rerank", rerank)
    return Pipeline(
        chunk=cut,
        retrieve=[sparse, make("retrieve", "dense", {})],
        fuse=rrf(),
        numbers=[Numbers(top_k=1)],
        rerank=make("rerank", name, settings, given={"model": model}),
    )


def queries_of(question: str, answer: str, query: CheckQuery) -> list[str]:
    """The queries that a passage is searched for with: the paper's combined one, the question alone, or both."""
    combined, plain = with_answer(question, answer), with_answer(question, "")
    return {"question-and-answer": [combined], "question": [plain], "both": [combined, plain]}[query]


def best_passages(find: Pipeline, question: SystemQuestion, queries: Sequence[str], k: int) -> list[PagePassage]:
    """The `k` best passages; the rankings of several queries are fused by reciprocal ranks, constant 60."""
    passages = find.chunk(question)
    texts = [one.text for one in passages]
    if not texts:
        return []
    if len(queries) == 1:
        found = find.rank(queries[0], texts, Numbers(top_k=k))
    else:
        lists = [find.rank(one, texts, Numbers(top_k=max(k, find.candidates))) for one in queries]
        found = rrf()(queries[0], texts, lists, k)
    return [passages[one.place] for one in found]


def self_check(
    model: LanguageModel,
    stack: Stack = "bm25",
    by: By = "likelihood",
    chunk: Choice | None = None,
    rerank: Choice = "bi-encoder",
    prompt: str = "relation-v1",
    reader_prompt: str | None = None,
    query: CheckQuery = "question-and-answer",
    n_passages: int = 1,
) -> Verify:
    """The verifier of Huo et al. with one of their retrievers; the stacks with a reader let the model read first (2.2).

    `chunk` defaults to windows of 128 tokens: a passage of MS MARCO has about 60 words. A reader summarises the best
    `n_passages` (`summary-v1`), or extracts the answer from one (`reader-v1`). Raises ConfigError on an unknown stack,
    way, part or prompt, and on several passages without a reader.
    """
    if stack not in get_args(Stack) or by not in WAYS or query not in get_args(CheckQuery):
        what = f"stack {stack!r} by {by!r} with query {query!r} is unknown"
        raise ConfigError("parts.verify", what, "see baselines.verify.self_check")
    reads = stack.endswith("-reader")
    if n_passages < 1 or (n_passages > 1 and not reads):
        raise ConfigError("parts.verify.n_passages", f"is {n_passages}", "1; more only with a stack that has a reader")
    find = _stack(
        model, stack, chunk if chunk is not None else {"name": "windows", "tokens": 128, "overlap": 0}, rerank
    )
    compare = load_prompt(prompt)
    usual, n_tokens = ("reader-v1", N_READER_TOKENS) if n_passages == 1 else ("summary-v1", N_SUMMARY_TOKENS)
    read = load_prompt(usual if reader_prompt is None else reader_prompt) if reads else None

    def check(question: SystemQuestion, answer: str) -> Check:
        words = said_in_words(question, answer)
        found = best_passages(find, question, queries_of(question.text, words, query), n_passages)
        if not found:
            return Check("not_related", None)
        text, n_input, n_output = " ".join(one.text[:MAX_CHARS] for one in found), 0, 0
        if read is not None:
            extracted = model.generate(read.fill(question, text), n_tokens)
            text, n_input, n_output = extracted.text, extracted.n_input, extracted.n_output
        judged = WAYS[by](model, compare.fill(question, text, words))
        return Check(
            judged.relation,
            found[0],
            n_input + judged.n_input,
            n_output + judged.n_output,
            judged.probabilities,
            tuple(found[1:]),
            text if read is not None else None,
        )

    return check
