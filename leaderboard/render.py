"""Pages from templates: everything declared by a team is escaped, clipped and kept in its own direction."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import jinja2

from edu_rag.look.jinja_pages import environment
from edu_rag.look.texts import one_line
from leaderboard.board.badges import LOWER, caps_words, is_sandboxed, rerun_badge
from leaderboard.board.export_board import RATE_NAMES
from leaderboard.board.system_kinds import OPEN_RULE
from leaderboard.edition import RETRIEVAL_PAGE, Edition, questions_page
from leaderboard.social import social_address
from leaderboard.systems.scorecard_tables import details_of

HERE = Path(__file__).resolve().parent
MAX_BLIND = 10
"""The most blind systems that the sentence under a table names: strangers can submit any number."""
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


class Nav(NamedTuple):
    """A line of a navigation that every page has: where it leads from the site's top, and its words."""

    href: str
    words: str


MORE = (Nav("board.html", "All systems"), Nav("plots.html", "Plots"), Nav("history.html", "History"))
"""The pages that every site has, and the foot of every page leads to."""
SUBMIT = Nav("submit.html", "Submit a system")


def environment_of(edition: Edition) -> jinja2.Environment:
    """The templates of the site's pages, with what all of them say: the navigation and the footer."""
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
    made.globals.update(board=edition.board, edition=edition, SOCIAL=social_address(edition))
    made.globals.update(NAV=nav_of(edition), MORE=more_of(edition), SUBMIT=SUBMIT, OPEN_RULE=OPEN_RULE)
    made.filters["one_line"] = one_line
    return made


def more_of(edition: Edition) -> list[Nav]:
    """The pages that the foot of every page leads to."""
    return [*MORE, *([Nav(RETRIEVAL_PAGE, "Retrieval")] if edition.retrieval else [])]


def nav_of(edition: Edition) -> list[Nav]:
    """The pages at the top of the site, in reading order."""
    questions = questions_page(edition)
    asked = [] if questions is None else [Nav(questions, "Questions")]
    pairs = [Nav("compare.html", "Compare")] if any(len(table.rows) > 1 for table in edition.board.tables) else []
    last = [Nav("datasets.html", "Datasets"), Nav("how.html", "How it works")]
    return [Nav("index.html", "Board"), *pairs, *asked, *last]
