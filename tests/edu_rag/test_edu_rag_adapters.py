"""Adapters without a framework: any function, and the errors of `serve` that name the line to change."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edu_rag.adapters import any_callable, openai_chat, stand_in
from edu_rag.adapters.pipeline_inputs import prompt_of
from edu_rag.author_lines import returns_of
from edu_rag.serve import SystemAnswer, SystemPage, SystemQuestion, _reply_or_error, serve

ROOT = Path(__file__).resolve().parents[2]
PAGE = SystemPage(page_id="p1", url="http://x.example/", title="T", text="Ice floats. Cells divide.", sentences=())
QUESTION = SystemQuestion(
    id="r0", text="What floats?", choices={"a": "iron", "b": "ice"}, kind="multiple_choice", pages=(PAGE,)
)
MESSAGE = SimpleNamespace(content=["b"])
LINE = json.dumps({"id": "r0", "text": "x", "choices": {"a": "iron", "b": "ice"}, "kind": "matching", "pages": []})


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("b", "b"),
        (None, None),
        ({"answer": "b"}, SystemAnswer(answer="b")),
        ({"answer": None, "confidence": 0.5}, SystemAnswer(answer=None, confidence=0.5)),
        ({"answer": "b", "passages": None, "response": "it is b"}, SystemAnswer(answer="b", response="it is b")),
        (SystemAnswer(answer="a"), SystemAnswer(answer="a")),
    ],
)
def test_any_function_may_answer_in_its_own_form(said: Any, wanted: Any) -> None:
    assert any_callable(lambda question: said)(QUESTION) == wanted

    async def later(question: SystemQuestion) -> Any:
        return said

    assert any_callable(later)(QUESTION) == wanted


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"answr": "b"}, "unknown key 'answr': did you mean 'answer'?"),
        ({"answer": "b", "zzz": 1}, "unknown key 'zzz': known are answer, response"),
        ({"confidence": 1}, "no key 'answer': return {'answer': 'b'}"),
    ],
)
def test_a_dict_with_other_keys_is_an_error_that_names_them(said: Any, message: str) -> None:
    with pytest.raises(TypeError) as error:
        any_callable(lambda question: said)(QUESTION)
    assert message in str(error.value)
    assert str(error.value).startswith("test_edu_rag_adapters.py:")


def test_an_adapter_s_own_line_is_not_named() -> None:
    create = {"create": lambda **given: SimpleNamespace(choices=[SimpleNamespace(message=MESSAGE)], usage=None)}
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(**create)))
    error = json.loads(_reply_or_error(LINE.encode(), openai_chat(client, "some-model")))["error"]
    assert error == "TypeError: returned ['b'] (list): return a label, a text, None or a SystemAnswer"


def test_an_async_function_has_one_loop_for_all_questions() -> None:
    loops = set()

    async def answer(question: SystemQuestion) -> str:
        loops.add(asyncio.get_running_loop())
        return "a"

    ask = any_callable(answer)
    assert [ask(QUESTION), ask(QUESTION)] == ["a", "a"]
    assert len(loops) == 1


def test_a_stand_in_takes_the_choice_that_the_text_is_about() -> None:
    choices = "\na. respiration\nb. photosynthesis"
    assert stand_in(f"Plants live by photosynthesis. What is it?{choices}") == "b"
    assert stand_in(f"Both are words, photosynthesis and respiration.{choices}") == "I don't know"
    assert stand_in(f"Neither.{choices}") == stand_in("no choices") == stand_in("") == "I don't know"


def test_a_chat_client_gets_the_question_with_the_passages_that_were_found() -> None:
    asked: dict[str, Any] = {}

    def create(**given: Any) -> Any:
        asked.update(given)
        message = SimpleNamespace(content="b")
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    passage = SimpleNamespace(page_id="p1", start=0, end=11, text="Ice floats.")
    said = openai_chat(client, "some-model", find=lambda question: [passage], temperature=0.5)(QUESTION)  # type: ignore[list-item]
    assert said == SystemAnswer(answer="b", passages=[("p1", 0, 11)])
    assert (asked["model"], asked["temperature"]) == ("some-model", 0.5)
    assert asked["messages"][0]["content"].endswith(
        "Passages:\nIce floats.\n\nQuestion: What floats?\nChoices:\na. iron\nb. ice\nAnswer:"
    )


def test_the_prompt_of_a_question_without_choices_asks_for_no_label() -> None:
    free = SystemQuestion(id="r0", text="What floats?", choices={}, kind="free_text", pages=(PAGE,))
    prompt = prompt_of(free, ())
    assert prompt.endswith("Question: What floats?\nAnswer:")
    assert "few words" in prompt
    assert not any(word in prompt for word in ("label", "hoice"))
    assert "label of one choice" in prompt_of(QUESTION, ())


def served(code: str) -> str:
    """The error that the answer of a script comes back with."""
    given: list[Any] = []
    exec(compile(code, "mine.py", "exec"), {"SystemAnswer": SystemAnswer, "serve": given.append})
    return str(json.loads(_reply_or_error(LINE.encode(), given[0]))["error"])


TWO_RETURNS = """
def answer(question):
    if question.pages:
        return "a"
    return {"answer": "b"}

serve(answer)"""
ASYNC = """
async def answer(question):
    return "a"

serve(answer)"""
WRAPPED = """
from edu_rag.adapters import any_callable
serve(any_callable(lambda question: 1))"""
LABEL = "return the label, such as"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            TWO_RETURNS,
            "mine.py:4, 5: returned {'answer': 'b'} (dict): return SystemAnswer(answer=…), or write serve(any_",
        ),
        ("serve(lambda q: 1)", f"mine.py:1: returned 1 (int): {LABEL} 'b': list(question.choices)[1]"),
        ("serve(lambda q: 9)", f"mine.py:1: returned 9 (int): {LABEL} 'b'"),
        ("serve(lambda q: SystemAnswer(answer=0))", f"mine.py:1: returned 0 (int): {LABEL} 'a'"),
        ("import numpy\nserve(lambda q: numpy.int64(0))", f"mine.py:2: returned np.int64(0) (int64): {LABEL} 'a'"),
        (ASYNC, "mine.py:3: returned a coroutine: write serve(any_callable(answer))"),
        ("serve(lambda q: ['a'])", "mine.py:1: returned ['a'] (list): return a label, a text, None or a SystemAnswer"),
        ("serve(lambda q: True)", "mine.py:1: returned True (bool): return a label, a text"),
        (WRAPPED, "mine.py:3: returned 1 (int)"),
    ],
)
def test_an_answer_that_cannot_be_names_the_line_to_change(code: str, message: str) -> None:
    assert message in served(code)


def test_a_serve_that_is_not_given_a_function_names_its_own_line() -> None:
    code = "def answer(question):\n    return 'a'\n\n\nreal_serve(answer(None))"
    with pytest.raises(TypeError, match=r"^mine.py:5: serve got 'a', which is not a function: write serve\(answer\)"):
        exec(compile(code, "mine.py", "exec"), {"real_serve": serve})


def test_the_lines_of_methods_partials_and_callable_objects_are_found() -> None:
    class Callable:
        def __call__(self, question: object) -> int:
            return 1

        def method(self, question: object) -> int:
            return 2

    here = Path(__file__).name
    first = Callable.__call__.__code__.co_firstlineno
    assert returns_of(Callable()) == returns_of(functools.partial(Callable(), 1)) == f"{here}:{first + 1}"
    assert returns_of(Callable().method) == f"{here}:{first + 4}"
    assert returns_of(len) == ""


def test_an_adapter_imports_no_framework_before_it_is_asked() -> None:
    code = (
        "import sys, edu_rag.adapters; print([n for n in ('asyncio', 'numpy', 'openai', 'dspy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
