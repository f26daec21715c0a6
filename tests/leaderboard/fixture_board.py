"""Made-up scorecards for the tests: seeded outcomes with the spread of real systems. Never results."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from pathlib import Path
from typing import Any

from edu_rag.scorecard.card import OUTCOME_LETTERS, Counts, ScoreCard, Slice, SystemFacts
from edu_rag.scorecard.results_folder import write_scorecard
from edu_rag.statistics import rate_intervals

DATASET = "tqa@1.0.0#0a1b2c3d"
KINDS = ("multiple_choice", "true_false", "matching")
# slug, name, team, (correct, incorrect, abstained, unparseable, failed) in per cent, blind, runnable, seconds
SYSTEMS: tuple[tuple[str, str, str, tuple[float, ...], bool, bool, float | None], ...] = (
    ("gpt-4o-rag", "GPT-4o + RAG", "EDU-RAG authors", (88.6, 10.4, 1.0, 0, 0), False, False, 2.41),
    ("gpt-4o", "GPT-4o", "EDU-RAG authors", (87.6, 11.2, 1.2, 0, 0), False, False, 1.2),
    ("llama3-rag", "Llama 3 8B + RAG", "EDU-RAG authors", (74.3, 25.7, 0, 0, 0), False, True, 0.84),
    ("llama3", "Llama 3 8B", "EDU-RAG authors", (70.1, 29.9, 0, 0, 0), False, True, 0.31),
    (
        "self-rag-7b",
        "Self-RAG 7B, adaptive retrieval and critique tokens",
        "Asai et al., re-run by us",
        (62, 25, 9, 3.5, 0.5),
        False,
        True,
        3.7,
    ),
    ("llama2-rag", "Llama 2 7B + RAG", "EDU-RAG authors", (52.0, 40.6, 5.4, 1.5, 0.5), False, True, 0.92),
    ("sbert-overlap", "S-BERT passages, word overlap", "EDU-RAG baselines", (49, 46, 5, 0, 0), False, True, 0.06),
    ("bm25-overlap", "BM25 passages, word overlap", "EDU-RAG baselines", (46, 48, 6, 0, 0), False, True, 0.012),
    ("llama2", "Llama 2 7B", "EDU-RAG authors", (25.3, 18.6, 30, 24, 2.1), False, True, 0.4),
    ("smollm2-rag", "SmolLM2 360M + RAG", "EDU-RAG baselines", (33, 52, 2, 9, 4), False, True, 6.2),
    ("blind-longest", "Always the longest choice", "EDU-RAG baselines", (41, 59, 0, 0, 0), True, True, 0.0001),
    ("blind-a", "Always a", "EDU-RAG baselines", (28, 72, 0, 0, 0), True, True, 0.0001),
    ("blind-random", "Random choice", "EDU-RAG baselines", (33.6, 66.4, 0, 0, 0), True, True, 0.0001),
    ("blind-abstain", "Always abstain", "EDU-RAG baselines", (0, 0, 100, 0, 0), True, True, None),
)


def outcomes_of(shares: tuple[float, ...], n: int, seed: int) -> str:
    """Letters for n questions; a question's own difficulty makes systems agree, as they do in life."""
    difficulty, own = random.Random(f"difficulty-{n}"), random.Random(seed)
    letters = []
    for _ in range(n):
        shared, alone, which = difficulty.random(), own.random(), own.random()
        place = 100 * (shared if which < 0.6 else alone)
        total = 0.0
        for share, letter in zip(shares, OUTCOME_LETTERS.values(), strict=True):
            total += share
            if place < total:
                letters.append(letter)
                break
        else:
            letters.append("a" if shares[2] else "i")
    return "".join(letters)


def counts_of(outcomes: str) -> Counts:
    tally = Counter(outcomes)
    return Counts(**{name: tally[letter] for name, letter in OUTCOME_LETTERS.items()})


def slices_of(outcomes: str) -> tuple[Slice, ...]:
    """By kind, and by lesson where there are questions enough."""
    parts = {("kind", kind): outcomes[i :: len(KINDS)] for i, kind in enumerate(KINDS)}
    if len(outcomes) > 100:
        parts |= {("lesson", f"lesson {i:02d}"): outcomes[i::20] for i in range(20)}
    return tuple(Slice(attribute=a, value=v, counts=counts_of(part)) for (a, v), part in sorted(parts.items()))


def card_of(slug: str = "my-system", outcomes: str = "ccciiaauf", **changes: Any) -> ScoreCard:
    """A scorecard; `changes` go to SystemFacts where it has such a field, else to ScoreCard."""
    facts = {"slug": slug, "name": slug, "team": "a team"}
    intervals, method = rate_intervals(outcomes)
    values: dict[str, Any] = {
        "dataset": DATASET,
        "split": "val",
        "sample": None,
        "harness": "edu-rag 0.1.0",
        "answers_rule": "answers-v3",
        "counts": counts_of(outcomes),
        "outcomes": outcomes,
        "slices": slices_of(outcomes),
        "intervals": intervals,
        "interval_method": method,
        "scored_at": "2026-11-20T09:30:00Z",
    }
    for name, value in changes.items():
        (facts if name in SystemFacts.__dataclass_fields__ else values)[name] = value
    return ScoreCard(system=SystemFacts(**facts), **values)


def latency_cost(median: float, n: int, *, measured: bool) -> dict[str, Any]:
    source = "measured" if measured else "declared"
    return {"latency_s": {"median": median, "p95": 3 * median, "n": n - 1, "source": source}}


def overlap_of(n: int, seed: int, share: float) -> str:
    """Questions that a team declares, as a scorecard has them."""
    chance = random.Random(f"overlap-{seed}")
    return "".join("1" if chance.random() < share else "0" for _ in range(n))


CAPS: dict[str, Any] = {
    "sandbox": "bubblewrap",
    "memory_bytes": 6 << 30,
    "n_processes": 256,
    "file_bytes": 1 << 30,
    "n_files": 1024,
    "tmp_bytes": 1 << 30,
    "shm_bytes": 64 << 20,
    "cpu_s": 240.0,
    "version": "bubblewrap 0.8.0",
    "gaps": [],
}
RERUN = {"n": 20, "n_same": 20, "made_at": "2026-11-20T10:00:00Z", "caps": CAPS, "own": False}
FURTHER: dict[str, dict[str, Any]] = {
    "gpt-4o-rag": {"withdrawn": "We found the test questions in our prompt’s examples."},
    "gpt-4o": {"share": 0.2},
    "llama3-rag": {"rerun": RERUN | {"n": 50, "n_same": 50}, "caps": CAPS},
    "llama3": {"rerun": RERUN | {"n_same": 17}},
    "self-rag-7b": {"team": "EDU-RAG author5", "share": 0.05},
    "llama2-rag": {"caps": {"sandbox": "none"}},
    "bm25-overlap": {"rerun": RERUN | {"own": True}, "caps": CAPS},
}
"""What issue 5 adds to some of the systems."""


def further(slug: str, n: int, seed: int) -> dict[str, Any]:
    """Changes of a scorecard: withdrawal, overlap, caps, re-run."""
    changes = dict(FURTHER.get(slug, {}))
    share = changes.pop("share", 0)
    return changes | ({"overlap": overlap_of(n, seed, share)} if share else {})


def write_card(results: Path, card: ScoreCard, predictions: bytes | None = None) -> Path:
    """Lay a scorecard where `edu-rag score` puts it; return its path."""
    name, version = card.dataset.split("#")[0].split("@")
    split = card.split if card.sample is None else f"{card.split}-{card.sample}"
    folder = results / f"{name}-{version}" / split / card.system.slug
    path = folder / "scorecard.json"
    write_scorecard(path, card)
    if predictions is not None:
        (folder / "predictions.jsonl").write_bytes(predictions)
    return path


def write_board(results: Path) -> list[ScoreCard]:
    """Fourteen systems on a whole split, nine of them on a sample of another split too."""
    cards = []
    for number, (slug, name, team, shares, blind, runnable, latency) in enumerate(SYSTEMS):
        for split, sample, n in (("val", None, 1255), ("test", "stratified-500-seed-0", 500)):
            if sample is not None and number in (0, 1, 4, 6, 8):
                continue
            outcomes = outcomes_of(shares, n, seed=number)
            predictions = b"".join(
                b'{"question_id":"q%d","answer":null,"response":"%s"}\n' % (i, slug.encode()) for i in range(n)
            )
            changes = {"team": team} | further(slug, n, number)
            card = card_of(
                slug,
                outcomes,
                name=name,
                blind=blind,
                runnable=runnable,
                split=split,
                sample=sample,
                models=("meta-llama/Llama-2-7b-chat-hf",) if "llama2" in slug else (),
                description=f"{name}, as the paper describes it.",
                links=("https://example.org/" + slug,) if number % 3 == 0 else (),
                cost={} if latency is None else latency_cost(latency, n, measured=runnable),
                retrieval={} if blind else {"recall@10": 0.41, "ndcg@10": 0.333},
                scored_at=f"2026-11-{10 + number % 9:02d}T09:30:00Z",
                predictions_sha256=hashlib.sha256(predictions).hexdigest(),
                system_sha256=hashlib.sha256(slug.encode()).hexdigest(),
                **changes,
            )
            cards.append(card)
            write_card(results, card, predictions)
    return cards
