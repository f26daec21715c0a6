"""The pages of bench/leaks.py: TQA questions as mirror sites would show them, and real pages that hold none.

The editor here knows nothing of the detector: it edits as a copyist would.
"""

from __future__ import annotations

import bz2
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from edu_rag.gold import Gold
from edu_rag.records import Question

SEED = 20261122
KINDS = ("verbatim", "reordered", "edited")
SAME = {
    "large": "big",
    "big": "large",
    "called": "named",
    "move": "travel",
    "occurs": "happens",
    "happens": "occurs",
    "made": "formed",
    "usually": "normally",
    "many": "several",
    "cause": "produce",
    "causes": "produces",
    "begin": "start",
    "difference": "distinction",
    "include": "comprise",
    "includes": "comprises",
    "amount": "quantity",
    "type": "kind",
    "types": "kinds",
    "part": "portion",
    "during": "in the course of",
    "because": "since",
    "always": "in every case",
    "only": "solely",
    "all": "every one",
    "used": "employed",
    "form": "create",
    "found": "located",
    "known": "called",
    "best": "most accurately",
    "person": "human",
    "water": "H2O",
    "people": "persons",
    "earth": "our planet",
    "example": "instance",
    "increase": "rise",
    "body": "human body",
}
FILLERS = ("really", "basically", "often", "in general", "therefore", "mostly", "also", "in fact")
SMALL = frozenset(["the", "a", "an", "of", "is", "are", "to", "that", "in", "by", "and", "it", "be"])


@dataclass(frozen=True, slots=True)
class Planted:
    """One question as printed on a mirror page."""

    question: Question
    text: str
    choices: tuple[str, ...]
    gold: str


def _typo(word: str, random_: random.Random) -> str:
    if len(word) < 5 or not word.isalpha():
        return word
    at = random_.randrange(1, len(word) - 2)
    return random_.choice((word[:at] + word[at + 1] + word[at] + word[at + 2 :], word[:at] + word[at + 1 :]))


def edit_once(words: list[str], random_: random.Random) -> list[str]:
    """One light edit: a word changed, misspelt, put in or left out."""
    at = random_.randrange(len(words))
    known = [place for place, word in enumerate(words) if word.lower() in SAME]
    small = [place for place, word in enumerate(words) if word.lower() in SMALL]
    way = random_.choice(("same", "same", "typo", "insert", "drop"))
    if way == "same" and known:
        at = random_.choice(known)
        return [*words[:at], SAME[words[at].lower()], *words[at + 1 :]]
    if way == "insert":
        return [*words[:at], random_.choice(FILLERS), *words[at:]]
    if way == "drop" and small and len(words) > 4:
        at = random_.choice(small)
        return words[:at] + words[at + 1 :]
    return [*words[:at], _typo(words[at], random_), *words[at + 1 :]]


def edited(text: str, random_: random.Random) -> str:
    """A lightly edited text: one edit to about six words (at most three), other punctuation and case now and then."""
    words = text.split()
    for _ in range(min(3, 1 + len(words) // 7)):
        words = edit_once(words, random_)
    changed = " ".join(words)
    match random_.randrange(5):
        case 0:
            changed = changed.rstrip(".?") + random_.choice((" ____", ":", " ...", "?", ""))
        case 1:
            changed = changed[:1].upper() + changed[1:]
        case 2:
            changed = changed.replace(",", "").replace("-", " ")
        case 3:
            changed = re.sub(r"^(what|which) (is|are) (.+?)\??$", r"\3 \2 ____", changed, flags=re.IGNORECASE)
    return changed


def plant(question: Question, gold: Gold, kind: str, random_: random.Random) -> Planted:
    """The question as a mirror of this kind would hold it."""
    choices = list(question.choices.values())
    answer = question.choices[gold.answer or "a"]
    text = question.text
    if kind != "verbatim":
        random_.shuffle(choices)
    if kind == "edited":
        text = edited(text, random_)
    return Planted(question, text, tuple(choices), answer)


def _letters(item: Planted, style: str) -> list[str]:
    return [style.format("abcdefgh"[place], choice) for place, choice in enumerate(item.choices)]


def _letter(item: Planted) -> str:
    return "abcdefgh"[item.choices.index(item.gold)]


def quiz(items: Sequence[Planted], random_: random.Random) -> str:
    """Numbered questions with lettered choices, no key."""
    style = random_.choice(("{0}) {1}", "{0}. {1}", "({0}) {1}", "- {1}"))
    return "\n\n".join(
        f"{number}. {item.text}\n" + "\n".join(_letters(item, style)) for number, item in enumerate(items, 1)
    )


def quiz_with_key(items: Sequence[Planted], random_: random.Random) -> str:
    """A quiz with the key under each question, or with the right choice marked."""
    lines = []
    for number, item in enumerate(items, 1):
        marked = random_.random() < 0.3
        listed = [
            f"* {line}" if marked and choice == item.gold else line
            for line, choice in zip(_letters(item, "{0}. {1}"), item.choices, strict=True)
        ]
        key = "" if marked else random_.choice((f"\nAnswer: {_letter(item)}", f"\nCorrect answer: {item.gold}"))
        lines.append(f"Question {number}\n{item.text}\n" + "\n".join(listed) + key)
    return "\n\n".join(lines)


def flash_cards(items: Sequence[Planted], random_: random.Random) -> str:
    """Front and back, as study-set sites print them."""
    back_first = random_.random() < 0.3
    return "\n".join(f"{item.gold}\n{item.text}" if back_first else f"{item.text}\n{item.gold}" for item in items)


def worksheet(items: Sequence[Planted], random_: random.Random) -> str:
    """The questions, then a key at the end of the page."""
    body = "\n".join(
        f"{number}. {item.text}\n{'   '.join(_letters(item, '{0}. {1}'))}" for number, item in enumerate(items, 1)
    )
    return body + "\n\nAnswer key\n" + " ".join(f"{number}. {_letter(item)}" for number, item in enumerate(items, 1))


def forum(items: Sequence[Planted], random_: random.Random) -> str:
    """Someone asks, someone answers."""
    asks = ("Can somebody help me with this one? ", "Stuck on my homework. ", "Need help please!! ")
    posts = []
    for item in items:
        shown = " ".join(_letters(item, "{0}) {1}")) if random_.random() < 0.8 else ""
        posts.append(f"{random_.choice(asks)}{item.text} {shown}\nBest answer: I think it is {item.gold}")
    return "\n\n".join(posts)


def table(items: Sequence[Planted], random_: random.Random) -> str:
    """A table's rows, as extractors print them."""
    bar = random_.choice((" | ", "\t"))
    return "\n".join(
        bar.join((str(number), item.text, *item.choices, item.gold)) for number, item in enumerate(items, 1)
    )


def one_line(items: Sequence[Planted], random_: random.Random) -> str:
    """Everything run together, as extractors do to pages built of <div>."""
    return " ".join(
        f"{number}. {item.text} {' '.join(_letters(item, '{0}. {1}'))}" for number, item in enumerate(items, 1)
    )


LAYOUTS: Mapping[str, Callable[[Sequence[Planted], random.Random], str]] = {
    "quiz": quiz,
    "quiz with key": quiz_with_key,
    "flash cards": flash_cards,
    "worksheet": worksheet,
    "forum": forum,
    "table": table,
    "one line": one_line,
}
WITH_KEY = frozenset({"quiz with key", "flash cards", "worksheet", "forum", "table"})


def _chunks(source: str, text: str, size: int) -> Iterator[tuple[str, str]]:
    """A long text as pages of about `size` characters, cut between lines."""
    lines, part = text.split("\n"), 0
    page: list[str] = []
    length = 0
    for line in lines:
        page.append(line)
        length += len(line)
        if length >= size:
            yield f"{source}#{part}", "\n".join(page)
            page, length, part = [], 0, part + 1
    if length >= 500:
        yield f"{source}#{part}", "\n".join(page)


def _html_text(body: bytes) -> str:
    from builder.extract.extract import Extracted, extract_page

    found = extract_page(body, "utf-8", "bs4-v1")
    return found.text if isinstance(found, Extracted) else ""


def _school_pages(data: Path, size: int = 8_000) -> Iterator[tuple[str, str]]:
    for path in sorted((data / "web/siyavula").rglob("*.html")):
        yield from _chunks(str(path.relative_to(data)), _html_text(path.read_bytes()), size)
    for path in sorted((data / "web/openstax-physics/gold").glob("*.txt")):
        yield from _chunks(str(path.relative_to(data)), path.read_text("utf-8"), size)


def _news_pages(data: Path) -> Iterator[tuple[str, str]]:
    truth = json.loads((data / "extraction/aeb/ground-truth.json").read_text("utf-8"))
    for name in sorted(truth):
        yield f"aeb/{name}", truth[name]["articleBody"]
    for path in sorted((data / "extraction/wcxb-dev/html").glob("*.html.gz")):
        yield f"wcxb/{path.name}", _html_text(gzip.decompress(path.read_bytes()))
    with bz2.open(data / "crag/dev_sample.jsonl.bz2", "rt", encoding="utf-8") as lines:
        for line in lines:
            for found in json.loads(line)["search_results"]:
                yield f"crag/{found['page_url']}", _html_text(found["page_result"].encode("utf-8", "replace"))


def _short_pages(data: Path) -> Iterator[tuple[str, str]]:
    documents = (data / "ir/cranfield/cran.all.1400.xml").read_text("utf-8", "replace")
    for number, body in enumerate(re.findall(r"<text>(.*?)</text>", documents, re.DOTALL), 1):
        yield f"cranfield/{number}", body
    with gzip.open(data / "medquad/pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            yield f"medquad/{pair['id']}", f"{pair['question']}\n{pair['answer']}"


def clean_pages(data: Path, n_pages: int) -> list[tuple[str, str]]:
    """Real texts that hold no TQA question: school books first, then news and the web, then abstracts and health."""
    pages: list[tuple[str, str]] = []
    for source in (_school_pages, _news_pages, _short_pages):
        pages += islice(((name, text) for name, text in source(data) if len(text) >= 500), n_pages - len(pages))
    return pages


@dataclass(frozen=True, slots=True)
class Mirror:
    """A planted page: which questions it holds, how, and its text."""

    kind: str
    layout: str
    question_ids: tuple[str, ...]
    text: str


def mirrors(questions: Sequence[Question], golds: Mapping[str, Gold], clean: Sequence[tuple[str, str]]) -> list[Mirror]:
    """Every question once in every kind, 1 to 4 on a page, in a seeded layout, amid real text or alone."""
    random_ = random.Random(SEED)
    made = []
    for kind in KINDS:
        order = list(questions)
        random_.shuffle(order)
        while order:
            size = random_.choice((1, 1, 2, 4))
            chosen, order = order[:size], order[size:]
            items = [plant(question, golds[question.question_id], kind, random_) for question in chosen]
            layout = random_.choice(tuple(LAYOUTS))
            body = LAYOUTS[layout](items, random_)
            around = random_.choice(clean)[1][:3_000]
            text = f"{around}\n\n{body}\n\n{around[-800:]}" if random_.random() < 0.7 else body
            made.append(Mirror(kind, layout, tuple(question.question_id for question in chosen), text))
    return made


def varied(questions: Sequence[Question], golds: Mapping[str, Gold], n_questions: int) -> list[tuple[Question, Gold]]:
    """A larger set: the questions, then copies in which two words in five are words of the questions around them."""
    random_ = random.Random(SEED)
    made = [(question, golds[question.question_id]) for question in questions]
    words = [re.findall(r"[A-Za-z]{4,}", " ".join((one.text, *one.choices.values()))) for one in questions]
    for number in range(len(questions), n_questions):
        question = questions[place := number % len(questions)]
        near = [word for around in words[max(0, place - 25) : place + 25] for word in around]

        def vary(text: str, near: Sequence[str] = near) -> str:
            return re.sub(r"[A-Za-z]{4,}", lambda m: random_.choice(near) if random_.random() < 0.4 else m[0], text)

        other = replace(
            question,
            question_id=f"{question.question_id}-{number}",
            text=vary(question.text),
            choices={label: vary(choice) for label, choice in question.choices.items()}
            if question.kind != "true_false"
            else question.choices,
        )
        made.append((other, replace(golds[question.question_id], question_id=other.question_id)))
    return made


def long_pages(data: Path, size: int = 20_000) -> list[tuple[str, str]]:
    """School books in pages of about `size` characters: where the questions' words are thickest."""
    pages = [(name, text) for name, text in _school_pages(data, size) if len(text) >= 0.75 * size]
    return pages[::5]
