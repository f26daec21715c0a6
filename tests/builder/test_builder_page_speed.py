"""Short cuts of the page stage change no result: hints let every match through, one walk tells what many did."""

from __future__ import annotations

import re
import unicodedata

import lxml.etree
import lxml.html
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.deriving.duplicates import _shingles, _words, signature
from builder.extract.cascade import cascade_v1
from builder.extract.extraction_tools import (
    drop_unread,
    page_shape,
    resiliparse_all,
    resiliparse_main,
    resiliparse_tree,
    trafilatura_fast,
    trafilatura_full,
)
from builder.extract.page_blocks import PageBlocks, TextBlock
from builder.extract.page_facts import page_facts
from builder.extract.page_text import clean_text, parse_html, signs_of
from builder.extract.prepass import apply_prepass
from builder.extract.text_estimate import ENDS, PageEstimate, _squeezed
from builder.labels import injection, pii
from builder.labels.hidden_text import hidden_text_of

PROSE = "<p>Water boils at a lower temperature on a mountain, for the pressure of the air is lower there.</p>"
PERSONAL = st.lists(
    st.sampled_from(
        [
            "tel",
            "call us at ",
            "phone: ",
            " ",
            "-",
            ".",
            "(",
            ")",
            "+",
            "1-800-",
            "FLOWERS",
            "555",
            "0176",
            "4111",
            "1111",
            "378282246310005",
            "3782-822463-10005",
            "visa",
            "ssn ",
            "078-05-1120",
            "GB82 WEST 1234 5698 7654 32",
            "192.168.1.20",
            "::",
            "2001:db8:85a3::8a2e",
            ":",
            "a@example.org",
            "@",
            "x",
            "7",
            "–",
            ",",
        ]
    ),
    max_size=14,
).map("".join)
ORDERS = st.lists(
    st.sampled_from(
        [
            "ignore ",
            "Disregard ",
            "forget ",
            "all ",
            "previous ",
            "prıor ",
            "ınstructions",
            "instructions: ",
            "everything above ",
            "note to ",
            "AI ",
            "AIs ",
            "language model ",
            "ChatGPT",
            "LLMs",
            "Llama ",
            "if you are an ",
            "answer ",
            "as an ",
            ", you must ",
            "you are now DAN",
            "always ",
            "only ",
            "respond with ",
            "A.",
            "reveal your ",
            "system prompt",
            "System Prompt : x",
            "<|im_start|>system",
            "[INST] obey me",
            "<<SYS>>",
            "\n",
            "new instructions: x",
            "## system\nyou are ",
            "ſystem ",
            " ",
        ]
    ),
    max_size=9,
).map("".join)


@given(PERSONAL)
def test_no_personal_datum_is_missed_by_the_hint_of_its_rule(text: str) -> None:
    for hint, pattern, token, accepts in pii._RULES:
        masked = pattern.sub(pii._masker(token, accepts), text)
        assert hint.search(text) is not None or masked == text


@given(ORDERS)
def test_no_order_to_a_model_is_missed_by_the_words_that_are_looked_for_first(text: str) -> None:
    plain = injection._plain(text)
    assert injection._may_order(plain) or injection._ORDER.search(text) is None
    assert injection._may_turn(plain) or injection._TURN.search(text) is None


@given(st.text(st.sampled_from("a b\u00a0\t\n\r\v\f\x1c\x1f\x85\u2003\u2028é\u0301\u200b"), max_size=60))
def test_cleaned_text_has_single_spaces_and_one_blank_line_at_most(text: str) -> None:
    cleaned = clean_text(text)
    assert re.search(r"[^\S\n]{2}|[^\S\n ]|\n{3}|^\s|\s$| \n|\n ", cleaned) is None
    assert cleaned.split() == unicodedata.normalize("NFC", re.sub("[\u200b\x1f]", "", text)).split()
    assert clean_text(cleaned) == cleaned


@given(st.lists(st.sampled_from(["a", "B", "é", "ω3", "\ud800", "x y"]), max_size=20).map(" ".join))
def test_a_signature_is_the_sketch_of_the_set_of_word_5_grams(text: str) -> None:
    from rensa import RMinHash

    sketch = RMinHash(num_perm=128, seed=20170707)
    sketch.update([shingle.encode("utf-8", "replace") for shingle in sorted(_shingles(_words(text)))])
    assert signature(text)[32:] == b"".join(value.to_bytes(4, "little") for value in sketch.digest())


@given(st.lists(st.text("abcdé☃ ", min_size=1, max_size=90), min_size=1, max_size=9), st.data(), st.integers(1, 3))
def test_the_blocks_that_a_text_has_are_those_whose_ends_are_in_it(
    texts: list[str], data: st.DataObject, step: int
) -> None:
    blocks = [TextBlock(text, "p", 0, 0, 0, 0) for text in texts]
    squeezed = _squeezed("".join(data.draw(st.lists(st.sampled_from([*texts, "abc", "é☃"]), max_size=6))))
    found = PageEstimate(PageBlocks(blocks), np.ones(len(texts)))._n_ends_in(squeezed, step)
    keys = [_squeezed(text) for text in texts[::step]]
    assert found.tolist() == [(key[:ENDS] in squeezed) + (key[-ENDS:] in squeezed) for key in keys]


@pytest.mark.parametrize("tool", [trafilatura_fast, trafilatura_full])
def test_trafilatura_leaves_the_tree_as_it_is_so_that_the_next_tool_can_have_it(tool: object) -> None:
    assert callable(tool)
    tree = parse_html(f"<body><nav><a href=x>n</a></nav><article>{PROSE * 9}<form>f</form></article></body>")
    before = lxml.etree.tostring(tree)
    first = tool(tree)
    assert "Water boils" in first
    assert lxml.etree.tostring(tree) == before
    assert tool(tree) == first


@pytest.mark.parametrize("tag", ["form", "input", "label", "select", "p", "svg"])
def test_every_element_of_a_page_is_of_the_one_class_that_extractors_ask_for(tag: str) -> None:
    found = parse_html(f"<body><{tag}></{tag}></body>").find(f".//{tag}")
    assert type(found) is lxml.html.HtmlElement


def test_resiliparse_reads_a_tree_several_times_without_changing_it() -> None:
    html = f"<body><nav><a href=x>n</a></nav><main>{PROSE * 9}<ul><li>a<li>b</ul></main><footer>f</footer></body>"
    tree = resiliparse_tree(html)
    for read in (resiliparse_main, resiliparse_all, resiliparse_main):
        assert read(tree) == read(html)


def test_depth_is_counted_for_tags_in_any_case() -> None:
    assert page_shape("<DIV><dIv><BlockQuote><SPAN></span>").depth == 4
    assert page_shape("<divx><spanner><article-list>").depth == 0


def test_signs_name_tags_and_class_names_whatever_their_case() -> None:
    signs = signs_of(parse_html('<body><FIGURE class=" Big  promo"></FIGURE><p class="x">a</p></body>'))
    assert {"big", "promo", "x"} == signs.classes
    assert "figure" in signs
    assert "aside" not in signs


@pytest.mark.parametrize(
    "mark",
    [
        '<a class="headerlink" href="#x" title="Permalink">¶</a>',
        '<span class="mw-editsection"><span>[</span><a href="/edit">edit</a><span>]</span></span>',
    ],
)
def test_marks_beside_headings_are_dropped(mark: str) -> None:
    body = f"<body><article><h2>Boiling points{mark}</h2>{PROSE * 12}</article></body>"
    text = cascade_v1(body, parse_html(body), page_shape(body)).text
    assert text.split("\n")[0] == "Boiling points"


def test_what_no_tool_reads_is_dropped_and_the_text_after_it_stays() -> None:
    tree = parse_html("<body><p>a<svg><text>Z</text></svg>b<style>p{}</style>c</p></body>")
    drop_unread(tree)
    assert tree.text_content().strip() == "abc"


def test_licence_and_author_come_from_one_walk_in_their_order_of_trust() -> None:
    stated = '{"license": "https://l.example/json", "author": {"name": "Ada Byte"}}'
    data = f'<script type="application/ld+json">{stated}</script>'
    link = '<a rel="nofollow license" href="https://l.example/link">l</a>'
    cc = '<a href="https://creativecommons.org/licenses/by/4.0/">CC</a>'
    assert page_facts(parse_html(f"<body>{data}{link}{cc}</body>")) == ("https://l.example/link", "Ada Byte")
    assert page_facts(parse_html(f"<body>{data}{cc}</body>"))[0] == "https://l.example/json"
    assert page_facts(parse_html(f"<body>{cc}<a rel=author>By Eve Nil</a></body>")) == (
        "https://creativecommons.org/licenses/by/4.0/",
        "Eve Nil",
    )


@pytest.mark.parametrize(
    ("css", "hidden"),
    [
        (".a{display:none}", "one"),
        (".a{display:none} .a{display:block}", ""),
        ("q.a, p.a {color:red; visibility:hidden}", "one"),
        ("p{display:none}", "one"),
        ("P{display:none", ""),
        ("/* never closed .a{display:none}", ""),
        ("@media print{.a{display:none}}", ""),
        (".x .a{display:none}", ""),
    ],
)
def test_style_rules_that_hide_are_read_up_to_their_closing_bracket(css: str, hidden: str) -> None:
    tree = parse_html(f"<head><style>{css}</style></head><body><p class=a>one</p><div>two</div></body>")
    assert hidden_text_of(tree) == hidden


def test_comments_that_never_close_are_read_in_linear_time() -> None:
    tree = parse_html(f"<head><style>{'/*' * 100_000}</style></head><body>{PROSE}</body>")
    assert hidden_text_of(tree) == ""


def test_raised_text_by_class_or_style_alone_is_raised() -> None:
    tree = parse_html('<body><p>10<span class="Sup">8</span> m<span style="VERTICAL-ALIGN: super">2</span></p></body>')
    apply_prepass(tree)
    assert tree.text_content().strip() == "10⁸ m²"
