"""Get the datasets that the board names: from the package, by a recipe, or from a Hub at one commit."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.board_file import BoardDataset, BoardFile, check_dataset
from edu_rag.files.manifest import FILE_NAME, check_vector_files, file_sha256, read_manifest
from edu_rag.progress import Stage, say
from publishing.hub import hub_errors_as_ours


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
        manifest = read_manifest(part)
        names = sorted(manifest.files)
        with Stage(f"download {wanted.release.folder}", total=len(names)) as stage:
            for name in names:
                _take(wanted, name, part, endpoint)
                stage.add("done")
        check_dataset(part, wanted)
        check_vector_files(part, manifest)
        shutil.rmtree(part / ".cache", ignore_errors=True)  # the library's notes; a dataset folder holds none
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _take(wanted: BoardDataset, name: str, part: Path, endpoint: str | None) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with hub_errors_as_ours(wanted.hub):
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


def chosen(board: BoardFile, names: Sequence[str]) -> list[BoardDataset]:
    """The datasets with these names, or all. Raises ConfigError for a name that the board does not have."""
    known = {dataset.name for dataset in board.datasets}
    unknown = sorted(set(names) - known)
    if unknown:
        raise ConfigError(
            "--only", f"the board has no dataset {unknown[0]!r}", f"choose from {', '.join(sorted(known))}"
        )
    return [dataset for dataset in board.datasets if not names or dataset.name in names]


def fetch(
    datasets: Sequence[BoardDataset], out: Path, make: Callable[[BoardDataset, Path], None], *, endpoint: str | None
) -> Iterator[Path]:
    """Write each dataset that can be had to `out/name-version`, check it against the board, and yield its folder.

    An existing folder is checked, not fetched again. `make` builds a dataset that is bundled or has a recipe. Raises
    ConfigError or DataError where a dataset is not the one that the board names, EngineError where the Hub refuses.
    """
    for dataset in datasets:
        folder = out / dataset.release.folder
        if not dataset.can_be_had and not folder.exists():
            say(f"{dataset.id}: not published: nothing is scored on it here")
            continue
        if not (folder / FILE_NAME).is_file():
            if dataset.bundled or dataset.recipe:
                make(dataset, folder)
            else:
                folder.parent.mkdir(parents=True, exist_ok=True)
                download(dataset, folder, endpoint=endpoint)
        check_dataset(folder, dataset)
        yield folder
