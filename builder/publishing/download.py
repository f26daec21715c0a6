"""Downloading a published dataset at one commit: exactly the files of the manifest whose hash was given."""

from __future__ import annotations

import shutil
from pathlib import Path

from builder.publishing.hub import told
from edu_rag.errors import DataError
from edu_rag.files.board_file import BoardDataset, check_dataset
from edu_rag.files.manifest import FILE_NAME, file_sha256, read_manifest
from edu_rag.progress import Stage


def download(wanted: BoardDataset, folder: Path, *, endpoint: str | None) -> None:
    """Write a dataset's folder from its Hub repository, without a token; the folder appears only when all is checked.

    The manifest comes first and is checked before anything else is asked for: a repository that was taken over cannot
    hand out other or more files. Raises ConfigError or DataError where it is another dataset, EngineError where the
    Hub refuses.
    """
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        _take(wanted, FILE_NAME, part, endpoint)
        if file_sha256(part / FILE_NAME) != wanted.manifest_sha256:
            raise DataError(wanted.hub, f"{FILE_NAME} is not the one that board.toml names", "nothing was kept")
        names = sorted(read_manifest(part).files)
        with Stage(f"download {wanted.release.folder}", total=len(names)) as stage:
            for name in names:
                _take(wanted, name, part, endpoint)
                stage.add("done")
        check_dataset(part, wanted)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # the library's notes; a dataset folder holds none
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _take(wanted: BoardDataset, name: str, part: Path, endpoint: str | None) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with told(wanted.hub):
        try:
            hf_hub_download(
                wanted.hub,
                name,
                repo_type="dataset",
                revision=wanted.revision,
                local_dir=part,
                endpoint=endpoint,
                token=False,
            )
        except LocalEntryNotFoundError as error:  # "not on this disk": the Hub's own answer is the cause
            raise (error.__cause__ or error) from None
