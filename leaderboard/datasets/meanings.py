"""The meanings of the words in a dataset's tables, in a few words each."""

from __future__ import annotations

from collections.abc import Mapping

CONFIGS: Mapping[str, str] = {
    "questions": "questions with their choices, kind, lesson and flags; no answers",
    "hits": "every result the search engine gave for a question, with its rank and its fate",
    "pages": "the clean text of each kept page, with sentence offsets",
    "evidence": "spans of pages that support the right answer, by a named method",
    "leaks": "spans of pages that hold a question of the dataset, alone or with its answer",
    "gold": "the right answers, apart from the questions",
}
FATES: Mapping[str, str] = {
    "kept": "its page is in the dataset",
    "robots": "the site's robots.txt forbids it",
    "robots_unreachable": "the site's robots.txt could not be read",
    "refused_address": "an address that a crawler must not ask, such as one of a private network",
    "timeout": "no whole answer in time",
    "http_error": "the server answered with an error",
    "redirect_loop": "redirects without an end",
    "too_large": "more bytes than are read of a page",
    "not_html": "no web page: a file of another type",
    "connection": "no connection to the server",
    "dns": "no address was found for the host's name",
    "blocked_host": "a host that the maintainers leave out",
    "taken_down": "taken out, as its owner asked",
    "reserved_rights": "its owner reserves it against text and data mining",
    "extraction_failed": "no main text was found in it",
    "error_page": "it says “not found”, “access denied” or the like",
    "login_wall": "it asks to log in or to subscribe",
    "consent_wall": "it speaks of cookies and consent",
    "short": "too little text",
    "language": "in a language that is not wanted",
    "unfit": "content that is not for minors",
    "duplicate": "the same words as a better-ranked page of the same question",
    "leak": "holds a question of the dataset",
    "near_duplicate": "nearly the same words as a better-ranked page of the same question",
}
QUESTION_FLAGS: Mapping[str, str] = {
    "meta_choice": "a choice speaks of others: “all of the above”, “both a and c”",
    "duplicate_choices": "two choices are equal",
    "truncated": "the text is cut short",
    "context_bound": "it refers to what is not there: “in question 6 …”",
    "duplicate_question": "it repeats another question",
}
PAGE_FLAGS: Mapping[str, str] = {
    "leak_question": "it shows a question of the dataset as a quiz does",
    "leak_key": "the same, with its answer",
    "hidden_text": "text that its markup hides from readers",
    "injection": "it gives orders to a language model",
    "pii_masked": "personal data was replaced",
    "short": "little text",
    "not_english": "in another language",
    "unfit": "content that is not for minors",
}
