"""Answer styles on a model of known probabilities, and the three ways to abstain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.assemble import assemble
from baselines.edu_rag_paper import vanilla
from baselines.prompts.generate import (
    PROMPTS,
    RANKINGS,
    STYLES,
    Generated,
    Likelihoods,
    NextToken,
    answer_with,
    by_confidence,
    says_not_found,
    says_unknown,
    shares,
)
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import recipe_of
from baselines.sourced_answers import sourced, suggestions
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemAnswer, SystemPage, SystemQuestion


@dataclass
class Fixed:
    """A model that says what it was given: a reply, and probabilities of texts."""

    reply: str = ""
    next: Mapping[str, float] = field(default_factory=dict)
    tokens: Mapping[str, list[float]] = field(default_factory=dict)

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        return Generated(" ".join(self.reply.split(" ")[:max_new_tokens]), 10, max_new_tokens)

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        return Likelihoods([self.tokens[text.strip()] for text in continuations], 20)

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        values = [self.next.get(text, 0.0) for text in texts]
        return NextToken([math.log(value) if value else -math.inf for value in values], 30)


def question(**choices: str) -> SystemQuestion:
    return SystemQuestion(id="1", text="Which?", choices=choices, kind="multiple_choice", pages=())


ABC = question(a="red", b="green", c="blue")


def test_the_likeliest_letter_is_the_answer_and_its_share_the_confidence() -> None:
    # P(a) = 0.1, P(b) = 0.5, P(c) = 0.2 as the next token; 0.2 goes to words that are no label.
    # Shares: 0.1 / 0.8 = 0.125, 0.5 / 0.8 = 0.625, 0.2 / 0.8 = 0.25.
    said = answer_with(Fixed(next={"a": 0.1, "b": 0.5, "c": 0.2}), "letter-likelihood", ABC, "")
    assert said.answer == "b"
    assert said.confidence == pytest.approx(0.625)
    assert said.response is not None
    assert said.response.startswith("letter-vanilla-v1@")
    assert said.response.endswith(": a 0.1250, b 0.6250, c 0.2500; labels 0.8000")
    assert (said.input_tokens, said.output_tokens) == (30, 1)


def test_with_context_the_same_prompts_are_used_as_by_the_letter_style() -> None:
    said = answer_with(Fixed(next={"a": 0.1}), "letter-likelihood", ABC, "Grass is green.")
    assert said.response is not None
    assert said.response.startswith("letter-rag-v1@")
    assert PROMPTS["letter-likelihood"] == PROMPTS["letter"]


@pytest.mark.parametrize("style", list(RANKINGS))
def test_a_question_without_choices_is_not_answered_by_ranking(style: str) -> None:
    assert STYLES[style](Fixed(), question(), FilledPrompt(system="", user="?", made_from="t")).answer is None  # type: ignore[index]


def test_equal_letters_go_to_the_first_and_impossible_ones_share_equally() -> None:
    assert answer_with(Fixed(next={"a": 0.2, "b": 0.3, "c": 0.3}), "letter-likelihood", ABC, "").answer == "b"
    nothing = answer_with(Fixed(), "letter-likelihood", ABC, "")
    assert nothing.answer == "a"
    assert nothing.confidence == pytest.approx(1 / 3)


@given(st.lists(st.lists(st.floats(-30, 0), min_size=1, max_size=4), min_size=1, max_size=6))
def test_answers_and_confidences_by_likelihood_are_those_of_before_bit_for_bit(rows: list[list[float]]) -> None:
    texts = [f"text {number}" for number in range(len(rows))]
    asked = question(**dict(zip("abcdef", texts, strict=False)))
    model = Fixed(tokens=dict(zip(texts, rows, strict=True)))
    for style, rank in (("likelihood", math.fsum), ("likelihood-mean", lambda row: math.fsum(row) / len(row))):
        scores = [rank(row) for row in rows]  # type: ignore[operator]
        best = max(range(len(rows)), key=scores.__getitem__)
        said = answer_with(model, style, asked, "")  # type: ignore[arg-type]
        told = ", ".join(f"{label} {score:.3f}" for label, score in zip(asked.choices, scores, strict=True))
        assert said.answer == "abcdef"[best]
        assert said.confidence == min(1.0, 1 / math.fsum(math.exp(score - scores[best]) for score in scores))
        assert said.response is not None
        assert said.response.endswith(f": {told}")


@given(st.lists(st.one_of(st.floats(-700, 0), st.just(-math.inf)), min_size=1, max_size=8))
def test_shares_add_up_to_one_and_keep_the_order(values: list[float]) -> None:
    found = shares(values)
    assert math.fsum(found) == pytest.approx(1)
    for i, first in enumerate(values):
        for j, second in enumerate(values):
            assert first <= second or found[i] >= found[j]


def test_an_answer_that_is_not_far_enough_ahead_is_not_given() -> None:
    # Shares 0.5, 0.4, 0.1: the margin is 0.1.
    model = Fixed(next={"a": 0.4, "b": 0.5, "c": 0.1})
    assert answer_with(model, "letter-likelihood", ABC, "", least_margin=0.09).answer == "b"
    unsure = answer_with(model, "letter-likelihood", ABC, "", least_margin=0.11)
    assert unsure.answer is None
    assert unsure.confidence == pytest.approx(0.5)
    assert answer_with(model, "letter-likelihood", question(a="x"), "", least_margin=1.0).answer == "a"


def test_a_margin_needs_a_style_that_ranks() -> None:
    with pytest.raises(ConfigError, match="ranks no choices"):
        answer_with(Fixed("a"), "letter", ABC, "", least_margin=0.1)


@pytest.mark.parametrize(
    "reply",
    [
        "I don't know",
        "I don’t know.",
        "I DO NOT KNOW",
        "I cannot say",
        "Sorry, I can't answer",
        "I'm not sure",
        "I am unsure",
        "unknown",
    ],
)
def test_a_reply_that_says_that_it_does_not_know_is_no_answer(reply: str) -> None:
    assert says_unknown(reply)
    said = answer_with(Fixed(reply), "abstain", ABC, "")
    assert said.answer is None
    assert said.response is not None
    assert repr(reply) in said.response


@pytest.mark.parametrize("reply", ["b", "b.", "B", "canto", "the unknowns are b", "no", "knows"])
def test_any_other_reply_is_the_answer_as_it_is(reply: str) -> None:
    assert answer_with(Fixed(f" {reply} "), "abstain", ABC, "Some page.").answer == reply


@given(st.text())
def test_reading_a_reply_never_fails(reply: str) -> None:
    assert says_unknown(reply) in (True, False)
    assert says_not_found(reply) in (True, False)


def test_a_low_confidence_abstains_and_a_missing_one_does_not() -> None:
    said = SystemAnswer(answer="a", confidence=0.49)
    assert by_confidence(lambda _: said, 0.5)(ABC) == SystemAnswer(answer=None, confidence=0.49)
    assert by_confidence(lambda _: said, 0.49)(ABC) is said
    plain = SystemAnswer(answer="a")
    assert by_confidence(lambda _: plain, 1.0)(ABC) is plain
    with pytest.raises(ConfigError, match="not a share"):
        by_confidence(lambda _: said, 1.5)


def test_a_recipe_sets_both_thresholds() -> None:
    model = Fixed(next={"a": 0.4, "b": 0.5, "c": 0.1})
    for more, answer in (({}, "b"), ({"abstain_below": 0.6}, None), ({"abstain_margin": 0.2}, None)):
        choice = {"name": "any", "style": "letter-likelihood", **more}
        assert assemble(recipe_of({"model": choice}), lambda _: model)(ABC).answer == answer


def test_the_paper_s_letter_is_taken_as_it_is() -> None:
    said = vanilla(Fixed(" b "), "letter")(ABC)
    assert (said.answer, said.output_tokens, said.confidence) == (None, 1, None)  # the first "word" is a space
    assert vanilla(Fixed("b because"), "letter")(ABC).answer == "b"


# Free text, with sources or suggestions (Nautiyal et al., sections 3.7 and 7.1; Mala et al., appendix A).


@pytest.mark.parametrize(
    "reply",
    [
        "Answer not found in context",
        "Answer not found in the context.",
        "The context doesn't provide sufficient information to answer the question",
        "The context does not contain enough information.",
        "I don\u2019t know",
        '"I do not know."',
    ],
)
def test_a_text_that_finds_nothing_in_its_context_is_no_answer(reply: str) -> None:
    assert says_not_found(reply)
    assert answer_with(Fixed(reply), "text", ABC, "Some page.").answer is None


@pytest.mark.parametrize(
    "reply", ["Iron.", "What people do not know of cells fills books.", "Gold is not found in iron."]
)
def test_any_other_text_is_the_answer(reply: str) -> None:
    said = answer_with(Fixed(f" {reply}\n"), "text", ABC, "Some page.")
    assert said.answer == reply
    assert said.response is not None
    assert said.response.startswith("text-rag-v1@")
    assert answer_with(Fixed(""), "text", ABC, "").answer is None


def asked_in_text() -> SystemQuestion:
    texts = {"p1": "Blood is red. Iron makes it red.", "p2": "The sky is blue."}
    pages = tuple(
        SystemPage(page_id=name, url=f"https://x.example/{name}", title=title, text=text, sentences=((0, 13), (14, 32)))
        for (name, text), title in zip(texts.items(), ("Blood <|im_end|>", ""), strict=True)
    )
    return SystemQuestion(id="1", text="What makes blood red?", choices={}, kind="free_text", pages=pages)


def test_a_text_names_each_page_that_it_cites_once() -> None:
    cited = [("p2", 0, 5), ("p1", 0, 5), ("p2", 6, 9)]
    said = sourced(lambda _: SystemAnswer(answer="Iron.", response="text", passages=cited))(asked_in_text())
    sources = "Sources: [1] https://x.example/p2 [2] Blood < |im_end|> (https://x.example/p1)"
    assert said == SystemAnswer(answer="Iron.", response=f"text\n{sources}", passages=cited)


def test_where_nothing_is_found_the_closest_sentences_are_suggested_and_the_answer_stays_none() -> None:
    choice = {"name": "any", "style": "text"}
    parts = {"retrieve": ["bm25"], "chunk": "sentences", "model": choice}
    said = assemble(recipe_of(parts), lambda _: Fixed("Answer not found in context"))(asked_in_text())
    assert said.answer is None
    assert said.response is not None
    suggested = said.response.partition("\n")[2]
    # "Blood is red." shares blood and red, "Iron makes it red." makes and red; the sky shares nothing.
    assert suggested.startswith("Not found. Closest sentences: [1] ")
    assert "[2] " in suggested
    assert "sky" not in suggested
    assert suggestions(SystemQuestion(id="1", text="?", choices={}, kind="free_text", pages=())) == ""


def test_the_prompt_of_mala_et_al_can_be_chosen() -> None:
    choice = {"name": "any", "style": "text", "prompts": ["text-vanilla-v1", "text-brief-rag-v1"]}
    parts = {"retrieve": ["bm25"], "chunk": "sentences", "model": choice}
    said = assemble(recipe_of(parts), lambda _: Fixed("Iron."))(asked_in_text())
    assert said.answer == "Iron."
    assert said.response is not None
    assert said.response.startswith("text-brief-rag-v1@")
    assert "\nSources: [1] Blood" in said.response
