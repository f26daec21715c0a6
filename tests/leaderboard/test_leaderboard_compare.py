"""The compare page's numbers are those of `edu-rag compare`, and every pair of the best stands on the page itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from click.testing import CliRunner
from fixture_compare import write_answers, write_exam
from some_pages import build_some

from edu_rag.comparing.pair_sentences import filled
from edu_rag.scorecard.slices import slice_keys
from harness.commands.compare_command import compare as compare_command
from harness.comparing.compare import Choice, compare
from harness.exam import open_exam
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.exams import SiteExam, open_exams
from leaderboard.pages import assets, board_page, compare_systems_page
from leaderboard.questions.question_slices import attributes_of

TABLE = "tqa.v1.val"
LESSONS = tuple(at // 7 for at in range(210))


def letters(number: int) -> str:
    shares = (50 + 4 * number, 40 - 4 * number, 6, 3, 1)
    return made.outcomes_of(shares, 210, seed=number)


def write_results(folder: Path, n: int = 6, **changes: Any) -> Path:
    """Systems on 210 questions in 30 lessons, one of them handed in twice under two names."""
    for number in range(n):
        slug = f"system-{number}"
        made.write_card(folder, made.card_of(slug, letters(number), lessons=LESSONS, slices=(), **changes))
    made.write_card(folder, made.card_of("twin-of-0", letters(0), lessons=LESSONS, slices=(), **changes))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compare")
    results = write_results(folder / "results")
    return results, build_some(results, folder / "site", (compare_systems_page, assets))


def said(*paths: Path) -> dict[str, Any]:
    """What `edu-rag compare --json` prints."""
    done = CliRunner().invoke(compare_command, [*map(str, paths), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def scorecard(results: Path, slug: str) -> Path:
    return results / "tqa-1.0.0/val" / slug / "scorecard.json"


def pair_file(site: Path, slug: str) -> dict[str, Any]:
    return dict(json.loads((site / f"pairs/{TABLE}/{slug}.json").read_bytes()))


LETTERS = {**{f"system-{number}": letters(number) for number in range(6)}, "twin-of-0": letters(0)}
SLUGS = list(LETTERS)


def test_every_number_of_a_pair_is_that_of_compare(folders: tuple[Path, Path]) -> None:
    results, site = folders
    index = json.loads((site / "data/compare.json").read_bytes())["tables"][0]
    scores = {system["slug"]: system["rates"]["score"] for system in index["systems"]}
    for a in SLUGS:
        found = pair_file(site, a)
        assert sorted(found["with"]) == sorted(set(SLUGS) - {a})
        for at, b in enumerate(found["with"]):
            told = said(scorecard(results, a), scorecard(results, b))
            strict = told["strict"]
            mine = {name: values[at] for name, values in found.items() if isinstance(values, list)}
            assert (told["first"], told["second"], told["n"]) == (a, b, index["n"])
            assert (told["n_units"], told["interval_method"]) == (index["n_units"], index["interval_method"])
            assert told["score"] == [scores[a], scores[b]]
            assert (mine["difference"], mine["p"]) == (told["score_difference"], told["sign_flip_p"])
            assert [mine["low"], mine["high"]] == told["interval"]
            assert (mine["strict_difference"], mine["strict_p"]) == (strict["score_difference"], strict["sign_flip_p"])
            assert [mine["strict_low"], mine["strict_high"]] == strict["interval"]
            assert mine["mcnemar_p"] == told["mcnemar_p"]
            assert (mine["first_only"], mine["second_only"]) == (len(told["only_first"]), len(told["only_second"]))
            assert mine["detectable"] == told["smallest_detectable_difference"]


def filled_texts(found: dict[str, Any], at: int, names: tuple[str, str]) -> dict[str, Any]:
    """What the page's script makes of a pair's file: templates with the texts of the pair in them."""
    ahead, behind = names if found["difference"][at] > 0 else names[::-1]
    fields = {name: texts if isinstance(texts, str) else texts[at] for name, texts in found["shown"].items()}
    fields |= {"first": names[0], "second": names[1], "ahead": ahead, "behind": behind}
    said = {name: found["texts"][found[name][at]].format_map(fields) for name in ("lead", "because")}
    return said | {"remarks": [found["texts"][number].format_map(fields) for number in found["remarks"][at]]}


def test_every_sentence_of_a_pair_is_that_of_compare(folders: tuple[Path, Path]) -> None:
    results, site = folders
    for a in SLUGS:
        found = pair_file(site, a)
        for at, b in enumerate(found["with"]):
            said = filled_texts(found, at, (a, b))
            theirs = filled(compare(scorecard(results, a), scorecard(results, b), Choice(None, None, None)), a, b)
            assert (said["lead"], said["because"]) == (theirs.lead, theirs.because)
            assert said["remarks"][:-1] == list(theirs.remarks[:-1])
            same, _, _ = theirs.remarks[-1].partition(" (edu-rag compare")
            assert said["remarks"][-1].startswith(f"{same}. After Holm's correction over all 21 pairs")
            shown = found["shown"]["p"]
            assert (shown if isinstance(shown, str) else shown[at]) == f"{found['p'][at]:.2g}"
            assert f"{found['p_holm'][at]:.2g}" in said["remarks"][-1]


def test_templates_and_texts_of_all_pairs_are_stored_once(folders: tuple[Path, Path]) -> None:
    found = pair_file(folders[1], "system-0")
    assert len(set(found["texts"])) == len(found["texts"]) < 12
    assert found["shown"]["n_pairs"] == "21"
    assert len(found["shown"]["difference"]) == len(found["with"])


def test_holms_p_is_that_of_compare_over_all_systems_of_the_table(folders: tuple[Path, Path]) -> None:
    results, site = folders
    table = said(*(scorecard(results, slug) for slug in SLUGS))
    assert len(table["pairs"]) == json.loads((site / "data/compare.json").read_bytes())["tables"][0]["n_pairs"] == 21
    for pair in table["pairs"]:
        a, b = SLUGS[pair["first"]], SLUGS[pair["second"]]
        for first, second in ((a, b), (b, a)):
            found = pair_file(site, first)
            at = found["with"].index(second)
            assert found["p_holm"][at] == pair["sign_flip_p_holm"]
            assert found["mcnemar_p_holm"][at] == pair["mcnemar_p_holm"]


def test_a_difference_of_nothing_has_no_sign_and_no_detectable_size(folders: tuple[Path, Path]) -> None:
    for a, b in (("system-0", "twin-of-0"), ("twin-of-0", "system-0")):
        raw = (folders[1] / f"pairs/{TABLE}/{a}.json").read_text()
        found = pair_file(folders[1], a)
        at = found["with"].index(b)
        assert (found["difference"][at], found["low"][at], found["high"][at], found["p"][at]) == (0, 0, 0, 1)
        assert found["detectable"][at] is None
        assert "-0.0," not in raw


def test_the_outcomes_of_a_system_stand_in_its_file(folders: tuple[Path, Path]) -> None:
    assert pair_file(folders[1], "system-3")["outcomes"] == letters(3)


def test_scorecards_without_lessons_are_compared_by_question(tmp_path: Path) -> None:
    cards = [made.card_of(f"system-{number}", letters(number)) for number in range(3)]
    for card in cards:
        made.write_card(tmp_path / "results", card)
    site = build_some(tmp_path / "results", tmp_path / "site", (compare_systems_page,))
    for a in ("system-0", "system-2"):
        found = pair_file(site, a)
        for at, b in enumerate(found["with"]):
            told = said(scorecard(tmp_path / "results", a), scorecard(tmp_path / "results", b))
            assert [found["low"][at], found["high"][at]] == told["interval"]
            assert (found["p"][at], found["mcnemar_p"][at]) == (told["sign_flip_p"], told["mcnemar_p"])
    index = json.loads((site / "data/compare.json").read_bytes())["tables"][0]
    assert (index["n_units"], index["interval_method"]) == (210, "bootstrap-exact-v1")
    assert pair_file(site, "system-0")["notes"] == [[], []]


def test_lessons_that_differ_are_a_caveat_and_are_not_used(tmp_path: Path) -> None:
    cards = [
        made.card_of("system-1", letters(1), lessons=LESSONS),
        made.card_of("system-2", letters(2), lessons=tuple(at // 10 for at in range(210))),
    ]
    for card in cards:
        made.write_card(tmp_path / "results", card)
    site = build_some(tmp_path / "results", tmp_path / "site", (compare_systems_page,))
    index = json.loads((site / "data/compare.json").read_bytes())["tables"][0]
    assert index["n_units"] == 210
    found = pair_file(site, "system-1")
    assert found["texts"][found["notes"][0][0]].startswith("the scorecards state different lessons")
    told = said(*(scorecard(tmp_path / "results", f"system-{number}") for number in (1, 2)))
    assert [pair_file(site, "system-1")["low"][0], pair_file(site, "system-1")["high"][0]] == told["interval"]


def test_without_scripts_the_page_holds_every_pair_of_the_best_and_all_neighbours(folders: tuple[Path, Path]) -> None:
    page = (folders[1] / "compare.html").read_text()
    links = re.findall(r'href="compare\.html\?table=([^"&]+)&amp;a=([^"&]+)&amp;b=([^"&]+)"', page)
    assert {table for table, _, _ in links} == {TABLE}
    pairs = [frozenset((a, b)) for _, a, b in links]
    assert len(set(pairs)) == 21
    assert len(pairs) == 21 + 6
    matrix = page[page.index('<table class="pairs">') : page.index("</table>")]
    found = pair_file(folders[1], "system-5")
    at = found["with"].index("system-0")
    cell = re.search(r'a=system-5&amp;b=system-0".*?</td>', matrix, re.DOTALL)
    assert cell is not None
    assert f"p {found['p_holm'][at]:.2g}" in cell[0]
    assert f"{found['low'][at]:.3f} to {found['high'][at]:.3f}" in cell[0].replace("\u2212", "-")
    assert (f"<strong>{found['difference'][at]:.3f}</strong>" in cell[0]) == (found["p_holm"][at] <= 0.05)


def test_a_large_table_shows_the_best_ten_and_all_neighbours(tmp_path: Path) -> None:
    made.write_board(tmp_path / "results")
    site = build_some(tmp_path / "results", tmp_path / "site", (compare_systems_page,))
    page = (site / "compare.html").read_text()
    first = page[page.index('id="tqa.v1.val"') : page.index('id="tqa.v1.test')]
    assert "The best 10 of 14 systems" in first
    assert first.count("compare.html?table") == 45 + 13
    assert (site / "pairs/tqa.v1.test.stratified-500-seed-0/blind-a.json").is_file()


def test_the_neighbours_of_a_system_are_those_above_and_below(tmp_path: Path) -> None:
    table = present(collect(write_results(tmp_path / "results"))).tables[0]
    slugs = [row.result.card.system.slug for row in table.rows]
    for at, row in enumerate(table.rows):
        found = compare_systems_page.neighbour_links(table, row)
        assert [other.result.card.system.slug for other, _ in found] == [
            slugs[place] for place in (at - 1, at + 1) if 0 <= place < len(slugs)
        ]
        assert all(link.startswith(f"compare.html?table={TABLE}&a={slugs[at]}&b=") for _, link in found)


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> SiteExam:
    dataset = write_exam(tmp_path_factory.mktemp("exam") / "dataset")
    return open_exams([dataset.folder])["tqa", 1, "val"]


@pytest.mark.parametrize("sample", [None, "stratified-60-seed-3"])
def test_slices_are_those_of_a_scorecard(exam: SiteExam, sample: str | None) -> None:
    theirs = open_exam(exam.dataset, "val", sample)
    expected: dict[tuple[str, str], list[int]] = {}
    for place, question in enumerate(theirs.questions):
        for key in slice_keys(question, theirs.support):
            expected.setdefault(key, []).append(place)
    found = {
        (one.attribute, value): [place for place, digit in enumerate(one.at) if digit == str(number)]
        for one in attributes_of(exam, exam.ids(sample))
        for number, value in enumerate(one.values)
    }
    whole = len(theirs.questions)
    assert found == {key: held for key, held in expected.items() if key[0] != "lesson" and len(held) < whole}
    assert ("leak", "leaked") in found or sample


def test_the_index_says_where_questions_and_answers_are(exam: SiteExam, tmp_path: Path) -> None:
    write_answers(tmp_path / "results", exam.dataset, {"one": letters(1), "two": letters(2)}, without="two")
    for slug in ("three", "four"):
        card = made.card_of(slug, letters(1), dataset=exam.dataset.id, sample="stratified-9999-seed-0")
        made.write_card(tmp_path / "results", card)
    site = build_some(tmp_path / "results", tmp_path / "site", (compare_systems_page,), exams={exam.key: exam})
    tables = {table["id"]: table for table in json.loads((site / "data/compare.json").read_bytes())["tables"]}
    known, strange = tables[TABLE], tables[f"{TABLE}.stratified-9999-seed-0"]
    assert (known["questions"], known["slices"]) == ("questions/tqa-v1-val/index.json", f"data/{TABLE}/slices.json")
    assert {system["slug"]: system["answers"] for system in known["systems"]} == {"one": True, "two": False}
    assert json.loads((site / known["slices"]).read_bytes())["format"] == "edu-rag-slices-v1"
    assert (strange["questions"], strange["slices"]) == (None, None)  # more questions than the split has


def test_a_board_without_a_pair_has_no_compare_page(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("alone"))
    site = build_some(tmp_path / "results", tmp_path / "site", (board_page, compare_systems_page))
    assert not (site / "compare.html").exists()


def test_names_in_the_index_are_clipped_and_hold_nothing_that_a_page_cannot(tmp_path: Path) -> None:
    for slug in ("one", "two"):
        made.write_card(tmp_path / "results", made.card_of(slug, letters(1), name="x\u202e\x00" + "y" * 9_999))
    site = build_some(tmp_path / "results", tmp_path / "site", (compare_systems_page,))
    system = json.loads((site / "data/compare.json").read_bytes())["tables"][0]["systems"][0]
    assert len(system["name"]) == 80
    assert system["name"].startswith("x\ufffd\ufffdyy")
