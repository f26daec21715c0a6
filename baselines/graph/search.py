"""From keywords to triplets: the nodes that hold a keyword, and the triplets on paths of at most S steps from them.

HyPA-RAG describes S in different ways: "maximum knowledge sequence length" (section 8.2), "maximum sequence length for
knowledge graph paths" (Table 7), "maximum knowledge graph depth" (Table 2); and in LlamaIndex, whose parameter names
these are, `max_knowledge_sequence` is the number of sequences that are passed on. Values of 1 to 3 only make sense as a
length: here a triplet is one step, and S is how many steps a path may have. The paper does not rank triplets either,
nor bound them: here the nearer comes first, then the one that shares more words with the question, then the earlier in
the pages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from baselines.graph.keywords import Keyword
from baselines.graph.store import triplets_in
from baselines.graph.triplets import CitedTriplet

if TYPE_CHECKING:
    from networkx import MultiDiGraph


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
