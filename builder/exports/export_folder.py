"""Write the folder of an export, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from builder.exports.export_pairs import licence_line
from builder.exports.exported_rows import exported_rows
from builder.exports.retrieval_folders import write_beir_folder, write_trec_folder
from builder.exports.task_folders import lm_eval_name, write_inspect_folder, write_lm_eval_folder
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_file

Target = Literal["inspect", "lm-eval", "beir", "trec"]
TARGETS: tuple[Target, ...] = get_args(Target)


def export_folder(dataset: Dataset, split: str, target: Target, out: Path, max_characters: int) -> list[str]:
    """Write a split in the format of another program into a new or empty folder; return what was written.

    Raises ConfigError for a folder that is not empty, and DataError for a split that lacks what the format needs.
    """
    with _new_folder(out) as folder:
        counts, how = _write(dataset, split, target, folder, max_characters)
        about = f"# {dataset.manifest.release}, split {split}\n\nExported from the dataset `{dataset.id}`."
        configs = _hub_configs(folder) if target == "inspect" else ""
        write_file(folder / "README.md", f"{configs}{about}\n\n{how}\n\nThe {licence_line(dataset)}.\n".encode())
    return counts


def _write(dataset: Dataset, split: str, target: Target, folder: Path, max_characters: int) -> tuple[list[str], str]:
    """Write the files; return what to print, and what the README says about their use."""
    if target in ("beir", "trec"):
        write = write_beir_folder if target == "beir" else write_trec_folder
        n_pages, n_queries = write(folder, dataset, split)
        counts = [f"{'documents':<40} {n_pages:>9,}", f"{'queries':<40} {n_queries:>9,}"]
        return counts, "A page is relevant to a question if it holds evidence, or if the question was taken from it."
    rows = exported_rows(dataset, split, max_characters)
    if target == "inspect":
        n = write_inspect_folder(folder, dataset, split, rows)
        return [f"{'questions':<40} {n:>9,}"], "Run it with `inspect eval edu_rag_task.py --model MODEL`."
    n = write_lm_eval_folder(folder, dataset, split, rows)
    command = f"lm_eval --include_path FOLDER --tasks {lm_eval_name(dataset, split)} --model MODEL"
    return [f"{'questions':<40} {n:>9,}"], f"Run it with `{command}`."


def _hub_configs(folder: Path) -> str:
    """The header by which the Hub and `datasets` load the files: one config a kind of question."""
    names = [path.stem for path in sorted(folder.glob("*.jsonl"))]
    lines = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}.jsonl\n" for name in names
    )
    return f"---\nconfigs:\n{lines}---\n\n"


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder to write, which gets its name when everything is written."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError("--out", f"{out} exists and is not an empty folder", "choose a new folder")
    temporary = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if out.exists():
            out.rmdir()
        temporary.replace(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
