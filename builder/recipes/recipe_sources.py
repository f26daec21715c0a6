"""The sources of a recipe: downloaded or found in a folder, verified by their hash, and unpacked with limits."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from builder.fetch.archive_download import download
from builder.recipes.dataset_recipe import DatasetRecipe, Questions, RecipeSite, Source
from builder.textbooks.book import BookFormat, Chapter, Module
from builder.textbooks.cnxml import CNXML
from builder.textbooks.markdown_book import MARKDOWN
from edu_rag.errors import DataError
from edu_rag.progress import Stage

FORMATS = {"cnxml": CNXML, "markdown": MARKDOWN}
MAX_MEMBERS = 20_000
MAX_FILE_BYTES = 20_000_000
MAX_BYTES = 500_000_000
_OTHER = "the source has changed: the recipe cannot be followed with it"


class BookFolder:
    """The unpacked, verified files of a source, and how they are read."""

    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder
        self._format: BookFormat = FORMATS[source.format]

    def chapters(self) -> list[Chapter]:
        """The chapters of all contents files, in their order; a module is in its first chapter only."""
        seen: set[str] = set()
        found = []
        for contents in self.source.contents:
            for chapter in self._format.chapters_of(self.folder / contents):
                ids = [one for one in dict.fromkeys(chapter.module_ids) if one not in seen]
                seen.update(ids)
                found.append(Chapter(chapter.title, ids))
        return found

    def place_of(self, module_id: str) -> str:
        """The path of a module's file in the repository."""
        return self._format.place_of(module_id)

    def address_of(self, module_id: str) -> str:
        """The address of a module as a page."""
        return self.source.page.replace("{place}", self.place_of(module_id))

    def read(self, module_id: str) -> Module:
        """A module. Raises DataError if it cannot be read."""
        return self._format.read_module(self.folder / self.place_of(module_id), module_id)

    def files_sha256(self) -> str:
        """SHA-256 over `name NUL sha256 newline` of the contents files and all modules that they list, by name."""
        ids = [one for chapter in self.chapters() for one in chapter.module_ids]
        names = sorted({*self.source.contents, *map(self.place_of, ids)})
        digest = hashlib.sha256()
        for name in names:
            digest.update(f"{name}\0{hashlib.sha256(self._bytes(name)).hexdigest()}\n".encode())
        return digest.hexdigest()

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise DataError(self.source.archive, f"{name}: {error.strerror}", _OTHER) from None


def open_sources(recipe: DatasetRecipe, given: Path | None, kept: Path, scratch: Path) -> list[BookFolder]:
    """Unpack and verify all sources of a recipe below `scratch`.

    The archives are in the folder `given` as `<top>.tar.gz`, else they are downloaded to `kept`. Raises DataError for a
    source that is missing, cannot be read, or has other files than the recipe says.
    """
    books = []
    with Stage("sources", total=len(recipe.source)) as stage:
        for source in recipe.source:
            archive = _archive_of(source, given, kept)
            books.append(_verified(source, archive, scratch))
            stage.add("verified")
    return books


def _archive_of(source: Source, given: Path | None, kept: Path) -> Path:
    name = f"{source.top}.tar.gz"
    if given is None:
        return download(source.archive, kept / name)
    path = given / name
    if not path.is_file():
        raise DataError(path, "is missing", f"download {source.archive} to it, or leave out --sources")
    return path


def _verified(source: Source, archive: Path, scratch: Path) -> BookFolder:
    folder = scratch / source.id
    _unpack(archive, source.top, folder)
    book = BookFolder(source, folder)
    found = book.files_sha256()
    if found != source.files_sha256:
        what = f"its files have the hash {found}, but the recipe says {source.files_sha256}"
        raise DataError(archive, what, _OTHER)
    return book


def _unpack(archive: Path, top: str, folder: Path) -> None:
    """Unpack the regular files below the folder `top` of an archive, within limits. Links are left out."""
    n_bytes = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member, place in _files(tar, archive, top):
                n_bytes += member.size
                if n_bytes > MAX_BYTES or member.size > MAX_FILE_BYTES:
                    raise DataError(archive, f"{member.name[:200]!r} makes it too large", "check where it is from")
                target = folder.joinpath(*place)
                target.parent.mkdir(parents=True, exist_ok=True)
                stream = tar.extractfile(member)
                if stream is not None:
                    with target.open("wb") as out:
                        shutil.copyfileobj(stream, out)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(archive, f"cannot be unpacked: {error}", "download it again") from None
    if not folder.is_dir():
        raise DataError(archive, f"holds no folder {top!r}", _OTHER)


def _files(tar: tarfile.TarFile, archive: Path, top: str) -> Iterator[tuple[tarfile.TarInfo, Sequence[str]]]:
    for number, member in enumerate(tar, 1):
        if number > MAX_MEMBERS:
            raise DataError(archive, f"holds more than {MAX_MEMBERS:,} files", "check where it is from")
        parts = PurePosixPath(member.name).parts
        if member.isreg() and len(parts) > 1 and parts[0] == top and ".." not in parts:
            yield member, parts[1:]


MAX_ARCHIVE_BYTES = 4_000_000_000
"""TQA's archive holds the figures too."""
MAX_QUESTIONS_BYTES = 200_000_000
_CHANGED = "the source has changed: the recipe cannot be followed with it"


def open_questions(recipe: Questions, given: Path | None, kept: Path, scratch: Path) -> Path:
    """The question file: in the folder `given`, verified, or the member of the archive, downloaded to `kept`.

    Raises DataError for a file that is missing, cannot be read or is another one than the recipe says.
    """
    if given is not None and (given / recipe.file).is_file():
        return _verified_file(given / recipe.file, recipe.sha256)
    name = recipe.archive.rsplit("/", 1)[-1]
    if given is None:
        return _member(download(recipe.archive, kept / name, MAX_ARCHIVE_BYTES), recipe.member, scratch)
    if not (given / name).is_file():
        what = f"is missing, and so is {name}"
        raise DataError(given / recipe.file, what, f"download {recipe.archive} into that folder")
    return _member(given / name, recipe.member, scratch)


def _verified_file(path: Path, expected: str) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise DataError(path, f"has the hash {found}, but the recipe says {expected}", _CHANGED)
    return path


def _member(archive: Path, member: str, scratch: Path) -> Path:
    target = scratch / member.rsplit("/", 1)[-1]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as opened:
            info = opened.getinfo(member)
            if info.file_size > MAX_QUESTIONS_BYTES:
                raise DataError(archive, f"{member!r} is too large", "check where it is from")
            with opened.open(info) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
    except KeyError:
        raise DataError(archive, f"holds no {member!r}", _CHANGED) from None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise DataError(archive, f"cannot be unpacked: {error}", "download it again") from None
    return target


def copy_sites(recipe: Sequence[RecipeSite], given: Path | None, to: Path) -> None:
    """Copy and verify the folders of all sites to `to`, each below its host's name.

    Raises DataError for a site that is missing or has other files than the recipe says.
    """
    with Stage("sites", total=len(recipe)) as stage:
        for site in recipe:
            if given is None or not (given / site.folder).is_dir():
                where = site.folder if given is None else given / site.folder
                what = f"is missing: the pages of {site.address} are not downloaded"
                raise DataError(
                    where, what, f"give the folder that has them with --sources; they are from {site.source}"
                )
            found = folder_sha256(given / site.folder)
            if found != site.files_sha256:
                what = f"its files have the hash {found}, but the recipe says {site.files_sha256}"
                raise DataError(given / site.folder, what, _CHANGED)
            address = urlsplit(site.address)
            shutil.copytree(
                given / site.folder, to / str(address.hostname) / address.path.strip("/"), dirs_exist_ok=True
            )
            stage.add("verified")


def folder_sha256(folder: Path) -> str:
    """SHA-256 over `name NUL sha256 newline` of all files below a folder, by name."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file():
            one = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(folder).as_posix()}\0{one}\n".encode())
    return digest.hexdigest()
