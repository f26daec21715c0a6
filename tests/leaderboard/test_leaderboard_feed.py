"""The feed, the sitemap, robots.txt and the plain summary: valid, absolute, the same bytes for the same results."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import feedparser
import fixture_board as made
import pytest
from click.testing import CliRunner
from fixture_history import write_versions
from hostile_board import write_hostile
from some_pages import build_some

from edu_rag.errors import ConfigError
from leaderboard.board.collect import collect
from leaderboard.board.present import present
from leaderboard.commands import board as command
from leaderboard.edition import Edition
from leaderboard.history.errata import errata_beside
from leaderboard.pages import board_page, feed_and_llms_txt, history_page, sitemap, system_pages
from leaderboard.render import environment_of

URL = "https://board.example.org/edu-rag/"
ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_versions(tmp_path_factory.mktemp("feed"))


@pytest.fixture(scope="module")
def whole(results: Path) -> Path:
    """The site as the command builds it."""
    site = results.parent / "site"
    CliRunner().invoke(command, [str(results), "--out", str(site), "--url", URL], catch_exceptions=False)
    return site


def check_feed(data: bytes) -> list[ET.Element]:
    """Assert what RFC 4287 demands of a feed and its entries; return the entries."""
    root = ET.fromstring(data)
    assert root.tag == f"{ATOM}feed"
    for element in (root, *root.findall(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            (found,) = element.findall(f"{ATOM}{name}")
            assert (found.text or "").strip(), name
        address = urlsplit(element.findtext(f"{ATOM}id"))
        assert address.scheme == "https"
        assert MOMENT.match(str(element.findtext(f"{ATOM}updated")))
        links = element.findall(f"{ATOM}link")
        assert links
        assert all(link.get("href", "").startswith(URL) for link in links)
    assert root.findtext(f"{ATOM}author/{ATOM}name")  # of all entries, since none has its own
    (own,) = (link for link in root.findall(f"{ATOM}link") if link.get("rel") == "self")
    assert own.get("href") == f"{URL}feed.xml"
    entries = root.findall(f"{ATOM}entry")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == len(ids)
    return entries


def test_the_feed_is_valid_atom_and_tells_results_versions_and_corrections(whole: Path) -> None:
    entries = check_feed((whole / "feed.xml").read_bytes())
    kinds = {entry.find(f"{ATOM}category").get("term") for entry in entries}  # type: ignore[union-attr]
    assert kinds == {"results", "dataset version", "correction"}
    assert len(entries) == 9
    moments = [entry.findtext(f"{ATOM}updated") for entry in entries]
    assert moments == sorted(moments, key=str, reverse=True)


def test_a_feed_reader_takes_the_feed(whole: Path) -> None:
    found = feedparser.parse((whole / "feed.xml").read_bytes())
    assert not found.bozo
    assert found.feed.title == "EDU-RAG board"
    assert found.entries[0].title == "1 system scored on tqa 2.0.0, val"


def test_every_entry_s_id_is_an_anchor_of_the_history_and_its_link_a_page(whole: Path) -> None:
    history = (whole / "history.html").read_text(encoding="utf-8")
    for entry in check_feed((whole / "feed.xml").read_bytes()):
        assert f'id="{urlsplit(str(entry.findtext(f"{ATOM}id"))).fragment}"' in history
        link = urlsplit(entry.find(f"{ATOM}link").get("href"))  # type: ignore[union-attr]
        path = whole / str(link.path).removeprefix("/edu-rag/")
        assert f'id="{link.fragment}"' in path.read_text(encoding="utf-8") or not link.fragment


def test_hostile_names_leave_the_feed_valid_and_the_summary_free_of_markup(tmp_path: Path) -> None:
    write_hostile(tmp_path / "results")
    site = build_some(tmp_path / "results", tmp_path / "site", (feed_and_llms_txt,), base_url=URL)
    check_feed((site / "feed.xml").read_bytes())
    assert not feedparser.parse((site / "feed.xml").read_bytes()).bozo
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) < 1_500
    rows = [line for line in text.splitlines() if line.startswith("- rank")]
    assert len(rows) == feed_and_llms_txt.MAX_ROWS
    for line in rows:
        assert len(re.findall(r"(?<!\\)\]\(", line)) == 1, line  # one link: ours
        assert not re.search(r"(?<!\\)<", line)
        assert line.isprintable() or "\u200d" in line


def test_xml_texts_lose_what_xml_cannot_hold() -> None:
    assert feed_and_llms_txt.xml_text("a\x00b\ufffe\uffff\ud800 c") == "a\ufffdb\ufffd\ufffd\ufffd c"


def test_the_summary_tells_ranks_scores_and_intervals_of_the_top_of_each_table(results: Path, whole: Path) -> None:
    text = (whole / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# EDU-RAG board\n\n> ")
    for table in present(collect(results)).tables:
        for row in table.rows[: feed_and_llms_txt.MAX_ROWS]:
            (line,) = (line for line in text.splitlines() if f"({URL}{row.page})" in line)
            assert line.startswith(f"- rank {row.rank.text}: ")
            low, high = row.interval or (0, 0)
            assert f"score {row.counts.score:.3f} [{low:.3f}, {high:.3f}]".replace("-", "−") in line
    for address in re.findall(rf"\({re.escape(URL)}([^)#]*)", text):
        assert (whole / address).is_file(), address


def test_the_sitemap_lists_every_page_and_nothing_else(whole: Path) -> None:
    root = ET.fromstring((whole / "sitemap.xml").read_bytes())
    assert root.tag == f"{MAP}urlset"
    listed = [str(found.text) for found in root.findall(f"{MAP}url/{MAP}loc")]
    pages = {path.relative_to(whole).as_posix() for path in whole.rglob("*.html")}
    shown = {name for name in pages if 'name="robots" content="noindex"' not in (whole / name).read_text("utf-8")}
    assert {address.removeprefix(URL) or "index.html" for address in listed} == shown
    assert len(listed) == len(set(listed))
    assert shown < pages
    robots = (whole / "robots.txt").read_text().splitlines()
    assert robots == ["User-agent: *", "Allow: /", "", f"Sitemap: {URL}sitemap.xml"]


def test_a_map_of_very_many_pages_is_split(results: Path) -> None:
    groups = collect(results)
    edition = Edition(board=present(groups), groups=groups, base_url=URL)
    names = [f"questions/q{at}.html" for at in range(sitemap.MAX_ADDRESSES + 2)]
    listed = [*names, "board.csv", "embed.html", "embed/x.html"]
    files = dict(sitemap.files(edition, environment_of(edition), listed))
    index = ET.fromstring(files["sitemap.xml"])  # type: ignore[arg-type]
    assert index.tag == f"{MAP}sitemapindex"
    named = [str(found.text).removeprefix(URL) for found in index.findall(f"{MAP}sitemap/{MAP}loc")]
    sizes = [len(ET.fromstring(files[name]).findall(f"{MAP}url")) for name in named]  # type: ignore[arg-type]
    assert sizes == [sitemap.MAX_ADDRESSES, 2]


def test_without_an_address_there_is_no_feed_and_one_line_says_so(results: Path, tmp_path: Path) -> None:
    kinds = (board_page, feed_and_llms_txt, history_page)
    site = build_some(results, tmp_path / "site", kinds)
    assert (site / "llms.txt").is_file()
    assert not (site / "feed.xml").exists()
    assert "feed.xml" not in (site / "board.html").read_text(encoding="utf-8")
    assert "feed.xml" not in (site / "history.html").read_text(encoding="utf-8")


def test_the_line_about_the_missing_address(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_some(results, tmp_path / "site", (feed_and_llms_txt,))
    assert [line for line in capsys.readouterr().err.splitlines() if "--url" in line] == [
        "feed.xml, sitemap.xml, robots.txt: not written, since they hold absolute addresses: give --url"
    ]


@pytest.mark.parametrize("url", ["board.example.org", "ftp://x.example/", "https://x.example/?a", 'https://x"y/'])
def test_an_address_that_is_none_is_refused(results: Path, tmp_path: Path, url: str) -> None:
    found = CliRunner().invoke(command, [str(results), "--out", str(tmp_path / "site"), "--url", url])
    assert isinstance(found.exception, ConfigError)
    assert str(found.exception).startswith("--url: ")


def test_every_page_leads_to_the_feed_from_where_it_stands(whole: Path) -> None:
    for name, link in (
        ("index.html", "feed.xml"),
        ("history/tqa-1.0.0.html", "../feed.xml"),
        ("systems/tqa.v1.val/mover.html", "../../feed.xml"),
    ):
        text = (whole / name).read_text(encoding="utf-8")
        assert re.search(rf'<link rel="alternate" type="application/atom\+xml" title="[^"]+" href="{link}">', text), (
            name
        )


def test_the_same_results_give_the_same_bytes_and_a_new_one_changes_them(results: Path, tmp_path: Path) -> None:
    given = {"base_url": URL, "errata": errata_beside(results)}
    one = build_some(results, tmp_path / "one", (feed_and_llms_txt, system_pages), **given)
    two = build_some(results, tmp_path / "two", (feed_and_llms_txt, system_pages), **given)
    for name in ("feed.xml", "llms.txt"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    more = write_versions(tmp_path / "more")
    made.write_card(more, made.card_of("newcomer", "c" * 100, dataset="tqa@2.0.0#2c3d4e5f"))
    three = build_some(more, tmp_path / "three", (feed_and_llms_txt, system_pages), **given)
    for name in ("feed.xml", "llms.txt"):
        assert (three / name).read_bytes() != (one / name).read_bytes()
