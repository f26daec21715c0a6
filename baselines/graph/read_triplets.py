"""Read triplets from sentences: by rules over spaCy's dependency parse, or by a language model.

HyPA-RAG asks GPT-4o (section 8.2); its prompt is not published, and the paper does not define a triplet. The rules are
free of charge, and ours:

- subject, verb, object: "Plants convert light" - (plant, convert, light);
- with a preposition: "into energy" - (plant, convert into, energy); "Water freezes at 0 degrees" likewise;
- copula: "A whale is a mammal" - (whale, be, mammal), also of an adjective; apposition the same;
- passive with an agent, turned round: "Light is absorbed by chlorophyll" - (chlorophyll, absorb, light);
- passive without: "Oil is found in rocks" - (oil, be found in, rock);
- a noun's own preposition other than "of": "cells in the blood" - (cell, in, blood).

Subjects and objects joined by "and" give one triplet each; a verb without a subject takes the one of the verb that it
is joined to, or the noun that its clause describes. "Not" stays; "can" and "may" are lost, and so is a pronoun's
statement, since nothing here resolves pronouns.

The model gets one sentence a call, so that its triplets do not depend on its neighbours, and are extracted once a
process. A model may add its own knowledge: an entity is dropped if the sentence contains none of its words, because the
sentence is cited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from baselines.graph.english import coordinated, english, entities, entity, lemma, named, says_something
from baselines.graph.triplets import MAX_PER_SENTENCE, Entity, Extract, Triplet, sound
from baselines.prompts.generate import LanguageModel
from baselines.prompts.prompt import harmless, load_prompt
from edu_rag.serve import SystemQuestion

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "obj", "attr", "acomp", "oprd")
_RELATIVE = ("WDT", "WP")
MAX_NEW_TOKENS = 96
MAX_REPLY_CHARS = 4_000
_NO_QUESTION = SystemQuestion(id="", text="", choices={}, kind="free_text", pages=())
_BULLET = re.compile(r"^\s*(?:[-*•]+|\(?\d{1,3}[.):]|triplets?\s*\d*\s*:)\s*", re.IGNORECASE)
_SEPARATORS = ("|", "\t", "->", "→", ";", ",")
"""The prompt's own first, then what models write instead; a comma only inside brackets."""
_AROUND = " \t\"'`“”‘’*"


class _Subjects(NamedTuple):
    entities: list[Entity]
    passive: bool


_NOBODY = _Subjects([], passive=False)


def _children(token: Token, *deps: str) -> list[Token]:
    return [child for child in token.children if child.dep_ in deps]


def _own(verb: Token) -> _Subjects | None:
    named = _children(verb, *_SUBJECTS)
    if not named:
        return None
    # "cells that carry oxygen": the pronoun refers to the noun that the clause describes.
    heads = [verb.head if token.tag_ in _RELATIVE and verb.dep_ == "relcl" else token for token in named]
    return _Subjects(entities(heads), passive=any(token.dep_ == "nsubjpass" for token in named))


def _subjects(verb: Token) -> _Subjects:
    """The subjects of a verb: its own, or the one it shares (each step goes up the tree, so it ends)."""
    own = _own(verb)
    if own is not None:
        return own
    if verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBG"):
        return _Subjects(entities([verb.head]), passive=verb.tag_ == "VBN")
    if verb.dep_ in ("conj", "xcomp") and verb.head.pos_ in ("VERB", "AUX"):
        above = _subjects(verb.head)
        return above._replace(passive=verb.dep_ == "conj" and verb.tag_ == "VBN" and above.passive)
    return _NOBODY


def _predicate(verb: Token, passive: bool) -> str:
    words = ["not"] if _children(verb, "neg") else []
    words += ["be", verb.text.casefold()] if passive else [lemma(verb)]
    return " ".join([*words, *(child.text.casefold() for child in _children(verb, "prt"))])


def _prepositional(head: Token) -> Iterator[tuple[str, Token]]:
    for preposition in _children(head, "prep"):
        for one in coordinated(preposition):
            for object_ in _children(one, "pobj"):
                yield one.text.casefold(), object_


def _statements(verb: Token) -> Iterator[tuple[list[Entity], str, list[Entity]]]:
    subjects = _subjects(verb)
    predicate = _predicate(verb, subjects.passive)
    agents = [object_ for agent in _children(verb, "agent") for object_ in _children(agent, "pobj")]
    yield entities(agents), _predicate(verb, passive=False), subjects.entities
    yield subjects.entities, predicate, entities(_children(verb, *_OBJECTS))
    for preposition, object_ in _prepositional(verb):
        yield subjects.entities, f"{predicate} {preposition}", entities([object_])


def _of_token(token: Token) -> Iterator[tuple[list[Entity], str, list[Entity]]]:
    if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
        yield from _statements(token)
    elif token.pos_ in ("NOUN", "PROPN"):
        whole = entity(token)
        subject = [] if whole is None else [whole]
        yield subject, "be", entities(_children(token, "appos"))
        for preposition, object_ in _prepositional(token):
            if preposition != "of":
                yield subject, preposition, entities([object_])


def triplets_of(sentence: Doc) -> list[Triplet]:
    """The triplets of one parsed sentence, in the order of its words, each once, at most MAX_PER_SENTENCE."""
    found: dict[Triplet, None] = {}
    for token in sentence:
        for subjects, predicate, objects in _of_token(token):
            made = (Triplet(subject, predicate, object_) for subject in subjects for object_ in objects)
            found.update(dict.fromkeys(triplet for triplet in made if sound(triplet)))
    return list(found)[:MAX_PER_SENTENCE]


def read_sentences(sentences: Sequence[str]) -> list[list[Triplet]]:
    """The triplets of each of these sentences."""
    return [triplets_of(doc) for doc in english().pipe(sentences, batch_size=64)]


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
