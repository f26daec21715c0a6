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
from harness.commands.run_command import manner_of, named_hosts, runnable
from harness.running.run import hiding
from harness.running.warm_system import WarmSystem, open_warm
from harness.submission.folder import Submission

_OF_SYSTEMS = ("time_s", "start_s", "passed", "memory_gb", "processes", "unsafe")
"""Options of `harness.commands.run_command.system_options`, without `allowed`, which is for those that ask."""


def live_engine(options: Mapping[str, Any]) -> LiveEngine | None:
    """The engine for live pages; None if none was named. Raises ConfigError for settings without an engine."""
    name, config, sites = options["engine"], options["config"], options["sites"]
    if name is None and (config is not None or sites is not None):
        raise ConfigError("--config" if config is not None else "--sites", "is for an engine", "add --engine NAME")
    return None if name is None else LiveEngine(name, config, sites)


def _granted(submissions: Sequence[Submission], allowed: Sequence[str]) -> list[tuple[str, ...]]:
    """For each system, the hosts of --allow-network that it asks for. Raises ConfigError for one that none asks for."""
    hosts = named_hosts(allowed)
    for name, host in hosts.items():
        if not any(host in submission.settings.network.hosts for submission in submissions):
            what = f"no system asks for {name[:80]!r}"
            raise ConfigError(
                "--allow-network", what, "`[network] allow` in its submission.toml names what it asks for"
            )
    return [tuple(name for name, host in hosts.items() if host in s.settings.network.hosts) for s in submissions]


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
        manners = [
            hiding(dataset, manner_of(s, fresh=False, no_cache=True, allowed=hosts, **given))
            for s, hosts in zip(submissions, _granted(submissions, options["allowed"]), strict=True)
        ]
        pairs = zip(submissions, manners, strict=True)
        yield [stack.enter_context(open_warm(s, manner, Path(logs))) for s, manner in pairs]
