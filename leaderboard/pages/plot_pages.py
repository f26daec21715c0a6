"""The plots of every table: a page with sentences, pictures and numbers each, and plots.html that leads to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import jinja2

from edu_rag.look.matplotlib_svg import can_draw
from leaderboard.board.present import Table
from leaderboard.edition import Edition
from leaderboard.plots.coverage import coverage_plot
from leaderboard.plots.forest import forest_plot
from leaderboard.plots.ladder import ladder_plot
from leaderboard.plots.outcome_plot import outcome_plot
from leaderboard.plots.plot import NARROW, WIDE, Plot, Sheet
from leaderboard.plots.plot_sentences import spoken
from leaderboard.plots.plotted_systems import System, systems_of
from leaderboard.plots.price import PRICES, price_plot
from leaderboard.plots.slice_heatmap import slice_plot
from leaderboard.site import Files

PREVIEW = "outcomes"
"""The plot that plots.html shows of each table."""


def plots_from(systems: Sequence[System]) -> list[Plot]:
    """Sentences and numbers of every plot; the caller draws the picture."""
    prices = [price_plot(systems, price) for price in PRICES]
    return [
        forest_plot(systems),
        outcome_plot(systems),
        *prices,
        coverage_plot(systems),
        slice_plot(systems),
        ladder_plot(systems),
    ]


def plots_of(table: Table) -> list[Plot]:
    """The plots of a table's systems, without those that were withdrawn."""
    return plots_from(systems_of(table))


def picture_of(table: Table, plot: Plot, sheet: Sheet) -> str:
    """The path of a picture in the site."""
    return f"plots/{table.key.id}/{plot.name}{sheet.suffix}.svg"


def alt_of(plot: Plot) -> str:
    """The alternative text of a picture: its subject and its main finding."""
    return f"{plot.title}, {plot.kind}. {spoken(plot.stands_out)}".strip()


def is_drawn(plot: Plot) -> bool:
    """Whether there is something to draw, and something to draw it with."""
    return plot.drawing is not None and can_draw()


def height_of(plot: Plot, sheet: Sheet) -> int:
    """Pixels of a picture."""
    return round(plot.drawing.height(sheet)) if plot.drawing else 0


def _page(pages: jinja2.Environment, name: str, **values: object) -> bytes:
    template = pages.get_template(name)
    tools = {"picture_of": picture_of, "alt_of": alt_of, "is_drawn": is_drawn, "height_of": height_of}
    return template.render(WIDE=WIDE, NARROW=NARROW, can_draw=can_draw(), **tools, **values).encode()


def _files(pages: jinja2.Environment, table: Table) -> Iterator[tuple[str, bytes]]:
    plots = plots_of(table)
    yield f"plots/{table.key.id}.html", _page(pages, "plots.html.j2", table=table, plots=plots, root="../", here="")
    for plot in filter(is_drawn, plots):
        for sheet in (WIDE, NARROW):
            yield picture_of(table, plot, sheet), plot.svg(sheet, f"{plot.title}: {table.key.id}")


def _list(pages: jinja2.Environment, tables: list[tuple[Table, list[Plot]]]) -> Iterator[tuple[str, bytes]]:
    found = [(table, plots[0], next(plot for plot in plots if plot.name == PREVIEW)) for table, plots in tables]
    yield "plots.html", _page(pages, "plots_list.html.j2", tables=found, root="", here="plots.html")


def files(edition: Edition, pages: jinja2.Environment) -> Files:
    """The plots of each table, and the list of them. Without matplotlib the pages hold sentences and numbers alone."""
    tables = edition.board.tables
    for table in tables:
        yield from _files(pages, table)
    yield from _list(pages, [(table, plots_of(table)) for table in tables])
