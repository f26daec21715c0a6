"""A submission's requirements file: one pinned package a line, each with hashes, and nothing else.

The file is read here and never given to an installer: what pip gets is written again from the pins. So no option,
address, encoding or odd line end in the file can mean more to pip than it means here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edu_rag.errors import EduRagError, FaultsError, SubmissionError
from harness.own_packages.marker_form import marker_fault

MAX_BYTES = 2_000_000
MAX_PACKAGES = 300
MAX_FAULTS = 50
_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)[ ]*(?:\[[A-Za-z0-9,._ -]{0,200}\])?[ ]*"
    r"==[ ]*(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]{0,60})[ ]*(?:;(?P<marker>[A-Za-z0-9_.<>=!~'\"() -]{1,500}))?\Z"
)
_HASH = re.compile(r" --hash(?:=| +)([^ ]*)")
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})\Z")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_FORM = "NAME==VERSION --hash=sha256:..."
_WRITE = "`uv pip compile --generate-hashes` and `pip-compile --generate-hashes` write such a file"


class PinnedPackage(NamedTuple):
    """One package: its normalised name, version and marker, the SHA-256 that its wheel may have, and its line."""

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]
    line: int

    @property
    def requirement(self) -> str:
        """The line for pip, written again from the parts."""
        marker = f" ; {self.marker}" if self.marker else ""
        return " ".join([f"{self.name}=={self.version}{marker}", *(f"--hash=sha256:{one}" for one in self.sha256)])


def normalised(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_requirements(path: Path) -> list[PinnedPackage]:
    """The pinned packages of a file, in order of name. Raises FaultsError with every fault and its line."""
    faults: list[EduRagError] = []
    pins: dict[tuple[str, str], PinnedPackage] = {}
    for number, text in _lines(_text(path)):
        pin = _pin(f"{path}:{number}", number, text, faults)
        if pin is None:
            continue
        first = pins.setdefault((pin.name, pin.marker), pin)
        if first is not pin:
            faults.append(
                SubmissionError(f"{path}:{number}", f"{pin.name} is pinned on line {first.line} too", "keep one")
            )
    if not pins and not faults:
        faults.append(SubmissionError(path, "names no package", f"write lines of the form {_FORM}, or leave it out"))
    if len(pins) > MAX_PACKAGES:
        what = f"has {len(pins):,} packages, and {MAX_PACKAGES:,} is the most"
        faults.append(SubmissionError(path, what, "leave out what the system does not import"))
    if len(faults) > MAX_FAULTS:
        more = SubmissionError(path, f"and {len(faults) - MAX_FAULTS:,} more faults", "fix these first")
        faults = [*faults[:MAX_FAULTS], more]
    if faults:
        raise FaultsError(faults)
    return sorted(pins.values())


def _text(path: Path) -> str:
    """The file's text. Raises SubmissionError for what is not a plain file of UTF-8, or too large."""
    if path.is_symlink() or not path.is_file():
        raise SubmissionError(path, "is not a plain file of the submission", "put the file itself there")
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SubmissionError(path, f"is over {MAX_BYTES:,} bytes", f"keep at most {MAX_PACKAGES:,} packages")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SubmissionError(
            path, f"is not UTF-8: {error.reason} at byte {error.start:,}", "save it as UTF-8"
        ) from None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The logical lines without comments and blank ones, each with the number of its first line."""
    joined, first = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        # As in pip: a comment goes to the end of its line, and a backslash inside of it joins nothing.
        without = _COMMENT.sub("", line)
        first = first or number
        if without == line and line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        if (joined + without).strip():
            yield first, (joined + without).replace("\t", " ").strip(" ")
        joined, first = "", 0
    if joined.strip():
        yield first, joined.replace("\t", " ").strip(" ")


def _pin(where: str, number: int, text: str, faults: list[EduRagError]) -> PinnedPackage | None:
    fault = _form_fault(text)
    if fault is not None:
        faults.append(SubmissionError(where, *fault))
        return None
    start = text.find(" --hash")
    head = (text if start < 0 else text[:start]).strip()
    found = _PIN.match(head)
    if found is None or _HASH.sub("", text[len(head) :]).strip():
        faults.append(SubmissionError(where, f"{_quoted(text)} is not {_FORM}", f"pin each package; {_WRITE}"))
        return None
    hashes = _HASH.findall(text[len(head) :])
    if not hashes:
        faults.append(SubmissionError(where, f"{found['name']} has no hash", f"add --hash=sha256:...; {_WRITE}"))
        return None
    if any(_SHA256.match(one) is None for one in hashes):
        what = f"{found['name']} has a hash that is not sha256: and 64 hex digits"
        faults.append(SubmissionError(where, what, _WRITE))
        return None
    sha256 = tuple(sorted({one.removeprefix("sha256:") for one in hashes}))
    marker = (found["marker"] or "").strip()
    if marker and (odd := marker_fault(marker)):
        faults.append(SubmissionError(where, odd, 'write it as in `; python_version < "3.14"`'))
        return None
    return PinnedPackage(normalised(found["name"]), found["version"], marker, sha256, number)


def _form_fault(text: str) -> tuple[str, str] | None:
    """Why a line is of a kind that is refused, and the remedy."""
    if not (text.isascii() and text.isprintable()):
        return f"{_quoted(text)} has characters other than plain ASCII", "type the name again"
    if text.startswith("-"):
        option = text.split()[0].partition("=")[0]
        remedy = "remove it: packages come from the index of the person who runs the system"
        return f"the option {_quoted(option)} is not allowed", remedy
    if "://" in text or " @ " in text or text.split()[0].startswith((".", "/", "~", "file:")):
        return f"{_quoted(text)} is an address or a path", f"name a package of the index: {_FORM}"
    if re.search(r" -(?!-hash\b)", text):
        return f"{_quoted(text)} has an option other than --hash", "remove the option"
    return None


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:79] + "...")
