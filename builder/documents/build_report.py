"""The closing report of a build: one static page next to the dataset, for the person who ran it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from builder.documents.dataset_plots import dataset_plots
from builder.documents.stats import DatasetStats, dataset_stats
from builder.lost_hits import losses_in_sources
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import Manifest

if TYPE_CHECKING:
    from jinja2 import Template

REPORT_FILE = "report.html"
_TEMPLATE = "report.html.j2"
RUN_EVENTS = ("build", "replay")
MAX_EVENTS = 200
MAX_FAILING_HOSTS = 50


@dataclass(slots=True)
class RunLog:
    """The content of the last run's build.log.jsonl: its stages in order, and notable events."""

    stages: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    n_events: int = 0


def read_last_run(path: Path) -> RunLog:
    """The lines of the log since the last build or replay began. A broken line is passed over: the log is only talk."""
    run = RunLog()
    with path.open("rb") as lines:
        for line in lines:
            try:
                values = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError:
                continue
            if values.get("event") in RUN_EVENTS:
                run = RunLog()
            elif values.get("event") == "end":
                run.stages.append(values)
            elif values.get("event") not in ("start", "dataset"):
                run.n_events += 1
                if len(run.events) < MAX_EVENTS:
                    run.events.append(values)
    return run


def _tiles(manifest: Manifest, stats: DatasetStats, run: RunLog) -> dict[str, str]:
    sources = manifest.sources
    hits = stats.outcomes.total()
    seconds = sum(float(stage.get("seconds", 0)) for stage in run.stages)
    tiles = {"questions": f"{stats.n_questions:,}", "pages": f"{stats.n_pages:,}"}
    if hits:
        tiles |= {
            "search results kept": f"{stats.outcomes['kept'] / hits:.1%}",
            "search results lost": f"{losses_in_sources(sources).share:.1%}",
            "pages per question": f"{sources.get('pages_per_question', 0):,}",
            "characters per kept result": f"{sources.get('characters_per_page', 0):,.0f}",
            "questions with evidence": f"{stats.evidence['any']:,}",
            "questions leaked": f"{stats.leaked_questions:,}",
        }
    return tiles | {"minutes": f"{seconds / 60:.1f}"}


def _failing_hosts(stats: DatasetStats) -> list[tuple[str, int, str]]:
    """The hosts that lost most search results, with their number and the causes."""
    order = sorted(stats.failures.items(), key=lambda item: (-item[1].total(), item[0]))[:MAX_FAILING_HOSTS]
    return [
        (host, causes.total(), ", ".join(f"{cause} {n:,}" for cause, n in sorted(causes.items(), key=_most_first)))
        for host, causes in order
    ]


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _details(event: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in event.items() if name not in ("at", "event"))


@cache
def _template() -> Template:
    """The page's template: a process compiles it once, however many datasets it builds."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("builder.documents", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(_TEMPLATE)


def report_html(manifest: Manifest, stats: DatasetStats, run: RunLog) -> str:
    """The page: a function of dataset and log. Every string from outside is escaped by the template."""
    plots = {name.rsplit("/", 1)[-1].removesuffix(".svg"): body.decode() for name, body in dataset_plots(stats).items()}
    return _template().render(
        manifest=manifest,
        stats=stats,
        run=run,
        failing_hosts=_failing_hosts(stats),
        causes=sum(stats.failures.values(), Counter()),
        tiles=_tiles(manifest, stats, run),
        plots={name: svg[svg.index("<svg") :] for name, svg in plots.items()},
        events=[(event.get("at", ""), event.get("event", ""), _details(event)) for event in run.events],
    )


def write_report(path: Path, log: Path, dataset: Path, manifest: Manifest) -> Path:
    """Write the page of the log's last run; return its path."""
    stats = dataset_stats(dataset, manifest.files)
    write_file(path, report_html(manifest, stats, read_last_run(log)).encode("utf-8", "replace"))
    return path
