"""Downloading one file of a known address: bounded, resumable by doing it again, and never half there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import edu_rag
from edu_rag.errors import DataError
from edu_rag.network.network_causes import known_cause

if TYPE_CHECKING:
    import requests

MAX_BYTES = 200_000_000
TIMEOUT_S = 60
TOTAL_S = 1_800
_CHUNK = 1 << 16
_AGAIN = "run the same command again, or download the file yourself and give its folder with --sources"


def download(address: str, path: Path, max_bytes: int = MAX_BYTES) -> Path:
    """The file at `path`, downloaded from an address unless it is there already. Its content is not verified here.

    Raises DataError that names the address if it cannot be had, is larger than `max_bytes`, or takes over TOTAL_S.
    """
    if path.is_file():
        return path
    import requests

    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with requests.Session() as session, part.open("wb") as out:
            session.headers["User-Agent"] = f"edu-rag-bench/{edu_rag.__version__}"
            with session.get(address, stream=True, timeout=TIMEOUT_S) as response:
                if response.status_code != requests.codes.ok:
                    raise DataError(address, f"answered with status {response.status_code}", _AGAIN)
                _copy(response, out, address, max_bytes)
        part.replace(path)
    except (requests.RequestException, OSError) as error:
        cause = known_cause(error, address) or _first_line(error)
        raise DataError(address, f"cannot be downloaded: {cause}", _AGAIN) from None
    finally:
        part.unlink(missing_ok=True)
    return path


def _copy(response: requests.Response, out: IO[bytes], address: str, max_bytes: int) -> None:
    n_bytes, end = 0, time.monotonic() + TOTAL_S
    for chunk in response.iter_content(_CHUNK):
        n_bytes += len(chunk)
        if n_bytes > max_bytes:
            raise DataError(address, f"is larger than {max_bytes / 1e6:,.0f} MB", "check the recipe")
        if time.monotonic() > end:
            raise DataError(address, f"takes longer than {TOTAL_S} s", _AGAIN)
        out.write(chunk)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
