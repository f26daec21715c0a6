"""From a filled prompt to an answer, in three styles: a generated letter, the likeliest letter, the likeliest choice.

Below a billion parameters a generated letter is noise ("A" nearly always), while the likelihood of each choice's text
is far above chance; from about 1.5 billion letters work. The paper's protocol is the letter. The likeliest letter is
the same letter where the model's first word is one of the labels at all, and comes with a confidence.

A system can abstain in three ways, which can be combined: by instruction (the prompt allows it: style `abstain`), by
likelihood (`by_confidence`, or the margin between the first two choices: `likeliest`), by verification
(baselines.verify.guard). A wrong answer costs what a right one earns, so an answer pays where it is more likely right
than wrong: where its calibrated confidence is above one half.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, Protocol

from baselines.prompts.prompt import FilledPrompt, harmless, load_prompt
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemAnswer, SystemQuestion

_UNKNOWN = re.compile(
    r"\b(?:(?:do\s+not|don\W?t|cannot|can\W?t|can\s+not)\s+(?:know|say|tell|answer|determine)"
    r"|(?:am|i\W?m)\s+(?:not\s+(?:sure|certain)|unsure)|unknown)\b",
    re.IGNORECASE,
)


def says_unknown(reply: str) -> bool:
    """Whether a reply says in words that the model does not know (EDU-RAG section 4.2: "I don't know", "I can't …")."""
    return _UNKNOWN.search(reply) is not None


_NOT_FOUND = re.compile(
    r"\b(?:not\s+found\s+in\s+(?:the\s+)?context"
    r"|(?:does\s+not|doesn\W?t)\s+(?:provide|contain|have)\s+(?:sufficient|enough)\s+information)\b"
    r"|^\W*i\s+(?:do\s+not|don\W?t)\s+know\b",
    re.IGNORECASE,
)


def says_not_found(reply: str) -> bool:
    """Whether a free text says that its context holds no answer, in the words of Nautiyal et al. or Mala et al.

    Nautiyal et al. (section 3.7): "Answer not found in context". Mala et al. (appendix A): "The context doesn't provide
    sufficient information". "I don't know" counts at the start only: a text about what people do not know may be right.
    """
    return _NOT_FOUND.search(reply) is not None


def by_confidence(
    answer: Callable[[SystemQuestion], SystemAnswer], least: float
) -> Callable[[SystemQuestion], SystemAnswer]:
    """The same system, abstaining where its confidence is below `least`; answers without a confidence stay.

    The confidence stays in the answer, so that the threshold can be judged afterwards. Raises ConfigError if `least`
    is outside of [0, 1].
    """
    if not 0 <= least <= 1:
        raise ConfigError("abstain_below", f"{least} is not a share", "give a number from 0 to 1")

    def sure(question: SystemQuestion) -> SystemAnswer:
        said = answer(question)
        unsure = said.confidence is not None and said.confidence < least
        return replace(said, answer=None) if unsure else said

    return sure


MAX_NEW_TOKENS = 1
"""EDU-RAG section 4.3."""
MAX_ABSTAIN_TOKENS = 6
"""Enough for "I don't know."."""
MAX_TEXT_TOKENS = 256
"""Of an answer in free text. Nautiyal et al. allow 1,024 and Mala et al. 8,132; both ask for short answers."""


class Generated(NamedTuple):
    """A model's text, its cost in tokens, and whether the server reports that the limit of tokens cut it."""

    text: str
    n_input: int
    n_output: int
    is_cut: bool = False


class Likelihoods(NamedTuple):
    """Natural log-probabilities of the tokens of each continuation, and the number of tokens read in all."""

    logprobs: list[list[float]]
    n_input: int


class NextToken(NamedTuple):
    """Natural log-probabilities of texts as the next token after a prompt, and the number of tokens read."""

    logprobs: list[float]
    n_input: int


def words_of(text: str, ids_of: Callable[[str], Sequence[int]]) -> list[int]:
    """The single tokens that say a text, without and with a space before it, in its usual cases."""
    word = text.strip()
    forms = [space + form for form in (word, word.lower(), word.upper(), word.capitalize()) for space in ("", " ")]
    rows = [ids_of(form) for form in forms]
    return sorted({row[0] for row in rows if len(row) == 1})


class LanguageModel(Protocol):
    """A model in this process or behind a server."""

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily (no sampling), through the model's chat template where it has one."""
        ...

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """How likely each continuation is after the prefix, both taken as plain text."""
        ...

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        """How likely the answer starts with each text, through the model's chat template where it has one.

        A token counts for a text if they are equal without case and surrounding white space ("b", " B"); the
        probabilities of a text's tokens are added. Give texts that are one token: labels, "Yes", "Not". Minus infinity
        is a text that no token says.
        """
        ...


Style = Callable[[LanguageModel, SystemQuestion, FilledPrompt], SystemAnswer]


def letter(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
    """The paper's protocol: one new token, no sampling; its text, stripped, is the answer."""
    said = model.generate(prompt, MAX_NEW_TOKENS)
    return SystemAnswer(
        answer=said.text.strip() or None,
        response=f"{prompt.made_from}: {said.text!r}",
        input_tokens=said.n_input,
        output_tokens=said.n_output,
    )


def instructed(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
    """The paper's protocol for GPT-4o (prompt 3.3): a letter, or words that say that the model does not know.

    The paper generates one token, which cannot hold "I don't know"; we generate a few, and read the reply:
    one that says that the model does not know is not an answer, any other is the answer unchanged.
    """
    said = model.generate(prompt, MAX_ABSTAIN_TOKENS)
    return SystemAnswer(
        answer=None if says_unknown(said.text) else said.text.strip() or None,
        response=f"{prompt.made_from}: {said.text!r}",
        input_tokens=said.n_input,
        output_tokens=said.n_output,
    )


def free_text(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
    """The generated text is the answer, unless it says that the context holds none (Nautiyal et al., section 3.7)."""
    said = model.generate(prompt, MAX_TEXT_TOKENS)
    text = said.text.strip()
    return SystemAnswer(
        answer=None if says_not_found(text) else text or None,
        response=f"{prompt.made_from}: {said.text!r}",
        input_tokens=said.n_input,
        output_tokens=said.n_output,
    )


def shares(logprobs: Sequence[float]) -> list[float]:
    """Each one's share of their total probability; adds up to one. Equal shares if none has any probability."""
    best = max(logprobs)
    if best == -math.inf:
        return [1 / len(logprobs)] * len(logprobs)
    weights = [math.exp(value - best) for value in logprobs]
    whole = math.fsum(weights)
    return [weight / whole for weight in weights]


class Ranked(NamedTuple):
    """The log-probability of each choice, the text that reports them, and the number of tokens used."""

    scores: list[float]
    text: str
    n_input: int
    n_output: int


Ranking = Callable[[LanguageModel, SystemQuestion, FilledPrompt], Ranked]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _by_text(rank: Callable[[Sequence[float]], float]) -> Ranking:
    def ranked(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> Ranked:
        # An empty choice (TQA has some) still needs one token to be compared by.
        texts = [" " + (harmless(text) or "-") for text in question.choices.values()]
        found = model.likelihoods(prompt.plain, texts)
        scores = [rank(tokens) for tokens in found.logprobs]
        text = ", ".join(f"{label} {score:.3f}" for label, score in zip(question.choices, scores, strict=True))
        return Ranked(scores, text, found.n_input, 0)

    return ranked


def _by_letter(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> Ranked:
    found = model.next_token_logprobs(prompt, list(question.choices))
    each = zip(question.choices, shares(found.logprobs), strict=True)
    whole = min(1.0, math.fsum(math.exp(value) for value in found.logprobs))
    text = ", ".join(f"{label} {share:.4f}" for label, share in each)
    return Ranked(found.logprobs, f"{text}; labels {whole:.4f}", found.n_input, 1)


def likeliest(ranking: Ranking, least_margin: float = 0.0) -> Style:
    """The style that answers with the choice ranked first; ties go to the first of the question.

    Confidence is that choice's share of the probability of all. If it is not `least_margin` ahead of the second's
    share, the answer is "I don't know" (a single choice has the whole share).
    """

    def answer(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
        labels = list(question.choices)
        if not labels:
            return SystemAnswer(answer=None)
        found = ranking(model, question, prompt)
        each = shares(found.scores)
        best = max(range(len(labels)), key=found.scores.__getitem__)
        second = max((share for place, share in enumerate(each) if place != best), default=0.0)
        return SystemAnswer(
            answer=labels[best] if each[best] - second >= least_margin else None,
            response=f"{prompt.made_from}: {found.text}",
            confidence=min(1.0, each[best]),
            input_tokens=found.n_input,
            output_tokens=found.n_output,
        )

    return answer


StyleName = Literal["letter", "abstain", "text", "letter-likelihood", "likelihood", "likelihood-mean"]
RANKINGS: dict[StyleName, Ranking] = {
    "letter-likelihood": _by_letter,
    "likelihood": _by_text(math.fsum),
    "likelihood-mean": _by_text(_mean),
}
"""How the choices are ranked. `letter-likelihood`: by the label as the first token of the answer, the paper's protocol
read from the distribution instead of its best token, so that there is always a label, and a confidence. `likelihood`:
by the choice's text as a whole (sum of log-probabilities). `likelihood-mean`: by the mean over its tokens, which does
not favour short choices."""
STYLES: dict[StyleName, Style] = {
    "letter": letter,
    "abstain": instructed,
    "text": free_text,
    **{name: likeliest(ranking) for name, ranking in RANKINGS.items()},
}


class PromptPair(NamedTuple):
    """The prompts of a style: without and with context."""

    vanilla: str
    rag: str


PROMPTS: dict[StyleName, PromptPair] = {
    "abstain": PromptPair("abstain-vanilla-v1", "abstain-rag-v1"),
    "letter": PromptPair("letter-vanilla-v1", "letter-rag-v1"),
    "text": PromptPair("text-vanilla-v1", "text-rag-v1"),
    "letter-likelihood": PromptPair("letter-vanilla-v1", "letter-rag-v1"),
    "likelihood": PromptPair("likelihood-vanilla-v1", "likelihood-rag-v1"),
    "likelihood-mean": PromptPair("likelihood-vanilla-v1", "likelihood-rag-v1"),
}


def answer_with(
    model: LanguageModel,
    style: StyleName,
    question: SystemQuestion,
    context: str,
    prompts: PromptPair | None = None,
    *,
    least_margin: float = 0.0,
) -> SystemAnswer:
    """One question through one style; a question without context gets the prompt without context.

    `least_margin` is for the styles that rank the choices (RANKINGS; see `likeliest`). Raises ConfigError for others.
    """
    pair = prompts if prompts is not None else PROMPTS[style]
    filled = load_prompt(pair.rag if context else pair.vanilla).fill(question, context)
    if least_margin <= 0:
        return STYLES[style](model, question, filled)
    if style not in RANKINGS:
        raise ConfigError("abstain_margin", f"style {style!r} ranks no choices", f"choose one of {', '.join(RANKINGS)}")
    return likeliest(RANKINGS[style], least_margin)(model, question, filled)
