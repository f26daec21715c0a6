"""How much of a question's text a passage of a page holds, and where: the comparison behind a leak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builder.labels.leak_text import weight_of

ROUGH = 62.0
"""Letters in common (0 to 100) below which a passage is not worth a comparison by words."""
SLACK = 5
"""Words on either side of the roughly aligned passage that may still belong to it."""
EXTRA_COST = 0.2
"""The cost of an inserted word, as a share of the cost of a missing one."""
SAME_WORD = 74.0


@dataclass(frozen=True, slots=True)
class LeakMatch:
    """`score`: 1 where the passage has every word of the stem in order and no other; its first and last word."""

    score: float
    first: int
    last: int


def best_match(stem: Sequence[str], stem_text: str, words: Sequence[str], low: int, high: int) -> LeakMatch | None:
    """The passage of `words[low:high]` most like the stem, or None if there is none like it.

    Aligned roughly by letters (partial ratio), then by words: the longest common subsequence, in which a misspelt
    word counts nearly as itself. Weighted by meaning: function words count little.
    """
    from rapidfuzz import fuzz

    window = " ".join(words[low:high])
    if len(window) < 0.6 * len(stem_text):
        return None
    found = fuzz.partial_ratio_alignment(stem_text, window, score_cutoff=ROUGH)
    if found is None:
        return None
    first = max(low, low + window.count(" ", 0, found.dest_start) - SLACK)
    last = min(high, low + window.count(" ", 0, found.dest_end) + 1 + SLACK)
    return _by_words(stem, words[first:last], first)


def _by_words(stem: Sequence[str], part: Sequence[str], offset: int) -> LeakMatch | None:
    pairs = _pairs(stem, part)
    telling = [place for place, (own, _, _) in enumerate(pairs) if weight_of(stem[own]) > 0.5]
    if not telling:
        return None
    # A function word far before the first telling one belongs to another sentence: "all of the above. 4. The …".
    pairs = pairs[telling[0] : telling[-1] + 1]
    pairs = [*_neighbours(stem, part, pairs[0], -1), *pairs, *_neighbours(stem, part, pairs[-1], 1)]
    places = {at for _, at, _ in pairs}
    first, last = min(places), max(places)
    held = sum(weight_of(stem[own]) * share for own, _, share in pairs)
    extra = sum(weight_of(part[at]) for at in range(first, last + 1) if at not in places)
    total = sum(map(weight_of, stem))
    return LeakMatch((held - EXTRA_COST * extra) / total, offset + first, offset + last)


def _neighbours(
    stem: Sequence[str], part: Sequence[str], pair: tuple[int, int, float], step: int
) -> Iterator[tuple[int, int, float]]:
    """The words that go on, equal in both, before (step -1) or after (step 1) a pair."""
    own, at = pair[0] + step, pair[1] + step
    while 0 <= own < len(stem) and 0 <= at < len(part) and stem[own] == part[at]:
        yield own, at, 1.0
        own, at = own + step, at + step


def _pairs(stem: Sequence[str], part: Sequence[str]) -> list[tuple[int, int, float]]:
    """(word of the stem, word of the passage, how like), in order."""
    from rapidfuzz.distance import LCSseq

    pairs: list[tuple[int, int, float]] = []
    own = at = 0
    for block in LCSseq.editops(stem, part).as_matching_blocks():
        if own < block.a and at < block.b:
            pairs += _misspelt(stem, part, range(own, block.a), range(at, block.b))
        pairs += [(block.a + step, block.b + step, 1.0) for step in range(block.size)]
        own, at = block.a + block.size, block.b + block.size
    return pairs


def _misspelt(stem: Sequence[str], part: Sequence[str], owns: range, ats: range) -> Iterator[tuple[int, int, float]]:
    """Pairs of unlike words between two matches that are one word misspelt."""
    from rapidfuzz import fuzz

    begin = ats.start
    for own in owns:
        if len(stem[own]) < 4:
            continue
        for at in range(begin, ats.stop):
            if len(part[at]) >= 4 and fuzz.ratio(stem[own], part[at]) >= SAME_WORD:
                yield own, at, 0.9
                begin = at + 1
                break
