"""Computes the vectors of a dataset's passages before any run, into a file that shows inside the sandbox.

    python -P -m baselines.retrieve.warm DATASET [--encoder NAME] [--back-end NAME] [--chunk CHUNK] [--to DIR]
    python -P -m baselines.retrieve.warm --copy FILE [--to DIR]

The first encodes all passages that the chunker cuts from the dataset's pages (CHUNK as in a recipe: `sentences`, or
`{ name = "windows", tokens = 128, overlap = 0 }`), and adds their vectors to DIR/embeddings.sqlite. Each vector goes
into the user's cache at once: after a break, the same command continues from there. The second adds all vectors of
another such file, such as the cache's own, and loads no model.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from baselines.embed.vectors import FILE, publish, rows_of
from baselines.models import cache_folder, models_folder
from baselines.parts import Chunk, make
from baselines.recipe import Choice, name_and_settings
from edu_rag.errors import ConfigError, EduRagError
from edu_rag.processes.safe_path import leave_out_current_folder
from edu_rag.progress import Stage, say
from edu_rag.serve import SystemPage, SystemQuestion

AT_ONCE = 256
"""Texts a step: the most work that an interruption can lose."""


def choice_of(text: str) -> Choice:
    """A chunker as a recipe says it: a name, or an inline table. Raises ConfigError."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        table: dict[str, object] = tomllib.loads(f"chunk = {text}")["chunk"]
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            "--chunk", str(error), 'write it as { name = "windows", tokens = 128, overlap = 0 }'
        ) from None
    return table


def passages(dataset: Path, split: str | None, chunk: Chunk) -> Iterator[str]:
    """The texts of all passages of a dataset's pages, page by page; some may come twice. Raises DataError."""
    from edu_rag.files.dataset import Dataset
    from edu_rag.records import WebPage

    opened = Dataset(dataset)
    for page in opened.records("pages", opened.only_split(split), WebPage):
        as_given = SystemPage(
            page_id=page.page_id, url=page.url, title=page.title, text=page.text, sentences=tuple(page.sentences)
        )
        alone = SystemQuestion(id=page.page_id, text="", choices={}, kind="free_text", pages=(as_given,))
        yield from (passage.text for passage in chunk(alone))


def compute(texts: Sequence[str], encoder: str, back_end: str) -> dict[bytes, bytes]:
    """Vectors of texts by key; they are written to the user's cache step by step."""
    from baselines.embed import Encoder

    model = Encoder(encoder, back_end=back_end, cache=cache_folder())
    found: dict[bytes, bytes] = {}
    with Stage(f"encode with {encoder}", total=len(texts)) as stage:
        for start in range(0, len(texts), AT_ONCE):
            some = texts[start : start + AT_ONCE]
            found |= model.vectors(some)
            stage.add("done", len(some))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -P -m baselines.retrieve.warm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset", nargs="?", type=Path, metavar="DATASET", help="dataset folder whose pages are cut")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2", help="name, folder or hub id (default: %(default)s)")
    parser.add_argument("--back-end", default="torch", help="torch, onnx or onnx-int8 (default: %(default)s)")
    parser.add_argument("--chunk", default="sentences", help="chunker, as a recipe names it (default: %(default)s)")
    parser.add_argument("--split", help="split of the dataset (where there are several)")
    parser.add_argument("--to", type=Path, metavar="DIR", help="folder of the file (default: $EDU_RAG_MODELS)")
    parser.add_argument("--copy", type=Path, metavar="FILE", help="add the vectors of another file; nothing is encoded")
    return parser


def _target(to: Path | None) -> Path:
    folder = to if to is not None else models_folder()
    if folder is None:
        raise ConfigError("--to", "there is no folder of models", "name one, or set EDU_RAG_MODELS")
    return folder / FILE


def fill(asked: argparse.Namespace) -> str:
    """Run the command line; return the line that reports the result."""
    target = _target(asked.to)
    if asked.copy is not None:
        held = publish(target, rows_of(asked.copy))
    else:
        name, settings = name_and_settings("--chunk", choice_of(asked.chunk))
        texts = list(dict.fromkeys(passages(asked.dataset, asked.split, make("chunk", name, settings))))
        held = publish(target, sorted(compute(texts, asked.encoder, asked.back_end).items()))
    return f"{target}: holds {held:,} vectors ({target.stat().st_size / 1e6:,.0f} MB)"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if (asked.dataset is None) == (asked.copy is None):
        parser.error("give a DATASET, or --copy FILE")
    try:
        sys.stdout.write(f"{fill(asked)}\n")
    except EduRagError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    leave_out_current_folder()
    sys.exit(main())
