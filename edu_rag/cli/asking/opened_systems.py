"""The systems that a command line names, each in its own sandbox, and the engine that it names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from edu_rag.cli.asking.page_search import LiveEngine
from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from harness.commands.run_command import manner_of, runnable
from harness.running.run import hiding
from harness.running.warm_system import WarmSystem, open_warm

_OF_SYSTEMS = ("time_s", "start_s", "passed", "memory_gb", "processes", "unsafe")
"""Options of `harness.commands.run_command.system_options`."""


def live_engine(options: Mapping[str, Any]) -> LiveEngine | None:
    """The engine for live pages; None if none was named. Raises ConfigError for settings without an engine."""
    name, config, sites = options["engine"], options["config"], options["sites"]
    if name is None and (config is not None or sites is not None):
        raise ConfigError("--config" if config is not None else "--sites", "is for an engine", "add --engine NAME")
    return None if name is None else LiveEngine(name, config, sites)


@contextmanager
def opened_systems(folders: Sequence[Path], dataset: Dataset, options: Mapping[str, Any]) -> Iterator[list[WarmSystem]]:
    """The systems in these folders, ready to be asked, until the end of the block.

    The dataset's folder, with its gold, is hidden from them. Raises ConfigError for two systems of one name, and what
    opening a submission or a sandbox raises.
    """
    submissions = [runnable(folder) for folder in folders]
    slugs = [submission.slug for submission in submissions]
    for submission in submissions:
        if slugs.count(submission.slug) > 1:
            what = f"two systems are called {submission.slug}"
            raise ConfigError(submission.folder, what, "name each system once; its name is that of its folder")
    with tempfile.TemporaryDirectory(prefix="edu-rag-ask-") as logs, ExitStack() as stack:
        given = {name: options[name] for name in _OF_SYSTEMS}
        manners = [hiding(dataset, manner_of(s, fresh=False, no_cache=True, **given)) for s in submissions]
        pairs = zip(submissions, manners, strict=True)
        yield [stack.enter_context(open_warm(s, manner, Path(logs))) for s, manner in pairs]
