"""The number of a sentence that a question may ask for: it has its unit, and no other number can be meant.

Small models often ask for a number of the wrong thing, or leave out what it counts. So a number is an answer only in a
sentence with one clause and one number, which is exact or a mean, and is about no made-up case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builder.evidence.telling_words import content_stems

_SYMBOLS = (
    "nm μm µm mm cm m km mg g kg mL L ms s h K °C °F Hz kHz MHz GHz eV keV MeV V mV A mA W kW MW J kJ N Pa kPa atm mol"
    " amu"
)
_SYMBOL = rf"(?:{'|'.join(_SYMBOLS.split())})[²³]?(?!\w)"
_NOUN = r"(?!(?:is|as|was|has|does|this|its|thus|versus|times)\b)[a-z][a-z-]{0,18}s\b"
_DIGITS = r"(?:\d{1,3}(?: \d{3})+|\d+)(?:[.,]\d+)*(?: (?:trillion|billion|million|thousand|hundred))?(?![\d²³⁺⁻])"
_UNIT = rf"%| (?:{_SYMBOL}|percent\b|{_NOUN})(?:/{_SYMBOL}| per (?:{_SYMBOL}|[a-z]+\b))?"
_NUMBER = re.compile(
    rf"(?<![\w.,/(%+–−~$€£<>≤≥≈±-])(?<!\d ){_DIGITS}(?:{_UNIT}|(?=,? [a-zA-Z]|[.;] |\.$))(?![\w/–²³-])"
)
_BOUND = re.compile(
    r"\b(?:over|more than|less than|greater than|larger than|smaller than|fewer than|higher than|lower than|at least"
    r"|at most|up to|under|above|below|within|beyond|exceed\w*|as \w+ as|nearly|almost|only|just|between|from|to|past"
    r"|every|another|some|or|and|minus|the|its|their|all|not)(?: about| approximately| roughly)? $",
    re.IGNORECASE,
)
"""Words before a number that is not the only one that is meant."""
_GOES_ON = re.compile(r",? (?:to|or|and|plus|through) (?!the\b)|\s?[±×–−-]")
"""What follows a number that is a part of something longer."""
_OTHER_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty|hundreds?"
    r"|thousands?|millions?|billions?|dozens?|half|third|quarter|twice|double|triple)\b",
    re.IGNORECASE,
)
_MORE_CLAUSES = re.compile(
    r"[;:—]| – |, (?:and|but|or|so)\b|\b(?:although|though|while|whereas|which|who|whose|whom|when|where|if|unless"
    r"|because|since|but|assume|suppose|would|should)\b",
    re.IGNORECASE,
)
_MADE_UP_CASE = re.compile(r"(?:An?|At an?|In an?|On an?|For an?|During an?) ")
_YEAR = re.compile(r"1[0-9]\d\d|20[0-2]\d")
_BEFORE_YEAR = re.compile(r"\b(?:in|in the year|by|until|during|of) $", re.IGNORECASE)
_COUNTED = re.compile(
    r" (?!(?:is|are|was|were|has|have|had|at|in|of|on|by|for|from|to|with|as|and|or|than|times|per|ago|that|the|can"
    r"|may)\b)[a-z]"
)
_SYMBOL_FOLLOWS = re.compile(rf"\d ?(?:%|{_SYMBOL}|percent\b)|/{_SYMBOL}| per ")
_LAST_WORD = re.compile(r"([^\W\d_]+) $")
_BEFORE_COUNT = (
    "of has have had is are was were by in for with at about approximately around roughly contain contains contained"
    " hold holds make makes produce produces form forms take takes last lasts lasted live lives lived need needs"
    " weigh weighs reach reaches average averages total totals equal equals include includes become becomes"
    " carry carries lay lays yield yields give gives use uses measure measures exactly these"
)
"""Words before a number that counts something. A name has other words before its number."""
_HOW_MANY = re.compile(r"\bhow many ((?:[^\W_]+[ -]?){1,4})", re.IGNORECASE)
_ASKS_YEAR = re.compile(r"\bwhat year|\bwhich year|^when\b|\bwhen (?:did|was|were)\b", re.IGNORECASE)
MAX_BETWEEN = 3
"""Words after a bare number, of which one has to be what is counted."""


def is_year(number: str) -> bool:
    """Whether a number without a unit may be a year."""
    return _YEAR.fullmatch(number) is not None


def lone_number(sentence: str) -> tuple[int, int] | None:
    """The place of the number that a question about a sentence may ask for; None if there is not just one."""
    found = list(_NUMBER.finditer(sentence))
    if len(found) != 1 or _MORE_CLAUSES.search(sentence) or _MADE_UP_CASE.match(sentence):
        return None
    start, end = found[0].span()
    if _BOUND.search(sentence[:start]) or _GOES_ON.match(sentence[end:]):
        return None
    if _OTHER_NUMBER.search(sentence[:start]) or _OTHER_NUMBER.search(sentence[end:]):
        return None
    return (start, end) if not is_bare(found[0][0]) or _is_meant(sentence, start, end) else None


def is_label(number: str, sentence: str) -> bool:
    """Whether a number without a unit's symbol may be a part of a name: "group 17 contains", "type 2 diabetes"."""
    if _SYMBOL_FOLLOWS.search(number) or is_year(number):
        return False
    before = _LAST_WORD.search(sentence.partition(number)[0])
    return before is None or before[1].casefold() not in _BEFORE_COUNT.split()


def _is_meant(sentence: str, start: int, end: int) -> bool:
    """Whether a number without a unit is a year, or has a word behind it that may be what is counted."""
    if is_year(sentence[start:end]):
        return _BEFORE_YEAR.search(sentence[:start]) is not None
    return _COUNTED.match(sentence[end:]) is not None


def is_bare(number: str) -> bool:
    """Whether a number has no unit."""
    return re.fullmatch(_DIGITS, number) is not None


def number_faults(question: str, number: str, sentence: str) -> Iterator[tuple[bool, str]]:
    """Whether a number is a part of a name, or a bare one is asked for in another way than as a year or a count."""
    # Such facts are drawn, and rejected here: a draw without them would change all later tasks of a seed, and so the
    # published run could not be repeated.
    yield is_label(number, sentence), "asks for a number that may be a part of a name"
    if not is_bare(number):
        return
    if is_year(number):
        yield not _ASKS_YEAR.search(question), "asks for no year"
        return
    asked = _HOW_MANY.search(question)
    yield asked is None, "asks for a number without its unit"
    if asked is not None:
        after = sentence.partition(number)[2].split()[:MAX_BETWEEN]
        counted = content_stems(" ".join(after)) & content_stems(asked[1])
        yield not counted, "counts something else than the sentence"
