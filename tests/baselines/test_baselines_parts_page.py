"""docs/parts.md: its recipes are read, and it lists every part. test_baselines_language_models runs what it shows."""

from __future__ import annotations

import re
import tomllib

from parts_page import PAGE, blocks

from baselines.parts import NAMES
from baselines.recipe import recipe_of


def test_every_recipe_on_the_page_is_read() -> None:
    for block in blocks("toml"):
        assert recipe_of(tomllib.loads(block)["parts"]).model.name


def test_the_page_lists_every_part_by_its_name() -> None:
    listed = set(re.findall(r"`([a-z0-9-]+)`", PAGE[PAGE.index("## Choose parts") :]))
    assert {name for names in NAMES.values() for name in names} <= listed
