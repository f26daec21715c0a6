"""From a filled prompt to an answer, in two styles: one generated letter, or the likeliest choice.

Below a billion parameters a generated letter is noise ("A" nearly always), while the likelihood of each choice's text
is far above chance; from about 1.5 billion letters work. The paper's protocol is the letter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

from baselines.prompt import FilledPrompt, harmless, load_prompt
from edu_rag.serve import SystemAnswer, SystemQuestion

MAX_NEW_TOKENS = 1
"""EDU-RAG section 4.3."""


class Generated(NamedTuple):
    """What a model said, and what it cost in tokens."""

    text: str
    n_input: int
    n_output: int


class Likelihoods(NamedTuple):
    """Natural log-probabilities of the tokens of each continuation, and the number of tokens read in all."""

    logprobs: list[list[float]]
    n_input: int


class LanguageModel(Protocol):
    """A model in this process or behind a server."""

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily (no sampling), through the model's chat template where it has one."""
        ...

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """How likely each continuation is after the prefix, both taken as plain text."""
        ...


Style = Callable[[LanguageModel, SystemQuestion, FilledPrompt], SystemAnswer]


def letter(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
    """The paper's protocol: one new token, no sampling; its text, stripped, is the answer as it is."""
    said = model.generate(prompt, MAX_NEW_TOKENS)
    return SystemAnswer(
        answer=said.text.strip() or None,
        response=f"{prompt.made_from}: {said.text!r}",
        input_tokens=said.n_input,
        output_tokens=said.n_output,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _likeliest(rank: Callable[[Sequence[float]], float]) -> Style:
    def answer(model: LanguageModel, question: SystemQuestion, prompt: FilledPrompt) -> SystemAnswer:
        labels = list(question.choices)
        if not labels:
            return SystemAnswer(answer=None)
        # An empty choice (TQA has some) still needs one token to be compared by.
        texts = [" " + (harmless(question.choices[label]) or "-") for label in labels]
        found = model.likelihoods(prompt.plain, texts)
        scores = [rank(tokens) for tokens in found.logprobs]
        best = max(range(len(labels)), key=scores.__getitem__)
        told = ", ".join(f"{label} {score:.3f}" for label, score in zip(labels, scores, strict=True))
        return SystemAnswer(
            answer=labels[best],
            response=f"{prompt.made_from}: {told}",
            confidence=min(1.0, 1 / math.fsum(math.exp(score - scores[best]) for score in scores)),
            input_tokens=found.n_input,
            output_tokens=0,
        )

    return answer


likelihood: Style = _likeliest(math.fsum)
"""The choice whose text is likeliest as a whole (sum of log-probabilities); ties go to the first.
Confidence is its share among the choices' probabilities."""
likelihood_mean: Style = _likeliest(_mean)
"""The same by the mean over tokens, which does not favour short choices."""

StyleName = Literal["letter", "likelihood", "likelihood-mean"]
STYLES: dict[StyleName, Style] = {"letter": letter, "likelihood": likelihood, "likelihood-mean": likelihood_mean}


class PromptPair(NamedTuple):
    """The prompts of a style: without and with context."""

    vanilla: str
    rag: str


PROMPTS: dict[StyleName, PromptPair] = {
    "letter": PromptPair("letter-vanilla-v1", "letter-rag-v1"),
    "likelihood": PromptPair("likelihood-vanilla-v1", "likelihood-rag-v1"),
    "likelihood-mean": PromptPair("likelihood-vanilla-v1", "likelihood-rag-v1"),
}


def answer_with(
    model: LanguageModel, style: StyleName, question: SystemQuestion, context: str, prompts: PromptPair | None = None
) -> SystemAnswer:
    """One question through one style; a question without context gets the prompt without context."""
    pair = prompts if prompts is not None else PROMPTS[style]
    filled = load_prompt(pair.rag if context else pair.vanilla).fill(question, context)
    return STYLES[style](model, question, filled)
