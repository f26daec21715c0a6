"""What a reader can do with the board: sort, filter, choose columns, share the address, go back; in a real browser."""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fixture_board as made
import pytest
from axe_checks import NIGHTLY
from real_browser import opened
from some_pages import build_some

from leaderboard.board.columns import COLUMNS

VAL = "[id='tqa.v1.val']"
FACTS: dict[str, dict[str, Any]] = {
    "open-one": {"runnable": True, "licence": "MIT", "models": ("Llama 3", "MiniLM")},
    "no-licence": {"runnable": True, "licence": " \u200b", "models": ("Llama 3",)},
    "answers": {"licence": "Apache-2.0", "models": ('GPT, "4" & more',)},
    "gone": {"runnable": True, "licence": "MIT", "withdrawn": "a mistake", "team": "Other"},
    "sighted": {"blind": True},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("controls")
    for number, (slug, facts) in enumerate(FACTS.items()):
        outcomes = "c" * (20 - number) + "i" * (5 * number) + "a" * (40 - 4 * number) + "u" * 10
        cost = {"latency_s": {"median": 0.5 + number, "source": "measured"}} if number else {}
        if number > 1:
            cost |= {"cost_usd": {"mean": number / 100}} if number < 4 else {"input_tokens": {"mean": 7}}
        made.write_card(folder / "results", made.card_of(slug, outcomes[:70], cost=cost, **({"team": "Ours"} | facts)))
        if number < 2:
            made.write_card(folder / "results", made.card_of(slug, "ci" * 20, split="test", **facts))
    return build_some(folder / "results", folder / "site")


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The board on a web host, as its readers have it."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/board.html"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def board(browser: Any) -> Any:
    """A page for tests that need no more of it than an address: to start one takes half of such a test's time."""
    page, _ = opened(browser, "about:blank", viewport={"width": 1280, "height": 900})
    return page


def names(page: Any, section: str = VAL) -> list[str]:
    return list(page.locator(f"{section} tbody tr:visible th > a").all_inner_texts())


def said(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def head(page: Any, column: str, section: str = VAL) -> Any:
    return page.locator(f"{section} thead th[data-column={column}]")


def values(page: Any, column: str) -> list[str]:
    cells = page.locator(f"{VAL} td[data-column={column}]")
    return [str(cell) for cell in cells.evaluate_all("cells => cells.map(cell => cell.textContent.split(' ')[0])")]


def test_sorting_by_click_and_by_keyboard_turns_the_rows_and_says_so(browser: Any, site: Path) -> None:
    page, troubles = opened(browser, site / "board.html")
    before = names(page)
    head(page, "accuracy").get_by_role("button").click()
    down = [float(value) for value in values(page, "accuracy")]
    assert down == sorted(down, reverse=True)
    assert head(page, "accuracy").get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert [float(value) for value in values(page, "accuracy")] == down[::-1]
    assert head(page, "accuracy").get_attribute("aria-sort") == "ascending"
    assert page.locator(f"{VAL} [aria-sort]").count() == 1
    assert head(page, "accuracy", "[id='tqa.v1.test']").get_attribute("aria-sort") == "ascending"  # every table
    head(page, "rank").get_by_role("button").click()
    assert names(page) == before
    assert troubles == []


def test_every_column_that_says_it_sorts_does_so(browser: Any, site: Path) -> None:
    every = ",".join(column.name for column in COLUMNS)
    page, _ = opened(
        browser, f"{(site / 'board.html').as_uri()}?columns={every}", viewport={"width": 2400, "height": 900}
    )
    for column in COLUMNS:
        button = head(page, column.name).get_by_role("button")
        assert button.count() == bool(column.sort)
        if column.sort:
            if column.name != "rank":
                button.click()
            assert head(page, column.name).get_attribute("aria-sort") == column.first
            button.click()
            assert head(page, column.name).get_attribute("aria-sort") != column.first


def test_values_that_are_missing_stay_last_and_units_stay_apart_in_both_directions(browser: Any, site: Path) -> None:
    page, _ = opened(browser, site / "board.html", viewport={"width": 1600, "height": 900})
    orders = {"median_latency_s": [], "cost": []}
    for column, found in orders.items():
        for _ in range(2):
            head(page, column).get_by_role("button").click()
            found.append([text.removesuffix("tokens") for text in values(page, column)])
    up, down = orders["median_latency_s"]
    assert up[-1] == down[-1] == "–"
    assert up[:-1] == down[-2::-1] == ["1.50", "2.50", "3.50", "4.50"]
    assert orders["cost"] == [["$0.020", "$0.030", "7", "–", "–"], ["$0.030", "$0.020", "7", "–", "–"]]


@pytest.mark.parametrize(
    ("label", "choice", "left"),
    [
        ("kind", "blind", ["sighted"]),
        ("kind", "runnable", ["open-one", "no-licence", "gone"]),
        ("kind", "handed in", ["answers", "sighted"]),
        ("kind", "withdrawn", ["gone"]),
        ("openness", "open", ["open-one", "gone"]),
        ("openness", "closed", ["no-licence", "answers", "sighted"]),
        ("model", "Llama 3", ["open-one", "no-licence"]),
        ("model", 'GPT, "4" & more', ["answers"]),
    ],
)
def test_a_filter_leaves_the_systems_that_it_names(
    browser: Any, board: Any, address: str, label: str, choice: str, left: list[str]
) -> None:
    page = board
    page.goto(address)
    page.locator(f"select[name={label}]").select_option(label=choice)
    assert sorted(names(page)) == sorted(left)
    assert f"{len(left)} of 5 systems" in page.locator(f"{VAL} .left").inner_text()
    page.goto(page.url)  # shared
    assert sorted(names(page)) == sorted(left)
    assert page.locator(f"select[name={label}]").evaluate("list => list.selectedOptions[0].text") == choice
    page.get_by_role("button", name="Show everything again").click()
    assert len(names(page)) == 5
    assert said(page) == {}


def test_the_page_says_what_is_open(browser: Any, site: Path) -> None:
    page, _ = opened(browser, site / "how.html")
    rule = "A system is open where its team declares a licence and hands it in as a program; any other is closed."
    assert rule in page.locator("#read").inner_text()


def test_typing_filters_by_name_and_team_and_says_how_many_are_left(browser: Any, site: Path) -> None:
    page, troubles = opened(browser, site / "board.html")
    page.get_by_label("Filter").fill("OURS one")
    assert names(page) == ["open-one"]
    assert page.get_by_role("status").inner_text() == "1 of 7 rows"
    page.get_by_label("Filter").fill("mistake")  # a badge, no name
    assert names(page) == []
    page.get_by_label("Filter").fill("")
    assert len(names(page)) == 5
    assert troubles == []


def test_the_address_holds_every_choice_and_the_back_button_takes_them_back(browser: Any, address: str) -> None:
    page, _ = opened(browser, address)
    page.locator("select[name=kind]").select_option(label="runnable")
    page.get_by_label("Filter").press_sequentially("ours")
    head(page, "missing").get_by_role("button").click()
    assert said(page) == {"kind": ["runnable"], "q": ["ours"], "sort": ["missing.ascending"]}
    shown = names(page)
    again, _ = opened(browser, page.url)
    assert names(again) == shown
    assert again.get_by_label("Filter").input_value() == "ours"
    assert head(again, "missing").get_attribute("aria-sort") == "ascending"
    page.go_back()
    assert said(page) == {"kind": ["runnable"], "q": ["ours"]}
    assert head(page, "rank").get_attribute("aria-sort") == "ascending"
    page.go_back()  # what was typed is one step
    assert said(page) == {"kind": ["runnable"]}
    assert page.get_by_label("Filter").input_value() == ""
    page.go_back()
    assert said(page) == {}
    assert len(names(page)) == 5
    page.go_forward()
    assert len(names(page)) == 3
    page.context.close()
    again.context.close()


def test_columns_are_chosen_by_keyboard_shared_and_taken_back(browser: Any, address: str) -> None:
    page, _ = opened(browser, address, viewport={"width": 1280, "height": 900})
    assert not head(page, "strict_score").is_visible()
    page.locator(".chooser summary").focus()
    page.keyboard.press("Enter")
    boxes = page.locator(".chooser input:checked")
    boxes.first.wait_for()
    usual = [box.get_attribute("value") for box in boxes.all()]
    assert "strict_score" not in usual
    assert "outcomes" in usual
    page.get_by_label("strict score").focus()
    page.keyboard.press("Space")
    page.locator(".chooser input[value=outcomes]").uncheck()
    assert head(page, "strict_score").is_visible()
    assert not head(page, "outcomes").is_visible()
    assert page.locator("td[data-column=outcomes]:visible").count() == 0
    assert page.locator("[data-column=rank]:visible, tbody th:visible").count() > 0
    page.keyboard.press("Escape")
    assert not page.locator(".chooser fieldset").is_visible()
    again, _ = opened(browser, page.url)
    assert head(again, "strict_score").is_visible()
    assert not head(again, "outcomes").is_visible()
    page.go_back()
    assert head(page, "outcomes").is_visible()
    page.locator(".chooser summary").click()
    page.get_by_role("button", name="Usual columns").click()
    assert [box.get_attribute("value") for box in page.locator(".chooser input:checked").all()] == usual
    assert said(page) == {}
    page.context.close()
    again.context.close()


def test_every_column_of_the_chooser_hides_its_own_cells_alone(browser: Any, site: Path) -> None:
    own = [column.name for column in COLUMNS if not column.is_fixed]
    page, _ = opened(browser, site / "board.html")
    for name in own if NIGHTLY else random.Random("columns").sample(own, 5):
        others = ",".join(other for other in own if other != name)
        page.goto(f"{(site / 'board.html').as_uri()}?columns={others}")
        seen = page.locator(f"{VAL} thead th:visible").evaluate_all("heads => heads.map(head => head.dataset.column)")
        assert seen == [column.name for column in COLUMNS if column.name != name]
    page.context.close()


def test_an_address_that_makes_no_sense_breaks_nothing(browser: Any, site: Path) -> None:
    page, troubles = opened(browser, site / "board.html")
    for query in (
        "sort=nothing.up",
        "sort=links.ascending",
        "kind=%3Cscript%3E",
        "columns=,x,%00",
        "model=%FF&q=%00",
        "sort",
    ):
        page.goto(f"{(site / 'board.html').as_uri()}?{query}")
        assert page.locator("[aria-sort]").count() == 2, query
        assert troubles == [], query
    page.context.close()


def test_a_table_alone_keeps_what_its_address_says_and_leads_to_the_board(
    browser: Any, site: Path, address: str
) -> None:
    page, _ = opened(
        browser,
        address.replace("board.html", "embed/tqa.v1.val.html?kind=runnable&sort=score.ascending"),
        viewport={"width": 500, "height": 400},
    )
    assert names(page, "section") == ["gone", "no-licence", "open-one"]
    assert page.locator(".tools, nav, footer").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
    (site / "host.html").write_text("<!doctype html><title>A host</title><iframe src='embed/tqa.v1.val.html'></iframe>")
    page, _ = opened(browser, address.replace("board.html", "host.html"))  # somebody else's page: ours forbid frames
    page.frame_locator("iframe").get_by_role("link", name="EDU-RAG board").click()
    page.wait_for_url("**/board.html#tqa.v1.val")
    page.context.close()
