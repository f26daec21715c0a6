"""Where an owner asks for a page to be taken out, and the words of that request."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from edu_rag.look.links import safe_link


def takedown_link(repository: str, dataset_id: str) -> str | None:
    """`<repository>/issues/new?title=…&body=…`; None if there is no repository that a page may link to."""
    if not repository.startswith(("https://", "http://")) or safe_link(repository) is None:
        return None
    body = (
        f"Dataset: {dataset_id}\n"
        "Address of the page, or the host whose pages shall go:\n\n"
        "I own it, or speak for its owner: \n"
    )
    values = {"title": f"Take-down: a page of {dataset_id}", "body": body}
    return f"{repository.rstrip('/')}/issues/new?{urlencode(values, quote_via=quote)}"
