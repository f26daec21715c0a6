"""Profiles: named sets of settings, such as everything that the EDU-RAG paper states about its crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edu_rag.errors import ConfigError

EDU_RAG_PAPER = "edu-rag-paper"
PROFILES: Mapping[str, Mapping[str, Any]] = {
    # Section 3, "Web Page Content": googlesearch-python, asked with the question without its choices (the builder's
    # only query); the top ten pages; requests that end after five seconds; newspaper3k's text; pages under 0.5 KB left
    # out. The paper names no other filter, mask or label, so none of ours is on.
    EDU_RAG_PAPER: {
        "search": {"engine": "google", "top": 10},
        "fetch": {"timeout_s": 5.0, "first_byte_s": 5.0},
        "extract": {"extractor": "newspaper3k-v1"},
        "filter": {
            "min_bytes": 512,
            "languages": [],
            "error_pages": False,
            "walls": False,
            "duplicates": False,
            "near_duplicate": 0.0,
            "blocked_hosts": [],
            "leaks": "keep",
            "unfit": "keep",
            "reserved_rights": False,
        },
        "label": {"mask_pii": False, "leaks": False, "evidence": []},
    },
}


def profile_settings(name: str) -> Mapping[str, Any]:
    """The settings of a profile as a tree. Raises ConfigError for an unknown one."""
    if name not in PROFILES:
        raise ConfigError("--profile", f"unknown profile {name[:100]!r}", f"known are {', '.join(PROFILES)}")
    return PROFILES[name]
