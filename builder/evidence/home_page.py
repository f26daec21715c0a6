"""Method home-page-v1: the page that a question was taken from is relevant to it, as a whole.

It needs no labeller: a textbook's exercise was taken from a module, and the module is a page of the dataset. The span
is the whole page, so it says where to read and not which sentence answers. The page has to be a hit of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, Question, WebPage


class HomePage:
    """Gives the question's home page, where its source names one and the search found it."""

    name = HOME_PAGE

    def find(self, question: Question, gold: Gold, pages: Sequence[WebPage]) -> Iterator[Evidence]:
        """At most one row: the home page from its first to its last character."""
        for page in pages:
            if page.page_id == gold.home_page and page.text:
                yield Evidence(
                    question_id=question.question_id,
                    page_id=page.page_id,
                    start=0,
                    end=len(page.text),
                    method=self.name,
                )
