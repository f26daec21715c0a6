"""A dataset of two questions, one of them full of markup, and a system that reports what it was asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Evidence, Leak, Question, SearchHit, Span, WebPage, page_id_of

AT = datetime(2026, 1, 2, tzinfo=UTC)
HOSTILE = (
    '<script>document.title="taken"</script><img src=x onerror=\'document.title="taken"\'> ${document.title="taken"}'
    " {{#if value}}taken{{/if}} @children [link](javascript:alert(1)) </code></script><!-- \u202e"
)
"""Markup, and what the templates of Gradio's components would evaluate."""
TEXTS = {
    "http://one.example/lava": "Lava flows down a volcano. Its slopes are gentle.",
    "http://two.example/ice": "Ice floats on water. Water freezes at zero degrees.",
    "http://three.example/<b>bad</b>": f"{HOSTILE} Fish breathe with gills. More of it.",
}
LAVA, ICE, BAD = TEXTS


def _page(url: str) -> WebPage:
    text = TEXTS[url]
    cut = text.index(". ") + 1
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=f"{HOSTILE} title" if url == BAD else url.rpartition("/")[2].title(),
        text=text,
        sentences=(Span(0, cut), Span(cut + 1, len(text))),
        fetched_at=AT,
        html_sha256="0" * 64,
        extractor="test",
    )


def _hit(question_id: str, rank: int, url: str) -> SearchHit:
    return SearchHit(
        question_id=question_id,
        page_id=page_id_of(url),
        url=url,
        rank=rank,
        engine="test",
        query="query",
        searched_at=AT,
        outcome="kept",
    )


def write_asked_dataset(folder: Path) -> Path:
    """q1 has two pages, the second with evidence; q2 and its page are hostile; `hidden` is a split without gold."""
    asked = [
        Question(
            question_id="q1",
            text="What flows down a volcano?",
            choices={"a": "milk", "b": "lava", "c": "ice"},
            kind="multiple_choice",
            split="val",
        ),
        Question(
            question_id="q2",
            text=f"{HOSTILE} What do fish breathe with?",
            choices={"a": "lungs", "b": f"gills {HOSTILE}"},
            kind="multiple_choice",
            split="val",
        ),
    ]
    secret = Question(question_id="s1", text="Is ice cold?", choices={}, kind="free_text", split="hidden")
    bad_start = TEXTS[BAD].index("Fish breathe")
    write_dataset(
        folder,
        {
            "questions": {"val": asked, "hidden": [secret]},
            "gold": {"val": [Gold(question_id="q1", answer="b"), Gold(question_id="q2", answer="a")]},
            "hits": {"val": [_hit("q1", 1, ICE), _hit("q1", 2, LAVA), _hit("q2", 1, BAD)]},
            "pages": {"val": [_page(url) for url in TEXTS]},
            "evidence": {
                "val": [
                    Evidence(question_id="q1", page_id=page_id_of(LAVA), start=0, end=26, method="test-v1"),
                    Evidence(
                        question_id="q2", page_id=page_id_of(BAD), start=bad_start, end=bad_start + 24, method="test-v1"
                    ),
                ]
            },
            "leaks": {"val": [Leak(question_id="q2", page_id=page_id_of(BAD), start=0, end=10, kind="leak_question")]},
        },
        name="asked",
        version="1.0.0",
        created_at="2026-01-02T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda *_: {"README.md": b"# asked\n"},
    )
    return folder


SYSTEM = """
import json, os, sys
n = 0
for line in sys.stdin:
    asked = json.loads(line)
    n += 1
    if "crash" in asked["text"]:
        sys.exit(3)
    seen = {"n": n, "pid": os.getpid(), "fields": sorted(asked), "id": asked["id"]}
    print(json.dumps({
        "id": asked["id"],
        "answer": ANSWER,
        "response": json.dumps(seen) + " " + asked["text"],
        "confidence": 0.75,
        "input_tokens": 1200,
        "output_tokens": 3,
        "passages": [[page["page_id"], *page["sentences"][0]] for page in asked["pages"]],
    }), flush=True)
"""


def write_asked_system(folder: Path, answer: str = '"b"') -> Path:
    """A system that answers with the value of a Python expression, cites first sentences, and says what it got."""
    folder.mkdir(parents=True)
    settings = f'name = "System {folder.name}"\nteam = "us"\ncommand = ["python", "system.py"]\n'
    (folder / "submission.toml").write_text(settings, encoding="utf-8")
    (folder / "system.py").write_text(SYSTEM.replace("ANSWER", answer), encoding="utf-8")
    return folder
