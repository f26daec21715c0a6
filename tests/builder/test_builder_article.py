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
        (f'{OPEN_GRAPH}<script type="application/ld+json">{{"@type": "LearningResource"}}</script>', False),
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
        "Get it in your inbox. Subscribe to Leaf.example’s newsletters.",
        "Get the latest updates in your inbox. Sign up for our newsletter.",
        "Get our magazine every month. Click here for more information.",
        "READ MORE: Third plant found in the valley",
        "- Also read: How plants drink",
        "Also on leaf.example Plants that eat flies",
        "Lea también: Las plantas",
        "Plants that surprised their owners [VIDEO]",
        "Image caption",
        "Media captionThe leaf that moved",
        "A leaf in the sun, on MondayCredit: Jane Roe/Leaf Agency",
        "The leaf in its valley (Photo: Leaf Agency)",
        "Image credit: NASA",
        "Like this story? Share it with a friend!",
        "Have a tip? Write to us.",
        "12 comments",
        "Advertisement",
        "Tell us what you think in the comments!",
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
        "Modified about 10 genes of maize",
        "Updated every 10 minutes by the weather station",
        "Published 3 March 1905: light quanta",
        "Nature of the image: virtual and erect",
        "Image: Real and inverted",
        "A tax credit: Who gets it",
        "Photo: how light makes one",
        "Photos: A, before heating; B, after heating",
        "Copyright: The right of an author to copy a work",
        "Figure 5.1 Ringworm presents as a raised ring. (Credit: Centers for Disease Control and Prevention)",
        "Related rates of change",
        "Related: work is the transfer of energy by a force",
        "Recommended: 8 g of copper sulfate in 100 ml of water",
        "Most readings fell between 20 and 25 °C",
        "Most popular theories of the Moon's origin involve an impact",
        "You may like to use a ruler to draw the rays",
        "You may likely see two images",
        "Image sources form where light crosses a lens.",
        "Image captions name what a picture shows",
        "Readers of the sky read more than stars: they read time.",
        "See also: peptide synthesis",
        "Highly porous rocks are more chargeable (click here for a table).",
        "Click here to see the proof.",
        "Also on p.45 you can see that current is the rate of flow of charge.",
        "Also on Fig.3 the current falls to zero",
        "2H2 + O2 → 2H2O [reaction]",
        "Concentrated sulfuric acid burns skin. [Warning]",
        "Lees ook de temperatuur af op de thermometer.",
        "Tell us what happens to the current when the resistance is doubled.",
        "Have a tipping bucket ready to measure the rain.",
        "Join the conversation: is light a wave or a particle?",
        "Watch the demonstration on YouTube and write down what happens.",
        "MQTT clients subscribe to topics and receive updates from the broker.",
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
        "Plants grow.\n\nThey need light.\nLeaves"
    )
    many = [f"How plants drink, part {n}" for n in range(MAX_LINKS + 2)]
    text = "\n".join(["Plants grow.", heading, *many])
    assert article_text(text, []) == "\n".join(["Plants grow.", *many[MAX_LINKS:]])


@pytest.mark.parametrize(
    "line",
    [
        "What is the force on a body of 5 kg?",
        "3. Calculate the weight of 5 kg on Earth",
        "a) Name the parts of the leaf",
        "N2 + 3 H2 → 2 NH3",
        "the law of motion is F = m a",
        "Hydrogen | 120 | MJ of energy | per kg",
        "Exercise 4",
    ],
)
def test_what_is_no_link_ends_the_links(line: str) -> None:
    text = f"Plants grow.\nRelated articles\n{line}\nHow plants drink, part 1"
    assert article_text(text, []) == f"Plants grow.\n{line}\nHow plants drink, part 1"


@pytest.mark.parametrize(
    ("first", "is_left"),
    [
        (TITLE, False),
        (TITLE.upper(), False),
        ("The heading of the page", False),
        ("Plants make sugar from light", False),  # long enough to be the title without its end
        ("Plants", True),
        ("Plants make sugar from light, and air from water", True),
        ("Plants make sugar from light.", True),  # a sentence
        ("sugar from light, water and air", True),  # not the beginning
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
