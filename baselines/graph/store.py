"""The knowledge graph: a networkx MultiDiGraph of cited triplets, saved as JSON and loaded again."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from baselines.graph.triplets import CitedTriplet, Entity, Triplet
from edu_rag.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from networkx import MultiDiGraph


def require_networkx() -> None:
    """Raise MissingExtraError, with the remedy, where the library that holds graphs is missing."""
    if importlib.util.find_spec("networkx") is None:
        raise MissingExtraError("parts.graph", "networkx is not installed", "pip install 'edu-rag-bench[parts]'")


def graph_of(triplets: Iterable[CitedTriplet]) -> MultiDiGraph[str]:
    """Nodes are entities by their lemmas; an edge is one triplet, its key the triplet's place in reading order.

    The same statement of two sentences is two edges: the graph forgets no source.
    """
    require_networkx()
    import networkx as nx

    graph: MultiDiGraph[str] = nx.MultiDiGraph()
    for place, (triplet, page_id, start, end) in enumerate(triplets):
        graph.add_edge(
            triplet.subject.lemmas,
            triplet.object.lemmas,
            place,
            subject=triplet.subject.text,
            predicate=triplet.predicate,
            object=triplet.object.text,
            page_id=page_id,
            start=start,
            end=end,
        )
    return graph


def triplets_in(graph: MultiDiGraph[str]) -> list[CitedTriplet]:
    """All triplets of a graph, in the order in which they were read: the inverse of `graph_of`."""
    edges = sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[2])
    return [
        CitedTriplet(
            Triplet(Entity(told["subject"], subject), told["predicate"], Entity(told["object"], object_)),
            told["page_id"],
            told["start"],
            told["end"],
        )
        for subject, object_, _, told in edges
    ]


def save(graph: MultiDiGraph[str], path: Path) -> None:
    """Write a graph as a JSON list of its cited triplets: the same graph, the same bytes."""
    path.write_bytes(msgspec.json.encode(triplets_in(graph)) + b"\n")


def load(path: Path) -> MultiDiGraph[str]:
    """Read a graph that `save` wrote. Raises DataError if the file is not one."""
    try:
        return graph_of(msgspec.json.decode(path.read_bytes(), type=list[CitedTriplet]))
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(path, f"is not a stored graph ({error})", "write it with baselines.graph.store.save") from None
