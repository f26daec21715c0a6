"""The estimate of tools' texts: its blocks are the page's text, its chances are exact, and it drops only the frame."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.extract.cascade import FAST, FULL, MAIN
from builder.extract.extract import Extracted, ExtractionFailure, extract_page
from builder.extract.extraction_tools import MAX_BYTES, MAX_SHRUNK_BYTES, without_long_scripts
from builder.extract.page_blocks import MARKS, TextBlock, blocks_of
from builder.extract.page_text import parse_html
from builder.extract.text_estimate import (
    _END,
    _SECTION,
    PageEstimate,
    _is_other,
    _n_ends,
    _squeezed,
    _squeezed_block,
    _trees,
    estimate_of,
    features_of,
)

PROSE = "".join(
    f"<p>Fact {n}: green plants make sugar from light, water and carbon dioxide, and give off oxygen, as {n} says.</p>"
    for n in range(20)
)
NAV = "".join(f'<li><a href="/{n}">Section {n}</a></li>' for n in range(20))
PAGE = (
    f'<html><body><nav class="main-menu"><ul>{NAV}</ul></nav><main><h1>Plants</h1>{PROSE}</main>'
    '<footer class="site-footer"><p>© 2026 A school. All rights reserved. Privacy.</p></footer></body></html>'
)


def found_blocks(body: str) -> list[TextBlock]:
    return blocks_of(parse_html(f"<html><body>{body}</body></html>")).blocks


def marks_of(block: TextBlock) -> set[str]:
    return {name for bit, name in enumerate(MARKS) if block.marks >> bit & 1}


def test_blocks_are_the_text_between_block_elements_once_and_in_order() -> None:
    body = "a <b>bold</b> word<p>one<br>two</p>tail<table><tr><td>x</td><td>y</td></tr></table><script>no</script>end"
    texts = [block.text for block in found_blocks(body)]
    assert texts == ["a bold word", "one two", "tail", "x | y", "end"]


def test_a_block_has_the_marks_of_all_elements_that_hold_it() -> None:
    (block,) = found_blocks('<nav><div class="post-text share" id="sidebar"><p>word</p></div></nav>')
    assert marks_of(block) == {"<nav>", "article", "share", "side"}


def test_the_characters_of_a_block_in_links_are_counted() -> None:
    assert [block.n_linked for block in found_blocks('<p>see <a href="/">here</a></p><p>word</p>')] == [4, 0]


def test_no_feature_is_without_a_number_and_the_names_are_those_the_model_was_fitted_on() -> None:
    for body in ("word", PAGE, "<p>x</p>" * 3, "<h1>x</h1>"):
        rows, names = features_of(blocks_of(parse_html(body)))
        assert rows.shape == (len(rows), len(names))
        assert np.isfinite(rows).all()
        assert tuple(names) == _trees().names


@given(st.text(alphabet='a K\u212a.?!…"’)|-\u00a0\n'))
def test_short_ways_to_a_feature_find_what_the_long_ways_find(text: str) -> None:
    assert _n_ends(text) == len(_END.findall(text))
    block = TextBlock(" ".join(text.split()), "p", 0, 0, 0, 0)
    assert _squeezed_block(block) == _squeezed(text)


@given(
    st.lists(st.sampled_from(["Related", "MORE from", "Lin\u212as", "About Us", "Force", "LinK", "\u017fources", "—"]))
)
def test_a_heading_is_of_another_section_whatever_its_case(words: list[str]) -> None:
    heading = " ".join(words)
    assert _is_other(heading) is (_SECTION.search(heading) is not None)


def test_many_rows_have_the_same_chances_as_each_alone() -> None:
    rows, _ = features_of(blocks_of(parse_html(PAGE)))
    many = np.concatenate([rows] * 120)
    assert (_trees().chances(many) == np.tile(_trees().chances(rows), 120)).all()


def estimated(chances: Callable[[int], list[float]]) -> tuple[PageEstimate, object]:
    tree = parse_html(PAGE)
    estimate = estimate_of(tree, lambda rows: np.array(chances(len(rows))))
    assert estimate is not None
    return estimate, tree


def test_a_text_with_all_main_text_and_nothing_else_is_expected_to_be_right() -> None:
    estimate, tree = estimated(lambda n: [0.0] * 20 + [1.0] * (n - 21) + [0.0])
    text = "\n".join(block.text for block in blocks_of(tree).blocks[20:-1])
    assert estimate.expected_f1(text) == 1.0
    assert estimate.expected_f1("") == 0.0
    assert 0.5 < estimate.expected_f1(text[: len(text) // 2]) < 0.8


def test_on_a_page_of_very_many_blocks_and_characters_only_some_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate, tree = estimated(lambda n: [1.0] * n)
    text = "\n".join(block.text for block in blocks_of(tree).blocks)
    monkeypatch.setattr("builder.extract.text_estimate.MAX_SEARCHED", 10_000)
    assert estimate.expected_f1(text) == 1.0
    assert estimate.expected_f1("") == 0.0


def test_only_what_surely_is_no_main_text_is_dropped_and_nothing_if_there_is_no_main_text() -> None:
    estimate, tree = estimated(lambda n: [0.01] * 20 + [0.9] * (n - 21) + [0.3])
    estimate.drop_frame()
    left = [block.text for block in blocks_of(tree).blocks]
    assert (left[0], left[-1][:1], len(left)) == ("Plants", "©", 22)
    estimate, tree = estimated(lambda n: [0.01] * n)
    estimate.drop_frame()
    assert len(blocks_of(tree).blocks) == 42


def test_a_page_without_text_has_no_estimate() -> None:
    assert estimate_of(parse_html("<html><body><script>x</script></body></html>")) is None


def test_the_cascade_leaves_menus_and_footers_out_and_keeps_the_text() -> None:
    found = extract_page(PAGE.encode(), None, "cascade-v3")
    assert isinstance(found, Extracted)
    assert found.text.count("Fact ") == 20
    assert "Section 3" not in found.text
    assert "rights reserved" not in found.text


@pytest.mark.parametrize("tool", ["resiliparse_main", "trafilatura_fast"])
def test_a_tool_that_raises_leaves_the_page_to_the_other(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(tree: object) -> str:
        raise KeyError("a")

    monkeypatch.setattr(f"builder.extract.cascade.{tool}", raises)
    found = extract_page(PAGE.encode(), None, "cascade-v3")
    assert isinstance(found, Extracted)
    assert found.text.count("Fact ") == 20
    assert found.tool in {FAST, FULL, MAIN}


@pytest.mark.parametrize("extractor", ["cascade-v3", "cascade-v4"])
def test_only_the_last_cascades_read_a_page_that_only_its_scripts_make_too_large(extractor: str) -> None:
    script = f"<script>state = {'x' * MAX_BYTES}</script>"
    page = PAGE.replace("</body>", f"{script}</body>").encode()
    found = extract_page(page, None, extractor)
    assert isinstance(found, Extracted)
    assert found.text.count("Fact ") == 20
    short = b"<script>kept</script>"
    assert short in without_long_scripts(short + script.encode())
    assert extract_page(b"x" * (MAX_BYTES + 1), None, extractor) == ExtractionFailure(reason="too_large")
    for older in ("cascade-v1", "cascade-v2", "resiliparse-v1"):  # names that datasets are pinned to
        assert extract_page(page, None, older) == ExtractionFailure(reason="too_large")
    huge = b"<script>" + b"x" * MAX_SHRUNK_BYTES + b"</script>"
    assert without_long_scripts(huge) == huge
