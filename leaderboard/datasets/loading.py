"""How to get a dataset and load it."""

from __future__ import annotations

from typing import NamedTuple

from leaderboard.datasets.version_pages import ShownVersion


class Code(NamedTuple):
    """Code in words of one language, and what it is for."""

    about: str
    language: str
    text: str


def folder_name(version: ShownVersion) -> str:
    """Where `edu-rag dataset fetch --out datasets` puts it."""
    return f"datasets/{version.id.name}-{version.version}"


def _fetch(version: ShownVersion) -> Code:
    text = (
        f"edu-rag dataset fetch --board leaderboard/board.toml --only {version.id.name} --out datasets\n"
        f"edu-rag dataset check {folder_name(version)}"
    )
    return Code(
        "Get the folder and check it. The first command runs in a checkout of the repository, whose board.toml says "
        "where each dataset lies, and in which version; one that is not published is left out, with a word.",
        "sh",
        text,
    )


def _check(version: ShownVersion) -> Code:
    # `dataset fetch` gets the one version that board.toml names, which an older one is not.
    about = (
        "Whoever has the folder can check it. It is this version if the content_sha256 in its manifest.json begins "
        f"with {version.id.hash8}."
    )
    return Code(about, "sh", f"edu-rag dataset check {folder_name(version)}")


def _with_datasets(version: ShownVersion, configs: list[str]) -> Code:
    lines = [f'{config} = load_dataset("{folder_name(version)}", "{config}")' for config in configs]
    text = "\n".join(["from datasets import load_dataset", "", *lines])
    return Code("Load it with Hugging Face datasets (pip install datasets), one configuration a table.", "python", text)


def _with_records(version: ShownVersion, split: str) -> Code:
    text = f"""\
from pathlib import Path

from edu_rag.files.dataset import Dataset

dataset = Dataset(Path("{folder_name(version)}"))  # every file must have the manifest's hash
questions = dataset.questions("{split}")
hits = dataset.hits("{split}")  # by question id, best rank first
pages = dataset.pages("{split}")  # by page id"""
    return Code("Or as checked records, with edu-rag-bench alone.", "python", text)


def codes_of(version: ShownVersion) -> list[Code]:
    """The commands and programs of a page; those that need the tables' names only where the folder was given."""
    facts = version.facts
    if facts is None:
        return [_check(version)]
    sizes = facts.rows["questions"]
    largest = max(sorted(sizes), key=lambda split: sizes[split])
    return [_fetch(version), _with_datasets(version, list(facts.rows)), _with_records(version, largest)]
