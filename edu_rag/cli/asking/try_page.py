"""The page of `edu-rag try` in Gradio: a form, up to three answers side by side, and what a visitor says about them.

Texts of pages, systems and visitors are shown as HTML of harness.pages.asked_panel, which escapes them, or in
components that hold plain text; never as Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import gradio as gr

from edu_rag.cli.asking.question_desk import QuestionDesk
from edu_rag.cli.asking.question_form import LIVE, QuestionForm, form_of_query
from edu_rag.errors import ConfigError, EduRagError
from edu_rag.files.annotated import ANSWER_LABELS, CORRECTNESS, ShownReply
from edu_rag.look.texts import clip
from harness.asking.annotations import shown_reply
from harness.asking.asked import MAX_SYSTEMS
from harness.asking.known_questions import MAX_TEXT
from harness.asking.page_input import MAX_TOP
from harness.pages.asked_panel import (
    fault_panel,
    head_panel,
    pages_panel,
    question_panel,
    reply_panel,
    saved_panel,
    waiting_panel,
)

MAX_LISTED = 1_000
"""Questions in the list; in a larger dataset the others are asked by their id."""
FROM_DATASET, TYPED = "From the dataset", "My own"
"""The kinds of question. try.css names the second, and the rule `top`."""
MAX_QUERY = 100_000
"""Characters of a link that are read."""
_MAX_WAITING = 20
_QUERY = "() => location.search.slice(1)"
"""What a link says, without its question mark."""
_SHOW_ADDRESS = "(query) => { if (!query) return ''; history.replaceState(null, '', query); return location.href; }"
"""Put the form into the address bar, and return the address; nothing where nothing was asked."""
_PRIVATE: Mapping[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

Shown = tuple[ShownReply | None, ...]
"""The replies that a visitor sees, by their place: what the server keeps of a visit."""
NOTHING: Shown = (None,) * MAX_SYSTEMS


class FormParts(NamedTuple):
    """The components of the form, in the order in which events get their values."""

    source: gr.Radio
    question_id: gr.Dropdown
    text: gr.Textbox
    choices: gr.Textbox
    systems: gr.CheckboxGroup
    rule: gr.Radio
    top: gr.Slider


class ReplySlot(NamedTuple):
    """The components of one column of answers."""

    column: gr.Column
    answer: gr.HTML
    label: gr.Radio
    correctness: gr.Radio
    save: gr.Button
    saved: gr.HTML
    pages: gr.HTML


class TopParts(NamedTuple):
    """The components between the form and the answers."""

    question: gr.HTML
    link: gr.Textbox
    query: gr.Textbox


def form_of_values(
    source: str, question_id: Any, text: Any, choices: Any, systems: Sequence[str] | None, rule: str, top: float
) -> QuestionForm:
    """The values of the components as a form."""
    is_typed = source == TYPED
    lines = [line.strip() for line in str(choices or "").splitlines() if line.strip()]
    return QuestionForm(
        question_id="" if is_typed else str(question_id or ""),
        text=str(text or "") if is_typed else "",
        choices=lines if is_typed else [],
        systems=[str(slug) for slug in systems or ()],
        rule=f"top-{int(top)}" if rule == "top" else str(rule),
    )


def _html(value: str = "", elem_id: str | None = None) -> gr.HTML:
    """A place for a panel, without Gradio's style for prose."""
    return gr.HTML(value, elem_id=elem_id, apply_default_css=False, js_on_load=None)


class TryPage:
    """The page: `blocks` is what Gradio serves. Questions are asked one after another."""

    def __init__(self, desk: QuestionDesk) -> None:
        self._desk = desk
        with gr.Blocks(title=f"Ask {desk.known.dataset.id}", analytics_enabled=False, fill_width=True) as self.blocks:
            _html(head_panel(desk.known.dataset.id))
            self._form = self._form_parts()
            self._ask_button = gr.Button("Ask", variant="primary", elem_id="ask")
            self._top = TopParts(
                _html(elem_id="question"),
                gr.Textbox(
                    label="Link to this question", interactive=False, buttons=["copy"], elem_id="link", placeholder=" "
                ),
                gr.Textbox(visible=False),
            )
            self._link_query = gr.Textbox(visible="hidden")
            self._shown = gr.State(NOTHING)
            with gr.Row(equal_height=False):
                self._slots = [self._slot(place) for place in range(MAX_SYSTEMS)]
            self._connect()
        self.blocks.queue(max_size=_MAX_WAITING, api_open=False)

    def _form_parts(self) -> FormParts:
        known, engine = self._desk.known, self._desk.engine
        listed = list(known.by_id.values())[:MAX_LISTED]
        rules = [("All pages", "own"), ("First k pages", "top"), ("Evidence only", "evidence"), ("No pages", "none")]
        rules += [(f"Live from {engine.name}", LIVE)] if engine is not None else []
        names = [(warm.submission.settings.name, slug) for slug, warm in self._desk.systems.items()]
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                source = gr.Radio([FROM_DATASET, TYPED], value=FROM_DATASET, label="Question", elem_id="source")
                question_id = gr.Dropdown(
                    [(f"{q.question_id}: {clip(q.text, 72)}", q.question_id) for q in listed],
                    label="Question of the dataset",
                    elem_id="question-id",
                    allow_custom_value=len(known.by_id) > MAX_LISTED,
                )
                text = gr.Textbox(label="Your question", lines=2, max_length=MAX_TEXT, elem_id="typed-text")
                choices = gr.Textbox(label="Choices, one per line (none: free text)", lines=4, elem_id="typed-choices")
            with gr.Column(scale=2, min_width=320):
                chosen = [slug for _, slug in names[:MAX_SYSTEMS]]
                systems = gr.CheckboxGroup(names, value=chosen, label=f"Systems, up to {MAX_SYSTEMS}")
                rule = gr.Radio(rules, value="own", label="What goes in", elem_id="rule")
                top = gr.Slider(1, MAX_TOP, value=3, step=1, label="k", elem_id="top")
        return FormParts(source, question_id, text, choices, systems, rule, top)

    def _slot(self, place: int) -> ReplySlot:
        with gr.Column(visible=False, min_width=300, elem_id=f"reply-{place}") as column:
            answer = _html()
            with gr.Group(elem_classes="judging"):  # try.css hides it: of two changes by Gradio the second may be lost
                texts = [(text, label) for label, text in ANSWER_LABELS.items()]
                label = gr.Radio(texts, label="This answer is")
                numbers = [(str(number), number) for number in CORRECTNESS]
                correctness = gr.Radio(numbers, label="Correctness, from 1 (incorrect) to 5 (fully correct)")
                save = gr.Button("Save my judgement", size="sm")
            saved = _html()
            pages = _html()
        return ReplySlot(column, answer, label, correctness, save, saved, pages)

    def _connect(self) -> None:
        """What happens at a click.

        Only a link, Ask and Save reach the server; try.css shows what a choice in the form needs. Gradio's server gives
        no reply to an event that comes while it closes the stream of another one, so the page sends few.
        """
        form, top = self._form, self._top
        every = [part for slot in self._slots for part in slot if part is not slot.save]
        asking = gr.on(
            [self._ask_button.click, form.text.submit],
            self._ask,
            [*form],
            [top.question, top.query, self._shown, *every],
            concurrency_limit=1,
            **_PRIVATE,
        )
        asking.then(None, top.query, top.link, js=_SHOW_ADDRESS, **_PRIVATE)
        for place, slot in enumerate(self._slots):
            given = [self._shown, slot.label, slot.correctness]
            slot.save.click(partial(self._save, place), given, slot.saved, **_PRIVATE)
        self.blocks.load(None, None, self._link_query, js=_QUERY, **_PRIVATE)
        self._link_query.change(self._restore, self._link_query, [*form], **_PRIVATE)

    def _ask(self, *values: Any) -> Iterator[dict[Any, Any]]:
        """Answers as they come, as updates of the components."""
        try:
            form, asked = self._desk.asked(form_of_values(*values))
        except EduRagError as error:
            yield {self._top.question: fault_panel(str(error)), self._top.query: "", **self._columns(())}
            return
        names = [self._desk.systems[slug].submission.settings.name for slug in form.systems]
        shown = list(NOTHING)
        start = {self._top.question: question_panel(asked), self._top.query: form.query(), self._shown: NOTHING}
        yield start | self._columns(names)
        for place, reply in self._desk.replies(form, asked):
            shown[place] = shown_reply(asked, reply)
            slot = self._slots[place]
            yield {
                slot.answer: reply_panel(asked, reply),
                slot.pages: pages_panel(asked, reply),
                self._shown: tuple(shown),
            }

    def _columns(self, names: Sequence[str]) -> dict[Any, Any]:
        """A column for each system that is asked, the others hidden; what was said about earlier answers is cleared."""
        updates: dict[Any, Any] = {}
        for place, slot in enumerate(self._slots):
            waiting = waiting_panel(names[place]) if place < len(names) else ""
            updates |= {slot.column: gr.Column(visible=place < len(names)), slot.answer: waiting}
            updates |= {slot.label: None, slot.correctness: None, slot.saved: "", slot.pages: ""}
        return updates

    def _save(self, place: int, shown: Shown, label: str | None, correctness: int | None) -> str:
        """Keep an annotation; what to show for it."""
        reply = shown[place]
        try:
            if reply is None or label is None:
                raise ConfigError("annotation", "nothing is chosen", "choose what this answer is")
            self._desk.save(reply, label, correctness)
        except EduRagError as error:
            return fault_panel(str(error))
        return saved_panel(self._desk.annotations.path.name)

    def _restore(self, query: str) -> list[Any]:
        """The components' values for a link; those that it does not name stay as they are."""
        pairs = parse_qsl(query[:MAX_QUERY], keep_blank_values=True)
        if not any(name in ("question", "text") for name, _ in pairs):
            return [gr.skip() for _ in self._form]
        form = form_of_query(pairs, self._desk.slugs)
        page_input, rule = form.page_input, form.rule if form.is_live else form.page_input.rule
        return [
            FROM_DATASET if form.question_id else TYPED,
            form.question_id if form.question_id in self._desk.known.by_id else gr.skip(),
            form.text,
            "\n".join(form.choices),
            list(form.systems) or gr.skip(),
            rule if rule != LIVE or self._desk.engine is not None else "own",
            page_input.top,
        ]
