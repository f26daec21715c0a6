"""Labelled answers: files as of HaluBench, folders as of RAGTruth, Mala et al.'s table, and the audit on them."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.errors import DataError, EduRagError, FaultsError
from harness.commands.judge_command import judge as judge_command
from harness.judging.judge_audit import HumanVerdict, audit, audit_values
from harness.judging.labelled_answers import LabelledAnswer, as_verdicts, read_labelled
from harness.judging.rank_correlation import spearman, spearman_interval
from harness.judging.source_table import source_lines, source_rows, source_values
from tests.harness.judge_server import said, send, serving

HALUBENCH = [
    {
        "id": "1",
        "passage": "Ice floats.",
        "question": "Does ice float?",
        "answer": "Yes",
        "label": "PASS",
        "source_ds": "DROP",
    },
    {
        "id": "2",
        "passage": "Ice floats.",
        "question": "Does ice sink?",
        "answer": "Yes",
        "label": "FAIL",
        "source_ds": "covidQA",
    },
]
SOURCES = [
    {
        "source_id": "7",
        "task_type": "QA",
        "source_info": {"question": "Does ice float?", "passages": "passage 1: It does."},
    },
    {"source_id": "8", "task_type": "Summary", "source_info": "A long text."},
    {"source_id": "9", "task_type": "Data2txt", "source_info": {"name": "Cafe"}},
]
SPAN = {"start": 0, "end": 3, "text": "No,", "label_type": "Evident Conflict"}
RESPONSES = [
    {"id": "0", "source_id": "7", "model": "gpt-4", "labels": [], "quality": "good", "response": "It floats."},
    {"id": "1", "source_id": "7", "model": "llama", "labels": [SPAN], "quality": "good", "response": "No, it sinks."},
    {"id": "2", "source_id": "8", "model": "llama", "labels": [], "quality": "truncated", "response": "A te"},
    {"id": "3", "source_id": "9", "model": "llama", "labels": [], "quality": "good", "response": "A cafe."},
]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ragtruth(folder: Path, responses: list[Any]) -> Path:
    lines(folder / "source_info.jsonl", SOURCES)
    lines(folder / "response.jsonl", responses)
    return folder


def test_halubench_is_read_from_json_lines_and_from_csv(tmp_path: Path) -> None:
    found = read_labelled([lines(tmp_path / "h.jsonl", HALUBENCH)])
    assert found[0] == LabelledAnswer(
        question="Does ice float?", context="Ice floats.", answer="Yes", label="correct", source="DROP"
    )
    assert [answer.label for answer in found] == ["correct", "hallucinated"]
    table = tmp_path / "mala.csv"
    table.write_text("question,context,answer,label,source,system\nq,c,a,?,DROP,BM25\nq,c,b,✗,DROP,BM25\n")
    assert [(a.label, a.system) for a in read_labelled([table])] == [("insufficient", "BM25"), ("hallucinated", "BM25")]


def test_ragtruth_is_read_from_its_two_files_and_a_marked_span_is_a_hallucination(tmp_path: Path) -> None:
    found = read_labelled([ragtruth(tmp_path, RESPONSES)])
    assert [(a.system, a.label, a.source) for a in found] == [
        ("gpt-4", "correct", "QA"),
        ("llama", "hallucinated", "QA"),
        ("llama", "correct", "Data2txt"),
    ]
    assert (found[0].question, found[0].context) == ("Does ice float?", "passage 1: It does.")
    assert found[2].context == '{"name":"Cafe"}'


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"label": "maybe"}, "h.jsonl:1: label: unknown label 'maybe'"),
        ({"answer": " "}, "h.jsonl:1: answer: is missing, blank or not a text"),
        ({"passage": 3}, "h.jsonl:1: context: is missing, blank or not a text"),
        ({"passage": "x" * 80_001}, "context: is over 80,000 characters"),
    ],
)
def test_a_row_of_another_form_is_refused(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    with pytest.raises(EduRagError, match=fault):
        read_labelled([lines(tmp_path / "h.jsonl", [HALUBENCH[0] | change, *HALUBENCH])])


@pytest.mark.parametrize(
    ("change", "fault"),
    [({"source_id": "x"}, "source_id: is not in source_info.jsonl"), ({"labels": None}, "labels: is not a list")],
)
def test_a_folder_of_another_form_is_refused(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError, match=rf"response.jsonl:1: {fault}"):
        read_labelled([ragtruth(tmp_path, [RESPONSES[0] | change])])


def test_no_row_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises((DataError, FaultsError)):
        read_labelled([lines(tmp_path / "h.jsonl", [])])


def test_the_table_by_source_has_malas_four_rates() -> None:
    # Table 2, PubMed, hybrid: 92, 4 and 4 % of 50 answers, adjusted accuracy 95.83.
    counts = {"correct": 46, "hallucinated": 2, "insufficient": 2}
    answers = [
        LabelledAnswer(question="q", context="c", answer="a", label=label, source="PubMed", system="hybrid")  # type: ignore[arg-type]
        for label, n in counts.items()
        for _ in range(n)
    ]
    rows = source_rows([*answers, LabelledAnswer(question="q", context="c", answer="a", label="correct", system="x")])
    assert [(row.system, row.source, row.counts.n) for row in rows] == [
        ("hybrid", None, 50),
        ("hybrid", "PubMed", 50),
        ("x", None, 1),
    ]
    named = LabelledAnswer(question="q", context="c", answer="a", label="correct", system="x", source="all")
    assert [row.source for row in source_rows([named])] == [None, "all"]
    assert "(all sources)" in list(source_lines(rows))[1]
    values = source_values(rows[1])
    assert [values[name]["value"] for name in ("accuracy", "hallucination", "rejection")] == [0.92, 0.04, 0.04]
    assert round(100 * values["adjusted_accuracy"], 2) == 95.83
    assert values["accuracy"]["interval"][0] < 0.92 < values["accuracy"]["interval"][1]
    assert "92.00" in list(source_lines(rows))[2]


def test_the_commands_read_such_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "h.jsonl", HALUBENCH)
    table = json.loads(CliRunner().invoke(judge_command, ["labels", str(path), "--json"]).stdout)
    assert [(row["source"], row["n"]) for row in table] == [(None, 2), ("DROP", 1), ("covidQA", 1)]
    replies = [said('{"claims": ["Ice floats."]}'), said('{"verdicts": [1]}'), said('{"claims": ["a", "b"]}')]
    with serving([*replies, said('{"verdicts": [1, 0]}')]) as script:
        monkeypatch.setenv("EDU_RAG_JUDGE_URL", script.url)
        monkeypatch.setenv("EDU_RAG_JUDGE_MODEL", "m")
        arguments = ["audit", "--labels", str(path), "--judge", "faithfulness", "--json"]
        found = json.loads(CliRunner().invoke(judge_command, arguments).stdout)
    whole = found["groups"][0]
    assert whole["judged"]["n"] == 2
    assert [group["value"] for group in found["groups"][1:3]] == ["DROP", "covidQA"]
    assert found["judge"]["chain"][0]["judge"] == "faithfulness"
    for words in (
        ["audit"],
        ["audit", "--labels", str(path)],
        ["audit", "--human", str(path), "--judge", "faithfulness"],
    ):
        assert CliRunner().invoke(judge_command, words).exit_code == 2
    both = ["audit", "--human", str(path), "--judge", "rules,correctness-2"]
    assert "correctness-2 is audited alone" in str(CliRunner().invoke(judge_command, both).exception)
    unknown = ["audit", "--human", str(path), "--judge", "oracle"]
    assert "unknown judge 'oracle'" in str(CliRunner().invoke(judge_command, unknown).exception)


def test_scores_from_one_to_five_are_correlated_with_people_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(5, True), (4, True), (4, False), (2, True), (1, False), (1, False)]
    human = {"gold": ["g"], "system": "s", "set": "A"}
    path = lines(
        tmp_path / "h.jsonl",
        [human | {"question": f"q{i}", "answer": f"a{i}", "human": right} for i, (_, right) in enumerate(rows)],
    )

    def score(handler: Any) -> None:
        asked = handler.asked[1]["messages"][1]["content"]
        found = next(level for i, (level, _) in enumerate(rows) if f"q{i}" in asked)
        send(handler, 200, said(json.dumps({"score": found})))

    with serving([score]) as script:
        monkeypatch.setenv("EDU_RAG_JUDGE_URL", script.url)
        monkeypatch.setenv("EDU_RAG_JUDGE_MODEL", "m")
        call = ["audit", "--human", str(path), "--judge", "correctness-3"]
        found = json.loads(CliRunner().invoke(judge_command, [*call, "--json"]).stdout)["groups"][0]["judged"]
        shown = CliRunner().invoke(judge_command, call).stdout.splitlines()
    assert found["n"] == 6
    assert found["spearman"] == pytest.approx(spearman(rows))
    assert found["spearman"] != pytest.approx(found["kappa"])
    low, high = found["spearman_interval"]
    assert low < found["spearman"] < high
    assert any(" rho " in line and line.startswith("answers") for line in shown)
    assert any(line.startswith("all") and f"{found['spearman']:.3f}" in line for line in shown)


def test_insufficient_context_is_left_out_of_the_audit() -> None:
    answer = LabelledAnswer(question="q", context="c", answer="a", label="insufficient")
    assert [verdict.human for verdict in as_verdicts([answer])] == [None]


def mean_ranks(values: Sequence[float]) -> list[float]:
    return [sum(v < value for v in values) + sum(v == value for v in values) / 2 for value in values]


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.5, 5.0]), st.booleans()), min_size=1, max_size=40))
def test_spearman_is_the_correlation_of_mean_ranks(pairs: list[tuple[float, bool]]) -> None:
    scores, human = mean_ranks([score for score, _ in pairs]), mean_ranks([said for _, said in pairs])
    found = spearman(pairs)
    if len(set(scores)) == 1 or len(set(human)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(statistics.correlation(scores, human), abs=1e-12)


def test_spearman_is_what_scipy_gives() -> None:
    pairs = list(zip([1, 2, 2, 3.5, 5, 5, 1], [False, False, True, True, True, False, False], strict=True))
    assert spearman(pairs) == pytest.approx(0.4450990985692623, abs=1e-12)  # scipy.stats.spearmanr


def test_the_interval_of_spearman_is_that_of_plain_resampling() -> None:
    import numpy as np

    draw = random.Random(3)
    questions = [[(float(draw.randint(1, 5)), draw.random() < 0.5)] * draw.randint(1, 2) for _ in range(80)]
    for pairs in questions[::2]:
        pairs[:] = [(5.0 if human else 2.0, human) for _, human in pairs]
    rng, rhos = np.random.default_rng(1), []
    for _ in range(600):
        drawn = [pair for at in rng.integers(0, 80, 80) for pair in questions[at]]
        rhos.append(spearman(drawn))
    expected = np.quantile([rho for rho in rhos if rho is not None], [0.025, 0.975])
    assert spearman_interval(questions) == pytest.approx(tuple(expected), abs=0.05)
    assert spearman_interval([]) is None


def test_a_judge_is_marked_by_its_kappa_and_the_interval(tmp_path: Path) -> None:
    from harness.judging.free_text import Grade

    class Scores:
        def grade(self, question: str, gold: Any, answer: str) -> Grade:
            score = float(answer)
            return Grade("correct" if score >= 4 else "incorrect", "", "scores", score)

        def facts(self) -> dict[str, Any]:
            return {"judge": "scores"}

    def verdicts(scores: str, human: str) -> list[HumanVerdict]:
        return [
            HumanVerdict(question=f"q{i}", gold=("g",), answer=score, system="s", human=said == "1")
            for i, (score, said) in enumerate(zip(scores, human, strict=True))
        ]

    def mark(scores: str, human: str) -> str:
        found: str = audit_values(audit(verdicts(scores, human), Scores()))["groups"][0]["mark"]
        return found

    assert mark("5142" * 20, "1010" * 20) == "reached"
    assert mark("5142" * 20, "0110" * 20) == "below"
    assert mark("51", "10") == "open"
    assert mark("55", "10") == "open"
    values = audit_values(audit(verdicts("5421", "1100"), Scores()))["groups"][0]["judged"]
    assert values["spearman"] == pytest.approx(2 / 5**0.5)
