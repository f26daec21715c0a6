"""Hostile pages: every one ends within its limits as a page or a typed refusal, and the pool goes on."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from calibration import slowdown

from builder.clock import LOCAL_INSTANT
from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving import page_stage
from builder.deriving.killable_workers import CPU_LIMIT_S, WorkFailure, map_killable
from builder.deriving.page_stage import PageJob, PageResult, PageSettings
from builder.extract.extract import ExtractionFailure, extract_page
from builder.question_sets.question_files import read_questions

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from hostile_kinds import KINDS

MINI = Path(__file__).resolve().parents[2] / "edu_rag" / "mini" / "questions.jsonl"
GOOD = (
    b"<html><body><article>"
    + b"".join(b"<p>Plant %d makes its food from light, water and air.</p>" % n for n in range(30))
    + b"</article>"
)
REFUSALS = {"too_large", "too_many_tags", "too_many_attributes", "empty", "timeout", "memory", "crash"}
TEXTS = (
    "addresses that are none",
    "addresses of many groups",
    "initials",
    "hidden orders",
    "one question of the dataset",
)
STEP = 1 if os.environ.get("EDU_RAG_NIGHTLY") else 10
TRIED = list(dict.fromkeys([*list(KINDS)[2 % STEP :: STEP], *TEXTS]))
"""By day a tenth of the kinds; bench/hostile_html.py measures all."""


def job_of(name: str, body: bytes) -> PageJob:
    url = f"http://hostile.example/{name}"
    return PageJob(url=url, body=body, charset=None, fetched_at=LOCAL_INSTANT, html_sha256="0" * 64)


def settings() -> PageSettings:
    """Every filter off, so that no label is left out."""
    questions, golds = read_questions([MINI], None)
    off = FilterConfig(min_bytes=0, languages=(), error_pages=False, walls=False)
    return PageSettings(extract=ExtractConfig(), filter=off, label=LabelConfig(), questions=questions, golds=golds)


def _measured(job: PageJob) -> tuple[PageResult, float]:
    before = time.process_time()
    return page_stage.work(job), time.process_time() - before


def test_every_hostile_page_ends_as_a_page_or_a_typed_refusal_and_the_pool_goes_on() -> None:
    assert len(TRIED) >= 15
    jobs = [(name, job_of(name, KINDS[name]())) for name in TRIED] + [("good", job_of("good", GOOD))]
    # On a quiet core the slowest takes just under the first attempt's share of the limit; the bench holds it to that.
    limit_s = 2 * CPU_LIMIT_S * slowdown()
    prepare, retry = partial(page_stage.prepare, settings()), partial(page_stage.retry, "cascade-v1")
    results = dict(map_killable(iter(jobs), _measured, prepare, workers=2, cpu_limit_s=limit_s, retry=retry))
    assert list(results) == [name for name, _ in jobs]
    for name, result in results.items():
        if isinstance(result, WorkFailure):
            assert result.reason in REFUSALS, name
            continue
        found, took = result
        assert (found.outcome, found.detail) == ("kept", "") or found.detail in REFUSALS, name
        assert took <= limit_s, name
    assert not {name for name in TEXTS if isinstance(results[name], WorkFailure)}
    good = results["good"]
    assert not isinstance(good, WorkFailure)
    assert good[0].outcome == "kept"


def _hangs_first(job: PageJob) -> tuple[str, ...]:
    if not job.skip:
        while True:
            pass
    return job.skip


def test_a_page_whose_first_tool_hangs_is_tried_again_without_it() -> None:
    retry = partial(page_stage.retry, "cascade-v1")
    results = list(
        map_killable([("a", job_of("a", b""))], _hangs_first, _nothing, workers=1, cpu_limit_s=0.5, retry=retry)
    )
    assert results == [("a", ("trafilatura-fast", "trafilatura"))]


def _nothing() -> None:
    pass


@pytest.mark.parametrize("extractor", ["trafilatura-v1", "resiliparse-v1", "bs4-v1", "newspaper3k-v1"])
def test_single_tools_refuse_what_no_parser_may_see(extractor: str) -> None:
    found = extract_page(KINDS["200,000 attributes"](), None, extractor)
    assert found == ExtractionFailure(reason="too_many_attributes")
