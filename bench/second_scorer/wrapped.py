"""Wrap an answer as systems do: JSON, fences, tags, TeX, end marks, thoughts, a run-on; whole, odd and broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aims import Aim
from phrases import END_MARKS, PROSE, RUN_ONS, THOUGHTS


def _json(aim: Aim, text: str) -> str:
    rng = aim.rng
    text = aim.label if rng.random() < 0.4 else text
    values: tuple[Any, ...] = (
        text,
        text,
        text,
        text,
        aim.label,
        None,
        True,
        3,
        2.50,
        [aim.label],
        {"answer": aim.label},
        {"label": aim.label, "text": aim.choices[aim.label]},
        {"text": {"letter": aim.other}, "other": 1},
        [],
        aim.other,
    )
    keys = (
        "answer",
        "answer",
        "Answer",
        "final_answer",
        "label",
        "choice",
        "letter",
        "OPTION",
        "correct_answer",
        "confidence",
    )
    pairs = [("answer" if rng.random() < 0.95 else "label", text)] + [
        (rng.choice(keys), rng.choice(values)) for _ in range(rng.choice((0, 0, 1, 1, 2)))
    ]
    rng.shuffle(pairs)
    inner = ", ".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=rng.random() < 0.5)}" for key, value in pairs
    )
    broken = rng.choice(
        (
            "{%s}",
            "{%s}",
            "{%s}",
            "{ %s\n}",
            "{%s, }",
            "%s}",
            "{%s} ok",
            "{'answer': '%s'}",
            "Here is the JSON:\n{%s}",
            "A cell has walls. {%s}",
            "Not this: {%s}",
            '{"n": 01e5, %s}',
            '{"x": NaN, %s}',
            '{"x": 1e999, "y": 00, %s}',
            '{"x": [[[{}]]], %s}',
            '{"x": ' + "[" * 31 + "]" * 31 + ", %s}",
            '{"x": ' + "[" * rng.choice((32, 900, 3000)) + ", %s}",
            '{"x": ' + "[" * 32 + "]" * 32 + ", %s}",
            '{"x": ' + '{"y": ' * 990 + "0" + "}" * 990 + ", %s}",
        )
    )
    return broken.replace("%s", inner)


def _fenced(aim: Aim, text: str) -> str:
    fence, language = aim.rng.choice(("```", "~~~", "````", "``")), aim.rng.choice(("", "", "text", "json", "b", " "))
    return f"{fence}{language}\n{text}\n{aim.rng.choice((fence, fence, fence + ' ', ''))}"


def _tagged(aim: Aim, text: str) -> str:
    forms = (
        "<answer>%</answer>",
        "<Answer> % </ANSWER>",
        " <answer>\n%\n</answer>\n",
        "<answer>%",
        "<answer><answer>%</answer></answer>",
        "<answer>%</answer> ok",
        "%\n<answer>@</answer>",
        "<anſwer>%</answer>",
    )
    return aim.rng.choice(forms).replace("@", aim.label).replace("%", text)


def _tex(aim: Aim, text: str) -> str:
    command = aim.rng.choice(("boxed", "text", "textbf", "mathrm", "fbox", "mathbb"))
    depth = aim.rng.choice((2, 4, 9, 10, 12, 13))
    forms = (
        "$\\c{%}$",
        "\\c{%}",
        "$$ \\c{%} $$",
        "\\(\\c{%}\\)",
        "\\[ \\c{\\text{%}} \\]",
        "not \\c{%}",
        "The answer is $\\c{%}$.",
        "\\c{\\textbf{\\text{\\boxed{\\fbox{%}}}}}",
        "\\c{%} \\c{@}",
        "\\c{%",
        "\\text{" * depth + "%" + "}" * depth,
    )
    return aim.rng.choice(forms).replace("c{", command + "{").replace("@", aim.other).replace("%", text)


def _ended(aim: Aim, text: str) -> str:
    mark = aim.rng.choice(END_MARKS)
    return text + aim.rng.choice((mark, mark.upper(), f" \n{mark}\n", mark * 3, f"{mark}{aim.other}", mark[:-1]))


def _thought(aim: Aim, text: str) -> str:
    begin, end = aim.rng.choice(THOUGHTS)
    inside = " ".join(aim.filled(one) for one in aim.rng.choices(PROSE, k=2))
    return aim.rng.choice(
        (
            f"{begin}{inside}{end}{text}",
            f"{begin}\n{inside}\n{end}\n\n{text}",
            f"{inside}{end} {text}",
            f"{begin}{text}",
            f"{text}{begin}{inside}{end}",
            f"{begin.upper()}{inside}{end}{begin}{inside}{end}{text}",
            f"{text}{end}",
        )
    )


def _run_on(aim: Aim, text: str) -> str:
    forms = ("%\n\n@ what is next?\nAnswer: $", "%\n \n@ next\n$", "\n\n@ %", "%\n@ next\n$", "%\n\n\n@\n\n@ x\n$")
    return aim.rng.choice(forms).replace("%", text).replace("@", aim.rng.choice(RUN_ONS)).replace("$", aim.other)


WRAPPERS: tuple[Callable[[Aim, str], str], ...] = (_json, _fenced, _tagged, _tex, _ended, _thought, _run_on)
