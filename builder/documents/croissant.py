"""croissant.json: the dataset's files and columns in the Croissant vocabulary (MLCommons, version 1.0).

The same bytes as the package mlcroissant writes, which the tests compare. To import it and to make one file with it
takes a second, mostly for pandas and SciPy.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from edu_rag.files.manifest import FileEntry
from edu_rag.files.table_rows import COLUMNS_IF_FILLED, CONFIGS, schema

PARQUET = "application/x-parquet"
DESCRIPTION = "School-science questions with web pages to answer them from: a dataset of the EDU-RAG benchmark."


VERSION = "http://mlcommons.org/croissant/1.0"
_TERMS = (
    "citeAs column conformsTo equivalentProperty extract field fileObject fileProperty fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)
CONTEXT = {name: f"cr:{name}" for name in _TERMS.split()} | {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}


def _data_type(arrow: Any) -> str:
    import pyarrow as pa

    if pa.types.is_integer(arrow):
        return "sc:Integer"
    return "sc:DateTime" if pa.types.is_timestamp(arrow) else "sc:Text"


def _source(file: str, column: str) -> dict[str, Any]:
    return {"extract": {"column": column}, "fileObject": {"@id": file}}


def _field(record_set: str, file: str, name: str, arrow: Any) -> dict[str, Any]:
    """A column; a list of structures (choices, sentences) has a repeated sub-field for each of their members."""
    import pyarrow as pa

    repeated = pa.types.is_list(arrow)
    inner = arrow.value_type if repeated else arrow
    own = {"@type": "cr:Field", "@id": f"{record_set}/{name}", "name": name} | ({"repeated": True} if repeated else {})
    if not pa.types.is_struct(inner):
        return own | {"dataType": _data_type(inner), "source": _source(file, name)}
    members = [
        {
            "@type": "cr:Field",
            "@id": f"{own['@id']}/{member.name}",
            "name": f"{name}/{member.name}",
            "dataType": _data_type(member.type),
            "repeated": True,
            "source": _source(file, name) | {"transform": {"jsonPath": member.name}},
        }
        for member in inner
    ]
    return own | {"repeated": True, "subField": members}


def _date(created_at: str) -> str:
    """The day alone at midnight, as of a dataset without a time."""
    at = datetime.fromisoformat(created_at)
    is_day = (at.hour, at.minute, at.second, at.microsecond) == (0, 0, 0, 0)
    return at.date().isoformat() if is_day else at.isoformat().replace("+00:00", "Z")


def _by_table(files: Mapping[str, FileEntry]) -> dict[tuple[str, str], list[str]]:
    tables: dict[tuple[str, str], list[str]] = {}
    for config in CONFIGS:
        for name in sorted(files):
            if name.startswith(f"{config}/") and name.endswith(".parquet"):
                split = name.removeprefix(f"{config}/").rsplit("-", 3)[0]
                tables.setdefault((config, split), []).append(name)
    return tables


def croissant(
    name: str,
    version: str,
    created_at: str,
    files: Mapping[str, FileEntry],
    url: str | None = None,
    licence: str | None = None,
    without: Mapping[str, Collection[str]] = COLUMNS_IF_FILLED,
) -> bytes:
    """The file's bytes, a function of the arguments alone; `url` is where the dataset is published, once it is.

    `licence` is that of the questions, if it is known. `without` are columns by table that the files lack.
    """
    distribution, record_sets = [], []
    for (config, split), names in _by_table(files).items():
        for number, file in enumerate(names):
            entry = {"@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": file, "encodingFormat": PARQUET}
            distribution.append(entry | {"sha256": files[file].sha256})
            # A record set reads one file: of a table in shards each has its own.
            name_of_set = f"{config}/{split}" + (f"-{number:05d}" if len(names) > 1 else "")
            fields = [
                _field(name_of_set, file, column.name, column.type)
                for column in schema(config, without.get(config, ()))
            ]
            record_sets.append({"@type": "cr:RecordSet", "@id": name_of_set, "name": name_of_set, "field": fields})
    metadata: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": name,
        "description": DESCRIPTION,
        "version": version,
        "url": url or f"urn:edu-rag:{name}",
        "citeAs": f"{name} {version}, a dataset of the EDU-RAG benchmark",
        "datePublished": _date(created_at),
    }
    metadata |= {"license": licence} if licence else {}
    metadata |= {"distribution": distribution, "recordSet": record_sets} if distribution else {}
    return json.dumps(metadata, indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n"
