"""Articles lose their title and their calls to the reader, nothing else; other pages are read as before."""

from __future__ import annotations

import pytest

from builder.extract.article import MAX_CALL, MAX_HEADING, MAX_LINKS, article_text, is_article, titles_of
from builder.extract.cascade import FAST, MAIN, MIN_BYTES
from builder.extract.extract import Extracted, extract_page
from builder.extract.page_text import parse_html

TITLE = "Plants make sugar from light, water and air"
PROSE = "".join(
    f"<p>Fact {n}: green plants make sugar from light, water and carbon dioxide, and give off oxygen, as {n} says.</p>"
    for n in range(20)
)
CALLS = "<p>Follow us on Facebook and Instagram.</p><p>Read more: Ten plants that eat flies</p>"
OPEN_GRAPH = '<meta property="og:type" content="article">'


def page(head: str, body: str) -> str:
    return f"<html><head><title>{TITLE} | The Daily Leaf</title>{head}</head><body>{body}</body></html>"


def extracted(html: str, extractor: str, skip: tuple[str, ...] = ()) -> Extracted:
    found = extract_page(html.encode(), None, extractor, skip)
    assert isinstance(found, Extracted)
    return found


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (OPEN_GRAPH, True),
        ('<meta property="og:type" content=" Article ">', True),
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', True),
        ('<script type="application/ld+json">{"@type": ["ReportageNewsArticle"]}</script>', True),
        ('<meta itemtype="https://schema.org/NewsArticle">', True),
        ('<meta property="og:type" content="website">', False),
        ('<meta property="og:title" content="article">', False),
        ('<script type="application/ld+json">{"@type": "Article"}</script>', False),
        ("<title>What a NewsArticle is</title>", False),
        ("", False),
    ],
)
def test_an_article_is_what_says_so_of_itself(head: str, expected: bool) -> None:
    html = page(head, PROSE)
    assert is_article(html, parse_html(html)) is expected


@pytest.mark.parametrize(
    "line",
    [
        "Follow The Daily Leaf on Facebook, Twitter (@leaf) and Instagram.",
        "SUBSCRIBE",
        "Get the latest updates in your inbox. Sign up for our newsletter.",
        "Get our magazine every month. Click here for more information.",
        "READ MORE: Third plant found in the valley",
        "- Also read: How plants drink",
        "Also on leaf.example Plants that eat flies",
        "Lea también: Las plantas",
        "Plants that surprised their owners [VIDEO]",
        "Image caption",
        "A leaf in the sun, on MondayCredit: Jane Roe/Leaf Agency",
        "The leaf in its valley (Photo: Leaf Agency)",
        "Image credit: NASA",
        "Like this story? Share it with a friend!",
        "Have a tip? Write to us.",
        "12 comments",
        "Advertisement",
        "Last updated: 21 April 2025",
        "- Published Monday, April 21, 2025",
        "Updated at 1:23 p.m.",
    ],
)
def test_a_call_to_the_reader_goes(line: str) -> None:
    assert article_text(f"Plants grow.\n{line}\nThey need light.", []) == "Plants grow.\nThey need light."


@pytest.mark.parametrize(
    "line",
    [
        "Modified Newtonian dynamics",
        "Published On the Origin of Species in 1859",
        "Nature of the image: virtual and erect",
        "Image: Real and inverted",
        "A tax credit: Who gets it",
        "Photo: how light makes one",
        "Related rates of change",
        "Image sources form where light crosses a lens.",
        "Readers of the sky read more than stars: they read time.",
        "Plants follow the sun on its way.",
        "Comments by three botanists follow.",
        "Trending temperatures are shown in figure 3.",
        "He found the leaf and published it in a journal that nobody reads.",
        "Miss no chance to look at a leaf.",
        "Follow us on Facebook. " + "A long line is text. " * (MAX_CALL // 20),
    ],
)
def test_a_line_that_only_resembles_a_call_stays(line: str) -> None:
    text = f"Plants grow.\n{line.strip()}\nThey need light."
    assert article_text(text, []) == text


@pytest.mark.parametrize("heading", ["You may also like...", "DON'T MISS", "Related articles", "Most read in science"])
def test_links_after_their_heading_go_up_to_the_next_sentence_and_to_a_bound(heading: str) -> None:
    links = "\n".join(f"How plants drink, part {n}" for n in range(3))
    assert article_text(f"Plants grow.\n{heading}\n\n{links}\nThey need light.\nLeaves", []) == (
        "Plants grow.\nThey need light.\nLeaves"
    )
    many = "\n".join(f"Plant {n}" for n in range(MAX_LINKS + 2))
    assert article_text(f"Plants grow.\n{heading}\n{many}", []) == "Plants grow.\nPlant 6\nPlant 7"


@pytest.mark.parametrize(
    ("first", "is_left"),
    [
        (TITLE, False),
        (TITLE.upper(), False),
        ("The heading of the page", False),
        ("Plants make sugar from light", False),  # long enough to be the title without its end
        ("Plants", True),
        ("Plants make sugar from light, and air from water", True),
        ("…", True),
    ],
)
def test_a_first_line_that_is_a_title_goes_and_only_there(first: str, is_left: bool) -> None:
    titles = titles_of(parse_html(page("", f"<h1>The heading of<b> the page</b></h1>{PROSE}")))
    text = f"Plants grow.\n{first}"
    assert article_text(text, titles) == text
    assert (first in article_text(f"{first}\n\n{text}", titles).split("\n")[:1]) is is_left


def test_a_long_first_line_is_no_title_and_a_heading_is_read_up_to_a_bound() -> None:
    line = "Plants grow and " * (MAX_CALL // 10)
    assert article_text(f"{line}end.\nThey need light.", [f"{line}end."]).startswith(line)
    titles = titles_of(parse_html(page("", f"<h1>{'Plants ' * MAX_HEADING}</h1>{PROSE}")))
    assert [len(title) for title in titles[1:]] == [MAX_HEADING]


def test_an_article_is_left_to_trafilatura_and_has_neither_title_nor_calls() -> None:
    body = f"<article><h1>{TITLE}</h1>{PROSE}{CALLS}</article>"
    found, before = (extracted(page(OPEN_GRAPH, body), name) for name in ("cascade-v4", "cascade-v3"))
    assert (found.tool, before.tool) == (FAST, MAIN)
    assert found.text.count("Fact ") == 20
    assert found.text.startswith("Fact 0")
    assert found.text.endswith("as 19 says.")
    assert found.title == f"{TITLE} | The Daily Leaf"
    assert "Read more: Ten plants" in before.text


def test_another_page_is_read_as_by_the_version_before() -> None:
    html = page('<meta property="og:type" content="website">', f"<article><h1>{TITLE}</h1>{PROSE}{CALLS}</article>")
    assert extracted(html, "cascade-v4") == extracted(html, "cascade-v3")


def test_an_article_that_only_calls_make_long_enough_keeps_them() -> None:
    html = page(OPEN_GRAPH, f"<article><h1>{TITLE}</h1><p>Plants grow.</p>{CALLS * 6}</article>")
    text = extracted(html, "cascade-v4").text
    assert "Follow us on Facebook" in text
    assert len(article_text(text, [TITLE]).encode()) < MIN_BYTES < len(text.encode())


def test_an_article_loses_its_calls_whichever_tool_reads_it() -> None:
    html = page(OPEN_GRAPH, f"<article><h1>{TITLE}</h1>{PROSE}{CALLS}</article>")
    found = extracted(html, "cascade-v4", (FAST, "trafilatura"))
    assert found.tool == MAIN
    assert (found.text.count("Fact "), "Ten plants" in found.text, TITLE in found.text) == (20, False, False)
