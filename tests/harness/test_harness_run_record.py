from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from edu_rag import __version__
from edu_rag.errors import DataError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from harness.check_submission import check_submission
from harness.comparing.compare import Choice, sides_of
from harness.running.fingerprint import answering_sha256, file_marks, system_sha256
from harness.running.run import Manner, run_submission
from harness.submission.folder import Limits, open_submission
from harness.submission.run_record import RunRecord, is_measured, read_run_record, record_path
from harness.submission.target import find_target

pytestmark = pytest.mark.usefixtures("sandbox_here")

SYSTEM = "from edu_rag.serve import serve\nserve(lambda question: 'b')\n"
LIMITS = Limits(time_s=20, start_s=30)


@pytest.fixture
def twin(build_dataset: Callable[..., Dataset], questions: list[Question], tmp_path: Path) -> Dataset:
    """A dataset of the same name and version as `tiny`, with other content."""
    return build_dataset(tmp_path / "twin", questions, {q.question_id: "a" for q in questions})


@pytest.fixture
def predictions(write_system: Callable[..., Path], tiny: Dataset) -> Path:
    return run_submission(open_submission(write_system(SYSTEM)), tiny, "test", None, Manner(limits=LIMITS))


def test_a_run_says_on_which_dataset_and_how_its_predictions_were_made(predictions: Path, tiny: Dataset) -> None:
    record = json.loads((predictions.parent / "test.run.json").read_text())
    for name in ("system_sha256", "answering_sha256", "settings_sha256", "surroundings_sha256", "shown_sha256"):
        assert len(record.pop(name)) == 64
    assert record.pop("predictions_sha256") == hashlib.sha256(predictions.read_bytes()).hexdigest()
    assert record.pop("wall_s") > 0
    caps = record.pop("caps")
    assert caps["sandbox"] == "bubblewrap"
    assert {"memory_bytes", "n_processes", "memory", "processes", "cpu", "gaps", "user"} <= set(caps)
    assert record == {
        "dataset": tiny.id,
        "split": "test",
        "sample": None,
        "harness": f"edu-rag-bench {__version__}",
        "limits": {"time_s": 20.0, "start_s": 30.0},
        "probe": None,
        "draws": "",
        "seed": 0,
        "n_questions": 40,
        "n_asked": 40,
        "n_resumed": 0,
        "n_cached": 0,
    }


def test_only_the_very_predictions_that_the_harness_made_are_measured(predictions: Path) -> None:
    assert is_measured(predictions)
    predictions.write_bytes(predictions.read_bytes().replace(b'"latency_s":0.', b'"latency_s":1.'))
    assert not is_measured(predictions)
    record_path(predictions).unlink()
    assert not is_measured(predictions)


def test_a_record_of_an_earlier_harness_is_read_and_measures_nothing(predictions: Path) -> None:
    values = json.loads(record_path(predictions).read_text())
    for name in list(values)[6:]:
        del values[name]
    record_path(predictions).write_text(json.dumps(values))
    record = read_run_record(predictions)
    assert record is not None
    assert (record.predictions_sha256, record.wall_s, record.probe) == ("", None, None)
    assert not is_measured(predictions)


def test_predictions_made_on_a_dataset_of_the_same_name_and_version_are_refused(
    predictions: Path, tiny: Dataset, twin: Dataset
) -> None:
    folder = predictions.parents[2]
    said = f"these predictions were made on {tiny.id}, this dataset is {twin.id}: run the system on it"
    for path in (folder, predictions):
        assert find_target(path, tiny.manifest, "test", None).path == predictions
        with pytest.raises(SubmissionError) as error:
            find_target(path, twin.manifest, "test", None)
        assert str(error.value) == f"{predictions}: {said}"
    with pytest.raises(SubmissionError, match="were made on"):
        sides_of([folder], Choice(twin, None, None))
    assert [str(fault) for fault in check_submission(folder, twin).faults] == [f"{predictions}: {said}"]


def test_a_record_that_cannot_be_read_is_named_itself(predictions: Path, tiny: Dataset) -> None:
    record_path(predictions).write_text("[[[", encoding="utf-8")
    faults = check_submission(predictions.parents[2], tiny).faults
    assert [fault.where for fault in faults] == [str(record_path(predictions))]


def test_a_record_is_no_fault_of_a_submission(predictions: Path, tiny: Dataset) -> None:
    for dataset in (None, tiny):
        findings = check_submission(predictions.parents[2], dataset)
        assert findings.faults == []
        assert len(findings.notes) >= 2


def test_predictions_without_a_record_are_scored_as_they_are(predictions: Path, twin: Dataset) -> None:
    record_path(predictions).unlink()
    assert read_run_record(predictions) is None
    assert find_target(predictions, twin.manifest, "test", None).path == predictions


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dataset": 1}', '{"dataset": "x", "dataset": "y"}'])
def test_a_record_that_is_none_is_one_line(predictions: Path, tiny: Dataset, text: str) -> None:
    record_path(predictions).write_text(text)
    with pytest.raises(DataError, match=r"test\.run\.json") as error:
        find_target(predictions, tiny.manifest, "test", None)
    assert "\n" not in str(error.value)


def test_a_link_of_a_submission_counts_by_where_it_leads_and_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "submission", tmp_path / "outside"
    for place in (folder, outside):
        place.mkdir()
    (outside / "file").write_text("one")
    os.mkfifo(outside / "pipe")
    for name, place in (("file", outside / "file"), ("all", outside), ("pipe", outside / "pipe"), ("no", "nowhere")):
        (folder / name).symlink_to(place)
    first = system_sha256(folder)
    assert set(file_marks(folder)) == {"file", "all", "pipe", "no"}
    (outside / "file").write_text("something else")
    (outside / "more").write_text("two")
    assert system_sha256(folder) == first
    (folder / "no").unlink()
    (folder / "no").symlink_to("elsewhere")
    assert system_sha256(folder) != first


SETTINGS = 'name = "x"\nteam = "y"\ncommand = ["python", "system.py"]\n'


@pytest.mark.parametrize(
    ("name", "text", "can_change"),
    [
        ("submission.toml", SETTINGS + 'description = "d"\nmodels = ["m"]\naccounts = ["a"]\n', False),
        ("submission.toml", SETTINGS + "[limits]\ntime_s = 60\n# as it is by default\n", False),
        ("overlap.txt", "q001\n", False),
        ("runs/tiny-1.0.0/test.trec", "q001 Q0 p1 1 1 r\n", False),
        ("runs/system.py", "2", True),
        ("submission.toml", SETTINGS.replace("system.py", "other.py"), True),
        ("submission.toml", SETTINGS + "[limits]\ntime_s = 2\n", True),
        ("submission.toml", SETTINGS + "[parts]\ntop_k = 2\n", True),
        ("submission.toml", SETTINGS + '[environment]\nrequirements = "requirements.txt"\n', True),
        ("submission.toml", SETTINGS + '[network]\nallow = ["api.example.org"]\n', True),
        ("submission.toml", "not TOML", True),
        ("system.py", "2", True),
    ],
)
def test_only_what_can_change_an_answer_makes_predictions_outdated(
    tmp_path: Path, name: str, text: str, can_change: bool
) -> None:
    (tmp_path / "submission.toml").write_text(SETTINGS)
    (tmp_path / "system.py").write_text("1")
    before, own_before = answering_sha256(tmp_path), system_sha256(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert (answering_sha256(tmp_path) != before) is can_change
    assert system_sha256(tmp_path) != own_before, "what vouches for a system names all of its files"


def test_a_record_of_an_older_version_belongs_to_the_same_files() -> None:
    record = RunRecord(
        dataset="tiny@1.0.0#0",
        split="test",
        sample=None,
        system_sha256="1" * 64,
        harness="x",
        limits=LIMITS,
        answering_sha256="2" * 64,
    )
    older = replace(record, answering_sha256="")
    assert older.is_of("1" * 64, "2" * 64)
    assert not older.is_of("0" * 64, "2" * 64)
    assert record.is_of("0" * 64, "2" * 64)
