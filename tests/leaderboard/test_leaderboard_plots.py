"""The plots of a table: their numbers, their sentences, where they stay silent, and what no name can do to them."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fixture_board as made
import fixture_dataset
import fixture_plots
import pytest
from axe_checks import NIGHTLY
from calibration import slowdown
from hostile_board import HOSTILE, nested
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from some_pages import build_some

from edu_rag.look.jinja_pages import look_css
from edu_rag.scorecard.card import Counts, ScoreCard, Slice
from edu_rag.scorecard.results_folder import read_scorecard
from leaderboard import build_site
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.edition import Edition
from leaderboard.exams import open_exams
from leaderboard.pages import plot_pages
from leaderboard.pages.plot_pages import plots_from
from leaderboard.plots.colours import TONES
from leaderboard.plots.coverage import curve_of, iso_points
from leaderboard.plots.ladder import ladder_of
from leaderboard.plots.mark_labels import Area, Text, Want, place
from leaderboard.plots.plot import NARROW, WIDE, Plot, Sheet
from leaderboard.plots.plot_sentences import Named, and_so_on, fit, shown, spoken, width_of
from leaderboard.plots.plotted_systems import System
from leaderboard.plots.price import Spot, front_of
from leaderboard.plots.scales import dollars_words, linear, logarithmic, seconds_words
from leaderboard.plots.slice_heatmap import LEVELS, level

NAMES = ("scores", "outcomes", "time", "dollars", "tokens", "coverage", "slices", "ladder")
SVG = "{http://www.w3.org/2000/svg}"


def system(number: int, score: float, **changes: Any) -> System:
    """A system with a score in hundredths, from 100 questions."""
    points = round(100 * score)
    outcomes = ("c" if points > 0 else "i") * abs(points) + "a" * (100 - abs(points))
    card = made.card_of(f"system-{number}", outcomes, name=f"System {number}", **changes)
    return replace(fixture_plots.systems([card])[0], number=number)


def named(plots: list[Plot]) -> dict[str, Plot]:
    return {plot.name: plot for plot in plots}


def timed(score: float, seconds: float, number: int, **changes: Any) -> System:
    return system(number, score, cost=made.latency_cost(seconds, 100, measured=True), **changes)


# --- the Pareto front


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=1, max_size=12))
def test_the_front_holds_exactly_what_no_other_beats(pairs: list[tuple[int, int]]) -> None:
    spots = [Spot(system(at, score / 10), cost) for at, (cost, score) in enumerate(pairs, 1)]
    front = front_of(spots)

    def beats(a: Spot, b: Spot) -> bool:
        no_worse = a.cost <= b.cost and a.system.score >= b.system.score
        return no_worse and (a.cost, a.system.score) != (b.cost, b.system.score)

    assert not any(beats(spot, one) for one in front for spot in spots)
    for spot in spots:
        assert spot in front or any(one.cost <= spot.cost and one.system.score >= spot.system.score for one in front)
    assert [spot.cost for spot in front] == sorted({spot.cost for spot in front})


# --- axes


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=8), st.integers(3, 8))
def test_an_axis_of_amounts_holds_every_value_and_few_ticks(values: list[float], most: int) -> None:
    scale = logarithmic(values, str, 1e-6, most)
    assert 2 <= len(scale.ticks) <= most
    assert all(scale.low <= at <= scale.high for at, _ in scale.ticks)
    assert all(scale.low <= scale.place(value) <= scale.high for value in values)
    assert (min(values) <= 1e-6) == any("≤" in words for _, words in scale.ticks)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8), st.integers(3, 8), st.floats(0, 0.1))
def test_an_axis_of_scores_holds_every_value_between_its_ticks(values: list[float], most: int, room: float) -> None:
    scale = linear(values, most, room=room)
    ats = [at for at, _ in scale.ticks]
    assert ats == sorted(ats)
    assert 2 <= len(ats) <= most + 1
    assert scale.low - 1e-9 <= min(values)
    assert max(values) <= scale.high + 1e-9


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3.01, "3.01 s"),
        (120, "120 s"),
        (0.0017, "1.7 ms"),
        (1e-3, "1 ms"),
        (2e-6, "2 µs"),
        (1e-9, "0.001 µs"),
        (1234, "1,230 s"),
    ],
)
def test_seconds_are_said_in_the_unit_that_fits(value: float, words: str) -> None:
    assert seconds_words(value) == words


@pytest.mark.parametrize(("value", "words"), [(0, "$0"), (0.00001, "$0.00001"), (0.0105, "$0.0105"), (1500, "$1,500")])
def test_dollars_are_said_without_powers_of_ten(value: float, words: str) -> None:
    assert dollars_words(value) == words


# --- names beside marks


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 200), st.text("abW", max_size=20)), max_size=30))
def test_no_label_lies_over_another_over_a_mark_or_outside(marks: list[tuple[int, int, str]]) -> None:
    area, line = Area(0, 0, 300, 200), (0.0, 98.0, 300.0, 102.0)
    wants = [Want(x, y, (Text(words or "1"), Text("1"))) for x, y, words in marks]
    boxes = []
    for label in place(wants, area, 11, [line]):
        width = width_of(label.text, 11)
        left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        boxes.append((left, label.y - 6, left + width, label.y + 6))
    marked = [(want.x - 5, want.y - 5, want.x + 5, want.y + 5) for want in wants]
    for at, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= 300
        for other in (*boxes[:at], *marked, line):
            assert right <= other[0] or left >= other[2] or bottom <= other[1] + 1 or top >= other[3] - 1


@settings(deadline=None)
@given(st.text(max_size=50), st.floats(20, 400))
def test_a_text_is_cut_to_its_width(text: str, width: float) -> None:
    assert width_of(fit(text, 11, width), 11) <= width
    assert fit(text, 11, 1e9) == text


def test_a_sentence_counts_the_names_that_it_leaves_out() -> None:
    parts = [(Named(name, ""),) for name in "abcde"]
    assert spoken(and_so_on(parts[:1])) == "a"
    assert spoken(and_so_on(parts[:2])) == "a and b"
    assert spoken(and_so_on(parts)) == "a, b, c and 2 more"


@pytest.mark.parametrize("name", [*HOSTILE, "\ud800lone", "\ufffe\uffff"])
def test_a_hostile_name_is_one_short_line_that_xml_can_hold(name: str) -> None:
    text = shown(name)
    assert len(text) <= 60
    assert all(char.isprintable() or char in "\u200c\u200d" for char in text)
    ET.fromstring(f"<a>{text.replace('&', '').replace('<', '')}</a>")


# --- colours


def _luminance(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear_parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear_parts[0] + 0.7152 * linear_parts[1] + 0.0722 * linear_parts[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_has_a_light_of_its_own_and_paper_and_ink_are_the_pages() -> None:
    lights = [tone.light for tone in TONES.values()]
    assert len(set(lights)) == len(lights)
    css = look_css()
    bright, dark = css.split("@media (prefers-color-scheme: dark)")[:2]
    for name in ("paper", "ink", "quiet", "axis", "zero", "range"):
        assert f"--{name}: {TONES[name].light};" in bright
        assert f"--{name}: {TONES[name].dark};" in dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_curves_and_letters_stand_out_from_what_is_behind_them(theme: str) -> None:
    tones = {name: getattr(tone, theme) for name, tone in TONES.items()}
    for name, tone in tones.items():
        if name.startswith("curve") or name in ("system", "front", "blind", "zero"):
            assert contrast(tone, tones["paper"]) >= 3, name
        if name.startswith("cell"):
            assert contrast(tones["ink"], tone) >= 4.5, name
    assert all(contrast(tones["quiet"], tones[behind]) >= 4.5 for behind in ("paper", "band"))


@settings(deadline=None)
@given(st.floats(-1, 1))
def test_a_cell_is_neutral_around_zero_and_turns_over_with_the_sign(score: float) -> None:
    assert level(score) in TONES
    if score not in LEVELS:
        assert int(level(-score).removeprefix("cell")) == -int(level(score).removeprefix("cell"))


# --- numbers


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for card in fixture_plots.cards(12):
        made.write_card(folder, card)
    return folder


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_some(results, tmp_path_factory.mktemp("site"), (plot_pages,))


def numbers_of(page: Any, name: str) -> dict[str, dict[str, str]]:
    """The table beside a plot: by the slug of the system, its `data-value` by column."""
    table = page.get_element_by_id(name).find(".//table")
    heads = [head.text_content() for head in table.iterfind(".//thead//th")]
    rows = {}
    for row in table.iterfind(".//tbody/tr"):
        slug = re.sub(r".*/(.*)\.html", r"\1", row.find(".//a").get("href"))
        rows[slug] = {head: cell.get("data-value", "") for head, cell in zip(heads, row, strict=True)}
    return rows


def test_every_number_on_the_page_is_the_scorecards(results: Path, site: Path) -> None:
    page = html.parse(site / "plots/tqa.v1.val.html").getroot()
    cards = {card.system.slug: card for card in map(read_scorecard, sorted(results.rglob("scorecard.json")))}
    tables = {name: numbers_of(page, name) for name in NAMES}
    for slug, card in cards.items():
        told = {name: table.get(slug, {}) for name, table in tables.items()}
        low, high = card.intervals["score"]
        expected: dict[tuple[str, str], float | None] = {
            ("scores", "Score"): card.counts.score,
            ("scores", "From"): low,
            ("scores", "To"): high,
            ("outcomes", "Accuracy %"): card.counts.accuracy,
            ("outcomes", "Hallucination %"): card.counts.hallucination,
            ("outcomes", "Missing %"): card.counts.missing,
            ("time", "Median seconds"): card.cost.get("latency_s", {}).get("median"),
            ("dollars", "US dollars a question"): card.cost.get("cost_usd", {}).get("mean"),
            ("coverage", "Area (AURC)"): card.confidence.get("aurc"),
            ("coverage", "Best score by abstaining"): card.confidence.get("best", {}).get("score"),
            ("ladder", "Evidence only"): card.probes.get("evidence-only", {}).get("score"),
            ("ladder", "No context"): card.probes.get("no-context", {}).get("supported", {}).get("score"),
        }
        for (name, column), value in expected.items():
            assert told[name].get(column, "") == ("" if value is None else str(value)), (slug, name, column)
        if "input_tokens" in card.cost:
            tokens = card.cost["input_tokens"]["mean"] + card.cost["output_tokens"]["mean"]
            assert float(told["tokens"]["Tokens a question"]) == tokens
        parts = {
            f"{part.attribute}: {part.value.replace('_', ' ')} ({part.counts.n})": part.counts for part in card.slices
        }
        for head, text in told["slices"].items():
            if head in parts:
                assert float(text) == parts[head].score
    assert any("matching" in head for head in tables["slices"]["system-000"])


def test_the_front_of_the_page_is_told_by_its_sentence() -> None:
    systems = [timed(0.5, 2.0, 1), timed(0.3, 0.1, 2), timed(0.2, 1.0, 3, blind=True), system(4, -0.1)]
    plot = named(plots_from(systems))["time"]
    assert spoken(plot.stands_out) == (
        "The front, from the fastest to the best: System 2 (100 ms, 0.300) and System 1 (2 s, 0.500). "
        "1 of 4 systems has no time on record."
    )
    assert [row[-1].text for row in plot.rows] == ["yes", "yes", "no"]


def test_a_system_that_is_fastest_and_best_is_said_to_be_both() -> None:
    plot = named(plots_from([timed(0.5, 0.1, 1), timed(0.3, 0.2, 2)]))["time"]
    assert spoken(plot.stands_out).startswith("System 1 (100 ms, 0.500) is both the fastest and the best")


def test_the_score_is_the_same_all_along_its_line() -> None:
    for share, risk in iso_points(0.3, 0.25):
        assert math.isclose(share * (1 - 2 * risk), 0.3)
        assert risk <= 0.25 + 1e-9


def test_the_ladder_compares_the_rungs_on_the_same_questions_only() -> None:
    probes = {
        "no-context": {"n": 100, "score": 0.1, "main_score": 0.2, "supported": {"n": 40, "score": 0.0}},
        "evidence-only": {"n": 40, "score": 0.6, "main_score": 0.3, "counts": {"correct": 30}},
    }
    found = ladder_of(system(1, 0.2, probes=probes))
    assert found is not None
    assert (found.n, dict(found.scores)) == (
        40,
        {"no context": 0.0, "system": 0.3, "evidence only": 0.6, "oracle": 0.75},
    )
    other = ladder_of(system(1, 0.2, probes=probes | {"no-context": {"n": 100, "supported": {"n": 39, "score": 0.0}}}))
    assert other is not None
    assert "no context" not in other.scores
    bare = ladder_of(system(1, 0.2, probes={"no-context": probes["no-context"]}))
    assert bare is not None
    assert (bare.n, dict(bare.scores)) == (100, {"no context": 0.1, "system": 0.2})


def test_a_withdrawn_system_is_in_no_plot_and_the_page_says_so(tmp_path: Path) -> None:
    cards = fixture_plots.cards(4)
    cards[1] = replace(cards[1], system=replace(cards[1].system, withdrawn="taken back"))
    for card in cards:
        made.write_card(tmp_path / "results", card)
    site = build_some(tmp_path / "results", tmp_path / "site", (plot_pages,))
    text = (site / "plots/tqa.v1.val.html").read_text(encoding="utf-8")
    assert "These plots leave out 1 withdrawn system of the board." in text
    assert "system-001" not in text


# --- silence


def silent(systems: list[System]) -> dict[str, str]:
    """Why each plot that is not drawn is not."""
    return {plot.name: spoken(plot.stands_out) for plot in plots_from(systems) if plot.drawing is None}


def test_without_costs_confidence_probes_or_slices_the_plots_say_so_and_draw_nothing() -> None:
    said = silent([system(1, 0.5, slices=()), system(2, 0.2, slices=())])
    assert set(said) == {"time", "dollars", "tokens", "coverage", "slices", "ladder"}
    assert said["dollars"] == "Nothing to draw: no system of this table has a price in US dollars on record."
    assert "states how sure it is" in said["coverage"]
    assert "was probed" in said["ladder"]


def test_one_system_is_not_compared_with_itself() -> None:
    said = silent([timed(0.5, 1.0, 1)])
    assert set(said) == set(NAMES)
    assert said["time"] == "Nothing to compare: only System 1 has a time on record; its score is 0.500."


def test_a_table_of_withdrawn_systems_draws_nothing(tmp_path: Path) -> None:
    assert set(silent([])) == set(NAMES)
    for card in fixture_plots.cards(2):
        made.write_card(tmp_path / "results", replace(card, system=replace(card.system, withdrawn="both")))
    site = build_some(tmp_path / "results", tmp_path / "site", (plot_pages,))
    assert not list(site.rglob("*.svg"))
    assert "<img" not in (site / "plots.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "told",
    [
        {"curve": "x", "aurc": 0.1, "n": 5},
        {"curve": [{"coverage": 0.5, "risk": 2}], "aurc": 0.1, "n": 5},
        {"curve": [{"coverage": 0.5, "risk": 0.1}, {"coverage": 0.4, "risk": 0.1}], "aurc": 0.1, "n": 5},
        {"curve": [{"coverage": 0.5, "risk": 0.1}], "aurc": True, "n": 5},
        {"curve": [[0.1, 0.2]], "aurc": 0.1, "n": 5},
        {"curve": [{"coverage": 0.5, "risk": 0.1}], "aurc": 0.1, "n": 10**9},
        {"curve": [None], "aurc": None, "n": None},
    ],
)
def test_what_is_no_curve_is_not_drawn(told: dict[str, Any]) -> None:
    assert curve_of(system(1, 0.5, confidence=told)) is None


@pytest.mark.parametrize(
    "told",
    [
        {"no-context": "x", "evidence-only": ["y"]},
        {"evidence-only": {"n": 1.5, "score": 0, "main_score": 0}},
        {"evidence-only": {"n": 5, "score": 7, "main_score": 0}},
        {"no-context": {"n": True, "score": 0.1, "main_score": 0.2}},
        {"evidence-only": nested("x")},
        {"no-context": {"n": 10**30, "score": 0.1, "main_score": 0.1}},
    ],
)
def test_what_is_no_probe_is_no_ladder(told: dict[str, Any]) -> None:
    assert ladder_of(system(1, 0.5, probes=told)) is None


# --- pictures


def texts_of(svg: bytes) -> list[str]:
    root = ET.fromstring(svg)
    assert not [part.tag for part in root.iter() if part.tag.lower().endswith(("script", "foreignobject", "}a"))]
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def drawn(cards: list[ScoreCard], sheets: tuple[Sheet, ...] = (WIDE, NARROW)) -> list[tuple[Plot, bytes]]:
    plots = [plot for plot in plots_from(fixture_plots.systems(cards)) if plot.drawing is not None]
    return [(plot, plot.svg(sheet, plot.title)) for plot in plots for sheet in sheets]


def test_the_same_numbers_give_the_same_bytes_and_every_colour_turns_in_the_dark() -> None:
    cards = fixture_plots.cards(9)
    pictures = drawn(cards)
    assert {plot.name for plot, _ in pictures} == set(NAMES)
    assert [svg for _, svg in pictures[1::2]] == [svg for _, svg in drawn(cards, (NARROW,))]
    known = {tone.light for tone in TONES.values()}
    for plot, svg in pictures:
        text = svg.decode()
        style, body = text.split("</style>", 1)
        for what, color in set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", body)):
            assert color in known, (plot.name, color)
            assert f'[style*="{what}: {color}"]' in style


def test_no_name_harms_a_picture_or_is_taken_for_mathematics() -> None:
    cards = fixture_plots.cards(len(HOSTILE) + 2)
    names = [*HOSTILE, "$\\frac{1}{0}$ costs $5", "\\$x_{i}^2$ %s"]
    odd = [replace(card, system=replace(card.system, name=name)) for card, name in zip(cards, names, strict=True)]
    for _, svg in drawn(odd):
        texts = texts_of(svg)
        assert max(map(len, texts)) < 120
    everything = " ".join(text for _, svg in drawn(odd[-2:], (NARROW,)) for text in texts_of(svg))
    assert "$\\frac{1}{0}$ costs $5" in everything
    assert "\\$x_{i}^2$ %s" in everything


def test_a_board_of_hostile_scorecards_is_drawn_and_every_file_is_well_formed(tmp_path: Path) -> None:
    fixture_plots.write_hostile_plots(tmp_path / "results")
    site = build_some(tmp_path / "results", tmp_path / "site", (plot_pages,))
    pictures = sorted(site.rglob("*.svg"))
    assert {path.stem for path in pictures} >= {"scores", "outcomes"}
    for path in pictures:
        texts_of(path.read_bytes())


def test_where_matplotlib_is_missing_the_numbers_stand_alone_and_the_extra_is_named(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot_pages, "can_draw", lambda: False)
    site = build_some(results, tmp_path / "site", (plot_pages,))
    assert sorted(path.name for path in site.rglob("*") if path.is_file()) == ["plots.html", "tqa.v1.val.html"]
    page = html.parse(site / "plots/tqa.v1.val.html").getroot()
    assert not page.findall(".//img")
    assert "matplotlib was not installed where this site was built" in page.text_content()
    assert len(numbers_of(page, "scores")) == 12


@pytest.mark.slow
@pytest.mark.parametrize("has_exams", [False, True])
def test_what_a_missing_extra_takes_from_the_site_is_said_once_with_the_remedy(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_exams: bool
) -> None:
    monkeypatch.setattr(build_site, "can_draw", lambda: False)
    monkeypatch.setattr(build_site, "can_search", lambda: False)
    monkeypatch.setattr(build_site, "KINDS", ())
    exams = open_exams([fixture_dataset.write_lab(tmp_path / "lab").folder]) if has_exams else {}
    groups = collect(results)
    (tmp_path / "site").mkdir()
    build_site.fill(Edition(board=present(groups), groups=groups, exams=exams), tmp_path / "site")
    told = [line for line in capsys.readouterr().err.splitlines() if "not installed" in line]
    both = "no plot is drawn and questions cannot be searched by text: matplotlib and pagefind-bin are"
    what = both if has_exams else "no plot is drawn: matplotlib is"
    assert told == [f"edu-rag board: {what} not installed: pip install 'edu-rag-bench[board]'"]


def test_two_hundred_systems_are_drawn_in_seconds() -> None:
    systems = fixture_plots.systems(fixture_plots.cards(200, n=150))
    started = time.process_time()
    for number, plot in enumerate(plots_from(systems)):
        for sheet in (WIDE, NARROW) if NIGHTLY else ((WIDE, NARROW)[number % 2],):
            assert len(plot.svg(sheet, plot.title)) < 150_000
    assert time.process_time() - started < (10 if NIGHTLY else 5) * slowdown()


def test_a_leader_with_one_score_on_every_slice_is_not_said_to_run_from_it_to_itself() -> None:
    slices = [Slice(attribute="kind", value=name, counts=Counts(abstained=n)) for name, n in (("x", 40), ("y", 60))]
    plot = named(plots_from([system(at, 0.1, slices=tuple(slices)) for at in (1, 2)]))["slices"]
    assert ", which leads, has 0.000 on each. " in spoken(plot.stands_out)


def test_a_slice_that_holds_all_questions_or_few_is_not_drawn() -> None:
    def part(attribute: str, value: str, n: int) -> Slice:
        return Slice(attribute=attribute, value=value, counts=Counts(correct=n))

    slices = (part("leak", "clean", 100), part("kind", "rare", 9), part("kind", "many", 60))
    systems = [system(at, 0.1 * at, slices=slices) for at in (1, 2)]
    plot = named(plots_from(systems))["slices"]
    assert [column.words for column in plot.columns[3:]] == ["kind: rare (9)", "kind: many (60)"]
    texts = texts_of(plot.svg(WIDE, ""))
    assert "many" in texts
    assert not {"rare", "clean"} & set(texts)
