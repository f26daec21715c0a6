"""Systems without a language model: the choice whose words, or whose meaning, come closest to a sentence of a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from baselines.chunk.sentences import sentences_of
from baselines.retrieve.bm25 import BM25, tokenise
from edu_rag.files.sentence_vectors import statement as statement_of
from edu_rag.serve import SystemAnswer, SystemQuestion

if TYPE_CHECKING:
    from baselines.embed import Encoder


class ChoiceMatch(NamedTuple):
    """How well a query is matched, and by which sentence."""

    score: float
    place: int


class Scorer(Protocol):
    """Finds, for each query, the best of the sentences: its score (0 = nothing in common) and its place among them."""

    def __call__(self, sentences: Sequence[str], queries: Sequence[str]) -> list[ChoiceMatch]:
        """One match a query; ties go to the first sentence."""
        ...


class Support(Protocol):
    """How far a sentence that matches a true/false question this well supports "true": below 0, it does not."""

    def __call__(self, text: str, sentence: str, score: float) -> float:
        """A number in a unit of its own: words, or cosine."""
        ...


def statement(question: SystemQuestion, label: str) -> str:
    """The text that is looked for to see whether this choice is right: the question's text, then the choice's."""
    return statement_of(question.text, question.choices[label])


def _side(question: SystemQuestion, word: str) -> str | None:
    """The label of the choice that says this word."""
    return next((label for label, text in question.choices.items() if text.strip().casefold() == word), None)


def _lead(matches: Sequence[ChoiceMatch], best: int) -> float:
    """How much better the best match is than the second one; a single choice has all of its score."""
    return matches[best].score - max((match.score for i, match in enumerate(matches) if i != best), default=0.0)


def overlap_system(
    score: Scorer, support: Support, abstain_margin: float = 0.0
) -> Callable[[SystemQuestion], SystemAnswer]:
    """The system that answers with the choice whose statement is best matched by one sentence, and cites it.

    For a true/false question, the text itself is searched: true if `support(text, sentence, score)` of its best
    sentence is not below 0, else false; the words "true" and "false" say nothing about a page. Abstains without pages,
    when nothing is matched at all, where the best choice is less than `abstain_margin` ahead of the second one (a
    statement's support: less than that from 0), and on free_text questions. Ties go to the first choice.
    """

    def answer(question: SystemQuestion) -> SystemAnswer:
        sentences = sentences_of(question)
        if not sentences or not question.choices:
            return SystemAnswer(answer=None)
        texts = [sentence.text for sentence in sentences]
        if question.kind == "true_false":
            match = score(texts, [question.text])[0]
            supported = support(question.text, texts[match.place], match.score)
            ahead, said = abs(supported), _side(question, "true" if supported >= 0 else "false")
        else:
            labels = list(question.choices)
            matches = score(texts, [statement(question, label) for label in labels])
            place = max(range(len(labels)), key=lambda i: matches[i].score)
            match, said, ahead = matches[place], labels[place], _lead(matches, place)
        if match.score <= 0 or said is None or ahead < abstain_margin:
            return SystemAnswer(answer=None)
        cited = sentences[match.place]
        return SystemAnswer(answer=said, response=f"{match.score:.4f}: {cited.text[:300]}", passages=[cited.span])

    return answer


def bm25_system(k1: float = 1.5, b: float = 0.75) -> Callable[[SystemQuestion], SystemAnswer]:
    """`bm25-overlap`: BM25 (lucene) over the question's own sentences.

    True/false: true when the best sentence holds at least half of the distinct words of the question's text.
    """

    def score(sentences: Sequence[str], queries: Sequence[str]) -> list[ChoiceMatch]:
        tables = BM25(sentences, k1=k1, b=b).scores_of(queries)
        return [ChoiceMatch(float(table.max()), int(table.argmax())) for table in tables]

    def support(text: str, sentence: str, score: float) -> float:
        words = set(tokenise(text))
        return len(words & set(tokenise(sentence))) - len(words) / 2

    return overlap_system(score, support)


def dense_system(
    encoder: Encoder, true_from: float = 0.7, abstain_margin: float = 0.0
) -> Callable[[SystemQuestion], SystemAnswer]:
    """`sbert-overlap`: cosine of sentence embeddings. True/false: true when the best cosine is at least `true_from`.

    `sbert-overlap-silent` also abstains where the best choice's cosine is less than `abstain_margin` ahead.
    """

    def score(sentences: Sequence[str], queries: Sequence[str]) -> list[ChoiceMatch]:
        table = encoder.encode(queries) @ encoder.encode(sentences).T
        return [ChoiceMatch(float(row.max()), int(row.argmax())) for row in table]

    def support(text: str, sentence: str, score: float) -> float:
        return score - true_from

    return overlap_system(score, support, abstain_margin)
