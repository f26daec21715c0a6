"""Nothing that was measured disappears: boards of old versions, moved scores, withdrawn systems, the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from axe_checks import page_violations
from fixture_history import LEDGER, OLD, write_versions
from hostile_board import HOSTILE, write_hostile
from real_browser import opened
from some_pages import BOARD, build_some

from edu_rag.errors import FaultsError
from edu_rag.names import Version
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.history.dataset_history import MAX_EVENTS, events_of, moves_of, tables_on, versions_of, withdrawn_of
from leaderboard.history.errata import Erratum, errata_beside, read_errata
from leaderboard.pages import history_page

KINDS = (*BOARD, history_page)
PAGES = ("history.html", "errata.html", "history/tqa-1.0.0.html")


BAD_LINKS = "Array.from(document.links, a => a.protocol).filter(p => !/^(file|https?|mailto):$/.test(p))"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_versions(tmp_path_factory.mktemp("history"))


@pytest.fixture(scope="module")
def site(results: Path) -> Path:
    return build_some(results, results.parent / "site", KINDS, errata=errata_beside(results))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_hostile(folder / "results")
    errata = [
        Erratum(
            id=f"entry-{at}",
            date=date(2026, 11, 1 + at),
            fault=text[:2000] + ".",
            done=text[:2000] + ".",
            page=text[:200] + ".",
            question=text[:200],
        )
        for at, text in enumerate(HOSTILE)
    ]
    return build_some(folder / "results", folder / "site", KINDS, errata=errata)


def test_versions_stand_newest_first_and_say_what_a_step_changed(results: Path) -> None:
    versions = versions_of(collect(results))
    assert [version.text for version in versions] == ["2.0.0", "1.1.0", "1.0.0"]
    assert [version.is_current for version in versions] == [True, False, False]
    steps = ["questions or gold changed", "pages, evidence or extraction changed", ""]
    assert [version.step for version in versions] == steps
    assert [len(version.results) for version in versions] == [1, 2, 3]


def test_a_version_s_board_has_its_own_results_and_ranks(results: Path) -> None:
    groups = collect(results)
    board = present(groups)
    old = versions_of(groups)[2]
    (table,) = tables_on(old, groups, board)
    assert [(row.result.card.system.slug, row.rank.text) for row in table.rows] == [
        ("gone", "1"),
        ("mover", "2"),
        ("same", "3"),
    ]
    assert {row.result.dataset.version for row in table.rows} == {(1, 0, 0)}
    kept = {row.result.card.system.slug: row.scorecard for row in table.rows}
    assert kept["mover"] == "data/tqa.v1.val/mover/earlier/1.0.0/scorecard.json"  # replaced by 1.1.0's
    assert kept["gone"] == "data/tqa.v1.val/gone/scorecard.json"  # still stands on the board


def test_the_newest_version_s_board_is_the_board_s_own_table(results: Path) -> None:
    groups = collect(results)
    board = present(groups)
    (table,) = tables_on(versions_of(groups)[0], groups, board)
    assert table.rows[0].rank is board.tables[0].rows[0].rank


def test_every_link_of_the_kept_boards_leads_to_a_file(site: Path, browser: Any) -> None:
    n_seen = 0
    for name in (*PAGES, "history/tqa-1.1.0.html", "history/tqa-2.0.0.html"):
        page, troubles = opened(browser, site / name)
        links = page.evaluate(
            "Array.from(document.querySelectorAll('header a[href], main a[href]'), a => a.href.split('#'))"
        )
        for address, *fragment in links:
            if address.startswith("file:"):
                path = Path(address.removeprefix("file://"))
                assert path.is_file(), (name, address)
                n_seen += 1
                if fragment and fragment[0] and path.suffix == ".html":
                    assert f'id="{fragment[0]}"' in path.read_text(encoding="utf-8"), (name, address, fragment)
        assert troubles == []
    assert n_seen > 40


def test_moved_scores_tell_old_new_and_why(results: Path) -> None:
    moves = moves_of(collect(results))
    told = [(m.old.card.dataset[:9], m.new.card.dataset[:9], round(m.difference, 3), m.n_other, m.why) for m in moves]
    assert told == [
        ("tqa@1.1.0", "tqa@2.0.0", -1.1, None, "other questions or gold"),
        ("tqa@1.0.0", "tqa@1.1.0", 0.3, 15, "answered again, on other pages"),
    ]


def test_answers_that_were_carried_over_were_not_given_on_other_pages(results: Path) -> None:
    move = moves_of(collect(results))[1]
    carried = replace(move.new, card=replace(move.new.card, made_on=move.old.card.dataset))
    assert move._replace(new=carried).why == "answers of an older version, scored again"


def test_a_patch_has_no_other_pages(results: Path) -> None:
    move = moves_of(collect(results))[1]
    patched = replace(move.new, dataset=move.old.dataset._replace(version=Version(1, 0, 1)))
    assert move._replace(new=patched).why == "answered again"


def test_the_page_says_the_moved_scores_as_the_scorecards_do(site: Path, browser: Any) -> None:
    page, troubles = opened(browser, site / "history.html")
    rows = page.locator("table.moves tbody tr").all_inner_texts()
    assert len(rows) == 2
    assert "1.0.0 → 1.1.0" in rows[1].replace("\n", " ")
    for words in ("0.200", "0.500", "+0.300", "15 of 100", "answered again"):
        assert words in rows[1]
    page.get_by_role("button", name="Difference").click()
    assert "1.0.0" in page.locator("table.moves tbody tr").first.inner_text()  # the largest first
    assert troubles == []


def test_a_withdrawn_system_stands_in_the_history_with_its_reason(site: Path, results: Path) -> None:
    text = unescape((site / "history.html").read_text(encoding="utf-8"))
    assert "It had seen the questions." in text
    assert [row.result.card.system.slug for _, row in withdrawn_of(present(collect(results)))] == ["gone"]


def test_the_ledger_names_what_was_wrong_and_links_to_it(site: Path, results: Path) -> None:
    errata = errata_beside(results)
    assert [erratum.id for erratum in errata] == ["gold-of-two-questions", "old-pages"]
    text = (site / "errata.html").read_text(encoding="utf-8")
    assert 'href="systems/tqa.v2.val/mover.html"' in text
    assert 'href="history/tqa-1.0.0.html"' in text
    assert 'href="https://example.org/why"' in text
    assert "<code>docs/results.md#the-key</code> in the repository" in text  # nobody said where that is
    assert errata[1].address("https://git.example/us/it/") == (
        "https://git.example/us/it/blob/HEAD/docs/results.md#the-key"
    )
    assert "Half of the pages were empty." in (site / "history/tqa-1.0.0.html").read_text(encoding="utf-8")


def test_without_a_ledger_there_is_no_page_of_corrections(results: Path, tmp_path: Path) -> None:
    site = build_some(results, tmp_path / "site", (history_page,))
    assert not (site / "errata.html").exists()
    assert "The ledger of corrections has no entry." in (site / "history.html").read_text(encoding="utf-8")


FAULTS = (
    ('id = "old-pages"', 'id = "Old pages"', 3, "is not 2-60 of a-z"),
    ('dataset = "tqa@1.0.0"', 'datset = "tqa@1.0.0"', 5, "did you mean 'dataset'?"),
    ('dataset = "tqa@1.1.0"', 'dataset = "tqa"', 13, "is not name@version"),
    ("date = 2026-11-12", 'date = "soon"', 4, "date"),
    ('fault = "Half of the pages were empty."', 'fault = " "', 6, "is blank"),
    ('link = "https://example.org/why"', 'link = "javascript:alert(1)"', 18, "neither a web address"),
    ('link = "https://example.org/why"', 'link = "../../etc/passwd"', 18, "neither a web address"),
    ('system = "mover"', "system = ", 14, "not TOML"),
)


@pytest.mark.parametrize(("old", "new", "line", "words"), FAULTS)
def test_a_fault_of_the_ledger_is_told_at_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert LEDGER.count(old) == 1
    path = tmp_path / "errata.toml"
    path.write_text(LEDGER.replace(old, new), encoding="utf-8")
    with pytest.raises(FaultsError) as caught:
        read_errata(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


def test_all_faults_of_the_ledger_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "errata.toml"
    text = LEDGER.replace('dataset = "tqa@1.0.0"', "").replace('fault = "The gold', 'flaw = "The gold')
    path.write_text(text.replace('"gold-of-two-questions"', '"old-pages"'), encoding="utf-8")
    with pytest.raises(FaultsError) as caught:
        read_errata(path)
    places = [str(fault).split(": ")[0].removeprefix(f"{path}:") for fault in caught.value.faults]
    assert places == ["2", "16", "10"] or places == ["3", "16", "10"]
    path.write_text(LEDGER.replace('"gold-of-two-questions"', '"old-pages"'), encoding="utf-8")
    with pytest.raises(FaultsError, match="is repeated"):
        read_errata(path)


def test_the_project_s_own_ledger_can_be_read() -> None:
    own = Path(__file__).resolve().parents[2] / "leaderboard" / "errata.toml"
    errata = read_errata(own)
    assert isinstance(errata, list | tuple)
    for erratum in errata:
        file, _, heading = erratum.link.partition("#")
        words = heading.replace("-", " ")
        lines = (own.parents[1] / file).read_text(encoding="utf-8").lower().replace(",", "").splitlines()
        assert any(line.lstrip("# ") == words for line in lines if line.startswith("#")), erratum.link


def test_events_are_newest_first_and_keep_their_names(results: Path) -> None:
    events = events_of(collect(results), errata_beside(results))
    assert [event.at for event in events] == sorted((event.at for event in events), reverse=True)
    names = [event.name for event in events]
    assert len(set(names)) == len(names) <= MAX_EVENTS
    assert {"erratum.old-pages", "version.tqa.1.1.0", "results.tqa.v1.val.1.0.0.2026-11-11"} <= set(names)
    by_name = {event.name: event for event in events}
    assert by_name["results.tqa.v1.val.1.1.0.2026-11-15"].text == "Scores, best first: The mover 0.500, same 0.000."
    assert by_name["version.tqa.2.0.0"].text == "tqa@2.0.0#2c3d4e5f. Against 1.1.0: questions or gold changed."


def test_no_page_of_the_history_breaks_a_rule_of_axe(browser: Any, site: Path) -> None:
    assert page_violations(browser, *(site / name for name in PAGES)) == {}


def test_hostile_names_run_nothing_and_stretch_no_page(browser: Any, hostile: Path, site: Path) -> None:
    page, troubles = opened(browser, hostile / PAGES[0])
    for path in (folder / name for name in PAGES for folder in (hostile, site)):
        page.goto(path.as_uri())
        for width in (320, 390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        assert page.evaluate("window.harmed === undefined")
        assert page.evaluate(BAD_LINKS) == []
    assert troubles == []
    page.context.close()


def test_without_scripts_and_on_paper_the_history_is_whole(browser: Any, site: Path) -> None:
    page, _ = opened(browser, site / "history.html", java_script_enabled=False)
    assert page.locator("table.versions tbody tr:visible").count() == 3
    assert page.locator("table.moves tbody tr:visible").count() == 2
    assert page.locator("button:visible").count() == 0
    page.emulate_media(media="print")
    assert page.locator("ol.events li:visible").count() == 9


def test_the_same_results_give_the_same_bytes(results: Path, site: Path, tmp_path: Path) -> None:
    again = build_some(results, tmp_path / "again", (history_page,), errata=errata_beside(results))
    for name in PAGES:
        assert (again / name).read_bytes() == (site / name).read_bytes()


def test_a_board_of_an_older_version_shows_badges_that_another_dataset_changes(tmp_path: Path) -> None:
    results, other = tmp_path / "results", "quiz@1.0.0#4e5f6a7b"
    made.write_card(results, made.card_of("one", "ci" * 30, team="team one", dataset=OLD))
    for slug in ("two", "four"):
        made.write_card(results, made.card_of(slug, "ci" * 20, team="team two", dataset=other))
    made.write_card(results, made.card_of("three", "cc" * 20, team="team 0ne", dataset=other))
    site = build_some(results, tmp_path / "site", (history_page,))
    assert "resembles “team 0ne”" in (site / "history/tqa-1.0.0.html").read_text(encoding="utf-8")


def test_every_row_of_a_kept_board_has_a_cell_under_each_header(site: Path, browser: Any) -> None:
    page, _ = opened(browser, site / "history/tqa-1.0.0.html")
    heads, rows = page.locator("table.board").evaluate(
        "t => [[...t.tHead.rows[0].cells].map(c => c.dataset.column),"
        " [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.dataset.column))]"
    )
    assert len(rows) == 3
    assert all(cells == heads for cells in rows)


def test_on_a_phone_no_cell_of_the_history_is_cut(site: Path, browser: Any) -> None:
    page, _ = opened(browser, site / "history.html", viewport={"width": 390, "height": 800})
    for table in ("versions", "moves"):
        boxes = page.locator(f"table.{table} tbody tr > *").evaluate_all(
            "cells => cells.map(c => { const b = c.getBoundingClientRect(); return [b.left, b.right, b.height]; })"
        )
        assert boxes
        assert all(left >= 0 and right <= 390 and height > 0 for left, right, height in boxes)
