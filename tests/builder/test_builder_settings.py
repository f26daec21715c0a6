from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.clock import LOCAL_INSTANT, build_clock
from builder.config import BuildConfig, config_sha256, read_config, to_config
from builder.urls import canonical_url
from edu_rag.errors import ConfigError, FaultsError
from edu_rag.records import HIT_OUTCOMES


def test_the_defaults_are_what_the_pages_say() -> None:
    config = read_config(None, {})
    assert (config.search.top, config.fetch.timeout_s, config.filter.min_bytes) == (10, 5.0, 512)
    assert (config.fetch.max_bytes, config.fetch.max_redirects, config.fetch.per_host) == (5_000_000, 5, 2)


def test_a_file_is_read_and_the_command_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text('name = "mine"\n[search]\ntop = 3\n[search.folder]\nsites = "web"\n[fetch]\ntimeout_s = 2\n')
    config = read_config(path, {"name": "yours", "search": {"engine": "none"}})
    assert (config.name, config.search.engine, config.search.top, config.fetch.timeout_s) == ("yours", "none", 3, 2.0)
    assert config.search.folder.sites == str(tmp_path / "web")


def test_all_faults_of_the_settings_are_told_at_once_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text(
        'version = "1"\nengine = "folder"\n[search]\ntop = 0\n[fetch]\ntimeout_s = -1\nmax_bytes = "many"\nworker = 3\n'
    )
    with pytest.raises(FaultsError) as caught:
        read_config(path, {})
    lines = str(caught.value).splitlines()
    for field in ("version", "engine", "search.top", "fetch.timeout_s", "fetch.max_bytes", "fetch.worker"):
        assert sum(line.startswith(f"{path}: {field}: ") for line in lines) == 1, lines
    assert any("did you mean 'workers'?" in line for line in lines)


@pytest.mark.parametrize(
    "values",
    [
        {"clock": "yesterday"},
        {"clock": "2026-01-01T00:00:00"},
        {"fetch": {"user_agent": "bad\nheader"}},
        {"search": {"google": {"base_url": "ftp://x"}}},
        {"name": "UPPER"},
        {"fetch": {"timeout_s": 1e9}},
    ],
)
def test_a_value_out_of_its_range_is_a_fault(values: dict[str, object]) -> None:
    with pytest.raises(FaultsError):
        to_config(values, "test")


def test_the_hash_moves_with_what_can_change_the_dataset_and_with_nothing_else() -> None:
    plain = config_sha256(BuildConfig())
    for same in (
        {"fetch": {"workers": 7}},
        {"fetch": {"per_host": 1}},
        {"search": {"folder": {"sites": "/x"}}},
        {"name": "other"},
        {"search": {"google": {"pause_s": 1}}},
        {"filter": {"unfit": "drop"}},
    ):
        assert config_sha256(to_config(same, "test")) == plain, same
    for other in (
        {"fetch": {"timeout_s": 4}},
        {"filter": {"min_bytes": 1}},
        {"filter": {"unfit": "keep"}},
        {"extract": {"extractor": "bs4-v1"}},
        {"search": {"top": 3}},
        {"search": {"engine": "none"}},
    ):
        assert config_sha256(to_config(other, "test")) != plain, other


def test_the_clock_is_the_settings_then_the_environments_then_the_engines() -> None:
    epoch = {"SOURCE_DATE_EPOCH": "86400"}
    assert build_clock("2026-01-01T02:00:00+02:00", is_offline=False, environment=epoch)() == datetime(
        2026, 1, 1, tzinfo=UTC
    )
    assert build_clock(None, is_offline=True, environment=epoch)() == datetime(1970, 1, 2, tzinfo=UTC)
    assert build_clock(None, is_offline=True, environment={})() == LOCAL_INSTANT
    assert abs((build_clock(None, is_offline=False, environment={})() - datetime.now(UTC)).total_seconds()) < 5
    with pytest.raises(ConfigError, match="SOURCE_DATE_EPOCH"):
        build_clock(None, is_offline=True, environment={"SOURCE_DATE_EPOCH": "soon"})


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://WWW.Example.COM:80", "http://www.example.com/"),
        ("https://e.example:443/a/../b#c", "https://e.example/b"),
        ("http://e.example/?utm_source=x&q=1&srsltid=AfmB&gclid=1&FBCLID=2", "http://e.example/?q=1"),
        ("http://e.example/?b=2&a=1", "http://e.example/?a=1&b=2"),
        ("http://e.example/caf\u00e9 x", "http://e.example/caf%C3%A9%20x"),
        ("http://e.example/?q=", "http://e.example/?q="),
    ],
)
def test_two_addresses_of_a_page_are_one_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    "url", ["", "mailto:x@y.z", "ftp://e.example/", "http://", "/search?q=x", "http://e.example:99999/", "http://[::x/"]
)
def test_what_is_no_web_address_has_no_canonical_url(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        canonical_url(url)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["http", "https", "HTTP"]))
def test_a_canonical_url_is_its_own_canonical_url(path: str, query: str, scheme: str) -> None:
    try:
        once = canonical_url(f"{scheme}://Host.example/{path}?{query}")
    except ValueError:
        return
    assert canonical_url(once) == once
    assert once.isascii()
    assert "#" not in once


def test_a_fault_of_an_option_is_not_laid_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "build.toml"
    path.write_text('name = "fine"\n')
    with pytest.raises(FaultsError, match=r"^command line: name: "):
        read_config(path, {"name": "NOT FINE"})


def test_a_clock_outside_of_all_years_is_a_fault() -> None:
    with pytest.raises(FaultsError, match=r"clock: .*before the year 1"):
        to_config({"clock": "0001-01-01T00:00:00+23:00"}, "test")


def test_the_page_about_building_names_every_fate_of_a_hit() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "build.md").read_text(encoding="utf-8")
    assert [outcome for outcome in HIT_OUTCOMES if f"`{outcome}`" not in text] == []
