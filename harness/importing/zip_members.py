"""Members of a ZIP archive, in memory and never unpacked: bounded in number and size, with the packings that occur.

A member's name is only ever compared and shown, so that no name leads out of a folder.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from edu_rag.errors import DataError

MAX_MEMBERS = 200_000
MAX_MEMBER_BYTES = 64_000_000
"""Of one member, unpacked: a sample of an agent with all its events has some megabytes."""
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_LOCAL_MARK = b"PK\x03\x04"
_ENCRYPTED = 1


class ZipMembers:
    """A ZIP archive opened for reading; a context manager. Raises DataError if it is not one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._stream: BinaryIO = path.open("rb")
        except OSError as error:
            raise DataError(path, error.strerror or str(error), "give a readable file") from None
        try:
            # A name that occurs twice is the later one's: programs append the new version.
            self._infos = {info.filename: info for info in zipfile.ZipFile(self._stream).infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self._stream.close()
            raise DataError(path, f"is not a whole ZIP archive: {error}", "copy the file again") from None
        if len(self._infos) > MAX_MEMBERS:
            self._stream.close()
            raise DataError(path, f"has over {MAX_MEMBERS:,} members", "give an archive with fewer")

    def __enter__(self) -> ZipMembers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    @property
    def names(self) -> list[str]:
        """The names of the members, in order, each once."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """The bytes of a member. Raises DataError if they are too many, damaged, or packed in a way not known."""
        info = self._infos[name]
        where = f"{self._path}: {name[:200]}"
        if info.file_size > MAX_MEMBER_BYTES:
            raise DataError(where, f"is over {MAX_MEMBER_BYTES:,} bytes", "leave this sample out of the log")
        if info.flag_bits & _ENCRYPTED:
            raise DataError(where, "is encrypted", "give an archive without a password")
        try:
            data = self._unpacked(info)
        except (OSError, ValueError, EOFError, zlib.error, struct.error) as error:
            raise DataError(where, f"is damaged: {error}", "copy the file again") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise DataError(where, "is damaged: its checksum is wrong", "copy the file again")
        return data

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        """The unpacked bytes, at most one more than the archive states for the member."""
        raw, most = self._packed(info), info.file_size + 1
        if info.compress_type == _STORED:
            return raw
        if info.compress_type == _DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, most)
        if info.compress_type == _ZSTANDARD:  # Python's zipfile reads it from 3.14 on
            import pyarrow as pa

            data: bytes = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read(most)
            return data
        raise ValueError(f"packed by method {info.compress_type}, which is not read")

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        self._stream.seek(info.header_offset)
        mark, *_, n_name, n_extra = _LOCAL.unpack(self._stream.read(_LOCAL.size))
        if mark != _LOCAL_MARK:
            raise ValueError("no member begins where the list of members says")
        self._stream.seek(n_name + n_extra, 1)
        raw = self._stream.read(min(info.compress_size, 4 * MAX_MEMBER_BYTES))
        if len(raw) != info.compress_size:
            raise ValueError("the archive ends before the member does")
        return raw
