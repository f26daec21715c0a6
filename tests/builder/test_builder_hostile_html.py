"""Hostile pages: every one ends within its limits with text or a typed refusal, and the pool goes on."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import pytest

from builder.extract.extract import Extracted, ExtractionFailure, PageJob, extract_page, prepare, retry_page
from builder.workers import CPU_LIMIT_S, WorkFailure, map_killable

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from hostile_kinds import KINDS

GOOD = b"<html><body><article>" + b"".join(
    b"<p>Plant %d makes its food from light, water and air.</p>" % n for n in range(30)
) + b"</article>"  # fmt: skip
REFUSALS = {"too_large", "too_many_tags", "too_many_attributes", "empty", "timeout", "memory", "crash"}
QUICK = list(dict.fromkeys([*list(KINDS)[2::5], *list(KINDS)[4::6]]))
"""A third of them; bench/hostile_html.py runs all."""


def _measured(job: PageJob) -> tuple[str, bool, float]:
    before = time.process_time()
    found = extract_page(job.body, job.charset, job.extractor, job.skip)
    took = time.process_time() - before
    return ("text" if isinstance(found, Extracted) else found.reason), isinstance(found, Extracted), took


def test_every_hostile_page_ends_with_text_or_a_typed_refusal_and_the_pool_goes_on() -> None:
    assert len(QUICK) >= 32
    jobs = [(name, PageJob(body=KINDS[name](), charset=None, extractor="cascade-v1")) for name in QUICK]
    jobs.append(("good", PageJob(body=GOOD, charset=None, extractor="cascade-v1")))
    results = dict(map_killable(iter(jobs), _measured, partial(prepare, "cascade-v1"), workers=2, retry=retry_page))
    assert list(results) == [name for name, _ in jobs]
    for name, result in results.items():
        if isinstance(result, WorkFailure):
            assert result.reason in REFUSALS, name
        else:
            assert result[1] or result[0] in REFUSALS, name
            assert result[2] <= CPU_LIMIT_S, name
    good = results["good"]
    assert not isinstance(good, WorkFailure)
    assert good[0] == "text"


def _hangs_first(job: PageJob) -> tuple[str, ...]:
    if not job.skip:
        while True:
            pass
    return job.skip


def test_a_page_whose_first_tool_hangs_is_tried_again_without_it() -> None:
    jobs = [("a", PageJob(body=b"", charset=None, extractor="cascade-v1"))]
    results = list(map_killable(jobs, _hangs_first, _nothing, workers=1, cpu_limit_s=0.5, retry=retry_page))
    assert results == [("a", ("trafilatura-fast", "trafilatura"))]


def _nothing() -> None:
    pass


@pytest.mark.parametrize("extractor", ["trafilatura-v1", "resiliparse-v1", "bs4-v1", "newspaper3k-v1"])
def test_single_tools_refuse_what_no_parser_may_see(extractor: str) -> None:
    found = extract_page(KINDS["200,000 attributes"](), None, extractor)
    assert found == ExtractionFailure(reason="too_many_attributes")
