"""The runs of the papers' experiments that need a language model: which system, on which questions, in which order.

A job is a recipe (`[parts]`, as in a submission.toml) with a sample of a dataset and, for a control, a probe.
bench/papers/paper_runs.py asks them. All run on transformers in float32, so that one back end gives all figures of a
comparison; the systems with Qwen on the board run on llama.cpp.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SPLITS = {"open-textbooks": "test", "tqa-val": "val", "edu-rag-mini": "test"}
MODELS = {"qwen": "qwen2.5-coder-1.5b", "gemma": "gemma3-270m", "smollm2": "smollm2-135m"}
WHOLE_DOCUMENTS = "edu-rag-whole-qwen1b"
"""Its context is the pages in the search engine's order, cut at 7,500 characters: no recipe can say that."""
Parts = Mapping[str, Any]
Pages = Literal["", "own", "all"]
"""Whose sentences must be encoded before a job: none, those of the sample's own pages, or of all pages."""


class Job(NamedTuple):
    """One system on one set of questions. `n` is the size of its sample (None: the whole split)."""

    slug: str
    model: str
    parts: Parts
    dataset: str
    n: int | None
    probe: str | None = None
    pages: Pages = ""

    @property
    def name(self) -> str:
        """The job in names of files."""
        return ".".join(filter(None, [self.dataset, self.slug, str(self.n or "whole"), self.probe]))


def _model(model: str, style: str, **more: Any) -> Parts:
    return {"model": {"name": MODELS[model], "back_end": "transformers", "style": style, **more}}


def of_submission(slug: str, model: str, **more: Any) -> dict[str, Any]:
    """The recipe of a system of the repository, with another model: `more` changes settings of [parts.model]."""
    text = (ROOT / "submissions" / slug / "submission.toml").read_text(encoding="utf-8")
    parts: dict[str, Any] = tomllib.loads(text)["parts"]
    old = {key: value for key, value in parts["model"].items() if key not in ("name", "back_end")}
    return parts | {"model": {**old, "name": MODELS[model], "back_end": "transformers", **more}}


def alone(model: str, style: str) -> Parts:
    """The model without pages."""
    return _model(model, style)


def paper(model: str, style: str) -> Parts:
    """The EDU-RAG paper's retrieval: the ten closest sentences, at most 7,500 characters."""
    return {"chunk": "sentences", "retrieve": ["dense"], "top_k": 10, "max_chars": 7_500, **_model(model, style)}


def _check(stack: str, **more: Any) -> dict[str, Any]:
    return {"name": "self-check", "stack": stack, "by": "likelihood", **more}


READER = {**alone("qwen", "letter-likelihood"), "verify": _check("bm25-reader")}
REPLACED = {**READER, "guard": [], "replace": ["yes", "no", "not_related"]}
"""Every answer is replaced, so that the relation of the check gives each class of Table 5."""
SUMMARY = {**alone("qwen", "letter-likelihood"), "verify": _check("bm25-reader", n_passages=3)}
CHUNKERS: Mapping[str, Any] = {
    "sentence-level": {"name": "windows", "tokens": 512, "overlap": 200},
    "semantic": "semantic",
    "pattern": "pattern",
    "windows": {"name": "windows", "tokens": 128, "overlap": 0},
    "sentences": "sentences",
}
"""HyPA-RAG's figure 3, and two of ours."""


def chunked(chunk: Any) -> Parts:
    """As many of BM25's best chunks as 2,500 characters hold, so that no chunker gains by longer chunks."""
    retrieved = {"chunk": chunk, "retrieve": ["bm25"], "candidates": 100, "top_k": 100, "max_chars": 2_500}
    return retrieved | _model("gemma", "likelihood")


def of_number(name: str) -> Parts:
    """HyPA-RAG's systems without the graph: a fixed number of passages, or the number of the question's class (PA)."""
    if name == "pa":
        return of_submission("hypa-pa", "gemma")
    return {**of_submission("hypa-fixed-k", "gemma"), "top_k": int(name)}


NUMBERS = ("3", "5", "7", "10", "pa")
"""HyPA-RAG's Table 2."""


def whole(model: str, style: str) -> Parts:
    """For WHOLE_DOCUMENTS; what finds the context is not in it."""
    return _model(model, style)


MALA_PROMPTS = ("text-vanilla-v1", "text-brief-rag-v1")


def free_text(slug: str) -> Parts:
    """Nautiyal et al.'s answers in free text, or Mala et al.'s by their prompt (appendix A)."""
    if slug == "nautiyal-text-qwen1b":
        return of_submission("nautiyal-hybrid", "qwen", style="text")
    parts = of_submission("mala-hybrid", "qwen", style="text", prompts=list(MALA_PROMPTS))
    return {key: part for key, part in parts.items() if key != "expand"} | {"retrieve": ["bm25", "dense"]}


def small_text(prompts: tuple[str, str] | None) -> Parts:
    """The same prompts for a model that a machine without an accelerator can ask, and BM25 alone."""
    more = {"prompts": list(prompts)} if prompts else {}
    return of_submission("nautiyal-bm25", "smollm2", style="text", **more)


def _qwen_research(dataset: str) -> Iterator[Job]:
    """The EDU-RAG paper's questions: with and without retrieval, and the controls."""
    yield Job("edu-rag-vanilla-qwen1b", "qwen", alone("qwen", "letter"), dataset, 500)
    rag = ("edu-rag-paper-qwen1b", "qwen", paper("qwen", "letter"), dataset, 500)
    yield Job(*rag, pages="own")
    yield Job(*rag, probe="no-context")
    yield Job(*rag, probe="evidence-only", pages="own")
    yield Job(*rag, probe="other-pages", pages="all")
    yield Job(*rag, probe="half-noise", pages="all")


def _huo(dataset: str) -> Iterator[Job]:
    yield Job("huo-self-check-vanilla", "qwen", of_submission("huo-self-check-vanilla", "qwen"), dataset, 500)
    guarded = of_submission("huo-self-check-rag", "qwen")
    yield Job("huo-self-check-rag", "qwen", guarded, dataset, 500, pages="own")


def _small(model: str, slug: str) -> Iterator[Job]:
    """Table 3, and the EDU-RAG paper's two systems with one of the small models."""
    yield Job(f"edu-rag-vanilla-{slug}", model, alone(model, "likelihood"), "tqa-val", 500)
    yield Job(f"edu-rag-vanilla-{slug}", model, alone(model, "likelihood"), "tqa-val", None)
    yield Job(f"edu-rag-paper-{slug}", model, paper(model, "likelihood"), "open-textbooks", 500, pages="own")
    yield Job(f"edu-rag-vanilla-{slug}", model, alone(model, "likelihood"), "open-textbooks", 500)
    yield Job(f"edu-rag-paper-{slug}", model, paper(model, "likelihood"), "tqa-val", 500, pages="own")


def plan() -> list[Job]:
    """All jobs, the most valuable first; a worker takes those of its own model in this order."""
    books = "open-textbooks"
    whole_documents = Job(WHOLE_DOCUMENTS, "qwen", whole("qwen", "letter"), books, 300)
    texts = [
        Job(slug, "qwen", free_text(slug), books, 200, pages="own")
        for slug in ("nautiyal-text-qwen1b", "mala-text-qwen1b")
    ]
    return [
        *_qwen_research(books),
        *_qwen_research("tqa-val"),
        *_huo(books),
        Job("edu-rag-vanilla-qwen1b", "qwen", alone("qwen", "letter"), "tqa-val", None),
        whole_documents,
        Job("huo-replace-qwen1b", "qwen", REPLACED, books, 300),
        *texts,
        Job("huo-summary-qwen1b", "qwen", SUMMARY, books, 300),
        *_huo("tqa-val"),
        *_small("gemma", "gemma3"),
        *(
            Job(f"hypa-chunk-{name}", "gemma", chunked(chunk), books, 300, pages="own" if name == "semantic" else "")
            for name, chunk in CHUNKERS.items()
        ),
        *(Job(f"hypa-k-{name}", "gemma", of_number(name), books, 300, pages="own") for name in NUMBERS),
        Job("nautiyal-text-smollm2", "smollm2", small_text(None), books, 200),
        Job("mala-text-smollm2", "smollm2", small_text(MALA_PROMPTS), books, 200),
        *_small("smollm2", "smollm2"),
        Job("edu-rag-vanilla-smollm2-letter", "smollm2", alone("smollm2", "letter"), "tqa-val", None),
    ]
