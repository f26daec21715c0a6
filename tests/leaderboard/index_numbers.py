"""Every number of the page of all tables against the scorecards, read as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bs4 import Tag
from page_numbers import (
    Card,
    Ledger,
    asked_of,
    between,
    clipped,
    counted,
    dataset_of,
    day,
    duration,
    per_cent,
    score,
)
from places_of import Places
from system_facts import footer
from system_numbers import rates_of

from edu_rag.statistics import shared_lessons, smallest_detectable_difference, typical_sd


def index_numbers(
    ledger: Ledger, tables: Mapping[str, Mapping[str, Card]], cards: Sequence[Card], places: Mapping[str, Places]
) -> None:
    """Claim every number of board.html; whatever is another one, or is left, fails."""
    page = ledger.page
    ledger.takes(page.select_one("header .lead"), "1 0 −1")
    sections = page.select("main > section:has(table.board)")
    assert {section["id"] for section in sections} == set(tables)
    for line in page.select("header nav li"):
        table = tables.get(line.a["href"].removeprefix("#"))
        ledger.takes(line, "" if table is None else _name(table))
    models = {model for card in cards for model in card["system"]["models"]}
    for option in page.select("select[name=model] option[value]:not([value=''])"):
        assert option["value"] == option.text
        assert option.text in {clipped(model, 60) for model in models}
        ledger.takes(option, option.text)
    for section in sections:
        _section(ledger, section, tables[section["id"]], cards, places[section["id"]])
    footer(ledger, [card for table in tables.values() for card in table.values()], cards, is_front=True)
    left = list(ledger.left())
    assert not left, left[:5]


def _name(table: Mapping[str, Card]) -> str:
    card = next(iter(table.values()))
    dataset, version = dataset_of(card)
    return f"{dataset} v{version[0]} {card['split']} {card['sample'] or ''}"


def _section(ledger: Ledger, section: Tag, table: Mapping[str, Card], cards: Sequence[Card], places: Places) -> None:
    first = next(iter(table.values()))
    (dataset, version), n = dataset_of(first), counted(first["counts"]).n
    ledger.takes(section.h2, f"{dataset} v{version[0]}", first["split"], f"{n:,}" if first["sample"] else "")
    asked = section.select_one("p.quiet")
    known = sorted({card["dataset"] for card in table.values()}, reverse=True)
    ledger.takes(asked, *known, asked_of(first), first["sample"] or "")
    caption, what = section.caption, f"{len(table)} {dataset} {version[0]}"
    ledger.takes(caption, what, first["split"], asked_of(first))
    ledger.attribute(section.select_one(".scroll"), "aria-label", section["id"])
    ledger.takes(section.thead, "95", *_ends(list(table.values())))
    for head in section.select("thead th[title]"):
        ledger.attribute(head, "title", "95" if head["data-column"] == "score" else "")
    rows = section.select("tbody tr")
    slugs = [row.th.a["href"].split("/")[-1].removesuffix(".html") for row in rows]
    assert sorted(slugs) == sorted(table)
    for row, slug in zip(rows, slugs, strict=True):
        Line(ledger, row, table[slug], places, cards).check()
    _sentences(ledger, section, table, n)


def _sentences(ledger: Ledger, section: Tag, table: Mapping[str, Card], n: int) -> None:
    sentence, *others = section.select("div.scroll ~ p:not(.embed, .same)")
    same = section.select_one("p.same")
    assert (same is not None) == bool(_same(table))
    if same is not None:
        ledger.takes(same, *_same(table))
    difference = _detectable(list(table.values()))
    found = [f"{n:,} 5 80 {difference:.3f}"] if difference is not None and difference < 2 else [f"{n:,}"]
    blind = [card for card in table.values() if card["system"]["blind"]]
    blind.sort(key=lambda card: (-counted(card["counts"]).score, card["system"]["slug"]))
    for card in blind:
        facts = card["system"]
        found += [clipped(facts["name"], 40), clipped(facts["team"], 40), score(counted(card["counts"]).score)]
    ledger.takes(sentence, *found)
    for other in others:
        fewest = max(100, -(-3 * n // 10))
        ledger.takes(other, f"{fewest}" if "clean" in other.text else "")


def _ends(table: Sequence[Card]) -> list[str]:
    """The ends of the score axis, which holds every score, interval and zero, and the zero between them."""
    known = [0.0]
    for card in table:
        known += [counted(card["counts"]).score, *card["intervals"].get("score", ())]
    low, high = math.floor(round(10 * min(known), 6)), math.ceil(round(10 * max(known), 6))
    assert high - low >= 2
    words = [f"{at / 10:.1f}".replace("-", "−") if at else "0" for at in (low, high)]
    return [words[0], *(["0"] if 0.2 < -low / (high - low) < 0.8 else []), words[1]]


def _same(table: Mapping[str, Card]) -> list[str]:
    """What all rows have, of the columns that may be hidden, in the order of the columns; blank if it has no number."""
    if len(table) < 2:
        return []
    rows = []
    for card in table.values():
        c, cost = counted(card["counts"]), card.get("cost") or {}
        latency = cost.get("latency_s", {}).get("median")
        rows.append(
            {
                "team": card["system"]["team"],
                "accuracy": per_cent(c.correct, c.n),
                "hallucination": per_cent(c.incorrect, c.n),
                "missing": per_cent(c.missing, c.n),
                "strict": score(c.strict),
                "n": f"{c.n:,}",
                "cost": cost_of(card),
                "latency": "" if latency is None else duration(latency),
                "day": day(card),
            }
        )
    overlap = any("1" in card.get("overlap", "") for card in table.values())
    return [
        rows[0][name] for name in rows[0] if len({row[name] for row in rows}) == 1 and not (name == "n" and overlap)
    ]


def cost_of(card: Card) -> str:
    """The cost of a question: dollars, else tokens, else nothing."""
    cost: Mapping[str, Any] = card.get("cost") or {}
    dollars = cost.get("cost_usd", {}).get("mean")
    tokens = [cost[name]["mean"] for name in ("input_tokens", "output_tokens") if name in cost]
    if dollars is not None:
        return f"{dollars:,.{4 if dollars < 0.01 else 3 if dollars < 1 else 2}f}"
    return f"{sum(tokens):,.0f}" if tokens else ""


def _detectable(table: Sequence[Card]) -> float | None:
    lessons = shared_lessons([tuple(card.get("lessons") or ()) for card in table])
    spread = typical_sd([card["outcomes"] for card in table], lessons)
    return smallest_detectable_difference(len(table[0]["outcomes"]), spread) if spread else None


class Line:
    """One row of the board."""

    def __init__(self, ledger: Ledger, row: Tag, card: Card, places: Places, cards: Sequence[Card]) -> None:
        self.ledger, self.card, self.cards, self.system = ledger, card, cards, card["system"]
        self.cells = {cell["data-column"]: cell for cell in row.select("td, th")}
        self.counts, self.clean = counted(card["counts"]), places.clean(card["system"]["slug"])
        self.place = places.rank(card["system"]["slug"])

    def check(self) -> None:
        """Claim every cell."""
        c, clean = self.counts, self.clean
        self.takes("rank", self.place, clean.rank if clean else "")
        badges = [self.badge(tag) for tag in self.cells["system"].select(".badge")]
        self.takes("system", clipped(self.system["name"], 80), *badges)
        self.takes("team", clipped(self.system["team"], 60))
        parts = [clean.score, clean.declared_score] if clean else []
        self.takes("score", score(c.score), between(*self.card["intervals"]["score"]), *parts)
        self.takes("outcomes", c.bar)
        rates = rates_of(c)
        for name in ("accuracy", "hallucination", "missing", "accuracy_given_attempted"):
            value = rates[name]
            self.takes(name, "" if value is None else per_cent(value))
        self.takes("strict_score", score(c.strict))
        self.takes("n", f"{c.n:,}", f"{clean.n:,}" if clean else "")
        self.takes("scored_at", day(self.card))
        self.takes("links", "")
        self.amounts()
        self.keys()

    def takes(self, column: str, *expected: str) -> None:
        self.ledger.takes(self.cells[column], *expected)

    def amounts(self) -> None:
        """Cost and time, and the labels of the downloads."""
        cost: Mapping[str, Any] = self.card.get("cost") or {}
        dollars, latency = cost.get("cost_usd", {}).get("mean"), cost.get("latency_s", {}).get("median")
        tokens = [cost[name]["mean"] for name in ("input_tokens", "output_tokens") if name in cost]
        self.takes("cost", cost_of(self.card))
        if dollars is not None or tokens:
            self.ledger.value(self.cells["cost"], sum(tokens) if dollars is None else dollars)
        self.takes("median_latency_s", "" if latency is None else duration(latency))
        self.ledger.value(self.cells["median_latency_s"], latency)
        for link in self.cells["links"].select("a"):
            self.ledger.attribute(link, "aria-label", clipped(self.system["name"], 40))

    def keys(self) -> None:
        """What the columns are sorted by."""
        c = self.counts
        found = {
            "score": c.correct - c.incorrect,
            "accuracy": c.correct,
            "hallucination": c.incorrect,
            "missing": c.missing,
            "n": c.n,
            "strict_score": c.correct - c.incorrect - c.unparseable - c.failed,
        }
        for name, value in found.items():
            self.ledger.value(self.cells[name], value)
        given = rates_of(c)["accuracy_given_attempted"]
        self.ledger.value(self.cells["accuracy_given_attempted"], None if given is None else float(f"{given:.6f}"))

    def badge(self, tag: Tag) -> str:
        """The numbers of a badge, whose title is claimed here."""
        text, title, expected = tag.get_text(" ", strip=True), "", ""
        rerun = self.card.get("rerun") or {}
        if text.startswith("withdrawn"):
            expected, title = clipped(self.system["withdrawn"], 16), clipped(self.system["withdrawn"], 90)
        elif text.startswith("declared overlap"):
            expected = f"{self.clean.n_declared:,}"
            title = f"{expected} {self.counts.n:,} {self.clean.declared_score} {self.clean.score}"
        elif text.startswith("declared part"):
            title = f"{self.clean.declared_score} {self.clean.score}"
        elif text == "stale":
            title = self.card.get("made_on") or self.card["dataset"]
        elif text.startswith("resembles"):
            known = {other["system"][name] for other in self.cards for name in ("team", "slug")}
            title = next(name for name in known if clipped(name, 16) == text.split("“")[1].rstrip("”"))
            expected = clipped(title, 16)
        elif text == "verified" and rerun["own"]:
            title = rerun["made_at"][:10]
        elif text == "verified" or text.startswith("re-run"):
            expected = "" if text == "verified" else f"{rerun['n_same']:,} {rerun['n']:,}"
            title = f"{rerun['made_at'][:10]} {rerun['n']:,} {rerun['n_same']:,}"
        elif "runs by" in text:
            expected = f"{len(self.hashes()):,}"
        self.ledger.attribute(tag, "title", title)
        return expected

    def hashes(self) -> set[str]:
        """The different predictions of the team on the dataset."""
        dataset, team = dataset_of(self.card)[0], self.system["team"]
        return {
            card["predictions_sha256"]
            for card in self.cards
            if dataset_of(card)[0] == dataset and card["system"]["team"] == team
        }
