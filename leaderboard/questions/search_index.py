"""The index of the texts, built ahead by pagefind (MIT): chunks of words that a page loads as it needs them.

pagefind's command reads one small page a question and writes a WebAssembly searcher, its script and the chunks. Its
fragments (a file a question) are not kept: our page only needs the question of a result, which is in numbers.json.
Without the package `pagefind_bin` there is no search by text, and the rest works.
"""

from __future__ import annotations

import gzip
import html
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from edu_rag.errors import DataError
from edu_rag.look.texts import plain
from edu_rag.records import Question

HERE = Path(__file__).resolve().parent
PACKAGE = "pagefind_bin"
FORMAT = "edu-rag-numbers-v1"
MAX_TEXT = 8_000
"""Characters of a question and its choices that are searched."""
MAX_SECONDS = 600
KEPT = ("pagefind.js", "pagefind-entry.json")
_MAGIC = b"pagefind_dcd"


def can_search() -> bool:
    """Whether the package is installed."""
    return find_spec(PACKAGE) is not None


def text_of(question: Question) -> str:
    """The searched texts of a question."""
    return str(plain("\n".join((question.text, *question.choices.values()))[:MAX_TEXT]))


def _run(folder: Path) -> None:
    # Run inside the temporary folder: pagefind reads a configuration file from the current one.
    options = ("--site", "in", "--output-path", "out", "--force-language", "en", "--silent")
    command = [sys.executable, "-P", "-m", PACKAGE, *options]
    # Ours all of it: the questions are in files, none of their text is in the command.
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, capture_output=True, text=True, timeout=MAX_SECONDS, check=False
    )
    if done.returncode or not (folder / "out" / "pagefind.js").is_file():
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no word said"]
        raise DataError("pagefind", f"built no search index: {last[0][:200]}", "remove or repair pagefind_bin")


def _ids(folder: Path, n: int) -> list[str]:
    """Which id pagefind gave each question's page, in exam order."""
    ids = [""] * n
    for path in folder.glob("*.pf_fragment"):
        page = msgspec.json.decode(gzip.decompress(path.read_bytes()).removeprefix(_MAGIC))
        ids[int(Path(page["url"]).stem)] = path.stem
    return ids


def search_files(questions: Sequence[Question]) -> Iterator[tuple[str, bytes]]:
    """Names inside the search folder and their bytes; the same questions give the same bytes. Raises DataError."""
    with TemporaryDirectory(prefix="edu-rag-board-") as temporary:
        folder = Path(temporary)
        (folder / "in").mkdir()
        for number, question in enumerate(questions):
            text = f"<!doctype html><html lang=en><body>{html.escape(text_of(question))}</body></html>"
            (folder / "in" / f"{number}.html").write_text(text, encoding="utf-8")
        _run(folder)
        out = folder / "out"
        values = {"format": FORMAT, "ids": _ids(out / "fragment", len(questions))}
        yield "numbers.json", msgspec.json.encode(values)
        yield "LICENSE.txt", (HERE / "pagefind-licence.txt").read_bytes()
        for path in sorted([*(out / name for name in KEPT), *out.glob("*.pf_meta"), *out.glob("wasm.en.pagefind")]):
            yield path.name, path.read_bytes()
        for path in sorted((out / "index").iterdir()):
            yield f"index/{path.name}", path.read_bytes()
