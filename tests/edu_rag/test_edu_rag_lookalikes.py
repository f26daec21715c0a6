"""Which names a reader may take for somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.look.lookalikes import lookalikes, name_key, resembles, skeletons

UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202e\u2066\u2069\u180e\u034f\ufe0f\u3164\u115f\u2800"
ALIKE = [
    ("OpenAI", "OpenAl"),
    ("OpenAI", "0penAI"),
    ("OpenAI", "Open AI"),
    ("OpenAI", "Open-AI!"),
    ("OpenAI", "OpenΑI"),
    ("OpenAI", "Ореnаi"),
    ("OpenAI", "𝐎𝐩𝐞𝐧𝐀𝐈."),
    ("OpenAI", "ＯｐｅｎＡｌ"),
    ("OpenAI", "Opén AI"),
    ("OpenAI", "OpenA|"),
    ("Google", "Goog1e"),
    ("Google", "Gooogle"),
    ("Google", "Googel"),
    ("Microsoft", "Micosoft"),
    ("Google", "Boogle"),
    ("modern-rag", "rnodern-rag"),
    ("widgets", "vvidgets"),
    ("HELSINKI", "НЕLЅІNКІ"),
    ("helsinki", "НЕLЅІNКІ"),
    ("Meta", "Меtа"),
    ("Meta", "M\u200beta"),
    ("Meta", "\u202eMeta"),
    ("Ai2", "AI-2"),
    ("Ai2", "Al2"),
    ("Stanford NLP", "Standford NLP"),
    ("Müller Lab", "Muller Lab"),
    ("ﬁrst lab", "f1rst lab"),
    ("bm25-rag", "bm25_rag"),
    ("EDU-RAG authors", "EDU-RAG author5"),
    ("dataset", "datasеt"),
    ("paypal", "раураl"),
]
APART = [
    ("GPT", "GPU"),
    ("llama2-rag", "llama3-rag"),
    ("team 10", "team 11"),
    ("Llama 3 8B", "Llama 3 70B"),
    ("bm25-overlap", "sbert-overlap"),
    ("EDU-RAG authors", "EDU-RAG baselines"),
    ("北京大学", "清华大学"),
    ("!!!", "???"),
    ("🧪", "👩‍🔬"),
    ("", " "),
    ("one", "two"),
    ("Москва", "Самара"),
    ("rag-small", "rag-large"),
    ("llama-rag", "llama2-rag"),
]
SAME = [
    ("OpenAI", "openai"),
    ("OpenAI", "  Open\u0041I "),
    ("Open  AI", "Open\u00a0AI"),
    ("OpenAI", "ＯｐｅｎＡＩ"),
    ("Straße", "STRASSE"),
    ("ﬁrst", "first"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_alike_resemble_one_another(one: str, other: str) -> None:
    assert resembles(one, other)
    assert resembles(other, one)


@pytest.mark.parametrize(("one", "other"), APART)
def test_names_that_differ_to_the_eye_or_by_number_do_not(one: str, other: str) -> None:
    assert not resembles(one, other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_name_is_the_same_team_and_no_lookalike(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)
    assert not resembles(one, other)


@given(st.text(), st.text())
def test_resembling_is_symmetric(one: str, other: str) -> None:
    assert resembles(one, other) == resembles(other, one)


@given(st.text())
def test_no_name_resembles_itself(name: str) -> None:
    assert not resembles(name, name)
    assert not resembles(name, name.casefold())


@given(st.text("abcdefghIJKLmnop ОеаА-", min_size=1), st.sampled_from(UNSEEN), st.integers(0, 40))
def test_what_nobody_sees_hides_no_name(name: str, unseen: str, at: int) -> None:
    if not skeletons(name):
        return
    hidden = name[: at % (len(name) + 1)] + unseen + name[at % (len(name) + 1) :]
    assert skeletons(hidden) & skeletons(name)
    assert resembles(hidden, name) or name_key(hidden) == name_key(name)


def test_a_thousand_unseen_characters_before_a_name_hide_nothing() -> None:
    assert resembles("\u200b" * 10_000 + "OpenAI", "OpenAI")
    assert resembles("\u0301" * 10_000 + "OpenAI", "OpenAI")


@given(st.lists(st.text("abcloO01I rnmе", max_size=9), max_size=8))
def test_all_pairs_of_a_list_are_found(names: list[str]) -> None:
    expected = {name: others for name in set(names) if (others := sorted(x for x in set(names) if resembles(name, x)))}
    assert lookalikes(names) == expected


def test_long_names_cost_no_more_than_short_ones() -> None:
    found = lookalikes(["W" * 1_000_000, "VV" * 1_000_000, "x"])
    assert sorted(found) == sorted(["W" * 1_000_000, "VV" * 1_000_000])


def test_a_variable_of_the_environment_names_no_other_data_and_no_http_client_is_imported() -> None:
    script = (
        "import sys; from edu_rag.look.lookalikes import resembles; print(resembles('OpenAI', 'ОpenAI'), "
        "'urllib.request' in sys.modules, 'confusable_homoglyphs.confusables' in sys.modules)"
    )
    environment = {**os.environ, "CONFUSABLE_DATA": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]
