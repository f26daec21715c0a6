"""Pages from templates: everything declared by a team is escaped, clipped and kept in its own direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from edu_rag.results import OUTCOMES
from leaderboard.export import RATE_NAMES
from leaderboard.links import safe_link
from leaderboard.present import Board
from leaderboard.texts import clip, date, percent, plain, seconds, signed

HERE = Path(__file__).resolve().parent
ASSETS = ("style.css", "board.js", "icon.svg")
OUTCOME_MEANINGS = {
    "correct": "named the right choice: +1",
    "incorrect": "named a wrong choice: −1",
    "abstained": "said that it does not know: 0",
    "unparseable": "said something that names no single choice: 0",
    "failed": "crashed, ran out of time, or gave no usable line: 0",
}
RATE_LABELS = {
    "score": "score (accuracy − hallucination)",
    "accuracy": "accuracy",
    "hallucination": "hallucination",
    "missing": "missing",
    "accuracy_given_attempted": "accuracy given attempted",
    "attempt_rate": "attempted",
    "strict_score": "strict score (unparseable and failed cost a point too)",
}
RATE_FRACTIONS = {
    "score": "(correct − incorrect) / n",
    "accuracy": "correct / n",
    "hallucination": "incorrect / n",
    "missing": "(abstained + unparseable + failed) / n",
    "accuracy_given_attempted": "correct / (correct + incorrect)",
    "attempt_rate": "(correct + incorrect) / n",
    "strict_score": "(correct − incorrect − unparseable − failed) / n",
}


def facts(values: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested plain values as (name, value) pairs, to be shown as a list; at most 200 of them."""
    if isinstance(values, dict):
        pairs = [pair for key, value in values.items() for pair in facts(value, f"{prefix} · {key}" if prefix else key)]
        return pairs[:200]
    if isinstance(values, float):
        return [(prefix, f"{values:.4g}")]
    return [(prefix, "none" if values is None else str(values))]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=plain,
    )
    for function in (clip, signed, percent, seconds, date, safe_link):
        environment.filters[function.__name__] = function
    environment.globals.update(
        OUTCOMES=OUTCOMES,
        OUTCOME_MEANINGS=OUTCOME_MEANINGS,
        RATE_NAMES=RATE_NAMES,
        RATE_LABELS=RATE_LABELS,
        RATE_FRACTIONS=RATE_FRACTIONS,
        facts=facts,
    )
    return environment


def render(board: Board, site: Path) -> None:
    """Write index.html, a page a system, and the assets into a site folder."""
    environment = _environment()
    index = environment.get_template("index.html.j2").render(board=board, root="")
    (site / "index.html").write_text(index, encoding="utf-8", newline="\n")
    page = environment.get_template("system.html.j2")
    for table in board.tables:
        (site / "systems" / table.key.id).mkdir(parents=True)
        for row in table.rows:
            text = page.render(board=board, table=table, row=row, root="../../")
            (site / row.page).write_text(text, encoding="utf-8", newline="\n")
    (site / "assets").mkdir()
    for name in ASSETS:
        (site / "assets" / name).write_bytes((HERE / "assets" / name).read_bytes())
