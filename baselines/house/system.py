"""The house system: weigh the signs of each choice, and answer where the best choice's probability pays.

Its 1.5B model runs in llama.cpp's server, with one slot for each family of prompts. Each family begins with the same
examples. A slot caches its last prompt, so that the examples are read once a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from baselines.house.asking import CHOICE, STATEMENT, ModelReply
from baselines.house.signs import Models, can_ask, signs_of
from baselines.house.weighing import Weights, matrix, probabilities
from baselines.llama_cpp import LlamaCppModel
from edu_rag.errors import ConfigError, SubmissionError
from edu_rag.serve import SystemAnswer, SystemQuestion

FORMAT = "house-v2"
ANSWERS = ("choices", "true_false")
"""The two models of weights: one for multiple choice and matching, one for true/false."""
FAMILIES = (CHOICE, STATEMENT)
TOKENS_A_SLOT = 3_072
N_TOP = 200
"""Number of most likely next words that the server returns."""


class Fitted(NamedTuple):
    """The fitted weights by model, and the probability above which each one's best choice is said."""

    weights: Mapping[str, Weights]
    answer_above: Mapping[str, float]


def _number(path: Path, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(path, f"{name} is {value!r:.40}, not a number", "make it again with bench/house.py fit")
    return float(value)


def read_fitted(path: Path) -> Fitted:
    """The weights that bench/house.py wrote. Raises ConfigError."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(path, f"cannot be read ({error})", "make it with bench/house.py fit") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ConfigError(path, f"is not of format {FORMAT}", "make it with bench/house.py fit")
    weights, above = {}, {}
    for name in ANSWERS:
        one = said.get(name)
        if not isinstance(one, dict) or not isinstance(one.get("weights"), dict):
            raise ConfigError(path, f"has no weights of {name}", "make it with bench/house.py fit")
        values = {sign: _number(path, f"{name}.{sign}", value) for sign, value in one["weights"].items()}
        weights[name] = Weights(tuple(values), tuple(values.values()))
        above[name] = _number(path, f"{name}.answer_above", one.get("answer_above"))
    return Fitted(weights, above)


def house_system(models: Models, fitted: Fitted) -> Callable[[SystemQuestion], SystemAnswer]:
    """The system. It says the likeliest choice where its probability is above the bound, else "I don't know".

    A correct answer is worth +1 and a wrong one -1, so that an answer of probability p is worth 2p - 1. Abstains on
    questions without choices to weigh. Confidence is the best choice's probability, said or not.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        if not can_ask(question):
            return SystemAnswer(answer=None)
        which = "true_false" if question.kind == "true_false" else "choices"
        names, values = fitted.weights[which]
        found = signs_of(question, models, names.__contains__)
        shares = probabilities(values, matrix(question, found.values, names)).tolist()
        labels = list(question.choices)
        best = max(range(len(labels)), key=shares.__getitem__)
        listed = ", ".join(f"{label} {share:.3f}" for label, share in zip(labels, shares, strict=True))
        return SystemAnswer(
            answer=labels[best] if shares[best] > fitted.answer_above[which] else None,
            response=f"{FORMAT}: {listed}",
            confidence=min(1.0, shares[best]),
            passages=[window.span for window in found.windows],
            input_tokens=found.n_input,
            output_tokens=0,
        )

    return answer


def house_light(weights: str | Path = "weights.json") -> Callable[[SystemQuestion], SystemAnswer]:
    """The system with SmolLM2 alone, as the demo and the board run it."""
    fitted = read_fitted(Path(weights))
    from baselines.local_model import local_model

    return house_system(Models(small=local_model("smollm2-135m")), fitted)


def house(weights: str | Path = "weights.json") -> Callable[[SystemQuestion], SystemAnswer]:
    """The system with Qwen 1.5B and MiniLM, as the board runs it."""
    fitted = read_fitted(Path(weights))
    from baselines.embed import Encoder

    return house_system(Models(large=HouseModel("qwen2.5-coder-1.5b"), encoder=Encoder()), fitted)


class HouseModel(LlamaCppModel):
    """Returns the log-probabilities of next words. Settings: see baselines.llama_cpp."""

    n_context = TOKENS_A_SLOT * len(FAMILIES)
    n_slots = len(FAMILIES)

    def __call__(self, prompt: str, words: Sequence[str], family: str) -> ModelReply:
        """Log-probabilities of words that are one token each; one out of the likeliest 200 gets the last one's."""
        body: dict[str, Any] = {
            "prompt": prompt,
            "n_predict": 1,
            "n_probs": N_TOP,
            "temperature": 0,
            "cache_prompt": True,
            "post_sampling_probs": False,
            "samplers": ["temperature"],
            "id_slot": FAMILIES.index(family),
        }
        reply = self._post(f"{self._root}/completion", body)
        try:
            likeliest = reply["completion_probabilities"][0]["top_logprobs"]
            known = {str(one["token"]): float(one["logprob"]) for one in reversed(likeliest)}
            floor = min(known.values())
            return ModelReply([known.get(word, floor) for word in words], int(reply["tokens_evaluated"]))
        except (KeyError, IndexError, TypeError, ValueError):
            raise SubmissionError(
                self._root, f"answered in a form we do not know: {str(reply)[:200]}", "check xllamacpp's version"
            ) from None
