"""Get the datasets that the board names: from the package, by a recipe, or from a Hub at one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import edu_rag
from edu_rag.errors import ConfigError
from edu_rag.files.board_file import BoardDataset, BoardFile, check_dataset
from edu_rag.files.manifest import FILE_NAME
from edu_rag.progress import say

MINI = Path(edu_rag.__file__).resolve().parent / "mini"


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
    datasets: Sequence[BoardDataset], out: Path, *, endpoint: str | None, sources: Path | None = None
) -> Iterator[Path]:
    """Write each dataset that can be had to `out/name-version`, check it against the board, and yield its folder.

    An existing folder is checked, not fetched again. `sources` has the archives of recipes; without it they are
    downloaded. Raises ConfigError or DataError where a dataset is not the one that the board names, EngineError where
    the Hub refuses.
    """
    for dataset in datasets:
        folder = out / dataset.release.folder
        if not dataset.can_be_had and not folder.exists():
            say(f"{dataset.id}: not published: nothing is scored on it here")
            continue
        if not (folder / FILE_NAME).is_file():
            _get(dataset, folder, endpoint, sources)
        check_dataset(folder, dataset)
        yield folder


def _get(dataset: BoardDataset, folder: Path, endpoint: str | None, sources: Path | None) -> None:
    if dataset.bundled:
        from builder.build import build
        from builder.config import read_config

        build([MINI / "questions.jsonl"], folder, read_config(MINI / "build.toml", {}))
        return
    if dataset.recipe:
        from builder.build import n_cores
        from builder.recipes.dataset_recipe import read_recipe
        from builder.recipes.make_dataset import make_dataset

        make_dataset(read_recipe(dataset.name), folder, sources=sources, workers=n_cores())
        return
    from builder.publishing.download import download

    folder.parent.mkdir(parents=True, exist_ok=True)
    download(dataset, folder, endpoint=endpoint)
