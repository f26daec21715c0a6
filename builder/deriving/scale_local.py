"""Datatrove's executor on this machine, quiet: the logs of its tasks go to their files, and errors to the terminal."""

from __future__ import annotations

from typing import Any

from datatrove.executor.local import LocalPipelineExecutor


class QuietLocalExecutor(LocalPipelineExecutor):  # type: ignore[misc]  # datatrove is not typed
    """The executor with no task of local rank 0: of that one datatrove shows every line on stderr."""

    def _run_for_rank(self, rank: int, local_rank: int = 0, node_rank: int = -1) -> Any:
        return super()._run_for_rank(rank, local_rank + 1, node_rank)
