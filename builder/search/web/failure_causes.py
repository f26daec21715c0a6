"""Why a request to an engine failed, in a few words: the host and the likely cause, never the request itself."""

from __future__ import annotations

from collections.abc import Sequence

from builder.fetch.addresses import RefusedAddressError
from edu_rag.network.network_causes import ONLINE, chain_of, host_in, network_cause

__all__ = ["NO_WAY", "ONLINE", "failure_cause", "host_in"]
NO_WAY = "no way through the proxy"


def failure_cause(error: BaseException, url: str, proxy: str | None = None) -> str:
    """`HOST: what happened: the likely cause` of an error on the way to an engine; the proxy's if that failed."""
    causes = tuple(chain_of(error))
    if proxy is not None and any(type(cause).__name__ == "ProxyError" for cause in causes):
        return f"{host_in(url)}: {NO_WAY} {_tunnels_fault(causes, proxy) or network_cause(error, proxy)}"
    for cause in causes:
        if isinstance(cause, RefusedAddressError):
            return f"{host_in(url)}: not dialled: {cause}"
    return network_cause(error, url)


def _tunnels_fault(causes: Sequence[BaseException], proxy: str) -> str:
    """What a proxy answers that opens no tunnel, with its status; empty if it was not reached."""
    found = (str(cause) for cause in causes if type(cause) is OSError)
    said = next((text for text in found if text.startswith("Tunnel connection failed")), "")
    return f"{host_in(proxy)}: {said}"[:200] if said else ""
