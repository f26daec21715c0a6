"""Check the sentence vectors of a dataset folder: their files, their numbers, and that they belong to its texts."""

from __future__ import annotations

from itertools import chain

from builder.dataset.check_files import REBUILD, Tables
from edu_rag.errors import DataError
from edu_rag.files.manifest import VECTORS, vector_names
from edu_rag.files.sentence_vectors import (
    FILES,
    NUMBERS_FILE,
    SentenceVectors,
    query_texts,
    sentence_texts,
    text_faults,
    vector_faults,
)


def check_vectors(tables: Tables) -> int:
    """Report what is wrong with the vectors that the manifest lists, and return how many there are."""
    listed, where = vector_names(tables.manifest), tables.folder / NUMBERS_FILE
    if not listed:
        return 0
    if sorted(listed) != sorted(FILES):
        tables.faults.add("vectors", tables.folder / VECTORS, f"has not the files {', '.join(FILES)}", REBUILD)
        return 0
    if not all((tables.folder / name).is_file() for name in FILES):
        return 0  # reported as missing; a pipe in its place would never end
    try:
        vectors = SentenceVectors(tables.folder / VECTORS)
    except DataError as error:
        tables.faults.add("vectors", error.where, error.what, error.remedy)
        return 0
    faults = list(vector_faults(vectors))
    if not faults and not tables.faults:  # rows that are not sound may have no texts
        names = tables.manifest.files
        texts = chain(sentence_texts(tables.folder, names), query_texts(tables.folder, names))
        faults = list(text_faults(vectors, texts))
    for fault in faults:
        tables.faults.add("vectors", where, fault, REBUILD)
    return len(vectors)
