"""The settings of the code host that a board relies on, as a list to tick: no file of the repository can set them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from edu_rag.errors import ConfigError, EduRagError

FILE_NAME = "leaderboard/SETTINGS.md"
ITEMS: Mapping[str, str] = {
    "fork-approval": "Actions, general: require approval for all external contributors.",
    "read-only": "Actions, general: read-only workflow permissions; Actions may not create or approve pull requests.",
    "pinned-actions": "Actions, general: only actions by the code host, pinned to a full-length commit SHA.",
    "no-secrets-to-forks": "Actions, general: no write tokens and no secrets to workflows from forks.",
    "ruleset": "Rulesets: `main` needs a pull request with one approval, and review from code owners; no bypass.",
    "stale-approvals": "Rulesets: stale approvals are dismissed, and the most recent push needs approval.",
    "no-force": "Rulesets: force pushes and deletions of `main` are blocked.",
    "judge-not-required": "Rulesets: *Judge the submission* is not a required check: not every pull request runs it.",
    "pages": "Pages: the source is *GitHub Actions*.",
    "environment-pages": "Environments: `github-pages` deploys from `main` only.",
    "environment-hub": "Environments: `hub` deploys from `main` only, and needs reviewers, or is not used.",
    "hub-token": "The Hub's token writes to the results' repository alone, and only the environment `hub` has it.",
}
"""The settings by the name that `edu-rag board check` reports; docs/operators.md explains them."""
_ITEM = re.compile(r"^\s*[-*] \[([ xX])\] \*\*([a-z-]+)\*\*", re.MULTILINE)
_MAX_BYTES = 100_000


def checklist_text() -> str:
    """The list, with nothing ticked."""
    head = (
        "# Settings of this board's repository\n\n"
        "Put an x between the brackets once a setting is made: `edu-rag board check` lists those that are left.\n"
        "The page `docs/operators.md` explains each.\n\n"
    )
    return head + "".join(f"- [ ] **{name}** {text}\n" for name, text in ITEMS.items())


def checklist_faults(root: Path) -> Iterator[EduRagError]:
    """The settings of a repository that are not ticked, or that the list does not have."""
    path = root / FILE_NAME
    if not path.is_file():
        yield ConfigError(path, "no such file", "`edu-rag board init` writes the list of settings to make")
        return
    with path.open(encoding="utf-8", errors="replace") as stream:
        ticks = {name: mark != " " for mark, name in _ITEM.findall(stream.read(_MAX_BYTES))}
    for name, text in ITEMS.items():
        if name not in ticks:
            yield ConfigError(path, f"{name} is missing", f"add the line `- [ ] **{name}** {text}`")
        elif not ticks[name]:
            yield ConfigError(f"{path}: {name}", "is not ticked", text)
