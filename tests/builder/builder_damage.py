"""Damaged crawl stores, by seed: what breaks in files that are stored, copied, cut off or mixed up."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from builder_crash import arguments, build_here, tree, write_web
from builder_store import records

from builder.store.crawl_store import CrawlStore
from builder.store.rebuild import rebuild_index
from edu_rag.__main__ import main
from edu_rag.errors import DataError

INDEX, WARC = "index.sqlite3", "responses.warc.gz"
Damage = Callable[[Path, random.Random], None]


def _empty(name: str) -> Damage:
    return lambda folder, chance: (folder / name).write_bytes(b"") and None


def _cut(name: str) -> Damage:
    def damage(folder: Path, chance: random.Random) -> None:
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw[: chance.randrange(1, len(raw))])

    return damage


def _flip(name: str, most: int = 4) -> Damage:
    def damage(folder: Path, chance: random.Random) -> None:
        raw = bytearray((folder / name).read_bytes())
        for _ in range(chance.randint(1, most)):
            raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(raw)

    return damage


def _blank(name: str) -> Damage:
    """A page of the disk that comes back as zeros."""

    def damage(folder: Path, chance: random.Random) -> None:
        raw = bytearray((folder / name).read_bytes())
        start = chance.randrange(0, len(raw), 512)
        raw[start : start + 512] = bytes(len(raw[start : start + 512]))
        (folder / name).write_bytes(raw)

    return damage


def _lost_index(folder: Path, chance: random.Random) -> None:
    (folder / INDEX).unlink()


def _lost_journal(folder: Path, chance: random.Random) -> None:
    """A copy of the two main files that a build was writing: of the index, what its journal held is gone."""
    shutil.copyfile(folder / "early" / INDEX, folder / INDEX)


def _other_index(folder: Path, chance: random.Random) -> None:
    shutil.copyfile(folder / "other" / INDEX, folder / INDEX)


def _torn_tail(folder: Path, chance: random.Random) -> None:
    with (folder / WARC).open("ab") as stream:
        stream.write(b"\x1f\x8b\x08\0" + chance.randbytes(chance.randint(1, 5_000)))


def _changed(*statements: str) -> Damage:
    def damage(folder: Path, chance: random.Random) -> None:
        with closing(sqlite3.connect(folder / INDEX)) as index, index:
            for statement in statements:
                index.execute(statement)

    return damage


DAMAGES: Mapping[str, Damage] = {
    "index empty": _empty(INDEX),
    "index cut": _cut(INDEX),
    "index flipped": _flip(INDEX),
    "index with a blank sector": _blank(INDEX),
    "index lost": _lost_index,
    "index without its journal": _lost_journal,
    "index of another store": _other_index,
    "index without a table": _changed("DROP TABLE searches"),
    "index without rows": _changed("DELETE FROM fetches", "DELETE FROM searches"),
    "index of another version": _changed("PRAGMA user_version = 77"),
    "broken time": _changed("UPDATE fetches SET fetched_at = 'yesterday'"),
    "broken JSON": _changed("UPDATE searches SET hits = '[\"x'"),
    "broken type": _changed("UPDATE fetches SET warc_offset = 'far'"),
    "changed text": _changed("UPDATE searches SET query = query || '?'"),
    "WARC empty": _empty(WARC),
    "WARC cut": _cut(WARC),
    "WARC flipped": _flip(WARC, 2),
    "WARC with a blank sector": _blank(WARC),
    "WARC with a torn tail": _torn_tail,
}


@dataclass(frozen=True)
class Case:
    """One damage by one seed."""

    name: str
    seed: int

    def apply(self, sound: Path, folder: Path) -> None:
        """Copy a sound store to a folder and damage the copy. `sound/early` and `sound/other` hold other indexes."""
        shutil.copytree(sound, folder)
        DAMAGES[self.name](folder, random.Random(f"{self.name} {self.seed}"))
        for extra in ("early", "other"):
            shutil.rmtree(folder / extra)


def cases(n: int) -> list[Case]:
    """So many cases: every damage in turn, with one seed after another."""
    names = list(DAMAGES)
    return [Case(names[place % len(names)], place // len(names)) for place in range(n)]


def make_sound(folder: Path, n_pages: int) -> None:
    """Build the store `sound.crawl` in a folder and the dataset `sound` from it, with the indexes to mix it up with."""
    write_web(folder / "web", n_pages)
    for name in ("sound", "second"):
        build_here(arguments(folder / "web", folder / name))
    store = folder / "sound.crawl"
    (store / "other").mkdir()
    shutil.copyfile(folder / "second.crawl" / INDEX, store / "other" / INDEX)
    # The index as it was in the middle of the crawl: what the first half of the batches makes.
    (store / "early").mkdir()
    whole = records(store)
    last = [place for place, (kind, _) in enumerate(whole) if kind == "metadata"]
    n = last[(len(last) - 1) // 2]
    (store / "early" / WARC).write_bytes(b"".join(raw for _, raw in whole[: n + 1]))
    rebuild_index(store / "early")


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a store's index."""
    with closing(sqlite3.connect(folder / INDEX)) as index:
        tables = ("searches", "fetches", "warc")
        return {table: sorted(index.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


@dataclass
class Seen:
    """What the commands did to one damaged store."""

    faults: list[str] = field(default_factory=list)
    outcome: str = ""
    """What a replay came to: `same bytes`, or the error without the folder's name."""

    def check(self, is_right: bool, fault: str) -> None:
        """Note a fault where something is not right."""
        if not is_right:
            self.faults.append(fault)


def _command(words: Sequence[object], seen: Seen) -> tuple[int, str]:
    """Exit code and last line of stderr of one command, run in this process; whatever it raises is a fault."""
    errors, code = io.StringIO(), 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            main([str(word) for word in words])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception as error:
            seen.faults.append(f"traceback of {words[0]}: {type(error).__name__}: {error}")
            code = 70
    last = (errors.getvalue().splitlines() or [""])[-1]
    if code == 1:
        seen.check(
            last.count(": ") >= 2 and "crawl" in last.split(": ")[0], f"{words[0]} does not name the file: {last}"
        )
        seen.check("free some disk" not in last, f"{words[0]} asks for room: {last}")
    return code, last


def _after_a_build(case: Case, sound: Path, work: Path, seen: Seen, whole: Mapping[str, bytes], *, full: bool) -> None:
    """Open for writing, or build with --resume (`full`): whole records stay, and a build ends with the same bytes."""
    store = work / "resumed.crawl"
    case.apply(sound, store)
    before = Counter(raw for _, raw in records(store))
    if full:
        web = sound.parent / "web"
        words = ("build", web / "build.toml", "--questions", web / "questions.jsonl", "--out", work / "resumed")
        code, last = _command([*words, "--workers", 1, "--resume"], seen)
        same = code == 0 and {**tree(work / "resumed")} == dict(whole)
        seen.check(same or code == 1, f"a resumed build makes other bytes: {last}")
    else:
        with contextlib.suppress(DataError), contextlib.redirect_stderr(io.StringIO()):
            CrawlStore(store).close()
    n_lost = (before - Counter(raw for _, raw in records(store))).total()
    seen.check(not n_lost, f"{n_lost} whole records lost by opening for writing")


def _after_a_rebuild(
    case: Case, sound: Path, work: Path, seen: Seen, whole: Mapping[str, bytes], *, full: bool
) -> None:
    store = work / "rebuilt.crawl"
    case.apply(sound, store)
    raw = (store / WARC).read_bytes()
    code, last = _command(["crawl", "rebuild-index", store], seen)
    seen.check((store / WARC).read_bytes() == raw, "rebuild-index changed the WARC file")
    if case.name.startswith("WARC") and case.name != "WARC with a torn tail":
        return
    seen.check(code == 0, f"rebuild-index failed: {last}")
    if full:
        code, last = _command(["replay", store, "--out", work / "rebuilt", "--workers", 1], seen)
        seen.check(code == 0 and tree(work / "rebuilt") == whole, f"a replay after it makes other bytes: {last}")
    elif code == 0:
        seen.check(rows(store) == rows(sound), "the rebuilt index has other rows")


def look_at(case: Case, sound: Path, work: Path, *, full: bool) -> Seen:
    """Damage copies of a sound store and run the commands on them: replay, rebuild-index, and a resumed build.

    `full` runs the build and the replay after rebuild-index; without it the store is opened for writing, and the rows
    of the rebuilt index are compared.
    """
    seen, store, whole = Seen(), work / "ds.crawl", tree(sound.parent / "sound")
    case.apply(sound, store)
    before = tree(store)
    code, last = _command(["replay", store, "--out", work / "ds", "--workers", 1], seen)
    seen.check(tree(store) == before, "replay changed the store")
    seen.check(code == 1 or tree(work / "ds") == whole, "replay made other bytes without a word")
    seen.outcome = "same bytes" if code == 0 else last.replace(str(work), "")
    _after_a_build(case, sound, work, seen, whole, full=full)
    _after_a_rebuild(case, sound, work, seen, whole, full=full)
    shutil.rmtree(work)
    return seen
