"""`edu-rag dataset export`: pairs of one split, seeded, with foreign pages that tell nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builder_dataset import ICE, LAVA, ask, hit, page, tables, write
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from builder.exports.export_pairs import ABSTENTION, closest_sentences, is_foreign, read_page
from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, DataError
from edu_rag.gold import Gold
from edu_rag.records import WebPage, page_id_of

REPOSITORY = Path(__file__).resolve().parents[2]
CLOUDS = "http://four.example/clouds.html"


def dataset(folder: Path) -> Path:
    """q3's page is on clouds: foreign to q1 and q2, whose own pages speak of lava and ice."""
    made = tables()
    made["questions"]["val"].append(ask("q3", "Where do clouds stand?", "sky", "sea"))
    made["gold"]["val"].append(Gold(question_id="q3", answer="a"))
    made["hits"]["val"].append(hit("q3", 1, CLOUDS))
    made["pages"]["val"].append(page(CLOUDS, "Clouds stand in the sky. They bring rain to the fields. " * 12))
    return write(folder, made)


def exported(ds: Path, *words: str) -> list[dict[str, Any]]:
    out = ds.parent / "pairs.jsonl"
    done = CliRunner().invoke(root, ["dataset", "export", str(ds), "--out", str(out), *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_the_three_kinds_are_chats_that_end_in_the_letter_or_in_i_do_not_know(tmp_path: Path) -> None:
    pairs = exported(dataset(tmp_path / "ds"), "--split", "val")
    by = {(pair["question_id"], pair["kind"]): pair for pair in pairs}
    for pair in pairs:
        assert [turn["role"] for turn in pair["messages"]] == ["system", "user", "assistant"]
        assert pair["split"] == "val"
    assert by["q1", "qa"]["messages"][2]["content"] == "a"
    assert "What flows down a volcano?\na. lava\nb. ice\nc. milk" in by["q1", "qa"]["messages"][1]["content"]
    assert "Lava flows down the volcano." in by["q1", "qa-pages"]["messages"][1]["content"]
    assert by["q1", "qa-pages"]["supported"] is True
    assert by["q3", "qa-pages"]["supported"] is False
    assert by["q1", "negatives"]["messages"][2]["content"] == ABSTENTION
    assert set(by["q1", "negatives"]["page_ids"]) == {page_id_of(CLOUDS)}
    assert by["q3", "negatives"]["page_ids"]
    assert page_id_of(CLOUDS) not in by["q3", "negatives"]["page_ids"]


def test_one_kind_can_be_asked_for(tmp_path: Path) -> None:
    assert {p["kind"] for p in exported(dataset(tmp_path / "ds"), "--split", "val", "--kind", "qa")} == {"qa"}


def test_a_page_that_leaks_its_question_is_not_among_its_pages(tmp_path: Path) -> None:
    pairs = exported(dataset(tmp_path / "ds"), "--split", "val", "--kind", "qa-pages")
    q2 = next(pair for pair in pairs if pair["question_id"] == "q2")
    assert page_id_of(ICE) not in q2["page_ids"]


def test_pages_with_planted_orders_are_in_no_pair(tmp_path: Path) -> None:
    made = tables()
    made["pages"]["val"][0] = page(LAVA, flags=("injection",))
    pairs = exported(write(tmp_path / "ds", made), "--split", "val")
    assert all(page_id_of(LAVA) not in pair["page_ids"] for pair in pairs)


@pytest.mark.parametrize("flag", ["leak_question", "leak_key"])
def test_a_page_that_leaks_a_question_of_another_split_is_in_no_pair(tmp_path: Path, flag: str) -> None:
    made = tables()
    made["pages"]["val"][0] = page(LAVA, flags=(flag,))  # of t1, so no table of val names the leak
    lines = exported(write(tmp_path / "ds", made), "--split", "val")
    assert lines
    assert not [line for line in lines if page(LAVA).page_id in line["page_ids"]]


def test_splits_are_never_mixed_and_a_question_of_two_splits_is_left_out(tmp_path: Path) -> None:
    made = tables()
    made["questions"]["test"].append(ask("t2", "what flows down a volcano", "ice", "lava", "milk", split="test"))
    made["gold"]["test"].append(Gold(question_id="t2", answer="b"))
    pairs = exported(write(tmp_path / "ds", made), "--split", "val")
    assert {pair["question_id"] for pair in pairs} == {"q2"}


def test_a_test_split_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    only = {config: {"test": splits["test"]} for config, splits in tables().items() if "test" in splits}
    ds = write(tmp_path / "ds", only)
    with pytest.raises(ConfigError, match="say --split test if you mean it"):
        exported(ds)
    assert exported(ds, "--split", "test", "--kind", "qa")[0]["question_id"] == "t1"
    hidden = write(
        tmp_path / "b", {c: {"val": s["val"]} for c, s in tables().items()}, sources={"hidden_splits": ["val"]}
    )
    with pytest.raises(ConfigError, match="the only split is 'val'"):
        exported(hidden)


def test_a_split_without_gold_cannot_be_exported(tmp_path: Path) -> None:
    made = tables()
    del made["gold"]["val"]
    ds = write(tmp_path / "ds", made)
    with pytest.raises(DataError, match="the gold of split 'val' is not here"):
        exported(ds, "--split", "val")
    assert not (tmp_path / "pairs.jsonl").exists()


@pytest.mark.parametrize(
    ("question_id", "licence"), [("NDQ_000001", "CC BY-NC 3.0"), ("quiz-00001", "under the terms of their own source")]
)
def test_the_licence_is_that_of_tqa_only_where_a_question_is(tmp_path: Path, question_id: str, licence: str) -> None:
    made = tables()
    made["questions"]["test"] = [ask(question_id, "What is above?", "sky", "sea")]
    made["gold"]["test"] = [Gold(question_id=question_id, answer="a")]
    ds = write(tmp_path / "ds", made)
    words = ["dataset", "export", str(ds), "--split", "val", "--out", str(tmp_path / "x.jsonl")]
    assert licence in CliRunner().invoke(root, words).stderr


def test_hash_seed_and_locale_change_no_byte_and_the_seed_chooses_the_pages(tmp_path: Path) -> None:
    made = tables()
    urls = [f"http://five.example/{number}.html" for number in range(12)]
    for number, url in enumerate(urls):
        question_id = f"r{number:02d}"
        made["questions"]["val"].append(ask(question_id, f"Tell about subject{chr(97 + number)}?", "sky", "sea"))
        made["gold"]["val"].append(Gold(question_id=question_id, answer="b"))
        made["hits"]["val"].append(hit(question_id, 1, url))
        made["pages"]["val"].append(page(url, f"Notes on weather number {number}. " * 40))
    made["questions"]["val"].sort(key=lambda question: question.question_id)
    ds = write(tmp_path / "ds", made)
    outs = []
    for number, (seed, hash_seed) in enumerate([("0", "1"), ("0", "2"), ("1", "1")]):
        out = tmp_path / f"{number}.jsonl"
        words = ["dataset", "export", str(ds), "--split", "val", "--seed", seed, "--out", str(out)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "PYTHONPATH": str(REPOSITORY)}
        subprocess.run([sys.executable, "-m", "edu_rag", *words], check=True, env=environment, capture_output=True)
        outs.append(out.read_bytes())
    assert outs[0] == outs[1]
    assert outs[0] != outs[2]


def web_page(text: str) -> WebPage:
    return page("http://x.example/", text)


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Fish swim in rivers all day.", True),
        ("The hot Magma, they say, is bright.", False),
        ("Magmatic rocks are bright.", True),
        ("A volcano erupts with molten stone inside.", False),
    ],
)
def test_a_page_with_the_gold_or_with_the_questions_words_is_not_foreign(text: str, foreign: bool) -> None:
    question = ask("q", "What is the molten stone inside a volcano called?", "magma", "lava")
    assert is_foreign(read_page(web_page(text)), question, Gold(question_id="q", answer="a")) is foreign


@given(st.text(min_size=1), st.integers(1, 400))
def test_what_is_shown_of_a_page_are_its_sentences_in_order_within_the_room(text: str, limit: int) -> None:
    made = web_page(text)
    spans = closest_sentences(read_page(made), ask("q", "What is hot?", "fire", "ice"), limit)
    assert spans == sorted(spans)
    assert set(spans) <= set(made.sentences)
    assert len("\n".join(made.text[start:end] for start, end in spans)) <= limit


def test_pages_take_no_more_room_than_given(tmp_path: Path) -> None:
    pairs = exported(dataset(tmp_path / "ds"), "--split", "val", "--kind", "qa-pages", "--max-characters", "500")
    for pair in pairs:
        pages, _, _ = pair["messages"][1]["content"].partition("\n\nQuestion: ")
        assert len(pages) <= 500
