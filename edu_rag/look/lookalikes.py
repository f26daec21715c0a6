"""Find names of teams and systems that look so similar that a reader may confuse them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache

MAX_READ = 400
"""Characters of a name that are compared, after invisible ones are removed; a page shows 80."""
MAX_SKELETON = 100
MAX_MARKS = 5
MIN_TYPO = 6
"""Shorter names differ by one letter all the time: GPT and GPU."""
# Letters by category that show nothing: Hangul fillers, Khmer inherent vowels, the Braille blank.
_BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
_PAIRS = (("rn", "m"), ("vv", "w"))
_SPACES = re.compile(r"\s+")


def name_key(name: str) -> str:
    """The identity of a name: two teams whose names have the same key are one team. NFKC, casefold, blanks folded."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SPACES.sub(" ", folded).strip()


def _is_seen(char: str) -> bool:
    # Cf: zero-width and bidirectional; M: accents, and marks that hide in them; Cn, Co, Cs: characters of no font.
    return unicodedata.category(char)[0] not in "CM" and char not in _BLANKS


def is_seen(text: str) -> bool:
    """Whether a reader sees anything of a text: marks, fillers and blanks alone show nothing."""
    return any(_is_seen(char) and not char.isspace() for char in text)


def is_stacked(text: str) -> bool:
    """Whether a letter carries more marks than any script puts on one: they would be drawn over the lines above and
    below.
    """
    marks = 0
    for char in unicodedata.normalize("NFD", text):
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        if marks > MAX_MARKS:
            return True
    return False


def _seen(text: str) -> str:
    return "".join(filter(_is_seen, text))


@cache
def _twins() -> dict[str, str]:
    """Each confusable character's plainest twin (Unicode's confusables.txt, which confusable_homoglyphs carries).

    Its data lists neighbours in both directions; those that are joined are one class. The data is read as a file:
    importing the package would import an HTTP client, and let a variable of the environment name other data.
    """
    from importlib.resources import files

    import msgspec

    data = msgspec.json.decode((files("confusable_homoglyphs") / "confusables.json").read_bytes())
    neighbours: dict[str, set[str]] = defaultdict(set)
    spelt: dict[str, str] = {}
    for char, entries in data.items():
        for other in (_seen(entry["c"]) for entry in entries):
            if len(char) == len(other) == 1:
                neighbours[char].add(other)
                neighbours[other].add(char)
            elif len(char) == 1 and other.isascii() and other.isalnum():
                spelt[char] = other  # a ligature: one character drawn as several letters
    twins: dict[str, str] = {}
    for start in neighbours:
        if start not in twins:
            joined = _joined(start, neighbours)
            plainest = min(joined, key=lambda text: (not text.isascii(), not text.isalnum(), text))
            twins.update(dict.fromkeys(joined, plainest))
    return {char: twin for char, twin in (spelt | twins).items() if not char.isascii()}


def _joined(start: str, neighbours: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        new = neighbours[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _plain(text: str) -> str:
    twins = _twins()
    return unicodedata.normalize("NFKD", "".join(twins.get(char, char) for char in text)).casefold()


def _bones(text: str) -> str:
    """A name reduced to its look: plain letters and digits, 0 as o, 1 and i as l, rn as m, vv as w."""
    text = _seen(_plain(_plain(text))).replace("0", "o").replace("1", "l").replace("i", "l").replace("|", "l")
    text = "".join(char for char in text if char.isalnum())
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text[:MAX_SKELETON]


@lru_cache(maxsize=4096)
def skeletons(name: str) -> frozenset[str]:
    """The skeletons of a name (compare UTS 39, section 4), as written and casefolded; empty if nothing is seen.

    Two, because case changes what a letter looks like: Cyrillic capital EN is an H, the small one is not an h.
    """
    text = _seen(unicodedata.normalize("NFKD", _seen(name)[:MAX_READ]))
    return frozenset(filter(None, (_bones(text), _bones(text.casefold()))))


def _one_edit(a: str, b: str) -> bool:
    """One letter more, less or other, or two neighbours swapped."""
    if min(len(a), len(b)) < MIN_TYPO or abs(len(a) - len(b)) > 1:
        return False
    start = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return max(len(a), len(b)) <= 1 or (len(a) == 2 and a == b[::-1])


def resembles(a: str, b: str) -> bool:
    """Whether two different names may be mistaken for one another. Symmetric; no name resembles itself."""
    if name_key(a) == name_key(b):
        return False
    ours, theirs = skeletons(a), skeletons(b)
    if ours & theirs:
        return True
    numbers = _digits(a), _digits(b)
    if all(numbers) and numbers[0] != numbers[1]:
        return False  # GPT-4 and GPT-5, team 10 and team 11: a number that differs is meant
    same = numbers[0] == numbers[1]  # else a digit may replace a letter (author5), but not behind a name (llama2)
    return any(_one_edit(x, y) and (same or len(x) == len(y)) for x in ours for y in theirs)


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, unicodedata.normalize("NFKC", _seen(name)[:MAX_READ])))


def _places(name: str) -> Iterator[str]:
    """The index keys of a name: names that resemble one another share at least one."""
    for skeleton in skeletons(name):
        yield skeleton
        for at in range(len(skeleton) if len(skeleton) >= MIN_TYPO else 0):
            yield skeleton[:at] + skeleton[at + 1 :]


def lookalikes(names: Iterable[str]) -> dict[str, list[str]]:
    """For each name that resembles others among `names`, those others, sorted; linear in the number of names."""
    filed: dict[str, set[str]] = defaultdict(set)
    distinct = sorted(set(names))
    for name in distinct:
        for place in _places(name):
            filed[place].add(name)
    found: dict[str, list[str]] = {}
    for name in distinct:
        near = set().union(*(filed[place] for place in _places(name)))
        others = sorted(other for other in near if resembles(name, other))
        if others:
            found[name] = others
    return found
