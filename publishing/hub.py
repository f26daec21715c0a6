"""Shared by all pushes to a Hub: its errors in our words, and every file read back and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag.errors import DataError, EngineError
from edu_rag.files.manifest import file_sha256
from edu_rag.network.network_causes import network_cause
from edu_rag.progress import Stage, say

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_XET_TOKEN_S = 30.0
MAX_FILES = 100
"""The Hub's recommended limit for one commit."""
KEPT = frozenset({".gitattributes", "eval.yaml"})
"""Files of the repository that no folder of ours holds: the Hub's own, and the benchmark's registration."""


def errors_of_hub() -> tuple[Any, ...]:
    """The errors that a call of the Hub's library may raise: its own, and those of the HTTP library that it is built
    on.
    """
    from huggingface_hub.errors import HfHubHTTPError

    return HfHubHTTPError, *HfHubHTTPError.__bases__


def _remedy(status: int | str) -> str:
    if status in (401, 403):
        return "check HF_TOKEN and its rights"
    if status == 429:
        return "run the same command again in some minutes: the Hub limits requests"
    if isinstance(status, int) and status >= 500:
        return "run the same command again in some minutes: the Hub is busy or has a fault"
    return "run the same command again"


def _in_our_words(repo: str, error: BaseException) -> EngineError:
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code if error.response is not None else "no"
        return EngineError(f"hub {repo}", f"answered with status {status}", _remedy(status))
    what = f"cannot be reached: {network_cause(error, _address_of(error))}"
    return EngineError(f"hub {repo}", what, "run the same command again later")


def _address_of(error: BaseException) -> str:
    """The address that a request was sent to; the Hub's own if the error does not say."""
    from huggingface_hub import constants

    try:
        return str(getattr(error, "request", None) and error.request.url) or constants.ENDPOINT  # type: ignore[attr-defined]
    except RuntimeError:  # an error of httpx without a request
        return constants.ENDPOINT


@contextmanager
def hub_errors_as_ours(repo: str) -> Iterator[None]:
    """An error of the Hub or the network as one of our errors; it never contains a token."""
    known = errors_of_hub()
    try:
        yield
    except known as error:
        raise _in_our_words(repo, error) from None
    except RuntimeError as error:
        # The library wraps any error that ends the upload of a large file.
        if not isinstance(error.__cause__, known):
            raise
        raise _in_our_words(repo, error.__cause__) from None


@contextmanager
def without_xet_where_missing(api: HfApi, repo: str) -> Iterator[None]:
    """While entered, large files go to a Hub without Xet by the protocol before it.

    The library sends them by Xet alone, and asks a Hub that has none for its token again and again, for many minutes.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_DISABLE_XET
    if not before and not _has_xet(api, repo):
        say(f"hub {repo}: it has no Xet: large files are sent by the older protocol")
        constants.HF_HUB_DISABLE_XET = True
    try:
        yield
    finally:
        constants.HF_HUB_DISABLE_XET = before


def _has_xet(api: HfApi, repo: str) -> bool:
    """Whether the Hub gives a token for uploads by Xet: not if it has no such page, or answers with something else.

    Raises the library's errors for any other status: a Hub that is busy or refuses our token may have Xet.
    """
    from huggingface_hub import get_session, get_token, hf_raise_for_status

    token = api.token if isinstance(api.token, str) else get_token()
    url = f"{api.endpoint}/api/datasets/{repo}/xet-write-token/main"
    response = get_session().get(url, headers={"Authorization": f"Bearer {token}"}, timeout=_XET_TOKEN_S)
    if response.status_code == 404:
        return False
    hf_raise_for_status(response)
    try:
        found = response.json()
    except ValueError:
        return False
    return isinstance(found, dict) and {"casUrl", "accessToken"} <= found.keys()


def verify(api: HfApi, repo: str, folder: Path, names: Collection[str], revision: str) -> None:
    """Download every file of a revision and compare it. Raises DataError for the first that differs or is too much."""
    from huggingface_hub import hf_hub_download

    there = set(api.list_repo_files(repo, repo_type="dataset", revision=revision)) - KEPT
    if there != set(names):
        odd = min(there ^ set(names))
        raise DataError(repo, f"{odd} is on one side only after the commit", "look at the repository's history")
    with tempfile.TemporaryDirectory(prefix="edu-rag-verify-") as scratch, Stage("verify", total=len(there)) as stage:
        for name in sorted(there):
            path = hf_hub_download(
                repo,
                name,
                repo_type="dataset",
                revision=revision,
                cache_dir=scratch,
                endpoint=api.endpoint,
                token=api.token,
            )
            if file_sha256(Path(path)) != file_sha256(folder / name):
                raise DataError(repo, f"{name} reads back with other bytes", "push again")
            stage.add("done")
