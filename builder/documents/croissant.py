"""croissant.json: the dataset's files and columns in the Croissant vocabulary (MLCommons, version 1.0)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from edu_rag.files.manifest import FileEntry
from edu_rag.files.table_rows import COLUMNS_IF_FILLED, CONFIGS, schema

PARQUET = "application/x-parquet"
DESCRIPTION = "School-science questions with web pages to answer them from: a dataset of the EDU-RAG benchmark."


def _data_type(arrow: Any) -> Any:
    import mlcroissant as mlc
    import pyarrow as pa

    if pa.types.is_integer(arrow):
        return mlc.DataType.INTEGER
    return mlc.DataType.DATETIME if pa.types.is_timestamp(arrow) else mlc.DataType.TEXT


def _field(record_set: str, file: str, name: str, arrow: Any) -> Any:
    """A column; a list of structures (choices, sentences) has a repeated sub-field for each of their members."""
    import mlcroissant as mlc
    import pyarrow as pa

    own = {"id": f"{record_set}/{name}", "name": name}
    column = mlc.Extract(column=name)
    repeated = pa.types.is_list(arrow)
    inner = arrow.value_type if repeated else arrow
    if pa.types.is_struct(inner):
        members = [
            mlc.Field(
                id=f"{own['id']}/{member.name}",
                name=f"{name}/{member.name}",
                data_types=[_data_type(member.type)],
                repeated=True,
                source=mlc.Source(file_object=file, extract=column, transforms=[mlc.Transform(json_path=member.name)]),
            )
            for member in inner
        ]
        return mlc.Field(**own, repeated=True, sub_fields=members)
    source = mlc.Source(file_object=file, extract=column)
    return mlc.Field(**own, data_types=[_data_type(inner)], source=source, repeated=repeated or None)


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
    import mlcroissant as mlc

    distribution = []
    record_sets = []
    for (config, split), names in _by_table(files).items():
        for number, file in enumerate(names):
            entry = mlc.FileObject(
                id=file, name=file, content_url=file, encoding_formats=[PARQUET], sha256=files[file].sha256
            )
            distribution.append(entry)
            # A record set reads one file: of a table in shards each has its own.
            name_of_set = f"{config}/{split}" + (f"-{number:05d}" if len(names) > 1 else "")
            fields = [
                _field(name_of_set, file, column.name, column.type)
                for column in schema(config, without.get(config, ()))
            ]
            record_sets.append(mlc.RecordSet(id=name_of_set, name=name_of_set, fields=fields))
    metadata = mlc.Metadata(
        name=name,
        description=DESCRIPTION,
        version=version,
        license=[licence] if licence else None,
        url=url or f"urn:edu-rag:{name}",
        cite_as=f"{name} {version}, a dataset of the EDU-RAG benchmark",
        date_published=created_at,
        distribution=distribution,
        record_sets=record_sets,
    )
    return json.dumps(metadata.to_json(), indent=1, ensure_ascii=False, sort_keys=True, default=str).encode() + b"\n"
