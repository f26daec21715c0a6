"""Check the sentence vectors of a dataset folder: their files, their numbers, and that they are of its own texts."""

from __future__ import annotations

from itertools import chain

from builder.dataset.check_files import REBUILD, Tables
from edu_rag.errors import DataError
from edu_rag.files.identity import tables_of
from edu_rag.files.manifest import VECTORS, vector_names
from edu_rag.files.sentence_vectors import (
    FILES,
    NUMBERS_FILE,
    SentenceVectors,
    query_texts,
    sentence_texts,
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
    try:
        vectors = SentenceVectors(tables.folder / VECTORS)
    except DataError as error:
        tables.faults.add("vectors", error.where, error.what, error.remedy)
        return 0
    if not all(tables.is_whole(*table.split("/")) for table in tables_of(tables.manifest.files)):
        return len(vectors)  # whose texts they are cannot be seen
    names = tables.manifest.files
    for fault in vector_faults(vectors, chain(sentence_texts(tables.folder, names), query_texts(tables.folder, names))):
        tables.faults.add("vectors", where, fault, REBUILD)
    return len(vectors)
