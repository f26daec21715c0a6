"""The science pre-pass: what a page's markup says about powers, indices, formulas and blocks stays in its text."""

from __future__ import annotations

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.extract.extract import Extracted, extract_page
from builder.extract.extraction_tools import plain_text
from builder.extract.mathml import MAX_DEPTH, linear_math
from builder.extract.page_text import clean_text
from builder.extract.prepass import apply_prepass, is_credit, superscript

FILLER = "".join(
    f"<p>Plant number {n} makes its food from light, water and air, and gives off oxygen.</p>" for n in range(12)
)


def prepared(inside: str) -> str:
    tree = lxml.html.document_fromstring(f"<html><body>{inside}</body></html>")
    apply_prepass(tree)
    return " ".join(clean_text(str(tree.body.text_content())).split())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("3 × 10<sup>8</sup> m/s", "3 × 10⁸ m/s"),
        ("10<sup>–19</sup> C", "10⁻¹⁹ C"),
        ("x<sup>n+1</sup>", "xⁿ⁺¹"),
        ("e<sup>−E<sub>a</sub>/RT</sup>", "e^(−Ea/RT)"),
        ("2<sup>2<sup>n</sup></sup>", "2^(2ⁿ)"),
        ("x<sup>a</sup>", "x^a"),
        ("the 4<sup>th</sup> day", "the 4th day"),
        ("25 <sup>o</sup>C", "25 °C"),
        ("an angle of 45<sup>o</sup>.", "an angle of 45°."),
        ("SO<sub>4</sub><sup>2−</sup>", "SO4²⁻"),
        ("<sup>14</sup><sub>6</sub>C", "¹⁴₆C"),
        ("<sup>235</sup>U", "²³⁵U"),
        ("CO<sub> 2 </sub>", "CO2"),
        ("water<sup><a href='#n'>2</a></sup>", "water[2]"),
        ("water<a href='#n'><sup>2</sup></a>", "water[2]"),
        ("10<span style='vertical-align: super'>6</span>", "10⁶"),
        ("H<span class='sub'>2</span>O", "H2O"),
        ("1.5&times;10<sup>&minus;3</sup>&thinsp;&micro;m", "1.5×10⁻³ µm"),
        ("A <img src=a.gif alt='yields'> B", "A → B"),
        ("A <img src=a.gif alt='⇌'> B", "A ⇌ B"),
    ],
)
def test_raised_and_lowered_text_keeps_its_meaning(markup: str, text: str) -> None:
    assert prepared(markup) == text


@pytest.mark.parametrize(
    ("mathml", "text"),
    [
        ("<mi>F</mi><mo>=</mo><mi>m</mi><mi>a</mi>", "F = ma"),
        ("<msup><mi>x</mi><mn>2</mn></msup>", "x²"),
        (
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mn>2</mn><mi>c</mi></mrow></mfrac>",
            "(a + b)/(2c)",
        ),
        ("<mi>x</mi><mo>=</mo><mo>−</mo><mi>b</mi>", "x = −b"),
        ("<msqrt><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi></msqrt>", "√(x² + y)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "∛x"),
        ("<mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>", "¹⁴₆C"),
        ("<msubsup><mi>SO</mi><mn>4</mn><mrow><mn>2</mn><mo>−</mo></mrow></msubsup>", "SO4²⁻"),
        (
            "<mn>2</mn><msub><mi>H</mi><mn>2</mn></msub><mover><mo>→</mo><mtext>heat</mtext></mover><mi>X</mi>",
            "2H2 →[heat] X",
        ),
        ("<mover><mi>v</mi><mo>→</mo></mover>", "v⃗"),
        ("<mi>sin</mi><mo>&#x2061;</mo><mi>θ</mi>", "sin θ"),
        ("<msub><mi>F</mi><mtext>net</mtext></msub>", "F_net"),
        ("<mrow><mi>C</mi><mphantom><mi>x</mi></mphantom></mrow>", "C"),
        ("", ""),
    ],
)
def test_mathml_without_tex_becomes_one_readable_line(mathml: str, text: str) -> None:
    assert linear_math(lxml.html.fragment_fromstring(f"<math>{mathml}</math>")) == text


@given(
    st.recursive(
        st.sampled_from(["<mi>x</mi>", "<mn>2</mn>", "<mo>+</mo>", "text", ""]),
        lambda inner: st.builds(
            lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
            st.sampled_from(
                [
                    "mrow",
                    "msup",
                    "msub",
                    "msubsup",
                    "mfrac",
                    "msqrt",
                    "mroot",
                    "mover",
                    "munder",
                    "munderover",
                    "mmultiscripts",
                    "mtable",
                    "mfenced",
                    "semantics",
                    "mprescripts",
                    "none",
                ]
            ),
            st.lists(inner, max_size=4),
        ),
        max_leaves=12,
    )
)
def test_any_mathml_becomes_a_line(mathml: str) -> None:
    line = linear_math(lxml.html.fragment_fromstring(f"<math>{mathml}</math>"))
    assert "\n" not in line
    assert (
        line.count("x") == mathml.count("<mi>x</mi>") + mathml.count("text")
        or "mprescripts" in mathml
        or len(line) < len(mathml)
    )


def test_mathml_deeper_than_any_formula_gives_its_characters() -> None:
    deep = "<mrow>" * (MAX_DEPTH + 40) + "<mi>x</mi><mi>y</mi>" + "</mrow>" * (MAX_DEPTH + 40)
    assert linear_math(lxml.html.fragment_fromstring(f"<math>{deep}</math>")) == "xy"


TEX = r"\( E = mc^2 \)"
NOTE = '<annotation encoding="application/x-tex">E = mc^2</annotation>'
MATH = f"<math><semantics><mrow><mi>E</mi></mrow>{NOTE}</semantics></math>"
SCRIPT = '<script type="math/tex">E = mc^2</script>'


@pytest.mark.parametrize(
    "markup",
    [
        SCRIPT,
        '<script type="math/tex; mode=display">E = mc^2</script>',
        f'<span class="MathJax_Preview">E=mc2</span><span class="MathJax">E=mc2</span>{SCRIPT}',
        f'<span class="katex"><span class="katex-mathml">{MATH}</span><span class="katex-html">E=mc2</span></span>',
        f"<mjx-container><mjx-math></mjx-math><mjx-assistive-mml>{MATH}</mjx-assistive-mml></mjx-container>",
        '<span class="mwe-math-element"><span style="display:none">'
        '<math alttext="{\\displaystyle E = mc^2}"><mi>E</mi></math></span>'
        '<img class="mwe-math-fallback-image-inline" alt="{\\displaystyle E = mc^2}"></span>',
        '<img class="mwe-math-fallback-image-inline" alt="{\\displaystyle E = mc^2}">',
        '<img src="https://latex.codecogs.com/svg.latex?E%20%3D%20mc%5E2">',
        '<img class="latex" alt="E = mc^2">',
    ],
)
def test_a_formula_with_tex_stands_once_as_tex(markup: str) -> None:
    assert prepared(f"So {markup} holds") == f"So {TEX} holds"


def test_mathjax_3_without_its_mathml_is_read_from_its_class_names() -> None:
    drawn = (
        '<mjx-container><mjx-math><mjx-msup><mjx-mi><mjx-c class="mjx-c1D465 TEX-I"></mjx-c></mjx-mi>'
        '<mjx-script><mjx-mn><mjx-c class="mjx-c32"></mjx-c></mjx-mn></mjx-script></mjx-msup>'
        "</mjx-math></mjx-container>"
    )
    assert prepared(drawn) == "x²"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<dl><dt>Osmosis</dt><dd>Water moves.</dd></dl>", "Osmosis: Water moves."),
        ("<dl><dt>What?</dt><dd>This.</dd><dd>That.</dd></dl>", "What? This.That."),
        ("<ol start=3><li>Heat it.</li><li>Stir it.</li></ol>", "3. Heat it.4. Stir it."),
        ("<ol type=a><li>Iron</li><li>Lead</li></ol>", "a. Ironb. Lead"),
        (
            "<table><caption>Table 1: metals</caption><tr><td>Iron</td></tr></table>",
            "Table 1: metalsIron",
        ),
        ("<details><summary>Solution</summary>42 J</details>", "Solution42 J"),
    ],
)
def test_blocks_keep_their_order_and_marks(markup: str, text: str) -> None:
    assert prepared(markup) == text


@pytest.mark.parametrize(
    ("caption", "credit"),
    [
        ("Photo: Getty Images", True),
        ("© 2019 Reuters", True),
        ("Image by Jane Roe", True),
        ("Foto: AFP", True),
        ("Figure 2: Source of the Nile", False),
        ("The water cycle in a valley of the Alps.", False),
        ("Image of a cell under the microscope, with its nucleus stained blue by a dye.", False),
    ],
)
def test_a_caption_that_only_credits_is_told_from_one_that_says_something(caption: str, credit: bool) -> None:
    assert is_credit(caption) is credit


@pytest.mark.parametrize(
    "kept",
    [
        "Figure 1: The water cycle.",
        "| Iron | 1538 |",
        "Osmosis: Water moves through a membrane.",
        "v = s/t",
        "1. Heat the water.",
        "2. Weigh the salt.",
        "Solution",
        "print(x ** 2)",
        "6.02 × 10²³ mol⁻¹",
        "λ = 500 nm",
    ],
)
@pytest.mark.parametrize("extractor", ["cascade-v1", "cascade-v2", "trafilatura-v1", "resiliparse-v1"])
def test_blocks_of_a_lesson_survive_the_whole_extraction(extractor: str, kept: str) -> None:
    html = f"""<html><head><title>Lesson</title></head><body><nav><a href=/>Home</a></nav><article>
    <h1>Lesson</h1>{FILLER}
    <figure><img src=c.png><figcaption>Figure 1: The water cycle.</figcaption></figure>
    <table><tr><th>Metal</th><th>Melts at</th></tr><tr><td>Iron</td><td>1538</td></tr></table>
    <dl><dt>Osmosis</dt><dd>Water moves through a membrane.</dd></dl>
    <p><img src="eq1.gif" alt="v = s/t"></p><ol><li>Heat the water.</li><li>Weigh the salt.</li></ol>
    <details><summary>Solution</summary>
    <p>There are 6.02 &times; 10<sup>23</sup> mol<sup>&minus;1</sup>.</p></details>
    <pre><code>print(x ** 2)</code></pre><p>Green light has &lambda; = 500&nbsp;nm.</p></article></body></html>"""
    found = extract_page(html.encode(), None, extractor)
    assert isinstance(found, Extracted)
    flat = found.text.replace("\t", " | ")
    if extractor == "resiliparse-v1" and kept.startswith("|"):
        assert "Iron" in flat
        assert "1538" in flat
    else:
        assert kept in flat


@given(st.text(max_size=30), st.text(max_size=5), st.text(max_size=5))
def test_any_raised_text_keeps_its_letters(text: str, after: str, before: str) -> None:
    line = superscript(text, after, before)
    assert bool(line) == bool("".join(text.split()))


MARKUP = (
    "<p> </p> <sup> </sup> <sub> <dl> <dt> <dd> </dl> <math> <mi> x 2 <figure> <figcaption> <caption> <table> <ol> <li>"
    " <details> <mjx-container> <mjx-math> <aside/class=note> <img/alt='a=b'> <a/href=x>"
    " <script/type=math/tex> </script>"
)


@given(st.lists(st.sampled_from(MARKUP.split()), max_size=40))
def test_any_markup_goes_through_the_pre_pass(pieces: list[str]) -> None:
    tree = lxml.html.document_fromstring(f"<html><body>{''.join(pieces)}</body></html>")
    apply_prepass(tree)
    assert tree.tag == "html"


PIECES = "< > <p> <script> </script> &amp; &#x41; word <!-- --> <title> </title> <SVG> </svg>"


@given(st.lists(st.sampled_from(PIECES.split()), max_size=40))
def test_plain_text_takes_any_markup(pieces: list[str]) -> None:
    text = plain_text("".join(pieces))
    assert "<script" not in text
    assert text.count("word") <= pieces.count("word")
