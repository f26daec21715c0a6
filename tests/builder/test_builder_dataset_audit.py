"""`edu-rag dataset audit`: the broken questions are named, and every dropped hit has its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builder_dataset import AT, ask, tables, write
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from builder.dataset.audit_dataset import audit, audit_lines, audit_questions, fetch_details, quartiles
from builder.dataset.question_faults import contradictions, faults_of, holds_phrase, key_test
from builder.fetch.fetched import Fetched
from builder.question_sets.question_files import read_questions
from builder.store.crawl_store import CrawlStore
from edu_rag.__main__ import root
from edu_rag.errors import DataError
from edu_rag.gold import Gold
from edu_rag.records import Question


def gold(answer: str, question_id: str = "q") -> Gold:
    return Gold(question_id=question_id, answer=answer)


@pytest.mark.parametrize(
    ("text", "choices", "answer", "fault"),
    [
        ("center of an atom, consisting of Protons", ("atom", "proton", "ion"), "b", "gold_in_question"),
        ("snapdragons are red", ("Rw", "Rw", "rr"), "b", "gold_twice"),
        ("The rate of erosion", ("Fast.", "Slow.", "both of these"), "c", "gold_is_meta"),
        ("What is in the air", ("Oxygen", "Nitrogen", "a & b"), "a", "order_bound"),
        ("Which is it of all", ("...", "Nitrogen"), "b", "blank_choice"),
        ("Which is it of all", ("a. Oxygen", "b. Nitrogen"), "b", "label_in_choice"),
        ("Hydrolysis is", ("Acid rain", "Leaching"), "b", "bare_question"),
        ("why is the pacific ocean so deep?", ("trenches", "age"), "b", "no_capitals"),
        ("The gases in Earths atmosphere are", ("Thick", "Thin"), "b", "lost_apostrophe"),
        ("Birds on the Moon", ("couldnt fly", "could fly"), "b", "lost_apostrophe"),
        ("A minerals powder is called", ("Streak", "Luster"), "b", "lost_apostrophe"),
        ("The density of the body", ("2 g/cm3", "0.5 g"), "b", "lost_exponent"),
        ("The speed of light is", ("3 x 108 m/s", "1 km/h"), "b", "lost_exponent"),
        ("Water boils at", ("100 C.", "32 F."), "a", "lost_degree_sign"),
        ("The caf\u00c3\u00a9 is open at", ("Noon", "Midnight"), "a", "broken_text"),
        ("Ice &amp; water are", ("Cold", "Hot"), "a", "broken_text"),
        ("One \ufffd two and three", ("Cold", "Hot"), "a", "broken_text"),
    ],
)
def test_each_fault_is_found_by_its_rule(text: str, choices: tuple[str, ...], answer: str, fault: str) -> None:
    assert faults_of(ask("q", text, *choices), gold(answer)) == [fault]


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("What is the unit of mass?", ("Kilogram", "The gram")),
        ("Most minerals are found in the crust", ("Yes", "Never")),
        ("The suns of other worlds are", ("Stars", "Moons")),
        ("Vitamin C and 3 cells of fungi", ("Food", "None of it")),
        ("A temperature of 20 °C is", ("Warm", "Cold")),
    ],
)
def test_a_sound_question_has_no_fault(text: str, choices: tuple[str, ...]) -> None:
    assert faults_of(ask("q", text, *choices), gold("a")) == []


def test_a_true_false_question_with_other_choices_is_odd() -> None:
    assert "odd_true_false" in faults_of(ask("q", "Ice is Cold", "yes", "no", kind="true_false"), gold("a"))


def test_without_gold_no_rule_about_it_speaks() -> None:
    assert faults_of(ask("q", "The center of an Atom", "atom", "ion"), None) == []


def test_the_same_question_with_another_gold_is_a_contradiction_whatever_the_order() -> None:
    first, second = ask("q1", "What is hot?", "fire", "ice"), ask("q2", "what is hot", "Ice.", "fire")
    same = {"q1": gold("a", "q1"), "q2": gold("b", "q2")}
    assert contradictions([first, second], same) == []
    assert contradictions([first, second], same | {"q2": gold("a", "q2")}) == [("q1", "q2")]


@pytest.mark.parametrize(
    ("text", "phrase", "held"),
    [
        ("consisting of protons and neutrons", "proton", True),
        ("the hot spot.", "hot spot", True),
        ("the hotspot", "hot spot", False),
        ("electronic parts", "electron", False),
        ("a b c", "b", False),
    ],
)
def test_a_phrase_is_held_whole(text: str, phrase: str, held: bool) -> None:
    assert holds_phrase(text, phrase) is held


OTHER_LETTER = {"b": "c", "c": "b", "d": "e", "e": "d", "f": "g", "g": "f"}
"""A key that is out of step with its choices: each of these letters where the other one is meant."""


def exchanged(item: Gold, question: Question) -> Gold:
    other = OTHER_LETTER.get(str(item.answer), "")
    return gold(other, item.question_id) if other in question.choices else item


def test_the_key_test_finds_a_key_that_is_out_of_step_with_its_choices(shared_data: Path) -> None:
    questions, golds = read_questions([shared_data / "tqa" / "val" / "questions.jsonl"], None)
    right = {item.question_id: item for item in golds}
    wrong = {question.question_id: exchanged(right[question.question_id], question) for question in questions}
    first, second = key_test(questions, wrong), key_test(questions, right)
    assert (first.n, first.found, first.is_doubtful) == (79, 9, True)
    assert (second.n, second.found, second.is_doubtful) == (79, 0, False)


def test_the_real_questions_have_their_broken_ones_named_with_counts(shared_data: Path) -> None:
    questions, golds = read_questions([shared_data / "tqa" / "val" / "questions.jsonl"], None)
    found = audit_questions("val", questions, {item.question_id: item for item in golds}, 2)
    assert {name: group.n for name, group in found.flags.items()} == {
        "meta_choice": 519,
        "duplicate_choices": 1,
        "truncated": 44,
        "context_bound": 15,
        "duplicate_question": 8,
    }
    counts = {name: group.n for name, group in found.faults.items() if group.n}
    assert counts == {
        "gold_in_question": 2,
        "gold_twice": 1,
        "gold_is_meta": 219,
        "order_bound": 21,
        "bare_question": 28,
        "no_capitals": 1069,
        "lost_apostrophe": 71,
        "lost_exponent": 6,
        "lost_degree_sign": 15,
    }
    assert found.contradictions == [("NDQ_009109", "NDQ_009114")]
    assert all(len(group.examples) <= 2 for group in found.flags.values())


def test_what_was_dropped_stands_with_its_reason_and_an_example(tmp_path: Path) -> None:
    found = audit(write(tmp_path / "ds")).pages[1]
    assert found.outcomes == {"kept": 4, "robots": 1}
    assert found.dropped == {"robots": [("http://one.example/x", "q1")]}
    assert found.hosts["one.example"] == {"kept": 3, "robots": 1}
    assert (found.leaks, found.leaking_pages, found.flags) == (
        {"leak_question": 1},
        {"leak_question": 1},
        {"leak_question": 1},
    )
    assert found.evidence == {"answer-string-v1": {"spans": 1, "multiple_choice": 1}}
    assert found.pages_per_question == {1: 1, 2: 1}


def test_the_text_is_readable_and_the_gold_is_marked(tmp_path: Path) -> None:
    made = tables()
    made["questions"]["val"][0] = ask("q1", "What flows?", "lava", "ice", "all of the above", flags=("meta_choice",))
    text = "\n".join(audit_lines(audit(write(tmp_path / "ds", made))))
    assert "meta_choice                 1   50.0%" in text
    assert "*a. lava | b. ice | c. all of the above" in text
    assert "http://one.example/x  (q1)" in text
    assert all(len(line) <= 200 for line in text.splitlines())


def test_a_hostile_url_or_text_sends_no_orders_to_the_terminal(tmp_path: Path) -> None:
    made = tables()
    made["questions"]["val"][0] = ask("q1", "What \x1b[2J flows?", "lava", "all of the above", flags=("meta_choice",))
    assert "\x1b" not in "\n".join(audit_lines(audit(write(tmp_path / "ds", made))))


def _store(folder: Path) -> Path:
    with CrawlStore(folder, create=True) as store:
        url = "http://one.example/x"
        store.add_fetch(Fetched(url=url, final_url=url, outcome="robots", fetched_at=AT, detail="disallowed"))
    return folder


def test_the_store_tells_what_servers_said(tmp_path: Path) -> None:
    store = _store(tmp_path / "store")
    assert fetch_details(store) == {"http://one.example/x": "disallowed"}
    text = "\n".join(audit_lines(audit(write(tmp_path / "ds"), store)))
    assert "(disallowed 1)" in text


def test_a_store_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a crawl store"):
        fetch_details(tmp_path)


def test_the_command_gives_json_with_all_parts(tmp_path: Path) -> None:
    done = CliRunner().invoke(root, ["dataset", "audit", str(write(tmp_path / "ds")), "--json", "--examples", "0"])
    values = json.loads(done.stdout)
    assert values["pages"][1]["outcomes"] == {"kept": 4, "robots": 1}
    assert values["questions"][1]["n"] == 2


@given(st.lists(st.integers(0, 100)))
def test_quartiles_are_ordered_and_of_the_list(numbers: list[int]) -> None:
    found = quartiles(sorted(numbers))
    assert list(found) == sorted(found)
    assert not numbers or set(found) <= set(numbers)


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1), min_size=2, max_size=4))
def test_any_question_is_audited_without_an_error(text: str, choices: list[str]) -> None:
    assert isinstance(faults_of(ask("q", text, *choices), gold("a")), list)
