"""Expansion by WordNet: the query and, after it, synonyms of its words (Mala et al. 2025, section 3.1, equation 1)."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from baselines.parts import Expand
from baselines.retrieve.token_ids import tokenise
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


LONGEST = 40
"""Words longer than this are not words of a language: WordNet is not asked for them."""
MAX_WORDS = 200
"""Distinct words of a query that are looked up: a hostile question may be as long as a book."""


def synonyms(word: str, top: int = 2, folder: Path | None = None) -> list[str]:
    """At most `top` synonyms of a word: T(q_j) of Mala et al., section 3.1.

    Which two are "most relevant" the paper does not say. Here senses come as WordNet orders them (nouns, verbs,
    adjectives, adverbs; within each the commonest first) and the words of a sense in its own order; the word itself is
    left out in any spelling of case. So `car` gives auto, automobile. The paper's example, {automobile, vehicle}, does
    not come from synonyms alone: `vehicle` is not in any synset of `car`, it is four steps above it.
    """
    if len(word) > LONGEST:
        return []
    found: dict[str, None] = {}
    for synset in open_wordnet(folder).synsets(word):
        for name in synset.lemma_names():
            said = name.replace("_", " ")
            if said.casefold() != word.casefold():
                found[said.casefold()] = None
        if len(found) >= top:
            break
    return list(found)[:top]


def stop_words() -> frozenset[str]:
    """Words that carry no topic; scikit-learn's English list (NLTK's is a download)."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError as error:
        raise MissingExtraError(
            "expansion by WordNet", f"{error.name} is not installed", "pip install 'edu-rag-bench[parts]'"
        ) from None
    return frozenset(ENGLISH_STOP_WORDS)


def wordnet(top: int = 2, every_word: bool = False, folder: str | None = None) -> Expand:
    """The expander q' = q + the synonyms of each of its words (equation 1), as one query.

    Synonyms follow the query in the order of its words, each once; words of the query are left out. Equation 1
    expands every word, so that "in" brings inch and indium; by default we leave stop words unexpanded, because the
    section wants the query's intent unchanged (`every_word` follows the letter). `folder` is WordNet's, if it is not
    to be found by itself.
    """
    if top < 0:
        raise ConfigError("parts.expand.top", f"{top} is negative", "give 0 or more")
    place = Path(folder) if folder is not None else None
    skipped = frozenset() if every_word else stop_words()
    open_wordnet(place)  # now, not at the first question

    @lru_cache(maxsize=20_000)
    def of(word: str) -> tuple[str, ...]:
        return tuple(synonyms(word, top, place))

    def expand(query: str, n: int | None = None) -> list[str]:
        words = list(dict.fromkeys(tokenise(query)))[:MAX_WORDS]
        added = dict.fromkeys(said for word in words if word not in skipped for said in of(word))
        new = [said for said in added if said not in words]
        return [" ".join([query, *new])] if new else [query]

    return expand
