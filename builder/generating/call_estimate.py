"""How many calls, tokens and dollars a generation takes, before anything is asked: `--dry-run`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from builder.generating.drawn_passages import WritingTask
from builder.generating.question_draft import QuestionPart, first_requests
from builder.generating.question_reader import ANSWER_TOKENS, LETTER_TOKENS
from builder.generating.reply_file import ChatModel, ReplyFile
from builder.generating.wrong_answers import N_WRONG, RULED_KINDS, wrong_request

CHARACTERS_PER_TOKEN = 4
USUAL_CHARACTERS = 300
"""Of a question and its answer."""
READER_CHARACTERS = 800
"""Of a request to the reader without its passages: the prompt, a question of usual length and four choices."""


class TokenPrice(NamedTuple):
    """US dollars for a million tokens of input and of output; None if it is not known."""

    input_usd: float | None = None
    output_usd: float | None = None

    def of(self, n_input: int, n_output: int) -> float | None:
        """The dollars for so many tokens; None if a price is not known."""
        if self.input_usd is None or self.output_usd is None:
            return None
        return round((n_input * self.input_usd + n_output * self.output_usd) / 1_000_000, 6)


class RoleEstimate(NamedTuple):
    """The calls that one role may still take, and their tokens."""

    n_calls: int
    n_input: int
    n_output: int

    def line(self, name: str, price: TokenPrice) -> str:
        """The role's line for a terminal."""
        dollars = price.of(self.n_input, self.n_output)
        cost = "price not known (give --price)" if dollars is None else f"about {dollars:,.2f} US dollars"
        return f"{name}: {self.n_calls:,} calls, about {self.n_input:,} tokens in, {self.n_output:,} out; {cost}"


class CallEstimate(NamedTuple):
    """What the writer and the reader may still take.

    It counts for the reader as if each question passed every filter, and every reply at its limit of tokens. Requests
    that fail and are sent again come on top.
    """

    n_kept: int
    writer: RoleEstimate
    reader: RoleEstimate

    def lines(self, price: TokenPrice) -> Iterator[str]:
        """The estimate for a terminal."""
        yield self.writer.line("writer", price)
        yield self.reader.line("reader", price)
        yield f"{self.n_kept:,} replies are kept; a token is taken as {CHARACTERS_PER_TOKEN} characters"
        yield "fewer calls if questions fail a filter early, more if requests fail and are sent again"


def estimate(
    rounds: Iterable[Iterable[WritingTask]], writer: ChatModel, replies: ReplyFile, n_asks: int, *, with_choices: bool
) -> CallEstimate:
    """What these tasks take. Questions that are kept cost nothing; all other kept replies still count."""
    tasks = [task for tasks in rounds for task in tasks]
    requests = [request for task in tasks for request in first_requests(task)]
    open_requests = [request for request in requests if not replies.has(writer, request)]
    usual = wrong_request(QuestionPart("?" * USUAL_CHARACTERS))
    added = [usual for task in tasks if task.type.answerable for kind in task.type.part_types() if kind.ask]
    wrong = [usual for task in tasks if with_choices and task.type.answerable for _ in range(_n_asked_wrong(task))]
    asked = open_requests + added + wrong
    n_characters = sum(len(request.system) + len(request.user) for request in asked)
    return CallEstimate(
        len(requests) - len(open_requests),
        RoleEstimate(len(asked), n_characters // CHARACTERS_PER_TOKEN, sum(one.max_tokens for one in asked)),
        _reader(tasks, n_asks, with_choices=with_choices),
    )


def _n_asked_wrong(task: WritingTask) -> int:
    """The parts whose wrong answers the writer is asked for."""
    return sum(fact.kind not in RULED_KINDS for fact in task.facts)


def _reader(tasks: Sequence[WritingTask], n_asks: int, *, with_choices: bool) -> RoleEstimate:
    """Each part in words, with its sentence and its passage; with choices also its answer and two times three wrong
    ones, each with up to two sentences, and then the question `n_asks` times with its evidence and as often without it.
    """
    n_calls, n_characters, n_output = 0, 0, 0
    for task in tasks:
        n_long = 2 * len(task.facts) if task.type.answerable else 1
        has_choices = with_choices and task.type.answerable
        n_judged = (1 + 4 * N_WRONG) * len(task.facts) if has_choices else 0
        n_short = (2 * n_asks + n_judged if has_choices else 2) if task.type.answerable else 0
        n_calls += n_long + n_short
        n_characters += n_long * sum(map(len, task.texts())) + n_short * sum(map(len, task.fact_texts()))
        n_characters += (n_long + n_short) * READER_CHARACTERS
        n_output += n_long * ANSWER_TOKENS + n_short * (LETTER_TOKENS if has_choices else ANSWER_TOKENS)
    return RoleEstimate(n_calls, n_characters // CHARACTERS_PER_TOKEN, n_output)
