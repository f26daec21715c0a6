"""Text on a page that is addressed to a language model instead of a reader: the `injection` flag.

An article about such attacks quotes them. So a lone order in running text counts only if it is not quoted and
not spoken about; control tokens of chat templates count where they open a turn.
"""

from __future__ import annotations

import re

MAX_CHARS = 2_000_000
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|system|original|initial|other)"
_ORDERS = r"(?:instructions?|prompts?|directions|directives|commands|messages|context)"
_ALL = r"(?:(?:all|any|the|your|of|these|those|my|every|and|everything)\s+)*"
_KIND = (
    r"(?:AI (?:language )?(?:model|assistant|agent|system)s?|AIs?|artificial intelligence|LLMs?"
    r"|(?:large )?language models?"
    r"|chat ?bots?|ChatGPT|GPT(?:-\d)?)"
)
_NAME = r"(?:Claude|Gemini|Copilot|Llama)"
"""Also names of painters, constellations and animals: a name alone does not address a model."""
_MODEL = rf"(?:{_KIND}|{_NAME})"
_NOTE = r"(?:note|attention|message|instructions?|notice|reminder|warning)"
_ORDER = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow)\s+{_ALL}{_EARLIER}\s+"
    rf"(?:(?:system|user|developer)\s+)?{_ORDERS}\b"
    rf"|\bignore\s+everything\s+(?:above|before this|you (?:were|have been) told)\b"
    # "Note: AI is used in labs" informs a reader; "Note to all AI models reading this:" speaks to them.
    rf"|\b{_NOTE}\s+(?:to|for)\s+(?:any |all |the |every )?{_KIND}\b(?:\s+\w+){{0,5}}\s*[:,.!-]"
    rf"|\b{_NOTE}[:,]?\s+(?:any |all |the |every )?{_KIND}\b(?:\s+\w+){{0,3}}\s*[:!]"
    rf"|\b(?:{_NOTE}\s+(?:to|for)|attention[:,]?)\s+{_NAME}\s*[:,!]\s+(?!the\b|an?\b|who\b)"
    rf"|\bif you are an?\s+(?:\w+\s+)?{_MODEL}\b[^.\n]{{0,80}}\b(?:answer|respond|reply|say|output|write"
    rf"|choose|select|include|"
    r"mention|state|ignore|recommend|rate|give)\b"
    rf"|\b(?:as|dear|hey|hello|hi)\s+(?:an?\s+)?{_MODEL}\s*,?\s+(?:\w+\s+)?you\s+(?:must|should|shall|have to"
    rf"|need to|will)\b"
    r"|\byou are now\s+(?:DAN\b|in (?:developer|debug|god|jailbreak) mode|an? (?:unrestricted|unfiltered))"
    r"|\b(?:always|only)\s+(?:answer|respond|reply|choose|select|output)\s+(?:with\s+)?[\"'“(]?(?:[a-h]|true"
    r"|false)[\"'”)]?"
    r"(?:\s+(?:to|for|regardless|no matter)\b|\s*[.!\n])"
    r"|\b(?:reveal|print|repeat|output|show)\s+(?:me\s+)?(?:your|the)\s+(?:entire\s+|full\s+"
    r"|hidden\s+)?system prompt\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"<\|im_start\|>\s*(?:system|user|assistant)\b|<\|(?:start_header_id|begin_of_text|eot_id|endofprompt)\|>"
    r"|<start_of_turn>\s*(?:user|model)|\[INST\][^\[\]]{3,}|<<SYS>>"
    r"|(?:^|\n)\W{0,4}(?:(?:new|updated|revised)\s+)?system\s+(?:prompt|message|instructions?|override)\s*:\s*\S"
    r"|(?:^|\n)\W{0,4}new\s+instructions\s*:\s*\S"
    r"|(?:^|\n)#{2,4}\s*(?:system|instructions?)\s*:?\s*\n[^\n]{0,200}\byou (?:are|must|will)\b",
    re.IGNORECASE,
)
_TALKS_ABOUT = re.compile(
    r"\b(?:prompt[ -]injections?|inject(?:ed|ion|ions)|jail ?break\w*|attackers?|adversar\w+|malicious|red[- ]team\w*|"
    r"vulnerabilit\w+|for example|such as|e\.g\.|phrases? like|prompts? like|told the|tells the|asked the)\b",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"[\"“”„«»`‘]|(?<!\w)'")
NEAR = 400


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Whether the order is in quotation marks in its own line, and the text around it is about such attacks."""
    line = text[max(text.rfind("\n", 0, match.start()) + 1, match.start() - 80) : match.start()]
    around = text[max(0, match.start() - NEAR) : match.end() + NEAR]
    return _TALKS_ABOUT.search(around) is not None and (_QUOTE.search(line) is not None)


# Plain words that every match contains: found a hundred times as fast as the patterns above.
_OVERRIDES = ("ignore", "disregard", "forget", "override", "bypass", "not follow", "don't follow")
_WHAT = ("instruction", "prompt", "direction", "directive", "command", "message", "context", "everything")
_MODELS = (
    "artificial intelligence",
    "llm",
    "language model",
    "chatbot",
    "chat bot",
    "gpt",
    "claude",
    "gemini",
    "copilot",
    "llama",
)
# Patterns begin with plain letters: `re` finds those several times as fast as one of two words.
_AI = re.compile(r"ai(?<!\wai)s?\b")
_ADDRESSES = ("note", "attention", "message", "instruction", "notice", "reminder", "warning", "if you are a")
_MUST = re.compile(r"you\s+(?:must|should|shall|have|need|will)")
_PHRASES = ("you are now", "system prompt")
_DEMANDS = tuple(re.compile(rf"{word}\s+(?:answer|respond|reply|choose|select|output)") for word in ("always", "only"))
_OVERRIDDEN = re.compile(
    r"(?:ignore|disregard|forget|override|bypass|follow)\s+(?:a(?:ll|ny|nd|bove)|th(?:e|ose)|your|of|my|every|p(?:revious|rior)"
    r"|earlier|preceding|foregoing|system|o(?:riginal|ther)|initial)"
)
_ADDRESSED = re.compile(
    r"(?:(?:note|attention|message|instructions?|notice|reminder|warning)[:,]?\s+(?:(?:to|for)\s+)?"
    r"(?:any |all |the |every )?|if you are an?\s+(?:\S+\s+)?|(?:as|dear|hey|hello|hi)\s+(?:an?\s+)?)"
    r"(?:ai|artificial|llm|large|language|chat|gpt|claude|gemini|copilot|llama)"
)
"""The beginning of an order: most pages that have all of its words do not have them there. It takes any word before a
model's name, since folding a letter of another script can add a mark that is no letter.
"""
_MARKS = ("<|", "<start_of_turn>", "[inst]", "<<sys>>", "##")
_NEW = (re.compile(r"instructions\s*:"), re.compile(r"system\s+(?:prompt|message|instruction|override)"))


def _plain(text: str) -> str:
    """Text as patterns that ignore case see it: to them a dotless i, say, is an i."""
    return text.casefold() if text.isascii() else text.casefold().replace("i\u0307", "i").replace("ı", "i")


def _holds(plain: str, words: tuple[str, ...]) -> bool:
    return any(word in plain for word in words)


def _may_order(plain: str) -> bool:
    to_models = _holds(plain, _ADDRESSES) or _MUST.search(plain) is not None
    if to_models and (_holds(plain, _MODELS) or _AI.search(plain)) and _ADDRESSED.search(plain):
        return True
    if _holds(plain, _PHRASES):
        return True
    if _holds(plain, _OVERRIDES) and _holds(plain, _WHAT) and _OVERRIDDEN.search(plain):
        return True
    return any(demand.search(plain) for demand in _DEMANDS)


def _may_turn(plain: str) -> bool:
    return _holds(plain, _MARKS) or any(new.search(plain) for new in _NEW)


def holds_injection(text: str) -> bool:
    """Whether a page's text (visible and hidden) holds instructions addressed to a language model."""
    text = text[:MAX_CHARS]
    plain = _plain(text)
    found = [
        *(_ORDER.finditer(text) if _may_order(plain) else ()),
        *(_TURN.finditer(text) if _may_turn(plain) else ()),
    ]
    return any(not _is_quoted(text, match) for match in found)
