"""The proxy that a search or a fetch goes through: that of `[fetch] proxy`, or else the environment's.

Behind a proxy the guard of addresses is weaker, since the proxy looks up the names and dials: what we refuse is a URL
that itself names this machine, an address that is not public, or a port other than 80 and 443. A name that leads
inside is the proxy's to refuse.
"""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

from builder.fetch.addresses import Doors
from builder.urls import host_of, literal_address
from edu_rag.errors import ConfigError
from edu_rag.network.public_addresses import is_public

NO_PROXY = "none"
PROXY_ERROR = "ProxyError: "
"""How the detail begins where the proxy gave no way to a host."""
NO_PROXY_REACHED = "no connection to the proxy"
WANTS_PASSWORD = 407
_UNUSABLE = (f"{PROXY_ERROR}{NO_PROXY_REACHED}", f"{PROXY_ERROR}status {WANTS_PASSWORD}")
_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def check_proxy(proxy: str) -> None:
    """Raise ValueError if this is not an HTTP proxy's address, with its reason."""
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https"):
        what = "has no scheme" if "://" not in proxy else f"has the scheme {parts.scheme!r}"
        raise ValueError(f"it {what}, and only http and https proxies can be used, as http://proxy.example:3128")
    if not parts.hostname or not parts.port:
        raise ValueError("it needs a host and a port, as http://proxy.example:3128 has")


def is_direct(url: str) -> bool:
    """Whether a URL names this machine or an inside address itself, which no proxy is asked for."""
    host = host_of(url)
    try:
        literal = literal_address(host)
    except ValueError:
        return False
    return host == "localhost" or (literal is not None and not is_public(ipaddress.ip_address(str(literal))))


def proxy_for(url: str, setting: str = "") -> str | None:
    """The proxy for a URL, or None. `setting` is a proxy's URL, `none`, or empty for the environment's (with NO_PROXY).

    Raises ConfigError if the environment names a proxy that cannot be used.
    """
    if setting == NO_PROXY or is_direct(url):
        return None
    if setting:
        return setting
    if not any(os.environ.get(name) or os.environ.get(name.lower()) for name in _VARIABLES):
        return None
    from requests.utils import get_environ_proxies, select_proxy

    found = select_proxy(url, get_environ_proxies(url))
    if found is None:
        return None
    try:
        check_proxy(found)
    except ValueError as error:
        where = f"proxy of the environment ({', '.join(_VARIABLES)})"
        raise ConfigError(where, str(error), 'set [fetch] proxy to an http proxy, or to "none"') from None
    return str(found)


def is_unusable(detail: str) -> bool:
    """Whether a fetch failed because no host can be asked through the proxy: it is away, or wants a password."""
    return any(part in detail for part in _UNUSABLE)


def proxy_doors(setting: str) -> Doors:
    """The names or addresses, with their ports, of the proxies that may be dialled under a setting."""
    found = (proxy_for(f"{scheme}://page.example/", setting) for scheme in ("http", "https"))
    parts = [urlsplit(proxy) for proxy in found if proxy is not None]
    return {(part.hostname, part.port) for part in parts if part.hostname and part.port}


def named(doors: Doors) -> str:
    """The proxies as an error names them, without a password: empty if there is none."""
    return " and ".join(f"the proxy {host}:{port}" for host, port in sorted(doors))
