"""Triplets that a language model names, as HyPA-RAG has GPT-4o do (section 8.2; its prompt is not published).

One sentence a call, so that its triplets do not depend on its neighbours, and are extracted once a process. A model
may add its own knowledge: an entity is dropped if the sentence contains none of its words, because the sentence is
cited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from baselines.generate import LanguageModel
from baselines.graph.english import english, lemma, named, says_something
from baselines.graph.triplets import MAX_PER_SENTENCE, Entity, Extract, Triplet, sound
from baselines.prompt import harmless, load_prompt
from edu_rag.serve import SystemQuestion

MAX_NEW_TOKENS = 96
MAX_REPLY_CHARS = 4_000
_NO_QUESTION = SystemQuestion(id="", text="", choices={}, kind="free_text", pages=())
_BULLET = re.compile(r"^\s*(?:[-*•]+|\(?\d{1,3}[.):]|triplets?\s*\d*\s*:)\s*", re.IGNORECASE)
_SEPARATORS = ("|", "\t", "->", "→", ";", ",")
"""The prompt's own first, then what models write instead; a comma only inside brackets."""
_AROUND = " \t\"'`“”‘’*"


def _fields(line: str) -> list[str]:
    bare = _BULLET.sub("", line).strip(_AROUND).rstrip(".,;").strip(_AROUND)
    enclosed = bare[:1] in ("(", "[", "<") and bare[-1:] in (")", "]", ">")
    if enclosed:
        bare = bare[1:-1]
    for separator in _SEPARATORS if enclosed else _SEPARATORS[:-1]:
        if separator in bare:
            parts = bare.strip(separator).split(separator)
            return [harmless(part).strip(_AROUND) for part in parts]
    return []


def parse_reply(reply: str) -> list[tuple[str, str, str]]:
    """The triplets of a model's reply, one a line; a line without exactly three meaningful parts is skipped.

    Bullets, numbers, quotes, brackets and other separators than the prompt's are understood. Never raises.
    """
    found: dict[tuple[str, str, str], None] = {}
    for line in reply[:MAX_REPLY_CHARS].splitlines():
        fields = _fields(line)
        if len(fields) == 3 and all(any(char.isalnum() for char in field) for field in fields):
            found[fields[0], fields[1].casefold(), fields[2]] = None
    return list(found)[:MAX_PER_SENTENCE]


def grounded(sentence: str, said: Sequence[tuple[str, str, str]]) -> list[Triplet]:
    """Those triplets whose subject and object each share a word with the sentence, by lemma."""
    words = {lemma(token) for token in english()(sentence) if says_something(token)}

    def there(entity: Entity) -> bool:
        return not words.isdisjoint(entity.lemmas.split())

    found = []
    for subject_name, predicate, object_name in said:
        subject, object_ = named(subject_name), named(object_name)
        if subject is not None and object_ is not None and there(subject) and there(object_):
            found.append(Triplet(subject, predicate, object_))
    return [triplet for triplet in found if sound(triplet)]


def reader(model: LanguageModel, prompt: str = "graph-triplets-v1") -> Extract:
    """The extractor that asks the model. Raises ConfigError if there is no such prompt."""
    loaded = load_prompt(prompt)

    def read(sentence: str) -> list[Triplet]:
        reply = model.generate(loaded.fill(_NO_QUESTION, sentence), MAX_NEW_TOKENS).text
        # A model without a stop goes on with another sentence: text after a blank line does not belong to this one.
        own = reply.lstrip().partition("\n\n")[0]
        return grounded(sentence, parse_reply(own))

    def extract(sentences: Sequence[str]) -> list[list[Triplet]]:
        return [read(sentence) for sentence in sentences]

    return extract
