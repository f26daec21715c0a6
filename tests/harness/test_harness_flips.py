"""Where two systems part: groups, slices, which flips are told in full, and the page of a comparison."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.__main__ import root
from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.scorecard.card import CAUSES, OUTCOMES
from edu_rag.scorecard.results_folder import read_scorecard, write_scorecard
from edu_rag.statistics import points_of
from harness.comparing.compare import Choice, Side
from harness.comparing.flips import (
    GROUPS,
    crossed,
    details_of,
    flips_of,
    group_of,
    pick,
    predictions_beside,
    slice_flips,
)
from harness.exam import open_exam
from harness.explaining.lost_points import find_losses
from harness.pages.compare_page import compare_paths
from harness.scoring.score import score_target
from harness.submission.target import find_target

pytestmark = pytest.mark.usefixtures("read_in_this_process")

NOW = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "group"),
    [
        ("c", "c", None),
        ("c", "i", "only_first"),
        ("c", "a", "only_first"),
        ("f", "c", "only_second"),
        ("i", "i", None),
        ("i", "a", "first_wrong"),
        ("i", "u", "first_wrong"),
        ("f", "i", "second_wrong"),
        ("a", "u", None),
        ("f", "a", None),
    ],
)
def test_each_pair_of_outcomes_has_its_group(first: str, second: str, group: str | None) -> None:
    assert group_of(first, second) == group


@given(st.lists(st.tuples(st.sampled_from("ciauf"), st.sampled_from("ciauf")), max_size=60))
def test_the_flips_are_the_difference_of_the_scores(pairs: list[tuple[str, str]]) -> None:
    first, second = ("".join(pair[side] for pair in pairs) for side in (0, 1))
    flips = flips_of(first, second)
    assert tuple(flips) == GROUPS
    everything = [flip for found in flips.values() for flip in found]
    assert sum(flip.points for flip in everything) == int(points_of(first).sum() - points_of(second).sum())
    assert all(flip.points for flip in everything)
    assert len({flip.place for flip in everything}) == len(everything)
    assert [flip.place for found in flips.values() for flip in found] == [
        place for group in GROUPS for place, (a, b) in enumerate(pairs) if group_of(a, b) == group
    ]
    assert sum(crossed(first, second).values()) == len(pairs)


@pytest.fixture
def answers(tiny: Dataset, gold: dict[str, str], write_answers: Callable[..., Path]) -> tuple[Path, Path]:
    """The first is right on 30 of 40 and wrong on five; the second right on the last ten, silent on the others."""
    ids = [question.question_id for question in tiny.questions("test")]
    wrong = {i: "b" if gold[i] == "a" else "a" for i in ids}
    first = {i: gold[i] if n < 30 else wrong[i] if n < 35 else None for n, i in enumerate(ids)}
    second = {i: gold[i] if n >= 36 else None for n, i in enumerate(ids)}
    return write_answers(first, "first.jsonl"), write_answers(second, "second.jsonl")


def sides_of(tiny: Dataset, paths: tuple[Path, Path]) -> tuple[Side, Side]:
    scored = [
        score_target(tiny, "test", None, find_target(path, tiny.manifest, "test", None), scored_at=NOW)
        for path in paths
    ]
    return Side(scored[0].card, scored[0].predictions), Side(scored[1].card, scored[1].predictions)


def test_flips_by_slice_add_up_and_leave_out_lessons(tiny: Dataset, answers: tuple[Path, Path]) -> None:
    a, b = sides_of(tiny, answers)
    rows = slice_flips(open_exam(tiny, "test", None), flips_of(a.card.outcomes, b.card.outcomes))
    kinds = [row for row in rows if row.attribute == "kind"]
    assert sum(row.points for row in kinds) == 30 - 5 - 4
    assert sum(row.counts["only_first"] for row in kinds) == 30
    assert {row.attribute for row in rows} >= {"kind", "n_choices", "evidence", "pages"}
    assert "lesson" not in {row.attribute for row in rows}
    assert rows == sorted(rows, key=lambda row: (row.attribute, row.value))


def test_flips_told_in_full_come_in_turn_from_each_kind_with_and_without_evidence(
    tiny: Dataset, answers: tuple[Path, Path]
) -> None:
    a, b = sides_of(tiny, answers)
    exam = open_exam(tiny, "test", None)
    flips = flips_of(a.card.outcomes, b.card.outcomes)["only_first"]
    picked = pick(flips, exam, 6)
    sorts = {
        (exam.questions[f.place].kind, exam.questions[f.place].question_id in exam.support.evidence) for f in picked
    }
    assert len(picked) == len(sorts) == 6
    assert picked == sorted(picked)
    assert pick(flips, exam, None) == flips
    assert len(pick(flips, exam, 1_000)) == 30


def test_both_answers_are_told_with_reason_and_cause(tiny: Dataset, answers: tuple[Path, Path]) -> None:
    a, b = sides_of(tiny, answers)
    exam = open_exam(tiny, "test", None)
    flips = flips_of(a.card.outcomes, b.card.outcomes)["only_first"]
    details = list(details_of(tiny, exam, (a, b), flips[:4]))
    assert [d.question.question_id for d in details] == ["q000", "q001", "q002", "q003"]
    assert details[1].first.verdict.outcome == "correct"
    assert details[1].first.cause is None
    assert details[1].second.verdict.reason == "answer is null"
    assert details[1].second.cause == "over_abstained"
    assert [len(d.second.missed) for d in details] == [0, 1, 0, 0]


def test_the_page_tells_questions_and_points_lost_by_cause_under_the_names_of_the_terminal(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    run("compare", *answers, "--dataset", tiny.folder, "--html", file)
    rows = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser").select(
        "section[aria-labelledby=lost] tbody tr"
    )
    shown = {row.th.text: [int(cell.text) for cell in row.select("td.num")] for row in rows}
    for place, path in enumerate(answers):
        losses = find_losses(tiny, "test", find_target(path, tiny.manifest, "test", None))
        counts = Counter(lost.cause for lost in losses.lost)
        assert {name: row[2 * place : 2 * place + 2] for name, row in shown.items()} == {
            name: [counts[name], losses.points[name]] for name in CAUSES
        }
        assert sum(losses.points.values()) > 0


def test_scorecards_alone_tell_questions_lost_and_where_the_points_are_to_be_had(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    cards = []
    for path in answers:
        run("score", path, "--dataset", tiny.folder, "--out", tmp_path / path.stem)
        cards += (tmp_path / path.stem).rglob("scorecard.json")
    file = tmp_path / "page.html"
    run("compare", *cards, "--html", file)
    section = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser").select_one("section[aria-labelledby=lost]")
    assert {len(row.select("td.num")) for row in section.select("tbody tr")} == {2}
    assert "points by cause need the dataset and both systems' predictions" in section.text


def test_a_reason_is_not_made_up_where_todays_rules_come_to_another_outcome(
    tiny: Dataset, answers: tuple[Path, Path]
) -> None:
    a, b = sides_of(tiny, answers)
    counts = replace(a.card.counts, correct=29, unparseable=1)
    other = replace(a.card, outcomes="u" + a.card.outcomes[1:], counts=counts, attribution={}, slices=())
    flips = flips_of(b.card.outcomes, a.card.outcomes)["only_second"]
    exam = open_exam(tiny, "test", None)
    (detail,) = details_of(tiny, exam, (b, Side(other, a.predictions)), [flips[0]._replace(second="unparseable")])
    assert detail.second.verdict.outcome == "unparseable"
    assert "score the predictions again" in detail.second.verdict.reason


def run(*words: object) -> str:
    result = CliRunner().invoke(root, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_page_has_the_command_the_test_and_every_group(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    run("compare", *answers, "--dataset", tiny.folder, "--html", file)
    soup = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
    assert soup.select("footer pre")[0].text == (
        f"edu-rag compare {answers[0]} {answers[1]} --dataset {tiny.folder} --html {file}"
    )
    assert soup.title.text == f"first against second on {tiny.id}, test: established"
    assert "first scores 0.525 more than second" in soup.select_one(".lead").text
    table = soup.select("#flips ~ .pair table, section[aria-labelledby=flips] table")[0]
    assert [row.text.split("\n")[0] for row in table.select("tbody tr")] == [
        "Only first is right30+30",
        "Only second is right4−4",
        "first is wrong where second gave no answer5−5",
        "second is wrong where first gave no answer00",
    ]
    five = soup.select("table.crossed")[0]
    rows = [[int(cell.text.replace(",", "")) for cell in row.select("td")] for row in five.select("tbody tr")]
    assert rows == [[0, 0, 30, 0, 0], [0, 0, 5, 0, 0], [4, 0, 1, 0, 0], [0] * 5, [0] * 5]
    assert len(rows) == len(OUTCOMES)


def test_some_flips_are_told_in_full_the_others_listed_and_all_with_all(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    some, every = tmp_path / "some.html", tmp_path / "every.html"
    run("compare", *answers, "--dataset", tiny.folder, "--html", some)
    run("compare", *answers, "--dataset", tiny.folder, "--html", every, "--all")
    told = [len(BeautifulSoup(f.read_text("utf-8"), "html.parser").select("article.flip")) for f in (some, every)]
    assert told == [12 + 4 + 5, 39]
    listed = BeautifulSoup(some.read_text("utf-8"), "html.parser").select("table.ids tr")
    assert len(listed) == 18


def write_results(folder: Path, sides: tuple[Side, Side], paths: tuple[Path, Path]) -> list[Path]:
    for side, path in zip(sides, paths, strict=True):
        home = folder / side.card.system.slug
        home.mkdir(parents=True)
        write_scorecard(home / "scorecard.json", side.card)
        (home / "predictions.jsonl").write_bytes(path.read_bytes())
    return [folder / side.card.system.slug for side in sides]


def test_two_bare_scorecards_have_all_that_scorecards_can_say(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = write_results(tmp_path, sides_of(tiny, answers), answers)
    _, text = compare_paths((a / "scorecard.json", b), Choice(None, None, None), "edu-rag compare a b")
    soup = BeautifulSoup(text, "html.parser")
    assert not soup.select("article.flip")
    assert [cell.text for cell in soup.select("table.ids tr:first-child th")] == ["#1", "#37", "#31"]
    assert [cell.text for cell in soup.select("table.ids tr:first-child td")][:2] == ["correct", "abstained"]
    assert soup.select("#slices")
    assert soup.select("#lost")


def test_predictions_beside_a_scorecard_are_used_and_others_refused(
    tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = write_results(tmp_path, sides_of(tiny, answers), answers)
    _, text = compare_paths((a / "scorecard.json", b), Choice(tiny, None, None), "edu-rag compare a b")
    assert len(BeautifulSoup(text, "html.parser").select("article.flip")) == 21
    (b / "predictions.jsonl").write_bytes((a / "predictions.jsonl").read_bytes())
    with pytest.raises(SubmissionError, match="is not what the scorecard next to it was made from"):
        compare_paths((a, b), Choice(tiny, None, None), "edu-rag compare a b")
    (b / "predictions.jsonl").unlink()
    exam, card = open_exam(tiny, "test", None), read_scorecard(b / "scorecard.json")
    assert predictions_beside(b, card, exam) == {}
    _, text = compare_paths((a, b), Choice(tiny, None, None), "edu-rag compare a b")
    assert "q000" in text
    assert not BeautifulSoup(text, "html.parser").select("article.flip")


def test_a_page_is_of_two_systems_and_of_one_question(tiny: Dataset, answers: tuple[Path, Path]) -> None:
    for words in (["compare", *answers, answers[0]], ["explain", answers[0]]):
        result = CliRunner().invoke(root, [*map(str, words), "--dataset", str(tiny.folder), "--html", "x.html"])
        assert result.exit_code == 2
        assert "--html writes" in result.output


def test_the_page_is_the_same_bytes_each_time(tiny: Dataset, answers: tuple[Path, Path], tmp_path: Path) -> None:
    pages = []
    for _ in range(2):
        run("compare", *answers, "--dataset", tiny.folder, "--html", tmp_path / "x.html")
        pages.append((tmp_path / "x.html").read_text("utf-8"))
    stamp = re.compile(r"scored \S+ by")
    assert stamp.sub("", pages[0]) == stamp.sub("", pages[1])


def test_a_page_of_a_large_split_where_everything_flips_stays_small(
    tmp_path: Path, build_dataset: Callable[..., Dataset], write_answers: Callable[..., Path]
) -> None:
    from edu_rag.records import Question

    questions = [
        Question(
            question_id=f"Q{i:06}",
            text=f"Which of these is number {i}? " * 8,
            kind="multiple_choice",
            choices={"a": "one", "b": "two"},
            split="test",
            lesson=f"lesson {i % 900}",
        )
        for i in range(13_693)
    ]
    gold = {question.question_id: "ab"[i % 2] for i, question in enumerate(questions)}
    dataset = build_dataset(tmp_path / "large", questions, gold)
    a, b = write_answers(dict.fromkeys(gold, "a"), "a.jsonl"), write_answers(dict.fromkeys(gold, "b"), "b.jsonl")
    _, text = compare_paths((a, b), Choice(dataset, None, None), "edu-rag compare a b")
    assert len(text.encode()) < 2_000_000
    assert "more: --all lists them" in text


def test_free_text_answers_are_told_with_the_accepted_texts(tmp_path: Path, write_answers: Callable[..., Path]) -> None:
    from edu_rag.files.dataset_writer import write_dataset
    from edu_rag.gold import Gold
    from edu_rag.records import Question
    from harness.explaining.explain import explain
    from harness.pages.explain_page import explain_page

    asked = [
        Question(question_id=f"f{i}", text=f"Who {i}?", choices={}, kind="free_text", split="test") for i in range(3)
    ]
    write_dataset(
        tmp_path / "free",
        {
            "questions": {"test": asked},
            "gold": {"test": [Gold(question_id=q.question_id, texts=("Marie Curie", "Curie")) for q in asked]},
        },
        name="free",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# free\n"},
    )
    dataset = Dataset(tmp_path / "free")
    right = write_answers({q.question_id: "Marie Curie" for q in asked}, "right.jsonl")
    none = write_answers({q.question_id: None for q in asked}, "none.jsonl")
    _, text = compare_paths((right, none), Choice(dataset, None, None), "edu-rag compare")
    soup = BeautifulSoup(text, "html.parser")
    assert len(soup.select("article.flip")) == 3
    assert "Accepted answers: Marie Curie · Curie" in " ".join(soup.select_one("article.flip").text.split())
    found = explain(dataset, "test", find_target(right, dataset.manifest, "test", None), "f0")
    page = BeautifulSoup(explain_page(found, "test", "edu-rag explain"), "html.parser")
    assert page.select_one("code.said").text == "Marie Curie"
    assert "The system cited nothing." in page.text
