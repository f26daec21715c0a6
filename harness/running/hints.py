"""Hints for the errors that systems commonly meet first in the sandbox, found by the words of the error."""

from __future__ import annotations

import re

_ANYWHERE: tuple[tuple[str, str], ...] = (
    (r"is not a JSON answer", "stdout is for answers alone: print anything else on stderr"),
)
_BOXED: tuple[tuple[str, str], ...] = (
    (
        r"Name or service not known|name resolution|Network is unreachable|getaddrinfo|EAI_AGAIN|couldn't connect to",
        "there is no network in the sandbox: have all that it needs in its folder, or hand in predictions only",
    ),
    (r"Read-only file system|EROFS", "in the sandbox only /tmp can be written to"),
    (r"File too large|No space left on device", "`edu-rag sandbox` shows how much may be written"),
    (
        r"No module named|cannot import name|Cannot find module|cannot open shared object|\.so[.\d]*: cannot open",
        "it has the packages of the environment that edu-rag runs in; docs/submit.md says which CI has",
    ),
    (
        r"(?:No such file or directory:? ?|can't open file |ENOENT.*)['\"]/(?!app/)",
        "the sandbox has none of your files but the submission's own: name them by paths relative to its folder",
    ),
    (
        r"KeyError: '[A-Z][A-Z0-9_]*'|unbound variable",
        "if that is a variable of your environment, pass it with --pass-env NAME; CI passes none",
    ),
    (r"(?i)cuda|nvidia", "there is no GPU in the sandbox: run without one, or hand in predictions only"),
    (r"the memory cap of", "CI gives no more; --memory-gb sets another cap for a run of yours"),
)


def hint_for(reason: str, *, boxed: bool) -> str:
    """A hint for a fault with this text, or nothing; `boxed`: it ran in the sandbox."""
    for pattern, remedy in (*_ANYWHERE, *(_BOXED if boxed else ())):
        if re.search(pattern, reason):
            return remedy
    return ""
