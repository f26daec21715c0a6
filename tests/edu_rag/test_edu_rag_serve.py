"""The loop for system authors, in a real child process: nothing that an author's code does breaks the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = """
import os
import numpy
from edu_rag import serve
from edu_rag.serve import SystemAnswer

def answer(question):
    print("a stray print", question.text)
    os.write(1, b"raw bytes on stdout\\n")
    if question.text == "raise":
        raise ValueError("of two\\nlines")
    if question.text == "surrogate":
        return "\\ud800"
    if question.text == "odd type":
        return SystemAnswer(answer="a", confidence=object())
    if question.text == "foreign":
        numbers = {"confidence": numpy.float32(0.5), "input_tokens": numpy.int64(7), "cost_usd": numpy.int64(2)}
        passages = [(numpy.str_("p1"), numpy.int32(0), numpy.int64(6))]
        return SystemAnswer(answer=numpy.str_("a"), passages=passages, **numbers)
    if question.text.startswith("with "):
        return eval(f"SystemAnswer(answer='a', {question.text.removeprefix('with ')})")
    if question.text == "none":
        return None
    if question.text == "all":
        page = question.pages[0]
        start, end = page.sentences[0]
        passages = [(page.page_id, start, end)]
        return SystemAnswer(answer="b", response=page.text[start:end], confidence=0.5, passages=passages)
    return question.choices["a"]

serve(answer)
"""


def ask(*texts: str) -> tuple[list[dict[str, Any]], str]:
    """Put questions to SYSTEM in a child process under the C locale; return its replies and what it wrote on stderr."""
    page = {"page_id": "p1", "url": "http://x/", "title": "T", "text": "Ärger. Two.", "sentences": [[0, 6], [7, 11]]}
    questions = [
        {"id": f"r{n}", "text": text, "choices": {"a": "naïve 🙂"}, "kind": "multiple_choice", "pages": [page]}
        for n, text in enumerate(texts)
    ]
    lines = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONIOENCODING": "ascii:replace"}
    command = [sys.executable, "-c", SYSTEM]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, env=env, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode("utf-8", "replace")


def test_stray_prints_go_to_stderr_and_answers_keep_their_characters() -> None:
    replies, errors = ask("plain", "Größe?")
    assert replies == [{"id": "r0", "answer": "naïve 🙂"}, {"id": "r1", "answer": "naïve 🙂"}]
    assert "a stray print plain" in errors
    assert "raw bytes on stdout" in errors


def test_an_exception_costs_its_question_only() -> None:
    replies, errors = ask("raise", "plain")
    assert replies == [{"id": "r0", "error": "ValueError: of two lines"}, {"id": "r1", "answer": "naïve 🙂"}]
    assert "Traceback" in errors


def test_an_answer_that_is_no_json_costs_its_question_only() -> None:
    replies, _ = ask("surrogate", "odd type", "plain")
    assert [sorted(reply) for reply in replies] == [["error", "id"], ["error", "id"], ["answer", "id"]]
    assert replies[0]["error"].startswith("UnicodeEncodeError")


def test_numbers_and_texts_of_other_libraries_are_as_good_as_plain_ones() -> None:
    (reply,), _ = ask("foreign")
    assert reply == {
        "id": "r0",
        "answer": "a",
        "confidence": 0.5,
        "input_tokens": 7,
        "cost_usd": 2.0,
        "passages": [["p1", 0, 6]],
    }


def test_what_is_no_finite_number_or_no_text_costs_its_question_and_names_the_field() -> None:
    values = {
        "confidence=float('nan')": "ValueError: confidence: nan is not a finite number",
        "cost_usd=numpy.float32('inf')": "ValueError: cost_usd: inf is not a finite number",
        "confidence='0.5'": "TypeError: confidence: '0.5' is not a number",
        "confidence=True": "TypeError: confidence: True is not a number",
        "output_tokens=1.5": "TypeError: output_tokens: 1.5 is not a whole number",
        "response=3": "TypeError: response: 3 is not a text",
        "passages=5": "TypeError: passages: 5 is not a list of (page_id, start, end)",
        "passages=[('p1', 0.5, 2)]": "TypeError: passages: 0.5 is not a whole number",
    }
    replies, _ = ask(*(f"with {value}" for value in values))
    assert [reply["error"] for reply in replies] == list(values.values())


def test_none_is_an_abstention_and_what_was_not_said_is_left_out() -> None:
    replies, _ = ask("none")
    assert replies == [{"id": "r0", "answer": None}]


def test_a_full_answer_carries_its_passages_and_confidence() -> None:
    replies, _ = ask("all")
    assert replies == [{"id": "r0", "answer": "b", "response": "Ärger.", "confidence": 0.5, "passages": [["p1", 0, 6]]}]


def test_serve_is_the_function_however_it_is_imported() -> None:
    code = (
        "import edu_rag.serve, edu_rag; from edu_rag import serve; from edu_rag.serve import serve as same;"
        "print(callable(serve), serve is same, edu_rag.serve is same)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
