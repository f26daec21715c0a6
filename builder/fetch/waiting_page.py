"""A fetched page that waits until the network is known to have been there: a large one waits on the disk."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from types import TracebackType
from typing import IO

from builder.fetch.body import SMALL_BYTES, Share
from builder.fetch.fetched import Fetched
from edu_rag.errors import DataError


class WaitingPage:
    """A result without its body, if that is large: few large bodies may be in memory. Raises DataError."""

    def __init__(self, got: Fetched) -> None:
        self._got, self._file = got, None if len(got.body) <= SMALL_BYTES else _written(got.body)
        if self._file is not None:
            self._got = replace(got, body=b"")

    def __enter__(self) -> WaitingPage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    async def whole(self, share: Share) -> Fetched:
        """The result with its body, once there is leave for it. Raises DataError."""
        if self._file is None:
            return self._got
        await share.hold_large()
        try:
            self._file.seek(0)
            return replace(self._got, body=self._file.read())
        except OSError as error:
            raise _fault(error) from None


def _written(body: bytes) -> IO[bytes]:
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when its page has been judged
        file.write(body)
    except OSError as error:
        raise _fault(error) from None
    return file


def _fault(error: OSError) -> DataError:
    what = f"cannot hold a large page that waits: {error.strerror or error}"
    return DataError("temporary folder", what, "make room, or set TMPDIR, then run the same command to resume")
