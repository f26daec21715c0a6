"""Badges of a row, from its scorecard alone: a word or two with a title, never colour alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edu_rag.look.texts import clip, signed
from edu_rag.scorecard.card import ScoreCard, confirms
from leaderboard.board.overlap_ranks import Clean

MAX_COUNT = 10**9
MAX_CAP = 10**15
REASON = 60
SHORT = 16
"""Characters of a declared text in a row's badge."""
TITLE = 90
VERIFIED = "verified"
"""The badge of answers that a maintainers' run confirmed."""
REPORTED = "reported"
"""The badge of answers that only their team vouches for: see `ScoreCard.reported`."""
REPORTED_RULE = "in a tie group reported results come after the verified ones"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Badge(NamedTuple):
    """Words, what they mean, the manner ('' is quiet, else 'good' or 'warn'), and fewer words for a row of the board.

    `on_row`: whether a row of the board shows it; a system's page shows every badge.
    """

    text: str
    title: str
    manner: str = ""
    short: str = ""
    on_row: bool = True


def count_of(value: object, most: int = MAX_COUNT) -> int | None:
    """A whole number of 0..most; None for any other value that a file may hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value


def size_text(n_bytes: int) -> str:
    """Bytes as people say them."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.0f} {unit}" if n_bytes >= 10 * size else f"{n_bytes / size:.2g} {unit}"
    return f"{n_bytes} bytes"


CAPS: Mapping[str, Callable[[int], str]] = {
    "memory_bytes": lambda cap: f"{size_text(cap)} of memory",
    "n_processes": lambda cap: f"{cap:,} processes",
    "cpu_s": lambda cap: f"{cap:,} CPU seconds a question",
    "file_bytes": lambda cap: f"files of {size_text(cap)}",
    "n_files": lambda cap: f"{cap:,} open files",
    "tmp_bytes": lambda cap: f"{size_text(cap)} of temporary files",
    "shm_bytes": lambda cap: f"{size_text(cap)} of shared memory",
}


def caps_words(caps: Mapping[str, Any]) -> list[str]:
    """The caps that we know, each in words; what else a scorecard holds there is left out."""
    found = []
    for name, words in CAPS.items():
        given = caps.get(name)
        cap = count_of(math.ceil(given) if isinstance(given, float) else given, MAX_CAP)
        if cap is not None:
            found.append(words(cap))
    return found


def is_sandboxed(caps: Mapping[str, Any]) -> bool:
    """Whether the harness made the answers, with caps in force."""
    return bool(caps) and caps.get("sandbox") != "none"


def rerun_badge(card: ScoreCard) -> Badge | None:
    """How a maintainers' run compares, in words; None if there was none, or if the record makes no sense."""
    rerun = card.rerun
    n, n_same = count_of(rerun.get("n")), count_of(rerun.get("n_same"))
    made_at = rerun.get("made_at")
    day = _DAY.match(made_at) if isinstance(made_at, str) else None
    when = f" on {day.group()}" if day else ""
    if rerun.get("own") is True:
        title = f"The maintainers ran this system themselves{when}: these are its answers"
        return Badge("run by the maintainers", title, "good", VERIFIED)
    if not n or n_same is None or n_same > n:
        return None
    title = f"The maintainers ran this system again{when}, on {n:,} questions: {n_same:,} answers were those handed in"
    same = f"re-run: {n_same:,} of {n:,}"
    if confirms(rerun, card.counts.n):
        return Badge(f"{same} answers agree", title, "good", VERIFIED)
    return Badge(f"{same} answers agree", title, "warn", f"{same} agree")


def _origin(card: ScoreCard) -> Iterator[Badge]:
    """Where the answers come from."""
    if card.system.blind:
        yield Badge("blind", "Its team declares that it never looks at the pages: what the questions alone give away")
    if card.system.runnable:
        yield Badge("runnable", "Handed in as a program that the harness runs")
    else:
        title = "Handed in as answers: nobody else can run it from what was handed in"
        yield Badge("predictions only", title, on_row=False)
    hosts = ", ".join(card.network)
    if hosts:
        title = f"The system could reach these hosts while it answered, such as a hosted model: {clip(hosts, TITLE)}"
        yield Badge(f"network: {clip(hosts, REASON)}", title, "warn", "network")
    elif asked := ", ".join(card.asked_network):
        title = (
            f"The system asks for these hosts, such as a hosted model, which its own user grants: {clip(asked, TITLE)}"
        )
        yield Badge(f"asks for network: {clip(asked, REASON)}", title, "warn", "asks for network")
    if is_sandboxed(card.caps):
        words = caps_words(card.caps)
        title = "The harness made these answers in its sandbox" + (", without a network" if not hosts else "")
        text = f"sandboxed: {', '.join(words[:2])}" if words else "sandboxed"
        yield Badge(text, f"{title}: {'; '.join(words)}" if words else title, on_row=False)
    elif card.caps:
        yield Badge("not sandboxed", "The harness made these answers without a sandbox: no cap was in force", "warn")
    rerun = rerun_badge(card)
    if rerun is not None:
        yield rerun
    if card.reported:
        yield Badge(REPORTED, f"Only its team has seen the system give these answers: {REPORTED_RULE}", "warn")


def _overlap(card: ScoreCard, clean: Clean) -> Iterator[Badge]:
    """How many questions a team declares, how its system scores on both parts, and whether that goes the wrong way."""
    questions = f"{clean.n_declared:,} question{'' if clean.n_declared == 1 else 's'}"
    title = f"The team says that its system may have seen {questions} of these {card.counts.n:,}: {parts_words(clean)}"
    yield Badge(f"declared overlap: {questions}", title, "warn", f"declared overlap: {clean.n_declared:,}")
    if clean.is_lower:
        yield Badge("declared part scores lower", f"{LOWER}: {parts_words(clean)}", "warn", "declared part: lower")


LOWER = "The declared part scores lower than the rest, by more than luck: not what having seen a question does"


def parts_words(clean: Clean) -> str:
    """The scores of both parts, in words."""
    rest = "none" if clean.score is None else f"score {signed(clean.score)}"
    return f"declared part: score {signed(clean.declared_score)}; rest: {rest}"


def _cautions(card: ScoreCard, older: bool, clean: Clean | None) -> Iterator[Badge]:
    """Warnings that a reader needs before the score."""
    if card.system.withdrawn.strip():
        reason = clip(card.system.withdrawn, TITLE)
        title = f"The team took this system back: {reason}"
        yield Badge(f"withdrawn: {clip(reason, REASON)}", title, "warn", f"withdrawn: {clip(reason, SHORT)}")
    if clean is not None:
        yield from _overlap(card, clean)
    if card.counts.failed * 2 > card.counts.n:
        yield Badge("mostly failed", "Crashed, ran out of time or gave no usable line on most questions", "warn")
    if older:
        title = f"Scored on an older version of the dataset: {card.dataset}"
        if card.made_on:
            title = f"Its answers were given on an older version of the dataset: {clip(card.made_on, TITLE)}"
        yield Badge("stale: older data", title, "warn", "stale")


def badges_of(
    card: ScoreCard,
    *,
    older: bool,
    clean: Clean | None,
    n_runs: int,
    resembles: Sequence[str],
    tells_runs: bool = True,
) -> list[Badge]:
    """The badges of a system, the most important first; `tells_runs`: whether its row shows its team's runs."""
    badges = [*_cautions(card, older, clean)]
    for name in resembles[:1]:
        title = f"Looks like another team's name on this board: {', '.join(clip(other, TITLE) for other in resembles)}"
        text = f"name resembles “{clip(name, REASON)}”"
        badges.append(Badge(text, title, "warn", f"resembles “{clip(name, SHORT)}”"))
    badges += _origin(card)
    if n_runs > 1:
        title = "All that this team has handed in for this dataset: the more runs, the more luck in the best of them"
        text, short = f"{n_runs:,} runs by this team", f"{n_runs:,} runs by team"
        badges.append(Badge(text, title, short=short, on_row=tells_runs))
    return badges
