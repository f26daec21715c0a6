"""Textbooks: modules become pages without exercises, and exercises become questions only if their key is certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.textbooks import cnxml, markdown_book
from builder.textbooks.book import Exercise, plain_text
from builder.textbooks.exercise_questions import BookQuestion, identity_of, key_of, question_of
from edu_rag.errors import DataError

CNXML = """<document xmlns="http://cnx.rice.edu/cnxml" xmlns:m="http://www.w3.org/1998/Math/MathML">
<title>Rocks</title><metadata><title>hidden</title></metadata>
<content>
<para>Basalt is a <term>dark</term> rock (<link target-id="fig-1"/>). Its density is 3.0 g/cm<sup>3</sup>:
<m:math><m:msup><m:mi>x</m:mi><m:mn>2</m:mn></m:msup></m:math>.</para>
<figure id="fig-1"><media alt="A black stone."><image src="a.jpg"/></media><caption>Basalt.</caption></figure>
<section><title>Melting</title><para>Lava cools.</para>
<exercise><problem><para>Why?</para></problem></exercise> It hardens.</section>
<table><tgroup cols="2"><thead><row><entry>Rock</entry><entry>Colour</entry></row></thead>
<tbody><row><entry>Granite</entry><entry>grey</entry></row></tbody></tgroup></table>
<note class="microbiology check-your-understanding"><para>What is basalt?</para></note>
<section class="multiple-choice"><title>Multiple choice</title>
<exercise><problem><para>Which rock is dark?</para>
<list list-type="enumerated" number-style="lower-alpha"><item>granite</item><item>basalt</item><item>chalk</item></list>
</problem><solution><label/><para>B</para></solution></exercise>
<exercise><problem><para>In <link target-id="fig-1"/>, what is shown?</para>
<list list-type="enumerated" number-style="upper-alpha"><item>a</item><item>b</item><item>c</item></list>
</problem><solution><para>A</para></solution></exercise>
</section>
</content>
<glossary><definition><term>basalt</term><meaning>a dark rock</meaning></definition></glossary>
</document>"""
MARKDOWN = """---
title: "Clouds"
layout: page
---

**Clouds**{: data-type="term"} are water ([\\[link\\]](#fig-1)).

 ![White shapes in the sky.](../resources/a.jpg "Cumulus clouds."){: #fig-1}

### Review Questions

<div data-type="exercise">
<div data-type="problem" markdown="1">
What are clouds made of?

1.  H<sub>2</sub>O
2.  smoke
3.  wool
{: type="a"}

</div>
<div data-type="solution" markdown="1">
A

</div>
</div>

### Free Response

<div data-type="exercise">
<div data-type="problem" markdown="1">
Why are they white?

</div>
</div>

<div data-type="glossary" markdown="1">
### Glossary
{: data-type="glossary-title"}

cloud
: water in the air
^

</div>
"""


def read(tmp_path: Path, text: str, reader: object = cnxml) -> tuple[str, str, tuple[Exercise, ...]]:
    path = tmp_path / "module"
    path.write_text(text, encoding="utf-8")
    module = reader.read_module(path, "m1")  # type: ignore[attr-defined]
    return module.title, module.html, module.exercises


def test_a_cnxml_module_is_a_page_without_its_exercises(tmp_path: Path) -> None:
    title, html, exercises = read(tmp_path, CNXML)
    text = plain_text(html)
    assert title == "Rocks"
    for shown in (
        "a dark rock (figure). Its density is 3.0 g/cm³",
        "x²",
        "A black stone.",
        "Basalt.",
        "Lava cools.",
        "It hardens.",
        "Granite",
        "basalt: a dark rock",
    ):
        assert shown in text, shown
    for taken_out in ("Why?", "Which rock", "chalk", "What is basalt?", "Multiple choice", "hidden"):
        assert taken_out not in text, taken_out
    assert "<th>Rock</th>" in html
    assert [one.number for one in exercises] == [1, 2, 3]
    assert exercises[1] == Exercise(
        number=2, problem="Which rock is dark?", choices=("granite", "basalt", "chalk"), solution="B", has_figure=False
    )
    assert exercises[2].has_figure


def test_a_markdown_module_is_a_page_without_its_exercises(tmp_path: Path) -> None:
    title, html, exercises = read(tmp_path, MARKDOWN, markdown_book)
    text = plain_text(html)
    assert title == "Clouds"
    for shown in ("Clouds are water (figure).", "White shapes in the sky.", "Cumulus clouds.", "water in the air"):
        assert shown in text, shown
    for taken_out in ("Review Questions", "Free Response", "wool", "Why are they white?", "{:", "^"):
        assert taken_out not in text, taken_out
    assert exercises[0] == Exercise(
        number=1, problem="What are clouds made of?", choices=("H2O", "smoke", "wool"), solution="A", has_figure=False
    )
    assert exercises[1].choices == ()


def test_the_chapters_of_a_collection_and_of_a_summary(tmp_path: Path) -> None:
    collection, summary = tmp_path / "book.xml", tmp_path / "SUMMARY.md"
    collection.write_text("""<col:collection xmlns:col="http://cnx.rice.edu/collxml" xmlns:md="http://cnx.rice.edu/mdml">
<col:content><col:module document="m0"/><col:subcollection><md:title>Unit</md:title><col:content>
<col:subcollection><md:title>Rocks  and soil</md:title><col:content><col:module document="m1"/>
<col:module document="m2"/></col:content></col:subcollection></col:content></col:subcollection></col:content>
</col:collection>""")
    summary.write_text(
        "1.  {: .preface} [Preface](contents/m0.md)\n2.  {: .part} Unit\n    1.  {: .chapter} [Rocks](contents/m1.md)\n"
        "        1.  [Soil](contents/m2.md)\n\n3.  {: .appendix} [Units](contents/m3.md)\n"
    )
    assert [(one.title, list(one.module_ids)) for one in cnxml.chapters_of(collection)] == [
        ("", ["m0"]),
        ("Rocks and soil", ["m1", "m2"]),
    ]
    assert [(one.title, one.module_ids) for one in markdown_book.chapters_of(summary)] == [
        ("", ["m0", "m3"]),
        ("Rocks", ["m1", "m2"]),
    ]


@pytest.mark.parametrize(
    ("solution", "key"),
    [
        ("B", "b"),
        ("(c)", "c"),
        ("a.", "a"),
        ("(c). Because momentum is conserved.", "c"),
        ("", None),
        ("(a), (b)", None),
        ("A and B", None),
        ("C, D", None),
        ("E", None),
        ("A cell divides.", None),
        ("(a) -0.1 C, (b) 1.1 C", None),
        ("answers vary", None),
    ],
)
def test_a_key_is_one_letter_of_a_choice(solution: str, key: str | None) -> None:
    assert key_of(solution, 4) == key


def exercise(problem: str, *choices: str, solution: str = "A", has_figure: bool = False) -> Exercise:
    return Exercise(number=1, problem=problem, choices=choices, solution=solution, has_figure=has_figure)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (exercise("Why is the sky blue?"), "no_choices"),
        (exercise("Is it blue?", "yes", "no"), "few_choices"),
        (exercise("Which?", "iron", "gold", "tin", solution="Iron"), "no_key"),
        (exercise("Which?", "iron", "gold", "tin", has_figure=True), "figure"),
        (exercise("Which metal is in the figure?", "iron", "gold", "tin"), "figure"),
        (exercise("In the previous question, which metal is it?", "iron", "gold", "tin"), "context"),
        (exercise("Which?", "iron", "Iron.", "tin"), "choices"),
    ],
)
def test_an_exercise_that_is_not_a_question_has_a_reason(one: Exercise, reason: str) -> None:
    assert question_of(one) == reason


def test_a_question_repeats_another_with_its_choices_in_any_order() -> None:
    first = question_of(exercise("Which metal rusts?", "iron", "gold", "tin"))
    second = question_of(exercise("Which metal rusts", "tin", "gold.", "Iron", solution="C"))
    assert isinstance(first, BookQuestion)
    assert isinstance(second, BookQuestion)
    assert identity_of(first) == identity_of(second)
    assert (first.answer, second.answer) == ("a", "c")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<document", "is not XML"),
        ("<html><body/></html>", "is not CNXML"),
        ('<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><d><content>&e;</content></d>', "is not CNXML"),
    ],
)
def test_what_is_not_cnxml_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read(tmp_path, text)


def test_an_entity_of_a_module_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    doctype = f'<!DOCTYPE document [<!ENTITY e SYSTEM "{secret.as_uri()}">]>\n'
    _, html, _ = read(tmp_path, doctype + CNXML.replace("Lava cools.", "Lava &e; cools."))
    assert "the secret" not in html


def test_markdown_without_a_title_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a title"):
        read(tmp_path, "# Clouds\n", markdown_book)
