"""Back ends on a tiny real encoder: exported before a run, the same vectors as PyTorch, never another model's.

And the vectors that come with a dataset: what is read from them, and how a build makes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tiny_encoder import DIMENSION, MAX_TOKENS, make_tiny_encoder

from baselines import embed
from baselines import models as weights
from baselines.embed import Encoder, encoded, export, lots
from baselines.embed.back_ends import open_back_end
from baselines.embed.lots import EncoderInLots
from baselines.embed.vectors import FILE, open_store, rows_of
from baselines.overlap import dense_system
from baselines.retrieve import warm
from baselines.retrieve.dense import dense
from builder.dataset.check_dataset import check_folder
from builder.deriving.vector_writer import write_vectors
from edu_rag.__main__ import root
from edu_rag.cli.building import BaselineEncoders
from edu_rag.errors import ConfigError, DataError, MissingExtraError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import Attach, write_dataset
from edu_rag.files.manifest import VECTORS
from edu_rag.files.sentence_vectors import FACTS_FILE, NUMBERS_FILE, VARIABLE
from edu_rag.records import Question, Span, WebPage, page_id_of
from edu_rag.serve import SystemPage, SystemQuestion

for package in ("torch", "sentence_transformers", "onnxruntime", "onnxscript"):
    if find_spec(package) is None:  # to import them takes seconds, also where no test of this file is run
        why = f"NOT RUN: {package} is not installed (pip install 'edu-rag-bench[models,parts]')"
        pytest.skip(why, allow_module_level=True)

LONG = "abc " * 3 * MAX_TOKENS
TEXTS = ["tides", "moon and sun", "a", "", LONG, "ζ \x00 \u202e 水 \ud800", "moon", "plants make sugar", "sun and moon"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with the tiny encoder, exported."""
    folder = tmp_path_factory.mktemp("models")
    make_tiny_encoder(folder / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDU_RAG_MODELS", str(folder))
        assert export.main(["tiny"]) == 0
    return folder


def write_tiny(
    folder: Path, questions: Sequence[Question], pages: Sequence[WebPage], attach: Attach | None = None
) -> Path:
    """A dataset of these questions and pages."""
    write_dataset(
        folder,
        {"questions": {"test": questions}, "pages": {"test": pages}},
        name="tiny",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# tiny\n"},
        attach=attach,
    )
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset of one question and two pages, which say the same."""
    text = "Moon. Tides. Plants make sugar of the sun."
    pages = [
        WebPage(
            page_id=page_id_of(url),
            url=url,
            title="",
            text=text,
            sentences=(Span(0, 5), Span(6, 12), Span(13, 42)),
            fetched_at=datetime(2000, 1, 1, tzinfo=UTC),
            html_sha256="0" * 64,
            extractor="test",
        )
        for url in ("https://a.example/", "https://b.example/")
    ]
    question = Question(
        question_id="q1", text="Why?", choices={"a": "x", "b": "y"}, kind="multiple_choice", split="test"
    )
    return write_tiny(tmp_path / "dataset", [question], pages)


@pytest.fixture(autouse=True)
def in_models(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDU_RAG_MODELS", str(models))
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "cache"))


def test_onnx_in_32_bits_gives_the_vectors_of_torch(models: Path) -> None:
    ours, reference = (Encoder("tiny", back_end=name, threads=1).encode(TEXTS) for name in ("onnx", "torch"))
    assert ours.shape == reference.shape == (len(TEXTS), DIMENSION)
    assert ours.dtype == np.float32
    assert np.allclose(ours, reference, atol=1e-5)
    assert np.linalg.norm(ours, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_text_beyond_the_encoders_length_is_cut_where_the_encoder_cuts_it() -> None:
    for back_end in ("torch", "onnx", "onnx-int8"):
        long, longer = Encoder("tiny", back_end=back_end, threads=1).encode([LONG, LONG + "xyz"])
        assert long == pytest.approx(longer, abs=1e-6)


def test_a_text_of_eight_bits_has_the_same_vector_in_any_company() -> None:
    alone = np.concatenate([Encoder("tiny", back_end="onnx-int8", threads=1).encode([text]) for text in TEXTS])
    together = Encoder("tiny", back_end="onnx-int8", threads=1).encode(TEXTS)
    assert np.array_equal(alone, together)
    assert not np.array_equal(together, Encoder("tiny", back_end="onnx", threads=1).encode(TEXTS))


def test_no_text_at_all_is_no_vector_at_all() -> None:
    assert Encoder("tiny", threads=1).encode([]).shape == (0, DIMENSION)
    assert dense("tiny")("moon", [], 3) == []


def test_back_ends_keep_their_vectors_apart_in_one_cache(tmp_path: Path) -> None:
    every = [Encoder("tiny", back_end=name, cache=tmp_path, threads=1) for name in ("torch", "onnx", "onnx-int8")]
    found = [encoder.encode(["moon"]) for encoder in every]
    assert len(list(rows_of(tmp_path / FILE))) == 3
    assert [np.array_equal(encoder.encode(["moon"]), one) for encoder, one in zip(every, found, strict=True)] == [
        True
    ] * 3


def test_other_weights_under_the_same_name_never_meet_our_vectors(tmp_path: Path, models: Path) -> None:
    other = make_tiny_encoder(tmp_path / "tiny", seed=1)
    ours = Encoder("tiny", cache=tmp_path / "cache", threads=1).encode(["moon"])
    theirs = Encoder(str(other), cache=tmp_path / "cache", threads=1).encode(["moon"])
    assert not np.array_equal(ours, theirs)
    with pytest.raises(SubmissionError, match=r"was not made of .*baselines\.embed\.export"):
        Encoder(str(other), back_end="onnx")


def test_an_encoder_that_was_not_exported_is_an_error_and_is_not_exported_by_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "lonely"
    folder.mkdir()
    with pytest.raises(SubmissionError, match=r"was not exported to ONNX: run python -P -m baselines\.embed\.export"):
        Encoder(str(folder), back_end="onnx")


def test_an_unknown_back_end_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="there is no 'tpu': known are torch, onnx, onnx-int8"):
        dense("tiny", back_end="tpu")


@pytest.mark.parametrize(("name", "content"), [("int8.onnx", b"changed"), ("tokenizer.json", b"{}")])
def test_a_file_that_is_not_what_was_exported_is_an_error(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    copy = tmp_path / "onnx" / "tiny"
    copy.mkdir(parents=True)
    for path in (models / "onnx" / "tiny").iterdir():
        (copy / path.name).write_bytes(content if path.name == name else path.read_bytes())
    monkeypatch.setenv("EDU_RAG_MODELS", str(tmp_path))
    with pytest.raises(SubmissionError, match="not what was exported"):
        Encoder(str(models / "tiny"), back_end="onnx-int8")


def test_settings_of_an_export_that_cannot_be_read_are_an_error(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onnx" / "tiny").mkdir(parents=True)
    (tmp_path / "onnx" / "tiny" / "encoder.json").write_text(json.dumps({"encoder": 7}))
    monkeypatch.setenv("EDU_RAG_MODELS", str(tmp_path))
    with pytest.raises(DataError, match=r"encoder\.json: cannot be read"):
        Encoder(str(models / "tiny"), back_end="onnx")


def test_an_encoder_is_found_among_the_models_by_name_and_by_hub_id(models: Path) -> None:
    assert weights.locate_encoder("tiny") == weights.locate_encoder("org/tiny") == str(models / "tiny")
    assert weights.locate_encoder("org/unknown") == "org/unknown"


def test_a_known_encoder_with_other_weights_is_refused(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SHA256", {"tiny": "0" * 64})
    with pytest.raises(SubmissionError, match=r"fetch it again: bench/get_models\.py tiny"):
        dense("tiny")


def test_warmed_vectors_are_what_a_run_reads_and_nothing_is_computed_again(
    tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ["--encoder", "tiny", "--back-end", "onnx", "--chunk", '{ name = "windows", tokens = 6, overlap = 0 }']
    assert warm.main([str(dataset), *told, "--to", str(tmp_path)]) == 0
    # Windows of at most 6 words and marks: "Moon." + "Tides." (4) make one, the sentence after it (7) is another.
    texts = ["Moon. Tides.", "Plants make sugar of the sun."]
    run = Encoder("tiny", back_end="onnx", threads=1)
    run._store = open_store(None, tmp_path / FILE)
    monkeypatch.setattr(embed, "encoded", lambda _, texts: pytest.fail(f"computed {texts}"))
    assert run.encode(texts).shape == (2, DIMENSION)
    assert len(list(rows_of(tmp_path / FILE))) == 2


def test_the_vectors_of_a_cache_are_copied_without_a_model(
    tmp_path: Path, models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Encoder("tiny", cache=tmp_path, threads=1).encode(TEXTS)
    monkeypatch.setattr(warm, "compute", lambda *given: pytest.fail("loaded a model"))
    assert warm.main(["--copy", str(tmp_path / FILE), "--to", str(tmp_path / "to")]) == 0
    assert f"holds {len(TEXTS)} vectors" in capsys.readouterr().out
    assert dict(rows_of(tmp_path / "to" / FILE)) == dict(rows_of(tmp_path / FILE))


@pytest.mark.parametrize(
    "text", ['{ name = "windows", tokens = }', "{ tokens = 3 }", "paragraphs", '{ name = "windows", words = 3 }']
)
def test_a_chunker_that_is_none_is_one_line_and_exit_code_1(
    dataset: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warm.main([str(dataset), "--chunk", text]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_dense_ranks_by_cosine_and_equal_texts_tie_by_place() -> None:
    texts = ["moon and sun", "moon", "tides", "moon"]
    found = dense("tiny")("moon", texts, 3)
    # A text equal to the query has cosine 1, above all others; both copies of it, the first one first.
    assert [item.place for item in found][:2] == [1, 3]
    assert found[0].score == found[1].score == pytest.approx(1)
    assert len(found) == 3
    assert [item.place for item in dense("tiny")("moon", texts, 99)][:3] == [item.place for item in found]


@pytest.fixture
def with_vectors(models: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The dataset with the vectors of the tiny encoder, which a run is shown. Its cache is another one."""
    opened = Dataset(dataset)
    pages = list(opened.records("pages", "test", WebPage))
    attach = partial(write_vectors, name="tiny", encoders=BaselineEncoders())
    write_tiny(tmp_path / "with", opened.questions("test"), pages, attach)
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "other-cache"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "with" / VECTORS))
    return tmp_path / "with"


def asked_of(folder: Path) -> SystemQuestion:
    """The dataset's question with its pages, as a system gets it."""
    opened = Dataset(folder)
    (question,) = opened.questions("test")
    pages = tuple(
        SystemPage(page_id=page.page_id, url=page.url, title="", text=page.text, sentences=tuple(page.sentences))
        for page in opened.records("pages", "test", WebPage)
    )
    return SystemQuestion(id="1", text=question.text, choices=question.choices, kind=question.kind, pages=pages)


def test_on_a_dataset_with_vectors_a_system_encodes_nothing_and_answers_as_without(
    with_vectors: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = check_folder(with_vectors)
    assert "vectors" not in report.faults.counts
    assert report.rows[VECTORS] == len({"Moon.", "Tides.", "Plants make sugar of the sun.", "Why?", "Why? x", "Why? y"})
    with monkeypatch.context() as patch:
        patch.setattr(embed, "encoded", lambda _, texts: pytest.fail(f"computed {texts}"))
        said = dense_system(Encoder("tiny", threads=1))(asked_of(with_vectors))
    monkeypatch.delenv(VARIABLE)
    assert said == dense_system(Encoder("tiny", threads=1))(asked_of(dataset))
    assert said.answer is not None


def test_vectors_of_another_encoder_are_not_used_and_the_reason_is_printed(
    with_vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Encoder("tiny", back_end="onnx", threads=1)
    assert other.encode(["Moon."]).shape == (1, DIMENSION)
    assert "of another encoder or version (tiny on torch): not used for tiny" in capsys.readouterr().err


def test_vectors_of_the_right_encoder_that_are_damaged_are_an_error(with_vectors: Path) -> None:
    facts, numbers = with_vectors / FACTS_FILE, with_vectors / NUMBERS_FILE
    whole = numbers.read_bytes()
    numbers.write_bytes(np.full(len(whole) // 4, np.nan, np.float32).tobytes())
    with pytest.raises(DataError, match="holds what is not a number"):
        Encoder("tiny", threads=1).encode(["Moon."])
    facts.write_text(facts.read_text().replace(f'"dimension": {DIMENSION}', f'"dimension": {DIMENSION // 2}'))
    numbers.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="has vectors of 8 numbers, and tiny gives 16"):
        Encoder("tiny", threads=1)


def test_a_lot_has_the_same_bytes_whatever_the_cache_of_single_vectors_holds(tmp_path: Path) -> None:
    Encoder("tiny", cache=tmp_path / "filled", threads=1).encode([*TEXTS[:3], "more"])
    empty, filled = (EncoderInLots("tiny", tmp_path / name) for name in ("empty", "filled"))
    plain = open_back_end("torch", "tiny", weights.locate_encoder("tiny"), 1)
    assert empty.encode_lot(TEXTS) == filled.encode_lot(TEXTS) == b"".join(encoded(plain, TEXTS))


def test_a_build_reads_no_vectors_of_another_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "broken"))
    with pytest.raises(DataError):
        Encoder("tiny", threads=1)
    assert len(EncoderInLots("tiny", tmp_path).encode_lot(TEXTS)) == 4 * DIMENSION * len(TEXTS)


def test_a_build_that_was_stopped_goes_on_after_its_last_lot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = EncoderInLots("tiny", tmp_path)
    done = first.encode_lot(TEXTS[:4])
    again = EncoderInLots("tiny", tmp_path)
    asked: list[str] = []
    monkeypatch.setattr(lots, "encoded", lambda back_end, texts: asked.extend(texts) or encoded(back_end, texts))
    assert again.encode_lot(TEXTS[:4]) == done
    again.encode_lot(TEXTS[4:])
    assert asked == TEXTS[4:]


def test_a_lot_of_another_processor_or_version_of_pytorch_is_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, found = EncoderInLots("tiny", tmp_path), set()
    for change, value in {"backends.cpu.get_cpu_capability": lambda: "OLD", "__version__": "0.0"}.items():
        found.add((lots._arithmetic(), encoder._key(TEXTS)))
        monkeypatch.setattr(f"torch.{change}", value)
        encoder._arithmetic = lots._arithmetic()
    found.add((lots._arithmetic(), encoder._key(TEXTS)))
    assert [len(set(column)) for column in zip(*found, strict=True)] == [3, 3]


def test_an_encoder_that_a_build_cannot_open_is_one_line_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "build.toml"
    settings.write_text('[label]\nvectors = "org/unknown"\n[search.folder]\nsites = "sites"\n')
    words = ["build", str(settings), "--questions", "no.jsonl", "--out", str(tmp_path / "ds")]
    with pytest.raises(ConfigError, match=r"\[label\] vectors: the weights of org/unknown are not on this machine"):
        root.main(words, standalone_mode=False)
    monkeypatch.setattr(lots, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"sentence_transformers, which is not installed: pip install"):
        root.main(words, standalone_mode=False)
    assert not (tmp_path / "ds").exists()
