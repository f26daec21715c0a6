"""The papers' experiments that train a model: what is trained on, two real steps, and what the tables are made of."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(ROOT / "bench"),
    str(ROOT / "bench" / "papers"),
    str(ROOT / "tests" / "baselines"),
    str(ROOT / "tests" / "frameworks" / "eval"),
]

import edu_rag_fine_tuning as tuning  # noqa: E402
import edu_rag_fine_tuning_report as report  # noqa: E402
import nautiyal_cross_encoder as reranked  # noqa: E402
import nautiyal_training as training  # noqa: E402
from nautiyal_medquad import Medquad  # noqa: E402
from nautiyal_tests import bootstrap_p, pooled_row  # noqa: E402
from tiny_encoder import make_tiny_encoder  # noqa: E402
from tiny_model import write_tiny_model  # noqa: E402

from baselines.gguf_model import LocalModel  # noqa: E402

AREAS = 12
TRANSFORMERS = "NOT RUN: pip install 'edu-rag-bench[models]'"


def data_of(n: int = AREAS) -> Medquad:
    """Areas of two pairs each; area 0 and 1 share a question, area 2 occurs in two cases; the last pair has no area."""
    questions = [f"What {what} of {place}?" for place in range(n) for what in ("is the sign", "is the cure")]
    questions[2] = questions[0].upper()
    focus = [f"Area {place}" for place in range(n) for _ in range(2)]
    focus[5] = focus[5].upper()
    return Medquad(
        questions=[*questions, "Who?"],
        answers=[f"answer {place}" for place in range(2 * n + 1)],
        focus=[*focus, ""],
        source=["s"] * (2 * n + 1),
    )


def test_areas_that_share_a_question_or_a_name_are_in_one_half() -> None:
    groups = training.area_groups(data_of())
    assert groups[0] == groups[1] == groups[2] == groups[3]
    assert groups[4] == groups[5]
    assert len(set(groups.values())) == AREAS - 1
    assert 2 * AREAS not in groups


def test_a_model_is_trained_on_pairs_of_its_own_half_only() -> None:
    data = data_of()
    groups, wrong = training.area_groups(data), {row: [0, 4, 6, 24, 23] for row in range(2 * AREAS)}
    wrong = {row: [one for one in some if groups.get(one) != groups[row]] for row, some in wrong.items()}
    for half in range(training.HALVES):
        made = training.drawn_groups(data, wrong, half, 4, random.Random(1))
        rows = {one for group in made for one in (group.row, group.right, *group.wrong)}
        assert made
        assert {training.half_of(groups[row]) for row in rows} == {half}
        for group in made:
            assert data.focus[group.row] == data.focus[group.right]
            assert groups[group.row] not in {groups[one] for one in group.wrong}
        assert made == training.drawn_groups(data, wrong, half, 4, random.Random(1))


@pytest.mark.model
def test_a_cross_encoder_trained_again_gives_the_same_scores_of_the_other_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason=TRANSFORMERS)
    encoder = make_tiny_encoder(tmp_path / "models" / training.DEFAULT_MODEL)
    monkeypatch.setenv("EDU_RAG_MODELS", str(encoder.parent))
    data, groups = data_of(), training.area_groups(data_of())
    wrong = {row: [one for one in range(2 * AREAS) if groups[one] != groups[row]] for row in groups}
    lists = {str(own): {"hybrid": list(range(6))} for own in (True, False)}
    prepared = training.Prepared(dict.fromkeys(range(8), lists), wrong)
    options = SimpleNamespace(
        settings=training.Settings(epochs=1, groups=6, max_tokens=30), document="answer", most=12, weights=tmp_path
    )
    made = [training.train_half(data, prepared, 0, 3, options) for _ in range(2)]
    facts, scores = made[0]["facts"], made[0]["scores"]
    assert scores == made[1]["scores"]
    assert set(scores) == {row for row in range(8) if training.half_of(groups[row]) == 1}
    assert facts["steps"] == -(-facts["questions"] // 6)


def test_reranking_keeps_the_order_of_equal_scores_and_what_is_outside_of_its_reach() -> None:
    lists = {"BM25": [3, 4], "dense": [4], "hybrid": list(range(12))}
    prepared = training.Prepared({0: {"True": lists, "False": lists}}, {})
    scores = {0: dict.fromkeys(range(12), 0.0) | {7: 2.0, 11: 3.0}}
    rankings = reranked.Rankings(data_of(), prepared)
    assert rankings.reranked(scores, [0], 10, own=True)[0] == [7, 0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert rankings.reranked(scores, [0], 30, own=True)[0][:3] == [11, 7, 0]


def test_intervals_of_differences_that_are_no_whole_numbers_are_not_cut_to_whole_sums() -> None:
    plus, zero = {row: 0.004 + row % 2 / 1000 for row in range(100)}, dict.fromkeys(range(100), 0.0)
    _, difference, interval, established = pooled_row(plus, zero, [str(row) for row in range(100)], 0)
    low, high = map(float, interval.split(" … "))
    assert 0.43 < low < float(difference) < high < 0.47
    assert established == "yes"
    assert bootstrap_p(list(plus.values()), 0, 1_000) == 0.001


def test_scores_are_read_back_by_row_and_seed(tmp_path: Path) -> None:
    value = {"settings": {"epochs": 1}, "halves": [], "scores": {"4": {"7": 0.5}}}
    training._write(tmp_path / "scores-answer-12.json.gz", value)
    training._write(tmp_path / "prepared.json.gz", {"ranked": {}, "wrong": {"3": [1]}})
    (found,) = reranked.read_trained(tmp_path)
    assert (found.document, found.seed, found.scores) == ("answer", 12, {4: {7: 0.5}})
    assert training.read_prepared(tmp_path).wrong == {3: [1]}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a Llama of random weights that has a chat template."""
    for library in ("transformers", "accelerate", "gguf"):
        pytest.importorskip(library, reason=TRANSFORMERS)
    return str(write_tiny_model(tmp_path_factory.mktemp("models") / "tiny"))


def line_of(kind: str, question_id: str, user: str, answer: str) -> dict[str, object]:
    turns = (("system", "s"), ("user", user), ("assistant", answer))
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"kind": kind, "question_id": question_id, "messages": messages}


@pytest.fixture
def lines(tmp_path: Path) -> list[tuning.Line]:
    rows = [line_of(kind, f"q{at}", "x" * (at + 3), "b") for at in range(4) for kind in tuning.KINDS]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tuning.read_pairs(tmp_path / "pairs.jsonl")


def test_every_question_must_have_a_prompt_for_each_condition(lines: list[tuning.Line]) -> None:
    assert {kind: len(some) for kind, some in tuning.sampled(lines).items()} == dict.fromkeys(tuning.KINDS, 4)
    with pytest.raises(SystemExit, match="prepare them again"):
        tuning.sampled(lines[1:])


@pytest.mark.model
def test_training_makes_the_answers_likelier_and_does_not_depend_on_how_a_batch_is_split(
    tiny: str, lines: list[tuning.Line]
) -> None:
    settings = tuning.Settings(epochs=6, batch=4, rate=0.002, bfloat16=False)
    losses = []
    for at_once in (4, 2):
        local = LocalModel(tiny)
        examples = [tuning.example(local, line) for line in lines]
        made = tuning.batches_of(examples, settings, random.Random(0))
        losses.append(tuning.train(local.model, made, settings, at_once))
    assert losses[0][-1] < losses[0][0] / 2
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.model
def test_answers_of_a_batch_are_those_of_each_prompt_alone(tiny: str, lines: list[tuning.Line]) -> None:
    local = LocalModel(tiny)
    prompts = [local.prompt_ids(line.prompt) for line in lines]
    alone = [local.generate(line.prompt, tuning.MAX_ABSTAIN_TOKENS).text for line in lines]
    assert dict(tuning.said(local, prompts, 5, tuning.Settings(bfloat16=False))) == dict(enumerate(alone))


@pytest.mark.parametrize(("text", "answer"), [(" b", "b"), ("I don't know", None), ("", None), ("The b", "The b")])
def test_a_reply_that_says_that_the_model_does_not_know_is_no_answer(text: str, answer: str | None) -> None:
    line = tuning.Line("qa", "q1", None, "b")  # type: ignore[arg-type]
    assert tuning.prediction(line, text).answer == answer


def test_outcomes_are_counted_over_seeds_and_compared_on_the_same_questions() -> None:
    arms = {
        (arm, condition): report.Arm(["ciau" * 5] if arm == report.UNTRAINED else ["cccc" * 5, "ciaa" * 5], [0, 1])
        for condition in tuning.KINDS.values()
        for arm in report.NAMES
    }
    assert arms["answers", "pages"].times("accuracy").tolist() == [2, 1, 1, 1] * 5
    assert arms["answers", "pages"].times("missing").tolist() == [0, 0, 1, 1] * 5
    shown = report.changes_table(arms, np.arange(20) % 5)
    first = next(line for line in shown.splitlines() if "trained, no negatives − untrained" in line)
    # Right: 5/8 of answers against 1/4; wrong: 1/8 against 1/4; missing: 1/4 against 1/2.
    assert [cell.split(" [")[0] for cell in first.split(" | ")[2:]] == ["+37.5", "-12.5", "-25.0"]
    rates = report.rates_table(arms, None)
    assert "| no pages | untrained | 25.0 [" in rates
    assert report.seeds_table(arms).count("| 1 |") == 6
    assert not report.left_out(arms)
    del arms["negatives", "pages"]
    assert report.left_out(arms) == ["**Not measured**: trained, negatives, its pages."]
    assert report.changes_table(arms, None).count("its pages") == 1
