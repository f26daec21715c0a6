"""The changes of a pull request, and whether they are allowed: one new submission, a new run of an own one, or a
withdrawal.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from edu_rag.errors import EduRagError, FaultsError, SubmissionError, each_fault
from edu_rag.files.toml import read_toml
from harness.pulls.tree_differences import MAX_CHANGES, TreeDifference, differences, top_folders
from harness.submission.folder import FILE_NAME, SubmissionFile, with_line, without_withdrawal
from harness.submission.plain_files import (
    MAX_SETTINGS_BYTES,
    Fault,
    answers_to,
    as_errors,
    place,
    plain_faults,
    shown,
    start_of,
)
from harness.submission.settings_faults import is_login
from harness.submission.slugs import slug_fault

WITHDRAW = 'withdraw it by one line above [limits]: withdrawn = "the reason"'
_WITHDRAW_ALONE = f"change nothing else there; {WITHDRAW}"


def layout_fault(base: Path, head: Path, name: str) -> SubmissionError | None:
    """Find a change in a submission's settings file that a reader of its values cannot see; None if there is none.

    Comments, layout and permissions are the team's words on the scored system: only the line that withdraws may be new.
    """
    old, new = (start_of(place(root, name), MAX_SETTINGS_BYTES + 1) for root in (base, head))
    if old is None or new is None:
        return SubmissionError(name, "is not a readable file", "put the file there")
    was, now = (os.lstat(place(root, name)).st_mode & stat.S_IXUSR for root in (base, head))
    if was != now:
        what = "is made executable" if now else "is no longer executable"
        return SubmissionError(name, what, _WITHDRAW_ALONE if old != new else f"leave it as it was; {WITHDRAW}")
    if without_withdrawal(old).rstrip(b"\r\n") != without_withdrawal(new).rstrip(b"\r\n"):
        return SubmissionError(name, "its comments or its layout are changed", _WITHDRAW_ALONE)
    return None


ChangeKind = Literal["new", "new run", "withdrawal"]
FOLDER = "submissions"
RESULTS = "leaderboard/results"
_ALONE = "leave it out: a pull request changes one folder of submissions/ and nothing else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The changes of an allowed pull request. `files` are names within the checkout, sorted."""

    slug: str
    kind: ChangeKind
    files: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def judge(base: Path, head: Path, author: str | None) -> Change:
    """Return a pull request's changes if they are allowed. `base` and `head` are checkouts, read as data; `author` a
    login.

    Raises FaultsError that names each refused file, at most 20 of a kind; nothing of `head` is run, imported or
    followed. See docs/submit.md for the rules.
    """
    found, is_all = differences(base, head)
    if not found:
        remedy = "add a submission, or a new run to your own"
        raise FaultsError([SubmissionError("the pull request", "changes nothing", remedy)])
    old = frozenset(top_folders(base, FOLDER))
    slug, own, foreign = _parted(base, old, found, author)
    faults = [_foreign_fault(one, slug, old) for one in foreign]
    late: list[EduRagError] = [] if is_all else [_too_many()]
    if slug is None:
        raise FaultsError([*late, *as_errors(faults)])
    judged = _Pull(base, head, author, slug, own, is_new=slug not in old)
    late += judged.new_faults() if judged.is_new else judged.old_faults()
    if faults or late:
        raise FaultsError([*as_errors(faults), *late])
    return judged.change()


def _too_many() -> SubmissionError:
    what = f"changes more than {MAX_CHANGES:,} files: the rest was not looked at"
    return SubmissionError("the pull request", what, "hand in one submission of at most 2,000 files")


def _slug_in(name: str) -> str | None:
    """The submission that a name belongs to, or None."""
    parts = name.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == FOLDER else None


def accounts_of(root: Path, slug: str) -> tuple[str, ...]:
    """The logins that a submission names, in small letters; empty if it cannot be read."""
    try:
        settings = _settings(root, slug)
    except EduRagError:
        return ()
    return tuple(account.lower() for account in settings.accounts if is_login(account))


def is_among(author: str | None, accounts: Collection[str]) -> bool:
    """Whether a login is one of `accounts_of`; U+212A is a 'k' in small letters, and no login's."""
    return author is not None and is_login(author) and author.lower() in accounts


def _taken(base: Path) -> set[str]:
    """The slugs that there are: of submissions, and of results whose submission is no longer there."""
    taken = set(top_folders(base, FOLDER))
    for dataset in top_folders(base, RESULTS):
        for table in top_folders(base, f"{RESULTS}/{dataset}"):
            taken.update(top_folders(base, f"{RESULTS}/{dataset}/{table}"))
    return taken


def _settings(root: Path, slug: str) -> SubmissionFile:
    """A submission's settings. Raises EduRagError; a link or a pipe is not read."""
    name = f"{FOLDER}/{slug}/{FILE_NAME}"
    if start_of(place(root, name), 1) is None:
        raise SubmissionError(name, "is not a readable file", "put the file there")
    try:
        return read_toml(root / name, SubmissionFile, max_bytes=MAX_SETTINGS_BYTES)
    except EduRagError as error:
        faults = each_fault(error)
        placed = [with_line(root / name, fault) for fault in faults]
        raise FaultsError(
            [SubmissionError(one.where.removeprefix(f"{root}/"), one.what, one.remedy) for one in placed]
        ) from None


def _parted(
    base: Path, old: frozenset[str], found: Sequence[TreeDifference], author: str | None
) -> tuple[str | None, list[TreeDifference], list[TreeDifference]]:
    """The submission that a pull request is about, its changes there, and its changes elsewhere.

    It is the new submission, else the author's, else the first that it names.
    """
    slugs = sorted({slug for one in found if (slug := _slug_in(one.name)) is not None})
    mine = [slug for slug in slugs if slug in old and is_among(author, accounts_of(base, slug))]
    slug = next(iter([*(slug for slug in slugs if slug not in old), *mine, *slugs]), None)
    own = [one for one in found if slug is not None and _slug_in(one.name) == slug]
    return slug, own, [one for one in found if slug is None or _slug_in(one.name) != slug]


def _foreign_fault(one: TreeDifference, slug: str | None, old: frozenset[str]) -> Fault:
    other = _slug_in(one.name)
    if other is None:
        return Fault(f"outside {one.how}", one.name, f"{one.what}, outside of one submission's folder", _ALONE)
    if other in old:
        return Fault("another", one.name, f"{one.what}, in the folder of another submission", _ALONE)
    return Fault("second", one.name, f"{one.what}, in addition to {slug}", "open one pull request for each submission")


def _above_limits(fault: EduRagError) -> EduRagError:
    """The commonest slip of a withdrawal: at the end of the file a line belongs to [limits]."""
    if not fault.where.endswith("limits.withdrawn"):
        return fault
    return SubmissionError(fault.where, fault.what.partition(":")[0], WITHDRAW)


class _Pull:
    """The changes of a pull request to one submission's folder."""

    def __init__(
        self, base: Path, head: Path, author: str | None, slug: str, own: list[TreeDifference], *, is_new: bool
    ) -> None:
        self.base, self.head, self.author, self.slug, self.own = base, head, author, slug, own
        self.prefix = f"{FOLDER}/{slug}/"
        self.is_new = is_new

    def _inside(self, one: TreeDifference) -> str:
        return one.name.removeprefix(self.prefix)

    def _tree_faults(self) -> list[SubmissionError]:
        folder = self.head / FOLDER / self.slug
        if any(path.is_symlink() or not path.is_dir() for path in (folder.parent, folder)):
            return []  # which is a difference, and named as one; the target of a link must not be revealed
        return as_errors(plain_faults(folder, handed_in=True), self.prefix)

    def new_faults(self) -> list[EduRagError]:
        """Faults of a new submission's name and tree; `check` judges its content."""
        fault = slug_fault(self.slug, sorted(_taken(self.base)))
        named = [] if fault is None else [SubmissionError(f"{FOLDER}/{shown(self.slug)}", fault.what, fault.remedy)]
        return [*named, *self._tree_faults(), *self._born_withdrawn()]

    def _born_withdrawn(self) -> Iterator[EduRagError]:
        try:
            settings = _settings(self.head, self.slug)
        except EduRagError:
            return
        if settings.withdrawn:
            yield SubmissionError(f"{self.prefix}{FILE_NAME}", "is withdrawn before it is handed in", "drop that line")

    def old_faults(self) -> list[EduRagError]:
        """Why this change of a submission that there is may not be made."""
        stranger = self._stranger()
        if stranger is not None:
            faults = [Fault("another", one.name, f"{one.what}: {stranger[0]}", stranger[1]) for one in self.own]
            return list(as_errors(faults))
        edits = [one for one in self.own if not self._is_new_run(one)]
        if [self._inside(one) for one in self.own] == [FILE_NAME] and self.own[0].how == "changed":
            return [*self._tree_faults(), *self._not_a_withdrawal()]
        return [
            *as_errors([self._edit_fault(one) for one in edits]),
            *self._tree_faults(),
            *self._pairs(),
            *self._gone(),
            *self._again(),
        ]

    def _stranger(self) -> tuple[str, str] | None:
        """The reason why the author may not change this submission, with the remedy; None if the author may."""
        accounts = accounts_of(self.base, self.slug)
        if not accounts:
            return "the submission names no accounts that may change it", "ask a maintainer to add yours to `accounts`"
        if not self.author:
            return "the author is unknown", "say whose pull request it is (--author LOGIN)"
        if not is_among(self.author, accounts):
            what = f"{shown(self.author)} is not among the accounts that may change it"
            return what, "let one of its `accounts` open the pull request, or hand in a submission of your own"
        return None

    def _is_new_run(self, one: TreeDifference) -> bool:
        return one.how == "added" and answers_to(self._inside(one)) is not None and one.entry.kind == "file"

    def _edit_fault(self, one: TreeDifference) -> Fault:
        name = self._inside(one)
        if name.startswith("predictions/") and one.how != "added":
            remedy = "old results stay as they are: leave it, and add predictions under a new name"
            return Fault("old result", one.name, one.what, remedy)
        if name.startswith("predictions/"):
            remedy = "call it predictions/<dataset>-<version>/<split>[-<sample>].jsonl, with its .run.json"
            return Fault("stray", one.name, "is added, but is not a predictions file", remedy)
        if name == FILE_NAME:
            return Fault("settings", one.name, f"{one.what} together with other files", "withdraw, or add a run, alone")
        remedy = "a system that changed is a new submission: hand it in under a new name"
        return Fault("own code", one.name, f"{one.what}, but scored files must not change", remedy)

    def _pairs(self) -> Iterator[EduRagError]:
        """Records without new predictions: a record added to an old file would tell another story about it."""
        new = {self._inside(one) for one in self.own if self._is_new_run(one)}
        for name in sorted(new):
            if name.endswith(".run.json") and name.removesuffix(".run.json") + ".jsonl" not in new:
                yield SubmissionError(self.prefix + name, "comes without new predictions", "add both, or neither")

    def _gone(self) -> Iterator[EduRagError]:
        """A new run of a system that was withdrawn."""
        try:
            settings = _settings(self.base, self.slug)
        except EduRagError as error:
            yield error
            return
        if settings.withdrawn:
            yield SubmissionError(f"{FOLDER}/{self.slug}", "was withdrawn", "hand it in again under a new name")

    def _again(self) -> Iterator[EduRagError]:
        """New predictions for a sample that the whole split's file serves: they would take its result's place."""
        for one in filter(self._is_new_run, self.own):
            asked = answers_to(self._inside(one))
            whole = "" if asked is None else f"predictions/{asked._replace(sample=None).place}"
            if asked is not None and asked.sample and start_of(place(self.base, self.prefix + whole), 1) is not None:
                what = f"is scored from {whole.rpartition('/')[2]} already, and old results stay as they are"
                yield SubmissionError(one.name, what, "leave it out")

    def _not_a_withdrawal(self) -> list[EduRagError]:
        """Other changes in submission.toml than `withdrawn`, or why it is not a withdrawal."""
        where = f"{self.prefix}{FILE_NAME}"
        try:
            old, new = _settings(self.base, self.slug), _settings(self.head, self.slug)
        except EduRagError as error:
            return [_above_limits(fault) for fault in each_fault(error)]
        if replace(new, withdrawn=old.withdrawn) != old:
            remedy = "change nothing there but `withdrawn`; scored files must not change"
            return [SubmissionError(where, "its settings are changed", remedy)]
        if old.withdrawn:
            return [SubmissionError(where, "was withdrawn before, which stays", "hand it in again under a new name")]
        layout = layout_fault(self.base, self.head, where)
        if layout is None and not new.withdrawn.strip():
            layout = SubmissionError(where, "does not say why it is withdrawn", WITHDRAW)
        return [] if layout is None else [layout]

    def _kind(self) -> ChangeKind:
        if self.is_new:
            return "new"
        return "withdrawal" if [self._inside(one) for one in self.own] == [FILE_NAME] else "new run"

    def _warnings(self) -> Iterator[str]:
        accounts = accounts_of(self.head, self.slug)
        if self.is_new and not accounts:
            yield (
                f"{self.prefix}{FILE_NAME}: accounts = []: no later pull request can be matched to its team: "
                "name the logins that may add runs to it or withdraw it"
            )
        elif self.is_new and self.author and not is_among(self.author, accounts):
            yield f"{self.prefix}{FILE_NAME}: accounts: {shown(self.author)}, who opened this, is not among them"

    def change(self) -> Change:
        """The change, which may be made."""
        files = tuple(sorted(one.name for one in self.own))
        return Change(slug=self.slug, kind=self._kind(), files=files, warnings=tuple(self._warnings()))
