"""The picture of link previews: of the right size, from the real rows, whatever the names are."""

from __future__ import annotations

import io
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import fixture_board as made
import pytest
from fixture_history import write_versions
from hostile_board import write_hostile
from some_pages import build_some

from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.pages import feed_and_llms_txt, history_page
from leaderboard.social import HEIGHT, N_ROWS, WIDTH, _Sheet, picture_of, shown_name, shown_table

image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("social")
    made.write_board(folder / "results")
    return folder / "results"


def test_the_picture_has_the_size_that_networks_ask_for_and_the_same_bytes_twice(results: Path) -> None:
    board = present(collect(results))
    data = picture_of(board)
    assert data == picture_of(board)
    opened = image.open(io.BytesIO(data))
    assert (opened.format, opened.size) == ("PNG", (WIDTH, HEIGHT)) == ("PNG", (1200, 630))
    assert len(data) < 300_000  # some readers take no more


def test_a_person_s_own_settings_move_no_byte(results: Path) -> None:
    import matplotlib as mpl

    board = present(collect(results))
    data = picture_of(board)
    with mpl.rc_context({"font.size": 30, "figure.dpi": 300, "savefig.bbox": "tight", "text.color": "red"}):
        assert picture_of(board) == data


def test_it_says_what_the_best_rows_say(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    draw = _Sheet.text

    def told(self: Any, x: float, y: float, text: str, *rest: Any, **more: Any) -> None:
        said.append(text)
        draw(self, x, y, text, *rest, **more)

    monkeypatch.setattr(_Sheet, "text", told)
    board = present(collect(results))
    picture_of(board)
    rows = [row for row in shown_table(board).rows if not row.withdrawn][:N_ROWS]
    assert len(rows) == N_ROWS
    for row in rows:
        at = said.index(row.name)
        assert said[at - 1] == row.rank.text
        assert said[at + 1] == f"{row.counts.score:.3f}".replace("-", "−")
    assert "GPT-4o + RAG" not in said  # withdrawn


def test_hostile_names_neither_crash_nor_warn(tmp_path: Path) -> None:
    write_hostile(tmp_path / "results")
    board = present(collect(tmp_path / "results"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in board.tables[0].rows:
            name = shown_name(row)
            assert 0 < len(name) <= 60
            assert name.isprintable()
        # Every one of them is withdrawn, and those are not drawn: take that back, and draw six at a time.
        free = []
        for row in board.tables[0].rows:
            card = replace(row.result.card, system=replace(row.result.card.system, withdrawn=""))
            free.append(replace(row, result=replace(row.result, card=card)))
        for at in range(0, len(free), N_ROWS):
            table = replace(board.tables[0], rows=free[at : at + N_ROWS])
            assert picture_of(replace(board, tables=[table])).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("检索增强问答系统", "my-system"),
        ("Z\u0300\u0301\u0302 system", "Z\u0300 system"),
        ("a\u202eb\x00c", "a b c"),
        ("naïve RAG 7B", "naïve RAG 7B"),
        ("Mixed 模 name here", "Mixed □ name here"),
    ],
)
def test_letters_that_the_font_lacks_become_boxes_and_a_name_of_boxes_the_slug(
    tmp_path: Path, name: str, shown: str
) -> None:
    made.write_card(tmp_path, made.card_of(name=name))
    found = shown_name(present(collect(tmp_path)).tables[0].rows[0])
    assert found == shown.replace("Z\u0300", "Z")


def test_a_long_name_is_cut_to_its_column() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.3), dpi=100)
    sheet: Any = _Sheet(figure)
    sheet.text(170, 300, "W" * 200, 27, width=490)
    (text,) = figure.axes[0].texts
    assert text.get_text().endswith("…")
    assert text.get_window_extent(sheet._renderer).width <= 490


def test_pages_name_the_picture_only_where_the_site_s_address_is_known(tmp_path: Path) -> None:
    results = write_versions(tmp_path)
    for url in ("", "https://board.example.org/"):
        site = build_some(results, tmp_path / f"site{len(url)}", (history_page, feed_and_llms_txt), base_url=url)
        text = (site / "history.html").read_text(encoding="utf-8")
        assert (site / "social.png").is_file()
        assert ('<meta property="og:image" content="https://board.example.org/social.png">' in text) == bool(url)
        assert '<meta property="og:title" content="History – EDU-RAG board">' in text
        assert ("twitter:card" in text) == bool(url)
