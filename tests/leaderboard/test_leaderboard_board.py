"""The command, its site, and that every number of it is the scorecards'."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
from functools import cache
from pathlib import Path

import fixture_board as made
import pytest
from bs4 import BeautifulSoup, Tag
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from edu_rag.errors import EduRagError
from edu_rag.look import matplotlib_svg
from edu_rag.look.texts import percent, plain, safe_link, signed
from edu_rag.scorecard.card import CAUSES, OUTCOMES, ScoreCard
from edu_rag.statistics import rank_groups
from harness.scoring import attribution
from leaderboard.board.export_board import RATE_NAMES, csv_text
from leaderboard.commands import board as command


def build(results: Path, site: Path, *options: str, plots: bool = False) -> str:
    """`edu-rag board`; without plots as on a machine without matplotlib: drawing takes half of a small build's time."""
    with pytest.MonkeyPatch.context() as patch:
        if not plots:
            patch.setattr(matplotlib_svg, "find_spec", lambda _: None)
        return CliRunner().invoke(command, [str(results), "--out", str(site), *options], catch_exceptions=False).stdout


@cache
def _soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def soup_of(path: Path) -> BeautifulSoup:
    """A page, parsed once for all tests that look at it; none of them changes it."""
    return _soup(path.read_text(encoding="utf-8"))


def bytes_of(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def cell(row: Tag, column: str) -> Tag:
    return row.select_one(f"td[data-column={column}]")


def shown(row: Tag, column: str) -> str:
    """What a cell says of all questions; what it says of the clean ones stands below."""
    return str(next(cell(row, column).stripped_strings))


@pytest.fixture(scope="module")
def made_board(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ScoreCard]]:
    folder = tmp_path_factory.mktemp("board")
    cards = made.write_board(folder / "results")
    build(folder / "results", folder / "site", plots=True)
    return folder / "site", cards


def rows_of(site: Path, cards: list[ScoreCard]) -> list[tuple[Tag, ScoreCard]]:
    by_place = {(card.split, card.system.slug): card for card in cards}
    pairs = []
    for row in soup_of(site / "board.html").select("table.board tbody tr"):
        table, slug = row.select_one("th a")["href"].removeprefix("systems/").removesuffix(".html").split("/")
        pairs.append((row, by_place[table.split(".")[2], slug]))
    return pairs


def test_bars_have_the_widths_and_the_words_of_the_counts(made_board: tuple[Path, list[ScoreCard]]) -> None:
    for row, card in rows_of(*made_board):
        parts = {part["class"][0][2:]: float(part["width"]) for part in row.select("svg.outcomes rect")}
        for outcome in OUTCOMES:
            share = getattr(card.counts, outcome) / card.counts.n
            assert parts.get(outcome, 0.0) == pytest.approx(100 * share, abs=0.006)
            words = f"{outcome} {getattr(card.counts, outcome)} ({percent(share)} %)"
            assert words in row.select_one("svg.outcomes title").text
        of_table = [other for other in made_board[1] if (other.split, other.sample) == (card.split, card.sample)]
        ends = [0.0, *(end for other in of_table for end in (*other.intervals["score"], other.counts.score))]
        low, high = math.floor(10 * min(ends)) / 10, math.ceil(10 * max(ends)) / 10
        at = 200 * (card.counts.score - low) / (high - low)
        assert float(row.select_one("svg.interval line.at")["x1"]) == pytest.approx(at, abs=0.006)


def test_every_number_of_a_system_page_is_the_scorecards(made_board: tuple[Path, list[ScoreCard]]) -> None:
    site, cards = made_board
    for card in cards:
        table = "tqa.v1." + card.split + (f".{card.sample}" if card.sample else "")
        page = soup_of(site / "systems" / table / f"{card.system.slug}.html")
        for name in (*OUTCOMES, *RATE_NAMES):
            value = getattr(card.counts, name)
            assert page.select_one(f"td[data-column={name}]")["data-value"] == ("" if value is None else str(value))
        lines = page.select("table.slices tbody tr")
        assert len(page.select("details:has(table.slices)")) == 1  # the twenty lessons
        assert len(page.select("details table.slices tbody tr")) == 20
        assert [line.select("td.num")[0]["data-value"] for line in lines] == [str(s.counts.n) for s in card.slices]
        assert [line.select("td.num")[1].text for line in lines] == [signed(s.counts.score) for s in card.slices]


def test_rows_are_ordered_by_tie_group_class_and_score(made_board: tuple[Path, list[ScoreCard]]) -> None:
    site, cards = made_board
    for split in ("val", "test"):
        ranked = [(shown(row, "rank"), card) for row, card in rows_of(site, cards) if card.split == split]
        firsts = rank_groups([card.outcomes for _, card in ranked])
        order = [(rank, card.reported, -card.counts.score) for rank, (_, card) in zip(firsts, ranked, strict=True)]
        assert order == sorted(order)
        assert {reported for _, reported, _ in order} == {False, True}
        assert [int(text.split("–")[0]) for text, _ in ranked] == firsts
        for text, _ in ranked:
            first, _, last = text.partition("–")
            assert firsts.count(int(first)) == int(last or first) - int(first) + 1
    assert any("–" in cell(row, "rank").text for row, _ in rows_of(site, cards))


def test_csv_and_json_hold_the_same_rows_as_the_page(made_board: tuple[Path, list[ScoreCard]]) -> None:
    site, cards = made_board
    lines = list(csv.DictReader(io.StringIO((site / "board.csv").read_text(encoding="utf-8"))))
    values = json.loads((site / "board.json").read_bytes())
    rows = [row for table in values["tables"] for row in table["rows"]]
    assert len(lines) == len(rows) == len(cards)
    for line, row, (_, card) in zip(lines, rows, rows_of(site, cards), strict=True):
        assert line["slug"] == row["slug"] == card.system.slug
        assert float(line["score"]) == row["score"] == card.counts.score
        assert int(line["abstained"]) == row["abstained"] == card.counts.abstained
        assert line["models"] == " | ".join(row["models"]) == " | ".join(card.system.models)
    assert parquet.read_table(site / "board.parquet").to_pylist() == rows


def test_downloads_are_the_files_themselves_and_every_relative_link_leads_somewhere(
    made_board: tuple[Path, list[ScoreCard]],
) -> None:
    site, _ = made_board
    for page in site.rglob("*.html"):
        soup = soup_of(page)
        ids = {tag["id"] for tag in soup.select("[id]")}
        for tag in soup.select("[href], [src]"):
            address = tag.get("href") or tag.get("src")
            if address.startswith("#"):
                assert address[1:] in ids
            elif not address.startswith("https://example.org/"):
                assert (page.parent / re.split("[#?]", address)[0]).is_file(), address
    copied = site / "data" / "tqa.v1.val" / "llama2" / "scorecard.json"
    assert copied.read_bytes() == (site.parent / "results/tqa-1.0.0/val/llama2/scorecard.json").read_bytes()


def test_the_page_says_what_it_can_tell_apart_and_what_blind_systems_score(
    made_board: tuple[Path, list[ScoreCard]],
) -> None:
    text = " ".join(soup_of(made_board[0] / "board.html").select_one("[id='tqa.v1.val']").text.split())
    assert re.search(r"With 1,255 questions, the smallest score difference .* is about 0\.\d{3};", text)
    assert "as their teams declare (blind), score Always abstain (EDU-RAG baselines) 0.000" in text
    assert "Always the longest choice (EDU-RAG baselines) −0." in text


def test_many_systems_that_call_themselves_blind_are_counted_not_named(tmp_path: Path) -> None:
    for number in range(13):
        card = made.card_of(f"blind-{number:02}", "ci" * 20, name=f"Blind {number:02}", blind=True)
        made.write_card(tmp_path / "results", card)
    build(tmp_path / "results", tmp_path / "site")
    text = " ".join(soup_of(tmp_path / "site" / "board.html").select_one("section").text.split())
    assert "and 3 more." in text
    assert text.count("Blind 09 (") == 1
    assert "Blind 10 (" not in text


def test_no_page_asks_a_third_party_for_anything_and_all_forbid_inline_code(
    made_board: tuple[Path, list[ScoreCard]],
) -> None:
    for page in made_board[0].rglob("*.html"):
        soup = soup_of(page)
        policy = soup.select_one("meta[http-equiv=Content-Security-Policy]")["content"]
        assert policy.startswith(
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self';"
        )
        assert not soup.select("[style], style, iframe, object, embed, form, base")
        assert not [tag for tag in soup.find_all(True) if any(name.startswith("on") for name in tag.attrs)]
        assert all(re.search(r"assets/[a-z_]+\.js$", tag["src"]) and not tag.text for tag in soup.select("script"))
        loaded = [tag["href"] for tag in soup.select("link")] + [tag["src"] for tag in soup.select("[src]")]
        assert not [address for address in loaded if re.match(r"[a-z]+:|//", address)]
    for asset in (made_board[0] / "assets").iterdir():
        if asset.suffix == ".woff2" or asset.name == "inter-licence.txt":
            continue  # loads nothing
        text = asset.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        for ours in ('url("inter-latin.woff2")', 'url("icon.svg")'):
            text = text.replace(ours, "")
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text), asset


def test_same_scorecards_same_bytes_whatever_the_order_clock_and_folder(
    made_board: tuple[Path, list[ScoreCard]], tmp_path: Path
) -> None:
    site, _ = made_board
    paths = sorted((site.parent / "results").rglob("*"), reverse=True)
    for path in (path for path in paths if path.is_file()):
        target = tmp_path / "elsewhere" / "b" / path.relative_to(site.parent / "results")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    # Another folder, with an earlier site in it.
    shutil.copytree(site, tmp_path / "elsewhere" / "site-b")
    build(tmp_path / "elsewhere" / "b", tmp_path / "elsewhere" / "site-b", plots=True)
    assert bytes_of(site) == bytes_of(tmp_path / "elsewhere" / "site-b")


def test_json_on_stdout_is_board_json_and_the_table_names_every_system(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", "cccii"))
    made.write_card(tmp_path / "results", made.card_of("two", "caaaa", name="\x1b[31mred\u202e"))
    assert json.loads(build(tmp_path / "results", tmp_path / "site", "--json")) == json.loads(
        (tmp_path / "site/board.json").read_bytes()
    )
    table = build(tmp_path / "results", tmp_path / "site")
    assert "one" in table
    assert "\x1b" not in table
    assert "\u202e" not in table


def test_majors_splits_and_samples_never_share_a_table(tmp_path: Path) -> None:
    results = tmp_path / "results"
    made.write_card(results, made.card_of("one", "cccii"))
    made.write_card(results, made.card_of("one", "ccc", dataset="tqa@2.0.0#99999999"))
    made.write_card(results, made.card_of("one", "cci", split="test"))
    made.write_card(results, made.card_of("one", "ci", sample="stratified-2-seed-0"))
    build(results, tmp_path / "site")
    ids = [section["id"] for section in soup_of(tmp_path / "site/board.html").select("section:has(table)")]
    assert ids == ["tqa.v2.val", "tqa.v1.test", "tqa.v1.val", "tqa.v1.val.stratified-2-seed-0"]


def test_results_under_different_rules_never_share_a_table(tmp_path: Path) -> None:
    results, odd = tmp_path / "results", "answers-v3 + free-text-v2 by <b>../model</b>"
    made.write_card(results / "old", made.card_of("one", "cccii"))
    made.write_card(results / "new", made.card_of("one", "ccci", answers_rule="answers-v4"))
    made.write_card(results / "judged", made.card_of("one", "cci", answers_rule=odd))
    build(results, tmp_path / "site")
    ids = [section["id"] for section in soup_of(tmp_path / "site/board.html").select("section:has(table)")]
    assert ids[:1] + ids[2:] == ["tqa.v1.val", "tqa.v1.val.answers-v4"]
    assert ids[1].startswith("tqa.v1.val.answers-v3-free-text-v2-by-b-model-b-")
    assert (tmp_path / "site" / "systems" / ids[1] / "one.html").is_file()


def test_a_system_page_shows_every_further_field_under_human_names(tmp_path: Path) -> None:
    card = made.card_of(
        "one",
        "cccii",
        attribution={"evidence_not_found": 2, "not_used": 0},
        probes={"no-context": {"n": 5, "on": True}},
        retrieval={
            "n_citing": 1234,
            "metrics": {"P@5": 0.25, "MRR": None},
            "intervals": {"P@5": [0.125, 0.5], "R@5": [0.5, 0.75]},
        },
        confidence={"ece": 0.1, "bins": [{"n": 1}]},
        made_on="tqa@0.9.0",
    )
    made.write_card(tmp_path / "results", card)
    build(tmp_path / "results", tmp_path / "site")
    page = soup_of(tmp_path / "site/systems/tqa.v1.val/one.html")
    section = page.select_one("section[aria-labelledby=details-heading]")
    rows = [(row.th.text, row.td.text) for row in section.select("tbody tr")]
    assert rows == [
        ("answers that cite", "1,234"),
        ("MRR", "none"),
        ("95 % interval · Recall at 5", "0.5 … 0.75"),
        ("no-context · questions", "5"),
        ("no-context · on", "True"),
        ("calibration error (ECE)", "0.1"),
    ]
    causes = [(row.code.text, row.select_one(".under").text, row.td.text) for row in page.select("#losses tbody tr")]
    assert causes == [
        ("evidence_not_found", "no evidence was found in its pages, which may still have some", "2"),
        ("not_used", "evidence was cited, and the answer is wrong", "0"),
    ]
    (metric,) = page.select("table.retrieved tbody tr")
    assert " ".join(metric.get_text(" ").split()).startswith("Precision share of the first k passages")
    assert " ".join(metric.td.get_text(" ").split()) == "0.250 [0.125, 0.500]"
    assert "tqa@0.9.0, whose pages are others" in page.text
    badges = soup_of(tmp_path / "site/board.html").select("table.board .badge")
    (stale,) = [tag for tag in badges if tag.text == "stale"]
    assert stale["title"] == "Its answers were given on an older version of the dataset: tqa@0.9.0"


def test_a_system_page_shows_at_most_200_rows_of_a_field(tmp_path: Path) -> None:
    many = {f"probe-{number}": number for number in range(300)}
    made.write_card(tmp_path / "results", made.card_of("one", "cc", probes=many))
    build(tmp_path / "results", tmp_path / "site")
    page = soup_of(tmp_path / "site/systems/tqa.v1.val/one.html")
    assert len(page.select("section[aria-labelledby=details-heading] tbody tr")) == 200


def test_a_newer_minor_version_takes_the_row_and_the_earlier_result_stays_on_the_page(tmp_path: Path) -> None:
    results = tmp_path / "results"
    made.write_card(results, made.card_of("one", "cciii"))
    made.write_card(results, made.card_of("one", "cccci", dataset="tqa@1.1.0#99999999"))
    made.write_card(results, made.card_of("two", "aaaaa"))
    build(results, tmp_path / "site")
    rows = {row.th.a.text: row for row in soup_of(tmp_path / "site/board.html").select("table.board tbody tr")}
    assert cell(rows["one"], "score").strong.text == "0.600"
    assert "stale" in rows["two"].text
    assert "stale" not in rows["one"].text
    (row,) = soup_of(tmp_path / "site/systems/tqa.v1.val/one.html").select("#history tbody tr:nth-child(2)")
    assert (row.th.text, row.td.find_next_sibling("td").find_next_sibling("td").contents[0]) == (
        "tqa@1.0.0#0a1b2c3d",
        "−0.200",
    )


def test_the_footer_says_when_from_the_newest_scorecard(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", "c", scored_at="2026-01-02T03:04:05+01:00"))
    made.write_card(tmp_path / "results", made.card_of("two", "c", scored_at=""))
    build(tmp_path / "results", tmp_path / "site")
    footer = soup_of(tmp_path / "site/board.html").footer
    assert footer.time["datetime"] == "2026-01-02T02:04:05Z"
    assert "tqa@1.0.0#0a1b2c3d" in footer.text
    assert "edu-rag 0.1.0" in footer.text


@pytest.mark.parametrize("outcomes", ["c", "a", "iii", "fuauf"])
def test_the_smallest_boards_are_built(tmp_path: Path, outcomes: str) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", outcomes))
    build(tmp_path / "results", tmp_path / "site")
    assert cell(soup_of(tmp_path / "site/board.html").select_one("tbody tr"), "rank").text == "1"


def test_scores_are_shown_with_a_true_minus_and_zero_without_a_sign() -> None:
    assert [signed(value) for value in (0.0, -0.0, -0.0004, -0.25, 1.0)] == [
        "0.000",
        "0.000",
        "0.000",
        "−0.250",
        "1.000",
    ]


@given(st.text())
def test_a_csv_text_never_starts_a_formula_and_is_one_line(text: str) -> None:
    cell_text = csv_text(text)
    assert not cell_text.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not set(cell_text) & set("\r\n\t\0")


@given(st.text() | st.from_regex(r"(https?|javascript|data|mailto|vbscript|file):.{0,40}"))
def test_a_safe_link_has_a_known_scheme_and_no_odd_character(text: str) -> None:
    link = safe_link(text)
    if link is not None:
        assert re.match(r"(?i)(https?://[a-z0-9.-]+|mailto:[^?]+@)", link)
        assert not re.search(r"[\s\"'<>\\`\x00-\x20\x7f-\uffff]", link)


@given(st.text())
def test_what_is_written_into_a_page_is_legal_there(text: str) -> None:
    shown = str(plain(text))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", shown)


def test_errors_are_ours(tmp_path: Path) -> None:
    with pytest.raises(EduRagError, match="holds no scorecard"):
        build(tmp_path, tmp_path.parent / "elsewhere")


def test_a_system_that_mostly_failed_is_marked_as_such(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("broken", "ffffa"))
    made.write_card(tmp_path / "results", made.card_of("shy", "aaaff"))
    table = build(tmp_path / "results", tmp_path / "site")
    rows = {row.th.a.text: row.text for row in soup_of(tmp_path / "site/board.html").select("table.board tbody tr")}
    assert "mostly failed" in rows["broken"]
    assert "mostly failed" not in rows["shy"]
    assert "failed" in table


def test_the_board_calls_causes_as_the_harness_does() -> None:
    assert dict(CAUSES) == dict(attribution.CAUSES)
