"""A system from its recipe: reading [parts], making parts by name, and the pipeline from question to context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from baselines.assemble import assemble, system
from baselines.parts import NAMES, Check, PagePassage, ScoredPassage, make
from baselines.pipeline import THREE_CLASSES, TWO_CLASSES, Numbers, Pipeline
from baselines.prompts.generate import Generated, Likelihoods
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import ModelChoice, read_recipe, recipe_of
from baselines.retrieve.fuse import rrf
from baselines.verify.guard import guarded
from edu_rag.errors import ConfigError, FaultsError
from edu_rag.serve import SystemAnswer, SystemPage, SystemQuestion

TEXT = "Cells are small. ATP is made by the mitochondrion. Leaves are green."
PAGE = SystemPage(page_id="p1", url="https://x.example/", title="", text=TEXT, sentences=((0, 16), (17, 50), (51, 68)))
QUESTION = SystemQuestion(
    id="q",
    text="What makes ATP?",
    choices={"a": "a leaf", "b": "the mitochondrion"},
    kind="multiple_choice",
    pages=(PAGE,),
)


class Reader:
    """A model that finds a continuation likelier the more of its words the prompt holds."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        self.read.append(prompt.plain)
        return Generated("b", 3, 1)

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        self.read.append(prefix)
        held = [sum(word in prefix for word in text.split()) / len(text.split()) for text in continuations]
        return Likelihoods([[share - 1] for share in held], len(prefix.split()))


def first_k(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
    return [ScoredPassage(place, 1.0 - place) for place in range(len(texts))][:k]


def last_k(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
    return [ScoredPassage(place, float(place)) for place in reversed(range(len(texts)))][:k]


def chunk(question: SystemQuestion) -> list[PagePassage]:
    return [PagePassage("p", n, n + 1, word) for n, word in enumerate("abcdef") if question.pages]


def test_a_submission_of_three_lines_is_a_system_that_cites_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_text('[parts]\nretrieve = ["bm25"]\ntop_k = 1\n[parts.model]\nname = "x"\n')
    model = Reader()
    answer = assemble(read_recipe(tmp_path / "submission.toml"), lambda choice: model)(QUESTION)
    assert answer.answer == "b"
    assert list(answer.passages) == [("p1", 17, 50)]
    assert "ATP is made by the mitochondrion." in model.read[0]
    assert "Leaves" not in model.read[0]


def test_without_retrievers_a_system_is_closed_book() -> None:
    model = Reader()
    assert not assemble(recipe_of({}), lambda choice: model)(QUESTION).passages
    assert "mitochondrion." not in model.read[0]


def test_an_answer_of_too_little_confidence_is_not_given() -> None:
    sure = recipe_of({"retrieve": ["bm25"], "top_k": 1, "model": {"name": "x", "abstain_below": 0.5}})
    # The prompt holds both words of choice b and one of two of choice a: exp(0) / (exp(0) + exp(-0.5)) = 0.62
    assert assemble(sure, lambda choice: Reader())(QUESTION).answer == "b"
    surer = recipe_of({"retrieve": ["bm25"], "top_k": 1, "model": {"name": "x", "abstain_below": 0.7}})
    said = assemble(surer, lambda choice: Reader())(QUESTION)
    assert said.answer is None
    assert said.confidence == pytest.approx(0.6225, abs=1e-4)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"retreive": ["bm25"]}, "retreive"),
        ({"top_k": 0}, "top_k"),
        ({"model": {"name": "x", "style": "haiku"}}, "style"),
        ({"retrieve": "bm25"}, "retrieve"),
    ],
)
def test_a_fault_of_the_recipe_is_told_by_its_key(parts: dict[str, object], told: str) -> None:
    with pytest.raises(FaultsError, match=told):
        recipe_of(parts)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"retrieve": ["bm52"]}, "there is no 'bm52'"),
        ({"retrieve": [{"name": "bm25", "k2": 1}]}, "has no such setting"),
        ({"retrieve": [{"k1": 1}]}, "has no name"),
        ({"retrieve": ["bm25"], "chunk": {"name": "windows", "tokens": 5, "overlap": 5}}, "overlap"),
    ],
)
def test_a_part_that_cannot_be_made_is_told_before_the_first_question(parts: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        assemble(recipe_of(parts), lambda choice: Reader())


def test_a_submission_without_parts_says_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_text('name = "x"\n')
    with pytest.raises(SystemExit, match=r"has no table \[parts\]"):
        system(tmp_path / "submission.toml")
    with pytest.raises(SystemExit, match="cannot be read"):
        system(tmp_path / "nothing.toml")


def test_every_name_leads_to_a_factory_with_defaults() -> None:
    for kind, names in NAMES.items():
        for name, place in names.items():
            module, _, function = place.partition(":")
            found = __import__(module, fromlist=[function])
            assert callable(getattr(found, function)), f"{kind} {name}"


def test_what_a_system_has_is_given_to_parts_that_ask_for_it_and_settings_win() -> None:
    made = make("fuse", "rrf", {"constant": 1.0}, given={"constant": 7.0, "model": object()})
    assert made("q", ["x"], [[ScoredPassage(0, 1.0)]], 1) == [ScoredPassage(0, 0.5)]


def test_rankings_of_several_retrievers_are_fused_and_those_of_several_queries_once_more() -> None:
    pipeline = Pipeline(
        chunk=chunk,
        retrieve=[first_k, last_k],
        fuse=rrf(0.0),
        numbers=[Numbers(top_k=2)],
        candidates=2,
        expand=lambda query, n=None: [query, query + "!"],
    )
    # Each query: a 1/1, b 1/2, f 1/1, e 1/2: a and f tie, a is first. Twice the same order, so it stays.
    assert [passage.text for passage in pipeline.passages(QUESTION)] == ["a", "f"]


def test_a_reranker_sees_its_number_of_passages_and_gives_places_of_all() -> None:
    seen: list[Sequence[str]] = []

    def rerank(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        seen.append(texts)
        return last_k(query, texts, k)

    pipeline = Pipeline(
        chunk=chunk, retrieve=[last_k], fuse=rrf(), numbers=[Numbers(top_k=2)], rerank=rerank, rerank_from=3
    )
    assert [passage.text for passage in pipeline.passages(QUESTION)] == ["d", "e"]
    assert list(seen[0]) == ["f", "e", "d"]


def test_the_class_of_a_query_says_how_much_is_retrieved() -> None:
    pipeline = Pipeline(
        chunk=chunk, retrieve=[first_k], fuse=rrf(), numbers=THREE_CLASSES, classify=lambda query: len(query) % 3
    )
    assert [pipeline.numbers_for("x" * n).top_k for n in (0, 1, 2)] == [3, 5, 7]
    assert [numbers.top_k for numbers in TWO_CLASSES] == [5, 10]


def test_triplets_follow_the_passages_and_a_question_without_pages_has_neither() -> None:
    def graph(
        question: SystemQuestion, passages: Sequence[PagePassage], n_keywords: int, depth: int
    ) -> list[PagePassage]:
        return [PagePassage("p", 0, 1, f"{len(passages)} {n_keywords} {depth}")]

    pipeline = Pipeline(
        chunk=chunk, retrieve=[first_k], fuse=rrf(), graph=graph, numbers=[Numbers(top_k=1, n_keywords=3, depth=4)]
    )
    assert pipeline(QUESTION).text == "a 1 3 4"
    empty = SystemQuestion(id="q", text="", choices={}, kind="free_text", pages=())
    assert pipeline(empty).passages == []


def test_a_guard_turns_what_is_not_borne_out_into_an_abstention_and_adds_the_cost() -> None:
    def answer(question: SystemQuestion) -> SystemAnswer:
        return SystemAnswer(answer="b", response="r", passages=[("p1", 0, 16)], input_tokens=10, output_tokens=1)

    def no(question: SystemQuestion, answer: str) -> Check:
        return Check("no", PagePassage("p1", 17, 50, "…"), n_input=5, n_output=1)

    said = guarded(answer, no)(QUESTION)
    assert (said.answer, said.input_tokens, said.output_tokens) == (None, 15, 2)
    assert list(said.passages) == [("p1", 0, 16), ("p1", 17, 50)]
    assert "no" in str(said.response)
    assert guarded(answer, no, abstain_on=["not_related"])(QUESTION).answer == "b"
    assert guarded(lambda question: SystemAnswer(answer=None), no)(QUESTION).input_tokens is None


def test_a_model_choice_is_transformers_and_likelihood_where_nothing_is_said() -> None:
    assert (ModelChoice(name="x").back_end, ModelChoice(name="x").style) == ("transformers", "likelihood")
