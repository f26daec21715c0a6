"""The model judge against servers of every kind: what goes wrong leaves an answer unjudged, and never wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from edu_rag.errors import ConfigError, DataError
from edu_rag.processes.worker_threads import in_order
from harness.judging.free_text import Grade
from harness.judging.grading import JudgeChain, open_judge
from harness.judging.judge_cache import CachedJudge, key_of
from harness.judging.judge_model import (
    MAX_FAILURES,
    MAX_REPLY_BYTES,
    JudgeSettings,
    ModelJudge,
    read_reply,
    retry_after_s,
    template,
)
from tests.harness.judge_server import Script, cut, dripping, endless, refusal, said, send, serving

CORRECT = said("They say the same.\nVERDICT: CORRECT")


class Slept:
    """Sleeps that take no time."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def answering() -> Iterator[Callable[..., tuple[ModelJudge, Script, Slept]]]:
    """From scripted replies to a judge that asks them, its server and its sleeps."""
    open_: list[Any] = []

    def start(*steps: Any, **settings: Any) -> tuple[ModelJudge, Script, Slept]:
        context = serving(steps)
        script = context.__enter__()
        open_.append(context)
        slept = Slept()
        judge = ModelJudge(JudgeSettings(base_url=script.url, model="m", **settings), sleep=slept, now=lambda: 0.0)
        return judge, script, slept

    yield start
    for context in open_:
        context.__exit__(None, None, None)


def grade(judge: ModelJudge) -> Grade:
    return judge.grade("Capital?", ["Paris"], "Paris it is")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("VERDICT: CORRECT", "correct"),
        ("VERDICT: INCORRECT", "incorrect"),
        ("VERDICT: NOT_ATTEMPTED", "abstained"),
        ("VERDICT: CORRECT\nNo:\nVERDICT: INCORRECT", "incorrect"),
    ],
)
def test_a_verdict_is_an_outcome_with_the_models_name(answering: Any, text: str, outcome: str) -> None:
    judge, _, _ = answering(said(text))
    assert grade(judge) == Grade(outcome, f"model m: {outcome}", "model")  # type: ignore[arg-type]


def test_the_request_is_pinned_and_carries_the_key(answering: Any) -> None:
    judge, script, _ = answering(CORRECT, key="s3cret")
    grade(judge)
    path, body = script.asked[0]
    assert path == "/v1/chat/completions"
    assert {name: body[name] for name in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "m",
        "temperature": 0,
        "seed": 0,
        "max_tokens": 256,
    }
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == template().system
    assert "<answer_to_grade>Paris it is</answer_to_grade>" in body["messages"][1]["content"]
    assert script.headers[0]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(judge.settings) + str(judge.facts())


def test_without_a_key_no_authorization_goes_out_not_even_of_netrc(
    answering: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    judge, script, _ = answering(CORRECT)
    assert grade(judge).outcome == "correct"
    assert "Authorization" not in script.headers[0]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (b"<!doctype html><html>busy</html>", "HTML instead of JSON"),
        (b"  <html>", "HTML instead of JSON"),
        (b"{", "no chat completion"),
        (b"", "no chat completion"),
        (b"null", "no chat completion"),
        (b"[" * 100_000, "no chat completion"),
        (b'{"choices": "x"}', "no chat completion"),
        (b'{"choices": [{}]}', "no chat completion"),
        (b'{"error": {"message": "overloaded"}}', "no chat completion"),
        (b'{"choices": [{"message": {"content": "\xff"}}]}', "no chat completion"),
        (b'{"choices": []}', "without text"),
        (b'{"choices": [{"message": {"content": null}}]}', "without text"),
        (said("VERDICT: CORRECT", "length"), "cut short ('length')"),
        (said("VERDICT: CORRECT", "content_filter"), "cut short ('content_filter')"),
        (said("CORRECT"), "without a verdict line"),
        (said("VERDICT: CORRECT\nVERDICT: both"), "unknown verdict 'both'"),
        (said(""), "without a verdict line"),
    ],
)
def test_a_reply_that_is_none_leaves_the_answer_unjudged(answering: Any, reply: bytes, fault: str) -> None:
    judge, script, slept = answering(reply)
    found = grade(judge)
    assert found.outcome == "unjudged"
    assert found.judge == "model"
    assert fault in found.reason
    assert (len(script.asked), slept.waits) == (1, [])


def test_a_reply_without_a_reason_to_end_counts() -> None:
    assert read_reply(said("x", None)) == ("x", "")


def test_limits_and_server_errors_are_waited_for_as_asked(answering: Any) -> None:
    judge, script, slept = answering(
        refusal(429, Retry_After="7"), refusal(503, Retry_After="Thu, 01 Jan 1970 00:00:09 GMT"), refusal(500), CORRECT
    )
    assert grade(judge).outcome == "correct"
    assert slept.waits == [7.0, 9.0, 8.0]
    assert len(script.asked) == 4


def test_waits_are_bounded_and_so_are_tries(answering: Any) -> None:
    judge, script, slept = answering(refusal(429, Retry_After="86400"), max_wait_s=11.0)
    found = grade(judge)
    assert found == Grade("unjudged", "the judge gave no reply: HTTP status 429", "model")
    assert (len(script.asked), slept.waits) == (4, [11.0, 11.0, 11.0])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301])
def test_what_will_not_pass_is_not_asked_again(answering: Any, status: int) -> None:
    judge, script, _ = answering(refusal(status, Location="http://127.0.0.1:1/"))
    assert grade(judge).reason == f"the judge gave no reply: HTTP status {status}"
    assert len(script.asked) == 1


def test_a_server_that_fails_every_time_is_given_up_and_says_why(answering: Any) -> None:
    judge, script, _ = answering(refusal(401))
    reasons = [grade(judge).reason for _ in range(MAX_FAILURES + 2)]
    assert len(script.asked) == MAX_FAILURES
    assert reasons[-1] == "the judge was given up after 3 failures: HTTP status 401"


def test_failures_apart_from_one_another_give_nothing_up(answering: Any) -> None:
    judge, _, _ = answering(refusal(401), refusal(401), CORRECT, refusal(401), refusal(401), CORRECT)
    assert [grade(judge).outcome for _ in range(6)] == ["unjudged", "unjudged", "correct"] * 2


def test_requests_in_flight_at_a_failure_are_part_of_it(answering: Any) -> None:
    together = threading.Barrier(4)

    def all_at_once(handler: Any) -> None:
        together.wait(60)
        send(handler, 401, b"{}")

    judge, _, _ = answering(all_at_once)
    faults = list(in_order(lambda _: grade(judge).reason, range(4), 4))
    assert faults == ["the judge gave no reply: HTTP status 401"] * 4
    assert judge.given_up == ""


def test_a_late_reply_does_not_take_back_that_a_server_was_given_up(answering: Any) -> None:
    may_end = threading.Event()

    def late(handler: Any) -> None:
        may_end.wait(60)
        send(handler, 200, CORRECT)

    judge, script, _ = answering(late, refusal(401))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(grade, judge)
        while not script.asked:
            time.sleep(0.01)
        for _ in range(MAX_FAILURES):
            grade(judge)
        may_end.set()
        assert first.result().outcome == "correct"
    assert judge.given_up.startswith("was given up after 3 failures")


def test_refused_texts_do_not_give_up_a_server_that_works(answering: Any) -> None:
    judge, _, _ = answering(refusal(400), refusal(413), refusal(422), refusal(400), CORRECT)
    assert [grade(judge).outcome for _ in range(5)] == ["unjudged"] * 4 + ["correct"]
    assert judge.given_up == ""


def test_a_reply_cut_off_is_asked_again_and_then_unjudged(answering: Any) -> None:
    judge, script, _ = answering(cut, tries=2)
    assert grade(judge).outcome == "unjudged"
    assert len(script.asked) == 2


def test_a_dripping_reply_is_left_at_the_time_limit(answering: Any) -> None:
    judge, script, _ = answering(dripping(0.05), timeout_s=0.3, tries=1)
    found = grade(judge)
    assert found.reason == "the judge gave no reply: a reply that took over 0.3 s"
    assert len(script.asked) == 1


def test_an_endless_reply_is_left_at_the_size_limit(answering: Any) -> None:
    judge, script, slept = answering(endless)
    found = grade(judge)
    assert found.reason == f"the judge gave no reply: a reply of over {MAX_REPLY_BYTES:,} bytes"
    assert (len(script.asked), slept.waits) == (1, [])


def test_a_server_that_is_not_there_leaves_the_answer_unjudged() -> None:
    settings = JudgeSettings(base_url="http://127.0.0.1:9/v1", model="m", tries=2)
    slept = Slept()
    found = ModelJudge(settings, sleep=slept).grade("q", ["x"], "y")
    assert (found.outcome, found.reason) == ("unjudged", "the judge gave no reply: ConnectionError")
    assert slept.waits == [2.0]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("9" * 5000, 999_999_999.0),
        ("-1", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Wed, 31 Dec 1969 00:00:00 GMT", 0.0),
        ("\u0661", None),
        ("Mon, 99 Foo 2020 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, 0.0) == seconds


@pytest.mark.parametrize(
    ("environment", "where"),
    [
        ({}, "EDU_RAG_JUDGE_MODEL"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_URL": "ftp://x"}, "EDU_RAG_JUDGE_URL"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_URL": "http://"}, "EDU_RAG_JUDGE_URL"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_URL": "http://[x"}, "EDU_RAG_JUDGE_URL"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_URL": "http://u:p@x/v1"}, "EDU_RAG_JUDGE_URL"),
        (
            {"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_URL": "http://far.example/v1", "EDU_RAG_JUDGE_KEY": "k"},
            "EDU_RAG_JUDGE_URL",
        ),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_TIMEOUT_S": "x"}, "EDU_RAG_JUDGE_TIMEOUT_S"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_TIMEOUT_S": "0"}, "EDU_RAG_JUDGE_TIMEOUT_S"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_TIMEOUT_S": "3601"}, "EDU_RAG_JUDGE_TIMEOUT_S"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_MAX_TOKENS": "-1"}, "EDU_RAG_JUDGE_MAX_TOKENS"),
        ({"EDU_RAG_JUDGE_MODEL": "m", "EDU_RAG_JUDGE_MAX_TOKENS": "9" * 5000}, "EDU_RAG_JUDGE_MAX_TOKENS"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(environment: dict[str, str], where: str) -> None:
    with pytest.raises(ConfigError) as error:
        JudgeSettings.from_environment(environment)
    assert error.value.where == where


def test_settings_come_from_the_environment() -> None:
    said_ = {"URL": "https://x.example/v1", "MODEL": "m", "KEY": "k", "TIMEOUT_S": "5", "MAX_TOKENS": "4096"}
    settings = JudgeSettings.from_environment({f"EDU_RAG_JUDGE_{name}": value for name, value in said_.items()})
    assert (settings.base_url, settings.model, settings.key, settings.timeout_s) == (
        "https://x.example/v1",
        "m",
        "k",
        5,
    )
    assert settings.max_tokens == 4096
    assert JudgeSettings.from_environment({"EDU_RAG_JUDGE_MODEL": "m"}).max_tokens == 256


def test_a_judge_without_an_address_asks_for_one_when_it_must_ask() -> None:
    judge = ModelJudge(JudgeSettings.from_environment({"EDU_RAG_JUDGE_MODEL": "m"}))
    assert judge.facts()["model"] == "m"
    with pytest.raises(ConfigError, match="EDU_RAG_JUDGE_URL"):
        judge.grade("q", ["x"], "y")


def test_facts_pin_model_and_prompt_and_say_nothing_of_the_server(answering: Any) -> None:
    judge, script, _ = answering(CORRECT)
    form = template()
    assert judge.facts() == {
        "judge": "model",
        "name": f"m (judge-v1#{form.sha256[:8]})",
        "model": "m",
        "prompt": "judge-v1",
        "prompt_sha256": form.sha256,
        "temperature": 0,
        "seed": 0,
        "max_tokens": 256,
    }
    assert script.url not in str(judge.facts())


def test_a_grade_is_paid_for_once_and_is_there_without_a_server(answering: Any, tmp_path: Path) -> None:
    path = tmp_path / "sub" / "grades.jsonl"
    judge, script, _ = answering(CORRECT)
    first = grade(CachedJudge(judge, path))  # type: ignore[arg-type]
    offline = ModelJudge(JudgeSettings(base_url="", model="m"))
    assert grade(CachedJudge(offline, path)) == first  # type: ignore[arg-type]
    assert len(script.asked) == 1
    assert path.read_bytes().count(b"\n") == 1


def test_what_is_unjudged_is_asked_for_again(answering: Any, tmp_path: Path) -> None:
    judge, script, _ = answering(said("hm"), CORRECT)
    cached = CachedJudge(judge, tmp_path / "grades.jsonl")
    assert [grade(cached).outcome for _ in range(3)] == ["unjudged", "correct", "correct"]  # type: ignore[arg-type]
    assert len(script.asked) == 2


def test_a_grade_counts_for_its_very_question_gold_answer_and_judge() -> None:
    facts = {"judge": "model", "model": "m", "prompt_sha256": "0"}
    keys = {
        key_of("q", ["g"], "a", facts),
        key_of("Q", ["g"], "a", facts),
        key_of("q", ["g", "h"], "a", facts),
        key_of("q", ["h", "g"], "a", facts),
        key_of("q", ["g"], "b", facts),
        key_of("q", ["g"], "a", facts | {"model": "n"}),
        key_of("q", ["g"], "a", facts | {"prompt_sha256": "1"}),
    }
    assert len(keys) == 7
    assert key_of("q", ["g"], "a", dict(reversed(facts.items()))) in keys


def test_a_torn_last_line_is_dropped_and_a_bad_one_refused(answering: Any, tmp_path: Path) -> None:
    path = tmp_path / "grades.jsonl"
    judge, script, _ = answering(CORRECT)
    grade(CachedJudge(judge, path))  # type: ignore[arg-type]
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert grade(CachedJudge(judge, path)).outcome == "correct"  # type: ignore[arg-type]
    assert path.read_bytes() == whole
    assert len(script.asked) == 1
    for bad, fault in (
        (b"{}\n", "missing required field"),
        (b'["x"]\n', "is not a judgement"),
        (b"\n", "is not a judgement"),
        (whole.replace(b'"correct"', b'"perfect"'), "unknown outcome 'perfect'"),
    ):
        path.write_bytes(whole + bad)
        with pytest.raises(DataError, match=rf"grades.jsonl:2: .*{fault}"):
            CachedJudge(judge, path)


@pytest.mark.parametrize("text", ["first line\nsecond without end", "no end at all", '{"some": "json"}'])
def test_a_file_of_somebody_elses_is_refused_and_stays_whole(answering: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "precious.txt"
    path.write_text(text)
    judge, _, _ = answering(CORRECT)
    with pytest.raises(DataError, match="is not a file of judgements"):
        CachedJudge(judge, path)
    assert path.read_text() == text


def test_a_judgement_that_shows_another_answer_than_its_key_is_not_believed(answering: Any, tmp_path: Path) -> None:
    path = tmp_path / "grades.jsonl"
    judge, script, _ = answering(CORRECT, said("VERDICT: INCORRECT"))
    grade(CachedJudge(judge, path))  # type: ignore[arg-type]
    row = json.loads(path.read_bytes())
    path.write_text(json.dumps(row | {"answer": "what a reviewer of the file would call right"}) + "\n")
    assert grade(CachedJudge(judge, path)).outcome == "incorrect"  # type: ignore[arg-type]
    assert len(script.asked) == 2


def test_a_chain_asks_the_model_only_what_rules_leave(answering: Any) -> None:
    judge, script, _ = answering(CORRECT)
    from harness.judging.free_text import Rules

    chain = JudgeChain([Rules(), judge])
    assert [chain.grade("q", ["Paris"], text).judge for text in ("Paris", "idk", "Paris, France")] == [
        "rules",
        "rules",
        "model",
    ]
    assert len(script.asked) == 1
    assert chain.facts()["name"] == judge.facts()["name"]
    assert [facts["judge"] for facts in chain.facts()["chain"]] == ["rules", "model"]


def test_judges_open_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_judge("rules").facts() == {"chain": [{"judge": "rules", "rule": "free-text-v2"}]}
    monkeypatch.setenv("EDU_RAG_JUDGE_MODEL", "m")
    for name in ("model", "rules,model", " model , model"):
        assert [facts["judge"] for facts in open_judge(name).facts()["chain"]] == ["rules", "model"]
    assert [facts["judge"] for facts in open_judge("model", rules_first=False).facts()["chain"]] == ["model"]
    assert open_judge("rules", rules_first=False).grade("q", ["x"], "x").reason == "no judge was asked"
    with pytest.raises(ConfigError, match="unknown judge 'gpt': known are rules, model"):
        open_judge("rules,gpt")
