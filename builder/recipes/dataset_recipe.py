"""A recipe: the pinned sources of a dataset, how they are read, and the content hash that the dataset must have.

There are two kinds. One has [[source]]s: books, whose exercises are the questions and whose modules are the pages. The
other has [questions], a question file, and [[site]]s, folders of web pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from builder.config import BuildConfig, read_config
from edu_rag.errors import ConfigError, RecordError
from edu_rag.files.toml import read_toml
from edu_rag.names import DATASET_NAME, VERSION

FOLDER = Path(__file__).parent
_SHA256 = r"^[0-9a-f]{64}\Z"
_COMMIT = r"^[0-9a-f]{40}\Z"
_SOURCE_ID = r"^[a-z][a-z0-9-]{1,30}\Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One [[source]]: the archive of a book's repository at a commit, and what of it is used.

    `archive` is its address, `top` the folder that it holds; `page` is the address that a module gets as a page, with
    `{place}` for its path. `files_sha256` is over the names and bytes of the contents file and all modules that it
    lists: the archive's own bytes may differ. A source without `questions` gives pages only.
    """

    id: Annotated[str, Meta(pattern=_SOURCE_ID)]
    title: str
    archive: Annotated[str, Meta(pattern=r"^https?://")]
    top: str
    commit: Annotated[str, Meta(pattern=_COMMIT)]
    page: Annotated[str, Meta(pattern=r"^https?://[^{}]+\{place\}")]
    licence: str
    licence_url: str
    attribution: str
    format: Literal["cnxml", "markdown"]
    contents: tuple[str, ...]
    files_sha256: Annotated[str, Meta(pattern=_SHA256)]
    questions: bool = True

    def __post_init__(self) -> None:
        if self.commit not in self.archive or self.commit not in self.page:
            raise RecordError("archive", "does not contain the commit, so it is not pinned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """[questions]: a separate question file, inside a ZIP archive or as a file of the folder of sources.

    `archive` is the address of the archive and `member` the file in it; `file` is where a folder of sources has the
    questions. `sha256` is of that file: the member of the archive is not pinned.
    """

    archive: Annotated[str, Meta(pattern=r"^https?://.*\.zip\Z")]
    member: str
    file: str
    sha256: Annotated[str, Meta(pattern=_SHA256)]
    split: str
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSite:
    """One [[site]]: a web site as files, in `folder` of the folder of sources; `address` is that of its first folder.

    `files_sha256` is over the names and bytes of all its files.
    """

    folder: str
    address: Annotated[str, Meta(pattern=r"^http://[a-z0-9.-]+/([a-z0-9-]+/)?\Z")]
    licence: str
    source: str
    files_sha256: Annotated[str, Meta(pattern=_SHA256)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """[splits]: the share of chapters whose questions go to `dev`; the others go to `test`. A chapter stays whole."""

    dev: Annotated[float, Meta(ge=0, le=1)]
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecipe:
    """All of a recipe's file; `build` holds the settings of build.toml, but its name and version."""

    name: Annotated[str, Meta(pattern=rf"^{DATASET_NAME}\Z")]
    version: Annotated[str, Meta(pattern=rf"^{VERSION}\Z")]
    about: str
    content_sha256: Annotated[str, Meta(pattern=_SHA256)]
    splits: Splits | None = None
    source: list[Source] = field(default_factory=list)
    questions: Questions | None = None
    site: list[RecipeSite] = field(default_factory=list)
    build: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = [source.id for source in self.source]
        if len(set(ids)) < len(ids):
            raise RecordError("source", "two have the same id", "give each [[source]] its own id")
        if bool(ids) == (self.questions is not None):
            raise RecordError("source", "questions are from books or from a question file", "give one of the two")
        if ids and self.splits is None:
            raise RecordError("splits", "is missing", "give the share of chapters for `dev`")
        if self.questions is not None and not self.site:
            raise RecordError("site", "there is none", "give at least one [[site]]")

    def config(self, sites: Path) -> BuildConfig:
        """The settings of the build, with the folder of web sites that is searched. Raises FaultsError."""
        folder = {"engine": "folder", "folder": {"sites": str(sites)}}
        search = {**dict(self.build.get("search", {})), **folder}
        return read_config(None, {"name": self.name, "version": self.version, **self.build, "search": search})


def recipe_names() -> list[str]:
    """The recipes that come with the project."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_recipe(name: str) -> DatasetRecipe:
    """The recipe of this name, or in this file. Raises ConfigError if there is none, FaultsError if it is faulty."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(recipe_names())
        raise ConfigError(name, "is not a recipe", f"choose from {known}, or name a recipe's TOML file")
    return read_toml(path, DatasetRecipe)
