"""WordNet 3.0 through NLTK, from wherever this machine has it: nothing is downloaded."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from edu_rag.errors import ConfigError, MissingExtraError

FOLDER_VARIABLE = "WNSEARCHDIR"
"""WordNet's own variable for the folder of its `data.*` and `index.*` files."""
DEBIAN = Path("/usr/share/wordnet")
"""The folder of Debian's packages wordnet-base and wordnet-sense-index."""
_PARTS = ("noun", "verb", "adj", "adv")
NEEDED = ("cntlist.rev", "index.sense", *(f"{kind}.{part}" for kind in ("data", "index") for part in _PARTS))
REMEDY = (
    "install Debian's wordnet-base and wordnet-sense-index, or NLTK's corpus `wordnet`, "
    f"or set {FOLDER_VARIABLE} to a folder of WordNet 3.0's files"
)
_NOUNS = (
    "Tops act animal artifact attribute body cognition communication event feeling food group location motive object "
    "person phenomenon plant possession process quantity relation shape state substance time"
)
_VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception possession "
    "social stative weather"
)
LEXNAMES = (
    *("adj.all", "adj.pert", "adv.all"),
    *(f"noun.{name}" for name in _NOUNS.split()),
    *(f"verb.{name}" for name in _VERBS.split()),
    "adj.ppl",
)
"""The 45 lexicographer files in their order, as the manual page lexnames(5WN) has them: Debian leaves the file out."""


def _folders() -> Iterator[Path]:
    """Folders that may hold WordNet: the user's choice, NLTK's data, Debian's package."""
    import nltk

    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        yield Path(given)
    for folder in nltk.data.path:
        yield Path(folder) / "corpora" / "wordnet"
    yield DEBIAN


def find_wordnet() -> Path:
    """The folder of WordNet's files. Raises MissingExtraError with the remedy."""
    try:
        folder = next((path for path in _folders() if all((path / name).is_file() for name in NEEDED)), None)
    except ImportError as error:
        raise MissingExtraError(
            "WordNet", f"{error.name} is not installed", "pip install 'edu-rag-bench[parts]'"
        ) from None
    if folder is None:
        raise MissingExtraError("WordNet", "its files were not found", REMEDY)
    return folder.absolute()


def open_wordnet(folder: Path | None = None) -> Any:
    """NLTK's reader of the WordNet in a folder (found, where none is given); 2 seconds, once a process and folder.

    Raises ConfigError if the folder given lacks files, MissingExtraError where none is found.
    """
    if folder is None:
        return _open(find_wordnet())
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise ConfigError(folder, f"is not a folder of WordNet: {', '.join(missing)} missing", REMEDY)
    return _open(folder.absolute())


@cache
def _open(folder: Path) -> Any:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # NLTK reads from registered places only

    class Reader(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
        def open(self, file: str) -> Any:
            if file == "lexnames":
                return io.StringIO("".join(f"{number}\t{name}\t0\n" for number, name in enumerate(LEXNAMES)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """No map to other versions: it is for other languages, and would look for a second WordNet."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "multilingual functions are not available": they are not asked for
        return Reader(str(folder), None)
