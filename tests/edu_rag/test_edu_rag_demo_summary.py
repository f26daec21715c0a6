"""The end of the demo: the ladder, and a sentence that says what the tests establish and nothing more."""

from __future__ import annotations

from collections.abc import Sequence

from edu_rag.cli.demo_summary import ladder, ladder_lines, sentence, summary
from edu_rag.scorecard.card import Counts, ScoreCard, Slice, SystemFacts

OUTCOMES = {"c": "correct", "i": "incorrect", "a": "abstained"}


def counts(letters: str) -> Counts:
    return Counts(**{name: letters.count(letter) for letter, name in OUTCOMES.items()})


def card(slug: str, letters: str, n_supported: int, *, blind: bool = False, evidence: str = "") -> ScoreCard:
    probe = {"n": len(evidence), "score": counts(evidence).score, "counts": {"correct": evidence.count("c")}}
    return ScoreCard(
        system=SystemFacts(slug=slug, name=f"the {slug}", team="us", blind=blind),
        dataset="mini@2.0.0#00000000",
        split="test",
        sample=None,
        harness="h",
        answers_rule="answers-v1",
        counts=counts(letters),
        outcomes=letters,
        slices=(Slice(attribute="evidence", value="supported", counts=counts(letters[:n_supported])),),
        probes={"evidence-only": probe} if evidence else {},
    )


def board(reading: str) -> Sequence[ScoreCard]:
    return [
        card("blind-abstain", "a" * 40, 30, blind=True),
        card("blind-a", "cccciiii" * 5, 30, blind=True),
        card("blind-b", "iiiiccci" * 5, 30, blind=True),
        card("edu-rag-vanilla-smollm2", "ciciciic" * 5, 30),
        card("reader", reading, 30, evidence="c" * 28 + "ii"),
    ]


GOOD, POOR = "c" * 34 + "i" * 6, "ci" * 20


def test_the_ladder_goes_from_the_best_blind_system_that_answers_to_the_evidence_alone() -> None:
    cards = board(GOOD)
    rungs = ladder(cards, cards[-1])
    assert [rung.given for rung in rungs] == ["blind", "no pages", "retrieval", "evidence only"]
    assert [rung.system for rung in rungs][:2] == ["the blind-a", "the edu-rag-vanilla-smollm2"]
    assert [round(rung.score, 3) for rung in rungs] == [0.067, -0.0, 1.0, 0.867]
    assert ladder_lines(rungs, 30)[0] == "On the 30 questions that have evidence on their pages (score, accuracy in %):"


def test_a_reader_that_is_established_to_be_better_is_said_to_be() -> None:
    said = sentence(board(GOOD))
    assert said.startswith(
        "the reader scores 0.700 on 40 questions: by paired tests it is better than always abstaining"
    )
    assert "(+0.700, p = " in said
    assert "and better than the language model without pages (+0.700" in said
    assert said.endswith("given the evidence only, it scores 0.867 where there is some.")


def test_a_difference_that_is_not_established_is_not_claimed() -> None:
    said = sentence(board(POOR))
    assert "better than" not in said
    assert "not established to differ from always abstaining (0.000, p = 1)" in said


def test_a_reader_that_is_worse_than_abstaining_is_said_to_be_worse() -> None:
    assert "worse than always abstaining (−0.700" in sentence(board("i" * 34 + "c" * 6))


def test_the_sentence_is_about_the_probed_system_though_another_scores_more() -> None:
    cards = [*board(POOR), card("other", "c" * 40, 30)]
    assert sentence(cards) == sentence(board(POOR))


def test_without_a_language_model_the_sentence_compares_with_abstaining_only() -> None:
    cards = [card("blind-abstain", "a" * 40, 30, blind=True), card("bm25-overlap", GOOD, 30, evidence="c" * 30)]
    *lines, blank, said = summary(cards)
    assert len(lines) == 3
    assert blank == ""
    assert "language model" not in said
