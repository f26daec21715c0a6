"""Expansion by a language model: the query and rewrites of it, each searched for on its own (HyPA-RAG, section 6)."""

from __future__ import annotations

import re

from baselines.parts import Expand
from baselines.prompts.generate import LanguageModel
from baselines.prompts.prompt import harmless, load_prompt
from edu_rag.errors import ConfigError
from edu_rag.serve import SystemQuestion

MOST = 10
"""Rewrites of one query; HyPA-RAG's Tables 6-7 ask for 7 at most."""
TOKENS_EACH = 40
MAX_CHARS = 300
"""Of one rewrite: a model that runs on writes no query."""
_BULLET = re.compile(r"^(?:[-*\u2022]|\(?\d{1,2}[.):])\s*")
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"


def rewrites_in(reply: str, query: str, n: int) -> list[str]:
    """At most `n` rewrites from a model's reply: one a line, without bullets, numbers and quotes.

    Lines are dropped if they have no letter or digit, are longer than MAX_CHARS, or repeat the query or an earlier
    line apart from case, white space and marks.
    """
    seen = {_folded(query)}
    found: list[str] = []
    for line in reply.splitlines():
        text = harmless(_BULLET.sub("", line.strip()).strip(_QUOTES + " "))
        folded = _folded(text)
        if folded and folded not in seen and len(text) <= MAX_CHARS and len(found) < n:
            seen.add(folded)
            found.append(text)
    return found


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def rewrite(model: LanguageModel, n: int = 3, prompt: str = "rewrite-v1") -> Expand:
    """The expander that asks the system's language model for `n` rewrites (Q of HyPA-RAG), of at most 10.

    The query itself stays the first. The paper gives no prompt for it; ours is prompts/rewrite-v1.txt. Decoding is
    greedy, so the same query has the same rewrites. A model that writes none of use (below a billion parameters: most)
    leaves the query alone. Raises ConfigError if `n` is out of bounds or there is no such prompt.
    """
    if not 0 <= n <= MOST:
        raise ConfigError("parts.expand.n", f"{n} rewrites", f"from 0 to {MOST}")
    asked = load_prompt(prompt)
    own = n

    def expand(query: str, n: int | None = None) -> list[str]:
        wanted = min(own if n is None else n, MOST)
        if wanted <= 0 or not query.strip():
            return [query]
        filled = asked.fill(SystemQuestion(id="", text=query, choices={}, kind="free_text", pages=()))
        said = model.generate(filled, wanted * TOKENS_EACH)
        return [query, *rewrites_in(said.text, query, wanted)]

    return expand
