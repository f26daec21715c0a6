"""An engine's key: read from the environment, checked without being shown, and never stored."""

from __future__ import annotations

from collections.abc import Mapping

from edu_rag.errors import ConfigError


def key_from(environment: Mapping[str, str], variable: str, engine: str, where_to_get: str) -> str:
    """The key in the variable. Raises ConfigError, which never shows it, if there is none or it cannot be a header."""
    key = environment.get(variable, "").strip()
    if not key:
        what = f"is not set, and the engine {engine} needs a key"
        raise ConfigError(variable, what, f"export {variable}=…, with a key from {where_to_get}")
    if not (key.isascii() and key.isprintable() and " " not in key and len(key) >= 8):
        raise ConfigError(variable, "does not hold a key", "set it to the key alone, without quotes")
    return key
