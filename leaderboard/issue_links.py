"""Addresses that open a pre-filled issue in the project's repository: a wrong question, a page to take out."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from edu_rag.look.texts import clip, one_line, safe_link
from edu_rag.records import Question

MAX_ID = 100
MAX_TEXT = 300
MAX_ADDRESS = 300


def _new_issue(repository: str, title: str, body: str) -> str | None:
    """`<repository>/issues/new?title=…&body=…`; None if there is no repository that a page may link to."""
    if not repository.startswith(("https://", "http://")) or safe_link(repository) is None:
        return None
    values = {"title": title, "body": body}
    return f"{repository.rstrip('/')}/issues/new?{urlencode(values, quote_via=quote)}"


def report_link(repository: str, dataset_id: str, question: Question, address: str) -> str | None:
    """The address that reports a problem with a question, bounded; None as in `_new_issue`.

    `address` is the address of the question, or empty if the address of the site was not given.
    """
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
    return _new_issue(repository, f"Problem with question {name}", "\n".join(body))


def takedown_link(repository: str, dataset_id: str) -> str | None:
    """The address that asks for a page of a dataset to be taken out; None as in `_new_issue`."""
    body = (
        f"Dataset: {dataset_id}\n"
        "Address of the page, or the host whose pages shall go:\n\n"
        "I own it, or speak for its owner: \n"
    )
    return _new_issue(repository, f"Take-down: a page of {dataset_id}", body)
