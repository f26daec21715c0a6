"""The facts of a system's page against the scorecards: what was declared, how it was scored, its other results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bs4 import Tag
from page_numbers import (
    Card,
    Ledger,
    age_of,
    between,
    caps_of,
    clipped,
    counted,
    dataset_of,
    day,
    numbers,
    score,
    table_of,
)
from places_of import Places


class SystemFactsPage:
    """A system's page with the scorecards that stand behind it; claims everything but what was measured."""

    def __init__(self, ledger: Ledger, card: Card, table: Mapping[str, Card], cards: Sequence[Card], places: Places):
        self.ledger, self.card, self.table, self.cards, self.places = ledger, card, table, cards, places
        self.page, self.system = ledger.page, card["system"]
        self.counts = counted(card["counts"])
        self.clean = places.clean(self.system["slug"])

    # --- the top

    def header(self) -> None:
        card, c, name = self.card, self.counts, self.system["name"]
        dataset, version = dataset_of(card)
        where = f"{dataset} v{version[0]} {card['split']}"
        self.ledger.head(f"{clipped(name, 80)} {where}", f"{clipped(name, 80)} {score(c.score)} {c.n:,}")
        self.ledger.takes(self.page.select_one("nav[aria-label=Breadcrumb]"), where, card["sample"] or "")
        self.ledger.takes(self.page.h1, clipped(name, 160))
        lead = self.page.select_one("header .lead")
        place = f"{self.places.rank(self.system['slug'])} {len(self.table)}"
        own = [score(c.score), between(*card["intervals"]["score"])]
        badges = [self.badge(tag) for tag in lead.select(".badge")]
        self.ledger.takes(lead, clipped(self.system["team"], 160), place, *own, *badges)
        about = self.page.select_one(".about")
        if about:
            self.ledger.takes(about, clipped(self.system["description"], 700))
        self.neighbours()

    def neighbours(self) -> None:
        ordered = sorted(self.table.values(), key=lambda card: self.places.order(card["system"]["slug"]))
        at = ordered.index(self.card)
        near = ordered[max(at - 1, 0) : at] + ordered[at + 1 : at + 2]
        links = self.page.select("nav.on bdi")
        assert len(links) == len(near)
        for tag, other in zip(links, near, strict=True):
            self.ledger.takes(tag, clipped(other["system"]["name"], 40))

    def badge(self, tag: Tag) -> str:
        """The numbers of a badge, whose title is claimed here."""
        text, title, expected = tag.get_text(" ", strip=True), "", ""
        rerun, caps = self.card.get("rerun") or {}, self.card.get("caps") or {}
        if text.startswith("withdrawn"):
            expected, title = clipped(self.system["withdrawn"], 60), clipped(self.system["withdrawn"], 90)
        elif text.startswith("declared overlap"):
            expected = f"{self.clean.n_declared}"
            title = f"{expected} {self.counts.n:,} {self.clean.declared_score} {self.clean.score}"
        elif text.startswith("declared part"):
            title = f"{self.clean.declared_score} {self.clean.score}"
        elif text.startswith("stale"):
            title = self.card.get("made_on") or self.card["dataset"]
        elif text.startswith("name resembles"):
            expected = title = text.split("“")[1].rstrip("”")
            assert expected in {other["system"][name] for other in self.cards for name in ("team", "slug")}
        elif text.startswith("sandboxed"):
            expected, title = " ".join(caps_of(caps)[:2]), " ".join(caps_of(caps))
        elif text.startswith("run by"):
            title = rerun["made_at"][:10]
        elif text.startswith("re-run"):
            expected = f"{rerun['n_same']:,} {rerun['n']:,}"
            title = f"{rerun['made_at'][:10]} {rerun['n']:,} {rerun['n_same']:,}"
        elif "by this team" in text:
            expected = f"{len({card['predictions_sha256'] for card in self.own_team()}):,}"
        self.ledger.attribute(tag, "title", title)
        return expected

    def own_team(self) -> list[Card]:
        """The results of the team on the dataset."""
        dataset, team = dataset_of(self.card)[0], self.system["team"]
        return [card for card in self.cards if dataset_of(card)[0] == dataset and card["system"]["team"] == team]

    def first(self) -> None:
        for term in self.page.select("section[aria-labelledby=first-heading] dt"):
            value = term.find_next_sibling("dd")
            if "overlap" in term.text:
                part = self.clean
                expected = [part.n_declared, f"{self.counts.n:,}", part.declared_score, part.declared_interval]
                expected += [f"{part.n:,}", part.score, part.interval] if part.n else []
                self.ledger.takes(value, *expected, f"{part.rank} {len(self.table)}" if part.rank else "")
            elif "Withdrawn" in term.text:
                self.ledger.takes(value, clipped(self.system["withdrawn"], 2000))
            else:
                shown = [tag.text for tag in value.select("bdi")]
                known = {other["system"][name] for other in self.cards for name in ("team", "slug")}
                assert known.issuperset(shown)
                self.ledger.takes(value, *shown)

    # --- what was declared, and how it was made

    def facts(self) -> None:
        system, card = self.system, self.card
        rerun = card.get("rerun") or {}
        told = [rerun["made_at"][:10]] if rerun else []
        told += [f"{rerun['n']:,} {rerun['n_same']:,}"] if rerun and not rerun["own"] else []
        expected = {
            "Name": system["name"],
            "Short name": system["slug"],
            "Description": system["description"],
            "Models": " ".join(system["models"]),
            "Outside knowledge": system["outside_knowledge"],
            "Known overlap with TQA": system["tqa_overlap"],
            "Licence": system["licence"],
            "Links": " ".join(system["links"]),
            "Contact": system["contact"],
            "Submitted as": "",
            "Dataset": card["dataset"],
            "Harness": card["harness"],
            "Reading of answers": card["answers_rule"],
            "Answered on": card.get("made_on", ""),
            "Scored": day(card),
            "Sandbox": " ".join(caps_of(card.get("caps") or {})),
            "Re-run": " ".join(told),
            "SHA-256 of the submission": card.get("system_sha256", ""),
            "SHA-256 of the predictions": card["predictions_sha256"],
        }
        for term in self.page.select("section:not([aria-labelledby=first-heading]) dl.facts dt"):
            self.ledger.takes(term, term.text if "SHA-256" in term.text else "")
            self.ledger.takes(term.find_next_sibling("dd"), expected[term.text])

    def again(self) -> None:
        section, card = self.page.select_one("#again"), self.card
        is_bundled = "DATASET" not in section.ol.text
        shown = ["" if is_bundled else card["dataset"], "256" if card["predictions_sha256"] else ""]
        self.ledger.takes(section.p, *shown)
        sample = card["sample"].split("-") if card["sample"] else []
        for command in section.select("li"):
            asked = f"{self.system['slug']} {' '.join(sample)}" if "submissions/" in command.text else ""
            self.ledger.takes(command, asked)
            assert all(f"--{name} " in command.text for name in (("sample", "seed") if asked and sample else ()))

    def past(self) -> None:
        section = self.page.select_one("#history")
        own = [card for card in self.cards if card["system"]["slug"] == self.system["slug"]]
        assert (section is not None) == (len(own) > 1)
        if section is None:
            return
        self.ledger.takes(section.p, f"{len(own):,}")
        rows = section.select("tbody tr")
        named = {(card["dataset"], card["split"], card["sample"]): card for card in own}
        assert len(rows) == len(named)
        for row in rows:
            split, _, sample = row.td.text.partition(", ")
            card = named.pop((row.th.text, split, sample or None))
            before = [one for one in own if is_before(one, card)]
            moved = counted(card["counts"]).score - counted(max(before, key=age_of)["counts"]).score if before else None
            shown = [counted(card["counts"]).score, moved]
            self.ledger.takes(
                row,
                card["dataset"],
                card["split"],
                card["sample"] or "",
                f"{counted(card['counts']).n:,}",
                score(shown[0]),
                between(*card["intervals"]["score"]),
                "" if moved is None else score(moved),
                day(card),
            )

    def runs(self) -> None:
        section, team = self.page.select_one("#runs"), self.own_team()
        assert (section is not None) == (len(team) > 1)
        if section is None:
            return
        n_runs = len({card["predictions_sha256"] for card in team})
        self.ledger.takes(section.h2, f"{n_runs:,}", dataset_of(self.card)[0])
        self.ledger.takes(section.p, clipped(self.system["team"], 80))
        self.ledger.takes(section.summary, f"{len(team):,}")
        named = {
            (card["system"]["slug"], card["dataset"].split("#")[0], card["split"], card["sample"]): card
            for card in team
        }
        for row in section.select("tbody tr"):
            slug, dataset = row.th.text.removesuffix(" (this)"), row.select("td")[0].text
            split, _, sample = row.select("td")[1].text.partition(", ")
            card = named.pop((slug, dataset, split, sample or None))
            c = counted(card["counts"])
            self.ledger.takes(row, slug, dataset, split, sample, f"{c.n:,}", score(c.score), day(card))
        assert not named

    def downloads(self) -> None:
        path = f"{table_of(self.card)}/{self.system['slug']}"
        self.ledger.takes(self.page.select_one("#downloads pre"), path, path)


def is_before(old: Card, new: Card) -> bool:
    """Whether a result is of the same questions' name on an older version."""
    same = all(old[name] == new[name] for name in ("split", "sample", "answers_rule"))
    return same and dataset_of(old)[0] == dataset_of(new)[0] and age_of(old) < age_of(new)


def footer(ledger: Ledger, table: Sequence[Card], cards: Sequence[Card], *, is_front: bool = False) -> None:
    """The line at the end of every page: datasets and harnesses of the board; in front, the newest time."""
    shown = ledger.page.footer.p
    datasets, newest = sorted({tag.text for tag in shown.select("code")}), shown.time
    assert (newest is not None) == is_front
    assert set(datasets) <= {card["dataset"] for card in cards}
    harnesses = sorted({card["harness"] for card in cards})
    times = max(card["scored_at"] for card in cards)
    told = [times[:16].replace("T", " ")] if is_front else []
    ledger.takes(shown, *datasets, *harnesses, *told)
    if is_front:
        assert newest["datetime"] == times
        assert numbers(newest.text) == numbers(*told)
    assert all(card["dataset"] in datasets for card in table)
