"""Publish results to a Hugging Face Hub: one commit or none, on top of the revision read, verified by reading back.

The Hub takes a commit whole or not at all, and retries of single requests are its library's. A commit names the
revision that it was compared with, so that two publishers at once cannot mix their files.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.errors import ConfigError, DataError
from edu_rag.files.jsonl import read_json
from edu_rag.files.manifest import file_sha256
from publishing.hub import KEPT, MAX_FILES, errors_of_hub, hub_errors_as_ours, verify, without_xet_where_missing
from publishing.result_entries import refuse_revealing
from publishing.results_tables import MANIFEST, WrittenResults

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def token_in(environment: Mapping[str, str]) -> str:
    """The token in HF_TOKEN, the one place that is read. Raises ConfigError if there is none."""
    token = environment.get("HF_TOKEN", "").strip()
    if not token:
        raise ConfigError("HF_TOKEN", "is not set", "give a token that may write to the repository, or add --dry-run")
    return token


def _blob_id(path: Path) -> str:
    """The id that git gives a file's bytes."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _there(api: HfApi, repo: str, revision: str) -> dict[str, str]:
    """The files of a revision: SHA-256 of those in large-file storage, git's id of the others."""
    from huggingface_hub import RepoFile

    found = api.list_repo_tree(repo, recursive=True, revision=revision, repo_type="dataset")
    files = [file for file in found if isinstance(file, RepoFile)]
    return {file.path: file.lfs.sha256 if file.lfs is not None else file.blob_id for file in files}


def _changes(there: Mapping[str, str], folder: Path, names: Sequence[str]) -> list[Any]:
    """The changes that make a revision hold exactly the files of a folder: deletions, and the files that differ."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    stale = [name for name in there if name not in names and name not in KEPT]
    changed = [n for n in names if there.get(n) not in (file_sha256(folder / n), _blob_id(folder / n))]
    operations: list[Any] = [CommitOperationDelete(path_in_repo=name) for name in sorted(stale)]
    return operations + [CommitOperationAdd(path_in_repo=n, path_or_fileobj=folder / n) for n in changed]


def _hidden_before(api: HfApi, repo: str, revision: str) -> list[str]:
    """The hidden rules in the published manifest. Raises DataError if it cannot be read."""
    from huggingface_hub import hf_hub_download

    with tempfile.TemporaryDirectory(prefix="edu-rag-manifest-") as scratch:
        path = hf_hub_download(
            repo,
            MANIFEST,
            repo_type="dataset",
            revision=revision,
            cache_dir=scratch,
            endpoint=api.endpoint,
            token=api.token,
        )
        before = read_json(Path(path))
    hidden = before.get("hidden") if isinstance(before, dict) else None
    if not isinstance(hidden, list):
        what = f"its {MANIFEST} does not say what is hidden"
        raise DataError(repo, what, f"delete {MANIFEST} there once you know what is hidden")
    return [str(rule) for rule in hidden]


def push_results(
    folder: Path, made: WrittenResults, *, token: str, endpoint: str | None, private: bool, reveal: Sequence[str] = ()
) -> str | None:
    """Publish a folder of results; return the commit's id, or None if the Hub has these very files already.

    Raises ConfigError if a hidden split would be revealed, DataError where it reads back wrong, EngineError where
    the Hub refuses or is out of reach.
    """
    from huggingface_hub import HfApi

    names = list(made.sizes)
    if len(names) > MAX_FILES:
        raise DataError(folder, f"has {len(names):,} files; one commit takes {MAX_FILES}", "publish fewer results")
    api = HfApi(endpoint=endpoint, token=token)
    with hub_errors_as_ours(made.repo):
        api.create_repo(made.repo, repo_type="dataset", private=private, exist_ok=True)
        head = str(api.repo_info(made.repo, repo_type="dataset").sha)
        there = _there(api, made.repo, head)
        operations = _changes(there, folder, names)
        if not operations:
            return None
        if MANIFEST in there:
            refuse_revealing(_hidden_before(api, made.repo, head), {*made.hidden, *reveal}, made.entries)
        try:
            with without_xet_where_missing(api, made.repo):
                done = str(
                    api.create_commit(
                        made.repo,
                        operations=operations,
                        commit_message=made.message,
                        repo_type="dataset",
                        parent_commit=head,
                    ).oid
                )
        except errors_of_hub():
            # If only the reply was lost, our own commit is on top by now.
            done = str(api.repo_info(made.repo, repo_type="dataset").sha)
            if done == head or _changes(_there(api, made.repo, done), folder, names):
                raise
        verify(api, made.repo, folder, names, done)
    return done
