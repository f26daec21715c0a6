"""Random answers to a question, from a grammar of what systems write: labels and texts in every dress, doubts, noise.

Nothing here knows how answers are read; a form is in the grammar because docs/scoring-spec.md, section 2, speaks of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from aims import Aim, Choices, aim_at
from phrases import ABSTENTIONS, DRESSES, HOSTILE, LEADS, LONG, PROSE, REMARKS, REPLACED, WORDS
from wrapped import WRAPPERS

SEPARATORS = ("\n", "\n\n", " ", "\r\n", " \n", ". ", "\u2028", "\x0b", "\n\u200b\n", ".\n", "! ", '." ', "")


def dressed(rng: random.Random, text: str) -> str:
    """A text in one of the dresses of a label, or plain."""
    return rng.choice(DRESSES).replace("@", text) if rng.random() < 0.7 else text


def cased(rng: random.Random, text: str) -> str:
    """The text in another case."""
    return rng.choice((str.upper, str.lower, str.title, str.swapcase, str.capitalize))(text)


def _cut(rng: random.Random, text: str) -> str:
    words = text.split()
    kept = rng.randint(1, max(1, len(words)))
    return rng.choice((text[:-1], text[1:], text[: len(text) // 2], " ".join(words[:kept]), " ".join(words[-kept:])))


def _replaced(rng: random.Random, text: str) -> str:
    old, new = rng.choice(REPLACED)
    return text.replace(old, new)


def _wide(rng: random.Random, text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" and rng.random() < 0.7 else char for char in text)


def _strewn(rng: random.Random, text: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(HOSTILE) + text[at:]


def _dropped(rng: random.Random, text: str) -> str:
    at = rng.randint(0, max(0, len(text) - 1))
    return text[:at] + text[at + 1 :]


def _swapped(rng: random.Random, text: str) -> str:
    at = rng.randint(0, max(0, len(text) - 2))
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def _articled(rng: random.Random, text: str) -> str:
    return rng.choice(("the ", "The ", "an ", "a ", "A ", "the  ", "a")) + text


def _spaced(rng: random.Random, text: str) -> str:
    return text.replace(" ", rng.choice(("  ", "\u00a0", "\t", "-", "_", "", "\n", "\u3000", " - ")))


CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    cased,
    _cut,
    _replaced,
    _replaced,
    _wide,
    _strewn,
    _dropped,
    _swapped,
    _articled,
    _spaced,
)


def changed(rng: random.Random, text: str, times: int = 1) -> str:
    """The text after some small changes."""
    for _ in range(times):
        text = rng.choice(CHANGES)(rng, text)
    return text


def own_text(aim: Aim) -> str:
    """The choice's text: exact, changed, completed by its label, letters or words, or with something around it."""
    rng, text = aim.rng, aim.text
    kind = rng.randrange(9)
    if kind < 3:
        return text
    if kind < 5:
        return changed(rng, text, rng.randint(1, 2))
    if kind == 5:
        endings = (aim.label, aim.label + ".", "sphere", "s", aim.other, "d", "e", "ed", "a")
        return text.rstrip("- ") + rng.choice(endings)
    if kind == 6:
        return " ".join(text.split()[: rng.randint(3, 5)])
    if kind == 7:
        return f"{text.rstrip(' .-')} {rng.choice(WORDS)} {rng.choice(('again', 'maybe', 'in', aim.other, 'is wrong'))}"
    return dressed(rng, text)


def own_label(aim: Aim) -> str:
    """The choice's label in its dress, small or capital."""
    label = aim.label if aim.rng.random() < 0.6 else aim.label.upper()
    return dressed(aim.rng, label)


def both(aim: Aim) -> str:
    """Label and text together, sometimes another choice's."""
    rng = aim.rng
    text = own_text(aim) if rng.random() < 0.8 else aim.choices[aim.other]
    label = aim.label if rng.random() < 0.6 else aim.label.upper()
    forms = (
        "@) #",
        "@. #",
        "(@) #",
        "@: #",
        "@ - #",
        "@ #",
        "**@** #",
        "# (@)",
        "# [@].",
        "@, #",
        "@) **#**",
        "**@) #**",
        "(@)#",
        "@.#",
        "@} #",
        "@=#",
        "@] #",
        "#(@)",
        '"@" #',
        "option @: #",
        "@) # (%)",
        "@) # $",
        "@) #, $",
    )
    return aim._replace(label=label, choices={**aim.choices, label: text}).filled(rng.choice(forms))


def abstention(aim: Aim) -> str:
    """A phrase that abstains, in odd dress; sometimes within prose or next to a choice."""
    rng = aim.rng
    text = rng.choice(ABSTENTIONS)
    kind = rng.randrange(8)
    if kind < 2:
        return text
    if kind == 2:
        return dressed(rng, cased(rng, text))
    if kind == 3:
        return changed(rng, text)
    return rng.choice(
        (
            f"Sorry, {text}.",
            f"{rng.choice(PROSE)} {text}",
            f"{text} {rng.choice(PROSE)}",
            aim.filled(f"{text}, but @"),
            aim.filled(f"{text}: #"),
            f"**{text}**",
            f"Answer: {text}",
            f"The answer is {text}.",
            f"{text}; {text}",
            aim.filled(f"{text} whether (@) or (%)"),
            f"{text[:1].upper()}{text[1:]}.",
        )
    )


def prose(aim: Aim) -> str:
    """A sentence or two that may speak of the choices."""
    return " ".join(aim.filled(aim.rng.choice(PROSE)) for _ in range(aim.rng.choice((1, 1, 2, 3))))


def _several(aim: Aim) -> str:
    forms = (
        "@ and %",
        "@ or %",
        "@, %",
        "@/%",
        "both @ and %",
        "either @ or %",
        "(@) and (%)",
        "@ & %",
        "# or $",
        "# and $",
        "@ or maybe %",
        "not @",
        "not #",
        "neither @ nor %",
        "@, not %",
        "# (not $)",
        "all of them",
        "@%",
        "@;%",
        "@ %",
        "@ is wrong",
        "@ is not it",
        "anything but @",
        "@ > %",
        "between @ and %",
        "@, @",
        "@ @",
        "# / $",
        "all @, %",
    )
    return aim.filled(aim.rng.choice(forms))


PIECES: tuple[tuple[Callable[[Aim], str], int], ...] = (
    (own_label, 30),
    (own_text, 26),
    (both, 18),
    (abstention, 8),
    (prose, 8),
    (_several, 7),
    (lambda aim: changed(aim.rng, aim.rng.choice(HOSTILE)), 2),
    (lambda aim: aim.rng.choice(("yes", "no", "T", "F", "Y", "n")), 2),
)
_MAKERS, _WEIGHTS = zip(*PIECES, strict=True)


def line(aim: Aim) -> str:
    """One line: perhaps a lead, a piece, perhaps a remark."""
    rng = aim.rng
    maker: Callable[[Aim], str] = rng.choices(_MAKERS, _WEIGHTS)[0]
    text = maker(aim)
    if rng.random() < 0.25:
        text = rng.choice(LEADS) + text
    if rng.random() < 0.2:
        text += aim.filled(rng.choice(REMARKS))
    return text


def _listing(aim: Aim) -> str:
    mark = aim.rng.choice((") ", ". ", ": ", " - ", ")", ") **"))
    shown = aim.rng.sample(list(aim.choices), aim.rng.randint(1, len(aim.choices)))
    return "\n".join(f"{label}{mark}{aim.choices[label]}" for label in sorted(shown))


def lines(aim: Aim) -> str:
    """Several lines or sentences, some of which list the choices or reason about them."""
    rng = aim.rng
    parts: list[str] = []
    for _ in range(rng.choice((1, 2, 2, 2, 3, 4))):
        away = aim if rng.random() < 0.75 else aim_at(rng, aim.choices, rng.choice(list(aim.choices)))
        maker = rng.choice((line, line, prose, prose, own_label, both, _listing, _remark))
        parts += [maker(away), rng.choice(SEPARATORS)]
    if rng.random() < 0.5:
        parts.append(rng.choice(LEADS) + rng.choice((own_label, own_text, both, abstention))(aim))
    return "".join(parts)


def _remark(aim: Aim) -> str:
    return aim.filled(aim.rng.choice(REMARKS)).strip(" ,.;")


def long_answer(aim: Aim) -> str:
    """An answer of about 20,000 characters, as written or after folding."""
    text = aim.rng.choice(LONG)
    size = aim.rng.choice((19_990, 20_000, 20_001, 21_000))
    body = (text * (size // len(text) + 1))[:size]
    return aim.rng.choice((body, f"{aim.label}\n{body}"[:size], f"{body[:-2]}\n{aim.label}"))


def answer(rng: random.Random, choices: Choices, label: str) -> str:
    """One answer, most often one that means the choice `label`."""
    aim = aim_at(rng, choices, label)
    kind = rng.random()
    if kind < 0.12:
        return label
    if kind < 0.122:
        return long_answer(aim)
    text = line(aim) if kind < 0.65 else lines(aim)
    while rng.random() < 0.18:
        text = rng.choice(WRAPPERS)(aim, text)
    if rng.random() < 0.12:
        text = changed(rng, text, rng.randint(1, 3))
    return text
