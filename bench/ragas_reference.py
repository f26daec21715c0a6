"""The values that the packages ragas, ragchecker and nuggetizer give to verdicts: run by a Python that has them.

Usage: bench/claim_metrics.py calls it. Reads a JSON list of cases on standard input, writes their values as JSON. A
judge that answers from the case stands in for the model, so the packages' own code runs from its replies to the value.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import json
import logging
import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ragas.metrics.collections as ragas
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics import Faithfulness, LLMContextPrecisionWithReference, LLMContextRecall, ResponseRelevancy
from ragas.metrics.base import SimpleBaseMetric

Case = dict[str, Any]
logging.disable(logging.WARNING)


class ScriptedModel(InstructorBaseRagasLLM):  # type: ignore[misc]
    """Replies in order, in the form that is asked for."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self._replies = list(replies)

    def generate(self, prompt: str, response_model: Any) -> Any:
        """The next reply."""
        return response_model(**self._replies.pop(0))

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        """The next reply."""
        return self.generate(prompt, response_model)


class ScriptedEmbeddings(BaseRagasEmbedding):  # type: ignore[misc]
    """Vectors by text."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed_text(self, text: str, **_: Any) -> list[float]:
        """The vector of a text."""
        return self._vectors[text]

    async def aembed_text(self, text: str, **_: Any) -> list[float]:
        """The vector of a text."""
        return self._vectors[text]

    embed_query = embed_text

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        return [self._vectors[text] for text in texts]


def _statements(verdicts: list[bool]) -> dict[str, Any]:
    return {"statements": [{"statement": "s", "reason": "r", "verdict": int(v)} for v in verdicts]}


def _faithfulness(case: Case) -> float:
    verdicts = case["answer_by_passages"]
    model = ScriptedModel({"statements": ["s"] * len(verdicts)}, _statements(verdicts))
    metric = ragas.Faithfulness(llm=model)
    return _run(metric, user_input="q", response="a", retrieved_contexts=["c"] * len(case["relevant"]))


def _context_recall(case: Case) -> float:
    found = [{"statement": "s", "reason": "r", "attributed": int(v)} for v in case["reference_by_passages"]]
    metric = ragas.ContextRecall(llm=ScriptedModel({"classifications": found}))
    return _run(metric, user_input="q", reference="r", retrieved_contexts=["c"] * len(case["relevant"]))


def _context_precision(case: Case) -> float:
    replies = [{"reason": "r", "verdict": int(v)} for v in case["relevant"]]
    metric = ragas.ContextPrecisionWithReference(llm=ScriptedModel(*replies))
    return _run(metric, user_input="q", reference="r", retrieved_contexts=["c"] * len(replies))


def _embeddings(case: Case) -> ScriptedEmbeddings:
    own, *others = case["vectors"]
    return ScriptedEmbeddings({"q": own} | {f"g{i}": vector for i, vector in enumerate(others)})


def _relevancy(case: Case) -> float:
    replies = [{"question": f"g{i}", "noncommittal": int(v)} for i, v in enumerate(case["noncommittal"])]
    model = ScriptedModel(*replies)
    metric = ragas.AnswerRelevancy(llm=model, embeddings=_embeddings(case), strictness=len(replies))
    return _run(metric, user_input="q", response="a")


def _run(metric: SimpleBaseMetric, **columns: Any) -> float:
    return float(asyncio.run(metric.ascore(**columns)).value)


def _older(case: Case) -> dict[str, float]:
    """The same by ragas.metrics, the older classes, from the step that computes the value."""
    verdicts = types.SimpleNamespace(statements=[_named(verdict=int(v)) for v in case["answer_by_passages"]])
    recall = LLMContextRecall()._compute_score([_named(attributed=int(v)) for v in case["reference_by_passages"]])
    relevant = [_named(verdict=int(v)) for v in case["relevant"]]
    asked = [_named(question=f"g{i}", noncommittal=int(v)) for i, v in enumerate(case["noncommittal"])]
    relevancy = ResponseRelevancy(embeddings=_embeddings(case))
    return {
        "faithfulness": Faithfulness()._compute_score(verdicts),
        "context_recall": recall,
        "context_precision": LLMContextPrecisionWithReference()._calculate_average_precision(relevant),
        "answer_relevancy": relevancy._calculate_score(asked, {"user_input": "q"}) if asked else math.nan,
    }


def _named(**fields: Any) -> Any:
    return types.SimpleNamespace(**fields)


def _ragchecker(case: Case) -> dict[str, float]:
    from ragchecker.computation import METRIC_FUNC_MAP
    from ragchecker.container import RAGResult

    words = {True: "Entailment", False: "Neutral"}
    result = RAGResult(query_id="q", query="q", gt_answer="r", response="a")
    result.answer2response = [words[v] for v in case["answer_by_reference"]]
    result.response2answer = [words[v] for v in case["reference_by_answer"]]
    result.retrieved2answer = [[words[v] for v in row] for row in case["reference_by_passage"]]
    names = {
        "claim_precision": "precision",
        "claim_recall": "recall",
        "claim_f1": "f1",
        "retrieved_recall": "claim_recall",
        "retrieved_precision": "context_precision",
    }
    for name in names.values():
        METRIC_FUNC_MAP[name](result)
    return {ours: float(result.metrics[theirs]) for ours, theirs in names.items()}


def _factual(case: Case, mode: str) -> float:
    replies = [
        reply
        for verdicts in (case["answer_by_reference"], case["reference_by_answer"])
        for reply in ({"claims": ["c"] * len(verdicts)}, _statements(verdicts))
        if verdicts or "claims" in reply
    ]
    return _run(ragas.FactualCorrectness(llm=ScriptedModel(*replies), mode=mode), response="a", reference="r")


FACTUAL: dict[str, Callable[[Case], float]] = {
    "claim_precision": lambda case: _factual(case, "precision"),
    "claim_recall": lambda case: _factual(case, "recall"),
}


def _nuggets(case: Case) -> dict[str, float]:
    from nuggetizer.core.metrics import calculate_nugget_scores

    found = calculate_nugget_scores("q", case["nuggets"])
    names = ("strict_vital", "vital", "strict_all", "all")
    return {f"nuggets_{name}": getattr(found, f"{name}_score") for name in names}


RAGAS: dict[str, Callable[[Case], float]] = {
    "faithfulness": _faithfulness,
    "answer_relevancy": _relevancy,
    "context_precision": _context_precision,
    "context_recall": _context_recall,
}


def _value(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _refusal(compute: Callable[[Case], float], case: Case) -> float | str | None:
    try:
        return _value(compute(case))
    except ValueError as error:
        return f"refuses: {error}"


def _without_models() -> None:
    """Make ragchecker importable without the models that extract claims, which its __init__ imports."""
    spec = importlib.util.find_spec("ragchecker")
    package = types.ModuleType("ragchecker")
    package.__path__ = list(spec.submodule_search_locations or []) if spec else []
    sys.modules["ragchecker"] = package


def main() -> None:
    """Read cases, write values."""
    cases = json.load(sys.stdin)
    _without_models()
    found = [
        {
            "ragas.metrics.collections": {name: _refusal(compute, case) for name, compute in RAGAS.items()},
            "ragas.metrics": {name: _value(value) for name, value in _older(case).items()},
            "ragas FactualCorrectness": {name: _refusal(compute, case) for name, compute in FACTUAL.items()},
            "ragchecker": _ragchecker(case),
            "nuggetizer": _nuggets(case),
        }
        for case in cases
    ]
    versions = {name: importlib.metadata.version(name) for name in ("ragas", "ragchecker", "nuggetizer")}
    json.dump({"python": Path(sys.executable).name, "versions": versions, "values": found}, sys.stdout)


if __name__ == "__main__":
    main()
