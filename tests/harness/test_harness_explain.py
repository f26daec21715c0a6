from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edu_rag.errors import EduRagError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.files.jsonl import write_json
from edu_rag.gold import Gold
from edu_rag.records import Leak, Question, Span, WebPage, page_id_of
from edu_rag.scorecard.card import CAUSES, Passage, Prediction, SystemFacts, Verdict
from edu_rag.scorecard.support import offered_pages
from harness.explaining.explain import (
    MAX_CITED,
    MAX_SHOWN,
    Explanation,
    Marked,
    explain,
    explanation_lines,
    explanation_values,
    marked_text,
)
from harness.explaining.lost_points import find_losses, losses_lines, losses_values, lost_lines, lost_to
from harness.probing.probe_questions import may_permute, permute
from harness.scoring.attribution import REMEDIES
from harness.submission.folder import Limits
from harness.submission.run_record import RunRecord, record_path
from harness.submission.target import Target

PAGE = page_id_of("http://site0.example/page")
SECOND = page_id_of("http://site1.example/page")
OUTSIDE = page_id_of("http://site2.example/page")
FACTS = SystemFacts(slug="test-system", name="Test", team="us")
WriteLines = Callable[..., Path]


@pytest.fixture(scope="module")
def dataset(
    build_dataset: Callable[..., Dataset],
    questions: list[Question],
    gold: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Dataset:
    return build_dataset(tmp_path_factory.mktemp("explain") / "dataset", questions, gold, pages=True, leaked=2)


def call(*words: object) -> Result:
    command = importlib.import_module("harness.commands.explain_command").explain
    result = CliRunner().invoke(command, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, EduRagError | SystemExit):
        raise result.exception
    return result


def explained(dataset: Dataset, path: Path, question_id: str, sample: str | None = None) -> Explanation:
    return explain(dataset, "test", Target(path, FACTS), question_id, sample)


def line(question_id: str, answer: str | None, *passages: tuple[str, int, int], **more: object) -> dict[str, object]:
    return {"question_id": question_id, "answer": answer, "passages": list(passages), **more}


def starting(lines: Iterator[str], word: str) -> str:
    return next(text for text in lines if text.startswith(word))


def test_evidence_is_marked_inside_the_text_of_what_was_cited(dataset: Dataset, write_lines: WriteLines) -> None:
    # q001's evidence is "Cells divide by mitosis." on the first page; its gold is b.
    path = write_lines([line("q001", "a", (SECOND, 0, 24), (PAGE, 13, 40), (PAGE, 25, 52))])
    found = explained(dataset, path, "q001")
    assert (found.verdict.outcome, found.cause) == ("incorrect", "not_used")
    assert (found.rank_cited, found.rank_offered, found.missed()) == (2, 1, [])
    lines = list(explanation_lines(found))
    assert "  1   Cells divide by mitosis." in lines
    assert "  2 * >>by mitosis.<< Water boils at" in lines
    assert "      http://site0.example/page [13:40]; this passage holds the question itself" in lines
    assert "  3   Water boils at 100 degrees." in lines
    assert "      http://site0.example/page [25:52]" in lines
    assert "cited      3 passage(s); the first with evidence is number 2" in lines
    assert f"lost to    not_used: {CAUSES['not_used']}" in lines
    assert f"to gain it {REMEDIES['not_used']}" in lines
    assert "pages      2; evidence at 1 place(s), first on page 1: http://site0.example/page" in lines
    assert "leak       leak_question: http://site0.example/page [0:24]" in lines
    assert not any(text.startswith("not cited") for text in lines)
    assert "         = b) mitosis" in lines
    assert "           a) meiosis" in lines
    assert "question   q001 (multiple_choice; lesson: lesson 1)" in lines


def test_evidence_that_was_not_cited_is_shown_in_its_sentences(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([line("q001", None, (SECOND, 0, 24), confidence=0.25, response="I  am\nnot sure")])
    lines = list(explanation_lines(explained(dataset, path, "q001")))
    assert "answer     null (I don't know)" in lines
    assert "response   I am not sure" in lines
    assert "confidence 0.250" in lines
    assert f"lost to    not_retrieved: {CAUSES['not_retrieved']}" in lines
    assert "cited      1 passage(s)" in lines
    assert lines[-3:] == [
        "not cited  1 place(s) of evidence, with the sentences around them",
        "    * >>Cells divide by mitosis.<<",
        "      http://site0.example/page [0:24]; this passage holds the question itself",
    ]


def test_a_right_answer_is_grounded_or_lucky(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([line("q001", "b", (PAGE, 0, 5)), line("q004", "a", (PAGE, 30, 40)), line("q002", "c")])
    grounded, lucky, plain = (list(explanation_lines(explained(dataset, path, i))) for i in ("q001", "q004", "q002"))
    assert "           grounded: evidence is among the cited" in grounded
    assert "           lucky: no evidence is among the cited" in lucky
    assert not any("grounded" in text or "lucky" in text for text in plain)
    assert "pages      2; no evidence known" in plain
    assert not any(text.startswith(("lost to", "to gain")) for text in grounded + lucky + plain)
    assert "question   q002 (multiple_choice; lesson: lesson 2; flags: meta_choice)" in plain


def test_a_question_without_prediction_or_with_a_fault_has_its_reason(
    dataset: Dataset, write_lines: WriteLines
) -> None:
    path = write_lines([{"question_id": "q039", "answer": None, "status": "timeout"}])
    failed, absent = (list(explanation_lines(explained(dataset, path, i))) for i in ("q039", "q038"))
    assert "answer     (none: timeout)" in failed
    assert "verdict    failed (+0): the system ran out of time" in failed
    assert "answer     (no prediction)" in absent
    assert f"lost to    failed: {CAUSES['failed']}" in absent
    assert "cited      0 passage(s)" in absent


def test_a_question_without_pages_and_unknown_pages_are_told(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([line("q000", "b", ("p0", 1, 2), (PAGE, 60, 99), (PAGE, 0, 64))])
    lines = list(explanation_lines(explained(dataset, path, "q000")))
    assert "pages      0; no evidence known" in lines
    assert lines[lines.index("  1   (the dataset has no such page)") + 1] == "      p0 [1:2]"
    assert "  2   (outside the page, which has 64 characters)" in lines
    assert "  3   Cells divide by mitosis. Water boils at 100 degrees. Ice floats." in lines  # to the very end


def test_the_pages_offered_are_those_of_the_kept_hits_in_rank_order(dataset: Dataset) -> None:
    assert offered_pages(dataset, "test", "q001") == [PAGE, SECOND]
    assert offered_pages(dataset, "test", "q000") == []


def base(text: str, evidence: dict[str, list[tuple[int, int]]], *passages: Passage, **more: Any) -> Explanation:
    """An explanation of a question whose single page holds `text`, its sentences being its lines."""
    ends = [i + 1 for i, char in enumerate(text) if char == "\n"] + [len(text)]
    starts = [0, *ends[:-1]]
    page = WebPage(
        page_id=PAGE,
        url="http://site0.example/page",
        title="",
        text=text,
        sentences=tuple(Span(a, b) for a, b in zip(starts, ends, strict=True) if b > a),
        fetched_at=more.pop("fetched_at"),
        html_sha256="0" * 64,
        extractor="t",
    )
    question = Question(question_id="q", text="?", choices={"a": "1", "b": "2"}, kind="multiple_choice", split="test")
    values: dict[str, Any] = {
        "dataset": "d@1.0.0#0",
        "system": FACTS,
        "question": question,
        "gold": Gold(question_id="q", answer="a"),
        "prediction": Prediction(question_id="q", answer="b", passages=passages),
        "verdict": Verdict(question_id="q", outcome="incorrect", reason="label b; gold is a"),
        "cause": "not_used",
        "evidence": evidence,
        "pages": {PAGE: page},
        "offered": [PAGE],
        "leaks": [],
    }
    return Explanation(**(values | more))


@pytest.fixture
def when(dataset: Dataset) -> Any:
    return next(iter(dataset.pages("test").values())).fetched_at


def test_a_long_passage_is_cut_around_its_first_evidence(when: Any) -> None:
    text = "w" * 2000 + "E" * 10 + "x" * 2000
    found = base(text, {PAGE: [(2000, 2010)]}, Passage(PAGE, 100, 4000), Passage(PAGE, 0, 599), fetched_at=when)
    wide, narrow = found.cited()
    assert marked_text(wide) == "… " + "w" * 150 + ">>" + "E" * 10 + "<<" + "x" * 440 + " …"
    assert marked_text(narrow) == "w" * 599
    # Near its start or end it is not moved past them.
    first = base(text, {PAGE: [(100, 110)]}, Passage(PAGE, 90, 4000), fetched_at=when).cited()[0]
    assert marked_text(first) == "w" * 10 + ">>" + "w" * 10 + "<<" + "w" * 580 + " …"
    last = base(text, {PAGE: [(3990, 4000)]}, Passage(PAGE, 0, 4010), fetched_at=when).cited()[0]
    assert marked_text(last) == "… " + "x" * 580 + ">>" + "x" * 10 + "<<" + "x" * 10
    without = base(text, {}, Passage(PAGE, 0, 4010), fetched_at=when).cited()[0]
    assert marked_text(without) == "w" * MAX_SHOWN + " …"


def test_evidence_that_begins_behind_the_cut_is_not_shown_and_one_across_it_is_cut(when: Any) -> None:
    text = "abcde" * 400
    passage = Passage(PAGE, 0, 2000)
    found = base(text, {PAGE: [(0, 2), (599, 700), (900, 905)]}, passage, fetched_at=when).cited()[0]
    assert found.evidence == [(0, 2), (599, 700), (900, 905)]
    assert marked_text(found) == f">>ab<<{text[2:599]}>>{text[599]}<< …"
    only = base(text, {PAGE: [(0, 2), (600, 605)]}, passage, fetched_at=when).cited()[0]
    assert marked_text(only) == f">>ab<<{text[2:600]} …"


def test_missed_evidence_comes_in_the_order_of_the_offered_pages_and_widened_to_its_sentences(when: Any) -> None:
    text = "one two\nthree four\nfive six\n"
    evidence = {OUTSIDE: [(0, 5)], PAGE: [(22, 24), (4, 13), (14, 18)]}
    found = base(text, {"p0": [(9, 11)], **evidence}, Passage(PAGE, 14, 15), fetched_at=when, offered=["p0", PAGE])
    missed = found.missed()
    assert [m.passage for m in missed] == [
        Passage("p0", 9, 11),
        Passage(PAGE, 0, 19),
        Passage(PAGE, 19, 28),
        Passage(OUTSIDE, 0, 5),
    ]
    assert [m.rank for m in missed] == [None] * 4
    assert marked_text(missed[1]) == "one >>two three<< >>four<<"
    assert marked_text(missed[3]) == "(the dataset has no such page)"
    assert (found.rank_offered, found.rank_cited) == (1, 1)


def test_evidence_between_sentences_is_shown_as_it_is(when: Any) -> None:
    page = base("gap text", {}, fetched_at=when).pages[PAGE]
    found = base("gap text", {PAGE: [(1, 3)]}, fetched_at=when, pages={PAGE: replace(page, sentences=())})
    assert [m.passage for m in found.missed()] == [Passage(PAGE, 1, 3)]


def test_ranks_are_none_where_no_evidence_was_offered_or_cited(when: Any) -> None:
    found = base("some text", {OUTSIDE: [(0, 4)]}, Passage(PAGE, 0, 4), fetched_at=when)
    assert (found.rank_offered, found.rank_cited) == (None, None)
    assert "pages      1; evidence at 1 place(s), on other pages" in list(explanation_lines(found))
    bare = base("some text", {PAGE: [(0, 4)]}, fetched_at=when, prediction=None, pages={})
    assert (bare.passages, bare.rank_cited) == ((), None)
    assert "pages      1; evidence at 1 place(s), first on page 1" in list(explanation_lines(bare))


def test_leaks_are_marked_where_a_passage_shares_a_character_with_one(when: Any) -> None:
    leak = Leak(question_id="q", page_id=PAGE, start=4, end=8, kind="leak_key")
    other = Leak(question_id="q", page_id=OUTSIDE, start=0, end=9, kind="leak_question")
    cited = [Passage(PAGE, 0, 4), Passage(PAGE, 0, 5), Passage(PAGE, 8, 9), Passage(PAGE, 7, 9)]
    found = base("some text", {}, *cited, fetched_at=when, leaks=[leak, other])
    assert [m.is_leak for m in found.cited()] == [False, True, False, True]
    lines = list(explanation_lines(found))
    assert "leak       leak_key: http://site0.example/page [4:8]" in lines
    assert f"leak       leak_question: {OUTSIDE} [0:9]" in lines


def test_a_hundred_thousand_passages_are_not_all_shown(when: Any) -> None:
    found = base("some text", {}, *[Passage(PAGE, 0, 4)] * 2500, fetched_at=when)
    assert len(found.cited()) == MAX_CITED
    lines = list(explanation_lines(found))
    assert lines[-1] == "      … and 2,400 more"
    assert starting(iter(lines), "cited") == "cited      2500 passage(s)"
    values = explanation_values(found)
    assert (values["n_cited"], len(values["cited"])) == (2500, MAX_CITED)


def test_free_text_shows_all_accepted_answers(when: Any) -> None:
    question = Question(question_id="q", text="?", choices={}, kind="free_text", split="test")
    found = base("t", {}, fetched_at=when, question=question, gold=Gold(question_id="q", texts=("one", "1")))
    assert "gold       one | 1" in list(explanation_lines(found))


def test_long_and_hostile_answers_are_cut_and_harmless(when: Any) -> None:
    prediction = Prediction(question_id="q", answer="\x1b[31m" + "y" * 9000, response="z" * 9000)
    lines = list(explanation_lines(base("t", {}, fetched_at=when, prediction=prediction)))
    assert starting(iter(lines), "answer") == "answer     \\x1b[31m" + "y" * (MAX_SHOWN - 8)
    assert starting(iter(lines), "response") == "response   " + "z" * MAX_SHOWN
    assert isinstance(Marked(None, Passage("p", 0, 1), None, None, (), is_leak=False), tuple)


def test_json_holds_what_the_lines_say(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([line("q001", "a", (PAGE, 13, 40)), line("q004", "a")], "mine.jsonl")
    values = json.loads(call(path, "q001", "--dataset", dataset.folder, "--json").stdout)
    assert list(values) == [
        "dataset",
        "system",
        "probe",
        "question",
        "gold",
        "prediction",
        "verdict",
        "cause",
        "cause_means",
        "remedy",
        "n_offered",
        "rank_offered",
        "n_cited",
        "rank_cited",
        "cited",
        "missed",
        "leaks",
    ]
    assert values["cited"] == [
        {
            "rank": 1,
            "passage": [PAGE, 13, 40],
            "url": "http://site0.example/page",
            "text": "by mitosis. Water boils at ",
            "is_evidence": True,
            "evidence": [[13, 24]],
            "is_leak": True,
        }
    ]
    assert (values["cause"], values["remedy"]) == ("not_used", REMEDIES["not_used"])
    assert values["cause_means"] == CAUSES["not_used"]
    assert values["verdict"]["points"] == -1
    assert (values["n_offered"], values["rank_offered"], values["n_cited"], values["rank_cited"]) == (2, 1, 1, 1)
    assert values["leaks"][0]["kind"] == "leak_question"
    assert (values["dataset"], values["system"], values["probe"]) == (dataset.id, "mine", None)
    right = json.loads(call(path, "q004", "--dataset", dataset.folder, "--json").stdout)
    assert (right["cause"], right["cause_means"], right["remedy"], right["missed"][0]["rank"]) == (None,) * 4
    assert right["missed"][0]["url"] == "http://site0.example/page"
    unknown = explanation_values(explained(dataset, write_lines([line("q001", "a", ("p0", 0, 1))]), "q001"))
    assert (unknown["cited"][0]["url"], unknown["cited"][0]["text"]) == (None, None)


LOST = ("q001", "q002", "q003", "q004", "q007", "q010")


@pytest.fixture
def mixed(write_lines: WriteLines, gold: dict[str, str], questions: list[Question]) -> Path:
    """All right but six: evidence unused, none there, failed, not found, abstained, unreadable."""
    lines = [line(i, answer) for i, answer in gold.items() if i not in LOST]
    others = {q.question_id: next(label for label in q.choices if label != gold[q.question_id]) for q in questions}
    return write_lines(
        [
            *lines,
            line("q001", others["q001"], (PAGE, 0, 5)),
            line("q002", others["q002"]),
            line("q003", None, status="crash"),
            line("q004", others["q004"], (PAGE, 30, 40)),
            line("q010", None),
            line("q007", "zzz"),
        ],
        "mixed.jsonl",
    )


def test_without_a_question_every_cause_has_its_questions_and_points(dataset: Dataset, mixed: Path) -> None:
    evidence = set(dataset.evidence("test"))
    assert {"q001", "q004", "q010"} <= evidence
    assert "q002" not in evidence
    lines = call(mixed, "--dataset", dataset.folder).stdout.splitlines()
    assert lines[0] == (
        f"mixed on {dataset.id}: 6 of 40 questions without a right answer; 9 points below all right "
        "(an incorrect answer costs 2, any other 1)"
    )
    counts = {words[0]: words[1:3] for words in map(str.split, lines[2:])}
    assert counts == {
        "failed": ["1", "1"],
        "flagged_broken": ["0", "0"],
        "unparseable": ["1", "1"],
        "evidence_not_found": ["1", "2"],
        "over_abstained": ["1", "1"],
        "not_retrieved": ["1", "2"],
        "not_used": ["1", "2"],
    }


def test_lost_lists_the_questions_of_a_cause_in_order_of_id(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([])
    listed = call(path, "--lost", "failed", "--limit", "2", "--dataset", dataset.folder).stdout.splitlines()
    assert listed == [
        "q000  failed       Question number 0?",
        "    reason: no prediction for this question",
        "q001  failed       Question number 1?",
        "    reason: no prediction for this question",
        "… and 38 more (--limit shows more)",
    ]
    assert len(call(path, "--lost", "failed", "--dataset", dataset.folder).stdout.splitlines()) == 80
    assert call(path, "--lost", "not_used", "--dataset", dataset.folder).stdout == ""


def test_lost_shows_the_beginning_of_a_long_question(dataset: Dataset, mixed: Path) -> None:
    losses = find_losses(dataset, "test", Target(mixed, FACTS))
    lost = lost_to(losses, "not_used")[0]
    long = lost._replace(question=replace(lost.question, text="why  \n" * 40))
    fits = lost._replace(question=replace(lost.question, text="w" * 90))
    shown = list(lost_lines([long, fits], None))
    assert shown[0] == "q001  incorrect    " + ("why " * 40)[:89] + "…"
    assert shown[1] == "q001  incorrect    " + "w" * 90
    assert next(losses_lines(losses)).startswith("test-system on tiny@1.0.0#")


def test_lost_shows_what_was_said_where_no_choice_was_named(dataset: Dataset, mixed: Path) -> None:
    losses = find_losses(dataset, "test", Target(mixed, FACTS))
    (lost,) = lost_to(losses, "unparseable")
    long = lost._replace(answer="it's b\n" * 40)
    _, short_line, _, long_line = lost_lines([lost, long], None)
    assert short_line == f"    answer: {lost.answer!r}: {lost.verdict.reason}"
    shown = ascii("it's b\n" * 40)[:78] + '…"'
    assert long_line == f"    answer: {shown}: {lost.verdict.reason}"


def test_losses_as_json_hold_counts_points_and_the_questions_asked_for(dataset: Dataset, mixed: Path) -> None:
    values = json.loads(call(mixed, "--lost", "unparseable", "--dataset", dataset.folder, "--json").stdout)
    assert values["attribution"]["not_used"] == 1
    assert sum(values["attribution"].values()) == 6
    assert sum(values["points_lost"].values()) == 9
    assert (values["n"], values["n_found"], values["system"]) == (40, 1, "mixed")
    (found,) = values["questions"]
    assert (found["question_id"], found["cause"], found["outcome"]) == ("q007", "unparseable", "unparseable")
    assert found["text"] == "Question number 7?"
    assert found["reason"]
    assert found["answer"]
    all_of_them = json.loads(call(mixed, "--dataset", dataset.folder, "--json", "--limit", "3").stdout)
    assert (all_of_them["n_found"], [q["question_id"] for q in all_of_them["questions"]]) == (6, list(LOST[:3]))
    losses = find_losses(dataset, "test", Target(mixed, FACTS))
    assert len(losses_values(losses, losses.lost, None)["questions"]) == 6


def test_a_sample_counts_its_questions_alone(dataset: Dataset, mixed: Path) -> None:
    losses = find_losses(dataset, "test", Target(mixed, FACTS), "stratified-8-seed-0")
    assert losses.n == 8
    assert {lost.question.question_id for lost in losses.lost} <= set(LOST)


def test_unknown_causes_and_questions_are_one_line_and_wrong_usage_exits_2(dataset: Dataset, mixed: Path) -> None:
    given = ("--dataset", dataset.folder)
    assert "unknown cause 'x': choose from failed, " in str(call(mixed, "--lost", "x", *given).exception)
    assert "no question 'q999' in split 'test': ids look like 'q000'" in str(call(mixed, "q999", *given).exception)
    outside = call(mixed, "q038", *given, "--sample", "2").exception
    assert "q038: is not in the sample stratified-2-seed-0" in str(outside)
    for words in (("q001", "--lost", "failed"), ("q001", "--limit", "3"), ("--html", "x.html"), ("--limit", "0")):
        assert call(mixed, *words, *given).exit_code == 2


def test_words_of_the_system_cannot_steer_the_terminal(dataset: Dataset, write_lines: WriteLines) -> None:
    path = write_lines([line("q001", "x\u001b[31m", response="\u001b]0;title\u0007")])
    assert "\x1b" not in call(path, "q001", "--dataset", dataset.folder).output


def probed(path: Path, dataset: Dataset, probe: str, seed: int = 3) -> Path:
    limits = Limits()
    record = RunRecord(
        dataset=dataset.id,
        split="test",
        sample=None,
        system_sha256="0" * 64,
        harness="t",
        limits=limits,
        probe=probe,
        seed=seed,
    )
    write_json(record_path(path), record)
    return path


def test_answers_to_permuted_choices_are_read_in_the_order_in_which_they_were_asked(
    dataset: Dataset, questions: list[Question], gold: dict[str, str], write_lines: WriteLines
) -> None:
    fit = [permute(q, 3) for q in questions if may_permute(q)]
    moved = next(p for p in fit if p.given(gold[p.question.question_id]) != gold[p.question.question_id])
    lines = [line(p.question.question_id, p.given(gold[p.question.question_id])) for p in fit]
    path = probed(write_lines([*lines, line("q000", "a")]), dataset, "permuted")
    found = explained(dataset, path, moved.question.question_id)
    assert (found.verdict.outcome, found.probe, found.question) == ("correct", "permuted", moved.question)
    assert found.offered == offered_pages(dataset, "test", moved.question.question_id)
    assert "probe      permuted" in list(explanation_lines(found))
    losses = find_losses(dataset, "test", Target(path, FACTS))
    assert (losses.n, losses.lost) == (len(fit), [])
    with pytest.raises(SubmissionError, match="is not in what the probe permuted asked"):
        explained(dataset, path, "q000")  # true/false is never permuted


def test_a_repeat_is_explained_like_the_run_on_what_it_asked(dataset: Dataset, write_lines: WriteLines) -> None:
    path = probed(write_lines([line("q001", "a", (PAGE, 0, 5))]), dataset, "repeat-2")
    assert explained(dataset, path, "q001").cause == "not_used"
    assert find_losses(dataset, "test", Target(path, FACTS)).n == 1


def test_a_probe_with_other_pages_has_no_cause(dataset: Dataset, write_lines: WriteLines) -> None:
    path = probed(write_lines([line("q001", None)]), dataset, "other-pages")
    found = explained(dataset, path, "q001")
    assert (found.cause, found.offered, found.rank_offered, found.has_own_pages) == (None, (), None, False)
    lines = list(explanation_lines(found))
    assert "pages      not the dataset's, so no cause is given; in the dataset: evidence at 1 place(s)" in lines
    assert "probe      other-pages" in lines
    with pytest.raises(SubmissionError, match="answers to the probe other-pages"):
        find_losses(dataset, "test", Target(path, FACTS))
    written = record_path(path)
    written.unlink()
    assert explained(dataset, path, "q001").cause == "over_abstained"


def test_a_split_whose_gold_is_hidden_cannot_be_explained(
    build_dataset: Callable[..., Dataset], questions: list[Question], mixed: Path, tmp_path: Path
) -> None:
    hidden = build_dataset(tmp_path / "hidden", questions, {})
    for words in ((), ("q001",)):
        assert "has no gold" in str(call(mixed, *words, "--dataset", hidden.folder).exception)


def test_free_text_is_graded_by_the_rules_and_one_they_leave_open_is_one_line(
    write_lines: WriteLines, tmp_path: Path
) -> None:
    asked = [Question(question_id=i, text="Who?", choices={}, kind="free_text", split="test") for i in ("f1", "f2")]
    golds = [Gold(question_id=i, texts=("Marie Curie",)) for i in ("f1", "f2")]
    write_dataset(
        tmp_path / "free",
        {"questions": {"test": asked}, "gold": {"test": golds}},
        name="free",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# free\n"},
    )
    path = write_lines([line("f1", "marie curie"), line("f2", "a physicist from Warsaw")])
    told = call(path, "f1", "--dataset", tmp_path / "free").stdout
    assert "gold       Marie Curie" in told
    assert "verdict    correct (+1)" in told
    for words in (("f2",), ("--lost", "evidence_not_found")):
        assert "1 of" in str(call(path, *words, "--dataset", tmp_path / "free").exception)
    assert "--judge" in str(call(path, "f1", "--dataset", tmp_path / "free", "--judge", "nobody").exception)
