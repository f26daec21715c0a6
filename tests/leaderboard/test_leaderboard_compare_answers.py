"""The compare page where questions and predictions are at hand: slices, answers side by side, evidence marked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fixture_compare as made
import pytest
from axe_checks import violations
from hostile_board import write_hostile
from real_browser import opened
from site_server import served
from some_pages import build_some
from test_leaderboard_compare import LETTERS, TABLE

from edu_rag.scorecard.card import OUTCOMES
from harness.comparing.flips import GROUPS, crossed, flips_of, slice_flips
from harness.exam import open_exam
from leaderboard.exams import open_exams
from leaderboard.pages import assets, compare_systems_page, question_pages

CELLS = r"rows => rows.map(row => [...row.cells].map(cell => cell.textContent.replace('\u2212', '-')))"
A, B = LETTERS["system-1"], LETTERS["system-4"]
ONLY_B = [f"q{at:03d}" for at in range(made.N) if B[at] == "c" != A[at]]
FOLDER = "questions/tqa-v1-val"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """dataset/, results/ (system-5 without predictions), site/; hostile/, a site of hostile names."""
    folder = tmp_path_factory.mktemp("compare")
    dataset = made.write_exam(folder / "dataset")
    made.write_answers(folder / "results", dataset, LETTERS, without="system-5")
    kinds = (compare_systems_page, question_pages, assets)
    build_some(folder / "results", folder / "site", kinds, exams=open_exams([dataset.folder]))
    write_hostile(folder / "hostile-results")
    build_some(folder / "hostile-results", folder / "hostile", (compare_systems_page, assets))
    return folder


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


def look(browser: Any, base: str, more: str = "", a: str = "system-1", **options: Any) -> tuple[Any, list[str]]:
    """A comparison with system-4 whose questions are there; what went wrong, requests to the server aside."""
    page, troubles = opened(browser, f"{base}site/compare.html?table={TABLE}&a={a}&b=system-4{more}", **options)
    page.wait_for_selector("article.flip")
    return page, [trouble for trouble in troubles if not trouble.startswith(base)]


def article(page: Any, question_id: str) -> Any:
    return page.locator("article.flip", has=page.get_by_role("link", name=question_id, exact=True))


def rows_of(page: Any, table: str, at: int = 0) -> list[list[str]]:
    return list(page.locator(table).nth(at).locator("tbody tr").evaluate_all(CELLS))


def test_outcomes_and_flips_are_counted_as_edu_rag_compare_counts_them(browser: Any, base: str) -> None:
    page, _ = look(browser, base)
    cells = page.locator("#crossed table").first.locator("tbody td").all_inner_texts()
    pairs = crossed(A, B)
    assert [int(cell) for cell in cells] == [pairs.get((x, y), 0) for x in OUTCOMES for y in OUTCOMES]
    flips = flips_of(A, B)
    rows = rows_of(page, "table.groups")
    for group, row in zip(GROUPS, rows, strict=False):
        assert [int(cell) for cell in row[1:]] == [len(flips[group]), sum(flip.points for flip in flips[group])]
    assert sum(int(row[1]) for row in rows) == made.N


def test_flips_stand_by_the_slices_of_edu_rag_compare(browser: Any, base: str, folder: Path) -> None:
    page, _ = look(browser, base)
    exam = open_exam(made.Dataset(folder / "dataset"), "val", None)
    expected = [
        [part.attribute, part.value, part.n, part.counts["only_first"], part.counts["only_second"], part.points]
        for part in slice_flips(exam, flips_of(A, B))
    ]
    rows = rows_of(page, "table.by-slice")
    assert [[*row[:2], int(row[2]), int(row[4]), int(row[5]), int(row[7])] for row in rows] == expected
    assert {row[0] for row in rows} == {"evidence", "flag", "kind", "leak", "n_choices", "pages"}
    for row in rows:
        assert int(row[2]) == sum(map(int, row[3:7]))
    right = sum(x == y == "c" for at, (x, y) in enumerate(zip(A, B, strict=True)) if at % 3 == 0)
    assert next(row for row in rows if row[1] == "true_false")[3] == str(right)


def test_lessons_are_folded_those_that_move_the_score_most_first(browser: Any, base: str) -> None:
    page, _ = look(browser, base)
    assert page.locator("table.by-slice").count() == 1
    page.get_by_text("By lesson: 30").click()
    page.locator("table.by-slice").nth(1).locator("tbody tr").nth(29).wait_for()
    lessons = rows_of(page, "table.by-slice", 1)
    assert len(lessons) == 30
    gaps = [abs(int(row[-1])) for row in lessons]
    assert gaps == sorted(gaps, reverse=True)
    assert {row[1] for row in lessons} == {f"Lesson {number:02d}" for number in range(30)}


def test_both_answers_stand_side_by_side(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, "&show=only_second")
    assert page.locator("article.flip h3 a").all_inner_texts() == ONLY_B[:10]
    number = int(ONLY_B[0][1:])
    first = article(page, ONLY_B[0])
    assert first.locator(".asked").inner_text() == f"{made.HOSTILE} ({number})"
    outcomes = {"i": "incorrect", "a": "abstained", "u": "unparseable", "f": "failed"}
    assert [text.split() for text in first.locator(".side h4").all_inner_texts()] == [
        ["system-1:", outcomes[A[number]]],
        ["system-4:", "correct"],
    ]
    assert first.locator(".choices .chosen").all_inner_texts()[-1] == "system-4"
    assert first.locator(".side").nth(1).locator("p").inner_text() == "b false <b> · confidence 0.5"
    assert first.locator("h3 a").get_attribute("href").startswith(f"{FOLDER}/lesson-")
    answer = page.request.get(f"{base}site/{first.locator('h3 a').get_attribute('href')}")
    assert f'id="{ONLY_B[0]}"' in answer.text()
    page.get_by_role("button", name="Show 10 more").press("Enter")
    page.locator("article.flip").nth(10).wait_for()
    assert page.locator("article.flip h3 a").all_inner_texts() == ONLY_B[:20]
    assert page.evaluate("document.activeElement.textContent") == ONLY_B[10]
    assert page.evaluate("window.harmed === undefined")
    assert troubles == []


def test_evidence_is_marked_inside_what_a_system_cites(browser: Any, base: str) -> None:
    page, _ = look(browser, base, "&show=only_second&among=evidence%3A+supported")
    supported = [one for one in ONLY_B if int(one[1:]) % 5 != 4 and int(one[1:]) % 7 != 6 and A[int(one[1:])] != "f"]
    ids = page.locator("article.flip h3 a").all_inner_texts()
    assert set(ids) <= {one for one in ONLY_B if int(one[1:]) % 5 != 4 and int(one[1:]) % 7 != 6}
    first = article(page, next(one for one in ids if one in supported))
    # System 1 cites a sentence that is none; system 4 a passage around the first, which is shown whole.
    plain, around = first.locator(".side").nth(0), first.locator(".side").nth(1)
    assert plain.locator("blockquote").inner_text() == made.FIRST
    assert plain.locator("mark").count() == 0
    assert around.locator("blockquote").inner_text() == made.PASSAGE
    assert around.locator("mark").all_inner_texts() == [made.SENTENCE]
    assert around.locator("figcaption").inner_text().endswith("· holds evidence (made-v1)")
    assert around.locator("figcaption a").get_attribute("href").startswith("https://example.org/rocks/")
    assert first.locator(":scope > details summary").inner_text() == "Evidence that none of these passages holds: 1"
    first.locator(":scope > details summary").click()
    assert first.locator(":scope > details mark").all_inner_texts() == [made.LATE]


def test_evidence_that_a_clipped_passage_holds_further_on_is_shown_after_it(browser: Any, base: str) -> None:
    page, _ = look(browser, base, "&show=both&among=evidence%3A+supported", a="system-2")
    whole = page.locator("article.flip").first.locator(".side").first.locator("blockquote")
    assert whole.locator("mark").all_inner_texts() == [made.SENTENCE, made.LATE]
    assert whole.inner_text().endswith(f"… {made.LATE} …")
    assert len(whole.inner_text()) < 360


MARKS = """([start, end, text], spans) => compareMarks.marked(
  {quotes: [[0, start, end, text, null], ...spans.map(([from, to, said]) => [0, from, to, said, 'x-v1'])]}, 0)
  .map((piece) => typeof piece === 'string' ? piece : `[${piece.textContent}]`).join('')"""


MARKED: tuple[tuple[Any, Any, str], ...] = (
    ((0, 27, "One sentence. Two sentences"), [(0, 13, "One sentence.")], "[One sentence.] Two sentences"),
    ((4, 12, "sentence"), [(0, 13, "One sentence.")], "[sentence]"),
    ((4, 27, "sentence. Two sentences"), [(0, 13, "One sentence.")], "[sentence.] Two sentences"),
    ((0, 22, "One sentence. Two sent…"), [(14, 27, "Two sentences")], "One sentence. [Two sent]…"),
    ((0, 90, "One sentence…"), [(60, 70, "Far away.")], "One sentence… [Far away.] …"),
    (
        (0, 27, "One sentence. Two sentences"),
        [(0, 20, "One sentence. Two se"), (4, 27, "sentence. Two sentences")],
        "[One sentence. Two se][ntences]",
    ),
    ((0, 27, "One sentence. Two sentences"), [(27, 40, "Two sentences")], "One sentence. Two sentences"),
)
"""A quote with its place, spans of evidence, and the quote with its marks."""


def test_marks_know_evidence_by_its_place_and_its_words(browser: Any, base: str) -> None:
    page, _ = opened(browser, f"{base}hostile/compare.html")
    for quote, spans, expected in MARKED:
        assert page.evaluate(f"([quote, spans]) => ({MARKS})(quote, spans)", [quote, spans]) == expected, (quote, spans)
    page.context.close()


def test_questions_are_chosen_by_group_and_slice_and_the_address_keeps_both(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, "&show=only_second")
    page.locator("#among").select_option("kind: true_false")
    assert page.locator("#questions").inner_text() == "The questions: Only system-4 is right (kind: true_false)"
    wanted = [one for one in ONLY_B if int(one[1:]) % 3 == 0]
    page.locator("#flips [role=status]", has_text=f" of {len(wanted)} shown").wait_for()
    assert page.locator("article.flip h3 a").all_inner_texts() == wanted[:10]
    page.reload()
    page.wait_for_selector("article.flip")
    assert (page.locator("#show").input_value(), page.locator("#among").input_value()) == (
        "only_second",
        "kind: true_false",
    )
    query = parse_qs(urlsplit(page.url).query)
    assert (query["show"], query["among"]) == (["only_second"], ["kind: true_false"])
    assert troubles == []


def test_where_predictions_are_missing_the_page_says_so_once(browser: Any, base: str) -> None:
    page, troubles = look(browser, base, a="system-5")
    told = "The predictions of system-5 are not on this site"
    assert page.locator("#flips").inner_text().count(told) == 1
    first = page.locator("article.flip").first.locator(".side").first
    assert first.inner_text().split() == ["system-5:", "correct"]
    assert troubles == []


def test_no_comparison_is_wider_than_the_window_or_breaks_a_rule_of_axe(browser: Any, base: str) -> None:
    page, _ = look(browser, base, bypass_csp=True)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.wait_for_timeout(300)
    for width, scheme in ((390, "dark"), (1200, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
        page.emulate_media(media="print")
        assert page.locator("select:visible, button:visible").count() == 0
        assert page.locator("article.flip:visible").count() == 10
        page.emulate_media(media="screen")


@pytest.mark.parametrize("width", [390, pytest.param(1200, marks=pytest.mark.nightly)])
def test_hostile_names_harm_no_comparison(browser: Any, base: str, width: int) -> None:
    address = f"{base}hostile/compare.html?a=hostile-00&b=hostile-"
    page, troubles = opened(browser, "about:blank", viewport={"width": width, "height": 800})
    for other in ("04", "11", "13", "15"):
        page.goto(address + other)
        page.wait_for_selector("#flips #questions")
        assert page.evaluate("window.harmed === undefined")
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")  # layout may still be under way
        assert page.locator("main img, main script").count() == 0
    assert [trouble for trouble in troubles if not trouble.startswith(base)] == []
    page.context.close()
    page, _ = opened(browser, f"{address}16", viewport={"width": width, "height": 800}, bypass_csp=True)
    page.wait_for_selector("#flips #questions")
    assert violations(page) == []
