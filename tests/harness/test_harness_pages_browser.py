"""The harness's pages in a real browser: hostile texts do nothing, nothing is fetched, all fits on a phone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hostile_exam as made
import pytest
from bs4 import BeautifulSoup

from edu_rag.scorecard.results_folder import write_scorecard
from harness.comparing.compare import Choice
from harness.explaining.explain import explain
from harness.judging.grading import open_judge
from harness.judging.judge_audit import HumanVerdict, audit
from harness.pages.compare_page import compare_paths
from harness.pages.explain_page import explain_page
from harness.pages.judge_page import judge_page
from harness.scoring.score import score_target
from harness.submission.target import Target, find_target

NOW = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every kind of page, each with hostile texts in every field that it shows."""
    folder = tmp_path_factory.mktemp("pages")
    dataset = made.write_exam(folder / "dataset")
    a = made.write_predictions(folder / "one.jsonl", dataset, "b ")
    b = made.write_predictions(folder / "two.jsonl", dataset, "a ")
    written: dict[str, str] = {}
    written["compare"] = compare_paths((a, b), Choice(dataset, None, None), "edu-rag compare", everything=True)[1]
    target = find_target(a, dataset.manifest, "test", None)
    for number, text in enumerate(made.HOSTILE):
        card = score_target(dataset, "test", None, target, scored_at=NOW).card
        hostile = made.hostile_card(card, text)
        found = explain(dataset, "test", Target(a, hostile.system), dataset.questions("test")[number].question_id)
        written[f"explain-{number:02}"] = explain_page(found, "test", f"edu-rag explain {text[:3_000]}")
        write_scorecard(folder / f"{number}.json", hostile)
    for number in (0, 8, 10):
        paths = (folder / f"{number}.json", folder / f"{number + 1}.json")
        written[f"cards-{number:02}"] = compare_paths(paths, Choice(None, None, None), "edu-rag compare")[1]
    verdicts = [
        HumanVerdict(
            question=text, gold=(text, "x"), answer=text, system=text.replace("+", ""), human=bool(n % 2), set=text
        )
        for n, text in enumerate(made.HOSTILE)
    ]
    found_audit = audit(verdicts, open_judge("rules", None), files=[(made.HOSTILE[0], "0" * 64)])
    written["judge"] = judge_page(found_audit, "edu-rag judge audit")
    for name, text in written.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return [folder / f"{name}.html" for name in written]


OURS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "p",
        "strong",
        "nav",
        "ul",
        "li",
        "main",
        "section",
        "article",
        "span",
        "code",
        "div",
        "svg",
        "rect",
        "line",
        "table",
        "caption",
        "thead",
        "tr",
        "th",
        "small",
        "tbody",
        "td",
        "bdi",
        "dl",
        "dt",
        "dd",
        "pre",
        "footer",
        "figure",
        "figcaption",
        "blockquote",
        "mark",
        "u",
        "sup",
        "b",
        "em",
        "details",
        "summary",
    ]
)


def test_no_text_opens_an_element_or_a_handler_and_only_plain_addresses_become_links(pages: list[Path]) -> None:
    linked = set()
    for path in pages:
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        tags = soup.find_all(True)
        assert {tag.name for tag in tags} <= OURS, path
        assert not [tag for tag in tags if any(name.startswith("on") or name in ("style", "src") for name in tag.attrs)]
        assert len(soup.select("style")) == len(soup.select("title")) == len(soup.select("meta[http-equiv]")) == 1
        for link in soup.select("a[href]:not([href^='#'])"):
            linked.add(link["href"])
            assert {"nofollow", "noopener", "noreferrer"} <= set(link["rel"])
    assert linked == {"https://good.example/page", "https://good.example/page#15"} & linked
    assert "https://good.example/page" in linked


def test_no_page_holds_a_character_that_turns_its_own_text_round(pages: list[Path]) -> None:
    for path in pages:
        assert not set(path.read_text(encoding="utf-8")) & set(
            "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\0\x1b\x07\x85"
        )


def test_hidden_characters_of_an_answer_are_named(pages: list[Path]) -> None:
    page = next(path for path in pages if path.name == "explain-10.html").read_text(encoding="utf-8")
    answer = BeautifulSoup(page, "html.parser").select_one("code.said").text
    assert answer == "b ⟨U+202E⟩edoc lived⟨U+202D⟩ ⟨U+2066⟩unclosed ⟨U+200B⟩⟨U+00AD⟩⟨U+FEFF⟩"


def test_hostile_texts_are_bounded(pages: list[Path]) -> None:
    for path in pages:
        assert path.stat().st_size < 300_000, path
        assert len(BeautifulSoup(path.read_text("utf-8"), "html.parser").title.text) < 300, path


def opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """A page and the list into which its console messages, errors and requests for anything but pages go."""
    page = browser.new_context(**options).new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda r: None if r.is_navigation_request() and r.url == wanted[0] else troubles.append(r.url))
    wanted = [path.as_uri()]
    page.goto(wanted[0])
    page.wanted = wanted
    return page, troubles


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_hostile_texts_run_nothing_fetch_nothing_and_stretch_nothing(
    browser: Any, pages: list[Path], width: int, scheme: str
) -> None:
    page, troubles = opened(browser, pages[0], viewport={"width": width, "height": 800}, color_scheme=scheme)
    for path in pages:
        page.wanted[0] = path.as_uri()
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.evaluate("window.harmed === undefined")
        assert page.evaluate("document.scripts.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.evaluate("getComputedStyle(document.querySelector('header')).paddingTop") != "0px"  # style applies
        assert troubles == []


CONTRAST = """() => {
  const light = (color) => {
    const part = color.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255);
    const [r, g, b] = part.map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (color !== 'rgba(0, 0, 0, 0)') return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const bad = [];
  let looked = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('svg')) continue;
    looked += 1;
    if (ratio(getComputedStyle(e).color, ground(e)) < 4.5) bad.push(`${e.tagName} ${e.textContent.slice(0, 40)}`);
  }
  return [looked, [...new Set(bad)]];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_of_4_5(browser: Any, pages: list[Path], scheme: str) -> None:
    for path in pages:
        if path.stem in ("compare", "explain-00", "judge"):
            page, _ = opened(browser, path, color_scheme=scheme)
            looked, bad = page.evaluate(CONTRAST)
            assert looked > 30
            assert bad == []


def test_links_inside_a_page_lead_somewhere_and_ids_are_unique(pages: list[Path]) -> None:
    for path in pages:
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        ids = [tag["id"] for tag in soup.select("[id]")]
        assert len(ids) == len(set(ids)), path
        assert {a["href"][1:] for a in soup.select("a[href^='#']")} <= set(ids), path
        assert {s["aria-labelledby"] for s in soup.select("section[aria-labelledby]")} <= set(ids), path


def test_on_paper_the_reply_is_whole_and_the_page_keys_are_gone(browser: Any, pages: list[Path]) -> None:
    page, _ = opened(
        browser, next(p for p in pages if p.name == "explain-09.html"), viewport={"width": 700, "height": 900}
    )
    box = page.locator("pre.response")
    assert box.evaluate("e => e.scrollHeight > e.clientHeight")
    page.emulate_media(media="print")
    assert box.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    assert page.locator(".here:visible, .skip:visible").count() == 0
