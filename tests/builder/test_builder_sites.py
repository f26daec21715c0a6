from __future__ import annotations

import http.client
import os
import time
from pathlib import Path

import pytest

from builder.search.engines.folder_engine import FolderEngine
from builder.search.query_words import match_expression
from builder.search.settings import FolderConfig
from builder.sites.site_folders import read_sites
from builder.sites.site_server import serve_sites
from edu_rag.errors import ConfigError, FaultsError


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def html(title: str, text: str) -> str:
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"


SITE = {
    "a.example/index.html": html("Start", "welcome"),
    "a.example/deep/index.html": html("Deep", "below"),
    "a.example/page one.html": html("One", "spaces"),
    "a.example/robots.txt": "User-agent: *\n",
    "a.example/notes.pdf": "%PDF-1.4",
    "a.example/.hidden.html": html("Hidden", "hidden"),
    "a.example/slow.html": html("Slow", "slow"),
    "a.example/gone.html": html("Gone", "was here"),
    "a.example/site.toml": (
        '[[route]]\npath = "/slow.html"\ndelay_s = 0.3\n'
        '[[route]]\npath = "/gone.html"\nstatus = 404\n'
        '[[route]]\npath = "/old"\nredirect = "/page%20one.html"\nindex_text = "an antique address"\n'
        '[[route]]\npath = "/notes.pdf"\ncontent_type = "application/x-odd"\nindex_text = "leaflet about sound"\n'
        '[[route]]\npath = "/broken"\nstatus = 500\n'
    ),
    "b/CNAME": "www.B.example\n",
    "b/index.html": html("Bee", "bees"),
    "secret.txt": "outside of every site",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "sites", SITE)


@pytest.mark.parametrize("inner", ["a.example/index.html", "b/CNAME", "c/site.toml"])
def test_a_folder_of_sites_one_level_too_high_is_refused_unless_its_host_is_named(tmp_path: Path, inner: str) -> None:
    name = inner.split("/")[0]
    write(tmp_path, {f"sites/{inner}": "", f"sites/{name}/page.html": html("One", "one")})
    told = rf"sites: has no page of its own, but a folder {name} that looks like a site: give .*sites as --sites, or"
    with pytest.raises(ConfigError, match=told):
        read_sites(tmp_path, {})
    assert [site.host for site in read_sites(tmp_path, {"sites": "mirror.example"})] == ["mirror.example"]
    write(tmp_path, {"sites/top.html": html("Top", "top")})
    assert [site.host for site in read_sites(tmp_path, {})] == ["sites"]


@pytest.mark.parametrize("inner", ["wiki/page.html", "v1.2/page.html", "notes.2024/page.html", "img.files/x.png"])
def test_a_site_whose_pages_all_lie_in_folders_is_a_site(tmp_path: Path, inner: str) -> None:
    write(tmp_path, {f"en.example/{inner}": html("One", "one")})
    assert [site.host for site in read_sites(tmp_path, {})] == ["en.example"]


def get(port: int, host: str, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", path, headers={"Host": host})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, dict(response.headers), body


def test_each_folder_answers_under_its_own_host(root: Path) -> None:
    with serve_sites(read_sites(root, {})) as port:
        assert b"welcome" in get(port, "a.example", "/")[2]
        assert b"bees" in get(port, "www.b.example:80", "/")[2]
        assert get(port, "b", "/")[0] == 404
        assert get(port, "elsewhere.example", "/")[0] == 404


def test_files_folders_and_types_are_served_as_web_servers_do(root: Path) -> None:
    with serve_sites(read_sites(root, {})) as port:
        assert get(port, "a.example", "/robots.txt")[1]["Content-Type"] == "text/plain"
        assert get(port, "a.example", "/page%20one.html")[0] == 200
        assert b"below" in get(port, "a.example", "/deep/")[2]
        status, headers, _ = get(port, "a.example", "/deep")
        assert (status, headers["Location"]) == (301, "/deep/")
        assert get(port, "a.example", "/nothing.html")[0] == 404


def test_routes_answer_as_site_toml_says(root: Path) -> None:
    with serve_sites(read_sites(root, {})) as port:
        status, headers, _ = get(port, "a.example", "/old")
        assert (status, headers["Location"]) == (302, "/page%20one.html")
        assert get(port, "a.example", "/gone.html")[0] == 404
        assert get(port, "a.example", "/broken")[0] == 500
        assert get(port, "a.example", "/notes.pdf")[1]["Content-Type"] == "application/x-odd"
        started = time.monotonic()
        assert b"slow" in get(port, "a.example", "/slow.html")[2]
        assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize(
    "path",
    [
        "/site.toml",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/deep/../../secret.txt",
        "/..%5csecret.txt",
        "/%00",
        "/.hidden.html",
        "/link.html",
    ],
)
def test_nothing_outside_and_nothing_private_is_served(root: Path, path: str) -> None:
    (root / "a.example" / "link.html").symlink_to(root / "secret.txt")
    with serve_sites(read_sites(root, {})) as port:
        status, _, body = get(port, "a.example", path)
    assert status in (400, 404)
    assert b"outside" not in body


def test_a_slow_answer_does_not_hold_up_the_servers_end(root: Path) -> None:
    write(root, {"a.example/site.toml": '[[route]]\npath = "/slow.html"\ndelay_s = 60\n'})
    with serve_sites(read_sites(root, {})) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/slow.html", headers={"Host": "a.example"})
        get(port, "a.example", "/")  # answered after the slow request has arrived
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()  # a server that waits for its slow answers would have sent this one
    connection.close()


def test_all_faults_of_a_site_file_are_told_at_once(root: Path) -> None:
    write(root, {"a.example/site.toml": '[[route]]\npath = "x"\n[[root]]\n'})
    with pytest.raises(FaultsError) as caught:
        read_sites(root, {})
    assert "site.toml: root: unknown field" in str(caught.value)
    assert "does not start with '/'" in str(caught.value)


def test_hosts_may_be_named_and_must_be_clear(root: Path) -> None:
    assert [site.host for site in read_sites(root, {"b": "bees.example"})] == ["a.example", "bees.example"]
    with pytest.raises(ConfigError, match=r"host name a\.example of"):
        read_sites(root, {"b": "a.example"})
    with pytest.raises(ConfigError, match="which is not a folder"):
        read_sites(root, {"c": "c.example"})
    with pytest.raises(ConfigError, match="not a host name"):
        read_sites(root, {"b": "no host"})
    with pytest.raises(ConfigError, match="no such folder"):
        read_sites(root / "nowhere", {})


def test_the_index_holds_pages_and_what_routes_tell_and_nothing_else(root: Path) -> None:
    engine = FolderEngine(read_sites(root, {}))
    assert engine.search("antique", 5).urls == ("http://a.example/old",)
    assert engine.search("leaflet", 5).urls == ("http://a.example/notes.pdf",)
    assert engine.search("below", 5).urls == ("http://a.example/deep/",)
    assert engine.search("spaces", 5).urls == ("http://a.example/page%20one.html",)
    assert engine.search("outside", 5).state == "none"


def test_ranking_is_by_words_that_tell_then_by_url(tmp_path: Path) -> None:
    files = {f"s{i}.example/index.html": html("Copy", "the moon turns") for i in (3, 1, 2)}
    files["s4.example/index.html"] = html("Volcanoes", "a volcano throws lava; lava cools")
    engine = FolderEngine(read_sites(write(tmp_path, files), {}))
    assert engine.search("what is the volcano's lava?", 10).urls == ("http://s4.example/",)
    copies = tuple(f"http://s{i}.example/" for i in (1, 2, 3))
    assert engine.search("Which moons turned?", 10).urls == copies
    assert engine.search("moon", 2).urls == copies[:2]
    again = FolderEngine(read_sites(tmp_path, {}))
    assert again.search("moon lava volcano", 10) == engine.search("moon lava volcano", 10)


@pytest.mark.parametrize(
    "odd", ["\x01", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff", "&#1;", "&#8", "&#xfffe;", "&#xd800;"]
)
@pytest.mark.parametrize(
    "page", ["<p>gold<script>x</script>b{}c</p>", "<p>c<b>y</b>b{}<style>x</style>d<script>z</script>{}e"]
)
def test_a_page_with_characters_that_xml_cannot_hold_is_found(tmp_path: Path, page: str, odd: str) -> None:
    engine = FolderEngine(read_sites(write(tmp_path, {"a.example/index.html": page.replace("{}", odd)}), {}))
    assert engine.search("c", 5).state == "hits"
    assert engine.search("x z", 5).state == "none"


def test_text_and_elements_after_the_end_of_a_page_are_no_error(tmp_path: Path) -> None:
    pages = {"a.example/index.html": "<html><body><p>gold</p></body></html>tail<script>x</script>end"}
    assert FolderEngine(read_sites(write(tmp_path, pages), {})).search("gold", 5).state == "hits"


@pytest.mark.parametrize(
    "query", ['"', "a AND b OR NOT c*", "NEAR(x y)", "title:x", "'; DROP TABLE page", "^x -y +z", "·"]
)
def test_no_query_is_syntax(root: Path, query: str) -> None:
    assert FolderEngine(read_sites(root, {})).search(query, 5).state in ("hits", "none")


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    assert match_expression("What is the volcano?") == '"volcano"'
    assert match_expression("Who are they?") == '"who" OR "are" OR "they"'
    assert match_expression("?!") == ""


def test_real_sites_are_searched_by_their_own_hosts(shared_data: Path, tmp_path: Path) -> None:
    for name in ("openstax-physics", "siyavula"):
        (tmp_path / name).symlink_to(shared_data / "web" / name)
    sites = read_sites(tmp_path, {"openstax-physics": "physics.school-reader.example"})
    assert [site.host for site in sites] == ["physics.school-reader.example", "www.mstworkbooks.co.za"]
    urls = FolderEngine(sites).search("How does photosynthesis store energy?", 10).urls
    assert len(urls) == 10
    assert urls[0].startswith("http://www.mstworkbooks.co.za/")


@pytest.mark.parametrize("host", ["169.254.169.254", "2130706433", "a.0x7f", "10.0.0.1"])
def test_a_host_that_is_an_address_is_refused_as_it_would_be_dialled(tmp_path: Path, host: str) -> None:
    write(tmp_path, {"a.example/CNAME": host, "a.example/x.html": html("x", "x")})
    with pytest.raises(ConfigError, match="not a host name"):
        read_sites(tmp_path, {})


def test_every_page_that_is_found_is_served_whatever_its_name(tmp_path: Path) -> None:
    names = [
        "what is it?.html",
        "100%.html",
        "%41.html",
        "caf\N{LATIN SMALL LETTER E WITH ACUTE}.html",
        "a#b+c&d;e.html",
    ]
    write(tmp_path, {f"a.example/{name}": html("x", "lava") for name in names})
    (tmp_path / "a.example" / os.fsdecode(b"bad\xff.html")).write_text("lava")
    engine = FolderEngine.open(FolderConfig(sites=str(tmp_path)))
    urls = [url for url in engine.search("lava", 10).urls if "bad" not in url]
    with engine.serving() as hosts:
        port = hosts["a.example"][1]
        statuses = [get(port, "a.example", url.removeprefix("http://a.example"))[0] for url in urls]
    assert statuses == [200] * len(names)


def test_sites_without_any_page_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.example/notes.txt": "no page"})
    with pytest.raises(ConfigError, match="hold no HTML page"):
        FolderEngine.open(FolderConfig(sites=str(tmp_path)))


def test_all_faults_of_all_routes_are_told_at_once(tmp_path: Path) -> None:
    routes = '[[route]]\npath = "/a"\nstatus = 99\n[[route]]\npth = "/b"\n[[route]]\npath = "c"\n'
    write(tmp_path, {"a.example/site.toml": routes})
    with pytest.raises(FaultsError) as caught:
        read_sites(tmp_path, {})
    told = [line.split("site.toml: ")[1].split(":")[0] for line in str(caught.value).splitlines()]
    assert told == ["route[0].status", "route[1].pth", "route[1].path", "route[2].path"]
