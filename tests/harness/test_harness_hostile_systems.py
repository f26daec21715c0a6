"""Hostile systems: every fault costs its own question, is named, ends in time, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from attack_world import marked_processes
from hostile_systems import HOSTILE, exam, in_order, mistreated, write_hostile

from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import Prediction
from harness.running.run import Manner, run_submission
from harness.running.system_log import LOG_CAP_BYTES
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions

pytestmark = pytest.mark.usefixtures("sandbox_here")
CAPS = Caps(
    memory_bytes=256 << 20, n_processes=40, tmp_bytes=32 << 20, shm_bytes=8 << 20, file_bytes=16 << 20, n_files=64
)
TIMES_S = (0.8, 3.2, 12.8, 51.2)
"""Seconds for an answer: the first of these in which this machine, as busy as it is, answers the honest questions."""
QUICK = [name for name, hostile in HOSTILE.items() if "timeout" not in hostile.statuses]
"""Faults that end before their time: what is told of them must never depend on chance."""
LEFT_OUT = {
    "spins on many threads",
    "sleeps",
    "stops itself",
    "answers byte by byte",
    "answers with an old id",
    "starts threads without end",
    "closes stdout",
    "leaves its session",
    "takes its own rights away",
    "says Infinity",
    "says a number beyond all floats",
    "says no id",
    "says UTF-16",
    "says what only we may say",
    "says wrong types",
    "floods stdout with empty lines",
    "exits with 0",
    "raises",
    "aborts",
    "reads where nothing is",
}
"""Much like another one: bench/sandbox.py runs these too."""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that others can enter, and a temporary folder of its own."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "tmp").mkdir(mode=0o755)
        monkeypatch.setattr(tempfile, "tempdir", f"{folder}/tmp")
        yield Path(folder)


def asked(
    folder: Path, dataset: Dataset, harmed: Collection[int], times_s: Sequence[float] = TIMES_S
) -> list[Prediction]:
    """The predictions in the order of asking; again with more time while a question not in `harmed` is too late."""
    said: list[Prediction] = []
    for time_s in times_s:
        manner = Manner(limits=Limits(time_s=time_s, start_s=120), caps=CAPS, fresh=True)
        path = run_submission(open_submission(folder), dataset, "test", None, manner)
        said = in_order(dataset, read_predictions(path, [q.question_id for q in dataset.questions("test")]))
        if not any(one.status == "timeout" for i, one in enumerate(said) if i not in harmed):
            break
    return said


def said_by(place: Path, dataset: Dataset, faults: Mapping[int, str]) -> list[Prediction]:
    folder = write_hostile(place, faults, place.parent.name)
    # A quick fault that is too late shows a busy machine, as an honest question does.
    slow = [i + HOSTILE[name].shows_later for i, name in faults.items() if name not in QUICK]
    # Where every fault ends before its time, one run with much time is enough, however busy the machine is.
    return asked(folder, dataset, slow, TIMES_S if slow else TIMES_S[-1:])


def vector(said: Sequence[Prediction]) -> list[tuple[str, str | None]]:
    return [(prediction.status, prediction.answer) for prediction in said]


@pytest.mark.parametrize("quick", [True, False])
def test_a_fault_of_any_kind_costs_its_own_question_and_leaves_nothing(place: Path, quick: bool) -> None:
    names = [name for name in HOSTILE if name not in LEFT_OUT and (name in QUICK) == quick]
    faults = {2 * i + 1: name for i, name in enumerate(names)}
    dataset = exam(place / "dataset", 2 * len(faults) + 1)
    said = said_by(place / "hostile", dataset, faults)
    assert mistreated(faults, said) == []
    assert marked_processes(place.name) == []
    assert list((place / "tmp").iterdir()) == []
    (log,) = (place / "hostile" / "predictions" / "tiny-1.0.0").glob("*.log")
    assert log.stat().st_size <= LOG_CAP_BYTES + 65_536


def test_the_verdicts_on_a_hostile_system_are_the_same_each_time(place: Path) -> None:
    faults = {2 * i + 1: name for i, name in enumerate([*QUICK[::4], "answers ahead", "says two lines"])}
    dataset = exam(place / "dataset", 2 * len(faults) + 1)
    vectors = [vector(said_by(place / f"hostile-{i}", dataset, faults)) for i in range(2)]
    assert vectors[0] == vectors[1]


@pytest.mark.parametrize("name", ["floods stdout with lines", "answers ahead", "says no object"])
def test_a_fault_at_the_very_first_question_costs_no_other(place: Path, name: str) -> None:
    dataset = exam(place / "dataset", 4)
    assert mistreated({0: name}, said_by(place / "hostile", dataset, {0: name})) == []


def test_a_banner_at_the_start_costs_one_question_not_the_run(place: Path) -> None:
    dataset = exam(place / "dataset", 6)
    folder = write_hostile(place / "hostile", {}, place.name)
    program = folder / "system.py"
    program.write_text("print('Loading the model ...', flush=True)\n" + program.read_text())
    said = asked(folder, dataset, [0])
    assert [prediction.status for prediction in said] == ["protocol", "ok", "ok", "ok", "ok", "ok"]
