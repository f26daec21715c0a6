"""Hosts that an offline engine serves on loopback, where their https:// addresses are answered without TLS."""

from __future__ import annotations

SCHEME_HEADER = "X-Edu-Rag-Scheme"
"""Tells the loopback server that a host's https:// page was asked for: archived pages keep their addresses."""
