"""[scale] of build.toml: where the page stage runs when one machine is not enough. Nothing here changes the dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

Executor = Literal["none", "local", "ray", "slurm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleConfig:
    """[scale]: `executor` is one of datatrove's, or `none` for the builder's own workers on this machine.

    `tasks` is the number of parts that the pages are cut into; a part that is done is not done again. `partition`,
    `time` and `mem_per_cpu_gb` are Slurm's. `ray_address` is the cluster to join; without one, Ray starts here.
    """

    executor: Executor = "none"
    tasks: Annotated[int, Meta(ge=1, le=100_000)] = 8
    partition: str = "cpu"
    time: Annotated[str, Meta(pattern=r"^(\d{1,3}-)?\d{1,2}:\d{2}:\d{2}\Z")] = "24:00:00"
    mem_per_cpu_gb: Annotated[int, Meta(ge=1, le=512)] = 2
    ray_address: str | None = None
