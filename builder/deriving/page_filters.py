"""Why a page is dropped: an error page, a login or consent wall, too short, another language, or unfit for minors.

The rules run in this order and the first that fires names the reason; so a 300-byte "Page not found" is an error
page, not a short one. All look at the title and the clean text only. An article *about* errors, logins or cookies
must pass: a phrase alone never drops a page. It must be in the title or the first lines of a short page, or
such sentences must be most of the page. Robots, blocked hosts, reserved rights and take-downs are decided
before a page is read; builder.deriving.duplicates finds repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from builder.config import FilterConfig
from builder.labels.unfit import is_unfit

SHORT_CHARS = 1_500
"""Pages of this length or more are taken as content, with any title."""
LONG_CHARS = 6_000
HEAD_CHARS = 300
WALL_SHARE = 0.5
"""The share of a page's characters that is in sentences of a wall, from which the page is one."""


def _any_of(*patterns: str, before: str = r"\b(?:") -> re.Pattern[str]:
    return re.compile(before + "|".join(patterns) + ")", re.IGNORECASE)


_CANNOT = r"(?:can(?:not|'t|’t)|could\s?(?:not|n't|n’t)|does\s?(?:not|n't|n’t)|(?:is|was)\s?(?:not|n't|n’t)|may not)"
_PAGE = r"(?:page|file|url|address|article|content|document|site)"
_STATUS = r"(?:40[01345]|410|429|451|50[0-4]|52\d)"
_END = r"\W*(?:$|[|–-])"
_ERROR_TITLE = _any_of(
    rf"(?:http\s*)?error\W{{0,3}}(?:code\W{{0,2}})?{_STATUS}\b",
    # "404 BC", "500 million years": a status is followed by its meaning, or by nothing.
    rf"{_STATUS}(?:{_END}|\W{{1,4}}(?:error|{_PAGE}|not found|forbidden|gone|internal|bad|service|gateway"
    rf"|access|oops|sorry))",
    rf"(?:oops\W+|sorry\W+)?(?:the |this |that )?{_PAGE}\s+(?:you requested\s+)?(?:{_CANNOT}\s+)?(?:be\s+)?"
    rf"(?:not\s+found|not available|found|exist|unavailable|no longer (?:exists|available)){_END}",
    rf"(?:not found|access (?:to this page has been )?denied|forbidden|unauthori[sz]ed|bad gateway|service unavailable"
    rf"|temporarily unavailable|internal server error|gateway time-?out|request blocked|just a moment"
    rf"|attention required"
    rf"|are you a robot\??|robot check|security check|ddos-guard|(?:under|site) maintenance|account suspended"
    rf"|domain (?:is )?for sale|checking your browser|pardon our interruption|one more step|error)(?:{_END}|\W*[!.])",
    before=r"^\W*(?:[\w .-]{0,40}[|:–-]\s*)?(?:",
)
_ERROR_TEXT = _any_of(
    rf"{_PAGE}\b[\w\s,'’]{{0,60}}?(?:{_CANNOT}\s+(?:be\s+)?(?:found|exist|available|here)|no longer (?:exists?"
    rf"|available)"
    r"|been (?:moved|removed|deleted|renamed))",
    rf"{_STATUS}\W{{1,4}}(?:error\W{{1,3}})?(?:not found|forbidden|gone|internal|bad gateway|service|gateway|{_PAGE})",
    rf"error\W{{1,4}}(?:code\W{{1,4}})?{_STATUS}\b",
    rf"(?:can't|can’t|cannot|couldn't|couldn’t|could not|unable to) (?:seem to )?(?:find|locate|reach) (?:the"
    rf"|that|this|a) {_PAGE}",
    r"(?:enable|turn on|activate|requires?|needs?|without|support) (?:java ?script|js)\b",
    r"java ?script (?:is|must be|has been|needs to be) (?:\w+ )?(?:disabled|enabled|required|turned)",
    r"(?:don't|don’t|do not) have (?:permission|access) to (?:access|view)",
    r"access (?:to this (?:page|site|resource) )?(?:has been|is|was) (?:denied|blocked|restricted)"
    r"|you have been blocked",
    r"(?:verify|verifying|confirm|prove|make sure) (?:that )?(?:you are|you're|you’re) (?:a human|human|not a robot)",
    r"checking (?:your browser|if the site connection)|unusual traffic from your|ray id\b|requested url",
    r"(?:internal server|fatal|database connection|application|proxy|cloudflare)\W{1,2}error",
    r"(?:service|site|server|website) is (?:temporarily |currently )?(?:unavailable|overloaded|down for"
    r"|under maintenance)",
    r"(?:back to|return to(?: the)?|go to(?: the)?) home ?page",
)
_LOGIN = _any_of(
    r"(?:log|sign|logged|signed)[ -]?(?:in|on|up)\b",
    r"(?:create|register|need|have) (?:for )?(?:a |an |your )?(?:free )?(?:user )?account",
    r"forgot(?:ten)? (?:your )?(?:password|username)|remember me",
    r"(?:enter|reset|show|confirm) (?:your )?(?:e-?mail|password|username)",
    r"(?:continue|register|join) (?:with|using) (?:google|facebook|apple|microsoft|e-?mail)",
    r"already (?:a |have an? )?(?:subscriber|member|account|registered)|not a member|new user|subscribers? only",
    r"(?:subscribe|subscription|register|become a (?:member|subscriber)|start your (?:free )?trial|upgrade"
    r"|unlock)[^.\n]{0,60}"
    r"(?:to|and) (?:continue|read|access|view|keep reading|unlock|see)",
    rf"(?:this|the) {_PAGE} is (?:only )?(?:for|available (?:only )?to|reserved for) (?:\w+ )?(?:subscribers"
    rf"|members|registered)",
    r"(?:members|subscribers)[ -]only|free articles? (?:left|remaining|this month)|institutional (?:login|access)",
)
_CONSENT = _any_of(
    r"cookies?\b|consent\b|(?:accept|reject|allow|decline|agree to) all\b",
    r"privacy (?:policy|settings|preferences|choices|notice)|your privacy (?:choices|rights)",
    r"manage (?:my |your )?(?:preferences|choices|settings|options)|personal(?:ised|ized) (?:ads|advertising|content)",
    r"(?:our|\d+) (?:\d+ )?partners\b|legitimate interest|gdpr|tracking technolog(?:y|ies)|opt[- ]out",
    r"process (?:your )?(?:personal )?data|store and/or access information|before you continue to",
)
_ASKS = _any_of(r"(?:accept|agree|allow|reject|consent|manage)\b")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def _share(pattern: re.Pattern[str], text: str) -> float:
    """The share of a text's characters that is in sentences (or lines) in which the pattern is found."""
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(text)]
    total = sum(map(len, sentences))
    return sum(len(sentence) for sentence in sentences if pattern.search(sentence)) / total if total else 0.0


def is_error_page(title: str, text: str) -> bool:
    """Whether a page that was answered with success says that there is no page (a soft 404), or none for robots."""
    if len(text) >= SHORT_CHARS:
        return False
    named = _ERROR_TITLE.search(title) is not None
    first = text.split("\n", 1)[0]
    said = _ERROR_TEXT.search(text[:HEAD_CHARS]) is not None or _ERROR_TITLE.search(first[:120]) is not None
    if len(text) < SHORT_CHARS // 3:
        return named or said
    return (named and _ERROR_TEXT.search(text) is not None) or _share(_ERROR_TEXT, text) >= WALL_SHARE


def is_login_wall(title: str, text: str) -> bool:
    """Whether a page is mostly prompts to log in, register or subscribe."""
    return len(text) < SHORT_CHARS and len(_LOGIN.findall(text)) >= 2 and _share(_LOGIN, text) >= WALL_SHARE


def is_consent_wall(title: str, text: str) -> bool:
    """Whether a page is mostly a request to accept cookies or the use of personal data."""
    if len(text) >= LONG_CHARS or len(_CONSENT.findall(text)) < 3:
        return False
    # A long policy about cookies is an article of a kind; a wall asks for a click.
    return _ASKS.search(text) is not None and _share(_CONSENT, text) >= WALL_SHARE


_RULES: tuple[tuple[str, str, Callable[[str, str], bool]], ...] = (
    ("error_page", "error_pages", is_error_page),
    ("consent_wall", "walls", is_consent_wall),
    ("login_wall", "walls", is_login_wall),
)


def why_dropped(title: str, text: str, language: str | None, settings: FilterConfig) -> str | None:
    """The outcome that drops a page (one of HIT_OUTCOMES), or None if it is kept.

    In this order: error_page, consent_wall, login_wall, short (bytes of UTF-8), language, unfit. A page whose
    language cannot be detected passes the filter of languages.
    """
    for outcome, switch, holds in _RULES:
        if getattr(settings, switch) and holds(title, text):
            return outcome
    if len(text.encode("utf-8", "replace")) < settings.min_bytes:
        return "short"
    if settings.languages and language is not None and language not in settings.languages:
        return "language"
    if settings.unfit == "drop" and is_unfit(f"{title}\n{text}"):
        return "unfit"
    return None
