"""Why a request to an engine failed, in a few words: the host and the likely cause, never the request itself."""

from __future__ import annotations

from builder.fetch.addresses import RefusedAddressError
from edu_rag.network.network_causes import ONLINE, chain_of, host_in, network_cause

__all__ = ["ONLINE", "failure_cause", "host_in"]


def failure_cause(error: BaseException, url: str) -> str:
    """`HOST: what happened: the likely cause` of an error on the way to an engine."""
    for cause in chain_of(error):
        if isinstance(cause, RefusedAddressError):
            return f"{host_in(url)}: not dialled: {cause}"
    return network_cause(error, url)
