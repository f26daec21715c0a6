"""Single bits flipped anywhere in a dataset folder, and what `edu-rag dataset check` says of each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from edu_rag.__main__ import root


def places(folder: Path, n: int, seed: int) -> Iterator[tuple[str, int]]:
    """Seeded places, as file and number of the bit: of every two the first in any file, the second in any byte."""
    rng = random.Random(seed)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    names = sorted(sizes)
    weights = [sizes[name] for name in names]
    for number in range(n):
        (name,) = rng.choices(names, weights if number % 2 else None)
        yield name, rng.randrange(8 * sizes[name])


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file; a second time puts it back."""
    raw = bytearray(path.read_bytes())
    raw[bit // 8] ^= 1 << bit % 8
    path.write_bytes(raw)


def checked(folder: Path) -> tuple[int, str]:
    """The exit code of `edu-rag dataset check`, and its faults."""
    done = CliRunner().invoke(root, ["dataset", "check", str(folder)])
    return done.exit_code, str(done.exception or "")


def is_named(folder: Path, name: str, bit: int) -> bool:
    """Whether a check of the folder with this bit flipped exits 1 and names the file, or the manifest."""
    flip(folder / name, bit)
    try:
        code, said = checked(folder)
    finally:
        flip(folder / name, bit)
    return code == 1 and any(f"{folder / one}: " in said for one in (name, "manifest.json"))
