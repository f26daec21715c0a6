"""Update the row of a URL after a fetch: a first answer, a second try, or a refresh of an earlier answer."""

from __future__ import annotations

from dataclasses import replace

from builder.fetch.fetched import Fetched, Validators, is_transient, validators_of, was_asked
from builder.store.index import Fetch

MAX_ATTEMPTS = 3
"""Runs in which a URL that failed for the moment is tried, the first one included."""


def _has_failed_for_now(row: Fetch) -> bool:
    return is_transient(row.outcome, row.status, row.detail)


def is_due(row: Fetch | None, crawl_round: int, max_attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether a URL with this row is to be fetched (again) in this round of the crawl."""
    if row is None or row.round < crawl_round:
        return True
    return _has_failed_for_now(row) and row.attempts < max_attempts


def validators_for(row: Fetch | None) -> Validators | None:
    """The validators for a refresh's conditional request; None if there is no copy that an answer could confirm."""
    if row is None or row.outcome != "kept" or not (row.etag or row.last_modified):
        return None
    return Validators(etag=row.etag, last_modified=row.last_modified, final_url=row.final_url)


def _new_row(got: Fetched, digest: str | None, crawl_round: int, attempts: int) -> Fetch:
    seen = validators_of(got.headers, got.final_url) if got.outcome == "kept" else Validators()
    return Fetch(
        url=got.url,
        outcome=got.outcome,
        status=got.status,
        n_redirects=got.n_redirects,
        final_url=got.final_url,
        offset=None,
        length=None,
        digest=digest,
        fetched_at=got.fetched_at,
        detail=got.detail,
        etag=seen.etag,
        last_modified=seen.last_modified,
        signals=got.signals,
        attempts=attempts,
        round=crawl_round,
        checked_at=got.fetched_at,
    )


def _is_unchanged(before: Fetch | None, got: Fetched, digest: str | None) -> bool:
    if before is None or before.outcome != "kept" or got.outcome != "kept":
        return False
    return got.not_modified or (got.final_url, digest) == (before.final_url, before.digest)


def _signals_now(before: Fetch, got: Fetched) -> tuple[str, ...]:
    # A 304 brings headers but no page: the page's own reservations still apply.
    return tuple(sorted({*before.signals, *got.signals})) if got.not_modified else got.signals


def row_after(before: Fetch | None, got: Fetched, digest: str | None, crawl_round: int) -> tuple[Fetch, bool]:
    """The row of a URL after a fetch, and whether its content is new (its record is still to be written).

    A page that is as it was (304, or the same bytes at the same address) keeps its row and its `fetched_at`; what
    fails for the moment in a refresh keeps the old copy; everything else replaces it.
    """
    if before is None:
        return _new_row(got, digest, crawl_round, int(was_asked(got))), True
    if _is_unchanged(before, got, digest):
        seen = validators_of(got.headers, got.final_url)
        return replace(
            before,
            etag=seen.etag or before.etag,
            last_modified=seen.last_modified or before.last_modified,
            signals=_signals_now(before, got),
            attempts=1,
            round=crawl_round,
            checked_at=got.fetched_at,
        ), False
    is_retry = before.round == crawl_round
    fails_for_now = is_transient(got.outcome, got.status, got.detail)
    if fails_for_now and not is_retry and not _has_failed_for_now(before):
        return replace(before, attempts=1, round=crawl_round), False
    return _new_row(got, digest, crawl_round, (before.attempts if is_retry else 0) + int(was_asked(got))), True
