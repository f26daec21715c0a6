"""`edu-rag judge claims` against a loopback server: what it asks, what it counts, and how it goes on after a stop."""

from __future__ import annotations

import fcntl
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edu_rag.errors import DataError, EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question, Span, WebPage, page_id_of
from harness.commands.claims_command import claims as claims_command
from harness.judging.claims.claim_prompts import STEPS
from harness.judging.claims.claims_judge import KeptReplies
from harness.judging.claims.claims_report import audit_mark
from harness.judging.judge_model import template
from tests.harness.conftest import WHEN
from tests.harness.judge_server import Script, refusal, said, send, serving

TEXT = "Cells divide by mitosis. Ice floats on water."
URL = "http://site.example/page"
PAGE = page_id_of(URL)
MITOSIS, ICE = [PAGE, 0, 24], [PAGE, 25, 45]
ANSWERS: dict[str, dict[str, Any]] = {
    "q0": {"answer": "By mitosis. In June.", "passages": [ICE, MITOSIS]},
    "q1": {"answer": "I don't know", "passages": [ICE]},
    "q2": {"answer": "ice"},
}
"""q3 has no line."""
REPLIES: dict[str, Any] = {
    "claims": lambda text: {"claims": [part.strip() + "." for part in text.split(".") if part.strip()]},
    "support": lambda text: {"verdicts": [int("mitosis" in part) for part in text.split("> <")]},
    "relevant": lambda text: {"verdict": int("mitosis" in text)},
    "asked": lambda text: {"questions": ["How do cells divide?", "When?", "How?"], "noncommittal": 0},
    "nuggets": lambda text: {"nuggets": [{"text": "mitosis", "importance": "vital"}]},
    "assigned": lambda text: {"assignments": ["partial_support"]},
    "correctness-1": lambda text: {"score": 2},
    "correctness-2": lambda text: {"score": 3},
    "correctness-3": lambda text: {"score": 4},
}
"""A judge that looks for one word; each reads the part of the prompt between its tags."""
TAGS = {"claims": "answer", "support": "claims", "relevant": "passage"}


def step_of(asked: dict[str, Any]) -> str:
    system = asked["messages"][0]["content"]
    return next(step for step, version in STEPS.items() if template(version).system == system)


def answering(**others: Any) -> Callable[[Any], None]:
    """A step of the server that replies as the judge above does; `others` are steps that go wrong."""

    def respond(handler: Any) -> None:
        path, asked = handler.asked
        if path.endswith("/embeddings"):
            vectors = [[1.0, 0.0], [0.6, 0.8], [1.0, 0.0], [0.8, 0.6]][: len(asked["input"])]
            body = json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]}).encode()
        else:
            step, user = step_of(asked), asked["messages"][1]["content"]
            tag = TAGS.get(step, "question")
            between = user.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
            found = others.get(step.replace("-", "_"), REPLIES[step](between))
            if callable(found):
                found(handler)
                return
            body = found if isinstance(found, bytes) else said(json.dumps(found))
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return respond


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("claims") / "dataset"
    ask = {"choices": {}, "kind": "free_text", "split": "test"}
    questions = [Question(question_id=f"q{i}", text=f"How do cells divide, {i}?", **ask) for i in range(3)]  # type: ignore[arg-type]
    choices = {"a": "ice", "b": "iron"}
    questions.append(
        Question(question_id="q3", text="What floats?", choices=choices, kind="multiple_choice", split="test")
    )
    golds = [Gold(question_id=f"q{i}", texts=("By mitosis.", "Mitosis")) for i in range(3)]
    golds.append(Gold(question_id="q3", answer="a"))
    page = WebPage(
        page_id=PAGE,
        url=URL,
        title="Page",
        text=TEXT,
        sentences=(Span(0, 24), Span(25, 45)),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor="test",
    )
    write_dataset(
        folder,
        {"questions": {"test": questions}, "gold": {"test": golds}, "pages": {"test": [page]}},
        name="tiny",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# tiny\n"},
    )
    return Dataset(folder)


class Desk:
    """The command on one dataset and one predictions file."""

    def __init__(self, dataset: Dataset, folder: Path) -> None:
        self.folder, self.dataset = folder, dataset
        self.path = folder / "mine.jsonl"
        self.path.write_text("".join(json.dumps({"question_id": q} | line) + "\n" for q, line in ANSWERS.items()))

    def call(self, *words: str) -> Result:
        return CliRunner().invoke(claims_command, [str(self.path), "--dataset", str(self.dataset.folder), *words])

    def report(self, *words: str) -> dict[str, Any]:
        result = self.call("--json", *words)
        assert result.exception is None, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found | {"by": {row["metric"]: row for row in found["metrics"]}}


@pytest.fixture
def desk(dataset: Dataset, tmp_path: Path) -> Desk:
    return Desk(dataset, tmp_path)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Script]]:
    """From replies that go wrong, by step, to a server that is the judge of the environment."""
    open_: list[Any] = []

    def start(**others: Any) -> Script:
        context = serving([answering(**others)])
        script = context.__enter__()
        open_.append(context)
        monkeypatch.setenv("EDU_RAG_JUDGE_URL", script.url)
        monkeypatch.setenv("EDU_RAG_JUDGE_MODEL", "m")
        monkeypatch.setenv("EDU_RAG_JUDGE_EMBEDDINGS", "e")
        return script

    yield start
    for context in open_:
        context.__exit__(None, None, None)


def test_every_question_counts_in_every_metric_with_numerator_denominator_and_interval(desk: Desk, judge: Any) -> None:
    judge()
    ragas = "faithfulness,answer_relevancy,context_precision,context_recall"
    others = "claim_precision,claim_recall,retrieved_recall,retrieved_precision,nuggets,correctness-3"
    found = desk.report("--metrics", f"{ragas},{others}")
    assert found["statuses"] == {"answered": 2, "abstained": 1, "failed": 1}
    rows = {
        name: (row["mean"], row["numerator"], row["denominator"], row["n_no_value"], row["n_unjudged"])
        for name, row in found["by"].items()
    }
    # q0 has two claims of which one speaks of mitosis; q1 abstains; q2 says "ice" without passages; q3 has no line.
    assert rows["faithfulness"] == (0.25, 0.5, 2, 2, 0)
    assert rows["claim_precision"] == (0.25, 0.5, 2, 2, 0)
    assert rows["claim_recall"] == (0.5, 2.0, 4, 0, 0)
    assert rows["answer_relevancy"] == (0.4, 1.6, 4, 0, 0)
    assert rows["context_precision"] == (0.25, 0.5, 2, 2, 0)
    assert rows["context_recall"] == (0.5, 2.0, 4, 0, 0)
    assert rows["retrieved_recall"] == (0.5, 2.0, 4, 0, 0)
    assert rows["retrieved_precision"] == (1.0, 2.0, 2, 2, 0)
    assert rows["nuggets_vital"] == (0.25, 1.0, 4, 0, 0)
    assert rows["nuggets_strict_vital"] == (0.0, 0.0, 4, 0, 0)
    assert rows["correctness_3"] == (2.5, 10.0, 4, 0, 0)
    assert rows["correct_3"] == (0.5, 2.0, 4, 0, 0)
    assert found["by"]["claim_recall"]["interval"] == [0.0, 1.0]
    assert found["by"]["faithfulness"]["interval"] == [0.0, 0.5]
    assert found["judge"]["name"].startswith("m (claims#")
    assert set(found["judge"]["prompts"]) >= {"claims-v1", "correctness-3-v1"}


@pytest.mark.parametrize(
    ("step", "fault", "why"),
    [
        ("support", {"verdicts": [1, 1, 1, 1, 1, 1]}, "the judge gave 6 verdicts for"),
        ("support", said('{"verdicts": [1', "length"), "cut short"),
        ("support", {"claims": []}, "an object without 'verdicts'"),
        ("support", said("They are all fine!"), "does not end with a JSON object"),
        ("support", refusal(401), "the judge gave no reply: HTTP status 401"),
        ("claims", {"claims": "no"}, "claims that are not a list"),
    ],
)
def test_what_the_judge_fails_on_is_counted_and_never_a_verdict(
    desk: Desk, judge: Any, step: str, fault: Any, why: str
) -> None:
    judge(**{step: fault})
    row = desk.report("--metrics", "claim_precision")["by"]["claim_precision"]
    assert (row["mean"], row["denominator"], row["n_no_value"], row["n_unjudged"]) == (None, 0, 2, 2)
    assert (row["lowest_mean"], row["highest_mean"], row["interval"]) == (0.0, 1.0, None)
    assert sum(row["reasons"].values()) == 2
    assert why in " ".join(row["reasons"])


def test_workers_judge_answers_at_the_same_time_and_the_report_is_the_same(desk: Desk, judge: Any) -> None:
    together = threading.Barrier(2)

    def both(handler: Any) -> None:
        together.wait(60)  # passes only while two answers are judged at once
        send(handler, 200, said(json.dumps(REPLIES["correctness-3"](""))))

    words = ("--metrics", "correctness-3,claim_recall", "--details", str(desk.folder / "details.jsonl"))
    judge()
    alone, lines = desk.report(*words), (desk.folder / "details.jsonl").read_bytes()
    judge(correctness_3=both)
    assert desk.report(*words, "--workers", "2") == alone
    assert (desk.folder / "details.jsonl").read_bytes() == lines
    assert len(lines.splitlines()) == 4


def test_an_answer_without_claims_has_nothing_to_judge(desk: Desk, judge: Any) -> None:
    script = judge(claims={"claims": []})
    row = desk.report("--metrics", "claim_precision")["by"]["claim_precision"]
    assert (row["mean"], row["n_no_value"], row["n_unjudged"]) == (None, 4, 0)
    assert {step_of(asked) for _, asked in script.asked} == {"claims"}


def test_a_stopped_run_asks_only_what_it_lacks(desk: Desk, judge: Any) -> None:
    kept = desk.folder / "replies.jsonl"
    words = ("--metrics", "faithfulness,claim_recall", "--judge-cache", str(kept))
    judge(support=refusal(400))
    assert desk.report(*words)["by"]["faithfulness"]["n_unjudged"] == 1
    n_kept = len(kept.read_bytes().splitlines())
    kept.write_bytes(kept.read_bytes() + b'{"key":"torn')
    second = judge()
    found = desk.report(*words)["by"]["faithfulness"]
    assert (found["mean"], found["n_unjudged"]) == (0.25, 0)
    assert n_kept > 0
    assert {step_of(asked) for _, asked in second.asked} == {"support"}
    third = judge(claims=refusal(401), support=refusal(401))
    assert desk.report(*words)["by"]["faithfulness"] == found
    assert third.asked == []


def test_another_embedding_model_leaves_the_kept_replies_in_use(
    desk: Desk, judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = judge()
    words = ("--metrics", "answer_relevancy", "--judge-cache", str(desk.folder / "replies.jsonl"))
    desk.report(*words)
    n_first = len(script.asked)
    monkeypatch.setenv("EDU_RAG_JUDGE_EMBEDDINGS", "another")
    desk.report(*words)
    assert {path for path, _ in script.asked[n_first:]} == {"/v1/embeddings"}


def test_a_dry_run_changes_no_kept_reply(desk: Desk, judge: Any) -> None:
    judge()
    kept = desk.folder / "replies.jsonl"
    words = ("--metrics", "claim_recall", "--judge-cache", str(kept))
    desk.report(*words)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-5])
    assert json.loads(desk.call(*words, "--dry-run", "--json").stdout)["n_requests"] == 1
    assert kept.read_bytes() == whole[:-5]


def test_a_line_that_another_process_still_writes_is_not_cut(tmp_path: Path) -> None:
    path, rows = tmp_path / "replies.jsonl", list[str]()
    path.write_bytes(b'{"key":"a","step":"s"}\n')
    reader = threading.Thread(target=lambda: rows.extend(KeptReplies(path)._rows))
    with path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(b'{"key":"b"')
        stream.flush()
        reader.start()
        reader.join(0.05)  # it waits for the lock; without one it would be done
        stream.write(b',"step":"s"}\n')
    reader.join()
    assert rows == ["a", "b"]
    assert path.read_bytes().count(b"\n") == 2


def test_a_run_whose_judge_was_given_up_is_an_error_and_leaves_the_report_alone(desk: Desk, judge: Any) -> None:
    words = ("--metrics", "faithfulness,claim_recall", "--out", str(desk.folder / "results"))
    script = judge(claims=refusal(401))
    result = desk.call(*words)
    assert "the judge was given up after 3 failures: HTTP status 401, at answer" in str(result.exception)
    assert "the replies so far are kept" in str(result.exception)
    assert isinstance(result.exception, EduRagError)
    assert len(script.asked) == 3
    assert not list(desk.folder.rglob("claims.json"))
    judge()
    assert desk.report(*words)["by"]["faithfulness"]["n_unjudged"] == 0


def test_a_dry_run_counts_the_requests_of_a_run_and_asks_nobody(
    desk: Desk, judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = judge()
    kept = desk.folder / "replies.jsonl"
    words = ("--metrics", "faithfulness,context_precision,nuggets", "--judge-cache", str(kept))
    planned = json.loads(desk.call(*words, "--dry-run", "--price", "1", "2", "--json").stdout)
    assert script.asked == []
    assert not kept.exists()
    desk.report(*words)
    done: dict[str, int] = {}
    for _, asked in script.asked:
        done[step_of(asked)] = done.get(step_of(asked), 0) + 1
    assert planned["by_step"] == done
    assert planned["n_requests"] == sum(done.values())
    tokens_in, tokens_out = planned["input_tokens_about"], planned["output_tokens_at_most"]
    characters = sum(len(turn["content"]) for _, asked in script.asked for turn in asked["messages"])
    assert tokens_in >= characters // 4  # the answers here have fewer claims than five
    assert tokens_out == 1_024 * planned["n_requests"]
    assert planned["usd_about"] == pytest.approx((tokens_in + 2 * tokens_out) / 1e6, abs=1e-4)
    assert json.loads(desk.call(*words, "--dry-run", "--json").stdout)["n_requests"] == 0
    for name in ("URL", "MODEL", "EMBEDDINGS"):
        monkeypatch.delenv(f"EDU_RAG_JUDGE_{name}")
    assert "requests   at most" in desk.call("--dry-run").stdout


def test_a_report_is_next_to_the_scorecard_with_its_details_and_the_judges_mark(desk: Desk, judge: Any) -> None:
    judge()
    audit = {
        "least_kappa": 0.6,
        "judge": {"chain": [{"model": "m", "judge": "correctness-3"}]},
        "groups": [{"mark": "below"}],
    }
    rates = {"n": 9, "kappa": 0.2, "kappa_interval": [0.0, 0.4], "spearman": 0.3, "spearman_interval": [0.1, 0.5]}
    audit["groups"][0]["judged"] = rates  # type: ignore[index]
    (desk.folder / "audit.json").write_text(json.dumps(audit))
    details, out = desk.folder / "details.jsonl", desk.folder / "results"
    words = ("--metrics", "faithfulness,nuggets", "--audit", str(desk.folder / "audit.json"))
    result = desk.call(*words, "--out", str(out), "--details", str(details))
    assert re.search(r"faithfulness +0.250 +0.000 … 0.500 +0.500 +2 +2 +0 +0.250 … 0.250", result.stdout)
    assert "kappa 0.200 with people on 9 answers as correctness-3: below (bound 0.6)" in result.stdout
    report = json.loads((out / "tiny-1.0.0" / "test" / "mine" / "claims.json").read_text())
    assert report["audit"]["mark"] == "below"
    assert report["rule"] == "claims-v1"
    assert (out / "claim-replies.jsonl").is_file()
    first = json.loads(details.read_text().splitlines()[0])
    assert first["steps"]["answer_claims"] == ["By mitosis.", "In June."]
    assert first["steps"]["answer_by_passages"] == [True, False]
    assert first["values"]["faithfulness"] == {"numerator": 1.0, "denominator": 2.0, "value": 0.5}
    (desk.folder / "audit.json").write_text(json.dumps(audit | {"judge": {"chain": [{"model": "other"}]}}))
    assert "is an audit of other" in str(desk.call(*words).exception)


@pytest.mark.parametrize(
    "change",
    [{"kappa": "0.9"}, {"kappa": []}, {"n": 1.5}, {"n": None}, {"kappa_interval": [1]}, {"spearman_interval": "ab"}],
)
def test_an_audit_of_another_form_is_one_error_before_anything_is_judged(change: dict[str, Any]) -> None:
    rates = {"n": 9, "kappa": 0.2, "kappa_interval": [0.0, 0.4], "spearman": None, "spearman_interval": None}
    chain = [{"model": "m", "judge": "correctness-3"}]
    values = {"least_kappa": 0.6, "judge": {"chain": chain}, "groups": [{"mark": "below", "judged": rates}]}
    assert audit_mark(values, "m", "audit.json")["kappa"] == 0.2
    faulty = [{"mark": "below", "judged": rates | change}]
    for other in (values | {"groups": faulty}, values | {"groups": []}, values | {"least_kappa": "0.6"}, [values]):
        with pytest.raises(DataError, match="is not an audit"):
            audit_mark(other, "m", "audit.json")


def test_peoples_nuggets_replace_the_judges(desk: Desk, judge: Any) -> None:
    script = judge()
    path = desk.folder / "nuggets.jsonl"
    nuggets = [{"text": "mitosis", "importance": "okay"}]
    path.write_text(json.dumps({"question_id": "q0", "nuggets": nuggets}) + "\n")
    row = desk.report("--metrics", "nuggets", "--nuggets", str(path))["by"]
    assert (row["nuggets_vital"]["n_no_value"], row["nuggets_all"]["n_no_value"]) == (1, 0)
    assert [step_of(asked) for _, asked in script.asked] == ["assigned", "nuggets", "nuggets", "assigned", "nuggets"]
    for line, fault in (
        ({"question_id": "q9", "nuggets": nuggets}, "unknown question id 'q9'"),
        ({"question_id": "q0", "nuggets": [{"text": " ", "importance": "okay"}]}, "is not a line of nuggets"),
        ({"question_id": "q0", "nuggets": [{"text": "t", "importance": []}]}, "is not a line of nuggets"),
        ({"question_id": "q0"}, "is not a line of nuggets: Object missing required field `nuggets`"),
        ({"question_id": [], "nuggets": nuggets}, "is not a line of nuggets: Expected `str`, got `array`"),
    ):
        path.write_text(json.dumps(line) + "\n")
        assert f"nuggets.jsonl:1: {fault}" in str(desk.call("--nuggets", str(path)).exception)


def test_wrong_use_is_one_error(desk: Desk, judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    judge()
    assert "unknown metric 'truth'" in str(desk.call("--metrics", "truth").exception)
    assert desk.call("--price", "1", "2").exit_code == 2
    monkeypatch.delenv("EDU_RAG_JUDGE_EMBEDDINGS")
    error = desk.call("--metrics", "answer_relevancy").exception
    assert isinstance(error, EduRagError)
    assert "EDU_RAG_JUDGE_EMBEDDINGS" in str(error)
    assert "answer_relevancy" not in desk.call("--dry-run").stdout
    monkeypatch.delenv("EDU_RAG_JUDGE_MODEL")
    assert "EDU_RAG_JUDGE_MODEL: is not set" in str(desk.call().exception)
