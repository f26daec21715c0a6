"""The parts of the pages: excerpts with their marks, words for tests, numbers, labels, and what holds them together."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.files.dataset import Dataset
from edu_rag.look.texts import quoted, signed
from edu_rag.records import Leak, Span, WebPage, page_id_of
from edu_rag.scorecard.card import Passage
from harness.explaining.shown_answer import LONG_SPAN, MAX_SPANS, ExcerptLimits, Marks, excerpt, excerpts
from harness.judging.free_text import Grade
from harness.judging.judge_audit import HumanVerdict, audit
from harness.pages.judge_page import band, judge_page, leaning_sentence, verdict_sentence
from harness.pages.render_page import probe_labels, render, shorten, side_by_side, visible

LIMITS = ExcerptLimits(pages=2, characters=400, context=20)
TEXT = "Plants make sugar from light. Cells divide by mitosis. Water boils at 100 degrees. " * 20


def page_of(text: str, url: str = "https://site.example/a") -> WebPage:
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title="A",
        text=text,
        sentences=(Span(0, len(text)),),
        fetched_at=datetime(2000, 1, 1, tzinfo=UTC),
        html_sha256="0" * 64,
        extractor="test",
    )


def shown(found: Any) -> list[str]:
    return ["".join(piece.text for piece in window.pieces) for window in found.windows]


def marked(found: Any, name: str) -> str:
    return "".join(p.text for window in found.windows for p in window.pieces if getattr(p, name))


def test_cited_evidence_and_leak_are_marked_apart_where_they_overlap() -> None:
    page = page_of(TEXT)
    found = excerpt("p", page, Marks([(1, 30, 54)], [(36, 60)], [(50, 70)]), LIMITS)
    assert marked(found, "is_cited") == TEXT[30:54]
    assert marked(found, "is_evidence") == TEXT[36:60]
    assert marked(found, "is_leak") == TEXT[50:70]
    assert [p.starts for w in found.windows for p in w.pieces if p.starts] == [(1,)]


def test_a_window_is_widened_to_whole_words_and_says_where_text_is_left_out() -> None:
    (window,) = excerpt("p", page_of(TEXT), Marks([(1, 166, 195)], [], []), LIMITS).windows
    text = "".join(piece.text for piece in window.pieces)
    assert text == "boils at 100 degrees. Plants make sugar from light. Cells divide by mitosis."
    assert window.is_cut_before
    assert window.is_cut_after
    (whole,) = excerpt("p", page_of("Short page."), Marks([(1, 0, 5)], [], []), LIMITS).windows
    assert (whole.is_cut_before, whole.is_cut_after) == (False, False)


def test_spans_near_one_another_share_a_window_and_far_ones_do_not() -> None:
    near = excerpt("p", page_of(TEXT), Marks([(1, 0, 10), (2, 30, 40)], [], []), LIMITS)
    far = excerpt("p", page_of(TEXT), Marks([(1, 0, 10), (2, 900, 910)], [], []), LIMITS)
    assert (len(near.windows), len(far.windows)) == (1, 2)
    assert near.places == ("[0:10]", "[30:40]")


def test_of_a_long_span_head_and_tail_are_shown() -> None:
    text = "".join(f"w{i:04} " for i in range(1_000))
    found = excerpt("p", page_of(text), Marks([(1, 0, 6_000)], [], []), ExcerptLimits(2, 10_000, 10))
    assert [len(part) < LONG_SPAN for part in shown(found)] == [True, True]
    assert shown(found)[0].startswith("w0000")
    assert shown(found)[1].rstrip().endswith("w0999")


def test_windows_beyond_the_limit_are_counted_and_the_first_is_cut_to_it() -> None:
    spans = [(number, place, place + 5) for number, place in enumerate(range(0, 1_600, 200), 1)]
    found = excerpt("p", page_of(TEXT), Marks(spans, [], []), ExcerptLimits(2, 100, 10))
    assert (len(found.windows), found.n_left_out) == (3, 5)
    first = excerpt("p", page_of(TEXT), Marks([(1, 0, 900)], [], []), ExcerptLimits(2, 100, 10))
    assert len(shown(first)[0]) == 100


def test_spans_outside_the_page_are_counted_not_shown() -> None:
    found = excerpt("p", page_of("Short."), Marks([(1, 0, 6), (2, 0, 7), (3, 90, 99)], [], []), LIMITS)
    assert (shown(found), found.n_outside) == (["Short."], 2)
    gone = excerpt("px", None, Marks([(1, 0, 6)], [], []), LIMITS)
    assert (gone.page, gone.windows, gone.places, gone.n_outside) == (None, (), ("[0:6]",), 0)


def test_evidence_on_a_cited_page_outside_the_cited_passage_is_missed_evidence() -> None:
    page = page_of(TEXT)
    cited, missed, n_left = excerpts(
        [Passage(page.page_id, 0, 29)], {page.page_id: [(7, 11), (60, 65)]}, [], {page.page_id: page}, LIMITS
    )
    assert [found.page_id for found in cited] == [found.page_id for found in missed] == [page.page_id]
    assert marked(missed[0], "is_evidence") == TEXT[60:65]
    assert (missed[0].places, n_left) == ((), 0)


def test_pages_stand_in_order_of_first_citation_then_those_with_evidence_that_were_not_cited() -> None:
    pages = {page.page_id: page for page in (page_of(TEXT, f"https://site.example/{name}") for name in "abcde")}
    a, b, c, d, e = pages
    cited, missed, n_left = excerpts(
        [Passage(b, 0, 5), Passage(a, 0, 5), Passage(b, 9, 12), Passage(c, 0, 3)],
        {a: [(0, 5)], d: [(0, 5)], e: [(1, 2)]},
        [Leak(question_id="q", page_id=d, start=10, end=20, kind="leak_key")],
        pages,
        LIMITS,
    )
    assert [found.page_id for found in cited] == [b, a]
    assert [found.page_id for found in missed] == [d, e]
    assert n_left == 1
    assert cited[0].places == ("[0:5]", "[9:12]")
    assert marked(missed[0], "is_leak") == TEXT[10:20]


@given(
    st.text(min_size=1, max_size=300),
    st.lists(st.tuples(st.integers(0, 320), st.integers(1, 300)), max_size=8),
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 100)), max_size=4),
    st.integers(0, 60),
)
def test_windows_are_pieces_of_the_text_in_order_that_hold_every_span_inside_it(
    text: str, cited: list[tuple[int, int]], evidence: list[tuple[int, int]], context: int
) -> None:
    marks = Marks(
        [(i, start, start + length) for i, (start, length) in enumerate(cited, 1)],
        [(start, min(start + length, len(text))) for start, length in evidence if start < len(text)],
        [],
    )
    found = excerpt("p", page_of(text), marks, ExcerptLimits(2, 10_000, context))
    at = 0
    for part in shown(found):
        at = text.index(part, at) + len(part)
    inside = {i for _, start, end in marks.cited if end <= len(text) for i in range(start, end)}
    assert sum(len(p.text) for w in found.windows for p in w.pieces if p.is_cited) == len(inside)
    assert found.n_outside == sum(end > len(text) for _, _, end in marks.cited)


def test_a_hundred_thousand_citations_are_told_in_bounds() -> None:
    spans = [(i, i % 1_000, i % 1_000 + 3) for i in range(1, 100_001)]
    found = excerpt("p", page_of(TEXT), Marks(spans, [], []), LIMITS)
    assert len(found.places) == MAX_SPANS
    assert sum(map(len, shown(found))) <= LIMITS.characters

    assert signed(-0.25) == "−0.250"


def test_a_quoted_text_is_one_line_and_a_cut_one_keeps_its_closing_quote() -> None:
    assert quoted("b, i.e.\n\x1b", 80) == "'b, i.e.\\n\\x1b'"
    assert quoted("x" * 78, 80) == f"'{'x' * 78}'"
    assert quoted("x" * 79, 80) == f"'{'x' * 77}…'"
    assert quoted("it's " + "x" * 90, 10) == '"it\'s xx…"'


def test_characters_that_nobody_sees_are_named_and_long_texts_say_how_much_is_left() -> None:
    assert visible("b\u200b\u202e \x1b[31m\n\ttab") == "b⟨U+200B⟩⟨U+202E⟩ ⟨U+001B⟩[31m\n\ttab"
    assert visible("👩\u200d🔬 é ق") == "👩\u200d🔬 é ق"
    assert shorten("a\n" * 3, 6) == "a\n" * 3
    assert shorten("x" * 1_500, 4) == "xxxx … (1,496 more characters)"


@pytest.mark.parametrize(
    ("kappa", "word"),
    [
        (1.0, "almost perfect"),
        (0.81, "almost perfect"),
        (0.8, "substantial"),
        (0.5, "moderate"),
        (0.3, "fair"),
        (0.0, "slight"),
        (-0.1, "poor"),
    ],
)
def test_kappa_has_landis_and_kochs_words(kappa: float, word: str) -> None:
    assert band(kappa) == word


def test_figures_stand_side_by_side_by_their_labels_and_lists_stay_in_the_scorecard() -> None:
    a, b = {"x": {"y": 1, "z": [1, 2]}, "s": "measured"}, {"x": {"y": 2.5}, "new_one": True}
    assert side_by_side(a, b) == [("x y", 1, 2.5), ("s", "measured", None), ("new one", None, True)]
    assert side_by_side(a, b, {"gone": "Gone", "x y": "Why"}) == [("Why", 1, 2.5)]
    a, b = {"repeat": {"score": 0.1, "positions": [1]}}, {"permuted": {"n": 7, "consistency": 0.8}}
    assert side_by_side(a, b, probe_labels(a, b)) == [
        ("repeat: score", 0.1, None),
        ("permuted: questions", None, 7),
        ("permuted: share with the same choice", None, 0.8),
    ]
    assert len(side_by_side({str(i): i for i in range(500)}, {})) == 60


def test_the_policy_of_a_page_allows_its_own_style_by_hash_and_nothing_else(
    tiny: Dataset, write_answers: Callable[..., Path]
) -> None:
    from harness.explaining.explain import explain
    from harness.pages.explain_page import explain_page
    from harness.submission.target import find_target

    path = write_answers({question.question_id: "a" for question in tiny.questions("test")}, "test.jsonl")
    target = find_target(path, tiny.manifest, "test", None)
    text = explain_page(explain(tiny, "test", target, "q001"), "test", "edu-rag explain x")
    soup = BeautifulSoup(text, "html.parser")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    policy = soup.select_one("meta[http-equiv]")["content"]
    expected = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{expected}'; base-uri 'none'; form-action 'none'"
    assert not soup.select("script, img, link, iframe, [style]")
    assert "q001" in soup.title.text
    assert tiny.id in soup.title.text
    assert {h["id"] for h in soup.select("h2[id]")} == {"question", "answer", "cited", "missed", "leaks"}


def test_terminal_and_page_miss_the_same_evidence(tiny: Dataset, write_lines: Callable[..., Path]) -> None:
    from harness.explaining.explain import explain, explanation_lines
    from harness.pages.explain_page import explain_page
    from harness.submission.target import find_target

    page_id = page_id_of("http://site0.example/page")
    for passage, n_missed in (([page_id, 30, 40], 1), ([page_id, 0, 40], 0)):
        path = write_lines([{"question_id": "q001", "answer": "a", "passages": [passage]}], "test.jsonl")
        found = explain(tiny, "test", find_target(path, tiny.manifest, "test", None), "q001")
        soup = BeautifulSoup(explain_page(found, "test", "edu-rag explain x"), "html.parser")
        section = soup.select_one("section[aria-labelledby=missed]")
        assert section.h2.text.startswith("Evidence that was not cited")
        assert ("None: all evidence" in section.text) == (n_missed == 0)
        assert len(found.missed()) == n_missed
        assert any(line.startswith("not cited  1 place") for line in explanation_lines(found)) == (n_missed == 1)


def test_a_template_that_lacks_a_value_is_an_error_not_a_gap() -> None:
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        render("explain.html.j2")


def human(question: str, said: bool | None, answer: str) -> HumanVerdict:
    return HumanVerdict(question=question, gold=("Curie",), answer=answer, system="s", human=said, set="one")


class Kind:
    """A judge that calls everything right but what it cannot read."""

    def grade(self, question: str, gold: object, answer: str) -> Grade:
        if answer == "?":
            return Grade("unjudged", "no verdict line", "kind")
        return Grade("correct" if answer.startswith("Curie") else "incorrect", "it says so", "kind")

    def facts(self) -> dict[str, Any]:
        return {"name": "kind", "prompt": {"name": "p-v1"}}


def test_the_page_of_an_audit_has_the_confusion_the_sentence_and_the_differences() -> None:
    verdicts = [
        human("q1", True, "Curie"),
        human("q2", False, "Curie 2"),
        human("q3", False, "Bohr"),
        human("q4", False, "Curie 3"),
        human("q5", True, "?"),
        human("q6", None, "x"),
    ]
    found = audit(verdicts, Kind(), files=[("h.jsonl", "ab" * 32)])
    soup = BeautifulSoup(judge_page(found, "edu-rag judge audit --human h.jsonl"), "html.parser")
    table = soup.select_one("table.crossed")
    assert [cell.text for cell in table.select("td")] == ["1", "2", "0", "1"]
    lead = soup.select_one(".lead").text
    assert lead.startswith("The judge and people agree on 50.0 % of 4 answers; beyond what chance would give")
    assert "kinder than people: 2 answers are right for the judge alone, 0 for people alone" in lead
    assert "from 25.0 to 75.0 %" in lead
    assert "1 of 5 answers stayed unjudged" in lead
    assert len(soup.select("article.flip")) == 2
    assert "1 left out, whose questions people called improper" in " ".join(soup.text.split())
    assert "prompt name" in soup.text
    assert "no verdict line" in soup.text


def test_an_audit_without_a_verdict_or_without_a_kappa_says_so() -> None:
    none = audit([human("q", True, "?")], Kind())
    assert verdict_sentence(none) == "The judge graded none of the answers."
    same = audit([human("q", True, "Curie"), human("r", True, "Curie")], Kind())
    assert "kappa is undefined" in verdict_sentence(same)
    assert leaning_sentence(same) == "It errs as often one way as the other: 0 answers each."
    sterner = audit([human("q", True, "Bohr"), human("r", False, "Bohr"), human("s", True, "Curie")], Kind())
    assert leaning_sentence(sterner).startswith("It is sterner than people: 0 answers are right for the judge alone, 1")
    assert "They differ nowhere" in judge_page(same, "x")


def test_what_an_answer_cost_is_told(tiny: Dataset, write_lines: Callable[..., Path]) -> None:
    from harness.explaining.explain import explain
    from harness.pages.explain_page import explain_page
    from harness.submission.target import find_target

    line = {
        "question_id": "q001",
        "answer": "b",
        "confidence": 0.25,
        "latency_s": 1.5,
        "input_tokens": 1200,
        "output_tokens": 7,
        "cost_usd": 0.00125,
        "energy_j": 12.25,
    }
    target = find_target(write_lines([line], "test.jsonl"), tiny.manifest, "test", None)
    soup = BeautifulSoup(explain_page(explain(tiny, "test", target, "q001"), "test", "x"), "html.parser")
    values = [" ".join(d.text.split()) for d in soup.select("dd")]
    told = dict(zip([d.text for d in soup.select("dt")], values, strict=True))
    assert told["Confidence"] == "0.250"
    assert told["Latency"] == "1.50 s"
    assert (told["Input tokens"], told["Output tokens"]) == ("1,200", "7")
    assert (told["Cost"], told["Energy"]) == ("0.001250 US dollars", "12.2 J")
