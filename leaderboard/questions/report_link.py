"""The address that opens a pre-filled report of a problem with a question in the project's repository."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from edu_rag.look.texts import clip, one_line, safe_link
from edu_rag.records import Question

MAX_ID = 100
MAX_TEXT = 300
MAX_ADDRESS = 300


def report_link(repository: str, dataset_id: str, question: Question, address: str) -> str | None:
    """`<repository>/issues/new?title=…&body=…`, bounded; None if there is no repository that a page may link to.

    `address` is the address of the question, or empty if the address of the site was not given.
    """
    if not repository.startswith(("https://", "http://")) or safe_link(repository) is None:
        return None
    name = one_line(clip(question.question_id, MAX_ID))
    body = [
        f"Question: {name}",
        f"Dataset: {one_line(dataset_id)} {question.split}",
        *([f"Page: {address}"] if address and len(address) <= MAX_ADDRESS else []),
        f"Text: {one_line(clip(question.text, MAX_TEXT))}",
        "",
        "What is wrong (text, choices, gold, a page, evidence, a flag)?",
        "",
        "How should it be?",
        "",
    ]
    values = {"title": f"Problem with question {name}", "body": "\n".join(body)}
    return f"{repository.rstrip('/')}/issues/new?{urlencode(values, quote_via=quote)}"
