"""A site is always whole: while it is replaced, while builds are killed, and where folders cannot be exchanged."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from killed_builds import WAYS, play

from edu_rag.errors import ConfigError
from edu_rag.files.manifest import file_sha256
from leaderboard import swap
from leaderboard.site import write_site

Fill = Callable[[Path], None]


def filled(text: str) -> Fill:
    def fill(folder: Path) -> None:
        (folder / "index.html").write_text(text, encoding="utf-8")
        (folder / "data").mkdir()
        (folder / "data" / "more").write_text(text, encoding="utf-8")

    return fill


def publish(folder: Path, text: str, fill: Fill | None = None) -> list[str]:
    """One build; what it told."""
    told: list[str] = []

    def all_written(new: Path) -> dict[str, str]:
        (fill or filled(text))(new)
        files = (path for path in new.rglob("*") if path.is_file())
        return {path.relative_to(new).as_posix(): file_sha256(path) for path in files}

    write_site(folder / "site", folder / "results", all_written, told.append)
    return told


def shown(folder: Path) -> str:
    return (folder / "site" / "index.html").read_text(encoding="utf-8")


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "site")


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "killed" not in request.node.name:
        monkeypatch.setattr(swap, "GRACE_S", 0)


def test_killed_builds_leave_the_old_or_the_new_site_whole_for_every_reader(tmp_path: Path) -> None:
    n_kills = 6 if os.environ.get("EDU_RAG_NIGHTLY") else 3  # by day one at each of the three moments
    seen, builds = play(tmp_path, n_kills=n_kills, n_systems=3, seed=1, pause_s=0.02)
    assert builds["kills"] == n_kills
    assert builds["leftover folders at the end"] == 0
    for way in WAYS:
        assert sum(seen[way].values()) > 50
        assert set(seen[way]) <= {"one", "two", *(["straddled"] if way == "by path" else [])}, seen


def test_a_site_is_replaced_in_one_step_and_nothing_stays_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = swap._exchange, []

    def exchange(one: Path, other: Path) -> bool:
        done = real(one, other)
        seen.append((done, shown(tmp_path), (one / "index.html").read_text(encoding="utf-8")))
        return done

    monkeypatch.setattr(swap, "_exchange", exchange)
    assert publish(tmp_path, "old") == publish(tmp_path, "new") == []
    if not seen[0][0]:
        pytest.skip("NOT RUN: the file system of the temporary folder cannot exchange two folders")
    assert seen == [(True, "new", "old")]
    assert beside(tmp_path) == []


def test_every_file_and_folder_is_on_the_disk_before_the_swap_and_the_swap_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, "old")
    real, real_sync, calls = swap._exchange, os.fsync, []

    def exchange(one: Path, other: Path) -> bool:
        tree = {path.stat().st_ino for path in (one, *one.rglob("*"))}
        assert tree <= set(calls)
        calls.clear()
        return real(one, other)

    def fsync(descriptor: int) -> None:
        calls.append(os.fstat(descriptor).st_ino)
        real_sync(descriptor)

    monkeypatch.setattr(swap, "_exchange", exchange)
    monkeypatch.setattr(os, "fsync", fsync)
    publish(tmp_path, "new")
    assert calls == [tmp_path.stat().st_ino]


def test_a_reader_that_holds_a_lock_keeps_its_edition_until_the_next_build(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    reader = os.open(tmp_path / "site", os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    publish(tmp_path, "new")
    with os.fdopen(os.open("data/more", os.O_RDONLY, dir_fd=reader)) as stream:
        assert stream.read() == "old"
    assert len(beside(tmp_path)) == 1
    os.close(reader)
    publish(tmp_path, "newer")
    assert beside(tmp_path) == []
    assert shown(tmp_path) == "newer"


def test_a_file_that_was_open_is_read_to_its_end(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    with (tmp_path / "site" / "index.html").open(encoding="utf-8") as stream:
        publish(tmp_path, "new")
        assert stream.read() == "old"


def test_an_old_edition_outlives_its_replacement_by_the_grace(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    slept = []
    with swap.building(tmp_path / "site", "site.json") as new:
        filled("new")(new)

        def sleep(seconds: float) -> None:
            slept.append(((new / "index.html").read_text(encoding="utf-8"), shown(tmp_path), seconds))

        swap.put_in_place(new, tmp_path / "site", lambda: None, print, sleep)
    assert slept == [("old", "new", swap.GRACE_S)]
    assert not new.exists()


def test_two_builds_at_once_do_not_disturb_one_another_and_the_later_one_stays(tmp_path: Path) -> None:
    publish(tmp_path, "old")

    def fill(folder: Path) -> None:
        filled("outer")(folder)
        publish(tmp_path, "inner")
        assert shown(tmp_path) == "inner"
        assert (folder / "index.html").is_file()

    publish(tmp_path, "outer", fill)
    assert shown(tmp_path) == "outer"
    assert beside(tmp_path) == []


def test_leftovers_of_killed_builds_are_cleared_and_nothing_else_is(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    for name in (".site.123.new", ".site.0a1b2c3d4e5f6071.new", ".site.77.old"):
        (tmp_path / name / "data").mkdir(parents=True)
    kept = [".other.123.new", ".site.notes.new", ".site.123", ".site.5.new.txt", "site.5.new"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".site.9.new").write_text("a file", encoding="utf-8")
    (tmp_path / ".site.8.new").symlink_to(tmp_path / ".other.123.new")
    publish(tmp_path, "new")
    assert beside(tmp_path) == sorted([*kept, ".site.9.new", ".site.8.new"])


def test_half_written_leftovers_are_cleared_even_where_the_next_build_fails(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    (tmp_path / ".site.abc.new").mkdir()

    def fill(folder: Path) -> None:
        assert not (tmp_path / ".site.abc.new").exists()
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ConfigError, match="No space left"):
        publish(tmp_path, "new", fill)
    assert (shown(tmp_path), beside(tmp_path)) == ("old", [])


def test_of_whole_editions_that_killed_builds_left_only_the_last_waits_for_a_build_that_succeeds(
    tmp_path: Path,
) -> None:
    publish(tmp_path, "old")
    for number in range(3):
        (tmp_path / f".site.{number}.new").mkdir()
        (tmp_path / f".site.{number}.new" / "site.json").write_text("{}", encoding="utf-8")
    (tmp_path / ".site.1.new").rename(tmp_path / ".site.4.new")
    seen = []

    def fill(folder: Path) -> None:
        seen.extend(name for name in beside(tmp_path) if name != folder.name)
        filled("new")(folder)

    publish(tmp_path, "new", fill)
    assert (seen, shown(tmp_path), beside(tmp_path)) == ([".site.4.new"], "new", [])


def test_where_folders_cannot_be_exchanged_the_user_is_told_and_gets_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap, "_exchange", lambda _one, _other: False)
    assert publish(tmp_path, "old") == []
    assert len(publish(tmp_path, "new")) == 1
    assert "for a moment there was no site" in publish(tmp_path, "newer")[0]
    assert (shown(tmp_path), beside(tmp_path)) == ("newer", [])


def test_a_site_that_a_killed_build_had_moved_aside_is_put_back(tmp_path: Path) -> None:
    publish(tmp_path, "old")
    (tmp_path / ".site.1.old").mkdir()
    (tmp_path / "site").rename(tmp_path / ".site.0.old")
    seen = []

    def fill(folder: Path) -> None:
        seen.append(shown(tmp_path))
        filled("new")(folder)

    publish(tmp_path, "new", fill)
    assert (seen, shown(tmp_path), beside(tmp_path)) == (["old"], "new", [])


def test_a_rename_that_fails_half_way_leaves_the_old_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, "old")
    real = Path.rename

    def rename(path: Path, target: Path) -> Path:
        if path.suffix == ".new":
            raise OSError(errno.EIO, "Input/output error")
        return real(path, target)

    monkeypatch.setattr(swap, "_exchange", lambda _one, _other: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(ConfigError, match="Input/output error"):
        publish(tmp_path, "new")
    assert (shown(tmp_path), beside(tmp_path)) == ("old", [])


def test_on_a_file_system_without_locks_the_site_is_replaced_and_strange_leftovers_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    publish(tmp_path, "old")
    (tmp_path / ".site.abc.new").mkdir()
    publish(tmp_path, "new")
    assert (shown(tmp_path), beside(tmp_path)) == ("new", [".site.abc.new"])


def test_files_that_come_into_the_site_while_it_is_built_are_not_lost(tmp_path: Path) -> None:
    publish(tmp_path, "old")

    def fill(folder: Path) -> None:
        filled("new")(folder)
        (tmp_path / "site" / "CNAME").write_text("mine", encoding="utf-8")

    with pytest.raises(ConfigError, match="would be lost: CNAME"):
        publish(tmp_path, "new", fill)
    assert (shown(tmp_path), beside(tmp_path)) == ("old", [])
