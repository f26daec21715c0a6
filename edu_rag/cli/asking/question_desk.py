"""What the page of `edu-rag try` works with: the dataset, the systems, the search, and the file of annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edu_rag.cli.asking.page_search import LiveEngine, PageSearch
from edu_rag.cli.asking.question_form import QuestionForm, checked_form
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.annotated import ShownReply
from edu_rag.look.texts import one_line
from edu_rag.progress import say
from edu_rag.records import Question, WebPage
from harness.asking.annotations import AnnotationFile
from harness.asking.asked import AskedQuestion, SystemReply, ask_systems, asked_question
from harness.asking.known_questions import KnownQuestions, typed_question
from harness.running.warm_system import WarmSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionDesk:
    """Takes forms and returns answers; knows nothing of how they are shown."""

    known: KnownQuestions
    systems: Mapping[str, WarmSystem]
    search: PageSearch
    engine: LiveEngine | None
    annotations: AnnotationFile

    @property
    def slugs(self) -> Sequence[str]:
        """The names of the systems, in the order of the command line."""
        return tuple(self.systems)

    def asked(self, form: QuestionForm) -> tuple[QuestionForm, AskedQuestion]:
        """The checked form and its question with its pages. Raises ConfigError, or what a search engine raises."""
        form = checked_form(form, self.slugs, may_search=self.engine is not None)
        is_typed = not form.question_id
        question = typed_question(form.text, form.choices) if is_typed else self.known.question(form.question_id)
        return form, asked_question(self.known, question, self._pages(form, question), form.page_input)

    def _pages(self, form: QuestionForm, question: Question) -> Sequence[WebPage]:
        if form.rule == "none":
            return ()
        if form.is_live and self.engine is not None:
            return self.engine.pages(question)
        return self.known.pages(question) if form.question_id else self.search.search(question.text)

    def replies(self, form: QuestionForm, asked: AskedQuestion) -> Iterator[tuple[int, SystemReply]]:
        """The systems' replies as they come, each with its number in the form."""
        return ask_systems([self.systems[slug] for slug in form.systems], self.known, asked)

    def save(self, reply: ShownReply, label: str, correctness: int | None) -> None:
        """Keep a judgement. Raises ConfigError if the file takes none: its place is for stderr, not for visitors."""
        try:
            self.annotations.add(reply, label, correctness)
        except (DataError, OSError) as error:
            say(one_line(f"a judgement was not saved: {error}"))
            raise ConfigError("annotation", "it was not saved", "the owner of this page can read why") from None
