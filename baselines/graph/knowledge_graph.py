"""The knowledge graph: a networkx MultiDiGraph of cited triplets, saved, loaded, and searched from keywords.

HyPA-RAG describes S in different ways: "maximum knowledge sequence length" (section 8.2), "maximum sequence length for
knowledge graph paths" (Table 7), "maximum knowledge graph depth" (Table 2); and in LlamaIndex, whose parameter names
these are, `max_knowledge_sequence` is the number of sequences that are passed on. Values of 1 to 3 only make sense as a
length: here a triplet is one step, and S is how many steps a path may have. The paper does not rank triplets either,
nor bound them: here the nearer comes first, then the one that shares more words with the question, then the earlier in
the pages.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from baselines.graph.english import Keyword
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
            Triplet(Entity(edge["subject"], subject), edge["predicate"], Entity(edge["object"], object_)),
            edge["page_id"],
            edge["start"],
            edge["end"],
        )
        for subject, object_, _, edge in edges
    ]


def save(graph: MultiDiGraph[str], path: Path) -> None:
    """Write a graph as a JSON list of its cited triplets: the same graph, the same bytes."""
    path.write_bytes(msgspec.json.encode(triplets_in(graph)) + b"\n")


def load(path: Path) -> MultiDiGraph[str]:
    """Read a graph that `save` wrote. Raises DataError if the file is not one."""
    try:
        return graph_of(msgspec.json.decode(path.read_bytes(), type=list[CitedTriplet]))
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(
            path, f"is not a stored graph ({error})", "write it with baselines.graph.knowledge_graph.save"
        ) from None


def entries(graph: MultiDiGraph[str], keywords: Sequence[Keyword]) -> set[str]:
    """The nodes that hold all lemmas of one of the keywords."""
    wanted = [frozenset(keyword.lemmas) for keyword in keywords]
    return {node for node in graph if any(lemmas <= set(node.split()) for lemmas in wanted)}


def steps_from(graph: MultiDiGraph[str], start: Collection[str], depth: int) -> dict[str, int]:
    """How many steps each node is from the nearest start, up to `depth`, in both directions of the triplets."""
    import networkx as nx

    layers = nx.bfs_layers(graph.to_undirected(as_view=True), sorted(start))
    return {node: step for step, layer in zip(range(depth + 1), layers, strict=False) for node in layer}


def nearest(
    graph: MultiDiGraph[str], keywords: Sequence[Keyword], words: Collection[str], depth: int, n: int
) -> list[CitedTriplet]:
    """The `n` best triplets on paths of at most `depth` steps from the keywords' nodes, each statement once.

    `words` are the question's lemmas.
    """
    steps = steps_from(graph, entries(graph, keywords), depth)
    ranked: list[tuple[int, int, int, CitedTriplet]] = []
    for place, cited in enumerate(triplets_in(graph)):
        subject, predicate, object_ = cited.triplet
        step = min(steps.get(subject.lemmas, depth), steps.get(object_.lemmas, depth)) + 1
        if step <= depth:
            said = {*subject.lemmas.split(), *predicate.split(), *object_.lemmas.split()}
            ranked.append((step, -len(said & set(words)), place, cited))
    ranked.sort(key=lambda item: item[:3])
    once: dict[tuple[str, str, str], CitedTriplet] = {}
    for *_, cited in ranked:
        subject, predicate, object_ = cited.triplet
        once.setdefault((subject.lemmas, predicate, object_.lemmas), cited)
    return list(once.values())[:n]
