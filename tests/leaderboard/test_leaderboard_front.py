"""The front pages: the sentence claims what is established and no more, and the numbers are the scorecards'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import fixture_board as made
import pytest
from bs4 import BeautifulSoup, Tag
from some_pages import build_some

from edu_rag.comparing.tested_pairs import all_pairs_of
from edu_rag.look.bar_geometry import AXIS, ScoreAxis, axis_of, interval_bar
from edu_rag.scorecard.card import ScoreCard, SystemFacts
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.board.short_names import ShortName, short_names
from leaderboard.front.front_picture import NARROW, SIZE, SMALL, WIDE, front_picture
from leaderboard.front.reading_gain import Standing, standing_of
from leaderboard.pages import board_page, front_pages
from leaderboard.plots.plot_sentences import spoken, width_of
from leaderboard.plots.plotted_systems import systems_of

READS = {"n_citing": 60}


def outcomes(n_right: int, n_wrong: int, n: int = 60) -> str:
    return "c" * n_right + "i" * n_wrong + "a" * (n - n_right - n_wrong)


def card(slug: str, letters: str, models: tuple[str, ...] = (), **changes: object) -> ScoreCard:
    values = {"name": slug.title(), "models": models, "caps": made.CAPS, "slices": ()} | changes
    return made.card_of(slug, letters, **values)


def alone(letters: str, **changes: object) -> ScoreCard:
    return card("alone", letters, ("Tiny 1B",), **changes)


def reader(letters: str, slug: str = "reader", **changes: object) -> ScoreCard:
    return card(slug, letters, ("an-encoder", "Tiny 1B"), retrieval=READS, **changes)


def silent() -> ScoreCard:
    return card("abstain", "a" * 60, blind=True)


def standing(folder: Path, cards: Sequence[ScoreCard]) -> Standing:
    for one in cards:
        made.write_card(folder, one)
    table = present(collect(folder)).tables[0]
    pairs = all_pairs_of([row.result.card for row in table.rows]) if len(table.rows) > 1 else None
    return standing_of(table, pairs)


def test_that_reading_helps_is_said_where_a_reader_beats_the_same_model_without_pages(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(50, 10)), alone(outcomes(20, 40)), silent()])
    said = "Reading the pages helps: Reader · 1B scores 1.00 more than the same model without them."
    assert spoken(found.sentence) == said
    who = "One system that reads can be compared with the same model without pages"
    assert found.counted == f"{who}: it scores more (corrected for all pairs of the table)."


def test_silence_alone_is_not_help(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader("a" * 60), alone(outcomes(15, 45)), silent()])
    assert "not established" in spoken(found.sentence)


def test_where_the_reader_is_also_more_silent_the_sentence_says_so(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(30, 5)), alone(outcomes(20, 40)), silent()])
    assert spoken(found.sentence).endswith("than the same model without them; a part of that is silence.")


def test_a_gain_without_silence_is_named_before_a_larger_one_with_it(tmp_path: Path) -> None:
    cards = [reader(outcomes(40, 1), "quiet"), reader(outcomes(45, 15), "loud"), alone(outcomes(15, 45)), silent()]
    said = spoken(standing(tmp_path, cards).sentence)
    assert said == "Reading the pages helps: Loud · 1B scores 1.00 more than the same model without them."


def test_a_system_with_a_larger_model_too_is_not_the_same_model(tmp_path: Path) -> None:
    big = card("big", outcomes(50, 10), ("Tiny 1B", "Huge 400B"), retrieval=READS)
    assert standing(tmp_path, [big, alone(outcomes(20, 40)), silent()]).gains == []


def test_the_headline_number_is_a_verified_one(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(60, 0), "team", caps={}), reader(outcomes(30, 30)), silent()])
    assert found.best is not None
    assert found.best.result.card.system.slug == "reader"


def test_a_hostile_model_name_costs_no_time() -> None:
    facts = SystemFacts(slug="one", name="_" * 60 + "a", team="t", models=("_ " * 13,))
    assert len(short_names([facts])) == 1


def test_a_reader_that_is_worse_than_its_model_takes_the_general_claim_away(tmp_path: Path) -> None:
    worse = reader(outcomes(0, 60), "worse")
    found = standing(tmp_path, [reader(outcomes(50, 10)), worse, alone(outcomes(30, 30)), silent()])
    assert spoken(found.sentence).startswith("Reading the pages can help: Reader · 1B scores ")
    assert "1 scores more and 1 scores less (corrected" in found.counted


def test_a_lead_over_the_best_blind_system_is_claimed_as_that_and_no_more(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(50, 10)), alone(outcomes(49, 11)), silent()])
    said = "Reader · 1B, which reads the pages, scores 0.67 more than the best system that never looks at them."
    assert spoken(found.sentence) == said
    assert found.counted.endswith("without pages: no difference is established (corrected for all pairs of the table).")


def test_where_nothing_is_established_the_sentence_says_so_with_the_smallest_difference(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(31, 29)), alone(outcomes(30, 30)), silent()])
    assert found.detectable is not None
    assert 0 <= float(found.found_from) - found.detectable < 0.01
    limit = f"two typical systems must differ by about {found.found_from} for one test to find it reliably."
    assert spoken(found.sentence) == f"With 60 questions it is not established that reading the pages helps; {limit}"


@pytest.mark.parametrize("changes", [{"caps": {}}, {"withdrawn": "a bug"}])
def test_no_claim_rests_on_a_reported_or_withdrawn_result(tmp_path: Path, changes: dict[str, object]) -> None:
    found = standing(tmp_path, [reader(outcomes(60, 0), **changes), alone(outcomes(20, 40)), silent()])
    assert spoken(found.sentence) == "No verified system of this table reads the pages yet."


def test_another_model_is_no_measure_of_reading(tmp_path: Path) -> None:
    other = card("alone", outcomes(20, 40), ("Another 1B",))
    found = standing(tmp_path, [reader(outcomes(50, 10)), other])
    assert found.gains == []
    assert "helps:" not in spoken(found.sentence).split("not established")[0]


def test_the_best_is_not_blind_and_the_page_says_if_a_blind_one_scores_more(tmp_path: Path) -> None:
    found = standing(tmp_path, [reader(outcomes(20, 40)), alone(outcomes(10, 50)), silent()])
    assert found.best is not None
    assert found.best.result.card.system.slug == "reader"
    assert not found.is_highest


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"n": 60, "score": 0.25, "main_score": 0.5, "difference": -0.25}, " Asked without pages, it scores +0.25."),
        ({"n": 30, "score": 0.25, "main_score": 0.5, "difference": -0.25}, ""),  # of other questions
        ({"n": 60, "score": "<b>", "main_score": 0.5, "difference": -0.25}, ""),
    ],
)
def test_the_page_says_what_the_best_system_scores_without_pages(tmp_path: Path, probe: object, said: str) -> None:
    for one in (reader(outcomes(40, 10), probes={"no-context": probe}), silent()):
        made.write_card(tmp_path / "results", one)
    page = soup_of(build_some(tmp_path / "results", tmp_path / "site", (front_pages,)) / "index.html")
    (about,) = [text for p in page.select("p") if " % wrong." in (text := p.get_text())]
    assert f"17 % wrong.{said} The best blind system" in about


ENCODER, GEMMA = "all-MiniLM-L6-v2", "Gemma 3 270M Q4_K_M"
QWEN = "Qwen2.5-Coder-1.5B"


@pytest.mark.parametrize(
    ("name", "models", "expected"),
    [
        ("Gemma 3 270M with retrieval (a note)", (ENCODER, GEMMA), ("With retrieval", "Gemma 3 270M", "270M")),
        (f"{QWEN} alone (letter)", (f"{QWEN}-Instruct Q4_K_M",), ("Alone", "Qwen2.5 Coder 1.5B", "1.5B")),
        ("Llama 2", ("meta-llama/Llama-2-7b-chat-hf",), ("Llama 2", "Llama 2 7b", "7B")),
        ("Nautiyal et al.: dense", (ENCODER, GEMMA), ("Nautiyal et al.: dense", "Gemma 3 270M", "270M")),
        (
            "house-light: SmolLM2-135M reads what BM25 selects, silent when unsure",
            ("SmolLM2-135M-Instruct Q4_1",),
            ("House-light", "SmolLM2 135M", "135M"),
        ),
        ("S-BERT overlap", (ENCODER,), ("S-BERT overlap", ENCODER, "")),
        ("Always a", (), ("Always a", "no model", "")),
        ("(note)", (), ("(note)", "no model", "")),
        ("Tiny 1B", ("Tiny 1B",), ("Tiny 1B", "Tiny 1B", "1B")),
    ],
)
def test_names_are_short_and_the_chip_has_the_model(
    name: str, models: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    facts = SystemFacts(slug="one", name=name, team="t", models=models)
    assert short_names([facts]) == [ShortName(*expected)]


def test_two_systems_that_would_look_the_same_keep_their_full_names() -> None:
    both = [
        SystemFacts(slug=f"s{number}", name=f"Tiny 1B ({how})", team="t", models=("Tiny 1B",))
        for number, how in enumerate(("letter", "likelihood"))
    ]
    assert [short.text for short in short_names(both)] == ["Tiny 1B (letter)", "Tiny 1B (likelihood)"]


def test_the_axis_spans_the_data_and_zero() -> None:
    assert axis_of([-0.31, -0.02]) == ScoreAxis(-0.4, 0.0)
    assert axis_of([0.11, 0.52]) == ScoreAxis(0.0, 0.6)
    assert axis_of([]) == ScoreAxis(-0.1, 0.1)
    axis = axis_of([-0.2, 0.2])
    assert float(axis.zero) == AXIS / 2
    bar = interval_bar(0.1, (0.0, 0.2), axis)
    assert (bar.at, bar.low, bar.width) == ("150", "100", "100")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ScoreCard]]:
    folder = tmp_path_factory.mktemp("front")
    cards = made.write_board(folder / "results")
    return build_some(folder / "results", folder / "site", (front_pages, board_page)), cards


def soup_of(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def two(value: float) -> str:
    text = f"{value:+.2f}".replace("-", "−")
    return text if float(f"{value:.2f}") else text[1:]


def cells_of(row: Tag) -> dict[str, Tag]:
    return {cell["data-column"]: cell for cell in row.select("td, th")}


def test_every_number_of_the_ten_rows_is_the_scorecards(site: tuple[Path, list[ScoreCard]]) -> None:
    folder, cards = site
    by_place = {(one.split, one.system.slug): one for one in cards}
    for page, split in (("index.html", "val"), ("front/tqa.v1.test.stratified-500-seed-0.html", "test")):
        rows = soup_of(folder / page).select("table.top tbody tr")
        assert len(rows) == min(10, sum(one.split == split and not one.system.withdrawn for one in cards))
        for row in rows:
            cells = cells_of(row)
            slug = cells["system"].a["href"].rsplit("/", 1)[-1].removesuffix(".html")
            shown = by_place[split, slug]
            low, high = shown.intervals["score"]
            assert cells["score"].text == two(shown.counts.score)
            assert cells["axis"].select_one(".hidden").text == f"{two(low)} to {two(high)}"
            assert cells["accuracy"].text == f"{100 * shown.counts.accuracy:.0f}"
            assert cells["hallucination"].text == f"{100 * shown.counts.hallucination:.0f}"
            assert ("reported" in cells["system"].text) == shown.reported


def test_a_blind_system_is_among_the_ten_rows_and_no_withdrawn_one(site: tuple[Path, list[ScoreCard]]) -> None:
    rows = soup_of(site[0] / "index.html").select("table.top tbody tr")
    assert "blind" in rows[-1]["class"]
    assert not any("GPT-4o + RAG" in row.text for row in rows)


def test_tabs_are_links_to_pages_and_old_anchors_of_tables_are_kept(site: tuple[Path, list[ScoreCard]]) -> None:
    folder, _ = site
    page = soup_of(folder / "index.html")
    assert page.select_one("[id='tqa.v1.val']") is not None
    assert page.select_one("[id='tqa.v1.test.stratified-500-seed-0']") is not None
    links = [link["href"] for link in page.select(".tabs a, .parts a")]
    assert links == ["index.html", "index.html", "front/tqa.v1.test.stratified-500-seed-0.html"]
    assert all((folder / link).is_file() for link in links)
    assert page.select_one(".leads a")["href"] == "board.html#tqa.v1.val"


def test_columns_with_one_value_are_hidden_and_said_once(tmp_path: Path) -> None:
    for slug, letters in (("one", "ccci"), ("two", "ccii")):
        made.write_card(tmp_path / "results", made.card_of(slug, letters, team="Lab 7"))
    folder = build_some(tmp_path / "results", tmp_path / "site", (front_pages, board_page))
    table = soup_of(folder / "board.html").select_one("table.board")
    same = set(table["data-same"].split())
    assert same == {"team", "missing", "n", "cost", "median_latency_s", "scored_at"}
    said = soup_of(folder / "board.html").select_one("p.same").text
    assert "team Lab 7" in said
    assert "cost of a question not known" in said
    assert soup_of(folder / "index.html").select_one("table.top")["data-same"] == "median_latency_s"


@pytest.mark.parametrize("sheet", [WIDE, NARROW])
def test_no_label_of_the_picture_overlaps_another_or_leaves_it(tmp_path: Path, sheet: object) -> None:
    made.write_board(tmp_path)
    systems = systems_of(present(collect(tmp_path)).tables[0])
    picture = front_picture(systems, sheet)  # type: ignore[arg-type]
    boxes = []
    for label, _ in picture.labels:
        width = width_of(label.text, SIZE)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        boxes.append((left, label.y - SIZE / 2, left + width, label.y + SIZE / 2))
    assert len(picture.marks) == len(systems)
    assert len(boxes) >= 5
    for at, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= picture.sheet.width
        others = boxes[at + 1 :]
        assert not [b for b in others if b[0] < right and b[2] > left and b[1] < bottom and b[3] > top]
    area = picture.area
    for mark in picture.marks:
        assert area.left - 0.1 <= mark.x <= area.right + 0.1
        assert area.top - 0.1 <= mark.y <= area.bottom + 0.1


@pytest.mark.parametrize("n_right", range(30, 46, 3))
def test_no_label_of_the_picture_covers_a_number_or_the_title_of_the_upright_axis(tmp_path: Path, n_right: int) -> None:
    """Two systems near this axis: the second one leaves no room to the right of the first."""
    counts = {
        "first light": (n_right, 11),
        "second": (n_right - 2, 14),
        "reader": (60, 40),
        "blind": (18, 82),
        "none": (0, 0),
    }
    for name, (right, wrong) in counts.items():
        outcomes = "c" * right + "i" * wrong + "a" * (100 - right - wrong)
        made.write_card(tmp_path, made.card_of(name.replace(" ", "-"), outcomes, name=f"{name} · 135M"))
    picture = front_picture(systems_of(present(collect(tmp_path)).tables[0]), NARROW)
    numbers = [(y - SMALL / 2, y + SMALL / 2, words) for y, words in picture.y_ticks]
    for label, _ in picture.labels:
        width = width_of(label.text, SIZE)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        covered = [words for top, bottom, words in numbers if top < label.y + SIZE / 2 and bottom > label.y - SIZE / 2]
        assert left >= (picture.area.left - 10 if covered else 16)
    assert len(picture.labels) >= 2


@pytest.mark.parametrize("name", ["Alone", "A retrieval system with a long name"])
def test_two_systems_of_one_name_are_drawn_with_their_sizes_or_without_a_name(tmp_path: Path, name: str) -> None:
    for place in range(20):
        n = 58 - 2 * place
        one = card(f"alone-{place}", outcomes(n, 60 - n), (f"Tiny {place + 1}00B",), name=name)
        made.write_card(tmp_path, one)
    picture = front_picture(systems_of(present(collect(tmp_path)).tables[0]), NARROW)
    words = [label.text for label, _ in picture.labels]
    assert len(words) >= 5
    assert all(re.search(r" · \d{1,2}00B$", text) for text in words), words
    assert len(set(words)) == len(words)


def test_no_name_runs_close_above_or_below_the_mark_of_another_system(tmp_path: Path) -> None:
    counts = {"best": (49, 18), "light": (32, 11), "overlap that": (29, 14), "guard": (31, 32), "guard too": (37, 27)}
    for name, (right, wrong) in (counts | {"reads": (55, 45), "blind": (18, 82), "none": (0, 0)}).items():
        letters = "c" * right + "i" * wrong + "a" * (100 - right - wrong)
        slug = f"system-{name.replace(' ', '-')}"
        made.write_card(tmp_path, made.card_of(slug, letters, name=f"{name} is silent when unsure"))
    picture = front_picture(systems_of(present(collect(tmp_path)).tables[0]), WIDE)
    assert len(picture.labels) >= 5
    for label, _ in picture.labels:
        width = width_of(label.text, SIZE)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        if label.y == label.of.y:
            continue  # it begins or ends at its own mark
        others = [mark for mark in picture.marks if (mark.x, mark.y) != (label.of.x, label.of.y)]
        under = [mark for mark in others if left < mark.x < left + width and abs(mark.y - label.y) < 1.7 * SIZE]
        assert not under, label.text


def test_two_names_that_would_be_cut_to_the_same_are_not_drawn_cut(tmp_path: Path) -> None:
    for slug, n in (("model", 40), ("retrieval", 20), ("other", 50)):
        name = f"Huo et al.: self-check guarding the {slug} with a passage" if slug != "other" else "Other"
        made.write_card(tmp_path, card(slug, outcomes(n, 60 - n), name=name))
    picture = front_picture(systems_of(present(collect(tmp_path)).tables[0]), NARROW)
    assert [label.text for label, _ in picture.labels] == ["Other"]


def test_the_picture_has_no_inline_style_and_a_text_of_its_own(site: tuple[Path, list[ScoreCard]]) -> None:
    page = soup_of(site[0] / "index.html")
    pictures = page.select("svg.scatter")
    assert [picture["role"] for picture in pictures] == ["img", "img"]
    assert all(picture["aria-label"] for picture in pictures)
    assert not page.select("[style], style")


def test_a_table_of_one_system_has_a_front_page(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", replace(made.card_of("one", "ccci"), slices=()))
    page = soup_of(build_some(tmp_path / "results", tmp_path / "site", (front_pages,)) / "index.html")
    assert len(page.select("table.top tbody tr")) == 1
    assert not page.select("svg.scatter")


def test_the_day_changes_no_page_without_questions(tmp_path: Path) -> None:
    made.write_card(tmp_path / "results", made.card_of("one", "ccci"))
    pages = [
        build_some(tmp_path / "results", tmp_path / name, (front_pages,), day=day) / "index.html"
        for name, day in (("a", date(2026, 1, 1)), ("b", date(2026, 1, 2)))
    ]
    assert pages[0].read_bytes() == pages[1].read_bytes()
