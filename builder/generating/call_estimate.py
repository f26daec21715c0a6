"""How many calls, tokens and dollars a generation takes, before anything is asked: `--dry-run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from builder.generating.chat_prompts import ChatRequest
from builder.generating.drawn_passages import WritingTask
from builder.generating.question_draft import write_request
from builder.generating.question_reader import ANSWER_TOKENS, LETTER_TOKENS
from builder.generating.reply_file import ChatModel, ReplyFile

CHARACTERS_PER_TOKEN = 4
READER_CHARACTERS = 1_200
"""Characters of a request to the reader: its prompt, some sentences, a question and four choices."""


class TokenPrice(NamedTuple):
    """US dollars for a million tokens of input and of output; None if it is not known."""

    input_usd: float | None = None
    output_usd: float | None = None

    def of(self, n_input: int, n_output: int) -> float | None:
        """The dollars for so many tokens; None if a price is not known."""
        if self.input_usd is None or self.output_usd is None:
            return None
        return round((n_input * self.input_usd + n_output * self.output_usd) / 1_000_000, 6)


class CallEstimate(NamedTuple):
    """Calls that are still to be made, and their tokens. The reader's are the most: each filter ends a question."""

    n_kept: int
    n_writer: int
    n_reader: int
    n_input: int
    n_output: int

    def lines(self, price: TokenPrice) -> Iterator[str]:
        """The estimate for a terminal."""
        yield f"calls: {self.n_writer:,} to write, at most {self.n_reader:,} to check; {self.n_kept:,} replies are kept"
        yield f"tokens: about {self.n_input:,} in, at most {self.n_output:,} out (of {CHARACTERS_PER_TOKEN} characters)"
        dollars = price.of(self.n_input, self.n_output)
        yield (
            "price: not known (give --price)" if dollars is None else f"price: at most about {dollars:,.2f} US dollars"
        )


def estimate(
    tasks: Sequence[WritingTask], writer: ChatModel, replies: ReplyFile, n_asks: int, *, with_choices: bool
) -> CallEstimate:
    """The most that these tasks take. Kept replies of the writer cost nothing; kept ones of the reader still count."""
    requests = [write_request(task) for task in tasks]
    open_requests = [request for request in requests if not replies.has(writer, request)]
    n_letters = sum((2 * n_asks + 1 if with_choices else 0) for task in tasks if task.type.answerable)
    n_texts = sum((1 if not task.type.answerable else 0 if with_choices else 2) for task in tasks)
    n_reader = n_letters + n_texts
    n_characters = sum(map(_n_characters, open_requests)) + n_reader * READER_CHARACTERS
    n_output = sum(request.max_tokens for request in open_requests)
    n_output += n_letters * LETTER_TOKENS + n_texts * ANSWER_TOKENS
    n_kept = len(requests) - len(open_requests)
    return CallEstimate(n_kept, len(open_requests), n_reader, n_characters // CHARACTERS_PER_TOKEN, n_output)


def _n_characters(request: ChatRequest) -> int:
    return len(request.system) + len(request.user)
