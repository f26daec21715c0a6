"""Lesson pages, shards and index: every question once, with what the scorecards and predictions say of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fixture_board as made
import fixture_quiz as quiz
import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given, settings
from hypothesis import strategies as st
from some_pages import build_some

from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from leaderboard.exams import open_exams
from leaderboard.issue_links import report_link
from leaderboard.pages import board_page, question_pages
from leaderboard.questions import search_index as search
from leaderboard.questions.lessons import MOST, MOST_ALONE, anchor_of, lesson_pages
from leaderboard.questions.system_answers import Line, said_by


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    quiz.write_site(folder)
    return folder


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / "site" / quiz.FOLDER / name).read_bytes())


def lesson_soups(folder: Path) -> list[BeautifulSoup]:
    paths = sorted((folder / "site" / quiz.FOLDER).glob("*.html"))
    return [BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in paths if path.stem != "index"]


def articles(folder: Path) -> dict[str, Tag]:
    found = {}
    for soup in lesson_soups(folder):
        for article in soup.select("article"):
            assert article["id"] not in found
            found[str(article["id"])] = article
    return found


def expected(number: int, question: Question) -> Counter[str]:
    """The letters of alpha, beta and gamma, and of delta where the sample holds the question."""
    return Counter(quiz.letter_of(quiz.answer_of(slug, number, question)) for slug in ("alpha", "beta", "gamma"))


def test_every_question_stands_on_one_page_with_its_choices_and_the_scorecards_numbers(folder: Path) -> None:
    found, questions = articles(folder), quiz.questions_of(hostile=False)
    assert sorted(found) == [question.question_id for question in questions]
    sampled = set(read(folder, "index.json")["ids"])
    delta = (folder / "site" / quiz.FOLDER / f"outcomes/quiz.v1.val.{quiz.SAMPLE}/delta.txt").read_text().strip()
    assert len(sampled) == len(delta) == len(questions)
    for number, question in enumerate(questions):
        article = found[question.question_id]
        assert article.h2.get_text(strip=True) == question.text
        assert [part.get_text(strip=True) for part in article.select("ol.choices .choice")] == [
            *question.choices.values()
        ]
        letters = expected(number, question) + Counter(delta[number].replace("-", ""))
        missing = letters["a"] + letters["u"] + letters["f"]
        tally = f"correct {letters['c']} · incorrect {letters['i']} · missing {missing}"
        assert article.select_one(".tally span").get_text(strip=True) == tally


def test_what_was_said_stands_beside_the_choice_it_names_and_other_words_beside_their_outcome(folder: Path) -> None:
    found = articles(folder)
    row = found["Q_0001"].select("ol.choices > li")[0]  # 1 is odd and no third: everybody says a
    assert {name.get_text() for name in row.select(".names li")} >= {"alpha", "<script>window.harmed=1</script>"}
    assert "gamma" not in row.get_text()  # its predictions are not at hand
    others = found["Q_0001"].select_one(".others").get_text(" ", strip=True)
    assert others.startswith("– incorrect, choice not known")
    assert "gamma" in others
    assert "nobody" not in found["Q_0001"].get_text()  # gamma may have named any choice
    assert "nobody" in found["Q_0004"].get_text()  # all abstained
    words = found["Q_0002"].select_one(".others").get_text(" ", strip=True)
    assert "unparseable, no choice named" in words
    assert "words that name no choice" in words
    assert "who knows?" in found["Q_0004"].select_one(".others").get_text(" ", strip=True)


def test_pages_stand_with_rank_link_flags_evidence_and_the_hits_that_were_dropped(folder: Path) -> None:
    pages = articles(folder)["Q_0000"].select_one("details.pages")
    assert pages.summary.get_text() == "1 page, 1 evidence sentence"
    link = pages.select_one("li a")
    assert link["href"].startswith("https://pages.example/")
    assert "nofollow" in link["rel"]
    assert pages.select_one(".rank").get_text() == "1"
    assert pages.select_one(".badge").get_text() == "leak question"
    assert pages.select_one("blockquote mark").get_text() == quiz.SENTENCE
    assert "made-v1" in pages.select_one("blockquote").get_text()
    assert "robots 1" in pages.get_text()


def test_the_index_names_every_question_and_the_outcomes_are_those_of_the_scorecards(folder: Path) -> None:
    index, questions = read(folder, "index.json"), quiz.questions_of(hostile=False)
    assert index["ids"] == [question.question_id for question in questions]
    assert [index["kinds"][place] for place in index["kind"]] == [question.kind for question in questions]
    assert index["flags"] == {"truncated": [n for n, q in enumerate(questions) if "truncated" in q.flags]}
    assert sum(lesson["n"] for lesson in index["lessons"]) == len(questions)
    for system in index["systems"]:
        line = (folder / "site" / system["outcomes"]).read_text().removesuffix("\n")
        sample = quiz.SAMPLE if quiz.SAMPLE in system["table"] else None
        place = f"val-{sample}" if sample else "val"
        card = json.loads((folder / f"results/quiz-1.0.0/{place}/{system['slug']}/scorecard.json").read_bytes())
        assert line.replace("-", "") == card["outcomes"]
        assert len(line) == index["n"]
        assert (sample is not None) == ("-" in line)
    texts = [text for n in range(1) for text in read(folder, f"list/{n}.json")["texts"]]
    assert texts == [question.text for question in questions]


def test_a_system_of_two_tables_counts_once_at_a_question(folder: Path) -> None:
    index = read(folder, "index.json")
    assert [system["slug"] for system in index["systems"]].count("alpha") == 2
    asked = [sum(index["counts"][name][n] for name in ("correct", "incorrect", "missing")) for n in range(index["n"])]
    assert Counter(asked) == {3: index["n"] - 30, 4: 30}


def test_a_shard_holds_every_answer_with_the_sentence_it_cites(folder: Path) -> None:
    index = read(folder, "index.json")
    for number, question in enumerate(quiz.questions_of(hostile=False)):
        shard = read(folder, f"data/{index['lessons'][index['lesson'][number]]['slug']}.json")
        assert shard["format"] == "edu-rag-shard-v1"
        own = next(one for one in shard["questions"] if one["question_id"] == question.question_id)
        assert own["choices"] == dict(question.choices)
        # The evidence, and the span that two systems cite; spans that no page holds are left out.
        assert [quote[3:] for quote in own["quotes"]] == [[quiz.SENTENCE, "made-v1"], ["Mitosis", None]]
        said = {
            (index["systems"][system]["table"], index["systems"][system]["slug"]): rest
            for system, *rest in own["answers"]
        }
        whole = "quiz.v1.val"
        answer = quiz.answer_of("alpha", number, question)
        assert said[whole, "alpha"] == [quiz.letter_of(answer), answer or "who knows?", 0.5, [1]]
        assert said[whole, "gamma"] == [quiz.letter_of(quiz.answer_of("gamma", number, question)), None, None, []]


def test_lessons_are_cut_into_pages_whose_names_never_meet(folder: Path) -> None:
    pages = list(lesson_pages(quiz.questions_of(hostile=False)))
    assert max(len(page.numbers) for page in pages if page.lesson) == MOST
    assert max(len(page.numbers) for page in pages if page.lesson is None) == MOST_ALONE
    slugs = [page.slug for page in pages]
    assert len(set(slugs)) == len(slugs)
    assert "index" not in slugs
    assert "volcanoes" in slugs
    assert "volcanoes.2" not in slugs
    assert sorted(n for page in pages for n in page.numbers) == list(range(93))


lessons = st.lists(st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["a b", "A-B", "a.b", "index", "Без"])))


@settings(deadline=None)  # a busy machine is slow
@given(lessons)
def test_whatever_lessons_are_called_each_gets_a_plain_name_of_its_own(names: list[str | None]) -> None:
    questions = [
        Question(
            question_id=f"q{n}", text="t", choices={"a": "x", "b": "y"}, kind="true_false", split="val", lesson=name
        )
        for n, name in enumerate(names)
    ]
    pages = list(lesson_pages(questions))
    assert len({page.slug for page in pages}) == len(pages)
    assert all(page.slug != "index" and page.slug.replace(".", "").replace("-", "").isalnum() for page in pages)
    by_slug = {page.slug.split(".")[0]: page.lesson for page in pages}
    assert set(by_slug.values()) == set(names)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=200))
def test_an_anchor_holds_no_blank_and_is_the_id_where_that_is_plain(question_id: str) -> None:
    anchor = anchor_of(question_id)
    assert anchor == question_id or anchor.startswith("q-")
    assert anchor
    assert anchor != "main"
    assert not any(char.isspace() or char in "\"'<>&#%" for char in anchor)


CHOICES = {"a": "true", "b": "false", "c": "False"}


@pytest.mark.parametrize(
    ("answer", "response", "said"),
    [
        ("b", None, "b"),
        ("B", None, "b"),
        ("(b)", None, "b"),
        ("a.", None, "a"),
        ("True ", None, "a"),
        ("false", None, "false"),
        ("z", None, "z"),
        (None, None, None),
        (None, " ", None),
        (None, "a", "a"),
        ("x" * 500, None, "x" * 119 + "…"),
        (None, "I do not\n know", "I do not know"),
    ],
)
def test_an_answer_is_shown_as_the_label_it_names_or_in_its_own_words(
    answer: str | None, response: str | None, said: str | None
) -> None:
    question = Question(question_id="q", text="t", choices=CHOICES, kind="multiple_choice", split="val")
    assert said_by(Line(question_id="q", answer=answer, response=response), question) == said


def test_a_problem_is_reported_under_a_bounded_address_and_only_where_the_repository_is_a_web_address() -> None:
    text = "<script>&title=x\n#" + "ß" * 5_000
    question = Question(
        question_id="Q 1&body=x", text=text, choices={"a": "x", "b": "y"}, kind="true_false", split="val"
    )
    address = report_link("https://code.example/a/b", "quiz@1.0.0#00000000", question, "https://board.example/#Q")
    assert address is not None
    assert address.isascii()
    assert len(address) < 6_000
    parts = urlsplit(address)
    assert parts.path == "/a/b/issues/new"
    values = parse_qs(parts.query)
    assert set(values) == {"title", "body"}
    assert values["title"] == ["Problem with question Q 1&body=x"]
    assert "Page: https://board.example/#Q" in values["body"][0]
    for repository in ("", "javascript:alert(1)", "a@b.example", 'https://x.example/"onclick=', "//x.example"):
        assert report_link(repository, "quiz", question, "") is None


def test_the_report_link_of_a_page_names_the_question_and_its_place(folder: Path) -> None:
    link = articles(folder)["Q_0060"].select_one("a.report")["href"]
    assert link.startswith(f"{quiz.REPOSITORY}/issues/new?")
    assert f"https://board.example/{quiz.FOLDER}/volcanoes.html#Q_0060" in parse_qs(urlsplit(link).query)["body"][0]


def test_the_same_inputs_give_the_same_bytes_the_search_too(folder: Path, tmp_path: Path) -> None:
    given = {
        "exams": open_exams([folder / "dataset"]),
        "repository": quiz.REPOSITORY,
        "base_url": "https://board.example/",
    }
    again = build_some(folder / "results", tmp_path / "again", (question_pages,), **given)
    files = {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}
    assert len(files) > 20
    for name, data in files.items():
        assert (folder / "site" / name).read_bytes() == data, name


def test_without_the_search_package_the_explorer_stands_without_a_search_of_words(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_pages, "can_search", lambda: False)
    given = {"exams": open_exams([folder / "dataset"])}
    site = build_some(folder / "results", tmp_path / "site", (question_pages,), **given)
    assert not (site / quiz.FOLDER / "search").exists()
    assert json.loads((site / quiz.FOLDER / "index.json").read_bytes())["search"] is False
    page = (site / quiz.FOLDER / "index.html").read_text()
    assert "wasm" not in page
    assert "An id" in page
    assert "a.report" not in page
    assert "report a problem" not in (site / quiz.FOLDER / "volcanoes.html").read_text()


def test_a_search_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PACKAGE", "json.tool")  # a module that takes no such options
    with pytest.raises(DataError, match="built no search index"):
        list(search.search_files(quiz.questions_of(hostile=False)[:2]))


def test_without_a_dataset_there_is_no_word_of_questions(folder: Path, tmp_path: Path) -> None:
    site = build_some(folder / "results", tmp_path / "site", (board_page, question_pages))
    assert not (site / "questions").exists()
    assert ">Questions<" not in (site / "board.html").read_text()


def test_a_dataset_of_another_size_than_its_scorecards_is_refused(folder: Path, tmp_path: Path) -> None:
    dataset = Dataset(folder / "dataset")
    card = made.card_of("short", "ccc", dataset=dataset.id)
    made.write_card(tmp_path / "results", card)
    with pytest.raises(DataError, match="has 3 questions"):
        build_some(tmp_path / "results", tmp_path / "site", (question_pages,), exams=open_exams([dataset.folder]))


def test_predictions_that_are_no_json_are_named_with_their_line(folder: Path, tmp_path: Path) -> None:
    dataset = Dataset(folder / "dataset")
    made.write_card(tmp_path / "results", made.card_of("odd", "c" * 93, dataset=dataset.id), b'{"question_id": 3}\n')
    with pytest.raises(DataError, match=r"predictions\.jsonl:1"):
        build_some(tmp_path / "results", tmp_path / "site", (question_pages,), exams=open_exams([dataset.folder]))
