"""Extraction: science survives, a page that hangs or crashes costs only itself, nothing touches the network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.clock import LOCAL_INSTANT as AT
from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving.page_stage import PageJob, PageResult, PageSettings, page_results
from builder.extract import page_text
from builder.extract.extract import (
    CASCADES,
    EXTRACTORS,
    SAMPLE,
    Extracted,
    ExtractionFailure,
    check_extractor,
    check_tools,
    extract_page,
    skip_after,
)
from builder.extract.extraction_tools import (
    MAX_BYTES,
    MAX_SCRIPT_BYTES,
    MAX_TAGS,
    page_shape,
    refused,
    without_long_scripts,
)
from edu_rag.errors import ConfigError, MissingExtraError

ROOT = Path(__file__).resolve().parents[2]
FILLER = "".join(f"<p>Plant {n} makes its food from light, water and air, and gives off oxygen.</p>" for n in range(12))
PAGE = f"""<!doctype html><html lang="en"><head><title>Light &amp; speed</title></head><body>
<nav><a href="/">Home</a><a href="/b">Biology</a></nav><main><article><h1>Light</h1>{FILLER}
<p>The speed of light is 3 x 10<sup>8</sup> m/s, the 4<sup>th</sup> power of CO<sub>2</sub> is
x<sup>n+1</sup> and y<sup>2k</sup>.</p>
<p>Water is wet.<sup><a href="#note1">[1]</a></sup> Ions such as Na<sup>+</sup> move.</p>
<p>Energy: <script type="math/tex">E = mc^2</script> holds.</p>
<p>Force: <math><mi>F</mi><mo>=</mo><mi>m</mi><mi>a</mi></math> too.</p>
<figure><img src="x.png"><figcaption>The water cycle in a valley of the Alps.</figcaption></figure>
<table><tr><th>Metal</th><th>Melts at</th></tr><tr><td>Iron</td><td>1538</td></tr></table>
</article></main><footer><a rel="license" href="https://creativecommons.org/licenses/by/4.0/">CC BY</a></footer>
</body></html>"""


def text_of(html: str, extractor: str = "trafilatura-v1") -> str:
    found = extract_page(html.encode(), "utf-8", extractor)
    assert isinstance(found, Extracted), found
    return found.text


@pytest.mark.parametrize(
    "kept",
    [
        "3 x 10⁸ m/s",
        "4th power",
        "CO2",
        "xⁿ⁺¹ and y^2k",
        "wet.[1]",
        "Na⁺",
        "\\( E = mc^2 \\)",
        "F = ma",
        "The water cycle in a valley of the Alps.",
        "1538",
    ],
)
@pytest.mark.parametrize("extractor", [*sorted(CASCADES), "trafilatura-v1", "resiliparse-v1"])
def test_the_pre_pass_keeps_science(extractor: str, kept: str) -> None:
    assert kept in text_of(PAGE, extractor)


@pytest.mark.parametrize("extractor", sorted(CASCADES))
@pytest.mark.parametrize(
    ("odd", "read"),
    [(one, "\u200b") for one in ("\x01", "\x1f", "&#1;", "&#X0001F;")]
    + [("\x0c", "\n"), ("&#12;", "\n"), ("\ufffe", " "), ("&#65534;", " "), ("&#&#1;1;", "&#\u200b1;")],
)
def test_a_character_that_xml_forbids_costs_no_page_its_science(extractor: str, odd: str, read: str) -> None:
    # Around every element: rules that move text out of one would write the character again.
    places = re.compile(r"(</?(?:sup|sub|script|math|mi|figcaption|p|th|td|a)\b[^>]*>)")
    page, other = (places.sub(rf"{one}\1and{one}", PAGE) for one in (odd, read))
    assert text_of(page, extractor).split() == text_of(other, extractor).split()


def test_a_formula_in_an_attribute_may_hold_a_character_that_xml_forbids() -> None:
    formula = "&lt;math&gt;&lt;mi&gt;&amp;#8;F&lt;/mi&gt;&lt;mo&gt;=&lt;/mo&gt;&lt;mi&gt;ma&lt;/mi&gt;&lt;/math&gt;"
    assert "F = ma" in text_of(
        PAGE.replace("<figure>", f'<p>So <span data-mathml="{formula}"></span> holds.</p><figure>')
    )


@pytest.mark.parametrize(
    ("given", "read"),
    [(one, one) for one in ("&#8217;", "&#311;", "&#xfffeb;", "&#x80;", "&#9;", "&#10", "&#xd;", "&#x1b2;", "&#655340")]
    + [("&#8and", "\u200band"), ("&#31b;", "\u200bb;"), ("&#x1g", "\u200bg"), ("&#xB;", "\n"), ("&#65535", " ")],
)
def test_only_references_to_what_xml_forbids_are_replaced(given: str, read: str) -> None:
    assert page_text.xml_safe(given).decode() == read


def test_trafilatura_v1_leaves_menus_out_and_bs4_v1_keeps_all_text() -> None:
    assert "Biology" not in text_of(PAGE)
    assert "Biology" in text_of(PAGE, "bs4-v1")


def test_a_hidden_block_of_script_is_no_text_of_any_extractor() -> None:
    html = PAGE.replace("<main>", "<script>var secret = 1;</script><style>.secret{}</style><main>")
    for extractor in EXTRACTORS:
        assert "secret" not in text_of(html, extractor)


@pytest.mark.parametrize("extractor", list(EXTRACTORS))
def test_title_language_and_licence_are_the_same_for_every_extractor(extractor: str) -> None:
    found = extract_page(PAGE.encode(), None, extractor)
    assert isinstance(found, Extracted)
    assert (found.title, found.language) == ("Light & speed", "en")
    assert found.license == "https://creativecommons.org/licenses/by/4.0/"


def test_a_licence_link_that_is_no_web_address_is_not_believed() -> None:
    html = PAGE.replace(
        'rel="license" href="https://creativecommons.org/licenses/by/4.0/"', 'rel="license" href="javascript:x"'
    )
    found = extract_page(html.encode(), None, "bs4-v1")
    assert isinstance(found, Extracted)
    assert found.license is None


def test_extracting_a_page_twice_gives_the_same_text_whatever_came_between() -> None:
    first = text_of(PAGE)
    text_of(PAGE.replace("Plant", "Animal"))
    assert text_of(PAGE) == first


@pytest.mark.parametrize("body", [b"", b"   ", b"\0\0\0", b"<!-- nothing -->", b"<html></html>", b"<script>x</script>"])
@pytest.mark.parametrize("extractor", list(EXTRACTORS))
def test_a_page_without_text_is_a_failure_not_an_empty_page(body: bytes, extractor: str) -> None:
    assert extract_page(body, None, extractor) == ExtractionFailure(reason="empty")


def test_an_unknown_extractor_is_one_clear_line() -> None:
    with pytest.raises(
        ConfigError, match="unknown extractor 'x': known are cascade-v1, cascade-v2, cascade-v3, cascade-v4, trafi"
    ):
        check_extractor("x")


def stage_results(bodies: Mapping[str, bytes], extractor: str, workers: int) -> dict[str, PageResult]:
    jobs = (
        (key, PageJob(url=f"http://a.example/{key}", body=body, charset=None, fetched_at=AT, html_sha256="0" * 64))
        for key, body in bodies.items()
    )
    settings = PageSettings(extract=ExtractConfig(extractor=extractor), filter=FilterConfig(), label=LabelConfig())
    return dict(page_results(jobs, settings, workers))


def test_pages_that_hang_or_crash_or_are_huge_cost_only_themselves_for_any_number_of_workers() -> None:
    bodies = {
        "good": PAGE.encode(),
        "nested": b"<div>" * 90_000 + b"x",
        "slow": b"<p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">text</p>",
        "big": b"x" * (MAX_BYTES + 1),
        "tags": b"<p>x" * (MAX_TAGS + 1),
        "again": PAGE.encode(),
    }
    results = stage_results(bodies, "trafilatura-v1", 2)
    assert list(results) == list(bodies)
    assert results == stage_results(bodies, "trafilatura-v1", 1)
    assert results["good"].page is not None
    assert results["again"].page is not None
    assert results["again"].page.text == results["good"].page.text
    assert {key: (results[key].outcome, results[key].detail) for key in ("slow", "big", "tags")} == {
        "slow": ("extraction_failed", "too_many_attributes"),
        "big": ("extraction_failed", "too_large"),
        "tags": ("extraction_failed", "too_many_tags"),
    }


def test_only_scripts_are_left_out_of_a_page_that_is_too_large() -> None:
    long, fill = b"x" * (MAX_SCRIPT_BYTES + 1), b"<p>" + b"y" * MAX_BYTES
    page = b"<script-box>" + long + b"</script-box><SCRIPT >" + long + b"</script >" + fill
    assert without_long_scripts(page) == b"<script-box>" + long + b"</script-box><script></script >" + fill


def test_a_page_of_very_many_menus_is_not_given_to_trafilatura() -> None:
    menus = b"<nav>Share</nav>menu login search and so on " * 4_000
    found = extract_page(PAGE.encode().replace(b"</main>", b"</main>" + menus), None, "cascade-v3")
    assert isinstance(found, Extracted)
    assert not found.tool.startswith("trafilatura")


def test_no_extractor_opens_a_socket(tmp_path: Path) -> None:
    html = PAGE.replace("</head>", '<meta property="og:image" content="http://127.0.0.1:9/x.png"></head>')
    frames = '<main><img src="http://127.0.0.1:9/y.png"><iframe src="http://127.0.0.1:9/"></iframe>'
    (tmp_path / "p.html").write_text(html.replace("<main>", frames), encoding="utf-8")
    code = (
        "import sys, pathlib\nfrom builder.extract.extract import EXTRACTORS, Extracted, extract_page\n"
        # urllib3 binds a socket once, when it is imported, to see whether there is IPv6: import it before watching.
        "for name in EXTRACTORS: extract_page(b'<p>warm up</p>', None, name)\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append(event) if event.startswith('socket.') else None)\n"
        f"body = pathlib.Path({str(tmp_path / 'p.html')!r}).read_bytes()\n"
        "for name in EXTRACTORS: assert isinstance(extract_page(body, None, name), Extracted)\n"
        "print(seen)\nimport socket; socket.socket(); print(seen)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['socket.__new__']"]


def test_real_pages_keep_their_gold_text(shared_data: Path) -> None:
    folder = shared_data / "web" / "openstax-physics"
    for gold in sorted((folder / "gold").glob("*.txt"))[:5]:
        html = (folder / f"{gold.stem}.html").read_bytes()
        found = extract_page(html, None, "trafilatura-v1")
        assert isinstance(found, Extracted)
        wanted, got = set(gold.read_text(encoding="utf-8").split()), set(found.text.split())
        assert len(wanted & got) / len(wanted) > 0.9
        assert "Most read this week" not in found.text


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("  a \t b\u00a0 c  ", "a b c"),
        ("a\n\n \n\n\nb", "a\n\nb"),
        ("w\u200bor\xadd \x00\x07\ud800end\ufeff", "word end"),
        ("\u202eevil\u202c", "evil"),
        ("e\u0301", "é"),
        ("", ""),
    ],
)
def test_clean_text_has_one_form_of_breaks_spaces_and_characters(given: str, cleaned: str) -> None:
    assert page_text.clean_text(given) == cleaned


def test_an_extractor_whose_library_is_not_there_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "newspaper.py").write_text("raise ModuleNotFoundError('not installed', name='newspaper')")
    monkeypatch.syspath_prepend(tmp_path)  # workers get it
    told = r"extractor newspaper3k-v1: its tool newspaper3k cannot start \(not installed\): pip install"
    with pytest.raises(MissingExtraError, match=told):
        stage_results({str(i): PAGE.encode() for i in range(20)}, "newspaper3k-v1", 1)


_BROKEN = """
import sys
from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving.killable_workers import map_killable
from builder.deriving.page_stage import PageSettings, prepare
from edu_rag.errors import MissingExtraError
from functools import partial
sys.path.insert(0, sys.argv[1])
settings = PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig())
try:
    list(map_killable([("a", "x")], len, partial(prepare, settings), workers=1))
except MissingExtraError as error:
    print(error)
"""


def test_a_broken_library_under_the_cascade_is_one_clear_line_before_any_page(tmp_path: Path) -> None:
    code = "raise AttributeError('module lxml has no attribute html')"
    (tmp_path / "trafilatura.py").write_text(code)
    # A process of its own: in this one, workers may have been started with the real library.
    done = subprocess.run(
        [sys.executable, "-c", _BROKEN, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    told = r"extractor cascade-v3: its tool trafilatura-fast does not work \(AttributeError: .*\): pip install --force-"
    assert re.match(told, done.stdout), done.stdout
    assert done.stderr == ""


def _no_text(html: str) -> str:
    return ""


def test_a_tool_that_finds_nothing_on_an_honest_page_is_told_and_one_that_raises_on_a_page_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("builder.extract.cascade.resiliparse_main", _no_text)
    with pytest.raises(MissingExtraError, match="its tool resiliparse finds no text on a page that has some: pip"):
        check_tools("cascade-v1")

    def raises(tree: object) -> str:
        raise KeyError("a")

    monkeypatch.setattr("builder.extract.cascade.trafilatura_fast", raises)
    found = extract_page(PAGE.encode(), None, "cascade-v1")
    assert isinstance(found, Extracted)
    assert (found.tool, found.raised) == ("trafilatura", ("trafilatura-fast",))
    with pytest.raises(MissingExtraError, match=r"its tool trafilatura-fast does not work \(KeyError: 'a'\)"):
        check_tools("cascade-v1")


@pytest.mark.parametrize("extractor", list(EXTRACTORS))
def test_every_tool_of_every_extractor_finds_the_text_of_the_sample_page(extractor: str) -> None:
    check_tools(extractor)
    found = extract_page(SAMPLE.encode(), None, extractor)
    assert isinstance(found, Extracted)
    assert (found.language, found.raised) == ("en", ())


def _stated(head: str, body: str = "") -> Extracted:
    found = extract_page(f"<html><head>{head}</head><body>{FILLER}{body}</body></html>".encode(), None, "cascade-v1")
    assert isinstance(found, Extracted)
    return found


BY = "https://creativecommons.org/licenses/by/4.0/"


@pytest.mark.parametrize(
    ("head", "body", "license_"),
    [
        ("", f'<a rel="license" href="{BY}">CC BY</a>', BY),
        (f'<link rel="license" href="{BY}">', "", BY),
        (f'<script type="application/ld+json">{{"@graph": [{{"license": "{BY}"}}]}}</script>', "", BY),
        (f'<script type="application/ld+json">{{"license": {{"@id": "{BY}"}}}}</script>', "", BY),
        (f'<meta name="DC.rights" content="{BY}">', "", BY),
        (f'<meta name="dcterms.rights" content="Free under {BY} for all">', "", BY),
        ("", f'<a href="{BY}">this</a>', BY),
        ("", f'<a href="{BY}">this</a><a href="{BY.replace("by/", "by-sa/")}">or that</a>', None),
        ('<script type="application/ld+json">{broken</script>', "", None),
        ('<script type="application/ld+json">{"license": 7, "author": 7}</script>', "", None),
        ('<link rel="license" href="https://x.example/a b">', "", None),
    ],
)
def test_a_licence_is_taken_from_where_pages_state_it(head: str, body: str, license_: str | None) -> None:
    assert _stated(head, body).license == license_


@pytest.mark.parametrize(
    ("head", "body", "author"),
    [
        ('<meta name="author" content="By Jane  Roe">', "", "Jane Roe"),
        ('<script type="application/ld+json">{"author": {"name": "Jane Roe"}}</script>', "", "Jane Roe"),
        (
            '<script type="application/ld+json">[{"author": [{"name": "A. Roe"}, "B. Poe"]}]</script>',
            "",
            "A. Roe, B. Poe",
        ),
        ("", '<a rel="author" href="/jane">Jane Roe</a>', "Jane Roe"),
        ('<meta name="author" content="admin">', "", None),
        ('<meta name="author" content="https://x.example/jane">', "", None),
        ('<meta name="author" content="jane@example.org">', "", None),
        (f'<meta name="author" content="{"x" * 500}">', "", None),
        ("", "", None),
    ],
)
def test_an_author_is_taken_only_where_one_is_stated(head: str, body: str, author: str | None) -> None:
    assert _stated(head, body).author == author


@pytest.mark.parametrize("extractor", sorted(CASCADES))
def test_a_cascade_says_which_tool_answered_and_leaves_out_what_has_failed(extractor: str) -> None:
    tools = {}
    skip: tuple[str, ...] | None = ()
    while skip is not None:
        found = extract_page(PAGE.encode(), None, extractor, skip)
        assert isinstance(found, Extracted)
        assert "Plant 11 makes" in found.text
        tools[skip] = found.tool
        skip = skip_after(extractor, skip, "timeout")
    assert list(tools.values())[1:] == ["resiliparse", "plain"]
    assert tools[()] == ("resiliparse" if extractor in {"cascade-v3", "cascade-v4"} else "trafilatura-fast")


LESSON = "".join(
    f"<p>Fact {n} of this lesson: a plant uses light of {400 + n} nm.</p><ul><li>Step {n}: look at leaf {n}.</li></ul>"
    for n in range(120)
)
MENU = "".join(f"<div><a href='/{n}'>Another lesson, number {n}</a></div>" for n in range(120))


@pytest.mark.parametrize(
    ("extractor", "body", "tool"),
    [
        ("cascade-v2", LESSON, "resiliparse"),
        ("cascade-v1", LESSON, "trafilatura-fast"),
        ("cascade-v2", LESSON[: len(LESSON) // 4], "trafilatura-fast"),  # short
        ("cascade-v2", f"<nav>{MENU}</nav>{LESSON}", "trafilatura-fast"),  # much of the page is a menu
    ],
)
def test_resiliparse_alone_reads_a_long_page_that_is_nearly_all_main_content(
    extractor: str, body: str, tool: str
) -> None:
    found = extract_page(f"<html><body>{body}</body></html>".encode(), None, extractor)
    assert isinstance(found, Extracted)
    assert found.tool == tool
    assert ("Fact 29 of this lesson" in found.text, "Step 29: look at leaf 29." in found.text) == (True, True)
    assert "Another lesson" not in found.text


@pytest.mark.parametrize("name", ["resiliparse_main", "resiliparse_all"])
def test_a_long_page_on_which_resiliparse_raises_or_finds_nothing_is_read_by_the_other_tools(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(html: str) -> str:
        raise KeyError(html[:1])

    monkeypatch.setattr(f"builder.extract.cascade.{name}", raises)
    found = extract_page(f"<html><body>{LESSON}</body></html>".encode(), None, "cascade-v2")
    assert isinstance(found, Extracted)
    assert found.tool == "trafilatura-fast"
    assert found.raised == (("resiliparse" if name == "resiliparse_main" else "resiliparse-all"),)
    monkeypatch.setattr(f"builder.extract.cascade.{name}", _no_text)
    found = extract_page(f"<html><body>{LESSON}</body></html>".encode(), None, "cascade-v2")
    assert isinstance(found, Extracted)
    assert (found.tool, found.raised) == ("trafilatura-fast", ())


def test_only_a_cascade_is_tried_again_and_only_after_a_worker_was_stopped() -> None:
    assert skip_after("trafilatura-v1", (), "timeout") is None
    assert skip_after("cascade-v1", (), "error KeyError") is None
    assert skip_after("cascade-v2", (), "memory") == skip_after("cascade-v3", (), "memory")
    assert skip_after("cascade-v3", (), "memory") == skip_after("cascade-v1", (), "memory")
    assert skip_after("cascade-v4", (), "memory") == skip_after("cascade-v1", (), "memory")
    assert skip_after("cascade-v1", (), "memory") == ("trafilatura-fast", "trafilatura")


def test_text_nested_deeper_than_parsers_follow_is_not_lost() -> None:
    html = "<html><body>" + "<div>" * 400 + FILLER + "</div>" * 400
    assert "Plant 11 makes" in text_of(html, "cascade-v1")


@pytest.mark.parametrize(
    ("html", "may_parse", "may_judge", "may_nest"),
    [
        (PAGE, True, True, True),
        ("<p " + " ".join(f"a{n}=1" for n in range(3_000)) + ">", False, False, False),
        ("<p title='" + "one two " * 3_000 + "'>", True, True, True),
        ("<p>x" * 26_000, True, False, True),
        ("<div>" * 300, True, True, False),
        ("</div>" * 300 + "<div>" * 300, True, True, False),
        ("x" * 3_000_000, True, False, True),
        ("<a", True, True, True),
    ],
)
def test_the_shape_of_a_page_says_what_may_see_it(html: str, may_parse: bool, may_judge: bool, may_nest: bool) -> None:
    shape = page_shape(html)
    assert (shape.may_parse, shape.may_judge, shape.may_nest) == (may_parse, may_judge, may_nest)


@given(st.text(alphabet="<>/=\"' adivspnotbl\n", max_size=300))
def test_any_text_has_a_shape(html: str) -> None:
    shape = page_shape(html)
    assert shape.n_chars == len(html)
    assert 0 <= shape.depth <= shape.n_tags
    assert refused(html.encode()) is None
