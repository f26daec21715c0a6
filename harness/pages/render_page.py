"""Templates to files: one self-contained page with its style inside, and the labels of a scorecard's figures on it."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edu_rag import __version__
from edu_rag.look.jinja_pages import environment, look_css
from edu_rag.look.texts import JOINERS, delta

if TYPE_CHECKING:
    import jinja2


TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


def visible(text: str) -> str:
    """A text with invisible characters shown by their code points, since they may decide a verdict."""
    return "".join(
        f"⟨U+{ord(char):04X}⟩"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") and char not in _SEEN
        else char
        for char in text
    )


_SEEN = "\n\t\r" + JOINERS


def shorten(text: str, length: int) -> str:
    """At most this many characters with all blanks and line ends kept, and a word on how many are left out."""
    return text if len(text) <= length else f"{text[:length]} … ({len(text) - length:,} more characters)"


@cache
def _environment() -> jinja2.Environment:
    made = environment(TEMPLATES)
    style = look_css() + (TEMPLATES / "pages.css").read_text(encoding="utf-8")
    for function in (visible, shorten, delta):
        made.filters[function.__name__] = function
    made.globals.update(
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        harness=f"edu-rag-bench {__version__}",
    )
    return made


def render(template: str, **values: object) -> str:
    """A page's text. The style comes from us alone, so the page's policy allows it by its hash and nothing else."""
    from markupsafe import Markup

    made = _environment()
    style = Markup(str(made.globals["style"]))  # noqa: S704 - our own two files, and none of a system's words
    return made.get_template(template).render(values | {"style": style})


def write_page(path: Path, text: str) -> None:
    """Write a page, atomically."""
    from edu_rag.files.jsonl import write_file

    write_file(path, text.encode("utf-8"))


RETRIEVAL: Mapping[str, str] = {
    "n_citing": "answers that cite something",
    "n_passages_mean": "passages a citing answer",
    "n_characters_mean": "characters a citing answer",
    "n_supported": "questions with evidence (supported)",
    "n_grounded": "of them right, with evidence cited (grounded)",
    "n_lucky": "of them right, without (lucky)",
    "evidence_cited": "evidence cited where answered and supported",
    "metrics MRR": "MRR",
    "metrics P@1": "P@1",
    "metrics success@10": "success@10",
    "metrics R@10": "R@10",
    "metrics MAP@10": "MAP@10",
    "metrics NDCG@10": "NDCG@10",
}
OVERLAP: Mapping[str, str] = {
    "n_both_cite": "questions for which both cite something",
    "positions_changed": "share of ranks that differ",
    "top_1_changed": "share of questions whose first passage differs",
    "overlap @1": "overlap of the first passages",
    "overlap @10": "overlap of the first ten",
    "n_supported_both": "supported questions with evidence cited by both",
    "n_supported_first_only": "… by A alone",
    "n_supported_second_only": "… by B alone",
    "n_supported_neither": "… by neither",
}
CONFIDENCE: Mapping[str, str] = {
    "n": "answers with a confidence",
    "n_attempted": "of so many attempted",
    "ece": "calibration error (ECE)",
    "brier": "Brier score",
    "aurc": "area under the risk-coverage curve (AURC)",
    "e_aurc": "above an oracle's (E-AURC)",
    "best score": "best score by abstaining below a threshold",
    "best threshold": "that threshold (tuned on these questions)",
}
COST: Mapping[str, str] = {
    "latency_s median": "latency, median, s",
    "latency_s p95": "latency, 95th percentile, s",
    "input_tokens mean": "input tokens an answer",
    "output_tokens mean": "output tokens an answer",
    "cost_usd total": "US dollars in all",
    "latency_s source": "latency is",
}

_OF_A_PROBE: Mapping[str, str] = {
    "n": "questions",
    "score": "score",
    "difference": "change from the main run",
    "rejection": "share abstained",
    "consistency": "share with the same choice",
    "identical": "share alike in every run",
}


def probe_labels(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, str]:
    """Labels for the probes that either scorecard has."""
    return {f"{name} {key}": f"{name}: {word}" for name in {**first, **second} for key, word in _OF_A_PROBE.items()}


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The single values of nested mappings with their names joined by a blank; lists (curves, intervals) left out."""
    for key, value in values.items():
        name = f"{prefix} {key}".strip()
        if isinstance(value, Mapping):
            yield from flat(value, name)
        elif isinstance(value, bool | int | float | str):
            yield name, value


def side_by_side(
    first: Mapping[str, Any], second: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> list[tuple[str, Any, Any]]:
    """Rows of (label, value of the first, value of the second), None if one has none; at most 60.

    With `labels` only the values that they name, in their order; without, all of them under their own names.
    """
    a, b = dict(flat(first)), dict(flat(second))
    named = labels if labels is not None else {name: name.replace("_", " ") for name in a | b}
    return [(label, a.get(name), b.get(name)) for name, label in named.items() if name in a or name in b][:60]
