"""Extraction: science survives, a page that hangs or crashes costs only itself, nothing touches the network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builder import page_text
from builder.extract import (
    CPU_LIMIT_S,
    EXTRACTORS,
    MAX_BYTES,
    MAX_TAGS,
    Extracted,
    ExtractionFailure,
    extract_page,
    extract_pages,
)  # fmt: skip
from edu_rag.errors import ConfigError, MissingExtraError

ROOT = Path(__file__).resolve().parents[2]
FILLER = "<p>Plants make their food from light, water and air, and give off the oxygen that animals breathe.</p>" * 12
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
        "3 x 10⁸ m/s", "4th power", "CO2", "xⁿ⁺¹ and y^2k", "wet.[1]", "Na⁺", "\\( E = mc^2 \\)", "F=ma",
        "The water cycle in a valley of the Alps.", "1538",
    ],
)  # fmt: skip
def test_trafilatura_v1_keeps_science(kept: str) -> None:
    assert kept in text_of(PAGE)


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
    text_of(PAGE.replace("Plants", "Animals"))
    assert text_of(PAGE) == first


@pytest.mark.parametrize("body", [b"", b"   ", b"\0\0\0", b"<!-- nothing -->", b"<html></html>", b"<script>x</script>"])
@pytest.mark.parametrize("extractor", list(EXTRACTORS))
def test_a_page_without_text_is_a_failure_not_an_empty_page(body: bytes, extractor: str) -> None:
    assert extract_page(body, None, extractor) == ExtractionFailure(reason="empty")


def test_results_come_in_the_order_of_the_jobs_for_any_number_of_workers() -> None:
    jobs = [(f"k{n}", PAGE.replace("Light", f"Light {n} " * (n % 5)).encode(), None) for n in range(40)]
    one = list(extract_pages(iter(jobs), "trafilatura-v1", 1))
    assert [key for key, _ in one] == [f"k{n}" for n in range(40)]
    assert list(extract_pages(iter(jobs), "trafilatura-v1", 2)) == one


def test_jobs_are_taken_a_window_at_a_time() -> None:
    taken = 0

    def jobs() -> object:
        nonlocal taken
        for n in range(200):
            taken += 1
            yield f"k{n}", b"<p>x</p>", None

    results = extract_pages(jobs(), "bs4-v1", 1)  # type: ignore[arg-type]
    next(results)
    assert taken < 20
    results.close()  # type: ignore[attr-defined]


def test_an_unknown_extractor_is_one_clear_line() -> None:
    with pytest.raises(ConfigError, match="unknown extractor 'x': known are trafilatura-v1, newspaper3k-v1, bs4-v1"):
        next(extract_pages([], "x", 1))


def test_pages_that_hang_or_crash_or_are_huge_cost_only_themselves() -> None:
    jobs = [
        ("good", PAGE.encode(), None),
        ("nested", b"<div>" * 90_000 + b"x", None),
        ("slow", b"<p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">text</p>", None),
        ("big", b"x" * (MAX_BYTES + 1), None),
        ("tags", b"<p>x" * (MAX_TAGS + 1), None),
        ("again", PAGE.encode(), None),
    ]
    results = dict(extract_pages(jobs, "trafilatura-v1", 2))
    assert isinstance(results["good"], Extracted)
    assert results["again"] == results["good"]
    assert results["slow"] == ExtractionFailure(reason="timeout")
    assert results["big"] == ExtractionFailure(reason="too_large")
    assert results["tags"] == ExtractionFailure(reason="too_many_tags")
    assert CPU_LIMIT_S == 5.0


def test_what_a_parser_raises_is_the_outcome_of_its_page() -> None:
    code = (
        "import builder.extract as e, builder.page_text as p\n"
        "def broken(html, tree): raise KeyError('odd')\n"
        "p.EXTRACTORS['bs4-v1'] = broken\n"
        "print(e._work(b'<p>x</p>', None, 'bs4-v1').reason)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "error KeyError"


def test_a_worker_that_dies_costs_its_page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import builder.extract as extract

    monkeypatch.setattr(extract, "_work", _die_on_request)
    results = dict(extract_pages([("a", b"fine", None), ("b", b"die", None), ("c", b"fine", None)], "bs4-v1", 1))
    assert results == {
        "a": ExtractionFailure(reason="done"), "b": ExtractionFailure(reason="crash"),
        "c": ExtractionFailure(reason="done"),
    }  # fmt: skip


def _die_on_request(body: bytes, charset: str | None, extractor: str) -> ExtractionFailure:
    if body == b"die":
        os.kill(os.getpid(), 9)
    return ExtractionFailure(reason="done")


def test_no_extractor_opens_a_socket(tmp_path: Path) -> None:
    html = PAGE.replace("</head>", '<meta property="og:image" content="http://127.0.0.1:9/x.png"></head>')
    frames = '<main><img src="http://127.0.0.1:9/y.png"><iframe src="http://127.0.0.1:9/"></iframe>'
    (tmp_path / "p.html").write_text(html.replace("<main>", frames), encoding="utf-8")
    code = (
        "import sys, pathlib\nfrom builder.extract import EXTRACTORS, Extracted, extract_page\n"
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
    monkeypatch.syspath_prepend(tmp_path)  # handed on to the workers, as spawn does with sys.path
    jobs = [(str(i), PAGE.encode(), None) for i in range(20)]
    with pytest.raises(MissingExtraError, match=r"newspaper3k-v1: its worker processes cannot start.*pip install"):
        list(extract_pages(jobs, "newspaper3k-v1", 1))
