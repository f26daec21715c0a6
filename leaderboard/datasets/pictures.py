"""The plots of a dataset: each a picture, a sentence, and all of its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edu_rag.look.texts import percent
from leaderboard.datasets.meanings import FATES
from leaderboard.datasets.table_figures import CHARACTER_BINS, Facts
from leaderboard.plots.bar_charts import Bar, lying, standing
from leaderboard.plots.plot import Cell, Drawing, Plot, PlotColumn
from leaderboard.plots.plot_sentences import shown
from leaderboard.plots.scales import amount_words

MOST = 20
"""Rows of a picture and of its table; what is left is counted in a last row."""


class Count(NamedTuple):
    """A number of things of one name; `name` is fit to be shown."""

    name: str
    n: int


def largest(counts: Mapping[str, int], most: int = MOST) -> list[Count]:
    """The largest first; of more than `most` the others together."""
    order = sorted(counts, key=lambda name: (-counts[name], name))
    found = [Count(shown(name) or "(none)", counts[name]) for name in order[:most]]
    left = order[most:]
    return [*found, Count(f"{len(left):,} others", sum(counts[name] for name in left))] if left else found


def share_of(n: int, total: int) -> str:
    """`12.3 %`, or a dash where there is nothing to share."""
    return f"{percent(n / total)} %" if total else "–"


def _n(n: int) -> Cell:
    return Cell(f"{n:,}", n)


def _share(n: int, total: int) -> Cell:
    return Cell(share_of(n, total), n / total if total else None)


def _said(n: int, total: int) -> str:
    return f"{n:,} · {share_of(n, total)}"


def _lying(counts: Sequence[Count], total: int, dim: frozenset[str] = frozenset()) -> Drawing:
    return lying([Bar(one.name, one.n, _said(one.n, total), "blind" if one.name in dim else "bar") for one in counts])


def fates_plot(facts: Facts) -> Plot | None:
    """Search results by their outcome."""
    total = facts.fates.total()
    if not total:
        return None
    order = sorted(facts.fates, key=lambda name: (name != "kept", -facts.fates[name], name))
    counts = [Count(shown(name), facts.fates[name]) for name in order]
    dropped = [one for one in counts if one.name != "kept"]
    kept = facts.fates["kept"]
    words = f"{kept:,} of {total:,} search results were kept ({share_of(kept, total)}). "
    if dropped:
        words += f"The commonest reason to drop one: {dropped[0].name.replace('_', ' ')} ({dropped[0].n:,})."
    return Plot(
        name="fates",
        title="What became of the search results",
        kind="bar chart",
        stands_out=(words.strip(),),
        shows="Every result that the search engine gave is on record with its fate, also where its page was dropped.",
        columns=(
            PlotColumn("Fate", is_number=False),
            PlotColumn("Search results"),
            PlotColumn("Share"),
            PlotColumn("What it means", is_number=False),
        ),
        rows=[(Cell(one.name), _n(one.n), _share(one.n, total), Cell(FATES.get(one.name, ""))) for one in counts],
        drawing=_lying(counts, total, frozenset(one.name for one in dropped)),
    )


def rank_plot(facts: Facts) -> Plot | None:
    """How many results of each rank were kept."""
    ranks = sorted(facts.by_rank)
    if not ranks:
        return None
    shares = {rank: facts.by_rank[rank][True] / facts.by_rank[rank].total() for rank in ranks}
    low = min(ranks, key=lambda rank: (shares[rank], rank))
    return Plot(
        name="kept-by-rank",
        title="Results kept, by rank",
        kind="bar chart",
        stands_out=(
            f"Of the first results {percent(shares[ranks[0]])} % were kept"
            + ("" if low == ranks[0] else f"; the fewest of rank {low}: {percent(shares[low])} %"),
            ", the fewest of any rank." if low == ranks[0] else ".",
        ),
        shows="How many in a hundred search results of a rank have their page in the dataset.",
        columns=(PlotColumn("Rank"), PlotColumn("Search results"), PlotColumn("Kept"), PlotColumn("Share")),
        rows=[
            (
                _n(rank),
                _n(facts.by_rank[rank].total()),
                _n(facts.by_rank[rank][True]),
                _share(facts.by_rank[rank][True], facts.by_rank[rank].total()),
            )
            for rank in ranks
        ],
        drawing=standing([Bar(str(r), 100 * shares[r], percent(shares[r])) for r in ranks], "rank", "kept, %"),
    )


def pages_plot(facts: Facts) -> Plot | None:
    """How many pages a question has."""
    total = facts.n_questions
    if not facts.fates:
        return None
    numbers = range(max(facts.pages_per_question) + 1)
    without = facts.pages_per_question[0]
    return Plot(
        name="pages-per-question",
        title="Pages per question",
        kind="bar chart",
        stands_out=(
            f"{facts.n_with_pages:,} of {total:,} questions have a page or more; {without:,} "
            f"{'has' if without == 1 else 'have'} none."
            if without
            else f"Every one of the {total:,} questions has a page or more.",
        ),
        shows="A system gets the pages of its question, as many as were kept.",
        columns=(PlotColumn("Pages"), PlotColumn("Questions"), PlotColumn("Share")),
        rows=[(_n(n), _n(facts.pages_per_question[n]), _share(facts.pages_per_question[n], total)) for n in numbers],
        drawing=standing(
            [Bar(str(at), facts.pages_per_question[at], f"{facts.pages_per_question[at]:,}") for at in numbers],
            "pages of a question",
            "questions",
        ),
    )


def _bin(bound: int) -> str:
    return f"{amount_words(bound)}+"


def characters_plot(facts: Facts) -> Plot | None:
    """How long the pages are."""
    if not facts.n_pages:
        return None
    most = max(CHARACTER_BINS, key=lambda bound: facts.characters[bound])
    after = [bound for bound in CHARACTER_BINS if bound > most]
    length = f"{most:,} to {after[0]:,}" if after else f"{most:,} or more"
    return Plot(
        name="characters",
        title="Characters per page",
        kind="bar chart",
        stands_out=(
            f"The commonest length is {length} characters of clean text: {facts.characters[most]:,} of "
            f"{facts.n_pages:,} pages.",
        ),
        shows="A step holds the pages from its number of characters up to the next one.",
        columns=(PlotColumn("From characters"), PlotColumn("Pages"), PlotColumn("Share")),
        rows=[(_n(b), _n(facts.characters[b]), _share(facts.characters[b], facts.n_pages)) for b in CHARACTER_BINS],
        drawing=standing(
            [Bar(_bin(bound), facts.characters[bound], f"{facts.characters[bound]:,}") for bound in CHARACTER_BINS],
            "characters of clean text",
            "pages",
        ),
    )


def hosts_plot(facts: Facts) -> Plot | None:
    """Where the pages are from."""
    counts = largest(facts.hosts)
    if not counts:
        return None
    n = len(facts.hosts)
    return Plot(
        name="hosts",
        title="Hosts of the pages",
        kind="bar chart",
        stands_out=(
            f"The pages are of {n:,} host{'' if n == 1 else 's'}; most are of {counts[0].name} "
            f"({share_of(counts[0].n, facts.n_pages)}).",
        ),
        shows="The hosts with the most pages.",
        columns=(PlotColumn("Host", is_number=False), PlotColumn("Pages"), PlotColumn("Share")),
        rows=[(Cell(one.name), _n(one.n), _share(one.n, facts.n_pages)) for one in counts],
        drawing=_lying(counts, facts.n_pages),
    )


def kinds_plot(facts: Facts) -> Plot:
    """Questions by kind."""
    total = facts.n_questions
    order = sorted(facts.kinds, key=lambda kind: (-facts.kinds[kind], kind))
    names = {kind: f"{kind[0].replace('_', ' ')}, {kind[1]} choices" for kind in order}
    first = order[0]
    return Plot(
        name="kinds",
        title="Kinds of questions",
        kind="bar chart",
        stands_out=(f"Most common: {names[first]} ({share_of(facts.kinds[first], total)} of {total:,} questions).",),
        shows="Questions by their kind and their number of choices.",
        columns=(
            PlotColumn("Kind", is_number=False),
            PlotColumn("Choices"),
            PlotColumn("Questions"),
            PlotColumn("Share"),
        ),
        rows=[
            (Cell(k.replace("_", " ")), _n(c), _n(facts.kinds[k, c]), _share(facts.kinds[k, c], total))
            for k, c in order
        ],
        drawing=_lying([Count(names[kind], facts.kinds[kind]) for kind in order], total),
    )


class Rate(NamedTuple):
    """How many of `total` questions."""

    name: str
    n: int
    total: int


def label_rates(facts: Facts) -> list[Rate]:
    """Evidence by any method and by each, and leaks: over all questions with gold, and by kind."""
    total = facts.with_gold.total()
    kinds = sorted(facts.with_gold, key=lambda kind: (-facts.with_gold[kind], kind))
    found = [Rate("with evidence", facts.with_evidence.total(), total)]
    found += [Rate(f"evidence, {k.replace('_', ' ')}", facts.with_evidence[k], facts.with_gold[k]) for k in kinds]
    found += [Rate(f"evidence by {method}", facts.evidence[method], total) for method in sorted(facts.evidence)]
    found.append(Rate("leaked", facts.leaked.total(), total))
    return found + [Rate(f"leaked, {k.replace('_', ' ')}", facts.leaked[k], facts.with_gold[k]) for k in kinds]


def labels_plot(facts: Facts) -> Plot | None:
    """Questions with evidence on their pages, and questions that a page repeats."""
    total = facts.with_gold.total()
    if not facts.n_pages or not total:
        return None
    rates = label_rates(facts)
    bars = [
        Bar(
            shown(r.name),
            r.n / r.total,
            f"{share_of(r.n, r.total)} ({r.n:,} of {r.total:,})",
            "blind" if r.name.startswith("leaked") else "bar",
        )
        for r in rates
        if r.total
    ]
    evidence, leaked = facts.with_evidence.total(), facts.leaked.total()
    hidden = facts.n_questions - total
    words = (
        f"{evidence:,} of {total:,} questions have evidence for the right answer on their pages "
        f"({share_of(evidence, total)}); {leaked:,} are themselves shown on a page of the dataset "
        f"({share_of(leaked, total)})."
    )
    return Plot(
        name="labels",
        title="Evidence and leaks",
        kind="bar chart",
        stands_out=(words + (f" {hidden:,} questions in hidden splits are not counted." if hidden else ""),),
        shows=(
            "Evidence is a span of a page that supports the right answer, found by rule: it is neither complete nor "
            "always right. A leaked question is one that a page shows as a quiz does, alone or with its answer; "
            "scorecards tell leaked and clean questions apart."
        ),
        columns=(PlotColumn("Questions", is_number=False), PlotColumn("Number"), PlotColumn("Of"), PlotColumn("Share")),
        rows=[(Cell(shown(r.name)), _n(r.n), _n(r.total), _share(r.n, r.total)) for r in rates],
        drawing=lying(bars, max((bar.value for bar in bars), default=0) or 1),
    )


def plots_of(facts: Facts) -> list[Plot]:
    """The plots of a dataset, without those that have nothing to show."""
    found = (
        kinds_plot(facts),
        labels_plot(facts),
        fates_plot(facts),
        rank_plot(facts),
        pages_plot(facts),
        characters_plot(facts),
        hosts_plot(facts),
    )
    return [plot for plot in found if plot is not None]
