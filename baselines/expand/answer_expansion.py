"""Expansion by the answer: the query is the question and the answer to it (Huo et al., section 2.3)."""

from __future__ import annotations

MAX_CHARS = 2_000
"""Of question and of answer: a model's answer may run on, and a query of a book's length finds nothing."""


def with_answer(question: str, answer: str) -> str:
    """The question's text, then the answer's text (of a label, the choice's).

    Huo et al. join question and generated answer into one query, so that passages about this answer are found, not
    about another acceptable one. The paper does not give their order or separator; here they follow in this
    order, separated by a space. Either may be empty.
    """
    return " ".join(part for part in (question[:MAX_CHARS].strip(), answer[:MAX_CHARS].strip()) if part)
