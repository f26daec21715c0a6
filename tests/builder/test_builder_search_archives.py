from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from builder_zim import write_zim
from hypothesis import given
from hypothesis import strategies as st
from test_builder_build import SENTENCES, html, question, tree
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from builder.build import build, replay
from builder.clock import LOCAL_INSTANT
from builder.config import read_config, to_config
from builder.search.engines.folder_engine import FolderEngine, WarcPages, _status
from builder.search.engines.zim_engine import ZimEngine, ZimSite, word_sets
from builder.search.settings import FolderConfig, ZimConfig
from builder.store.store_folder import store_folder
from builder.urls import canonical_url
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset

QUESTIONS = (
    question(1, "What does lava from a volcano become when it cools?", "igneous rock", "sea water")
    + question(2, "What does the moon orbit?", "the earth", "the sun")
    + question(3, "Xyzzy plugh?", "quux", "quuux")
)
PAGE = "text/html; charset=utf-8"


def fates(folder: Path) -> dict[str, str]:
    return {hit.url: hit.outcome for hits in Dataset(folder).hits("val").values() for hit in hits}


def build_with(folder: Path, search: Mapping[str, Any], out: str = "ds") -> Path:
    (folder / "questions.jsonl").write_text(QUESTIONS)
    config = to_config({"search": search, "fetch": {"timeout_s": 3}, "filter": {"duplicates": False}}, "test")
    build([folder / "questions.jsonl"], folder / out, config)
    return folder / out


# ---- ZIM


@pytest.fixture(scope="module")
def zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ZIM file of 60 articles, three of them about the topics of the questions, one at an awkward path."""
    articles = {topic: (topic, html(topic, 5)) for topic in SENTENCES}
    articles["A/odd path?x=1&y=\u00fc#z%20.html"] = ("odd", html("lava", 7))
    for i in range(56):
        text = f"Article number {i} tells of specimen{i} and of rocks, plants and stars. " * 8
        articles[f"A/{i}"] = (f"Specimen {i}", f"<html><body><p>{text}</p></body></html>")
    return write_zim(tmp_path_factory.mktemp("zim") / "Science_en.zim", articles, {"Magma": "lava"})


def test_a_zim_files_articles_are_found_by_what_they_alone_hold(zim: Path) -> None:
    engine = ZimEngine.open(ZimConfig(files=(str(zim),)))
    for i in range(56):
        assert engine.search(f"Which stars does specimen{i} tell of?", 3).urls[0] == f"http://science-en.zim/A/{i}"
    assert engine.search("zzyzx", 10).state == "none"
    assert engine.search("?!", 10).state == "none"


def test_a_question_whose_words_are_on_no_page_together_still_finds_the_pages_of_its_rarest_words(zim: Path) -> None:
    result = ZimEngine.open(ZimConfig(files=(str(zim),))).search("Does lava or specimen7 of xyzzy hold rocks?", 10)
    assert {"http://science-en.zim/A/7", "http://science-en.zim/lava"} <= set(result.urls)


def test_word_sets_go_from_all_words_to_each_alone() -> None:
    assert list(word_sets([])) == []
    assert list(word_sets("a")) == [("a",)]
    assert list(word_sets("ab")) == [("a", "b"), ("a",), ("b",)]
    assert list(word_sets("abc")) == [("a", "b", "c"), ("a", "b"), ("a", "c"), ("b", "c"), ("a",), ("b",), ("c",)]
    assert list(word_sets("abcd"))[-5:] == [("a", "b"), ("a",), ("b",), ("c",), ("d",)]


def test_a_build_from_a_zim_file_fetches_its_articles_and_is_the_same_again(zim: Path, tmp_path: Path) -> None:
    search = {"engine": "zim", "zim": {"files": [str(zim)]}}
    ds = build_with(tmp_path, search)
    assert set(fates(ds).values()) == {"kept"}
    assert "http://science-en.zim/A/odd%20path%3Fx=1&y=%C3%BC%23z%2520.html" in fates(ds)
    assert Dataset(ds).manifest.created_at == LOCAL_INSTANT.isoformat()
    replay(store_folder(ds), tmp_path / "again")
    assert tree(tmp_path / "again") == tree(ds)
    stored = (store_folder(ds) / "config.json").read_text()
    assert str(zim.parent) not in stored
    assert "checksum" in stored


def test_a_redirect_in_a_zim_file_leads_to_its_article(zim: Path) -> None:
    engine = ZimEngine.open(ZimConfig(files=(str(zim),), hosts={zim.name: "Wiki.Example"}))
    site = engine._sites[0]
    found = site.answer("http://wiki.example/Magma")
    assert found is not None
    assert (found.status, found.location) == (302, "http://wiki.example/lava")
    svg = site.answer("http://wiki.example/logo.svg")
    assert svg is not None
    assert svg.content_type == "image/svg+xml"
    assert site.answer("http://wiki.example/not/there") is None


@given(st.text(min_size=1, max_size=40).filter(lambda path: "\0" not in path))
def test_any_entry_path_comes_back_out_of_its_url(path: str) -> None:
    path = path.encode("utf-8", "ignore").decode()
    if any(part in ("", ".", "..") for part in path.split("/")):
        return  # no ZIM writer makes such paths
    url = ZimSite("h.zim", None, None).url(path)  # type: ignore[arg-type]
    assert unquote(urlsplit(canonical_url(url)).path[1:]) == path


@pytest.mark.parametrize("content", [b"", b"ZIM\x04 not really", b"<html>"])
def test_what_is_no_zim_file_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.zim"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="ZIM"):
        ZimEngine.open(ZimConfig(files=(str(path),)))


def test_a_zim_file_without_an_index_and_a_missing_one_are_told(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "bare.zim", {"A": ("A", html("lava", 3))}, indexed=False)
    with pytest.raises(ConfigError, match="no full-text index"):
        ZimEngine.open(ZimConfig(files=(str(path),)))
    with pytest.raises(ConfigError, match="no such ZIM file"):
        ZimEngine.open(ZimConfig(files=(str(tmp_path / "none.zim"),)))
    with pytest.raises(ConfigError, match="has no ZIM file"):
        ZimEngine.open(ZimConfig())
    with pytest.raises(ConfigError, match=r"hosts\] names other\.zim"):
        ZimEngine.open(ZimConfig(files=(str(path),), hosts={"other.zim": "a.example"}))


def test_two_zim_files_are_fused_and_may_not_share_a_host(zim: Path, tmp_path: Path) -> None:
    other = write_zim(tmp_path / "more.zim", {"volcano": ("lava", html("lava", 9))})
    engine = ZimEngine.open(ZimConfig(files=(str(zim), str(other))))
    urls = engine.search("molten lava volcano", 10).urls
    assert {"http://more.zim/volcano", "http://science-en.zim/lava"} <= set(urls)
    with pytest.raises(ConfigError, match=r"has the host name one\.example"):
        ZimEngine.open(
            ZimConfig(files=(str(zim), str(other)), hosts=dict.fromkeys((zim.name, "more.zim"), "one.example"))
        )


# ---- WARC


def write_warc(path: Path, responses: list[tuple[str, int, dict[str, str], bytes]], date: str = "2026-01-02") -> Path:
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=path.suffix == ".gz")
        out_info = writer.create_warcinfo_record(path.name, {"software": "test"})
        writer.write_record(out_info)
        for url, status, headers, body in responses:
            lines = [*headers.items(), ("Content-Length", str(len(body)))]
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                warc_headers_dict={"WARC-Date": f"{date}T00:00:00Z"},
                http_headers=StatusAndHeaders(f"{status} X", lines, protocol="HTTP/1.1"),
            )
            writer.write_record(record)
    return path


def page(topic: str, times: int = 5) -> bytes:
    return html(topic, times).encode()


RESPONSES: list[tuple[str, int, dict[str, str], bytes]] = [
    ("https://one.example/lava", 200, {"Content-Type": PAGE}, page("lava")),
    (
        "https://one.example/moon?b=2&a=1",
        200,
        {"Content-Type": PAGE, "Content-Encoding": "gzip"},
        gzip.compress(page("moon")),
    ),
    ("http://one.example/lava", 301, {"Location": "https://one.example/lava", "Content-Type": PAGE}, b"lava moved"),
    ("http://two.example/gone", 410, {"Content-Type": PAGE}, page("lava", 9)),
    ("http://two.example/picture", 200, {"Content-Type": "image/png"}, b"lava volcano"),
    (
        "http://two.example/latin",
        200,
        {"Content-Type": "text/html; charset=latin-1"},
        html("moon", 6).replace("About", "\u00dcber").encode("latin-1"),
    ),
    ("http://10.0.0.1/lava", 200, {"Content-Type": PAGE}, page("lava")),
    ("http://two.example:8080/lava", 200, {"Content-Type": PAGE}, page("lava")),
    ("http://two.example/robots.txt", 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private"),
    ("http://two.example/private", 200, {"Content-Type": PAGE}, page("lava", 8)),
    ("http://two.example/bad-location", 302, {"Location": "http://x/\x01"}, b""),
]


def test_a_warc_files_pages_are_found_and_fetched_as_if_live_and_a_crawl_store_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "warcs"
    folder.mkdir()
    write_warc(folder / "crawl.warc.gz", RESPONSES)
    ds = build_with(tmp_path, {"folder": {"warcs": [str(folder)]}})
    assert fates(ds) == {
        "https://one.example/lava": "kept",
        "https://one.example/moon?a=1&b=2": "kept",
        "http://two.example/latin": "kept",
        "http://two.example/private": "robots",
    }
    titles = {page.title for page in Dataset(ds).pages("val").values()}
    assert "\u00dcber moon" in titles
    again = FolderEngine.open(FolderConfig(warcs=(str(store_folder(ds)),)))
    assert set(again.search("lava moon", 10).urls) == {url for url, fate in fates(ds).items() if fate == "kept"}


def test_a_warc_file_may_be_uncompressed(tmp_path: Path) -> None:
    packed, plain = (write_warc(tmp_path / name, RESPONSES) for name in ("a.warc.gz", "b.warc"))
    one, two = (WarcPages([path]) for path in (packed, plain))
    assert list(one.pages()) == list(two.pages())
    assert one.hosts() == two.hosts() == ("one.example", "two.example")
    for url, status, _, _ in RESPONSES[:6]:
        assert one.answer(url) == two.answer(url)
        assert one.answer(url).status == status  # type: ignore[union-attr]


def test_of_several_responses_of_a_url_the_newest_page_is_taken_whatever_the_files_order(tmp_path: Path) -> None:
    url = "https://one.example/lava"
    old = write_warc(tmp_path / "b.warc.gz", [(url, 200, {"Content-Type": PAGE}, page("moon"))], "2020-01-01")
    new = write_warc(tmp_path / "a.warc.gz", [(url, 200, {"Content-Type": PAGE}, page("lava"))], "2024-01-01")
    gone = write_warc(tmp_path / "c.warc.gz", [(url, 404, {"Content-Type": PAGE}, b"gone")], "2025-01-01")
    for files in ((old, new, gone), (gone, new, old)):
        engine = FolderEngine.open(FolderConfig(warcs=tuple(map(str, files))))
        assert engine.search("molten lava", 3).urls == (url,)
        assert engine.search("moon orbit", 3).state == "none"


def test_a_torn_tail_costs_its_record_only_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = write_warc(tmp_path / "whole.warc.gz", RESPONSES[:2]).read_bytes()
    (tmp_path / "torn.warc.gz").write_bytes(whole[:-40])
    engine = FolderEngine.open(FolderConfig(warcs=(str(tmp_path / "torn.warc.gz"),)))
    assert engine.search("molten lava", 3).urls == ("https://one.example/lava",)
    assert engine.search("moon orbit", 3).state == "none"
    assert "torn.warc.gz: the record at byte" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x1f\x8b\x08garbage", b"WARC/1.0\r\n\r\n"])
def test_what_holds_no_page_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.warc.gz"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"WARC|HTML page"):
        FolderEngine.open(FolderConfig(warcs=(str(path),)))


def test_a_folder_without_warc_files_and_a_host_in_both_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="neither a WARC file"):
        FolderEngine.open(FolderConfig(warcs=(str(tmp_path / "empty"),)))
    site = tmp_path / "sites" / "one.example"
    site.mkdir(parents=True)
    (site / "a.html").write_text(html("leaf", 3))
    warc = write_warc(tmp_path / "a.warc.gz", RESPONSES)
    with pytest.raises(ConfigError, match=r"one\.example: is a site and in a WARC file"):
        FolderEngine.open(FolderConfig(sites=str(tmp_path / "sites"), warcs=(str(warc),)))
    config = FolderConfig(sites=str(tmp_path / "sites"), warcs=(str(warc),), hosts={"one.example": "three.example"})
    engine = FolderEngine.open(config)
    with engine.serving() as hosts:
        assert set(hosts) == {"one.example", "two.example", "three.example"}


def test_paths_in_build_toml_are_taken_from_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text(
        '[search]\nengines = ["zim", "folder"]\n[search.zim]\nfiles = ["a.zim"]\n[search.folder]\nwarcs = ["w"]\n'
        '[search.recorded]\nfile = "r.jsonl"\n'
    )
    search = read_config(path, {}).search
    assert (search.zim.files, search.folder.warcs) == ((str(tmp_path / "a.zim"),), (str(tmp_path / "w"),))
    assert (search.folder.sites, search.recorded.file) == (None, str(tmp_path / "r.jsonl"))
    assert json.dumps(search.of_results()).find(str(tmp_path)) == -1


def test_a_zim_file_that_is_damaged_inside_fails_and_says_no_results_never() -> None:
    class Damaged:
        host = "damaged.zim"

        def search(self, query: str, n: int) -> list[str]:
            raise RuntimeError("Error reading block 7")

    result = ZimEngine([Damaged()]).search("why", 10)  # type: ignore[list-item]
    assert (result.state, result.reason) == ("failed", "the index cannot be read: Error reading block 7")


def test_a_status_in_other_digits_is_none() -> None:
    headers = StatusAndHeaders("\u00b2\u2070\u2070 OK", [], protocol="HTTP/1.1")
    assert _status(SimpleNamespace(http_headers=headers)) == 0
