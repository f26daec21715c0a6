"""Judges against people: the numbers are scikit-learn's, the order of the files says nothing, all pairs are counted."""

from __future__ import annotations

import json
import random
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from edu_rag.errors import ConfigError, DataError
from edu_rag.processes.worker_threads import in_order
from harness.commands.judge_command import judge as judge_command
from harness.judging.free_text import Grade, Rules
from harness.judging.judge_audit import (
    HumanVerdict,
    JudgedPair,
    audit,
    audit_lines,
    audit_values,
    cohen_kappa,
    kappa_interval,
    read_human,
)
from harness.judging.judge_cache import CachedJudge


class Reads:
    """A judge that says what the answer's first word says."""

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        return Grade(answer.split()[0], f"said {answer.split()[0]}", "reads")  # type: ignore[arg-type]

    def facts(self) -> Mapping[str, Any]:
        return {"judge": "reads", "name": "reader"}


def row(outcome: str, human: bool | None, question: str = "q", system: str = "s", set_: str = "A") -> HumanVerdict:
    return HumanVerdict(question=question, gold=("g",), answer=f"{outcome} x", system=system, human=human, set=set_)


def many(n: int, seed: int = 0) -> list[HumanVerdict]:
    draw = random.Random(seed)
    return [
        row(draw.choice(["correct", "incorrect", "abstained"]), draw.random() < 0.6, f"q{i // 3}", f"s{i % 3}")
        for i in range(n)
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_kappa_agreement_precision_and_recall_are_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    from sklearn.metrics import accuracy_score, cohen_kappa_score, precision_score, recall_score

    said, human = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    verdicts = [row("correct" if s else "incorrect", h, f"q{i}") for i, (s, h) in enumerate(pairs)]
    found = audit(verdicts, Reads()).groups[0].judged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = cohen_kappa_score(said, human)
    assert found.agreement == pytest.approx(accuracy_score(human, said))
    assert found.kappa is None if kappa != kappa else found.kappa == pytest.approx(kappa)
    if any(said):
        assert found.precision == pytest.approx(precision_score(human, said))
    if any(human):
        assert found.recall == pytest.approx(recall_score(human, said))
    assert (found.precision is None, found.recall is None) == (not any(said), not any(human))
    assert found.both + found.judge_only + found.human_only + found.neither == found.n == len(pairs)
    assert found.human_accuracy == sum(human) / len(human)
    assert found.judge_accuracy == sum(said) / len(said)


def test_the_textbook_kappa() -> None:
    # Cohen's own kind of table: 20, 5, 10, 15 agree 0.7, by chance 0.5.
    assert cohen_kappa(20, 5, 10, 15) == pytest.approx(0.4)
    assert cohen_kappa(0, 0, 0, 0) is None
    assert cohen_kappa(5, 0, 0, 0) is None
    assert cohen_kappa(0, 5, 0, 0) == 0.0


def test_the_interval_covers_and_widens_where_answers_share_a_question() -> None:
    apart = [(1, 0, 0, 0)] * 40 + [(0, 0, 0, 1)] * 40 + [(0, 1, 0, 0)] * 10 + [(0, 0, 1, 0)] * 10
    together = [(4, 0, 0, 0)] * 10 + [(0, 0, 0, 4)] * 10 + [(0, 5, 0, 0)] * 2 + [(0, 0, 5, 0)] * 2
    low, high = kappa_interval(apart) or (1.0, 0.0)
    assert low < 0.6 < high
    wide = kappa_interval(together) or (0.0, 0.0)
    assert wide[1] - wide[0] > high - low
    assert kappa_interval(apart) == kappa_interval(list(reversed(apart)))
    assert kappa_interval([]) is None
    assert kappa_interval([(3, 0, 0, 0)]) is None


def test_the_interval_is_that_of_resampling_question_by_question() -> None:
    import numpy as np

    draw = random.Random(1)
    tables = [draw.choice([(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 2, 0), (0, 0, 0, 1), (1, 0, 0, 2)]) for _ in range(120)]
    data, rng, kappas = np.array(tables), np.random.default_rng(9), []
    for _ in range(4_000):
        kappa = cohen_kappa(*(int(v) for v in data[rng.integers(0, len(data), len(data))].sum(axis=0)))
        if kappa is not None:
            kappas.append(kappa)
    expected = np.quantile(kappas, [0.025, 0.975])
    assert kappa_interval(tables) == pytest.approx(tuple(expected), abs=0.02)


def test_improper_questions_are_left_out_and_unjudged_answers_shown_both_ways() -> None:
    found = audit([row("correct", True), row("unjudged", True), row("unjudged", False), row("correct", None)], Reads())
    whole = found.groups[0]
    assert (found.n_improper, whole.n_unjudged, whole.judged.n, whole.all.n) == (1, 2, 1, 3)
    assert (whole.all.both, whole.all.human_only, whole.all.neither) == (1, 1, 1)
    assert found.by_judge == {"reads": {"correct": 1, "unjudged": 2}}
    assert found.unjudged == {"said unjudged": 2}


def test_groups_are_all_then_sets_then_systems_and_shared_answers_count_for_each_system() -> None:
    rows = [row("correct", True, system="b+a", set_="Z"), row("incorrect", True, "r", system="a", set_="Y")]
    groups = audit(rows, Reads()).groups
    assert [(g.attribute, g.value, g.judged.n) for g in groups] == [
        ("all", "", 2),
        ("set", "Y", 1),
        ("set", "Z", 1),
        ("system", "a", 2),
        ("system", "b", 1),
    ]


def test_neither_order_nor_repetition_of_the_run_changes_an_audit() -> None:
    rows = many(60)
    shuffled = random.Random(3).sample(rows, len(rows))
    for sample in (None, 25):
        assert audit(rows, Reads(), sample=sample, seed=4) == audit(shuffled, Reads(), sample=sample, seed=4)
    drawn = audit(rows, Reads(), sample=25, seed=4)
    assert drawn.groups[0].all.n == 25
    assert drawn != audit(rows, Reads(), sample=25, seed=5)
    with pytest.raises(ConfigError, match="there are 60 answers"):
        audit(rows, Reads(), sample=61)


def test_differences_are_listed_and_unjudged_answers_are_none() -> None:
    rows = [row("correct", False), row("incorrect", True, "r"), row("unjudged", True, "s"), row("correct", True, "t")]
    found = audit(rows, Reads()).differences
    assert {pair.verdict.question for pair in found} == {"q", "r"}
    assert all(pair.says_correct != pair.verdict.human for pair in found)
    assert JudgedPair(row("abstained", True), Grade("abstained", "", "x")).says_correct is False


def test_a_terminal_shows_every_group_and_what_stayed_open() -> None:
    text = "\n".join(audit_lines(audit([*many(30), row("unjudged", True)], Reads(), files=[("f.jsonl", "0")])))
    for part in ("reader", "f.jsonl", "set = A", "system = s0", "all answers, the 1 unjudged", "1: said unjudged"):
        assert part in text


def test_the_rules_on_all_human_verdicts_are_hardly_ever_wrong_when_they_say_correct(shared_data: Path) -> None:
    verdicts = read_human([shared_data / "judgements" / "openqa.jsonl"])
    found = audit(verdicts, Rules())
    whole = found.groups[0]
    assert (whole.all.n, found.n_improper) == (1489, 0)
    # What is wrong here is gold that people call wrong ("John von Neumann" for the CPU), not the rules.
    assert whole.judged.precision is not None
    assert whole.judged.precision > 0.93
    assert whole.all.judge_only <= 22
    assert whole.n_unjudged + whole.judged.n == 1489


def test_the_command_prints_json_lines_and_a_page(tmp_path: Path) -> None:
    path = tmp_path / "human.jsonl"
    rows = [
        {"question": "q<b>", "gold": ["Paris"], "answer": text, "system": "<i>s</i>", "human": human, "set": "A"}
        for text, human in (("Paris", True), ("paris", False), ("Lyon", False), ("I don't know", False), ("x", None))
    ]
    path.write_text("".join(json.dumps(values) + "\n" for values in rows))
    page = tmp_path / "audit.html"
    arguments = ["audit", "--human", str(path), "--html", str(page)]
    result = CliRunner().invoke(judge_command, [*arguments, "--json"])
    values = json.loads(result.stdout)
    assert values["n_improper"] == 1
    assert values["groups"][0]["judged"]["agreement"] == pytest.approx(2 / 3)
    assert values["groups"][0]["all"]["agreement"] == 0.75
    assert values["files"][0][0] == "human.jsonl"
    assert [d["answer"] for d in values["differences"]] == ["paris"]
    html = page.read_text()
    assert "<i>s</i>" not in html
    assert "&lt;i&gt;s&lt;/i&gt;" in html
    assert "kappa" in CliRunner().invoke(judge_command, arguments).stdout
    assert json.loads(json.dumps(audit_values(audit(read_human([path]), Rules()))))["sample"] is None


def test_files_without_a_human_verdict_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    line = {"question": "q", "gold": ["g"], "answer": "a", "system": "s", "human": None}
    for text, fault in (
        (json.dumps(line), "holds no human verdict"),
        ('{"question": "q"}', "h.jsonl:1"),
        ("", "holds no"),
    ):
        path.write_text(text + "\n" if text else "")
        with pytest.raises(DataError, match=fault):
            read_human([path])


def test_workers_with_the_same_answer_ask_the_judge_once(tmp_path: Path) -> None:
    asked: list[str] = []

    class Once:
        def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
            asked.append(answer)
            time.sleep(0.05)  # long enough for the others to ask, if they could
            return Grade("correct" if len(asked) == 1 else "incorrect", "as asked", "once")

        def facts(self) -> Mapping[str, Any]:
            return {"judge": "once"}

    judge = CachedJudge(Once(), tmp_path / "grades.jsonl")
    found = list(in_order(lambda _: judge.grade("Who?", ("Ada",), "Ada"), range(8), 8))
    assert [grade.outcome for grade in found] == ["correct"] * 8
    assert asked == ["Ada"]
    assert len((tmp_path / "grades.jsonl").read_bytes().splitlines()) == 1
