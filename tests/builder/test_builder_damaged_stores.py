"""Crawl stores that are damaged in every way that we could think of: no command loses what is whole, or shows a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from builder_damage import Case, cases, look_at, make_sound


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    make_sound(folder, 12)
    return folder / "sound.crawl"


@pytest.mark.parametrize("case", cases(40), ids=lambda case: f"{case.name} {case.seed}")
def test_a_damaged_store_loses_nothing_that_is_whole_and_gives_one_error_with_the_right_remedy(
    case: Case, sound: Path, tmp_path: Path
) -> None:
    seen = look_at(case, sound, tmp_path / "work", full=False)
    assert seen.faults == [], seen.outcome
    if case.name.startswith("index") or case.name.startswith(("broken", "changed")):
        assert "rebuild-index" in seen.outcome
