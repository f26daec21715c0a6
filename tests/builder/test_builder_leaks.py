"""Questions on a page: found where a quiz shows them, with or without their key; not in prose that agrees."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.labels.leak_match import LeakMatch, best_match, words_of
from builder.labels.leaks import FoundLeak, LeakIndex, without_leaks
from builder.question_sets.question_files import read_questions
from edu_rag.gold import Gold
from edu_rag.records import Kind, Question

ROOT = Path(__file__).resolve().parents[2]


def ask(question_id: str, text: str, *choices: str, kind: Kind = "multiple_choice") -> Question:
    labelled = dict(zip("abcdefg", choices or ("true", "false"), strict=False))
    return Question(question_id=question_id, text=text, choices=labelled, kind=kind, split="val")


ORGANELLE = ask(
    "q1",
    "The largest organelle in a eukaryotic cell is the",
    "Golgi apparatus.",
    "mitochondrion.",
    "nucleus.",
    "all of the above",
)
SURFACE = ask("q2", "Evaporation occurs only at the exposed surface of a liquid.", kind="true_false")
YEAST = ask(
    "q3", "___type of fungus that exists as single cells", "mycelium", "spore", "chitin", "yeast", kind="matching"
)
CREEP = ask("q4", "Downhill creep", "results in curved tree trunks", "falls as a whole unit", "leaves large scars")
ALL_ARE = ask("q5", "which of the following is true?", "archaea can photosynthesize", "archaea cause no disease")
QUIZ = "3. The largest organelle in a eukaryotic cell is the\na. Golgi apparatus.\nb. mitochondrion.\nc. nucleus."
QUESTIONS = [ORGANELLE, SURFACE, YEAST, CREEP, ALL_ARE]
GOLDS = [Gold(question_id=f"q{n}", answer=answer) for n, answer in enumerate("cadab", 1)]
INDEX = LeakIndex(QUESTIONS, GOLDS)
PROSE = "Cells have many parts. Each part has its work to do, and the parts depend on one another.\n"


def kinds(text: str) -> dict[str, str]:
    return {leak.question_id: leak.kind for leak in INDEX.find(f"{PROSE}\n{text}\n\n{PROSE}")}


@pytest.mark.parametrize(
    "text",
    [
        QUIZ,
        "3. the largest organelle in a eukaryotic cell is the ____\n(a) nucleus (b) mitochondrion (c) Golgi apparatus",
        "Q3: The largest organele in eukaryotic cells is: a) nucleus b) Golgi apparatus c) mitochondrion",
        "Can you help? The biggest organelle in a eukaryotic cell is the A. Golgi body B. nucleus C. mitochondrion",
        "| 3 | The largest organelle in a eukaryotic cell is the | Golgi apparatus | mitochondrion | nucleus |",
        "**The largest organelle in a eukaryotic cell is the**\n- [ ] Golgi body\n- [ ] nucleus\n- [ ] mitochondrion",
    ],
)
def test_a_quiz_page_leaks_the_question_verbatim_reordered_or_lightly_edited(text: str) -> None:
    assert kinds(text) == {"q1": "leak_question"}


@pytest.mark.parametrize(
    "text",
    [
        f"{QUIZ}\nAnswer: c",
        "3. The largest organelle in a eukaryotic cell is the\na. Golgi body.\nb. nucleus.\nCorrect answer: nucleus",
        "The largest organelle in a eukaryotic cell is the\nnucleus",
        "The largest organelle in a eukaryotic cell is the\na. Golgi apparatus.\nb. mitochondrion.\n* c. nucleus.",
        "Q: The largest organelle in a eukaryotic cell is the\nA: nucleus.",
        "3. The largest organelle in a eukaryotic cell is the\na. Golgi body.   b. mitochondrion.   c. nucleus.\n\n"
        "Answer key\n1. b 2. d 3. c 4. a",
    ],
)
def test_with_the_answer_beside_it_the_leak_is_a_key(text: str) -> None:
    assert kinds(text) == {"q1": "leak_key"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1. Evaporation occurs only at the exposed surface of a liquid. T F", "leak_question"),
        ("True or false: evaporation occurs only at the exposed surface of the liquid.", "leak_question"),
        ("1. Evaporation occurs only at the exposed surface of a liquid.\na. true\nb. false", "leak_question"),
        ("Evaporation happens only at the exposed surface of a liquid.\nTrue", "leak_key"),
        ("1. Evaporation occurs only at the exposed surface of a liquid. (True/False)\nAnswer: True", "leak_key"),
    ],
)
def test_a_statement_leaks_where_it_is_asked(text: str, kind: str) -> None:
    assert kinds(text) == {"q2": kind}


@pytest.mark.parametrize(
    "text",
    [
        "Water boils inside. Evaporation occurs only at the exposed surface of a liquid. So a puddle dries slowly.",
        "So the largest organelle in a eukaryotic cell is the nucleus, which holds the DNA of the cell.",
        "Yeast is a type of fungus that exists as single cells and makes bread rise when it breathes.",
        "Downhill creep is slow. Soil moves down, and trees grow bent.",
        "Which of the following is true? Explain.\nArchaea live in hot springs.",
        "The nucleus, the mitochondrion and the Golgi apparatus are organelles of the eukaryotic cell.",
    ],
)
def test_prose_that_says_the_same_is_no_leak(text: str) -> None:
    assert kinds(text) == {}


def test_a_flash_card_of_a_definition_leaks_with_its_term() -> None:
    assert kinds("yeast\ntype of fungus that exists as single cells") == {"q3": "leak_key"}


def test_a_question_of_few_words_leaks_with_its_choices_only() -> None:
    assert kinds("Downhill creep") == {}
    assert kinds("7. Downhill creep\na. falls as a whole unit\nb. results in curved tree trunks") == {
        "q4": "leak_question"
    }


def test_the_span_covers_the_question() -> None:
    text = f"{PROSE}\n1. Evaporation occurs only at the exposed surface of a liquid. T F"
    (leak,) = INDEX.find(text)
    assert text[leak.start : leak.end] == "Evaporation occurs only at the exposed surface of a liquid"


def test_what_is_leaked_does_not_depend_on_the_gold() -> None:
    """Or else the table of leaks would tell the answers of a hidden split."""
    text = (
        "1. Evaporation occurs only at the exposed surface of a liquid. T F\n\n3. The largest organelle in a eukaryotic"
    )
    text += " cell is the\na. Golgi apparatus.\nb. mitochondrion.\nc. nucleus."
    found = set()
    for answer in "ab":
        index = LeakIndex([ORGANELLE, SURFACE], [Gold(question_id=f"q{n}", answer=answer) for n in (1, 2)])
        found.add(tuple((leak.question_id, leak.start, leak.end) for leak in index.find(text)))
    assert len(found) == 1
    assert len(found.pop()) == 2


def test_questions_with_too_few_words_are_named_as_unprotected() -> None:
    bare = Question(question_id="q9", text="Is it so?", choices={}, kind="free_text", split="val")
    index = LeakIndex([ORGANELLE, bare], [GOLDS[0], Gold(question_id="q9", texts=("yes",))])
    assert index.unprotected == ["q9"]
    assert index.find("1. Is it so?\n") == []


def test_questions_without_words_of_their_own_are_named_as_unprotected() -> None:
    alike = [ask(f"a{n}", "Which planet orbits nearest the star?", f"planet {n}", f"moon {n}") for n in range(41)]
    golds = [Gold(question_id=question.question_id, answer="a") for question in alike]
    index = LeakIndex([ORGANELLE, *alike], [GOLDS[0], *golds])
    assert index.unprotected == sorted(question.question_id for question in alike)
    assert index.find(f"1. {alike[0].text}\na. planet 0\n") == []
    assert [leak.question_id for leak in index.find(QUIZ)] == ["q1"]


def test_without_questions_nothing_leaks() -> None:
    assert LeakIndex([], []).find(QUIZ) == []


def test_a_question_shown_as_a_quiz_is_found_or_named_as_unprotected(shared_data: Path) -> None:
    questions, golds = read_questions([shared_data / "tqa/val/questions.jsonl"], "val")
    index = LeakIndex(questions, golds)
    missed = []
    for question in questions[::3]:
        choices = "\n".join(f"{label}. {choice}" for label, choice in question.choices.items())
        found = {leak.question_id for leak in index.find(f"1. {question.text}\n{choices}\n")}
        missed += [question.question_id] * (question.question_id not in found)
    assert set(missed) <= set(index.unprotected)


def test_few_passages_of_a_school_page_are_compared(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page costs: of its 3,000 words no more than 75 passages go to the slow comparison."""
    questions, golds = read_questions([shared_data / "tqa/val/questions.jsonl"], "val")
    index = LeakIndex(questions, golds)
    pages = [path.read_text("utf-8") for path in sorted((shared_data / "web/openstax-physics/gold").glob("*.txt"))]
    compared = []

    def count(*passage: Any) -> LeakMatch | None:
        compared.append(passage)
        return best_match(*passage)

    monkeypatch.setattr("builder.labels.leaks.best_match", count)
    for text in pages:
        index.find(text)
    n_words = sum(len(text.split()) for text in pages)
    assert 0 < len(compared) < n_words / 3_000 * 75


@given(st.text(alphabet=st.sampled_from("aZ7é_'’ʼ²𝐀😀中 \n.-")))
def test_a_long_text_is_cut_as_a_short_one_is(text: str) -> None:
    padding = ". " * 300
    long = words_of(padding + text)
    short = words_of(text)
    assert long.words == short.words
    assert [start - len(padding) for start in long.starts] == short.starts
    assert [end - len(padding) for end in long.ends] == short.ends


def test_free_text_questions_are_protected() -> None:
    question = Question(
        question_id="f1",
        text="Why do deep ocean currents flow toward the equator?",
        choices={},
        kind="free_text",
        split="val",
    )
    index = LeakIndex([question], [Gold(question_id="f1", texts=("cold water sinks",))])
    found = index.find("1. Why do deep ocean currents flow toward the equator?\nAnswer: cold water sinks")
    assert [(leak.question_id, leak.kind) for leak in found] == [("f1", "leak_key")]


def test_the_index_can_be_handed_to_another_process() -> None:
    text = QUIZ
    assert pickle.loads(pickle.dumps(INDEX)).find(text) == INDEX.find(text) != []


def test_the_answer_is_the_same_for_every_hash_seed_and_order_of_questions(shared_data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    questions, _ = read_questions([shared_data / "tqa/val/questions.jsonl"], "val")
    page.write_text("\n".join(f"{n}. {question.text}" for n, question in enumerate(questions[:120])), "utf-8")
    code = (
        "import sys; from pathlib import Path; from builder.labels.leaks import LeakIndex, without_leaks;"
        "from builder.question_sets.question_files import read_questions;"
        "q, g = read_questions([Path(sys.argv[1])], 'val');"
        "q = q[::-1] if sys.argv[3] == 'r' else q;"
        "print(LeakIndex(q, g).find(Path(sys.argv[2]).read_text('utf-8')))"
    )
    outputs = set()
    for seed, order in (("0", "f"), ("99", "r")):
        command = [sys.executable, "-c", code, str(shared_data / "tqa/val/questions.jsonl"), str(page), order]
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        outputs.add(subprocess.run(command, env=env, capture_output=True, check=True, text=True).stdout)
    assert len(outputs) == 1
    assert outputs.pop().count("FoundLeak") > 60


def test_few_real_school_pages_are_flagged(shared_data: Path) -> None:
    """A pinned floor: of 100 sections of a physics book at most 3 (they define units as the questions do)."""
    questions, golds = read_questions([shared_data / "tqa/val/questions.jsonl"], "val")
    index = LeakIndex(questions, golds)
    pages = sorted((shared_data / "web/openstax-physics/gold").glob("*.txt"))
    assert sum(bool(index.find(path.read_text("utf-8"))) for path in pages) <= 3


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.text(max_size=300), st.lists(st.sampled_from([*ORGANELLE.text.split(), "nucleus", "\n", "?", "_"])))
)
def test_spans_of_any_text_lie_inside_it(text: str | list[str]) -> None:
    page = text if isinstance(text, str) else " ".join(text)
    for leak in INDEX.find(page):
        assert isinstance(leak, FoundLeak)
        assert 0 <= leak.start < leak.end <= len(page)


def masked(text: str) -> str:
    """What is left of a leaking text, in words."""
    page = f"{PROSE}{text}\n{PROSE}"
    found = INDEX.find(page)
    bare = without_leaks(page, found)
    assert len(bare) == len(page)
    assert [at for at, char in enumerate(page) if char == "\n"] == [at for at, char in enumerate(bare) if char == "\n"]
    assert INDEX.find(bare) == []
    assert bare.count(PROSE) == 2
    return " ".join(bare.replace(PROSE, "").split())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (QUIZ, "3. a. Golgi apparatus. b. mitochondrion. c. nucleus."),
        (f"{QUIZ}\nAnswer: c", "3."),
        ("Q: The largest organelle in a eukaryotic cell is the\nA: nucleus.", "Q:"),
        ("yeast\ntype of fungus that exists as single cells", ""),
        (
            "The largest organelle in a eukaryotic cell is the\na. Golgi apparatus.\n* b. nucleus.\nc. mitochondrion.",
            "",
        ),
    ],
)
def test_masking_takes_the_question_and_with_a_key_its_choices_and_answer(text: str, left: str) -> None:
    assert masked(text) == left


@given(st.text(alphabet="ab .\n?", max_size=60), st.integers(0, 5))
def test_masking_keeps_the_length_and_the_lines_of_any_page(rest: str, at: int) -> None:
    page = f"{rest[:at]}\n{QUIZ}\nAnswer: c\n{rest[at:]}"
    bare = without_leaks(page, INDEX.find(page))
    assert len(bare) == len(page)
    assert bare.count("\n") == page.count("\n")
