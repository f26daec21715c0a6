from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.__main__ import root
from edu_rag.errors import DataError, EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import file_sha256
from edu_rag.scorecard.card import ScoreCard
from edu_rag.scorecard.results_folder import read_scorecard
from harness.rescoring.rescore import rescore, rescoring_lines, rescoring_values
from harness.running.fingerprint import system_sha256
from harness.scoring.score import now_utc, score_target
from harness.submission.run_record import ProbeRun
from harness.submission.target import find_target
from harness.trust.rerun_log import (
    FILE_NAME,
    NOBODY,
    OWN_MACHINE,
    Rerun,
    Vouched,
    read_reruns,
    reruns_beside,
    vouched_by,
    write_rerun,
)

WHEN = now_utc({"SOURCE_DATE_EPOCH": "946684800"})
CAPS = {"sandbox": "bubblewrap", "memory_bytes": 1 << 32}
LINE = Rerun(
    slug="stranger",
    dataset="tiny@1.0.0#0123abcd",
    split="test",
    sample=None,
    system_sha256="1" * 64,
    predictions_sha256="2" * 64,
    n=40,
    n_same=39,
    caps=CAPS,
    harness="edu-rag-bench 0.1.0",
    made_at="2026-11-22T08:00:00Z",
    own=False,
)


class Stranger:
    """A submission whose folder holds predictions with latencies, and a run record and probes that claim a lot."""

    def __init__(self, folder: Path, dataset: Dataset, slug: str = "stranger") -> None:
        self.folder, self.dataset, self.slug = folder / "submissions" / slug, dataset, slug
        self.path = self.folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
        self.results = folder / "results"
        self.path.parent.mkdir(parents=True)
        (self.folder / "submission.toml").write_text('name = "S"\nteam = "them"\ncommand = ["python", "s.py"]\n')
        (self.folder / "s.py").write_text("print(1)\n")
        ids = sorted(q.question_id for q in dataset.questions("test"))
        rows = [{"question_id": i, "answer": "a", "latency_s": 0.001} for i in ids]
        self.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.record(self.path)
        probe = self.path.parent / "probes" / "test.no-context.jsonl"
        probe.parent.mkdir()
        probe.write_text(self.path.read_text())
        self.record(probe, probe="no-context", draws="probes-v1")

    def record(self, path: Path, **more: object) -> None:
        values = {
            "dataset": self.dataset.id,
            "split": "test",
            "sample": None,
            "system_sha256": system_sha256(self.folder),
            "harness": "h",
            "limits": {"time_s": 1.0, "start_s": 1.0},
            "predictions_sha256": file_sha256(path),
            "caps": CAPS,
            "n_questions": 40,
            "n_asked": 40,
        }
        path.with_suffix(".run.json").write_text(json.dumps(values | more))

    def line(self, **more: object) -> Rerun:
        known: dict[str, Any] = {
            "slug": self.slug,
            "dataset": self.dataset.id,
            "system_sha256": system_sha256(self.folder),
            "predictions_sha256": file_sha256(self.path),
            **more,
        }
        return replace(LINE, **known)

    def card(self, *lines: Rerun) -> ScoreCard:
        rescore(self.folder.parent, [self.dataset], self.results, scored_at=WHEN, vouched=Vouched(lines))
        return read_scorecard(self.results / "tiny-1.0.0" / "test" / self.slug / "scorecard.json")


@pytest.fixture
def stranger(tmp_path: Path, tiny: Dataset) -> Stranger:
    return Stranger(tmp_path, tiny)


def believed(card: ScoreCard) -> tuple[str, bool, bool, bool]:
    return card.cost["latency_s"]["source"], bool(card.caps), bool(card.probes), bool(card.rerun)


def test_a_stranger_is_believed_nothing_that_lies_beside_predictions(
    stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert believed(stranger.card()) == ("declared", False, False, False)
    assert "1 submission(s) with run records or probes that nobody vouches for" in capsys.readouterr().err


def test_on_ones_own_machine_the_record_and_the_probes_are_believed(stranger: Stranger) -> None:
    target = find_target(stranger.folder, stranger.dataset.manifest, "test", None)
    scored = score_target(stranger.dataset, "test", None, target, scored_at=WHEN)
    assert believed(scored.card) == ("measured", True, True, False)
    assert scored.card.caps == CAPS
    assert scored.trust.doubts == ()


@pytest.mark.parametrize("named", ["0" * 64, ""])
def test_a_record_of_other_predictions_is_told_and_not_believed(stranger: Stranger, named: str) -> None:
    stranger.record(stranger.path, predictions_sha256=named)
    said = CliRunner().invoke(root, ["score", str(stranger.folder), "--dataset", str(stranger.dataset.folder)])
    assert said.exit_code == 0
    assert (
        "test.run.json: belongs to other predictions than those next to it: its latencies count as declared"
        in said.stderr
    )
    assert "its caps as none" in said.stderr
    assert "(declared, 40 answers" in said.stdout


def test_an_own_line_makes_latencies_measured_and_brings_the_caps_of_the_line(stranger: Stranger) -> None:
    stranger.record(stranger.path, caps={"sandbox": "none"})
    card = stranger.card(stranger.line(own=True, n=40, n_same=40))
    assert believed(card) == ("measured", True, False, True)
    assert (card.caps, card.rerun["own"], card.rerun["n"]) == (CAPS, True, 40)


def probe_of(stranger: Stranger, **changes: Any) -> ProbeRun:
    known: dict[str, Any] = {
        "probe": "no-context",
        "dataset": stranger.dataset.id,
        "sample": None,
        "seed": 0,
        "draws": "probes-v1",
        "predictions_sha256": file_sha256(stranger.path.parent / "probes" / "test.no-context.jsonl"),
    }
    return ProbeRun(**(known | changes))


def test_a_probe_that_maintainers_vouch_for_counts_without_a_run_record(stranger: Stranger) -> None:
    for path in stranger.path.parent.rglob("*.run.json"):
        path.unlink()
    card = stranger.card(stranger.line(own=True, n=40, n_same=40, probes=(probe_of(stranger),)))
    assert list(card.probes) == ["no-context"]
    assert card.probes["no-context"]["n"] == 40


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"predictions_sha256": "3" * 64}, "not the file that the maintainers vouch for"),
        ({"sample": "stratified-20-seed-0"}, "not the file that the maintainers vouch for"),
        ({"dataset": "tiny@1.0.0#00000000"}, "made on tiny@1.0.0#00000000 by probes-v1"),
        ({"draws": "probes-v0"}, "by probes-v0"),
    ],
)
def test_a_probe_of_other_bytes_questions_or_rules_is_left_out_and_named(
    stranger: Stranger, changes: dict[str, str], fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    probe = probe_of(stranger, **changes)
    card = stranger.card(stranger.line(own=True, n=40, n_same=40, probes=(probe,)))
    assert card.probes == {}
    (line,) = (line for line in capfd.readouterr().err.splitlines() if ": left out: " in line)
    assert fault in line  # written by the child that reads predictions


def test_an_own_line_takes_the_probes_along_that_belong_to_the_run(stranger: Stranger) -> None:
    log = stranger.folder.parent / FILE_NAME
    words = ["rerun", str(stranger.folder), "--dataset", str(stranger.dataset.folder), "--own", "--reruns", str(log)]
    done = CliRunner().invoke(root, words)
    assert done.exit_code == 0, done.stderr
    (line,) = read_reruns(log)
    assert line.own
    assert line.probes == (probe_of(stranger),)


def test_a_re_run_is_shown_with_its_caps_and_leaves_the_strangers_own_claims_unbelieved(stranger: Stranger) -> None:
    card = stranger.card(stranger.line(latency_s={"median": 2.5}))
    assert believed(card) == ("declared", False, False, True)
    assert card.rerun == {
        "n": 40,
        "n_same": 39,
        "made_at": "2026-11-22T08:00:00Z",
        "caps": CAPS,
        "own": False,
        "latency_s": {"median": 2.5},
    }


def test_other_bytes_or_another_slug_are_not_what_a_line_vouches_for(
    stranger: Stranger, tmp_path: Path, tiny: Dataset
) -> None:
    own = stranger.line(own=True, n=40, n_same=40)
    thief = Stranger(tmp_path, tiny, slug="copied-bytes")
    assert file_sha256(thief.path) == own.predictions_sha256
    assert believed(thief.card(own)) == ("declared", False, False, False)
    stranger.path.write_text(stranger.path.read_text().replace('"a"', '"b"'))
    assert believed(stranger.card(own)) == ("declared", False, False, False)


def test_a_system_that_changed_since_its_re_run_loses_it_and_that_is_told(
    stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    line = stranger.line()
    (stranger.folder / "s.py").write_text("print(2)\n")
    card = stranger.card(line)
    assert card.rerun == {}
    assert card.system_sha256 == system_sha256(stranger.folder) != line.system_sha256
    assert "stranger: its files have changed since it was run again on 2026-11-22" in capsys.readouterr().err


def test_vouching_moves_no_score_and_is_told_as_told_anew(stranger: Stranger) -> None:
    stranger.card()
    vouched = Vouched([stranger.line(own=True, n=40, n_same=40)])
    found = rescore(stranger.folder.parent, [stranger.dataset], stranger.results, scored_at=WHEN, vouched=vouched)
    assert (found.moves, found.n_unchanged) == ((), 0)
    (move,) = found.renewed
    assert move.causes == ("re-run changed", "caps changed", "cost changed")
    lines = list(rescoring_lines(found))
    assert lines[0] == "0 result(s) moved, 1 with the same score written again, 0 unchanged, 0 kept"
    assert "  written again:  caps changed: 1" in lines
    assert rescoring_values(found)["renewed"][0]["system"] == "stranger"
    again = rescore(stranger.folder.parent, [stranger.dataset], stranger.results, scored_at=WHEN, vouched=vouched)
    assert (again.renewed, again.n_unchanged) == ((), 1)


PROBE = {
    "probe": "no-context",
    "dataset": LINE.dataset,
    "sample": None,
    "seed": 0,
    "draws": "probes-v1",
    "predictions_sha256": "4" * 64,
}
FAULTS = [
    ({"more": 1}, "more: unknown field"),
    ({"predictions_sha256": "2" * 63}, "predictions_sha256: is not a SHA-256 in hex"),
    ({"system_sha256": "G" * 64}, "system_sha256: is not a SHA-256 in hex"),
    ({"slug": "../x"}, "slug: '../x' is not 3-40"),
    ({"dataset": "tiny@1.0.0"}, "dataset: 'tiny@1.0.0' is not name@version#hash8"),
    ({"split": "te st"}, "split: 'te st' is not a split's name"),
    ({"sample": "some"}, "sample: 'some' is not stratified-N-seed-S"),
    ({"n": 0, "n_same": 0}, "n_same: 0 of 0 is impossible"),
    ({"n_same": 41}, "n_same: 41 of 40 is impossible"),
    ({"own": True}, "n_same: an own run agrees with itself on every answer"),
    ({"own": 1}, "own: is a whole number, not true or false"),
    ({"probes": [PROBE]}, "probes: a re-run vouches for no probes"),
    ({"own": True, "n_same": 40, "probes": [PROBE | {"predictions_sha256": "x"}]}, "probes: a hash is not a SHA-256"),
    ({"own": True, "n_same": 40, "probes": [PROBE | {"probe": "../x"}]}, "probes: '../x' is no name of a probe"),
    ({"made_at": "yesterday"}, "made_at: 'yesterday' is not"),
    ({"note": "a\u001b[31m"}, "note: is too long or cannot be printed"),
]


def test_runs_that_end_at_once_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard" / FILE_NAME
    lines = [replace(LINE, slug=f"system-{number:02}") for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: write_rerun(path, line), lines))
    assert read_reruns(path) == lines


@pytest.mark.parametrize(("change", "fault"), FAULTS)
def test_a_faulty_line_is_told_with_its_number(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    path = tmp_path / FILE_NAME
    write_rerun(path, LINE)
    values = json.loads(path.read_text())
    path.write_text(path.read_text() + json.dumps(values | {"slug": "other"} | change) + "\n")
    with pytest.raises(EduRagError, match="") as caught:
        read_reruns(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert fault in str(caught.value)


def test_repeated_keys_and_two_lines_on_one_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    write_rerun(path, LINE)
    line = path.read_text()
    path.write_text(line + line)
    with pytest.raises(DataError, match=r":2: stranger: a second line for one predictions file, first on line 1"):
        read_reruns(path)
    path.write_text(line.replace('"n":40', '"n":40,"n":41'))
    with pytest.raises(DataError, match=r":1: n: the key is repeated"):
        vouched_by(path)


@given(st.binary(max_size=200))
def test_no_bytes_bring_the_reader_of_re_runs_to_anything_but_its_own_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        path.write_bytes(data)
        found: list[Rerun] = []
        where = f"{path}:"
        try:
            found = read_reruns(path)
        except DataError as error:
            where = error.where
        assert (found, where.startswith(f"{path}:")) == ([], True)


def test_lines_are_sorted_and_replaced_whatever_the_order_of_writing(tmp_path: Path) -> None:
    lines = [replace(LINE, slug=slug, predictions_sha256=sha * 64) for slug in ("bbb", "aaa") for sha in "32"]
    first, second = tmp_path / "1" / FILE_NAME, tmp_path / "2" / FILE_NAME
    for line in lines:
        write_rerun(first, line)
    for line in reversed(lines):
        write_rerun(second, line)
    assert first.read_bytes() == second.read_bytes()
    assert [(line.slug, line.predictions_sha256[0]) for line in read_reruns(first)] == [
        ("aaa", "2"),
        ("aaa", "3"),
        ("bbb", "2"),
        ("bbb", "3"),
    ]
    write_rerun(first, replace(lines[0], n_same=1))
    assert [line.n_same for line in read_reruns(first)] == [39, 39, 39, 1]


def test_the_file_is_looked_for_beside_the_results_and_nowhere_else(stranger: Stranger, tmp_path: Path) -> None:
    assert reruns_beside(stranger.results) is None
    write_rerun(stranger.folder / FILE_NAME, stranger.line(own=True, n_same=40))
    write_rerun(stranger.folder.parent / FILE_NAME, stranger.line(own=True, n_same=40))
    words = ["score", "--all", str(stranger.folder.parent), "--dataset", str(stranger.dataset.folder)]
    words += ["--out", str(stranger.results)]
    card = stranger.results / "tiny-1.0.0" / "test" / "stranger" / "scorecard.json"
    assert CliRunner().invoke(root, words).exit_code == 0
    assert believed(read_scorecard(card)) == ("declared", False, False, False)
    write_rerun(tmp_path / FILE_NAME, stranger.line(own=True, n_same=40))
    assert CliRunner().invoke(root, words).exit_code == 0
    assert believed(read_scorecard(card)) == ("measured", True, False, True)
    other = tmp_path / "elsewhere.jsonl"
    other.touch()
    assert CliRunner().invoke(root, [*words, "--reruns", str(other)]).exit_code == 0
    assert believed(read_scorecard(card)) == ("declared", False, False, False)
    assert CliRunner().invoke(root, [*words, "--own-machine"]).exit_code == 0
    assert believed(read_scorecard(card)) == ("measured", True, True, False)
    assert CliRunner().invoke(root, [*words, "--own-machine", "--reruns", str(other)]).exit_code == 2


def test_a_full_line_goes_before_a_sample_and_an_own_one_before_both(stranger: Stranger) -> None:
    sample = stranger.line(dataset="tiny@0.9.0#00000000", sample="stratified-12-seed-0", n=12, n_same=12)
    full, own = stranger.line(), stranger.line(dataset="tiny@0.9.1#00000000", own=True, n_same=40)
    sha256, system = full.predictions_sha256, full.system_sha256

    def n(*lines: Rerun) -> tuple[object, ...]:
        rerun = Vouched(lines).trust(stranger.path, "stranger", system, sha256).rerun
        return rerun.get("n"), rerun.get("own")

    assert (n(sample), n(sample, full), n(full, sample)) == ((12, False), (40, False), (40, False))
    assert n(full, own, sample) == (40, True)
    assert NOBODY.trust(stranger.path, "stranger", system, sha256).rerun == {}


def test_predictions_of_no_submission_have_no_system_hash(stranger: Stranger, tmp_path: Path) -> None:
    loose = tmp_path / "loose.jsonl"
    stranger.path.replace(loose)
    target = find_target(loose, stranger.dataset.manifest, "test", None)
    card = score_target(stranger.dataset, "test", None, target, scored_at=WHEN, vouched=OWN_MACHINE).card
    assert (card.system_sha256, card.caps, card.overlap) == ("", {}, "")


def test_a_withdrawn_submission_keeps_its_row_and_says_why(
    stranger: Stranger, write_answers: Callable[..., Path]
) -> None:
    before = stranger.card()
    settings = stranger.folder / "submission.toml"
    settings.write_text(settings.read_text() + 'withdrawn = "we found a fault"\n')
    card = stranger.card()
    assert (card.system.withdrawn, card.counts) == ("we found a fault", before.counts)
    assert card.system_sha256 == before.system_sha256, "the same system: a re-run of it counts on"


def test_only_one_plain_line_that_withdraws_is_left_out_of_a_systems_hash(stranger: Stranger) -> None:
    settings = stranger.folder / "submission.toml"
    before, text = system_sha256(stranger.folder), settings.read_text()
    for line in ('withdrawn = "x"\n', "  withdrawn='x'\r\n", 'withdrawn = "a \\"b\\" c"\n'):
        settings.write_bytes((line + text).encode())
        assert system_sha256(stranger.folder) == before
    others = (
        'withdrawn = "x" # seed 7\n',
        'withdrawn = "x"\nwithdrawn = "y"\n',
        '\nwithdrawn = "x"\n',
        '# withdrawn = "x"\n',
        'withdrawn = """x"""\n',
        "withdrawn = 7\n",
    )
    for line in others:
        settings.write_bytes((line + text).encode())
        assert system_sha256(stranger.folder) != before
    (stranger.folder / "more").mkdir()
    settings.write_text(text)
    (stranger.folder / "more" / "submission.toml").write_text('withdrawn = "x"\n')
    nested = system_sha256(stranger.folder)
    (stranger.folder / "more" / "submission.toml").write_text('withdrawn = "y"\n')
    assert system_sha256(stranger.folder) != nested
