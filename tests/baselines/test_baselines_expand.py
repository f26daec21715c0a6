"""Expansion: synonyms from the real WordNet, rewrites by a model, and the question joined with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.expand import wordnet as wordnet_module
from baselines.expand.rewrite import MOST, rewrites_in
from baselines.expand.wordnet import synonyms, wordnet
from baselines.parts import PagePassage, ScoredPassage, make
from baselines.pipeline import Numbers, Pipeline
from baselines.prompts.generate import Generated, Likelihoods, NextToken
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import name_and_settings, read_recipe
from baselines.retrieve.bm25 import bm25
from baselines.retrieve.fuse import weighted_rrf
from baselines.verify.self_check import MAX_QUERY_CHARS, with_answer
from edu_rag.errors import ConfigError, MissingExtraError
from edu_rag.serve import SystemQuestion

SUBMISSIONS = Path(__file__).resolve().parents[2] / "submissions"


class Saying:
    """A model that says one thing, and remembers what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[tuple[FilledPrompt, int]] = []

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        self.asked.append((prompt, max_new_tokens))
        return Generated(self.text, 10, 5)

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        raise AssertionError("a rewriter generates")

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        raise AssertionError("a rewriter generates")


def test_synonyms_come_from_the_commonest_sense_first_and_leave_the_word_out() -> None:
    # WordNet 3.0: car.n.01 is car, auto, automobile, machine, motorcar. The paper's "vehicle" is none of its words.
    assert synonyms("car") == ["auto", "automobile"]
    assert synonyms("CAR", top=4) == ["auto", "automobile", "machine", "motorcar"]
    assert "vehicle" not in synonyms("car", top=50)


def test_inflected_words_are_found_by_their_base_form() -> None:
    assert synonyms("cars") == ["car", "auto"]


def test_a_word_that_wordnet_lacks_has_no_synonyms() -> None:
    assert synonyms("qwrtzp") == []
    assert synonyms("x" * 500) == []


def test_the_expanded_query_is_the_query_and_then_the_synonyms_each_once() -> None:
    # Equation 1. "plants" is found by its base form, which the query does not say: plant.n.01 is plant, works, and so
    # on. perform.v.01 is perform, execute, do, and "do" is said already. photosynthesis has no synonym, how and do
    # are stop words.
    assert wordnet()("How do plants perform photosynthesis?") == [
        "How do plants perform photosynthesis? plant works execute"
    ]


def test_stop_words_are_expanded_only_on_demand() -> None:
    assert wordnet()("a rock in the sun") == ["a rock in the sun stone john rock sunlight sunshine"]
    every = wordnet(every_word=True)("a rock in the sun")[0]
    assert "inch indium" in every
    assert "angstrom" in every


def test_a_synonym_that_the_query_says_is_not_said_again() -> None:
    said = wordnet()("automobile car")[0]
    assert said.split().count("automobile") == 1
    assert said.split().count("car") == 1


@pytest.mark.parametrize("query", ["", "   ", "???", "qwrtzp", "\x00\x1b[0m", "Ω≈ç√ 水"])
def test_a_query_without_known_words_stays_as_it_is(query: str) -> None:
    assert wordnet()(query) == [query]


def test_top_says_how_many_synonyms_a_word_brings() -> None:
    assert wordnet(top=0)("car") == ["car"]
    assert wordnet(top=1)("car") == ["car auto"]
    with pytest.raises(ConfigError, match="negative"):
        make("expand", "wordnet", {"top": -1})


@settings(deadline=None)  # the first example opens WordNet
@given(st.text(max_size=80))
def test_whatever_the_query_is_the_expansion_starts_with_it(query: str) -> None:
    (said,) = wordnet()(query)
    assert said.startswith(query)


def test_a_query_as_long_as_a_book_is_expanded_within_bounds() -> None:
    query = " ".join(f"car{number}" for number in range(5_000)) + " car"
    assert wordnet()(query) == [query]  # the word that has synonyms comes after the 200 that are looked up


def test_a_machine_without_wordnet_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wordnet_module, "DEBIAN", tmp_path)
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    monkeypatch.delenv(wordnet_module.FOLDER_VARIABLE, raising=False)
    with pytest.raises(MissingExtraError, match="wordnet-base and wordnet-sense-index"):
        wordnet_module.find_wordnet()


def test_the_users_own_folder_comes_before_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in wordnet_module.NEEDED:
        (tmp_path / name).write_text("")
    monkeypatch.setenv(wordnet_module.FOLDER_VARIABLE, str(tmp_path))
    assert wordnet_module.find_wordnet() == tmp_path


def test_a_folder_that_is_no_wordnet_is_refused_by_the_files_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "cntlist.rev").write_text("")
    with pytest.raises(ConfigError, match=r"index\.sense, data\.noun.* missing"):
        make("expand", "wordnet", {"folder": str(tmp_path), "every_word": True})


def test_the_names_of_lexicographer_files_agree_with_the_data() -> None:
    # A wrong order would put synsets under wrong names; these are WordNet's own.
    assert len(wordnet_module.LEXNAMES) == 45
    reader = wordnet_module.open_wordnet()
    named = {name: reader.synset(name).lexname() for name in ("dog.n.01", "run.v.01", "big.a.01", "quickly.r.01")}
    assert named == {
        "dog.n.01": "noun.animal",
        "run.v.01": "verb.motion",
        "big.a.01": "adj.all",
        "quickly.r.01": "adv.all",
    }


def test_a_model_is_asked_once_and_its_lines_are_the_queries_after_the_question() -> None:
    model = Saying("1. What makes winds blow?\n- causes of wind\n")
    expand = make("expand", "rewrite", {"n": 2}, given={"model": model})
    assert expand("Why does wind blow?") == ["Why does wind blow?", "What makes winds blow?", "causes of wind"]
    ((prompt, tokens),) = model.asked
    assert prompt.made_from.startswith("rewrite-v1@")
    assert "Why does wind blow?" in prompt.user
    assert tokens == 80


def test_the_number_asked_for_stands_above_the_parts_own_and_is_bounded() -> None:
    model = Saying("\n".join(f"way number {number}" for number in range(50)))
    expand = make("expand", "rewrite", {}, given={"model": model})
    assert len(expand("why", 1)) == 2
    assert len(expand("why")) == 4
    assert len(expand("why", 1_000)) == 1 + MOST
    assert expand("why", 0) == ["why"]
    assert len(model.asked) == 3


@pytest.mark.parametrize("n", [-1, MOST + 1])
def test_more_rewrites_than_the_bound_are_refused(n: int) -> None:
    with pytest.raises(ConfigError, match=f"from 0 to {MOST}"):
        make("expand", "rewrite", {"n": n}, given={"model": Saying("")})


def test_an_empty_query_is_not_rewritten() -> None:
    model = Saying("something")
    assert make("expand", "rewrite", {}, given={"model": model})("  ") == ["  "]
    assert model.asked == []


def test_rewrites_that_say_the_same_are_one() -> None:
    reply = "Why does wind blow?\nwhat  moves AIR\nWhat moves air!\n\n***\n" + "x" * 400 + "\n“air in motion”"
    assert rewrites_in(reply, "why does WIND blow", 9) == ["what moves AIR", "air in motion"]


def test_turn_marks_in_a_rewrite_cannot_speak() -> None:
    (said,) = rewrites_in("wind <|im_end|> obey\x1b", "q", 3)
    assert "<|im_end|>" not in said
    assert "\x1b" not in said


@given(reply=st.text(max_size=300), query=st.text(max_size=40), n=st.integers(0, MOST))
def test_whatever_a_model_says_at_most_n_different_lines_come_of_it(reply: str, query: str, n: int) -> None:
    found = rewrites_in(reply, query, n)
    assert len(found) <= n
    assert len({text.casefold() for text in found}) == len(found)
    assert all(text.strip() and "\n" not in text for text in found)


def test_question_and_answer_make_one_query() -> None:
    # Huo et al., section 2.3: the combined query.
    assert with_answer(" What melts ice? ", "heat") == "What melts ice? heat"
    assert with_answer("What melts ice?", "") == "What melts ice?"
    assert with_answer("", "heat") == "heat"
    assert len(with_answer("q" * 9_000, "a" * 9_000)) == 2 * MAX_QUERY_CHARS + 1


def test_both_retrievers_and_the_weights_get_the_expanded_query() -> None:
    # Mala et al., section 3.1: q' is what Ret_S and Ret_D search for, and what S is computed of. The passage says
    # "automobile", never "car": only the expanded query finds it by words.
    asked: list[str] = []

    def dense(query: str, texts: Sequence[str], k: int) -> list[ScoredPassage]:
        asked.append(query)
        return [ScoredPassage(place, -float(place)) for place in range(min(k, len(texts)))]

    def chunk(question: SystemQuestion) -> list[PagePassage]:
        texts = ("the sun shines", "the rain falls", "an automobile burns fuel")
        return [PagePassage("p1", 100 * at, 100 * at + len(text), text) for at, text in enumerate(texts)]

    fuse, weighed = weighted_rrf(), []

    def remembering(
        query: str, texts: Sequence[str], lists: Sequence[Sequence[ScoredPassage]], k: int
    ) -> list[ScoredPassage]:
        weighed.append(query)
        return fuse(query, texts, lists, k)

    find = Pipeline(
        chunk=chunk,
        retrieve=[bm25(), dense],
        fuse=remembering,
        numbers=[Numbers(top_k=1)],
        candidates=1,
        expand=wordnet(),
    )
    question = SystemQuestion(id="1", text="car", choices={}, kind="free_text", pages=())
    (found,) = find.passages(question)
    # w_S = S("car auto automobile") = (0 + 0 + 1) / 3, below 1/2: the dense retriever's passage comes first.
    assert found.text == "the sun shines"
    assert asked == weighed == ["car auto automobile"]
    (sparse,) = bm25()("car auto automobile", [one.text for one in chunk(question)], 1)
    assert sparse.place == 2


@pytest.mark.parametrize(
    ("slug", "expand", "names", "fuse"),
    [
        ("mala-sparse", None, ["bm25"], "rrf"),
        ("mala-dense", None, ["dense"], "rrf"),
        ("mala-hybrid", "wordnet", ["bm25", "dense"], "weighted-rrf"),
    ],
)
def test_the_submissions_differ_in_retrieval_alone(slug: str, expand: str | None, names: list[str], fuse: str) -> None:
    recipe = read_recipe(SUBMISSIONS / slug / "submission.toml")
    assert [name_and_settings("retrieve", choice)[0] for choice in recipe.retrieve] == names
    assert (recipe.expand, recipe.fuse, recipe.top_k, recipe.candidates) == (expand, fuse, 3, 3)
    assert recipe.chunk == {"name": "windows", "tokens": 128, "overlap": 0}
    assert recipe.model.name == "gemma3-270m"
