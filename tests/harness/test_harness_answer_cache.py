from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.card import Passage, Prediction
from harness.running import answer_cache
from harness.running import run as runs
from harness.running.answer_cache import AnswerCache, cache_path, key_of
from harness.running.fingerprint import settings_sha256, surroundings_sha256, system_sha256
from harness.running.run import Manner, run_submission
from harness.running.task import task_of
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions
from harness.submission.run_record import read_run_record

LIMITS = Limits(time_s=20, start_s=30)
N = 40


class Bench:
    """A system that notes what it is asked, and runs of it with one cache."""

    def __init__(self, folder: Path, asked: Path, cache: AnswerCache) -> None:
        self.folder = folder
        self.cache = cache
        self._asked = asked

    def run(self, dataset: Dataset, sample: str | None = None, cache: AnswerCache | None = None, **more: object) -> int:
        """Run; return how many questions were asked."""
        self._asked.write_text("")
        self.path = run_submission(
            open_submission(self.folder),
            dataset,
            "test",
            sample,
            Manner(**{"limits": LIMITS, "caps": None, "cache": cache or self.cache, **more}),  # type: ignore[arg-type]
        )
        return len(self._asked.read_text().splitlines())

    @property
    def n_cached(self) -> int:
        record = read_run_record(self.path)
        assert record is not None
        return record.n_cached


@pytest.fixture
def bench(write_system: Callable[..., Path], tmp_path: Path) -> Bench:
    asked = tmp_path / "asked.txt"
    folder = write_system(f"""
import os
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    with open({str(asked)!r}, "a") as out:
        out.write(question.text + "\\n")
    if question.text.endswith(" 7?"):
        raise ValueError("never answered")
    passages = [(page.page_id, 0, 24) for page in question.pages]
    return SystemAnswer(answer="b", response="a\\u00e9", confidence=0.5, passages=passages, energy_j=1.5)
serve(answer)
""")
    return Bench(folder, asked, AnswerCache(tmp_path / "cache" / "answers.sqlite"))


def test_the_same_system_is_asked_the_same_question_once(bench: Bench, tiny: Dataset) -> None:
    assert bench.run(tiny) == N
    first = bench.path.read_bytes()
    assert bench.n_cached == 0
    # What failed is asked again: the fault may have been the machine's.
    assert bench.run(tiny) == 1
    assert bench.n_cached == N - 1
    assert bench.path.read_bytes() == first
    record = read_run_record(bench.path)
    assert record is not None
    assert (record.n_asked, record.n_questions, record.n_resumed) == (1, N, 0)


def test_how_many_answers_are_used_again_is_told(
    bench: Bench, tiny: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(tiny)
    assert "of earlier runs" not in capsys.readouterr().err
    bench.run(tiny)
    assert "39 answers of earlier runs of this system are used again; --no-cache asks all" in capsys.readouterr().err


def test_a_larger_sample_asks_only_what_is_new(bench: Bench, tiny: Dataset) -> None:
    assert bench.run(tiny, "stratified-8-seed-1") == 8
    small = {line.split(b'"')[3] for line in bench.path.read_bytes().splitlines()}
    n_new = bench.run(tiny, "stratified-20-seed-1")
    large = {line.split(b'"')[3] for line in bench.path.read_bytes().splitlines()}
    assert n_new == len(large - small) + ("q007" in small)
    assert bench.n_cached == 20 - n_new


def test_another_version_of_the_dataset_asks_only_what_changed(
    bench: Bench,
    tiny: Dataset,
    build_dataset: Callable[..., Dataset],
    questions: Sequence[Question],
    tmp_path: Path,
    gold: dict[str, str],
) -> None:
    bench.run(tiny)
    changed = [replace(q, text="Question number 3, or so?") if q.question_id == "q003" else q for q in questions]
    named = [replace(q, lesson="another", flags=()) for q in changed]
    newer = build_dataset(tmp_path / "newer", named, gold, version="1.1.0", pages=True)
    assert bench.run(newer) == 2
    assert bench.n_cached == N - 2


def test_anything_that_may_change_an_answer_asks_all_again(
    bench: Bench, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(tiny)
    assert bench.run(tiny, limits=Limits(time_s=21, start_s=30)) == N
    assert bench.run(tiny, environment={"EDU_RAG_MODEL": "x"}) == N
    assert bench.run(tiny, environment={"EDU_RAG_MODEL": "y"}) == N
    assert bench.run(tiny, environment={"EDU_RAG_MODEL": "y"}) == 1
    code = bench.folder / "system.py"
    code.write_text(code.read_text() + "\n")
    assert bench.run(tiny) == N
    monkeypatch.setattr(runs, "surroundings_sha256", lambda: "another")
    assert bench.run(tiny) == N


def test_fresh_asks_all_and_keeps_the_new_answers(bench: Bench, tiny: Dataset) -> None:
    bench.run(tiny)
    assert bench.run(tiny, fresh=True) == N
    assert bench.n_cached == 0
    assert bench.run(tiny) == 1


def test_without_a_cache_all_is_asked(bench: Bench, tiny: Dataset) -> None:
    bench.run(tiny)
    path = run_submission(open_submission(bench.folder), tiny, "test", None, Manner(limits=LIMITS, caps=None))
    record = read_run_record(path)
    assert record is not None
    assert (record.n_cached, record.n_asked) == (0, N)


def test_an_interrupted_run_keeps_its_answers_in_the_cache_too(bench: Bench, tiny: Dataset) -> None:
    ids = iter(range(10))

    def new_id() -> str:
        number = next(ids, None)
        if number is None:
            raise KeyboardInterrupt
        return f"{number:016x}"

    with pytest.raises(KeyboardInterrupt):
        bench.run(tiny, new_id=new_id)
    partial = bench.folder / "predictions" / "tiny-1.0.0" / "test.jsonl.partial"
    n_ok = partial.read_bytes().count(b'"status":"ok"')
    assert n_ok >= 9
    partial.unlink()
    assert bench.run(tiny) == N - n_ok


def test_what_an_interrupted_run_left_is_not_kept_as_an_answer_of_later_surroundings(
    bench: Bench, tiny: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ids = iter(range(10))

    def new_id() -> str:
        number = next(ids, None)
        if number is None:
            raise KeyboardInterrupt
        return f"{number:016x}"

    with pytest.raises(KeyboardInterrupt):
        bench.run(tiny, cache=AnswerCache(tmp_path / "other.sqlite"), new_id=new_id)
    monkeypatch.setattr(runs, "surroundings_sha256", lambda: "after an upgrade")
    assert bench.run(tiny) == N - 10
    assert bench.run(tiny, "stratified-40-seed-0") > 9


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_broken_cache_costs_its_answers_and_no_run(
    bench: Bench, tiny: Dataset, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.cache.path.parent.mkdir()
    bench.cache.path.write_bytes(content)
    journal = Path(f"{bench.cache.path}-journal")
    journal.write_bytes(content)
    assert bench.run(tiny) == N
    assert not journal.exists()
    assert ("is damaged and is started again" in capsys.readouterr().err) == bool(content)
    assert bench.run(tiny) == 1


def test_a_page_of_the_cache_that_was_overwritten_gives_no_wrong_answer(bench: Bench, tiny: Dataset) -> None:
    bench.run(tiny)
    right = bench.path.read_bytes()
    data = bytearray(bench.cache.path.read_bytes())
    for at in range(2_000, len(data), 997):
        data[at] ^= 0x15
    bench.cache.path.write_bytes(data)
    bench.run(tiny)
    known = [q.question_id for q in tiny.questions("test")]
    assert bench.path.read_bytes().count(b'"answer":"b"') == right.count(b'"answer":"b"')
    assert {p.answer for p in read_predictions(bench.path, known).values()} == {"b", None}


@pytest.mark.parametrize("change", ["signature", "line", "text", "other key"])
def test_an_answer_that_is_not_what_was_kept_is_not_used(tmp_path: Path, change: str) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    prediction = Prediction(question_id="q1", answer="b")
    cache.put({"q1": "k1", "q2": "k2"}, (), [prediction, replace(prediction, question_id="q2")])
    with sqlite3.connect(cache.path) as connection:
        (line,) = connection.execute("select line from answers where key = 'k1'").fetchone()
        (other,) = connection.execute("select line from answers where key = 'k2'").fetchone()
        new = {
            "signature": b"\0" + line[1:],
            "line": line.replace(b'"answer":"b"', b'"answer":"c"'),
            "text": "text, not bytes",
            "other key": other,
        }[change]
        connection.execute("update answers set line = ? where key = 'k1'", (new,))
    connection.close()
    assert list(cache.get({"q1": "k1", "q2": "k2"})) == ["q2"]


def test_a_signed_line_that_is_no_prediction_is_not_used(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    cache.put({"q1": "k1"}, (), [Prediction(question_id="q1", answer="b")])
    with sqlite3.connect(cache.path) as connection:
        for line in (b"", b"[]", b"{}", b"{", b'{"answer": 1}', b'{"answer": "b", "outcome": 1}'):
            connection.execute("update answers set line = ?", (answer_cache._signed("k1", line),))
            connection.commit()
            assert cache.get({"q1": "k1"}) == {}
    connection.close()


def test_an_answer_is_given_back_whole_under_the_id_that_is_asked_for(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    kept = Prediction(
        question_id="q1",
        answer=None,
        response="é\n",
        confidence=0.25,
        passages=(Passage("p", 1, 2),),
        latency_s=0.5,
        input_tokens=1,
        output_tokens=2,
        cost_usd=0.1,
        energy_j=2.5,
    )
    cache.put({"q1": "k1"}, (), [kept])
    assert cache.get({"q9": "k1", "q1": "k2"}) == {"q9": replace(kept, question_id="q9")}


def test_where_nothing_was_said_no_cache_is_made(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    cache.put({"q1": "k1"}, (), [Prediction(question_id="q1", answer=None, status="crash")])
    assert cache.get({"q1": "k1"}) == {}
    assert not cache.path.exists()


def test_an_answer_larger_than_the_cap_is_not_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite", cap_bytes=0)
    cache.put({"q1": "k1"}, (), [Prediction(question_id="q1", answer="b")])
    assert cache.get({"q1": "k1"}) == {}


def test_beyond_its_cap_the_cache_forgets_what_was_not_used_for_longest(tmp_path: Path) -> None:
    line = len(answer_cache._signed("k", answer_cache.to_line(Prediction(question_id="q0", answer="b"))))
    cache = AnswerCache(tmp_path / "answers.sqlite", cap_bytes=10 * line)
    keys = {f"q{i}": f"k{i}" for i in range(10)} | {"qa": "ka"}
    for question_id in list(keys)[:-1]:
        cache.put(keys, (), [Prediction(question_id=question_id, answer="b")])
    assert len(cache.get(keys)) == 10
    cache.put(keys, ["q0"], [])
    cache.put(keys, (), [Prediction(question_id="qa", answer="b")])
    assert list(cache.get(keys)) == ["q0", "q3", "q4", "q5", "q6", "q7", "q8", "q9", "qa"]


def test_a_cache_that_another_process_holds_is_done_without(
    bench: Bench, tiny: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(tiny)
    monkeypatch.setattr(answer_cache, "_WAIT_S", 0.05)
    with sqlite3.connect(bench.cache.path) as holder:
        holder.execute("begin exclusive")
        assert bench.run(tiny) == N
        assert capsys.readouterr().err.count("the cache of answers is not used: database is locked") == 2
    holder.close()
    assert bench.run(tiny) == 1


def test_a_cache_without_a_place_is_done_without(
    bench: Bench, tiny: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert bench.run(tiny, cache=AnswerCache(tmp_path / "file" / "answers.sqlite")) == N
    assert "the cache of answers is not used: " in capsys.readouterr().err


def test_the_cache_lies_where_the_variable_says_or_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_path({"EDU_RAG_CACHE": str(tmp_path)}) == tmp_path / "answers-v1.sqlite"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_path({}) == tmp_path / ".cache" / "edu-rag" / "answers-v1.sqlite"
    monkeypatch.setattr(Path, "home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError())))
    assert cache_path({}) is None


def test_keys_differ_in_system_limits_question_and_pages(tiny: Dataset) -> None:
    task = task_of(tiny, "test", None)
    question, pages = task.questions[1], task.pages["q001"]
    assert len(pages) == 2
    keys = [
        key_of(["s", "t"], LIMITS, question, pages),
        key_of(["st", ""], LIMITS, question, pages),
        key_of(["s", "t"], Limits(time_s=1, start_s=30), question, pages),
        key_of(["s", "t"], LIMITS, question, pages[::-1]),
        key_of(["s", "t"], LIMITS, question, pages[:1]),
        key_of(["s", "t"], LIMITS, replace(question, kind="matching"), pages),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(["s", "t"], LIMITS, replace(question, question_id="x", lesson="y"), pages) == keys[0]


def test_a_system_is_its_files_but_not_its_predictions(tmp_path: Path) -> None:
    (tmp_path / "system.py").write_text("1")
    first = system_sha256(tmp_path)
    for inside in ("predictions/a.jsonl", "__pycache__/x.pyc", "parts/__pycache__/y.pyc"):
        (tmp_path / inside).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / inside).write_text("x")
        assert system_sha256(tmp_path) == first
    (tmp_path / "parts" / "x.py").write_text("2")
    second = system_sha256(tmp_path)
    (tmp_path / "parts" / "x.py").rename(tmp_path / "parts" / "y.py")
    assert len({first, second, system_sha256(tmp_path)}) == 3


def test_settings_are_what_steers_and_never_a_credential() -> None:
    plain = settings_sha256({"PATH": "/bin", "EDU_RAG_CACHE": "/a"})
    assert plain == settings_sha256({})
    assert settings_sha256({"EDU_RAG_MODEL": "x"}) != plain
    assert settings_sha256({"EDU_RAG_MODEL": "x"}) != settings_sha256({"EDU_RAG_MODEL": "y"})
    assert settings_sha256({"OTHER": "x"}, ["OTHER"]) != settings_sha256({"OTHER": "y"}, ["OTHER"])
    assert settings_sha256({"A_KEY": "x"}, ["A_KEY"]) == settings_sha256({"A_KEY": "y"}, ["A_KEY"]) != plain


def test_surroundings_change_with_an_installed_package(tmp_path: Path) -> None:
    bare = surroundings_sha256([str(tmp_path)])
    (tmp_path / "numpy-1.0.dist-info").mkdir()
    one = surroundings_sha256(["", str(tmp_path), str(tmp_path / "none")])
    (tmp_path / "numpy-1.0.dist-info").rename(tmp_path / "numpy-1.1.dist-info")
    assert len({bare, one, surroundings_sha256([str(tmp_path)]), surroundings_sha256()}) == 4
