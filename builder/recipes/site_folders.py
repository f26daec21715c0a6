"""The sources of a recipe with a question file: the file, from a ZIP archive or a folder, and folders of web pages."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from builder.fetch.archive_download import download
from builder.recipes.dataset_recipe import Questions, Site
from edu_rag.errors import DataError
from edu_rag.progress import Stage

MAX_ARCHIVE_BYTES = 4_000_000_000
"""TQA's archive holds the figures too."""
MAX_QUESTIONS_BYTES = 200_000_000
_CHANGED = "the source has changed: the recipe cannot be followed with it"


def open_questions(recipe: Questions, given: Path | None, kept: Path, scratch: Path) -> Path:
    """The question file: in the folder `given`, verified, or the member of the archive, downloaded to `kept`.

    Raises DataError for a file that is missing, cannot be read or is another one than the recipe says.
    """
    if given is not None and (given / recipe.file).is_file():
        return _verified(given / recipe.file, recipe.sha256)
    name = recipe.archive.rsplit("/", 1)[-1]
    if given is None:
        return _member(download(recipe.archive, kept / name, MAX_ARCHIVE_BYTES), recipe.member, scratch)
    if not (given / name).is_file():
        what = f"is missing, and so is {name}"
        raise DataError(given / recipe.file, what, f"download {recipe.archive} into that folder")
    return _member(given / name, recipe.member, scratch)


def _verified(path: Path, expected: str) -> Path:
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


def copy_sites(recipe: Sequence[Site], given: Path | None, to: Path) -> None:
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
