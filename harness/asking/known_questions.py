"""The questions of a dataset, each with its pages, evidence and gold; and a question that someone types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from edu_rag.errors import ConfigError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import LABELS, Evidence, Kind, Leak, Question, WebPage
from edu_rag.scorecard.card import Prediction, Verdict
from edu_rag.scorecard.support import offered_pages
from harness.importing.find_question import QuestionFinder
from harness.judging.free_text import UnjudgedError
from harness.judging.grading import Grading, grade_all
from harness.reading.folding import fold_writing

TYPED = "typed"
"""The question id, and the split, of a question that is not from a dataset. A system sees neither."""
MAX_TEXT, MAX_CHOICE = 4_000, 1_000
"""Characters of a typed question, and of one of its choices."""
_TRUTH = (["true", "false"], ["false", "true"])


def typed_question(text: str, choices: Sequence[str]) -> Question:
    """A question as someone typed it: free text without choices. Raises ConfigError for one that cannot be asked."""
    given = [" ".join(choice.split()) for choice in choices if choice.strip()]
    text = text.strip()
    if not text:
        raise ConfigError("question", "is empty", "type a question")
    if len(text) > MAX_TEXT:
        raise ConfigError("question", f"has {len(text):,} characters", f"at most {MAX_TEXT:,} are allowed")
    if len(given) == 1 or len(given) > len(LABELS):
        raise ConfigError("choices", f"{len(given)} given", f"give none, or 2 to {len(LABELS)}")
    if any(len(choice) > MAX_CHOICE for choice in given):
        raise ConfigError("choices", f"one has over {MAX_CHOICE:,} characters", "shorten it")
    kind: Kind = "multiple_choice" if given else "free_text"
    if [fold_writing(choice) for choice in given] in _TRUTH:
        kind = "true_false"
    choice_of = dict(zip(LABELS, given, strict=False))
    return Question(question_id=TYPED, text=text, choices=choice_of, kind=kind, split=TYPED)


class KnownQuestions:
    """What a dataset holds about each of its questions; every table is read once, when it is first needed.

    `split` None stands for all splits.
    """

    def __init__(self, dataset: Dataset, split: str | None = None) -> None:
        self.dataset = dataset
        self.splits = dataset.splits() if split is None else [dataset.only_split(split)]

    @cached_property
    def by_id(self) -> Mapping[str, Question]:
        """The questions by id, in order of split and id."""
        return {q.question_id: q for split in self.splits for q in self.dataset.questions(split)}

    @cached_property
    def _gold(self) -> Mapping[str, Gold]:
        return {gold.question_id: gold for split in self.splits for gold in self.dataset.records("gold", split, Gold)}

    @cached_property
    def _evidence(self) -> Mapping[str, Sequence[Evidence]]:
        return {i: found for split in self.splits for i, found in self.dataset.evidence(split).items()}

    @cached_property
    def _leaks(self) -> Mapping[str, Sequence[Leak]]:
        found: dict[str, list[Leak]] = {}
        for split in self.splits:
            for leak in self.dataset.records("leaks", split, Leak):
                found.setdefault(leak.question_id, []).append(leak)
        return found

    def read_all(self) -> None:
        """Read every table now, so that no question waits for that."""
        for table in (self.by_id, self._gold, self._evidence, self._leaks):
            len(table)

    def question(self, question_id: str) -> Question:
        """A question by its id. Raises ConfigError if there is none such."""
        found = self.by_id.get(question_id)
        if found is None:
            close = QuestionFinder(self.by_id, {}).suggestion(question_id) or next(iter(self.by_id), "none")
            what = f"unknown question id {question_id[:80]!r} in {self.dataset.id}"
            raise ConfigError("question", what, f"did you mean {close!r}?")
        return found

    def pages(self, question: Question) -> list[WebPage]:
        """The pages of a question, in rank order: none for a typed one."""
        if question.split not in self.splits:
            return []
        ids = offered_pages(self.dataset, question.split, question.question_id)
        pages = self.dataset.pages(question.split, set(ids)) if ids else {}
        return [pages[page_id] for page_id in ids if page_id in pages]

    def evidence(self, question: Question) -> Sequence[Evidence]:
        """The evidence for a question, in sentences."""
        return self._evidence.get(question.question_id, ())

    def leaks(self, question: Question) -> Sequence[Leak]:
        """Where a page holds this question."""
        return self._leaks.get(question.question_id, ())

    def gold(self, question: Question) -> Gold | None:
        """The gold answer; None for a typed question, and for one of a hidden split."""
        return self._gold.get(question.question_id)

    def verdict(self, question: Question, prediction: Prediction) -> Verdict | None:
        """The verdict on a prediction by the rules of scoring; None where the gold is not known."""
        gold = self.gold(question)
        if gold is None:
            return None
        question_id = question.question_id
        grading = Grading()
        try:
            (verdict,), _ = grade_all([question], {question_id: gold}, {question_id: prediction}, grading)
        except UnjudgedError:
            return None  # free text that only a model could grade
        return verdict
