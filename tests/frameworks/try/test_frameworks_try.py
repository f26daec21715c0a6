"""`edu-rag try` in a real browser, with the real Gradio: ask, see the answers, judge them; hostile texts stay texts."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from asked_dataset import HOSTILE, write_asked_dataset, write_asked_system
from real_browser import PATIENCE_MS

from harness.sandbox.caps import Caps
from harness.sandbox.doctor import examine

if find_spec("gradio") is None:
    pytest.skip("NOT RUN: gradio is not installed (make frameworks)", allow_module_level=True)
ROOT = Path(__file__).resolve().parents[3]
_VIOLATIONS = """async () => (await axe.run({include: [['.asked']]}, {resultTypes: ['violations']})).violations.map(
  (rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => node.html).join(' , ')}`)"""


class Served(NamedTuple):
    """A running `edu-rag try`: its address, port, process, and the file of annotations."""

    address: str
    port: int
    process: subprocess.Popen[str]
    annotations: Path


def app_of_the_docs(systems: list[Path]) -> str:
    """The `app.py` of docs/try.md, on loopback, with these systems; in the sandbox where there is one."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "try.md").read_text(encoding="utf-8"), re.DOTALL)
    names = ", ".join(f'"systems/{system.name}"' for system in systems)
    changes = {'"systems/my-system"': names, '"--host", "0.0.0.0", "--port", "7860", ': ""}
    if examine(Caps())[0].in_force:
        changes[', "--unsafe-no-sandbox"'] = ""
    for old, new in changes.items():
        assert old in code, old
        code = code.replace(old, new)
    return code


def started(folder: Path) -> Served:
    write_asked_dataset(folder / "dataset")
    systems = [
        write_asked_system(folder / "systems" / "sound-system"),
        write_asked_system(folder / "systems" / "hostile-system", repr(HOSTILE)),
        write_asked_system(folder / "systems" / "silent-system", "None"),
    ]
    (folder / "app.py").write_text(app_of_the_docs(systems), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "app.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    if not address:
        pytest.fail(process.communicate()[1])
    return Served(address, int(address.rstrip("/").rpartition(":")[2]), process, folder / "annotations.jsonl")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = started(tmp_path_factory.mktemp("try"))
    yield running
    shown_page = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    shown_page.request("GET", "/gradio_api/heartbeat/shown")
    assert shown_page.getresponse().status == 200  # and the stream stays open
    running.process.send_signal(signal.SIGINT)
    _, said = running.process.communicate(timeout=120)
    assert (running.process.returncode, "Traceback" in said) == (0, False), said


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    """A page whose console messages, errors, dialogs and foreign requests fail the test, also in pages opened later."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    troubles: list[str] = []
    context.on("console", lambda message: troubles.append(message.text))
    context.on("weberror", lambda error: troubles.append(str(error.error)))
    context.on("dialog", lambda dialog: troubles.append(dialog.message))
    own = (served.address, "data:", "blob:")
    context.on("request", lambda r: None if r.url.startswith(own) else troubles.append(r.url))
    yield context.new_page()
    assert troubles == []
    context.close()


def visit(page: Any, served: Served, query: str = "") -> None:
    page.goto(served.address + query)
    page.locator("#ask").wait_for()


def choose(page: Any, label: str) -> None:
    page.get_by_label(label, exact=True).check()


def asked(page: Any, n: int = 3) -> Any:
    """Click, and wait for all answers; the column of the first."""
    page.locator("#ask").click()
    for place in range(n):
        page.locator(f"#reply-{place} dl.facts").wait_for()
        page.locator(f"#reply-{place} section.asked").wait_for()
    return page.locator("#reply-0")


def test_a_visitor_picks_a_question_sees_three_answers_and_judges_one(page: Any, served: Served) -> None:
    visit(page, served)
    page.get_by_label("Question of the dataset").click()
    page.get_by_role("option", name="q1: What flows down a volcano?").click()
    first = asked(page)
    words = first.inner_text()
    for said in ("System sound-system", "lava", "correct (+1)", "0.750", "1,200 in, 3 out", "2 of 2 pages read"):
        assert said in words, said
    assert first.locator("mark u").inner_text() == "Lava flows down a volcano."
    assert "abstained" in page.locator("#reply-2").inner_text()
    assert page.locator("#question li.gold").inner_text().startswith("b lava")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.evaluate(_VIOLATIONS) == []

    first.get_by_label("The pages are not enough", exact=True).check()
    first.get_by_label("4", exact=True).check()
    first.get_by_role("button", name="Save my judgement").click()
    first.get_by_text("Saved in annotations.jsonl.").wait_for()
    (line,) = [json.loads(line) for line in served.annotations.read_text(encoding="utf-8").splitlines()]
    assert (line["label"], line["correctness"]) == ("Insufficient Context", 4)
    reply = line["reply"]
    assert (reply["system"], reply["question_id"], reply["answer"], reply["outcome"]) == (
        "sound-system",
        "q1",
        "b",
        "correct",
    )


def test_a_link_restores_a_typed_question_and_its_knob(page: Any, served: Served) -> None:
    visit(page, served)
    choose(page, "My own")
    page.get_by_label("Your question").fill("Does water freeze? <b>")
    page.get_by_label("Choices, one per line").fill("no\nyes & more")
    choose(page, "First k pages")
    page.get_by_label("number input for k").fill("7")
    page.get_by_label("System hostile-system", exact=True).uncheck()
    first = asked(page, n=2)
    assert "1. Ice" in first.inner_text()
    assert "yes & more" in first.inner_text()
    page.wait_for_url("**/?text=*pages=top-7")
    # In a page of its own: Gradio logs an error where a page is left before the last event is over.
    link, page = page.url, page.context.new_page()
    page.goto(link)
    page.locator("#ask").wait_for()
    page.get_by_label("Your question").wait_for()
    assert page.get_by_label("Your question").input_value() == "Does water freeze? <b>"
    assert page.get_by_label("Choices, one per line").input_value() == "no\nyes & more"
    boxes = [page.get_by_label(f"System {name}-system", exact=True) for name in ("sound", "hostile", "silent")]
    assert [box.is_checked() for box in boxes] == [True, False, True]
    assert page.get_by_label("First k pages", exact=True).is_checked()
    knob = page.get_by_label("number input for k")
    assert (knob.is_visible(), knob.input_value(), knob.get_attribute("max")) == (True, "7", "50")
    asked(page, n=2)
    page.locator("#link").wait_for()
    choose(page, "Evidence only")
    page.locator("#ask").click()
    page.get_by_role("alert").get_by_text("no evidence is known for this question").wait_for()
    page.locator("#link").wait_for(state="hidden")


def test_a_choice_shows_its_fields_and_asks_the_server_nothing(page: Any, served: Served) -> None:
    """An event that meets the end of another one's stream gets no reply, so that a quick click on Ask did nothing."""
    posted: list[str] = []
    page.on("request", lambda request: posted.append(request.url) if request.method == "POST" else None)
    visit(page, served)
    page.get_by_label("Question of the dataset").wait_for()
    fields = [page.locator(f"#{name}") for name in ("question-id", "typed-text", "typed-choices", "top", "link")]
    assert [field.is_visible() for field in fields] == [True, False, False, False, False]
    choose(page, "My own")
    choose(page, "First k pages")
    assert [field.is_visible() for field in fields] == [False, True, True, True, False]
    choose(page, "From the dataset")
    choose(page, "All pages")
    assert [field.is_visible() for field in fields] == [True, False, False, False, False]
    page.wait_for_timeout(500)
    assert posted == []
    asked(page)
    page.locator("#link").wait_for()
    assert page.locator("#link").locator("textarea, input").input_value() == page.url
    assert [url.rpartition("/")[2].partition("?")[0] for url in posted] == ["join"]


def test_hostile_questions_pages_and_answers_are_texts(page: Any, served: Served) -> None:
    visit(page, served, "?question=q2&system=hostile-system&pages=own")
    page.wait_for_function("document.querySelector('#question-id input').value.startsWith('q2: ')")
    shown = asked(page, n=1)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    visible = HOSTILE.replace("\u202e", "\ufffd").strip()
    assert visible in page.locator("#question h2").inner_text()
    assert visible in shown.locator("blockquote").inner_text()
    assert HOSTILE[:90] in shown.locator(".asked-answer").inner_text()
    assert page.title() == "Ask asked@" + page.title().partition("@")[2]
    assert page.locator(".asked :is(script, img, b > b)").count() == 0
    assert page.evaluate("[...document.querySelectorAll('.asked a')].every((a) => a.protocol.startsWith('http'))")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/gradio_api/file=/etc/passwd", 404),
        ("GET", "/gradio_api/proxy=http://127.0.0.1/", 404),
        ("GET", "/gradio_api/info", 404),
        ("POST", "/gradio_api/upload", 404),
        ("POST", "/gradio_api/vibe-edit", 404),
        ("GET", "/assets/../../../../../../etc/passwd", 403),
        ("GET", "/static/..%2f..%2f..%2f..%2fetc/passwd", 403),
        ("GET", "/", 200),
    ],
)
def test_the_server_answers_what_the_page_needs_and_nothing_else(
    served: Served, method: str, path: str, status: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request(method, path, body=b"x" if method == "POST" else None)
    answer = connection.getresponse()
    assert answer.status == status
    if status == 200:
        policy = answer.getheader("Content-Security-Policy") or ""
        assert "default-src 'self'" in policy
        assert "*" not in policy
        page = answer.read().decode()
        assert "</script><script>document.title" not in page  # the questions are part of the page's own script


def test_a_second_ctrl_c_while_the_server_stops_changes_nothing() -> None:
    import uvicorn

    from edu_rag.cli.asking.try_server import _Server

    server = _Server(uvicorn.Config(lambda: None))
    for _ in range(2):
        server.handle_exit(signal.SIGINT, None)
    assert (server.should_exit, server.force_exit, server._captured_signals) == (True, False, [signal.SIGINT])


def test_a_foreign_host_name_and_an_endless_body_are_refused(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", "/", headers={"Host": "evil.example"})
    assert connection.getresponse().status == 421
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("POST", "/gradio_api/queue/join", body=b"x" * 2_000_000)
    assert connection.getresponse().status == 413
