"""The inputs of a dataset, apart from its crawl store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from builder.clock import LOCAL_INSTANT
from builder.config import BuildConfig, to_config
from builder.evidence.marked import Mark
from edu_rag.files.typed import to_plain
from edu_rag.gold import Gold
from edu_rag.records import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of a store: questions, gold, settings, and the source that the engine searched."""

    questions: Sequence[Question]
    golds: Sequence[Gold]
    config: BuildConfig
    source: Mapping[str, Any] = field(default_factory=dict)
    started_at: datetime = LOCAL_INSTANT
    """When a dataset without any search was made: there is nothing in its store to tell it by."""
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)
    """Evidence that was marked by hand, by question id."""


def with_changes(inputs: Inputs, extractor: str | None, executor: str | None) -> Inputs:
    """The inputs with another extractor (extraction is redone from stored responses) or another executor."""
    values = to_plain(inputs.config)
    if extractor is not None:
        values["extract"]["extractor"] = extractor
    if executor is not None:
        values["scale"]["executor"] = executor
    return replace(inputs, config=to_config(values, "command line"))
