"""Write a dataset's sentence vectors into its folder: the same bytes on one kind of machine, whatever a cache holds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path

import msgspec

from edu_rag.errors import ConfigError
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import VECTORS, FileEntry, file_sha256
from edu_rag.files.sentence_vectors import (
    FACTS_FILE,
    FILES,
    KEY_BYTES,
    KEYS_FILE,
    MAX_BYTES,
    NUMBERS_FILE,
    SETTING,
    Encoders,
    LotEncoder,
    TextKeys,
    query_texts,
    sentence_texts,
)
from edu_rag.progress import Stage, say

LOT = 256
"""Texts that are encoded together, at least, and fewer than twice as many on average."""


def require_encoder(name: str | None, encoders: Encoders | None) -> None:
    """Raise MissingExtraError or ConfigError for an encoder that cannot be opened: before the crawl, not after it."""
    if name is None:
        return
    if encoders is None:
        what = "a recipe cannot have vectors: each machine makes the dataset, and their bytes differ between machines"
        raise ConfigError(SETTING, what, "leave the setting out")
    encoders.check(name)


def lots(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Sorted keys in groups of the same first bits, so that a text that comes or goes changes one lot alone."""
    bits = max(1, len(keys) // LOT).bit_length() - 1
    for _, some in groupby(keys, lambda key: int.from_bytes(key[:4], "big") >> (32 - bits)):
        yield list(some)


def _texts_by_key(folder: Path, tables: Mapping[str, FileEntry], encoder: LotEncoder) -> dict[bytes, str]:
    """All texts that have a vector. Raises ConfigError if these would take too much room."""
    key_of, width = TextKeys(bytes.fromhex(encoder.facts.fingerprint)), KEY_BYTES + 4 * encoder.facts.dimension
    texts: dict[bytes, str] = {}
    for text in chain(sentence_texts(folder, tables), query_texts(folder, tables)):
        texts[key_of(text)] = text
        if len(texts) * width > MAX_BYTES:
            what = f"the vectors of over {len(texts):,} texts take more than {MAX_BYTES >> 30} GiB"
            raise ConfigError(SETTING, what, "leave the setting out, and see docs/scale.md for vectors in a cache")
    return texts


def _write_numbers(path: Path, texts: Mapping[bytes, str], keys: Sequence[bytes], encoder: LotEncoder) -> None:
    with path.open("xb") as stream, Stage(f"encode with {encoder.facts.encoder}", total=len(keys)) as stage:
        for lot in lots(keys):
            stream.write(encoder.encode_lot([texts[key] for key in lot]))
            stage.add("done", len(lot))
        stream.flush()
        os.fsync(stream.fileno())


def write_vectors(
    folder: Path, tables: Mapping[str, FileEntry], name: str, encoders: Encoders
) -> Mapping[str, FileEntry]:
    """Write the vectors of all sentences and of all questions, and return the entries of their files.

    A dataset without pages gets none. Raises ConfigError, and what opening the encoder raises.
    """
    if next(sentence_texts(folder, tables), None) is None:
        say(f"{SETTING}: there are no pages, so there are no vectors")
        return {}
    encoder = encoders.open(name)
    texts = _texts_by_key(folder, tables, encoder)
    keys = sorted(texts)
    (folder / VECTORS).mkdir()
    write_file(folder / FACTS_FILE, msgspec.json.format(msgspec.json.encode(encoder.facts)) + b"\n")
    write_file(folder / KEYS_FILE, b"".join(keys))
    _write_numbers(folder / NUMBERS_FILE, texts, keys, encoder)
    rows = {FACTS_FILE: None, KEYS_FILE: len(keys), NUMBERS_FILE: len(keys)}
    return {file: FileEntry(sha256=file_sha256(folder / file), rows=rows[file]) for file in FILES}
