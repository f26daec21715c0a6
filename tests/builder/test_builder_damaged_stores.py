"""Damaged crawl stores: no command loses what is whole, changes what it only reads, or shows a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from builder_damage import DAMAGES, Case, cases, look_at, make_sound

N_CASES = 40 if os.environ.get("EDU_RAG_NIGHTLY") else len(DAMAGES)
"""By day every damage once; at night twice or more, with other seeds."""
MAY_BE_HARMLESS = ("index flipped", "index with a blank sector", "index cut")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    make_sound(folder, 12)
    return folder / "sound.crawl"


@pytest.mark.parametrize("case", cases(N_CASES), ids=lambda case: f"{case.name} {case.seed}")
def test_a_damaged_store_loses_nothing_that_is_whole_and_gives_one_error_with_the_right_remedy(
    case: Case, sound: Path, tmp_path: Path
) -> None:
    seen = look_at(case, sound, tmp_path / "work", full=False)
    assert seen.faults == [], seen.outcome
    is_of_index = case.name.startswith(("index", "broken", "changed"))
    # Bits of a page that SQLite does not use may change: then nothing is lost, and the bytes are the same.
    if is_of_index and (seen.outcome != "same bytes" or case.name not in MAY_BE_HARMLESS):
        assert "index.sqlite3: " in seen.outcome
        assert seen.outcome.count("rebuild-index") == 1
