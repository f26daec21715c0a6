from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.errors import ConfigError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.check_submission import check_submission
from harness.running.child_system import MAX_BARREN_STARTS
from harness.running.fingerprint import system_sha256
from harness.running.run import Manner, run_submission
from harness.running.task import asking_order
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record, record_path

pytestmark = pytest.mark.usefixtures("sandbox_here")

LOOP = """
import json, os, sys, time
def say(**values):
    sys.stdout.write(json.dumps(values) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    q = json.loads(line)
    n = int(q["text"].split()[2].rstrip("?"))
"""
FAST = Limits(time_s=0.4, start_s=5)


def go(
    folder: Path, dataset: Dataset, *, limits: Limits = FAST, sample: str | None = None, **more: object
) -> dict[str, Prediction]:
    path = run_submission(open_submission(folder), dataset, "test", sample, Manner(limits=limits, **more))  # type: ignore[arg-type]
    assert not path.with_name(path.name + ".partial").exists()
    return read_predictions(path, [q.question_id for q in dataset.questions("test")])


def statuses(predictions: dict[str, Prediction]) -> dict[str, str]:
    return {question_id: p.status for question_id, p in predictions.items() if p.status != "ok"}


def test_a_system_written_with_serve_answers_every_question(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("""
import sys
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    print("a stray print")
    passages = [(page.page_id, *page.sentences[0]) for page in question.pages]
    return SystemAnswer(answer="b", passages=passages, confidence=0.5, input_tokens=len(question.pages))
serve(answer)
""")
    predictions = go(folder, tiny)
    assert statuses(predictions) == {}
    assert list(predictions) == sorted(q.question_id for q in tiny.questions("test"))
    assert {p.input_tokens for p in predictions.values()} == {0, 2}
    assert sum(p.latency_s is None for p in predictions.values()) == 1
    log = folder / "predictions" / "tiny-1.0.0" / "test.log"
    assert "a stray print" in log.read_text()


FAULTS = {
    "crash": "os._exit(3)",
    "timeout": "time.sleep(60)",
    "output_cap": "[sys.stdout.write('x' * 100_000) for _ in range(50)]; continue",
    "protocol": "print('no JSON', flush=True); say(id=q['id'], answer='b'); continue",
}


@pytest.mark.parametrize(("status", "code"), FAULTS.items())
def test_a_fault_costs_its_question_and_no_other(
    write_system: Callable[..., Path], tiny: Dataset, status: str, code: str
) -> None:
    folder = write_system(LOOP + f"    if n in (3, 17): {code}\n    say(id=q['id'], answer='b')\n")
    assert statuses(go(folder, tiny)) == {"q003": status, "q017": status}


BAD_REPLIES = [
    ("say(id='0123456789abcdef', answer='b')", "protocol"),
    ("say(answer='b')", "protocol"),
    ("say(id=q['id'])", "protocol"),
    ("print('[1]', flush=True)", "protocol"),
    ("print('{\"id\": NaN}', flush=True)", "protocol"),
    ("say(id=q['id'], answer=5)", "protocol"),
    ("say(id=q['id'], answer='b', confidence=7)", "protocol"),
    ("say(id=q['id'], answer='b', status='ok')", "protocol"),
    ("say(id=q['id'], answer='b', question_id='q001')", "protocol"),
    ("say(id=q['id'], answer='b', outcome='correct')", "protocol"),
    ("say(id=q['id'], error='out of memory')", "crash"),
    ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()", "protocol"),
    ("say(id=q['id'], answer='b', passages=[['p', 9, 2]])", "protocol"),
]


@pytest.mark.parametrize(("reply", "status"), BAD_REPLIES)
def test_a_reply_that_is_no_answer_fails_its_question_only(
    write_system: Callable[..., Path], tiny: Dataset, reply: str, status: str
) -> None:
    folder = write_system(LOOP + f"    if n == 5: {reply}\n    else: say(id=q['id'], answer='b')\n")
    assert statuses(go(folder, tiny)) == {"q005": status}


def test_an_error_of_null_is_no_error(write_system: Callable[..., Path], tiny: Dataset) -> None:
    predictions = go(write_system(LOOP + "    say(id=q['id'], answer='b', error=None)\n"), tiny)
    assert {(p.answer, p.status) for p in predictions.values()} == {("b", "ok")}


def test_an_answer_to_an_earlier_question_is_never_taken_for_this_one(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    code = LOOP + "    say(id=q['id'], answer='b')\n    say(id=q['id'], answer='a')\n"
    assert {p.answer for p in go(write_system(code), tiny).values()} == {"b"}


def test_a_system_that_never_starts_ends_soon_and_every_question_has_failed(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counter = tmp_path / "starts"
    folder = write_system(f"open({str(counter)!r}, 'a').write('x'); raise SystemExit('no model')")
    log = folder / "predictions" / "tiny-1.0.0" / "test.log"
    with pytest.raises(SubmissionError) as error:
        go(folder, tiny, caps=None)
    assert str(error.value) == (
        f"{folder}: not a single question was answered: the process ended with exit code 1: no model: "
        f"the system's log is {log}"
    )
    predictions = read_predictions(log.with_suffix(".jsonl"), [q.question_id for q in tiny.questions("test")])
    assert set(statuses(predictions).values()) == {"crash"}
    assert len(predictions) == 40
    assert len(counter.read_text()) == MAX_BARREN_STARTS
    assert "no model" in log.read_text()
    assert (
        f"40 of 40: failed 40: not asked {40 - MAX_BARREN_STARTS}, crash {MAX_BARREN_STARTS}" in capsys.readouterr().err
    )


def test_a_system_that_can_no_longer_be_started_is_given_up_as_well(
    write_system: Callable[..., Path], tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_system("""
import json, os, sys
line = json.loads(sys.stdin.readline())
print(json.dumps({"id": line["id"], "answer": "b"}), flush=True)
os.remove("start.sh")
""")
    (folder / "start.sh").write_text(f"#!/bin/sh\nexec {sys.executable} system.py\n")
    (folder / "start.sh").chmod(0o755)
    toml = folder / "submission.toml"
    toml.write_text(toml.read_text().replace('"python", "system.py"', '"./start.sh"'))
    assert list(statuses(go(folder, tiny, caps=None)).values()) == ["crash"] * 39
    assert "the 33 questions left count as failed" in capsys.readouterr().err


def test_a_command_that_does_not_exist_is_a_crash_not_a_traceback(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system("")
    toml = folder / "submission.toml"
    toml.write_text(toml.read_text().replace('"python", "system.py"', '"no-such-program-here"'))
    with pytest.raises(
        SubmissionError, match="not a single question was answered: cannot start 'no-such-program-here'"
    ):
        go(folder, tiny, caps=None)


def test_what_failed_and_the_log_are_told_after_the_counter_line(
    write_system: Callable[..., Path], tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    code = LOOP + "    if n in (3, 17): print('no!', file=sys.stderr, flush=True); os._exit(3)\n"
    folder = write_system(code + "    say(id=q['id'], answer='b')\n")
    go(folder, tiny)
    log = folder / "predictions" / "tiny-1.0.0" / "test.log"
    assert capsys.readouterr().err.splitlines() == [
        "run test-system: 40 of 40: done 38, failed 2: crash 2",
        f"2 failed: `response` in the predictions says why; the system's log is {log}",
    ]


def test_an_empty_log_is_not_named(
    write_system: Callable[..., Path], tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_system(LOOP + "    if n in (3, 17): os._exit(3)\n    say(id=q['id'], answer='b')\n")
    go(folder, tiny)
    assert capsys.readouterr().err.endswith("2 failed: `response` in the predictions says why\n")
    write_system("raise SystemExit(4)")
    with pytest.raises(SubmissionError, match=r"the process ended with exit code 4: [^;]*test.jsonl is unchanged"):
        go(folder, tiny)


def test_a_run_without_an_answer_replaces_no_answers(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("raise SystemExit(1)")
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    failed = path.with_name("test.jsonl.failed")
    for _ in range(2):  # over what failed before, what failed now is written
        with pytest.raises(SubmissionError) as error:
            go(folder, tiny)
        assert "is unchanged" not in str(error.value)
        assert path.is_file()
        assert not failed.exists()
    write_system(LOOP + "    say(id=q['id'], answer='b')\n")
    go(folder, tiny)
    before = path.read_bytes(), record_path(path).read_bytes()
    write_system("raise SystemExit('broken')")
    with pytest.raises(SubmissionError) as error:
        go(folder, tiny)
    assert str(error.value).endswith(f"{path} is unchanged; the failed run is in test.jsonl.failed")
    assert (path.read_bytes(), record_path(path).read_bytes()) == before
    assert failed.read_text().count('"status":"crash"') == 40
    assert open_submission(folder).folder == folder
    assert not check_submission(folder, tiny).faults
    write_system(LOOP + "    say(id=q['id'], answer='a')\n")
    assert {p.answer for p in go(folder, tiny).values()} == {"a"}
    assert not failed.exists()


def test_predictions_that_cannot_be_read_are_not_replaced_by_failures(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system("raise SystemExit(1)")
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("half a li")
    with pytest.raises(SubmissionError, match="is unchanged"):
        go(folder, tiny)
    assert path.read_text() == "half a li"


def test_a_system_that_writes_into_its_own_folder_is_told_with_the_files(
    write_system: Callable[..., Path], tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "open('cache.bin', 'a').write('x'); open('system.py').read()\n" + LOOP
    folder = write_system(code + "    say(id=q['id'], answer='b')\n")
    at_start = system_sha256(folder)
    go(folder, tiny, caps=None)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"{folder}: changed during the run: cache.bin; so this counts as another system now, and no cache or probe "
        "will fit: let it write outside of its folder, such as in that of EDU_RAG_CACHE"
    )
    record = read_run_record(folder / "predictions" / "tiny-1.0.0" / "test.jsonl")
    assert record is not None
    assert record.system_sha256 == at_start != system_sha256(folder)


def test_a_file_that_was_written_with_what_it_held_is_no_change(
    write_system: Callable[..., Path], tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_system("code = open('system.py').read(); open('system.py', 'w').write(code)\n" + LOOP)
    with (folder / "system.py").open("a") as stream:
        stream.write("    say(id=q['id'], answer='b')\n")
    go(folder, tiny, caps=None)
    assert "changed during the run" not in capsys.readouterr().err


def test_only_the_first_answer_of_a_process_that_does_not_come_has_a_hint(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    code = LOOP + "    if n == 7: time.sleep(9)\n    say(id=q['id'], answer='b')\n"
    (late,) = [p.response for p in go(write_system(code), tiny).values() if p.status == "timeout"]
    assert late == "no answer within 0.4 s"
    folder = write_system("import json, sys\nfor line in sys.stdin: print(json.dumps({'id': 1}))")
    with pytest.raises(SubmissionError, match=r"no answer within 0\.1 s \(the first answer .*: is stdout flushed"):
        go(folder, tiny, limits=Limits(time_s=0.1, start_s=0.1))


def test_a_system_that_breaks_on_the_way_is_named_with_reason_and_log(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = tmp_path / "used"
    code = f"import os, sys\nif os.path.exists({str(used)!r}): sys.exit('disk \\x1b[31m full')\n" + LOOP
    folder = write_system(code + f"    open({str(used)!r}, 'w')\n    say(id=q['id'], answer='b'); os._exit(0)\n")
    predictions = go(folder, tiny, caps=None)
    assert len(statuses(predictions)) == 39
    counted, told = capsys.readouterr().err.splitlines()
    assert "done 1, failed 39: not asked " in counted
    log = folder / "predictions" / "tiny-1.0.0" / "test.log"
    assert told.startswith(f"{log}: the system is broken: the process ended with exit code 1: disk ")
    assert told.endswith("questions left count as failed")
    assert "\x1b" not in told


def test_a_variable_to_pass_that_is_not_set_is_one_clear_error(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system(RECORDER)
    with pytest.raises(ConfigError) as error:
        go(folder, tiny, environment={}, passed=("EDU_RAG_LLM_KEY",))
    assert str(error.value) == "--pass-env: not set: EDU_RAG_LLM_KEY: export it, or leave the option out"
    assert not (folder / "predictions").exists()


def test_the_first_answer_may_take_as_long_as_the_start_limit(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system("import time; time.sleep(0.8)\n" + LOOP + "    say(id=q['id'], answer='b')\n")
    assert statuses(go(folder, tiny, limits=Limits(time_s=0.3, start_s=10))) == {}


def test_no_process_of_a_system_survives_the_run(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    code = (
        f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pids)!r}, "a").write(f"{{child.pid}}\\n")
"""
        + LOOP
        + "    if n == 3: time.sleep(60)\n    say(id=q['id'], answer='b')\n"
    )
    go(write_system(code), tiny, caps=None, limits=Limits(time_s=0.3, start_s=10))
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(_alive(pid) for pid in started):
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in started)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_page_larger_than_a_pipe_arrives_whole(
    write_system: Callable[..., Path], build_dataset: Callable[..., Dataset], tmp_path: Path
) -> None:
    question = Question(
        question_id="q0",
        text="what number 0? " + "long " * 200_000,
        choices={"a": "x", "b": "y"},
        kind="multiple_choice",
        split="test",
    )
    dataset = build_dataset(tmp_path / "big", [question], {"q0": "a"})
    folder = write_system(LOOP + "    say(id=q['id'], answer=str(len(q['text'])))\n")
    found = run_submission(open_submission(folder), dataset, "test", None, Manner(limits=FAST))
    assert read_predictions(found, ["q0"])["q0"].answer == str(len(question.text))


def test_a_stray_line_before_a_large_question_is_read_does_not_tear_the_next_one(
    write_system: Callable[..., Path], build_dataset: Callable[..., Dataset], tmp_path: Path
) -> None:
    questions = [
        Question(
            question_id=f"q{i}",
            text=f"what number {i}? " + "long " * 40_000,
            choices={"a": "x", "b": "y"},
            kind="multiple_choice",
            split="test",
        )
        for i in range(4)
    ]
    dataset = build_dataset(tmp_path / "big", questions, {question.question_id: "a" for question in questions})
    folder = write_system("print('loading', flush=True)\n" + LOOP + "    say(id=q['id'], answer='b')\n")
    first = asking_order(questions, 0)[0].question_id
    assert statuses(go(folder, dataset, limits=Limits(time_s=5, start_s=5))) == {first: "protocol"}


RECORDER = """
import json, os, sys
seen = os.path.join(os.path.dirname(os.path.abspath(__file__)), "predictions", "seen.jsonl")
with open(seen, "a") as out:
    out.write(json.dumps({"environment": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd()}) + "\\n")
    for line in sys.stdin:
        out.write(line); out.flush()
        print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""


def _seen(folder: Path) -> tuple[dict[str, object], list[dict[str, object]]]:
    first, *rest = map(json.loads, (folder / "predictions" / "seen.jsonl").read_text().splitlines())
    return first, rest


def test_nothing_sent_to_a_system_tells_gold_split_flags_or_order(
    write_system: Callable[..., Path], tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "SECRET_TOKEN": "s3cret",
        "HF_TOKEN": "s3cret",
        "EDU_RAG_LLM_KEY": "s3cret",
        "AWS_SECRET_ACCESS_KEY": "s3cret",
        "EDU_RAG_MODEL": "tiny-lm",
    }.items():
        monkeypatch.setenv(name, value)
    folder = write_system(RECORDER)
    run_submission(open_submission(folder), tiny, "test", None, Manner(environment=os.environ, caps=None))
    start, sent = _seen(folder)
    assert len(sent) == 40
    for question in sent:
        assert set(question) == {"id", "text", "choices", "kind", "pages"}
        for page in question["pages"]:  # type: ignore[attr-defined]
            assert set(page) == {"page_id", "url", "title", "text", "sentences"}
    everything = (folder / "predictions" / "seen.jsonl").read_text()
    for word in (
        "gold",
        "evidence",
        "split",
        "lesson",
        "meta_choice",
        "question_id",
        "q001",
        "s3cret",
        str(tiny.folder),
        "test-v1",
    ):
        assert word not in everything, word
    assert start["environment"]["EDU_RAG_MODEL"] == "tiny-lm"  # type: ignore[index]
    assert start["argv"] == ["system.py"]
    assert start["cwd"] == str(folder)
    numbers = [int(str(question["text"]).split()[2].rstrip("?")) for question in sent]
    assert numbers != sorted(numbers)
    assert len({question["id"] for question in sent}) == 40


def test_a_key_reaches_a_system_only_when_passed_by_name(
    write_system: Callable[..., Path], tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDU_RAG_LLM_KEY", "s3cret")
    monkeypatch.setenv("EDU_RAG_JUDGE_URL", "http://127.0.0.1:1/v1")
    folder = write_system(RECORDER)
    run_submission(open_submission(folder), tiny, "test", None, Manner(passed=("EDU_RAG_LLM_KEY",), caps=None))
    given = _seen(folder)[0]["environment"]
    assert given["EDU_RAG_LLM_KEY"] == "s3cret"  # type: ignore[index]
    assert "EDU_RAG_JUDGE_URL" not in given  # type: ignore[operator]


def test_shuffling_the_gold_changes_nothing_in_what_is_sent(
    write_system: Callable[..., Path],
    build_dataset: Callable[..., Dataset],
    questions: list[Question],
    gold: dict[str, str],
    tmp_path: Path,
) -> None:
    turned = {q.question_id: list(q.choices)[-1 if gold[q.question_id] == "a" else 0] for q in questions}
    sent = []
    for number, answers in enumerate((gold, turned)):
        dataset = build_dataset(tmp_path / f"data{number}", questions, answers, pages=True)
        folder = write_system(RECORDER, slug=f"recorder-{number}")
        ids = iter(f"{i:016x}" for i in range(1_000))
        manner = Manner(new_id=lambda ids=ids: next(ids), caps=None)
        run_submission(open_submission(folder), dataset, "test", None, manner)
        sent.append(_seen(folder)[1])
    assert gold != turned
    assert sent[0] == sent[1]


def test_ids_are_new_in_every_run(write_system: Callable[..., Path], tiny: Dataset) -> None:
    seen: list[set[object]] = []
    for number in range(2):
        folder = write_system(RECORDER, slug=f"recorder-{number}")
        run_submission(open_submission(folder), tiny, "test", None, Manner(caps=None))
        seen.append({question["id"] for question in _seen(folder)[1]})
    assert not seen[0] & seen[1]


def test_an_echo_of_ids_leaves_the_bytes_of_two_runs_the_same(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system(
        LOOP
        + """
    seen = globals().setdefault("seen", [])
    seen.append(q["id"])
    if n % 5 == 3:
        print("not json, but with", q["id"], "x" * 60, seen[0], flush=True)
    if n % 5 == 4:
        say(id=q["id"], error="failed on " + q["id"])
    else:
        said = "asked as " + q["id"] + " after " + ", ".join(seen)
        say(id=q["id"], answer="b " + q["id"], response=said, passages=[["page-" + q["id"], 0, 1]])
"""
    )
    texts = []
    for _ in range(2):
        path = run_submission(open_submission(folder), tiny, "test", None, Manner(limits=FAST, fresh=True))
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        texts.append([{name: value for name, value in line.items() if name != "latency_s"} for line in lines])
    assert texts[0] == texts[1]
    assert sum("(id)" in (line["response"] or "") for line in texts[0]) > len(texts[0]) / 2
    assert not any(re.search(r"[0-9a-f]{16}", str(line)) for line in texts[0])


def test_the_asking_order_depends_on_ids_alone(questions: list[Question]) -> None:
    assert asking_order(questions, 0) == asking_order(questions[::-1], 0)
    assert asking_order(questions, 0) != asking_order(questions, 1)


COUNTER = (
    LOOP
    + """
    with open("asked.txt", "a") as out: out.write(q["text"] + "\\n")
    if os.path.exists("slow"): time.sleep(0.05)
    say(id=q["id"], answer="b")
"""
)


def test_an_interrupted_run_goes_on_where_it_stopped(
    write_system: Callable[..., Path], tiny: Dataset, tmp_path: Path
) -> None:
    folder = write_system(COUNTER)
    # What the system writes must not look like a change of the system: it writes outside its folder.
    asked = tmp_path / "asked.txt"
    (folder / "system.py").write_text(
        COUNTER.replace('"asked.txt"', repr(str(asked))).replace('os.path.exists("slow")', "True")
    )
    code = f"""
from pathlib import Path
from edu_rag.files.dataset import Dataset
from harness.running.run import Manner, run_submission
from harness.submission.folder import open_submission
dataset = Dataset(Path({str(tiny.folder)!r}))
run_submission(open_submission(Path({str(folder)!r})), dataset, "test", None, Manner(caps=None))
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    running = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not (asked.exists() and len(asked.read_text().splitlines()) >= 8):
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    partial = folder / "predictions" / "tiny-1.0.0" / "test.jsonl.partial"
    kept = len(partial.read_bytes().splitlines()) - 1
    assert 5 <= kept < 40
    with partial.open("ab") as stream:
        stream.write(b'{"question_id": "q0')  # a torn tail
    before = len(asked.read_text().splitlines())
    predictions = go(folder, tiny, caps=None)
    assert len(predictions) == 40
    assert len(asked.read_text().splitlines()) <= before + 40 - kept + 1
    go(folder, tiny, caps=None, fresh=True)
    assert len(asked.read_text().splitlines()) >= 40 + 40


def test_answers_of_another_version_of_the_system_are_not_continued(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system(LOOP + "    say(id=q['id'], answer='b')\n")
    path = go(folder, tiny) and folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    stale = path.with_name("test.jsonl.partial")
    stale.write_text(
        '{"dataset":"tiny@1.0.0#0","split":"test","sample":null,"system_sha256":"0"}\n{"question_id":"q001","answer":"z"}\n'
    )
    assert go(folder, tiny)["q001"].answer == "b"


def test_a_sample_is_run_and_written_under_its_name(write_system: Callable[..., Path], tiny: Dataset) -> None:
    folder = write_system(LOOP + "    say(id=q['id'], answer='b')\n")
    assert len(go(folder, tiny, sample="stratified-8-seed-1")) == 8
    assert (folder / "predictions" / "tiny-1.0.0" / "test-stratified-8-seed-1.jsonl").is_file()


def test_a_run_holds_no_dataset_library_in_memory_and_reads_the_same_task(tiny: Dataset) -> None:
    Dataset(tiny.folder)  # the first opening of a dataset reads its rows, for which it needs the library
    code = f"""
import sys
from pathlib import Path
from edu_rag.files.dataset import Dataset
from harness.running.task import read_task, task_of
dataset = Dataset(Path({str(tiny.folder)!r}))
task = read_task(dataset, "test", "stratified-8-seed-1")
assert "pyarrow" not in sys.modules
assert task == task_of(dataset, "test", "stratified-8-seed-1") == read_task(dataset, "test", "stratified-8-seed-1")
try:
    read_task(dataset, "no-such-split", None)
except Exception as error:
    print(type(error).__name__, "no-such-split" in str(error))
"""
    given = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("DataError True\n", "")
