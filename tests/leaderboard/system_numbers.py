"""Every number of a system's page against the scorecards, read as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bs4 import Tag
from page_numbers import (
    OUTCOMES,
    Card,
    Counted,
    asked_of,
    between,
    clipped,
    counted,
    per_cent,
    score,
)
from system_facts import SystemFactsPage, footer

NAMED = {"p95": "95th percentile", "intervals": "95 % interval"}
"""Names of fields that a page writes with other numbers."""


class SystemPage(SystemFactsPage):
    """One page with the scorecards that stand behind it."""

    def check(self) -> None:
        """Claim every number of the page; whatever is another one, or is left, fails."""
        self.header()
        self.first()
        self.rates()
        self.losses()
        self.slices()
        self.retrieval()
        self.probes()
        self.details()
        self.facts()
        self.again()
        self.past()
        self.runs()
        self.downloads()
        footer(self.ledger, list(self.table.values()), self.cards)
        left = list(self.ledger.left())
        assert not left, left[:5]

    # --- what was measured

    def rates(self) -> None:
        section, c = self.page.select_one("section[aria-labelledby=outcomes-heading]"), self.counts
        asked = [self.card["dataset"], self.card["split"], asked_of(self.card)]
        self.ledger.takes(section.select_one("p"), *asked)
        outcomes, rates = section.select("table")
        self.ledger.takes(outcomes.thead, f"{c.n:,}")
        for row, outcome, count in zip(outcomes.select("tbody tr"), OUTCOMES, c, strict=True):
            assert row.th.text.strip() == outcome
            self.ledger.takes(row, f"{count:,}", per_cent(count, c.n))
            self.ledger.value(row.td, count)
        self.ledger.takes(rates.caption, "95", clipped(self.card["interval_method"], 60))
        self.ledger.takes(rates.thead, "95")
        values = rates_of(c)
        rows = rates.select("tbody tr")
        assert [row.td["data-column"] for row in rows] == list(values)
        for row, (name, value) in zip(rows, values.items(), strict=True):
            words = score if name in ("score", "strict_score") else per_cent
            interval = [words(end) for end in self.card["intervals"].get(name, ())]
            self.ledger.takes(row, "" if value is None else words(value), *interval)
            self.ledger.value(row.td, value)

    def losses(self) -> None:
        section, causes = self.page.select_one("#losses"), self.card.get("attribution") or {}
        assert (section is not None) == bool(causes)
        if section is None:
            return
        n, lost = self.counts.n, sum(causes.values())
        points = n - (self.counts.correct - self.counts.incorrect)
        self.ledger.takes(section.p, f"{lost:,} {n:,} {points:,}")
        self.ledger.takes(section.thead, f"{n:,}")
        self.folded(section, n)
        for row, (cause, count) in zip(section.select("tbody tr"), causes.items(), strict=True):
            self.ledger.takes(row, cause, f"{count:,}", per_cent(count, n))
            assert row.code.text == {"no_evidence": "evidence_not_found"}.get(cause, cause)

    def folded(self, section: Tag, n: int) -> None:
        """Where evidence was found for less than 30 % of the questions, the causes are folded away, with the number."""
        parts = [part for part in self.card["slices"] if part["attribute"] == "evidence"]
        found = sum(counted(part["counts"]).n for part in parts if part["value"] == "supported")
        assert (section.details is not None) == (bool(parts) and found < 0.3 * n)
        if section.details is not None:
            self.ledger.takes(section.summary, f"{found:,} {n:,} {per_cent(found, n)}")
            self.ledger.takes(section.details.p, "30")

    def slices(self) -> None:
        slices = self.card["slices"]
        parts = {(part["attribute"], clipped(part["value"], 80)): counted(part["counts"]) for part in slices}
        rows = self.page.select("table.slices tbody tr")
        assert len(rows) == sum(part.n > 0 for part in parts.values())
        for head in self.page.select("table.slices thead .ticks"):
            self.ledger.takes(head, "−1 0 1")
        for row in rows:
            key = row.td.text, row.th.text
            self.slice(row, key, parts[key])
        for summary in self.page.select("#slices summary"):
            own = [key for key in parts if key[0] == summary.bdi.text]
            self.ledger.takes(summary, summary.bdi.text, f"{len(own):,}")

    def slice(self, row: Tag, key: tuple[str, str], c: Counted) -> None:
        shares = [c.correct, c.incorrect, c.missing]
        shown = [f"{c.n:,}", score(c.score), *(per_cent(part, c.n) for part in shares)]
        self.ledger.takes(row, *key, *shown)
        cells = row.select("td.num")
        for cell, value in zip(cells, [c.n, c.score, *(part / c.n for part in shares)], strict=True):
            self.ledger.value(cell, value)
        for cell, text in zip(row.select("td:first-child, th"), key, strict=True):
            self.ledger.attribute(cell, "data-value", text)
        interval, outcomes = row.select("svg")
        self.ledger.attribute(interval, "aria-label", score(c.score), "−1 1")
        self.ledger.attribute(outcomes, "aria-label", c.bar)

    def retrieval(self) -> None:
        table = self.page.select_one("table.retrieved")
        metrics = (self.card.get("retrieval") or {}).get("metrics", {})
        assert (table is not None) == bool(metrics)
        if table is None:
            return
        intervals = self.card["retrieval"].get("intervals", {})
        self.ledger.takes(table.caption, "95")
        depths = sorted({int(name.split("@")[1]) for name in metrics if "@" in name})
        self.ledger.takes(table.thead, *depths)
        names = list(dict.fromkeys(name.split("@")[0] for name in metrics))
        for row, name in zip(table.select("tbody tr"), names, strict=True):
            own = [f"{name}@{depth}" for depth in depths] if name != "MRR" else ["MRR"]
            cells = [f"{metrics[one]:.3f} " + " ".join(f"{end:.3f}" for end in intervals.get(one, ())) for one in own]
            self.ledger.takes(row, *cells)

    def probes(self) -> None:
        section, probes = self.page.select_one("#probes"), self.card.get("probes") or {}
        assert (section is not None) == bool(probes)
        if section is None:
            return
        self.ledger.takes(section.p, "95")
        for row, probe in zip(section.select("tbody tr"), probes.values(), strict=True):
            ends = [between(*probe[name]) for name in ("interval", "difference_interval")]
            shown = [f"{probe['n']:,}", score(probe["score"]), ends[0], score(probe["main_score"])]
            p = f"{probe['p']:.3f}" if probe["p"] >= 0.0005 else "<0.001"
            assert row.select("td")[-1].get_text(strip=True) == p
            self.ledger.takes(row, *shown, score(probe["difference"]), ends[1], p)

    def details(self) -> None:
        rows = self.page.select("section[aria-labelledby=details-heading] tbody tr")
        wanted = list(further(self.card))
        assert len(rows) == len(wanted)
        for row, (names, value) in zip(rows, wanted, strict=True):
            self.ledger.takes(row, *names, value)


def rates_of(c: Counted) -> dict[str, float | None]:
    attempted = c.correct + c.incorrect
    return {
        "score": c.score,
        "accuracy": c.correct / c.n,
        "hallucination": c.incorrect / c.n,
        "missing": c.missing / c.n,
        "accuracy_given_attempted": c.correct / attempted if attempted else None,
        "attempt_rate": attempted / c.n,
        "strict_score": c.strict,
    }


def _flat(values: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Names and values of nested fields; lists of records, such as a curve's points, stand on no page."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _flat(value, (*names, NAMED.get(name, name)))
    elif isinstance(values, list):
        if not any(isinstance(part, dict | list) for part in values):
            yield names, " ".join(_value(part) for part in values)
    else:
        yield names, _value(values)


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}".replace("-", "")


TABLED = frozenset(("n", "score", "interval", "main_score", "difference", "difference_interval", "p"))


def further(card: Card) -> Iterator[tuple[tuple[str, ...], str]]:
    """What stands in the folded tables, in their order: what the page's own tables do not hold already."""
    cited = card.get("retrieval") or {}
    found = {name: value for name, value in cited.items() if name not in ("metrics", "intervals")}
    probes = {
        name: {field: value for field, value in probe.items() if field not in TABLED}
        for name, probe in (card.get("probes") or {}).items()
    }
    fields = ("confidence", "cost", "judges", "caps", "rerun")
    for values in (found, probes, *(card.get(name) or {} for name in fields)):
        yield from _flat(values)
