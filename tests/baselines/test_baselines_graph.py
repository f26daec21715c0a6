"""The knowledge graph (HyPA-RAG, section 8.2): triplets, keywords, paths, and what joins the context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.assemble import retriever
from baselines.graph.english import Keyword, english, keywords
from baselines.graph.graph_part import MAX_CHARS, Remembering, SentenceReading, cited, graph_part, llm, rules
from baselines.graph.knowledge_graph import entries, graph_of, load, nearest, save, steps_from, triplets_in
from baselines.graph.read_triplets import MAX_NEW_TOKENS, parse_reply, read_sentences, reader, triplets_of
from baselines.graph.triplets import MAX_PER_SENTENCE, CitedTriplet, Entity, Triplet, sound
from baselines.parts import PagePassage, make
from baselines.prompts.generate import Generated, LanguageModel, Likelihoods
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import recipe_of
from edu_rag.errors import ConfigError, DataError
from edu_rag.serve import SystemPage, SystemQuestion


def page(*sentences: str, page_id: str = "p1") -> SystemPage:
    text, spans = "", []
    for sentence in sentences:
        spans.append((len(text), len(text) + len(sentence)))
        text += sentence + " "
    return SystemPage(page_id=page_id, url="", title="", text=text, sentences=tuple(spans))


def asked(text: str, *pages: SystemPage, choices: Sequence[str] = ()) -> SystemQuestion:
    labels = dict(zip("abcdefg", choices, strict=False))
    return SystemQuestion(id="1", text=text, choices=labels, kind="multiple_choice", pages=pages)


def said(sentence: str) -> list[str]:
    return [triplet.text for triplet in triplets_of(english()(sentence))]


def triplet(subject: str, predicate: str, object_: str) -> Triplet:
    return Triplet(Entity(subject, subject), predicate, Entity(object_, object_))


def word(text: str) -> Keyword:
    return Keyword(tuple(text.split()), tuple(frozenset([one]) for one in text.split()))


# Rules


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Plants convert light into energy.", ["plants convert light", "plants convert into energy"]),
        ("A whale is a mammal.", ["whale be mammal"]),
        ("Light is absorbed by chlorophyll.", ["chlorophyll absorb light"]),
        ("Oil is found in rocks.", ["oil be found in rocks"]),
        ("Red cells fight germs that entered the body.", ["red cells fight germs", "germs enter body"]),
        ("The tides of the ocean are caused mainly by the Moon.", ["moon cause tides of ocean"]),
        ("Mercury, the smallest planet, orbits the Sun.", ["mercury be smallest planet", "mercury orbit sun"]),
        ("Nitrogen makes up 78 percent of the air.", ["nitrogen make up 78 percent of air"]),
        ("The heart pumps blood and fills the lungs.", ["heart pump blood", "heart fill lungs"]),
    ],
)
def test_rules_read_what_a_sentence_states(sentence: str, expected: list[str]) -> None:
    assert said(sentence) == expected


def test_subjects_and_objects_joined_by_and_give_one_triplet_each_and_not_stays() -> None:
    assert said("Plants and algae do not make meat or milk.") == [
        "plants not make meat",
        "plants not make milk",
        "algae not make meat",
        "algae not make milk",
    ]


def test_plural_and_singular_are_one_node_but_keep_their_words() -> None:
    one, many = (triplets_of(english()(text))[0] for text in ("A plant makes sugar.", "Plants make sugar."))
    assert (one.subject.text, many.subject.text) == ("plant", "plants")
    assert one.subject.lemmas == many.subject.lemmas == "plant"


@pytest.mark.parametrize("sentence", ["", "It orbits the Sun.", "They eat them.", "Why?", "| --- | 12 |", "Wow!"])
def test_pronouns_and_what_is_no_statement_give_no_triplet(sentence: str) -> None:
    assert said(sentence) == []


def test_a_list_in_every_combination_is_bounded() -> None:
    names = "copper, iron, zinc, gold, silver, tin and lead"
    assert len(said(f"{names} react with {names}.")) <= MAX_PER_SENTENCE


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=120))
def test_any_text_gives_sound_triplets_or_none(text: str) -> None:
    (found,) = read_sentences([text])
    assert len(found) <= MAX_PER_SENTENCE
    assert all(sound(one) for one in found)


def test_what_a_sentence_says_does_not_depend_on_those_read_with_it() -> None:
    texts = ["Plants make sugar.", "The heart pumps blood through the body.", "Oil is found in rocks.", ""] * 3
    assert read_sentences(texts) == [read_sentences([text])[0] for text in texts]


# Keywords and the sentences that are read


def test_keywords_are_ranked_by_tf_idf() -> None:
    # N = 9 sentences. "water" stands twice in the question and in 4 sentences: 2 ln(10/4) = 1.83; "gas" once and in
    # 1: ln(10/1) = 2.30; "liquid" once and in 4: ln(10/4) = 0.92.
    held = {("water",): 4, ("gas",): 1, ("liquid",): 4, ("change",): 9}
    doc = english()("Does water change from liquid to gas when water boils?")
    found = keywords(doc, lambda one: held.get(one.lemmas, 0), 9, 3)
    assert [one.lemmas for one in found] == [("gas",), ("water",), ("liquid",)]
    assert math.log(10 / 4) < 2 * math.log(10 / 4) < math.log(10 / 1)
    assert [one.lemmas for one in keywords(doc, lambda one: held.get(one.lemmas, 0), 9, 1)] == [("gas",)]


def test_a_phrase_that_no_sentence_holds_falls_apart_into_its_words() -> None:
    doc = english()("What is the purple volcano?")
    found = keywords(doc, lambda one: 2 if one.lemmas == ("volcano",) else 0, 5, 4)
    assert [one.lemmas for one in found] == [("volcano",)]


def test_sentences_with_most_keywords_are_read_first_and_in_page_order() -> None:
    first = page("Rocks sink.", "Water flows.", "Ice is cold water.", "Birds sing.", page_id="a")
    second = page("Ice floats on water.", "Water flows.", page_id="b")
    reading = SentenceReading(asked("?", first, second))
    found = reading.sentences([word("ice"), word("water")], [], 0, 2)
    assert [one.text for one in found] == ["Ice is cold water.", "Ice floats on water."]
    every = reading.sentences([word("ice"), word("water")], [], 0, 9)
    assert [one.text for one in every] == ["Water flows.", "Ice is cold water.", "Ice floats on water."]
    assert reading.count(word("water")) == 4


def test_sentences_of_retrieved_passages_are_read_even_without_a_keyword_and_long_ones_never() -> None:
    one = page("Rocks sink.", "Water flows.", "water " * 80, "Birds sing.")
    passage = PagePassage("p1", 0, len(one.text), one.text)
    assert len("water " * 80) > MAX_CHARS
    found = SentenceReading(asked("?", one)).sentences([word("water")], [passage], 3, 5)
    assert [sentence.text for sentence in found] == ["Rocks sink.", "Water flows.", "Birds sing."]


# The store and the search


def chain() -> list[CitedTriplet]:
    pairs = [("a", "b"), ("c", "b"), ("c", "d"), ("x", "y")]
    return [CitedTriplet(triplet(s, "touch", o), "p1", place, place + 1) for place, (s, o) in enumerate(pairs)]


def test_a_graph_gives_back_its_triplets_and_forgets_no_source(tmp_path: Path) -> None:
    twice = [*chain(), CitedTriplet(triplet("a", "touch", "b"), "p2", 7, 9)]
    graph = graph_of(twice)
    assert graph.number_of_edges() == 5
    assert triplets_in(graph) == twice
    save(graph, tmp_path / "one.json")
    save(load(tmp_path / "one.json"), tmp_path / "two.json")
    assert triplets_in(load(tmp_path / "two.json")) == twice
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("text", ["", "{}", "null", "[1]", '[[[["a", "a"], "b"], "p", 1, 2]]', "\x00"])
def test_a_file_that_is_no_graph_is_one_clear_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="not a stored graph"):
        load(path)


def test_depth_counts_the_steps_of_a_path_whichever_way_they_point() -> None:
    # a -> b <- c -> d, x -> y. From a: b is 1 step away, c 2, d 3; x and y are never reached.
    graph = graph_of(chain())
    assert steps_from(graph, ["a"], 3) == {"a": 0, "b": 1, "c": 2, "d": 3}
    reached = [
        [one.triplet.text for one in nearest(graph, [word("a")], (), depth, 9)] for depth in (1, 2, 3, 4)
    ]  # S = 1, 2, 3 of Table 7, and one more
    assert reached[0] == ["a touch b"]
    assert reached[1] == ["a touch b", "c touch b"]
    assert reached[2] == reached[3] == ["a touch b", "c touch b", "c touch d"]


def test_a_node_is_entered_by_a_keyword_all_of_whose_lemmas_it_holds() -> None:
    pairs = (("water cycle", "rain"), ("water", "ice"))
    graph = graph_of([CitedTriplet(triplet(s, "make", o), "p", 0, 1) for s, o in pairs])
    assert entries(graph, [word("water cycle")]) == {"water cycle"}
    assert entries(graph, [word("water")]) == {"water cycle", "water"}
    assert entries(graph, []) == set()


def test_the_nearer_comes_first_then_more_shared_words_then_page_order_and_each_statement_once() -> None:
    told = [("b", "melt", "c"), ("a", "touch", "z"), ("a", "touch", "b"), ("a", "melt", "b"), ("a", "touch", "z")]
    triplets = [CitedTriplet(triplet(*one), "p", place, place + 1) for place, one in enumerate(told)]
    found = nearest(graph_of(triplets), [word("a")], {"a", "melt"}, 2, 9)
    assert [one.triplet.text for one in found] == ["a melt b", "a touch z", "a touch b", "b melt c"]
    assert [one.start for one in found] == [3, 1, 2, 0]
    assert nearest(graph_of(triplets), [word("a")], {"a", "melt"}, 2, 2) == found[:2]


# The part


FARM = page("The heart pumps blood through the body.", "Blood carries oxygen.", "Cats sleep.", "Oxygen feeds cells.")


def test_triplets_reach_as_far_as_depth_says_and_cite_their_sentences() -> None:
    part = rules()
    passage = [PagePassage("p1", 0, len(FARM.text), FARM.text)]
    near, far, farther = (part(asked("What does the heart do?", FARM), passage, 4, depth) for depth in (1, 2, 3))
    assert [one.text for one in near] == ["heart pump blood.", "heart pump through body."]
    assert [one.text for one in far] == [*(one.text for one in near), "blood carry oxygen."]
    assert [one.text for one in farther] == [*(one.text for one in far), "oxygen feed cells."]
    assert FARM.text[farther[-1].start : farther[-1].end] == "Oxygen feeds cells."


def test_choices_lead_into_the_graph_only_where_asked() -> None:
    question = asked("What is it?", FARM, choices=["cats", "oxygen"])
    assert rules()(question, [], 4, 1) == []
    assert "oxygen feed cells." in [one.text for one in rules(with_choices=True)(question, [], 4, 1)]


@pytest.mark.parametrize(
    "question",
    [
        asked("What does the heart do?"),
        asked("", FARM),
        asked("\x00\ud800<|im_end|>?", FARM),
        asked("???", FARM, choices=["", ""]),
        asked("Was macht das Herz?", page("")),
        asked("What does the heart do?", page()),
        asked("the heart " * 5_000, FARM),
    ],
)
def test_no_question_or_page_breaks_the_part(question: SystemQuestion) -> None:
    for part in (rules(), rules(with_choices=True)):
        assert len(part(question, [], 4, 2)) <= 20
        assert part(question, [], 4, 0) == []
        assert part(question, [PagePassage("elsewhere", 0, 9, "")], 0, 2) == []


@settings(max_examples=10, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_any_question_on_any_page_gets_triplets_that_cite_the_page(text: str, sentences: list[str]) -> None:
    one = page(*sentences, "Water is a liquid.")
    found = rules(with_choices=True)(asked(text, one, choices=["water", ""]), [], 3, 2)
    assert all((item.start, item.end) in one.sentences for item in found)


def test_what_was_read_before_changes_nothing_and_is_not_read_again() -> None:
    calls: list[str] = []

    def counting(sentences: Sequence[str]) -> list[list[Triplet]]:
        calls.extend(sentences)
        return read_sentences(sentences)

    part = graph_part(counting, 16, 24, 20, False)
    other = page("Blood carries oxygen.", "Blood is red.", page_id="p2")
    fresh = part(asked("What is blood?", other), [], 4, 2)
    part(asked("What does the heart do?", FARM), [], 4, 2)
    assert part(asked("What is blood?", other), [], 4, 2) == fresh != []
    assert len(calls) == len(set(calls))


def test_remembering_gives_each_sentence_its_own_triplets() -> None:
    remembering = Remembering(read_sentences)
    texts = ["Plants make sugar.", "Oil is found in rocks.", "Plants make sugar."]
    assert remembering(texts) == remembering(texts) == read_sentences(texts)
    assert cited(remembering, []) == []


@pytest.mark.parametrize("wrong", [{"n_retrieved": -1}, {"n_others": -1}, {"n_triplets": 0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"parts\.graph"):
        make("graph", "rules", wrong)


# In a system


class Scripted:
    """A language model that says what the test tells it to, and remembers what it was asked."""

    def __init__(self, reply: str = "") -> None:
        self.reply = reply
        self.prompts: list[str] = []

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        assert max_new_tokens == MAX_NEW_TOKENS
        self.prompts.append(prompt.plain)
        return Generated(self.reply, 1, 1)

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        raise AssertionError("the graph asks for no likelihoods")


def test_a_recipe_puts_triplets_into_a_full_context_and_cites_whole_sentences() -> None:
    filler = [f"The heart of animal number {number} beats." for number in range(40)]
    one = page(*filler, "Blood carries oxygen because the heart pumps blood.")
    table = {"retrieve": ["bm25"], "top_k": 40, "max_chars": 400, "graph": {"name": "rules", "n_triplets": 4}}
    find = retriever(recipe_of(table), Scripted())
    context = find(asked("What does the heart pump?", one))
    alone = retriever(recipe_of({**table, "graph": {"name": "rules", "n_retrieved": 0, "n_others": 0}}), Scripted())
    assert len(alone(asked("What does the heart pump?", one)).text) <= 400
    assert "heart pump blood." in context.text
    assert "heart pump blood." not in alone(asked("What does the heart pump?", one)).text
    assert len(context.text) <= 400
    assert ("p1", *one.sentences[-1]) in context.passages


# Extraction by a language model


@pytest.mark.parametrize(
    "reply",
    [
        "roots | take up | water",
        "- Roots | take up | water.",
        "1. (roots, take up, water)",
        "(1) [roots; take up; water]",
        '* "roots" | "take up" | "water"',
        "Triplets: | roots | take up | water |",
        "roots -> take up -> water",
        "roots\ttake up\twater",
        "I think:\n\nroots | take up | water\nroots | | water\n| |\nroots, take up, water\nand so on",
    ],
)
def test_a_reply_is_understood_however_it_is_written(reply: str) -> None:
    assert [(s.casefold(), p, o.casefold()) for s, p, o in parse_reply(reply)] == [("roots", "take up", "water")]


@given(st.text())
def test_any_reply_gives_triplets_of_three_parts_on_one_line_each(reply: str) -> None:
    found = parse_reply(reply)
    assert len(found) <= MAX_PER_SENTENCE
    assert all(part.strip() and part.isprintable() for one in found for part in one)


@settings(max_examples=100)
@given(st.lists(st.tuples(*[st.from_regex(r"[a-z][a-z ]{0,10}[a-z]", fullmatch=True)] * 3), max_size=6, unique=True))
def test_what_is_written_as_the_prompt_asks_is_read_back(triplets: list[tuple[str, str, str]]) -> None:
    reply = "\n".join(" | ".join(one) for one in triplets)
    assert parse_reply(reply) == list(dict.fromkeys(tuple(" ".join(p.split()) for p in one) for one in triplets))


def test_a_model_is_asked_one_sentence_at_a_time_and_cannot_invent_things() -> None:
    model = Scripted("The roots | take up | water\nroots | drink | lava\nit | need | water\n\nSun | heat | water")
    found = reader(model)(["Roots of a plant take up water.", "Lava is hot."])
    assert [[one.text for one in some] for some in found] == [["roots take up water"], []]
    assert len(model.prompts) == 2
    assert model.prompts[0].count("Roots of a plant take up water.") == 1


def test_the_llm_part_works_as_the_rules_do() -> None:
    model: LanguageModel = Scripted("heart | pumps | blood")
    found = llm(model)(asked("What does the heart do?", FARM), [], 4, 1)
    assert [one.text for one in found] == ["heart pumps blood."]
    assert FARM.text[found[0].start : found[0].end] == "The heart pumps blood through the body."
    with pytest.raises(ConfigError, match="no such prompt"):
        llm(model, prompt="graph-v99")
