"""All plots of a table, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.board.present import Table
from leaderboard.plots.coverage import coverage_plot
from leaderboard.plots.forest import forest_plot
from leaderboard.plots.ladder import ladder_plot
from leaderboard.plots.outcome_plot import outcome_plot
from leaderboard.plots.plot import Plot
from leaderboard.plots.plotted_systems import System, systems_of
from leaderboard.plots.price import PRICES, price_plot
from leaderboard.plots.slice_heatmap import slice_plot


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
