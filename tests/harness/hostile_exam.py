"""A dataset, two systems and scorecards whose every text is written by an enemy of the reader's browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of
from edu_rag.scorecard.card import ScoreCard, Slice, SystemFacts

HOSTILE = (
    "<script>window.harmed=1</script>",
    "</td></tr></table></blockquote><img src=x onerror=window.harmed=1>",
    '" onmouseover="window.harmed=1" x="',
    "' autofocus onfocus='window.harmed=1",
    "</title></style></textarea><script>window.harmed=1</script>",
    "<style>body{display:none}</style><base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example>",
    "{{ 7*7 }}{% raw %}",
    "javascript:window.harmed=1",
    "W" * 5_000,
    "word " * 1_000,
    "\u202eedoc lived\u202d \u2066unclosed \u200b\u00ad\ufeff",
    "مرحبا بالعالم نظام الإجابة " * 20,
    "Z\u0300\u0301\u0302\u0303" * 200,
    "\x07\x1b[31mred\r\nnew line\x85",
    "👩‍🔬🧪" * 40,
)
URLS = (
    "javascript:window.harmed=1",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>window.harmed=1</script>",
    'https://ok.example/"onclick="x',
    "//evil.example/x",
    "https://good.example/page",
    "file:///etc/passwd",
    "https://" + "a" * 5_000 + ".example",
    "java\nscript:alert(1)",
    "https://exаmple.org/",
)
WHEN = datetime(2000, 1, 1, tzinfo=UTC)


def _page(number: int, text: str) -> WebPage:
    url = URLS[number % len(URLS)] + ("" if number < len(URLS) else f"#{number}")
    body = f"{text} Cells divide by mitosis. {text}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=text,
        text=body,
        sentences=(Span(0, len(body)),),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor=text[:40],
        flags=("injection",),
    )


def write_exam(folder: Path) -> Dataset:
    """One question a string; its page, evidence and leak hold the string too."""
    pages = [_page(number, text) for number, text in enumerate(HOSTILE)]
    questions = [
        Question(
            question_id=f"<b>{number:02}'\"&</b>",
            text=text,
            choices={"a": text, "b": "mitosis", "c": f"c {text}"},
            kind="multiple_choice",
            split="test",
            lesson=text,
            flags=("truncated",),
        )
        for number, text in enumerate(HOSTILE)
    ]
    both = list(zip(questions, pages, strict=True))
    at = [page.text.index("Cells") for page in pages]
    write_dataset(
        folder,
        {
            "questions": {"test": questions},
            "gold": {"test": [Gold(question_id=q.question_id, answer="b") for q in questions]},
            "pages": {"test": pages},
            "hits": {
                "test": [
                    SearchHit(
                        question_id=q.question_id,
                        page_id=p.page_id,
                        url=p.url,
                        rank=1,
                        engine="x",
                        query=q.text,
                        searched_at=WHEN,
                        outcome="kept",
                    )
                    for q, p in both
                ]
            },
            "evidence": {
                "test": [
                    Evidence(question_id=q.question_id, page_id=p.page_id, start=start, end=start + 24, method="x-v1")
                    for (q, p), start in zip(both, at, strict=True)
                ]
            },
            "leaks": {
                "test": [
                    Leak(question_id=q.question_id, page_id=p.page_id, start=0, end=10, kind="leak_key")
                    for q, p in both
                ]
            },
        },
        name="hostile",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={"leaks": {"leak_key": 1}},
        documents=lambda folder, files: {"README.md": b"# hostile\n"},
    )
    return Dataset(folder)


def write_predictions(path: Path, dataset: Dataset, answer: str) -> Path:
    """Answers that hold the string after a label, as the response too; passages of real and of unheard-of pages."""
    lines = []
    for question, page in zip(
        dataset.questions("test"), [page_id_of(_page(n, t).url) for n, t in enumerate(HOSTILE)], strict=True
    ):
        passages: Sequence[object] = [[page, 0, 30], [page, 5, 12], [question.text[:60] or "x", 0, 5], [page, 0, 10**8]]
        lines.append(
            {
                "question_id": question.question_id,
                "answer": answer + question.text[:2_000],
                "response": question.text,
                "confidence": 0.5,
                "latency_s": 1.5,
                "input_tokens": 3,
                "passages": passages,
            }
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def hostile_card(card: ScoreCard, text: str) -> ScoreCard:
    """A scorecard of a stranger: the string in every text that it has, and in the names of its figures."""
    system = SystemFacts(
        slug=card.system.slug,
        name=text,
        team=text,
        description=text,
        contact=text,
        links=(text,),
        licence=text,
        models=(text,),
    )
    return replace(
        card,
        system=system,
        harness=text,
        answers_rule=text,
        interval_method=text,
        scored_at=text,
        predictions_sha256=text,
        slices=(*card.slices, Slice(attribute=text, value=text, counts=card.counts)),
        retrieval={text: text},
        confidence={text: {text: 0.5}},
        cost={text: text},
        probes={text: [text], "x": text},
        attribution={},
    )
