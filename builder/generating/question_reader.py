"""A reader model that answers generated questions, with and without their evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from builder.generating.chat_prompts import ChatRequest, fenced, filled, lettered
from builder.generating.generated_question import GeneratedQuestion
from builder.generating.question_draft import without_thinking
from builder.labels.leak_match import words_of
from edu_rag.prompt_text import untagged
from edu_rag.records import LABELS

Ask = Callable[[ChatRequest], str]
LETTER_TOKENS = 32
ANSWER_TOKENS = 96
YES_TOKENS = 8
YES_OR_NO = r"(?i)\W*(?:yes|no)\b"
LEAST_F1 = 0.5
"""The share of words that an answer in words and the gold need to have in common (F1) to count as the same."""
MOST_WORDS = 40
"""Of an answer that may hold the right one among others."""
_ONE_LETTER = re.compile(r"\W*(?:(?:the )?(?:right |correct )?(?:choice|answer)(?: is)?\W*)?([a-z])(?=\s*$|[.):,*\n])")
LETTER = rf"(?i){_ONE_LETTER.pattern}"
_NUMBER = re.compile(
    r"(?:(?<![\w.])[-−])?(?<![\w.,])(?:[0-9]{1,3}(?:[ ,][0-9]{3})+(?![0-9])|[0-9]{1,40})(?:\.[0-9]{1,40})?"
)
_REST = r"(?:(?! but\b)[^.,;:!?\n])*"
_UNKNOWN = re.compile(
    r"\W*(?:sorry\W+)?(?:(?:based on|according to|from) (?:the|this|these) \w+(?: \w+)?, )?(?:"
    rf"(?:i|we) (?:do not|don\W?t|cannot|can not|can\W?t) (?:know(?! of\b)|say|tell|answer)\b{_REST}"
    r"|(?:the|this|these) (?:given |provided )?(?:text|passage|page|context|article)s? "
    r"(?:does not|doesn\W?t|do not|don\W?t) "
    rf"(?:know|say|tell|answer|state|mention|specify|provide|contain|give)\b{_REST}"
    r"|(?:(?:it|this|that|the answer) is )?(?:unknown|not (?:known|stated|answered|mentioned|specified|provided|given)"
    r"(?: (?:in|by) (?:the|this|these) (?:\w+ )?\w+)?)"
    r")(?:[.;!\n\"]|$|, (?:as|because|since)\b)"
)
"""A first statement with no answer in it. These hold one: "the unknown soldier", "Mars; Venus is not mentioned"."""


def read_letter(reply: str, labels: Sequence[str]) -> str | None:
    """The one letter that a reply begins with; None if that is not a label, or if words follow it."""
    found = _ONE_LETTER.match(without_thinking(reply).casefold())
    return found[1] if found is not None and found[1] in labels else None


def word_f1(one: str, other: str) -> float:
    """F1 of the words of two texts, as SQuAD's, on words folded as in the labels of leaks. 0 if they share none."""
    left, right = Counter(words_of(one).words), Counter(words_of(other).words)
    n_same = (left & right).total()
    return 2 * n_same / (left.total() + right.total()) if n_same else 0.0


def says_unknown(reply: str) -> bool:
    """Whether a reply begins by stating that the reader does not know, or that the text does not answer."""
    return _UNKNOWN.match(without_thinking(reply).casefold()) is not None


def rotated(choices: Mapping[str, str], by: int) -> dict[str, str]:
    """The choices with every text moved on by some letters: the right one has another letter in each turn."""
    texts = list(choices.values())
    by %= len(texts)
    return dict(zip(LABELS, texts[by:] + texts[:by], strict=False))


def _spelled(number: re.Match[str]) -> str:
    """The same number in one spelling: "12,000", "12 000" and "12000.0" are one. What follows is a word of its own."""
    value = Decimal(re.sub(r"[ ,]", "", number[0]).replace("−", "-"))
    return f"{value.normalize():f} "


def agrees(answer: str, right: str) -> bool:
    """Whether an answer in words is the right one: it has its numbers, and enough of its words or all of them."""
    answer, right = _NUMBER.sub(_spelled, answer), _NUMBER.sub(_spelled, right)
    if not set(_NUMBER.findall(right)) <= set(_NUMBER.findall(answer)):
        return False
    words, needed = words_of(answer).words, words_of(right).words
    return word_f1(answer, right) >= LEAST_F1 or (set(needed) <= set(words) and len(words) <= MOST_WORDS)


class QuestionReader:
    """Puts generated questions to a model. `n_asks` is how often a question with choices is asked, each time in another
    order; a question without choices is asked once, since nothing would change.
    """

    def __init__(self, ask: Ask, n_asks: int) -> None:
        self._ask, self.n_asks = ask, n_asks

    def is_always_right(self, found: GeneratedQuestion, passages: Sequence[str]) -> bool:
        """Whether the model is right each time it is asked; without passages, from memory. One failure ends it."""
        if found.question.choices:
            return all(self._picks_gold(found, passages, turn) for turn in range(self.n_asks))
        answer = self.answer(found.question.text, passages)
        return any(agrees(answer, text) for text in found.gold.texts)

    def _picks_gold(self, found: GeneratedQuestion, passages: Sequence[str], turn: int) -> bool:
        choices = rotated(found.question.choices, turn)
        name = "read-choices-v1" if passages else "read-choices-closed-v1"
        reply = self._put(name, found.question.text, passages, choices, LETTER_TOKENS, LETTER)
        letter = read_letter(reply, list(choices))
        return letter is not None and choices[letter] == found.question.choices[str(found.gold.answer)]

    def takes_for_right(self, question: str, answer: str, sentence: str) -> bool:
        """Whether the model takes an answer, seen alone, for the one that a sentence states."""
        values = {"passages": fenced([sentence]), "question": untagged(question), "answer": untagged(answer)}
        reply = self._ask(filled("read-one-right-v1", values, YES_TOKENS, YES_OR_NO))
        return re.match(r"\W*yes\b", without_thinking(reply).casefold()) is not None

    def answer(self, question: str, passages: Sequence[str]) -> str:
        """The model's answer in words; without passages, from memory."""
        name = "read-answer-v1" if passages else "read-answer-closed-v1"
        return without_thinking(self._put(name, question, passages, {}, ANSWER_TOKENS))

    def _put(
        self,
        name: str,
        question: str,
        passages: Sequence[str],
        choices: Mapping[str, str],
        max_tokens: int,
        enough: str = "",
    ) -> str:
        values = {"passages": fenced(passages), "question": untagged(question), "choices": lettered(choices)}
        return self._ask(filled(name, values, max_tokens, enough))
