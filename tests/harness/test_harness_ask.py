"""`edu-rag ask`, and what it shares with `edu-rag try`: pages that go in, warm systems, verdicts, hostile texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asked_dataset import BAD, HOSTILE, ICE, LAVA, TEXTS, write_asked_dataset, write_asked_system
from click.testing import CliRunner, Result

from edu_rag.cli.asking.ask_command import ask
from edu_rag.cli.asking.page_search import LiveEngine, PageSearch
from edu_rag.cli.asking.try_command import host_in_url, host_warnings, try_
from edu_rag.errors import ConfigError, EduRagError, MissingExtraError
from edu_rag.files.dataset import Dataset
from edu_rag.records import page_id_of
from harness.asking.asked import AskedQuestion, SystemReply, ask_systems, asked_question
from harness.asking.known_questions import MAX_TEXT, KnownQuestions, typed_question
from harness.asking.page_input import PageInput, parse_page_input
from harness.pages.asked_panel import fault_panel, pages_panel, question_panel, reply_panel
from harness.running.run import Manner
from harness.running.warm_system import WarmSystem, open_warm
from harness.submission.folder import open_submission


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> KnownQuestions:
    return KnownQuestions(Dataset(write_asked_dataset(tmp_path_factory.mktemp("asked") / "dataset")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_asked_system(tmp_path_factory.mktemp("systems") / "test-system")


@pytest.fixture(scope="module")
def warm(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSystem]:
    with open_warm(open_submission(folder), Manner(caps=None), tmp_path_factory.mktemp("logs")) as system:
        yield system


def put(
    known: KnownQuestions, warm: WarmSystem, question_id: str, rule: str = "own"
) -> tuple[AskedQuestion, SystemReply]:
    question = known.question(question_id)
    asked = asked_question(known, question, known.pages(question), parse_page_input(rule))
    ((number, reply),) = ask_systems([warm], known, asked)
    assert number == 0
    return asked, reply


def seen(reply: SystemReply) -> dict[str, Any]:
    return dict(json.JSONDecoder().raw_decode(reply.prediction.response or "")[0])


def call(*words: object) -> Result:
    result = CliRunner().invoke(ask, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, EduRagError | SystemExit):
        raise result.exception
    return result


def test_a_question_of_the_dataset_is_asked_in_the_sandbox_and_judged(
    known: KnownQuestions, folder: Path, sandbox_here: None
) -> None:
    done = call("--question-id", "q1", "--dataset", known.dataset.folder, folder, "--json")
    said = json.loads(done.stdout)
    assert [(page["url"], len(page["evidence"])) for page in said["pages"]] == [(ICE, 0), (LAVA, 1)]
    (reply,) = said["replies"]
    assert (reply["answer"], reply["label"], reply["verdict"]["outcome"]) == ("b", "b", "correct")
    assert (reply["confidence"], reply["input_tokens"], reply["output_tokens"]) == (0.75, 1200, 3)
    assert reply["time_s"] > 0
    read = [(one["url"], one["text"], one["is_evidence"]) for one in reply["read"]]
    assert read == [(ICE, "Ice floats on water.", False), (LAVA, "Lava flows down a volcano.", True)]


def test_a_system_gets_the_question_under_a_random_id_and_nothing_of_its_gold(
    known: KnownQuestions, warm: WarmSystem
) -> None:
    _, reply = put(known, warm, "q1")
    assert seen(reply)["fields"] == ["choices", "id", "kind", "pages", "text"]
    assert seen(reply)["id"] == "(id)"  # it was random, and is taken out of what is shown
    assert "q1" not in (reply.prediction.response or "")


def test_a_process_waits_for_the_next_question_and_is_started_again_after_a_crash(
    known: KnownQuestions, warm: WarmSystem
) -> None:
    first, second = (put(known, warm, "q1")[1] for _ in range(2))
    assert seen(second)["n"] == seen(first)["n"] + 1
    assert not second.is_first
    crash = typed_question("Please crash now", [])
    asked = asked_question(known, crash, (), PageInput())
    ((_, fault),) = ask_systems([warm], known, asked)
    assert (fault.prediction.status, fault.prediction.answer) == ("crash", None)
    assert "exit code 3" in (fault.prediction.response or "")
    _, after = put(known, warm, "q1")
    assert (seen(after)["n"], after.is_first) == (1, True)


def test_several_systems_answer_at_once_each_in_its_place(known: KnownQuestions, folder: Path, tmp_path: Path) -> None:
    other = write_asked_system(tmp_path / "other-system", "None")
    done = call("--question-id", "q1", "--dataset", known.dataset.folder, folder, other, "--unsafe-no-sandbox")
    assert [line for line in done.stdout.splitlines() if line.startswith(("system", "answer", "verdict"))] == [
        "system     test-system (System test-system)",
        "answer     b: lava",
        "verdict    correct (+1): label b",
        "system     other-system (System other-system)",
        "answer     null (I don't know)",
        "verdict    abstained (+0): answer is null",
    ]
    assert ">>Lava flows down a volcano.<<" in done.stdout
    assert "tokens     1,200 in, 3 out" in done.stdout


@pytest.mark.parametrize(
    ("rule", "given"), [("own", [ICE, LAVA]), ("top-1", [ICE]), ("top-50", [ICE, LAVA]), ("none", [])]
)
def test_the_rule_decides_which_pages_go_in(
    known: KnownQuestions, warm: WarmSystem, rule: str, given: list[str]
) -> None:
    asked, reply = put(known, warm, "q1", rule)
    assert [page.url for page in asked.pages_shown] == given
    assert [passage.page_id for passage in reply.prediction.passages] == [page_id_of(url) for url in given]


def test_evidence_alone_is_cut_out_of_its_page_and_cited_in_the_whole_one(
    known: KnownQuestions, warm: WarmSystem
) -> None:
    asked, reply = put(known, warm, "q2", "evidence")
    (given,) = asked.given.pages
    assert given.text == TEXTS[BAD][: TEXTS[BAD].index(" More of it")]
    (marked,) = reply.read(asked)
    assert marked.page == known.pages(asked.question)[0]
    assert [marked.page.text[start:end] for start, end in marked.evidence] == ["Fish breathe with gills."]


def test_a_typed_question_gets_the_best_pages_of_the_dataset_and_no_verdict(
    known: KnownQuestions, folder: Path
) -> None:
    words = ("Does water freeze?", "--choices", "no|yes", "--dataset", known.dataset.folder, folder)
    said = json.loads(call(*words, "--unsafe-no-sandbox", "--json", "--pages", "top-1").stdout)
    assert (said["question"]["choices"], said["question"]["kind"]) == ({"a": "no", "b": "yes"}, "multiple_choice")
    assert [page["url"] for page in said["pages"]] == [ICE]
    assert (said["gold"], said["replies"][0]["verdict"]) == (None, None)
    assert said["replies"][0]["label"] == "b"


def test_pages_are_searched_by_bm25_and_a_question_without_words_finds_none(known: KnownQuestions) -> None:
    search = PageSearch(known.dataset, known.splits)
    assert [page.url for page in search.search("volcano lava")] == [LAVA]
    assert [page.url for page in search.search("water ice volcano", 2)] == [ICE, LAVA]
    assert search.search("?!") == []
    assert search.search('"quotes" AND NOT (zebra OR') == []


def test_live_pages_come_from_a_build_with_the_engine(tmp_path: Path) -> None:
    site = tmp_path / "sites" / "planets.example"
    site.mkdir(parents=True)
    for name in ("saturn", "mars"):
        saying = f"<p>The planet {name} was seen by many people long before there were telescopes.</p>\n" * 12
        (site / f"{name}.html").write_text(f"<html><title>{name}</title><body><h1>{name}</h1>{saying}</body></html>")
    question = typed_question("Is Saturn a planet?", ["yes", "no"])
    settings = tmp_path / "build.toml"
    settings.write_text('[label]\nvectors = "all-MiniLM-L6-v2"\n')  # a dataset's setting: this build has no use for it
    urls = [page.url for page in LiveEngine("folder", settings, site.parent).pages(question)]
    assert urls == ["http://planets.example/saturn.html", "http://planets.example/mars.html"]


def test_a_hidden_split_has_no_verdict(known: KnownQuestions, warm: WarmSystem) -> None:
    asked, reply = put(known, warm, "s1")
    assert (asked.gold, reply.verdict, asked.pages) == (None, None, [])


@pytest.mark.parametrize(
    ("text", "choices", "said"),
    [
        (" ", [], "question: is empty"),
        ("x" * (MAX_TEXT + 1), [], "at most 4,000 are allowed"),
        ("Why?", ["one"], "choices: 1 given: give none, or 2 to 26"),
        ("Why?", ["one"] * 27, "27 given"),
        ("Why?", ["one", "x" * 1_001], "one has over 1,000 characters"),
    ],
)
def test_what_cannot_be_asked_is_refused(text: str, choices: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        typed_question(text, choices)


def test_true_and_false_are_recognised_and_no_choices_are_free_text() -> None:
    assert typed_question("Ice is cold.", ["True", "False"]).kind == "true_false"
    assert typed_question("Why is ice cold?", []).kind == "free_text"


def test_a_long_question_is_asked_and_no_page_is_searched_for_none(known: KnownQuestions, folder: Path) -> None:
    words = ("Why? " * 500, "--dataset", known.dataset.folder, folder, "--unsafe-no-sandbox", "--json")
    # The engine would fail: it has no sites.
    said = json.loads(call(*words, "--pages", "none", "--engine", "folder").stdout)
    assert (said["question"]["text"], said["pages"]) == (words[0].strip(), [])


def test_faults_of_visitors_name_no_path_and_no_option(known: KnownQuestions) -> None:
    with pytest.raises(ConfigError) as fault:
        known.question("q11")
    assert str(fault.value) == f"question: unknown question id 'q11' in {known.dataset.id}: did you mean 'q1'?"
    with pytest.raises(ConfigError, match=r"^pages: unknown"):
        parse_page_input("all")


@pytest.mark.parametrize("rule", ["top-0", "top-51", "top-x", "top", "all", "", "top-1\n"])
def test_an_unknown_rule_for_pages_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match="choose own, top-1 to top-50, evidence or none"):
        parse_page_input(rule)


def test_faults_of_the_command_line_are_one_line_each(known: KnownQuestions, folder: Path) -> None:
    data = ("--dataset", known.dataset.folder)
    assert "give the QUESTION first" in call(folder, *data).stderr
    assert call(folder, *data).exit_code == 2
    assert "give a QUESTION and a SYSTEM" in call("Why?", *data).stderr
    assert (
        "--choices belong to a typed QUESTION" in call("--question-id", "q1", "--choices", "a|b", *data, folder).stderr
    )
    unknown = call("--question-id", "q11", *data, folder).exception
    assert str(unknown) == ("--question-id: unknown question id 'q11' in " + known.dataset.id + ": did you mean 'q1'?")
    assert "4 chosen: choose 1 to 3" in str(
        call("--question-id", "q1", *data, *[folder] * 4, "--unsafe-no-sandbox").exception
    )
    twice = call("--question-id", "q1", *data, folder, folder, "--unsafe-no-sandbox").exception
    assert "two systems are called test-system" in str(twice)
    no_evidence = call("Why?", "--pages", "evidence", *data, folder, "--unsafe-no-sandbox").exception
    assert "--pages: no evidence is known for this question" in str(no_evidence)
    live = call("--question-id", "q1", "--engine", "folder", *data, folder)
    assert (live.exit_code, "--engine finds pages for a typed QUESTION" in live.stderr) == (2, True)
    malformed = call("--question-id", "q1", *data, folder, "--allow-network", "API.example.org").exception
    assert str(malformed).startswith("--allow-network: ")
    network = call("--question-id", "q1", *data, folder, "--allow-network", "api.example.org").exception
    assert "--allow-network: no system asks for 'api.example.org'" in str(network)
    assert "--sites: is for an engine" in str(call("Why?", "--sites", "x", *data, folder).exception)


def test_hostile_texts_are_escaped_on_the_page_and_harmless_in_a_terminal(
    known: KnownQuestions, warm: WarmSystem, folder: Path
) -> None:
    asked, reply = put(known, warm, "q2")
    for panel in (
        question_panel(asked),
        reply_panel(asked, reply),
        pages_panel(asked, reply),
        fault_panel(HOSTILE),
    ):
        assert "&lt;script&gt;" in panel
        assert "&lt;img src=x" in panel
        assert not any(markup in panel for markup in ("<script", "<img", "<b>bad", "\u202e"))
    done = call("--question-id", "q2", "--dataset", known.dataset.folder, folder, "--unsafe-no-sandbox")
    assert "\u202e" not in done.stdout
    assert HOSTILE[:20] in done.stdout


def test_read_sentences_evidence_and_leaks_are_marked_in_the_pages(known: KnownQuestions, warm: WarmSystem) -> None:
    asked, reply = put(known, warm, "q1")
    panel = pages_panel(asked, reply)
    assert '<sup class="cite">2</sup><mark><u>Lava flows down a volcano.</u></mark> Its slopes are gentle.' in panel
    assert "2 of 2 pages read" in panel
    assert "is a leak" not in pages_panel(*put(known, warm, "q1", "none"))
    assert "The system got no page." in pages_panel(*put(known, warm, "q1", "none"))


def test_a_page_without_marks_shows_its_start(known: KnownQuestions, folder: Path, tmp_path: Path) -> None:
    silent = write_asked_system(tmp_path / "silent-system")
    (silent / "system.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'answer': None}), flush=True)\n"
    )
    with open_warm(open_submission(silent), Manner(caps=None), tmp_path) as system:
        asked, reply = put(known, system, "q1", "top-1")
    assert "0 of 1 page read" in pages_panel(asked, reply)
    assert "Ice floats on water. Water freezes at zero degrees." in pages_panel(asked, reply)


def test_try_warns_of_a_host_that_others_reach() -> None:
    assert [host_warnings(host) for host in ("127.0.0.1", "127.0.0.2", "LOCALHOST", "::1")] == [[]] * 4
    assert "0.0.0.0 is open to the network" in host_warnings("0.0.0.0")[0]
    assert "example.org is open to the network" in host_warnings("example.org")[0]
    assert [host_in_url(host) for host in ("127.0.0.1", "::1")] == ["127.0.0.1", "[::1]"]


def test_try_names_the_extra_where_gradio_is_missing(
    known: KnownQuestions, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = [str(word) for word in ("--dataset", known.dataset.folder, folder)]
    fault = CliRunner().invoke(try_, words).exception
    assert isinstance(fault, MissingExtraError)
    assert str(fault) == "edu-rag try: gradio is not installed: pip install 'edu-rag-bench[try]'"
    assert "gradio" not in sys.modules
