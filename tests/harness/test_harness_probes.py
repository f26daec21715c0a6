from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, DataError, EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of
from edu_rag.scorecard.card import OUTCOMES
from harness.exam import open_exam
from harness.probing.probe_questions import permute
from harness.probing.probe_rates import stability_of, wilson
from harness.probing.run_probes import PROBES, Probing, probe_path, run_probes
from harness.probing.score_probes import probe_lines, probes_of
from harness.rescoring.rescore import rescore
from harness.running.run import Manner, run_submission
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record, record_path
from harness.trust.rerun_log import OWN_MACHINE

pytestmark = pytest.mark.usefixtures("sandbox_here")

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
LIMITS = Limits(time_s=20, start_s=30)
N = 12
WORDS = ("red", "green", "blue", "white")


def _page(i: int, part: int) -> WebPage:
    # The first page of a question tells the colour of its thing; the second is about something else.
    text = f"Some things are odd. Thing {i} is {WORDS[i % 4]}." if part == 0 else f"Nothing is known of {i}. Stop."
    url = f"http://site{i}-{part}.example/"
    first = text.index(". ") + 1
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title="A page",
        text=text,
        fetched_at=WHEN,
        html_sha256="0" * 64,
        sentences=(Span(0, first), Span(first + 1, len(text))),
        extractor="test",
    )


def _question(i: int) -> Question:
    if i == 11:
        return Question(
            question_id="q11", text="Thing 11?", choices={"a": "true", "b": "false"}, kind="true_false", split="test"
        )
    return Question(
        question_id=f"q{i:02}",
        text=f"Thing {i}?",
        choices=dict(zip("abcd", WORDS, strict=True)),
        kind="multiple_choice",
        split="test",
        flags=("meta_choice",) if i == 10 else (),
    )


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Twelve questions with two pages each; the first ten have evidence, and one page leaks another's question."""
    questions = [_question(i) for i in range(N)]
    pages = {(i, part): _page(i, part) for i in range(N) for part in (0, 1)}
    hits = [
        SearchHit(
            question_id=f"q{i:02}",
            page_id=page.page_id,
            url=page.url,
            rank=part + 1,
            engine="test",
            query="q",
            searched_at=WHEN,
            outcome="kept",
        )
        for (i, part), page in pages.items()
    ]
    evidence = [
        Evidence(
            question_id=f"q{i:02}", page_id=pages[i, 0].page_id, start=29, end=len(pages[i, 0].text), method="test-v1"
        )
        for i in range(10)
    ]
    leaks = [Leak(question_id="q01", page_id=pages[5, 0].page_id, start=0, end=5, kind="leak_question")]
    folder = tmp_path_factory.mktemp("colours") / "dataset"
    gold = [Gold(question_id=q.question_id, answer="abcd"[i % 4] if i < 11 else "a") for i, q in enumerate(questions)]
    tables: dict[str, Mapping[str, list[Any]]] = {
        "questions": {"test": questions},
        "gold": {"test": gold},
        "hits": {"test": hits},
        "pages": {"test": list(pages.values())},
        "evidence": {"test": evidence},
        "leaks": {"test": leaks},
    }
    write_dataset(
        folder,
        tables,
        name="colours",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={"leaks": {"leak_question": 1}},
        documents=lambda folder, files: {"README.md": b"# colours\n"},
    )
    return Dataset(folder)


READER = """
import re
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    number = question.text.split()[1].rstrip("?")
    for page in question.pages:
        found = re.search(rf"Thing {number} is (\\\\w+)\\\\.", page.text)
        if found:
            return SystemAnswer(answer=found[1], passages=[(page.page_id, found.start(), found.end())])
    return None
serve(answer)
""".replace("\\\\", "\\")
ALWAYS_A = "from edu_rag.serve import serve\nserve(lambda question: 'a')\n"


def probe(folder: Path, dataset: Dataset, *names: str, **more: Any) -> dict[str, Any]:
    submission, manner = open_submission(folder), Manner(limits=LIMITS, caps=None)
    main = folder / "predictions" / "colours-1.0.0" / "test.jsonl"
    if not main.exists():
        run_submission(submission, dataset, "test", None, manner)
    run_probes(submission, dataset, Probing("test", None, names or tuple(PROBES)), replace(manner, **more))
    return probes_of(main, open_exam(dataset, "test", None))


@pytest.fixture
def reader(write_system: Callable[..., Path]) -> Path:
    return write_system(READER, slug="reader")


@pytest.fixture
def always_a(write_system: Callable[..., Path]) -> Path:
    return write_system(ALWAYS_A, slug="always-a")


def test_a_system_that_reads_rejects_foreign_pages_and_sees_through_noise_and_order(
    reader: Path, colours: Dataset
) -> None:
    found = probe(reader, colours)
    assert list(found) == ["no-context", "evidence-only", "other-pages", "half-noise", "permuted", "repeat"]
    n = {name: values["n"] for name, values in found.items()}
    assert n == {
        "no-context": 12,
        "evidence-only": 10,
        "other-pages": 12,
        "half-noise": 12,
        "permuted": 10,
        "repeat": 12,
    }
    for name in ("no-context", "other-pages"):
        assert found[name]["counts"]["abstained"] == 12
        assert (found[name]["rejection"], found[name]["main_rejection"]) == (1.0, 0.0)
        assert found[name]["score"] == 0.0
    # The main run has all right but the true/false one, which it answers by a colour.
    assert found["no-context"]["main_score"] == pytest.approx(11 / 12)
    assert found["no-context"]["difference"] == pytest.approx(-11 / 12)
    assert found["no-context"]["supported"] == {"n": 10, "score": 0.0, "main_score": 1.0}
    assert found["no-context"]["p"] < 0.01
    assert found["evidence-only"]["score"] == 1.0
    assert found["half-noise"]["supported"] == {"n": 10, "score": 1.0, "main_score": 1.0}
    assert (found["permuted"]["score"], found["permuted"]["consistency"]) == (1.0, 1.0)
    assert found["repeat"]["identical"] == 1.0
    assert (found["repeat"]["n_flips"], found["repeat"]["spread"], found["repeat"]["n_runs"]) == (0, 0.0, 3)
    assert found["repeat"]["scores"] == [pytest.approx(11 / 12)] * 3


def test_a_system_that_goes_by_place_is_found_out(always_a: Path, colours: Dataset) -> None:
    found = probe(always_a, colours, "permuted", "other-pages")
    assert list(found) == ["other-pages", "permuted"]
    permuted = found["permuted"]
    assert permuted["positions"] == {"4": [10, 0, 0, 0]}
    assert permuted["position_p"] < 0.01
    moved = [permute(_question(i), 0) for i in range(10)]
    changed = [one for one in moved if one.changed]
    assert permuted["n_compared"] == len(changed)
    assert permuted["consistency"] == sum(one.original["a"] == "a" for one in changed) / len(changed)
    assert permuted["counts"]["correct"] == sum(one.original["a"] == "abcd"[i % 4] for i, one in enumerate(moved))
    assert found["other-pages"]["rejection"] == 0.0


def test_what_is_cited_of_evidence_alone_is_a_span_of_the_datasets_pages(reader: Path, colours: Dataset) -> None:
    probe(reader, colours, "evidence-only")
    main = reader / "predictions" / "colours-1.0.0" / "test.jsonl"
    said = read_predictions(probe_path(main, "evidence-only"), [f"q{i:02}" for i in range(N)])
    pages = colours.pages("test")
    assert len(said) == 10
    for i in range(10):
        (passage,) = said[f"q{i:02}"].passages
        assert pages[passage.page_id].text[passage.start : passage.end] == f"Thing {i} is {WORDS[i % 4]}."


def test_a_probe_leaves_its_record_and_goes_by_the_rules_of_every_run(reader: Path, colours: Dataset) -> None:
    probe(reader, colours, "other-pages", "repeat", seed=7)
    folder = reader / "predictions" / "colours-1.0.0" / "probes"
    assert sorted(path.name for path in folder.glob("*.jsonl")) == [
        "test.other-pages.jsonl",
        "test.repeat-1.jsonl",
        "test.repeat-2.jsonl",
    ]
    record = read_run_record(folder / "test.repeat-2.jsonl")
    assert record is not None
    assert (record.probe, record.seed, record.n_asked, record.n_cached) == ("repeat-2", 7, 12, 0)
    assert record.limits == LIMITS


class Cached:
    """A cache that holds everything and counts what it is asked."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.n_found = 0

    def get(self, keys: Mapping[str, str]) -> dict[str, Any]:
        found = {i: replace(self.kept[key], question_id=i) for i, key in keys.items() if key in self.kept}
        self.n_found += len(found)
        return found

    def put(self, keys: Mapping[str, str], used: object, new: Any) -> None:
        self.kept |= {keys[prediction.question_id]: prediction for prediction in new}


def test_an_earlier_probe_is_answered_from_the_cache_but_a_repeat_never(reader: Path, colours: Dataset) -> None:
    cache = Cached()
    probe(reader, colours, "no-context", "half-noise", "repeat", cache=cache)
    assert cache.n_found == 0
    probe(reader, colours, "no-context", "half-noise", "repeat", cache=cache)
    assert cache.n_found == 24
    assert len(cache.kept) == 24
    probe(reader, colours, "half-noise", cache=cache, seed=1)
    assert len(cache.kept) > 24


def test_a_repeat_that_is_there_is_kept_until_something_changes_or_all_is_asked_afresh(
    reader: Path, colours: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(reader, colours, "repeat")
    path = reader / "predictions" / "colours-1.0.0" / "probes" / "test.repeat-1.jsonl"
    number = path.stat().st_ino

    def is_kept(**more: Any) -> bool:
        nonlocal number
        before = number
        capsys.readouterr()
        probe(reader, colours, "repeat", **more)
        number = path.stat().st_ino
        told = "probe repeat-1: exists already; --fresh asks it again" in capsys.readouterr().err
        assert told == (number == before)
        return told

    assert is_kept()
    assert not is_kept(seed=1)
    assert is_kept(seed=1)
    assert not is_kept(fresh=True)
    assert not is_kept(limits=Limits(time_s=19, start_s=30))
    path.write_text("")
    assert not is_kept(limits=Limits(time_s=19, start_s=30))


UNSTEADY = """
import os
from edu_rag.serve import serve
n = 0
def answer(question):
    global n
    n += 1
    return None if n == 1 else "a" if n % 2 else "b"
serve(answer)
"""


def test_a_system_that_goes_by_the_order_of_asking_is_not_stable(
    write_system: Callable[..., Path], colours: Dataset
) -> None:
    found = probe(write_system(UNSTEADY, slug="unsteady"), colours, "repeat")["repeat"]
    assert 0 < found["identical"] < 1
    assert found["n_identical"] == round(found["identical"] * 12)
    assert found["n_flips"] > 0
    assert len(found["scores"]) == 3


def test_a_probe_in_which_nothing_is_answered_is_a_result_and_stops_no_other(
    write_system: Callable[..., Path], colours: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    code = READER.replace("    for page", "    question.pages[0]\n    for page")
    found = probe(write_system(code, slug="needs-pages"), colours, "no-context", "half-noise")
    assert found["no-context"]["counts"]["failed"] == 12
    assert found["half-noise"]["counts"]["failed"] == 0
    assert "needs-pages: not a single question was answered: IndexError" in capsys.readouterr().err


def test_a_probe_that_no_question_is_fit_for_is_told_and_left_out(
    always_a: Path, tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    # All questions of this dataset with pages have the same two.
    paths = run_probes(
        open_submission(always_a),
        tiny,
        Probing("test", None, ("other-pages", "no-context")),
        Manner(limits=LIMITS, caps=None),
    )
    assert [path.name for path in paths] == ["test.no-context.jsonl"]
    assert "probe other-pages: no question of this split suits it" in capsys.readouterr().err


def test_an_unknown_probe_or_a_variable_that_is_not_set_is_one_line(always_a: Path, colours: Dataset) -> None:
    submission = open_submission(always_a)
    with pytest.raises(ConfigError, match=r"^--probe: unknown: no_context: known are no-context, evidence-only"):
        run_probes(submission, colours, Probing("test", None, ("no_context",)), Manner())
    with pytest.raises(ConfigError, match="--pass-env: not set: X"):
        run_probes(submission, colours, Probing("test", None, ("repeat",)), Manner(passed=("X",), environment={}))
    assert not (always_a / "predictions").exists()


def test_where_no_probe_was_run_there_is_nothing(always_a: Path, colours: Dataset) -> None:
    path = run_submission(open_submission(always_a), colours, "test", None, Manner(limits=LIMITS, caps=None))
    assert probes_of(path, open_exam(colours, "test", None)) == {}
    assert list(probe_lines({})) == []


def test_scoring_again_with_probes_keeps_every_byte(always_a: Path, colours: Dataset, tmp_path: Path) -> None:
    probe(always_a, colours, "permuted", "other-pages", "half-noise", "repeat")
    results = tmp_path / "results"

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in results.rglob("*.json*")}

    first = rescore(always_a.parent, [colours], results, scored_at=WHEN, vouched=OWN_MACHINE)
    assert [move.causes for move in first.moves] == [("new",)]
    before = files()
    assert json.loads(before["scorecard.json"])["probes"]["permuted"]["consistency_interval"]
    again = rescore(always_a.parent, [colours], results, scored_at=WHEN + timedelta(1), vouched=OWN_MACHINE)
    assert (again.moves, again.n_unchanged, files()) == ((), 1, before)


def test_probes_that_are_not_of_this_run_are_told_and_left_out(
    always_a: Path, colours: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    probe(always_a, colours, "no-context")
    main = always_a / "predictions" / "colours-1.0.0" / "test.jsonl"
    path, exam = probe_path(main, "no-context"), open_exam(colours, "test", None)
    record = record_path(path).read_text()
    values = json.loads(record)
    for change, why in (
        ({"dataset": "colours@1.0.0#00000000", "shown_sha256": "0"}, "made on colours@1.0.0#00000000"),
        ({"draws": ""}, "drawn by no rules, not probes-v1"),
        ({"answering_sha256": "0"}, "made by another version of the system"),
        ({"system_sha256": "0", "answering_sha256": ""}, "made by another version of the system"),
        ({"settings_sha256": "0"}, "made by another version of the system"),
        ({"predictions_sha256": "0"}, "not what its run record says"),
    ):
        record_path(path).write_text(json.dumps(values | change))
        assert probes_of(main, exam) == {}
        told = f"{path.parent}: 1 probe(s) left out: {path.name} ({why}): `edu-rag probe` makes them again\n"
        assert capsys.readouterr().err.endswith(told)
    record_path(path).write_text(json.dumps(values | {"dataset": "colours@1.0.0#00000000"}))  # other labels alone
    assert list(probes_of(main, exam)) == ["no-context"]
    record_path(path).unlink()
    assert probes_of(main, exam) == {}
    assert "(without a run record)" in capsys.readouterr().err
    record_path(path).write_text(record)
    assert list(probes_of(main, exam)) == ["no-context"]
    of_main = record_path(main).read_text()
    record_path(main).unlink()  # as beside predictions that were handed in: nothing says whose probe it is
    assert probes_of(main, exam) == {}
    assert "(next to predictions without a run record)" in capsys.readouterr().err
    record_path(main).write_text(of_main)
    record_path(path).write_text("{}")
    with pytest.raises(DataError, match="no-context"):
        probes_of(main, exam)


def test_all_stale_probes_are_told_in_one_line_and_what_was_made_anew_replaces_them(
    always_a: Path, colours: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--dataset", colours.folder, "--sample", 4, "--probe")
    probes = always_a / "predictions" / "colours-1.0.0" / "probes"
    assert cli("probe", always_a, *small, "no-context", "--probe", "permuted", "--probe", "repeat").exit_code == 0
    (always_a / "system.py").write_text(ALWAYS_A.replace("'a'", "'b'"))
    run_submission(open_submission(always_a), colours, "test", None, Manner(limits=LIMITS, caps=None))
    main, exam = always_a / "predictions" / "colours-1.0.0" / "test.jsonl", open_exam(colours, "test", None)
    capsys.readouterr()
    assert probes_of(main, exam) == {}
    assert capsys.readouterr().err == (
        f"{probes}: 4 probe(s) left out: test-stratified-4-seed-0.no-context.jsonl, "
        "test-stratified-4-seed-0.permuted.jsonl, test-stratified-4-seed-0.repeat-1.jsonl and 1 more "
        "(made by another version of the system): `edu-rag probe` makes them again\n"
    )
    handed_in = probes / "test-stratified-2-seed-0.no-context.jsonl"
    handed_in.write_text("")
    done = cli("probe", always_a, "--dataset", colours.folder, "--probe", "no-context", "--repeats", 1)
    assert "1 stale probe(s) removed, which these replace: test-stratified-4-seed-0.no-context.jsonl\n" in done.stderr
    assert "2 more" not in done.stderr  # the handed-in one is stale and replaced as well: no word of it
    left = {path.name for path in probes.iterdir() if "no-context" in path.name}
    stem = "test.no-context"
    assert left == {handed_in.name, f"{stem}.jsonl", f"{stem}.run.json", f"{stem}.log"}
    assert len(list(probes.glob("*.permuted.jsonl"))) == 1


def test_a_smaller_probe_made_anew_leaves_the_stale_one_of_more_questions(always_a: Path, colours: Dataset) -> None:
    assert cli("probe", always_a, "--dataset", colours.folder, "--probe", "no-context").exit_code == 0
    (always_a / "system.py").write_text(ALWAYS_A.replace("'a'", "'b'"))
    run_submission(open_submission(always_a), colours, "test", None, Manner(limits=LIMITS, caps=None))
    # As a process: the child that reads the probes says this, where no runner of tests can replace stderr.
    words = ["probe", always_a, "--dataset", colours.folder, "--probe", "no-context", "--sample", "4"]
    done = subprocess.run([sys.executable, "-m", "edu_rag", *words], capture_output=True, text=True, check=True)
    assert "removed" not in done.stderr
    assert "1 probe(s) left out: test.no-context.jsonl (made by another version of the system)" in done.stderr
    assert (always_a / "predictions" / "colours-1.0.0" / "probes" / "test.no-context.jsonl").is_file()


def test_only_files_that_are_probes_of_the_split_are_read(always_a: Path, colours: Dataset, tmp_path: Path) -> None:
    probe(always_a, colours, "no-context")
    main = always_a / "predictions" / "colours-1.0.0" / "test.jsonl"
    path = probe_path(main, "no-context")
    for name in ("test.other.jsonl", "test2.no-context.jsonl", "test-x.no-context.jsonl", "test.repeat-x.jsonl"):
        path.with_name(name).write_text("{")
    path.with_name("test.half-noise.jsonl").symlink_to(path)
    path.with_name("test.permuted.jsonl").mkdir()
    assert list(probes_of(main, open_exam(colours, "test", None))) == ["no-context"]


def test_permuted_answers_to_questions_that_may_not_be_permuted_do_not_count(always_a: Path, colours: Dataset) -> None:
    probe(always_a, colours, "permuted")
    main = always_a / "predictions" / "colours-1.0.0" / "test.jsonl"
    path = probe_path(main, "permuted")
    with path.open("a") as stream:
        stream.write('{"question_id":"q10","answer":"a"}\n{"question_id":"q11","answer":"a"}\n')
    from edu_rag.files.manifest import file_sha256

    values = json.loads(record_path(path).read_text()) | {"predictions_sha256": file_sha256(path)}
    record_path(path).write_text(json.dumps(values))
    assert probes_of(main, open_exam(colours, "test", None))["permuted"]["n"] == 10


def test_a_question_without_an_answer_reads_as_failed(always_a: Path, colours: Dataset) -> None:
    probe(always_a, colours, "repeat")
    main = always_a / "predictions" / "colours-1.0.0" / "test.jsonl"
    main.write_text("".join(main.read_text().splitlines(keepends=True)[:-1]))
    found = probes_of(main, open_exam(colours, "test", None))["repeat"]
    assert (found["n"], found["n_identical"], found["n_flips"]) == (12, 11, 1)


def cli(*words: object) -> Result:
    return CliRunner().invoke(root, [str(word) for word in words])


def test_the_command_runs_what_is_missing_prints_the_table_and_score_shows_it_again(
    reader: Path, colours: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "cache"))
    done = cli("probe", reader, "--dataset", colours.folder, "--sample", 8, "--probe", "repeat", "--probe", "permuted")
    assert done.exit_code == 0, done.output
    assert "no predictions yet: running the system first" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["probe", "permuted", "repeat"]
    assert "3 runs read alike on 100.0 % of the questions, 0 change their outcome" in done.stdout
    assert (tmp_path / "cache" / "answers-v1.sqlite").is_file()
    again = cli("score", reader, "--dataset", colours.folder, "--sample", 8)
    assert again.exit_code == 0, again.output
    for line in done.stdout.splitlines():
        assert line in again.stdout.splitlines()
    as_json = cli(
        "probe", reader, "--dataset", colours.folder, "--sample", 8, "--probe", "repeat", "--repeats", 1, "--json"
    )
    values = json.loads(as_json.stdout)
    assert values["repeat"]["sample"] == "stratified-8-seed-0"


def test_probes_of_a_sample_stand_beside_a_run_of_the_whole_split(
    reader: Path, colours: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "cache"))
    for words in (("run",), ("probe", "--sample", 6, "--probe", "no-context")):
        done = cli(words[0], reader, "--dataset", colours.folder, *words[1:])
        assert done.exit_code == 0, done.output
    assert "no predictions yet" not in done.stderr
    main = reader / "predictions" / "colours-1.0.0" / "test.jsonl"
    found = probes_of(main, open_exam(colours, "test", None))
    assert (found["no-context"]["n"], found["no-context"]["sample"]) == (6, "stratified-6-seed-0")
    assert cli("probe", reader, "--dataset", colours.folder, "--probe", "no-context").exit_code == 0
    whole = probes_of(main, open_exam(colours, "test", None))["no-context"]
    assert (whole["n"], whole["sample"]) == (12, None)


def test_probing_what_cannot_be_run_or_has_changed_is_one_line(
    reader: Path, colours: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDU_RAG_CACHE", str(tmp_path / "cache"))
    assert cli("run", reader, "--dataset", colours.folder).exit_code == 0
    code = reader / "system.py"
    code.write_text(code.read_text() + "\n")
    changed = cli("probe", reader, "--dataset", colours.folder)
    assert isinstance(changed.exception, EduRagError)
    assert str(changed.exception).endswith(
        "test.jsonl: was made by another version of this system, or under other settings: "
        "run `edu-rag run` again, then probe"
    )
    toml = reader / "submission.toml"
    toml.write_text("\n".join(line for line in toml.read_text().splitlines() if not line.startswith("command")))
    unable = cli("probe", reader, "--dataset", colours.folder)
    assert isinstance(unable.exception, EduRagError)
    assert str(unable.exception) == f"{reader}: has no command to run: add `command` to submission.toml"
    assert cli("probe", reader, "--dataset", colours.folder, "--probe", "x").exit_code == 2


def test_uneven_places_mean_nothing_where_every_question_keeps_its_choice_in_another_order() -> None:
    row = {
        "n": 1,
        "counts": dict.fromkeys(OUTCOMES, 0),
        "score": 0.0,
        "main_score": 0.0,
        "difference": 0.0,
        "difference_interval": [0.0, 0.0],
        "position_p": 0.0164,
    }
    same = row | {"consistency": 1.0, "consistency_interval": [0.8, 1.0], "n_compared": 20}
    assert list(probe_lines({"permuted": same}))[-1] == (
        "permuted: places chosen evenly? p = 0.0164, but the same choice on 100 % of the questions in another order: "
        "place cannot matter"
    )
    assert list(probe_lines({"permuted": row}))[-1] == "permuted: places chosen evenly? p = 0.0164"


def test_lines_show_counts_changes_and_what_each_probe_says() -> None:
    counts = {"correct": 3, "incorrect": 1, "abstained": 4, "unparseable": 0, "failed": 2}
    row = {
        "n": 10,
        "counts": counts,
        "score": 0.2,
        "main_score": 0.5,
        "difference": -0.3,
        "difference_interval": (-0.6, 0.0),
    }
    lines = list(
        probe_lines(
            {
                "other-pages": row | {"rejection": 0.4, "rejection_interval": (0.2, 0.7), "main_rejection": 0.1},
                "half-noise": row | {"supported": {"n": 4, "score": 0.5, "main_score": -0.25}},
                "permuted": row
                | {
                    "consistency": 0.9,
                    "consistency_interval": (0.6, 1.0),
                    "n_compared": 9,
                    "position_p": 0.0312,
                    "positions": {"4": [1, 2, 3, 4]},
                },
                "repeat": row | {"identical": 0.9, "n_runs": 3, "n_flips": 1, "scores": [0.5, 0.25]},
            }
        )
    )
    assert [" ".join(line.split()) for line in lines] == [
        "probe n score main change (95 % interval) correct incorrect abstained unparseable failed",
        *(
            f"{name} 10 +20.0% +50.0% -30.0 (-60.0 … +0.0) 30.0% 10.0% 40.0% 0.0% 20.0%"
            for name in ("other-pages", "half-noise", "permuted", "repeat")
        ),
        "other-pages: abstained on 40.0 % (20.0 … 70.0), in the main run on 10.0 % of the same",
        "half-noise: on questions with evidence (n = 4) score +50.0 %, in the main run -25.0 %",
        "permuted: the same choice on 90.0 % (60.0 … 100.0) of 9 questions in another order",
        "permuted: of 4 places chosen: a 1, b 2, c 3, d 4",
        "permuted: places chosen evenly? p = 0.0312 (and 90.0 % keep their choice in another order)",
        "repeat: 3 runs read alike on 90.0 % of the questions, 1 change their outcome; scores +50.00 %, +25.00 %",
    ]


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 300), (37, 300), (300, 300), (5, 7)])
def test_intervals_of_shares_are_wilsons(k: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


def test_stability_counts_readings_outcomes_and_scores() -> None:
    readings = [{"q1": "a", "q2": "b", "q3": "failed"}, {"q1": "a", "q2": "c", "q3": "abstained"}]
    assert stability_of(readings, ["cif", "cia"]) == {
        "n_runs": 2,
        "n_identical": 1,
        "identical": 1 / 3,
        "n_flips": 1,
        "scores": [0.0, 0.0],
        "spread": 0.0,
    }
    assert stability_of(readings, ["cci", "cia"])["spread"] == pytest.approx(1 / 3)


def test_a_repeat_in_the_sandbox_is_kept_too_until_its_caps_change(
    always_a: Path, tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    def is_kept(caps: Caps) -> bool:
        manner = Manner(limits=LIMITS, caps=caps)
        run_probes(open_submission(always_a), tiny, Probing("test", None, ("repeat",), 1), manner)
        return "probe repeat-1: exists already" in capsys.readouterr().err

    small = Caps(memory_bytes=512 << 20)
    assert [is_kept(small), is_kept(small), is_kept(replace(small, n_files=99))] == [False, True, False]
