"""Exported tasks, run by the real packages: their accuracy is that of `edu-rag score` on the imported logs.

The models are a tiny transformer that both packages load themselves, and a server that answers in odd forms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from science_dataset import write_science_dataset
from scripted_model import scripted_model
from tiny_model import write_tiny_model

pytest.importorskip("inspect_ai", reason="NOT RUN here: these tests run in an environment with the packages")
ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent
RATES = ("accuracy", "hallucination", "missing", "score")


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, list[str]]]:
    with scripted_model() as served:
        yield served


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_science_dataset(tmp_path_factory.mktemp("data") / "dataset")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def run(*words: object, cwd: Path, **environment: str) -> str:
    own = {
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(cwd / "hf"),
        "EDU_RAG_CACHE": str(cwd / "cache"),
    }
    program = [sys.executable, "-m", "edu_rag"] if words[0] == "edu-rag" else [BIN / str(words[0])]
    done = subprocess.run(
        [*program, *map(str, words[1:])],
        cwd=cwd,
        env=os.environ | own | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def export(dataset: Path, target: str, out: Path, split: str = "test") -> Path:
    run("edu-rag", "dataset", "export", dataset, "--split", split, "--to", target, "--out", out, cwd=dataset.parent)
    return out


def score_of(log: Path, dataset: Path, cwd: Path, *options: str, split: str = "test") -> dict[str, Any]:
    words = ("--dataset", dataset, "--split", split)
    run(
        "edu-rag",
        "import",
        log,
        *words,
        "--submission",
        "their-answers",
        "--in",
        cwd / "subs",
        "--force",
        *options,
        cwd=cwd,
    )
    path = predictions_of(cwd, split)
    found: dict[str, Any] = json.loads(run("edu-rag", "score", path, *words, "--json", cwd=cwd))
    return found


def predictions_of(cwd: Path, split: str = "test") -> Path:
    """The file of the predictions that were imported last."""
    return cwd / "subs" / "their-answers" / "predictions" / "science-1.0.0" / f"{split}.jsonl"


def inspect_eval(task: str, cwd: Path, *options: object, **environment: str) -> Path:
    """Run `inspect eval` and return its log."""
    logs = cwd / "logs"
    before = set(logs.glob("*.eval"))
    run("inspect", "eval", task, "--log-dir", logs, "--display", "none", *options, cwd=cwd, **environment)
    (log,) = set(logs.glob("*.eval")) - before
    return log


def scripted_eval(task: str, model: tuple[str, list[str]], cwd: Path, *options: str) -> Path:
    """Run `inspect eval` on the server's model and return its log."""
    words = ("--model", "openai-api/scripted/tiny", *options)
    return inspect_eval(task, cwd, *words, SCRIPTED_BASE_URL=model[0], SCRIPTED_API_KEY="none")


def inspect_rates(log: Path) -> dict[str, float]:
    from inspect_ai.log import read_eval_log

    results = read_eval_log(str(log), header_only=True).results
    assert results is not None
    return {score.name: score.metrics["mean"].value for score in results.scores}


def assert_same(theirs: dict[str, float], ours: dict[str, Any]) -> None:
    assert {name: theirs[name] for name in RATES} == pytest.approx({name: ours[name] for name in RATES}, abs=1e-9)
    assert 0 < ours["accuracy"] < 1
    assert ours["missing"] > 0


def test_inspect_reports_the_rates_of_edu_rag_score(
    dataset: Path, model: tuple[str, list[str]], tmp_path: Path
) -> None:
    export(dataset, "inspect", tmp_path / "task")
    log = scripted_eval("task/edu_rag_task.py", model, tmp_path)
    ours = score_of(log, dataset, tmp_path)
    assert_same(inspect_rates(log), ours)
    assert any("</DOC>" in prompt and "{prompt} {0}" in prompt for prompt in model[1])


def test_inspect_on_a_tiny_model_reports_the_rates_of_edu_rag_score(dataset: Path, tiny: Path, tmp_path: Path) -> None:
    """Its log brings tokens and times, too."""
    export(dataset, "inspect", tmp_path / "task")
    words = ("--model", "hf/tiny", "-M", f"model_path={tiny}", "-M", "do_sample=false", "--max-tokens", 8)
    log = inspect_eval("task/edu_rag_task.py", tmp_path, *words)
    assert_same(inspect_rates(log), score_of(log, dataset, tmp_path))
    lines = predictions_of(tmp_path).read_text(encoding="utf-8").splitlines()
    predictions = [json.loads(line) for line in lines]
    assert len({prediction["answer"] for prediction in predictions}) > 3
    assert all(prediction["input_tokens"] > 50 and prediction["latency_s"] > 0 for prediction in predictions)


def test_inspect_grades_free_text_by_our_rules(dataset: Path, model: tuple[str, list[str]], tmp_path: Path) -> None:
    export(dataset, "inspect", tmp_path / "task", split="open")
    log = scripted_eval("task/edu_rag_task.py", model, tmp_path, "-T", "pages=false")
    assert inspect_rates(log) == {"accuracy": 0.5, "hallucination": 0, "missing": 0.5, "score": 0.5, "unjudged": 0}
    assert score_of(log, dataset, tmp_path, split="open")["accuracy"] == 0.5


def test_inspect_runs_the_tasks_of_eval_yaml_as_the_hub_offers_them(
    dataset: Path, model: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one function that asks the Hub is replaced; `datasets` loads the folder as it loads a repository."""
    import huggingface_hub
    from inspect_ai import eval as inspect_run
    from inspect_ai._eval.task.hf import task_create_from_hf

    folder = export(dataset, "inspect", tmp_path / "org" / "science")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRIPTED_BASE_URL", model[0])
    monkeypatch.setenv("SCRIPTED_API_KEY", "none")
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **asked: str(folder / asked["filename"]))
    tasks = task_create_from_hf("hf/org/science")
    assert [task.name for task in tasks] == [
        "hf/org/science/choices_with_pages",
        "hf/org/science/choices_without_pages",
    ]
    (log,) = inspect_run(tasks[0], model="openai-api/scripted/tiny", log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success"
    ours = score_of(Path(log.location), dataset, tmp_path, "--map", "question_id=metadata.id")
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(ours["accuracy"])


def lm_eval(folder: Path, cwd: Path, *options: object, tasks: Sequence[str]) -> Iterator[tuple[dict[str, float], Path]]:
    """Run `lm_eval` and return the results and samples of each task."""
    out = cwd / "out"
    words = ("--include_path", folder, "--tasks", ",".join(tasks), "--log_samples", "--output_path", out, *options)
    run("lm_eval", "run", *words, cwd=cwd, OPENAI_API_KEY="none")
    (results,) = out.glob("*/results_*.json")
    for task in tasks:
        (samples,) = out.glob(f"*/samples_{task}_2*.jsonl")
        found = json.loads(results.read_text(encoding="utf-8"))["results"][task]
        yield {name.removesuffix(",none"): value for name, value in found.items()}, samples


def test_lm_eval_reports_the_rates_of_edu_rag_score(
    dataset: Path, model: tuple[str, list[str]], tmp_path: Path
) -> None:
    folder = export(dataset, "lm-eval", tmp_path / "task")
    server = f"model=tiny,base_url={model[0]}/chat/completions,tokenizer_backend=None"
    words = ("--model", "local-chat-completions", "--model_args", server, "--apply_chat_template")
    ((theirs, samples),) = lm_eval(folder, tmp_path, *words, tasks=["edu_rag_science_test"])
    assert_same(theirs, score_of(samples, dataset, tmp_path))


def test_lm_eval_on_a_tiny_model_reports_the_rates_of_edu_rag_score(dataset: Path, tiny: Path, tmp_path: Path) -> None:
    """Of answers that the model writes, and of choices that are ranked by their likelihood."""
    folder = export(dataset, "lm-eval", tmp_path / "task")
    words = ("--model", "hf", "--model_args", f"pretrained={tiny},dtype=float32", "--device", "cpu")
    tasks = ["edu_rag_science_test", "edu_rag_science_test_likelihood"]
    (written, answers), (ranked, likelihoods) = lm_eval(folder, tmp_path, *words, tasks=tasks)
    assert_same(written, score_of(answers, dataset, tmp_path))
    for pick in ("acc", "acc_norm"):
        assert ranked[pick] == pytest.approx(score_of(likelihoods, dataset, tmp_path, "--pick", pick)["accuracy"])
        assert 0 < ranked[pick] < 1


@pytest.fixture
def ir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "ir"))
    import ir_datasets

    return ir_datasets


def test_ir_datasets_reads_a_beir_folder(dataset: Path, tmp_path: Path, ir: Any) -> None:
    from ir_datasets.datasets import beir
    from ir_datasets.formats import GenericQuery

    folder = export(dataset, "beir", tmp_path / "beir")

    def local(name: str) -> Any:
        return ir.util.LocalDownload(folder / name, mkdir=False)

    documents = beir.BeirDocs("science", local("corpus.jsonl"), beir.BeirTitleUrlDoc)._docs_iter()
    texts = {doc.doc_id: doc.text for doc in documents}
    queries = {
        one.query_id: one.text for one in beir.BeirQueries("", local("queries.jsonl"), GenericQuery).queries_iter()
    }
    judged = list(beir.BeirQrels(local("qrels/test.tsv"), {}).qrels_iter())
    assert len(queries) == 48
    assert len(judged) == 24
    assert {one.query_id for one in judged} <= queries.keys()
    assert all("</DOC>" in text for text in texts.values())
    assert {one.doc_id for one in judged} <= texts.keys()


def test_ir_datasets_reads_a_trec_folder(dataset: Path, tmp_path: Path, ir: Any) -> None:
    from ir_datasets.formats import TrecDocs, TrecQrels, TrecQueries, TsvQueries

    folder = export(dataset, "trec", tmp_path / "trec")

    def local(name: str) -> Any:
        return ir.util.LocalDownload(folder / name, mkdir=False)

    documents = {doc.doc_id: doc for doc in TrecDocs(local("documents.trec"))._docs_iter(folder / "documents.trec")}
    topics = {one.query_id: one for one in TrecQueries(local("topics.trec")).queries_iter()}
    judged = list(TrecQrels(local("qrels.txt"), {}).qrels_iter())
    assert len(topics) == 48
    assert {one.query_id: one.text for one in TsvQueries(local("topics.tsv")).queries_iter()} == {
        question_id: topic.title for question_id, topic in topics.items()
    }
    assert len(judged) == 24
    assert {one.doc_id for one in judged} <= documents.keys()
    assert all("</DOC>" in one.text and "{prompt} {0} & <b>bold</b>" in one.text for one in documents.values())
