"""Every bit of a release counts: one that flips is named by `edu-rag dataset check`, with its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_dataset import AT, write
from flipped_bits import checked, is_named, places

from builder.dataset.changes_file import write_changes
from builder.documents.dataset_documents import dataset_documents

FLIPS = 64


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with all that a release has: card, Croissant metadata, plots, CHANGES.md."""
    place = tmp_path_factory.mktemp("release")
    sources = {"hits_by_outcome": {"kept": 5, "robots": 1}, "pages": 3, "sentence_splitter": "punkt-v1"}
    documents = dataset_documents("small", "1.0.0", AT.isoformat(), sources)
    folder = write(place / "dataset", sources=sources, documents=documents)
    write_changes(folder, place, ["- first release"])
    return folder


def test_every_flipped_bit_is_named_with_its_file(release: Path) -> None:
    assert checked(release) == (0, "")
    found = {place: is_named(release, *place) for place in places(release, FLIPS, seed=15)}
    assert len({name for name, _ in found}) >= 10
    assert [place for place, named in found.items() if not named] == []
    assert checked(release) == (0, "")


def test_every_flipped_bit_of_the_manifests_white_space_and_seal_is_named(release: Path) -> None:
    raw = (release / "manifest.json").read_bytes()
    blanks = [8 * place + 5 for place, byte in enumerate(raw) if byte in b" \n"]
    seal = range(8 * (len(raw) - 68), 8 * len(raw), 7)
    assert [bit for bit in (*blanks[:: len(blanks) // 20], *seal) if not is_named(release, "manifest.json", bit)] == []
