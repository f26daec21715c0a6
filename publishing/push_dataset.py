"""Publishing a dataset folder to a Hugging Face Hub: one commit and one tag a version, verified by reading back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.errors import DataError
from edu_rag.files.manifest import FILE_NAME, Manifest
from edu_rag.progress import say
from publishing.hub import KEPT, MAX_FILES, hub_errors_as_ours, verify, without_xet_where_missing

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAX_TWINS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """The plan of a push: the files by name with their size, those that are not published, and the target."""

    repo: str
    tag: str
    manifest: Manifest
    sizes: Mapping[str, int]
    withheld: tuple[str, ...]
    open_splits: tuple[str, ...] = ()
    """Splits whose gold everybody will have."""
    twins: tuple[tuple[str, str], ...] = ()
    """(hidden question, published question) of the same text and choices."""

    def lines(self) -> list[str]:
        """The plan for people."""
        total = sum(self.sizes.values())
        lines = [f"{self.manifest.id} -> {self.repo}, tag {self.tag}: {len(self.sizes)} files, {total / 1e6:,.1f} MB"]
        lines += [f"  {name:<56} {size:>13,}" for name, size in self.sizes.items()]
        lines += [f"  {name:<56} {'stays here':>13}" for name in self.withheld]
        return [*lines, f"gold that becomes public: {', '.join(self.open_splits) or 'none'}", *self._twin_lines()]

    def _twin_lines(self) -> list[str]:
        if not self.twins:
            return []
        named = ", ".join(f"{secret} = {known}" for secret, known in self.twins[:MAX_TWINS])
        more = " …" if len(self.twins) > MAX_TWINS else ""
        return [f"hidden questions that a published split repeats, with gold: {len(self.twins):,} ({named}{more})"]


def plan_of(
    folder: Path,
    manifest: Manifest,
    repo: str,
    *,
    withheld: tuple[str, ...] = (),
    open_splits: tuple[str, ...] = (),
    twins: tuple[tuple[str, str], ...] = (),
) -> PushPlan:
    """The plan to publish all files of a folder. Raises DataError if they are too many for one commit."""
    sizes = {name: (folder / name).stat().st_size for name in sorted([FILE_NAME, *manifest.files])}
    if len(sizes) > MAX_FILES:
        what = f"has {len(sizes):,} files; one commit takes {MAX_FILES}"
        raise DataError(manifest.name, what, "publish it in parts, as separate datasets")
    return PushPlan(
        repo=repo,
        tag=manifest.version,
        manifest=manifest,
        sizes=sizes,
        withheld=withheld,
        open_splits=open_splits,
        twins=twins,
    )


def _refuse_published(api: HfApi, plan: PushPlan) -> list[str]:
    """The files that are in the repository now. Raises DataError if this version is there: versions never change."""
    refs = api.list_repo_refs(plan.repo, repo_type="dataset")
    if any(tag.name == plan.tag for tag in refs.tags):
        raise DataError(plan.repo, f"has a version {plan.tag} already", "raise `version`: a published one is final")
    return list(api.list_repo_files(plan.repo, repo_type="dataset"))


def push(folder: Path, plan: PushPlan, *, token: str | None, endpoint: str | None, private: bool) -> str:
    """Publish a staged folder; return the commit's id.

    Raises DataError if the version already exists or differs when it is read back, EngineError if the Hub refuses.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api = HfApi(endpoint=endpoint, token=token)
    with hub_errors_as_ours(plan.repo):
        api.create_repo(plan.repo, repo_type="dataset", private=private, exist_ok=True)
        present = _refuse_published(api, plan)
        stale = [name for name in present if name not in plan.sizes and name not in KEPT]
        operations: list[Any] = [CommitOperationDelete(path_in_repo=name) for name in stale]
        operations += [CommitOperationAdd(path_in_repo=name, path_or_fileobj=folder / name) for name in plan.sizes]
        say(f"upload: {len(plan.sizes)} files, {sum(plan.sizes.values()) / 1e6:,.1f} MB")
        with without_xet_where_missing(api, plan.repo):
            done = api.create_commit(
                plan.repo, operations=operations, commit_message=f"{plan.manifest.id}", repo_type="dataset"
            )
        # The tag comes after the reading back: a version that has one is whole.
        verify(api, plan.repo, folder, plan.sizes, done.oid)
        api.create_tag(plan.repo, tag=plan.tag, revision=done.oid, repo_type="dataset")
    return str(done.oid)
