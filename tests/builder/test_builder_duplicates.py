"""Repeated pages of one question: exact, near, and what is only alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.deriving.duplicates import (
    DIGEST_BYTES,
    SIGNATURE_BYTES,
    SeenPages,
    estimated_similarity,
    signature,
    similarity,
)

ROOT = Path(__file__).resolve().parents[2]
WORDS = [f"word{number}" for number in range(400)]
TEXT = " ".join(WORDS)


def verdicts(*texts: str, threshold: float = 0.8) -> list[str | None]:
    seen = SeenPages()
    return [seen.verdict(text, signature(text), threshold) for text in texts]


def test_the_same_words_are_a_duplicate_whatever_their_case_spacing_and_punctuation() -> None:
    assert verdicts("Ice moves; rocks scrape.", "ICE moves\n\nrocks, scrape") == [None, "duplicate"]


def test_a_page_with_a_few_words_changed_is_a_near_duplicate() -> None:
    changed = " ".join(["other" if number in (50, 250) else word for number, word in enumerate(WORDS)])
    assert similarity(TEXT, changed) > 0.9
    assert verdicts(TEXT, changed) == [None, "near_duplicate"]


def test_a_page_below_the_threshold_is_kept_and_remembered() -> None:
    half = " ".join(WORDS[:200] + [f"new{number}" for number in range(200)])
    assert verdicts(TEXT, half, half) == [None, None, "duplicate"]


def test_the_exact_similarity_decides_not_the_estimate() -> None:
    changed = " ".join(WORDS[:-20])
    exact = similarity(TEXT, changed)
    assert verdicts(TEXT, changed, threshold=exact) == [None, "near_duplicate"]
    assert verdicts(TEXT, changed, threshold=exact + 1e-9) == [None, None]


def test_a_threshold_of_zero_drops_exact_repeats_only() -> None:
    assert verdicts(TEXT, TEXT + " more", TEXT, threshold=0) == [None, None, "duplicate"]


def test_a_dropped_page_drops_no_other_page() -> None:
    second = " ".join(WORDS[30:] + [f"a{number}" for number in range(30)])
    third = " ".join(WORDS[60:] + [f"a{number}" for number in range(60)])
    assert similarity(second, third) > 0.8 > similarity(TEXT, third)
    assert verdicts(TEXT, second, third) == [None, "near_duplicate", None]


def test_the_signature_is_the_same_in_every_process_and_for_every_hash_seed() -> None:
    code = (
        "import sys; from builder.deriving.duplicates import signature; sys.stdout.write(signature(sys.argv[1]).hex())"
    )
    text = "Ice moves slowly and rocks scrape the bedrock – CO₂ 日本語"
    found = set()
    for seed in ("0", "1", "4711"):
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONUTF8": "1"}
        found.add(subprocess.run([sys.executable, "-c", code, text], env=env, capture_output=True, check=True).stdout)
    assert found == {signature(text).hex().encode()}


def test_the_signature_of_a_known_text_never_changes() -> None:
    """A stored signature must stay comparable: a library that hashes otherwise would be a change of the dataset."""
    assert signature("ice moves and rocks scrape the bedrock")[DIGEST_BYTES:].hex()[:32] == PINNED


PINNED = "3e82fde55ca9a9dbf70ca8ca65c526ca"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_text_has_a_signature_and_repeats_itself(text: str) -> None:
    assert len(signature(text)) == SIGNATURE_BYTES
    assert verdicts(text, text) == [None, "duplicate"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 200), st.integers(0, 400))
def test_the_estimate_misses_no_pair_above_the_threshold(start: int, n_new: int) -> None:
    other = " ".join(WORDS[start:] + [f"new{number}" for number in range(n_new)])
    assert abs(estimated_similarity(signature(TEXT), signature(other)) - similarity(TEXT, other)) < 0.18


@pytest.mark.parametrize("text", ["", "one", "one two three four"])
def test_texts_shorter_than_a_shingle_are_compared_whole(text: str) -> None:
    assert verdicts(text, text + " five six") == [None, None]
