"""Wheels made with the standard library, honest and hostile ones, in a folder that pip takes for its index."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest


def wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str | bytes],
    *,
    version: str = "1.0",
    says: str | None = None,
    tag: str = "py3-none-any",
    odd: Mapping[zipfile.ZipInfo, bytes] | None = None,
) -> Path:
    """A wheel of these files; `says` is the name in its metadata, `odd` are members that no packager would write."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-{tag}.whl"
    info = f"{stem}.dist-info"
    whole: dict[str, str | bytes] = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {says or name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in whole.items():
            data = content.encode() if isinstance(content, str) else content
            archive.writestr(place, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{place},sha256={digest},{len(data)}")
        for member, data in (odd or {}).items():
            archive.writestr(member, data)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def member(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    """A member with a type, such as 0o120777 for a link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def pin(path: Path, name: str | None = None) -> str:
    """The line that pins a wheel, or a file of another kind under a name."""
    stem = path.name.removesuffix(".tar.gz").removesuffix(".whl").split("-")
    return f"{name or stem[0]}=={stem[1]} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def use_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find packages in this folder alone."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
