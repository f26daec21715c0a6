"""Pages from templates: everything declared by a team is escaped, clipped and kept in its own direction."""

from __future__ import annotations

from pathlib import Path

import jinja2

from edu_rag.look.templates import environment, look_css
from edu_rag.look.texts import one_line
from leaderboard.badges import LOWER, caps_words, is_sandboxed, rerun_badge
from leaderboard.details import details_of
from leaderboard.export import RATE_NAMES
from leaderboard.present import Board

HERE = Path(__file__).resolve().parent
ASSETS = ("board.js", "icon.svg")
MAX_BLIND = 10
"""Blind systems that the sentence under a table names: whoever hands one in chooses to be named there."""
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


def _environment() -> jinja2.Environment:
    made = environment(HERE / "templates")
    made.globals.update(
        LOWER=LOWER,
        OUTCOME_MEANINGS=OUTCOME_MEANINGS,
        RATE_NAMES=RATE_NAMES,
        RATE_LABELS=RATE_LABELS,
        RATE_FRACTIONS=RATE_FRACTIONS,
        MAX_BLIND=MAX_BLIND,
        details_of=details_of,
        caps_words=caps_words,
        is_sandboxed=is_sandboxed,
        rerun_badge=rerun_badge,
    )
    made.filters["one_line"] = one_line
    return made


def render(board: Board, site: Path) -> None:
    """Write index.html, a page a system, and the assets into a site folder."""
    made = _environment()
    index = made.get_template("index.html.j2").render(board=board, root="")
    (site / "index.html").write_text(index, encoding="utf-8", newline="\n")
    page, badge = made.get_template("system.html.j2"), made.get_template("badge.svg.j2")
    for table in board.tables:
        for folder in ("systems", "badges"):
            (site / folder / table.key.id).mkdir(parents=True)
        for row in table.rows:
            text = page.render(board=board, table=table, row=row, root="../../")
            (site / row.page).write_text(text, encoding="utf-8", newline="\n")
            (site / row.badge).write_text(badge.render(table=table, row=row), encoding="utf-8", newline="\n")
    (site / "assets").mkdir()
    for name in ASSETS:
        (site / "assets" / name).write_bytes((HERE / "assets" / name).read_bytes())
    own = (HERE / "assets" / "style.css").read_text(encoding="utf-8")
    (site / "assets" / "style.css").write_text(look_css() + own, encoding="utf-8", newline="\n")
