"""Hosts that an offline engine serves on loopback, where their https:// addresses are answered without TLS."""

from __future__ import annotations

SCHEME_HEADER = "X-Edu-Rag-Scheme"
"""Marks a request to the loopback server as one for a host's https:// page: archived pages keep their addresses."""
