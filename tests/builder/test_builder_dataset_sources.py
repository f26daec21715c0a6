"""Questions from folders and from the Hub, through `datasets`: only tables of the dataset itself are read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_hub import serving_hub

from builder.question_sets import dataset_sources
from builder.question_sets.dataset_sources import SCIENCE_OF_MMLU, HubQuestions, parse_source
from builder.question_sets.question_files import ReadQuestions, read_question_set
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold

COMMIT = "a" * 40


def parquet(path: Path, rows: list[dict[str, Any]], names: list[str] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if names:
        features = {
            name: {"dtype": "string", "_type": "Value"}
            if name != "choices"
            else [{"dtype": "string", "_type": "Value"}]
            for name in table.column_names
        }
        info = {"info": {"features": features | {"answer": {"names": names, "_type": "ClassLabel"}}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    pq.write_table(table, path)


def card(folder: Path, configs: dict[str, list[str]], prefix: str = "{config}/") -> None:
    """A README as the Hub's datasets have it."""
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: {prefix.format(config=config)}{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")


def arc(question_id: str, answer: str = "A") -> dict[str, Any]:
    choices = {"text": ["ice", "fire"], "label": ["A", "B"]}
    return {"id": question_id, "question": f"What is {question_id}?", "choices": choices, "answerKey": answer}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """ARC as it is on the Hub: two configs, whose test split may be published without answers."""
    root = tmp_path / "ai2_arc"
    for config in ("ARC-Easy", "ARC-Challenge"):
        for split in ("train", "validation"):
            parquet(root / config / f"{split}-00000-of-00001.parquet", [arc(f"{config}-{split}")])
        parquet(root / config / "test-00000-of-00001.parquet", [arc(f"{config}-test", "")])
    card(root, {config: ["train", "validation", "test"] for config in ("ARC-Easy", "ARC-Challenge")})
    return root


def read(source: str, split: str | None = None) -> ReadQuestions:
    return read_question_set([parse_source(source)], split)


def fault(source: str, split: str | None = None) -> str:
    with pytest.raises(EduRagError) as caught:
        read(source, split)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("hf:allenai/sciq", HubQuestions("allenai/sciq")),
        ("hf:allenai/ai2_arc:ARC-Easy", HubQuestions("allenai/ai2_arc", "ARC-Easy")),
        ("hf:a/b@refs/pr/1", HubQuestions("a/b", None, "refs/pr/1")),
        (f"hf:a/b:c.d@{COMMIT}", HubQuestions("a/b", "c.d", COMMIT)),
        ("folder/questions.csv", Path("folder/questions.csv")),
        ("./hf:odd.csv", Path("hf:odd.csv")),
    ],
)
def test_a_source_is_a_path_or_a_dataset_of_the_hub(text: str, source: object) -> None:
    assert parse_source(text) == source
    if isinstance(source, HubQuestions):
        assert str(source) == text


@pytest.mark.parametrize("text", ["hf:", "hf:sciq", "hf:a/b/c", "hf:../../etc", "hf:a/b:c:d", "hf:a/..", "hf:a/b@x y"])
def test_a_hub_source_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(EduRagError, match="names no dataset of the Hub"):
        parse_source(text)


@pytest.mark.slow
def test_a_folder_is_read_by_config_and_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = read(f"{folder}:ARC-Easy")
    assert [(q.question_id, q.split) for q in found.questions] == [
        ("ARC-Easy-train", "train"),
        ("ARC-Easy-validation", "val"),
    ]
    assert "left out, split 'test' is published without answers: 1" in capsys.readouterr().err
    for split in ("val", "validation"):
        (question,) = read(f"{folder}:ARC-Easy", split).questions
        assert (question.question_id, question.split) == ("ARC-Easy-validation", split)
    assert "has no split 'dev': choose --split from train, validation, test" in fault(f"{folder}:ARC-Easy", "dev")
    assert "holds no questions (left out, split 'test' is published without" in fault(f"{folder}:ARC-Easy", "test")
    assert "cannot be loaded: Config name is missing" in fault(str(folder))
    assert "cannot be loaded: BuilderConfig 'ARC-Hard' not found" in fault(f"{folder}:ARC-Hard")


@pytest.mark.slow
def test_rows_without_an_id_get_one_of_config_split_and_row(tmp_path: Path) -> None:
    rows = [{"question": f"What {n}?", "distractor1": "fire", "correct_answer": "ice", "support": ""} for n in range(2)]
    for split in ("train", "test"):
        parquet(tmp_path / "sciq" / f"{split}-00000-of-00001.parquet", rows)
    found = [question.question_id for question in read(str(tmp_path / "sciq")).questions]
    assert found == ["sciq-test-00001", "sciq-test-00002", "sciq-train-00001", "sciq-train-00002"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["https://127.0.0.1:1/x.parquet", "/etc/*", "../*.parquet", "zip://x::https://127.0.0.1/a.zip", "~/x"]
)
def test_a_readme_that_names_files_elsewhere_is_refused_before_anything_is_fetched(folder: Path, path: str) -> None:
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: c\n  data_files: '{path}'\n---\n", encoding="utf-8"
    )
    assert f"its README.md names files elsewhere: {path!r}: remove that line" in fault(f"{folder}:c")


@pytest.mark.slow
def test_a_link_out_of_the_folder_and_files_that_are_no_tables_are_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    parquet(outside, [arc("secret")])
    (folder / "ARC-Easy" / "test-00000-of-00001.parquet").unlink()
    (folder / "ARC-Easy" / "test-00000-of-00001.parquet").symlink_to(outside)
    assert "names a file elsewhere" in fault(f"{folder}:ARC-Easy")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.txt").write_text("What?\n")
    assert "'x.txt' is not a table" in fault(str(other))


def test_without_the_package_the_error_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    remedy = "pip install 'edu-rag-bench[datasets]'"
    assert fault(f"{folder}:ARC-Easy") == f"--questions: the package `datasets` is not installed: {remedy}"


def test_damaged_and_hostile_parquet_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    assert fault(str(path)).startswith(f"{path}: cannot be read as Parquet: ")
    pq.write_table(pa.table({f"c{n}": ["x"] for n in range(1_001)}), path)
    assert fault(str(path)) == f"{path}: has 1,001 columns, at most 1,000 are read: leave some out"
    pq.write_table(pa.Table.from_arrays([pa.array(["x"])] * 2, names=["question", "question"]), path)
    assert fault(str(path)) == f"{path}: two columns have the same name: give each column its own name"


def test_a_small_file_of_long_repeated_values_is_refused_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "q.parquet"
    pq.write_table(pa.table({"question": ["x" * 1_000_000] * 150, "answer": ["y"] * 150}), path)
    assert path.stat().st_size < 1_000_000
    monkeypatch.setattr(dataset_sources, "MAX_CHARACTERS", 100_000_000)
    what = "holds over 2,000,000 rows or 100,000,000 characters"
    assert fault(str(path)) == f"{path}: {what}: choose a split or a config, or split the file"


def edu_rag(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    command = [sys.executable, "-m", "edu_rag", *arguments]
    return subprocess.run(command, env=plain | environment, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_the_hubs_dataset_is_built_with_its_commit_in_the_manifest_and_again_offline(tmp_path: Path) -> None:
    root = tmp_path / "mmlu"
    for config in SCIENCE_OF_MMLU:
        row = {"question": f"What is {config}?", "subject": config, "choices": ["w", "x", "y", "z"], "answer": 2}
        parquet(root / config / "test-00000-of-00001.parquet", [row], ["A", "B", "C", "D"])
    card(root, {config: ["test"] for config in SCIENCE_OF_MMLU})
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    cache = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    with serving_hub() as hub:
        hub.public = True
        hub.commits.append((COMMIT, files))
        out = tmp_path / "out"
        made = edu_rag(
            *("build", "--questions", "hf:cais/mmlu:science", "--engine", "none", "--out", str(out)),
            **cache,
            HF_ENDPOINT=hub.url,
        )
        assert made.returncode == 0, made.stderr
        gone = edu_rag("questions", "stats", "hf:cais/mmlu:alchemy", **cache, HF_ENDPOINT=hub.url)
        assert (gone.returncode, gone.stdout) == (1, "")
        assert gone.stderr.startswith("hf:cais/mmlu:alchemy: cannot be loaded: BuilderConfig 'alchemy' not found")
    dataset = Dataset(out)
    assert dataset.manifest.sources["questions_from"] == [f"hf:cais/mmlu:science@{COMMIT}"]
    assert dataset.manifest.sources["extra_columns"] == ["subject"]
    assert len(dataset.questions("test")) == len(SCIENCE_OF_MMLU)
    assert {gold.answer for gold in dataset.records("gold", "test", Gold)} == {"c"}
    again = edu_rag("questions", "stats", f"hf:cais/mmlu:science@{COMMIT}", "--json", **cache, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["questions"] == len(SCIENCE_OF_MMLU)
