"""Publishing a dataset folder to a Hugging Face Hub: one commit and one tag a version, verified by reading back.

A hidden split's gold is not published, and neither is anything that reveals it (builder.publishing.hidden_splits).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.documents.documents import dataset_documents
from builder.documents.stats import dataset_stats
from builder.publishing.hidden_splits import copy_pages, is_withheld, pages_of_known_keys, published_sources, twins
from builder.publishing.hub import KEPT, MAX_FILES, told, verify
from edu_rag.errors import ConfigError, DataError
from edu_rag.files import identity
from edu_rag.files.dataset import Dataset
from edu_rag.files.jsonl import write_file
from edu_rag.files.manifest import FILE_NAME, FileEntry, Manifest, file_sha256, write_manifest

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
        told = [f"{self.manifest.id} -> {self.repo}, tag {self.tag}: {len(self.sizes)} files, {total / 1e6:,.1f} MB"]
        told += [f"  {name:<56} {size:>13,}" for name, size in self.sizes.items()]
        told += [f"  {name:<56} {'stays here':>13}" for name in self.withheld]
        return [*told, f"gold that becomes public: {', '.join(self.open_splits) or 'none'}", *self._twin_lines()]

    def _twin_lines(self) -> list[str]:
        if not self.twins:
            return []
        named = ", ".join(f"{secret} = {known}" for secret, known in self.twins[:MAX_TWINS])
        more = " …" if len(self.twins) > MAX_TWINS else ""
        return [f"hidden questions that a published split repeats, with gold: {len(self.twins):,} ({named}{more})"]


@contextmanager
def staged(dataset: Dataset, repo: str, hidden: Sequence[str]) -> Iterator[tuple[Path, PushPlan]]:
    """A folder of exactly the files to publish, and the plan. Raises ConfigError for a split that does not exist."""
    unknown = sorted(set(hidden) - set(dataset.splits()))
    if unknown:
        raise ConfigError("--hidden", f"no split {unknown[0]!r}", f"choose from {', '.join(dataset.splits())}")
    withheld = tuple(name for name in dataset.manifest.files if is_withheld(name, hidden))
    open_splits = tuple(s for s in dataset.splits() if s not in hidden and dataset.files("gold", s))
    with tempfile.TemporaryDirectory(prefix="edu-rag-push-") as scratch:
        folder = Path(scratch)
        manifest = _copy(dataset, folder, withheld, hidden)
        names = [FILE_NAME, *manifest.files]
        sizes = {name: (folder / name).stat().st_size for name in sorted(names)}
        if len(sizes) > MAX_FILES:
            what = f"has {len(sizes):,} files; one commit takes {MAX_FILES}"
            raise DataError(dataset.folder, what, "publish it in parts, as separate datasets")
        yield (
            folder,
            PushPlan(
                repo=repo,
                tag=manifest.version,
                manifest=manifest,
                sizes=sizes,
                withheld=withheld,
                open_splits=open_splits,
                twins=tuple(twins(dataset, hidden)),
            ),
        )


def _copy(dataset: Dataset, folder: Path, withheld: Sequence[str], hidden: Sequence[str]) -> Manifest:
    before = dataset.manifest
    files = {name: entry for name, entry in before.files.items() if name not in withheld}
    known = pages_of_known_keys(dataset, hidden)
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        if hidden and name.startswith("pages/"):
            copy_pages(dataset.folder / name, folder / name, known)
            files[name] = replace(files[name], sha256=file_sha256(folder / name))
        else:
            shutil.copyfile(dataset.folder / name, folder / name)
    manifest = _retold(before, files, folder, hidden) if hidden else before
    write_manifest(folder, manifest)
    identity.verify(folder, manifest)  # nothing is published that could not be verified afterwards
    return manifest


def _retold(before: Manifest, files: dict[str, FileEntry], folder: Path, hidden: Sequence[str]) -> Manifest:
    """The manifest, with card, plots and metadata that count published rows only."""
    tables = {name: entry for name, entry in files.items() if name.endswith(".parquet")}
    sources = published_sources(before.sources, dataset_stats(folder, tables), hidden)
    documents = dataset_documents(before.name, before.version, before.created_at, sources)(folder, tables)
    for name, body in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_file(folder / name, body)
        files[name] = FileEntry(sha256=file_sha256(folder / name))
    published = _changed_pages(before, folder, tables)
    return replace(before, sources=sources, published=published, files=dict(sorted(files.items())))


def _changed_pages(before: Manifest, folder: Path, files: Collection[str]) -> dict[str, str]:
    """The hash of the rows of each table of pages that lost a flag, by `pages/split`."""
    tables = {table: names for table, names in identity.tables_of(files).items() if table.startswith("pages/")}
    now = {table: identity.table_sha256(folder / name for name in names) for table, names in tables.items()}
    return {table: rows for table, rows in sorted(now.items()) if rows != before.contents[table]}


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
    with told(plan.repo):
        api.create_repo(plan.repo, repo_type="dataset", private=private, exist_ok=True)
        present = _refuse_published(api, plan)
        stale = [name for name in present if name not in plan.sizes and name not in KEPT]
        operations: list[Any] = [CommitOperationDelete(path_in_repo=name) for name in stale]
        operations += [CommitOperationAdd(path_in_repo=name, path_or_fileobj=folder / name) for name in plan.sizes]
        done = api.create_commit(
            plan.repo, operations=operations, commit_message=f"{plan.manifest.id}", repo_type="dataset"
        )
        # The tag comes after the reading back: a version that has one is whole.
        verify(api, plan.repo, folder, plan.sizes, done.oid)
        api.create_tag(plan.repo, tag=plan.tag, revision=done.oid, repo_type="dataset")
    return str(done.oid)
