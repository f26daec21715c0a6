"""The command `edu-rag board`: scorecards in, a static site out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from leaderboard.present import Board


def _lines(board: Board) -> list[str]:
    """The board as text for a terminal."""
    from edu_rag.look.texts import clip, date, one_line, percent, seconds, signed

    lines = []
    for table in board.tables:
        lines += ["", f"{table.dataset_ids[0]} {table.key.split}: {table.sample_text}"]
        lines.append(f"{'rank':>5}  {'system':<32} {'score':>7}  {'95 % interval':<17} {'acc.':>5} {'hall.':>5} {'miss.':>5} {'failed':>6} {'s':>7}  scored")  # fmt: skip  # noqa: E501
        for row in table.rows:
            interval = f"[{signed(row.interval[0])}, {signed(row.interval[1])}]" if row.interval else "–"
            name = clip(one_line(row.name), 32)
            lines.append(
                f"{row.rank.text:>5}  {name:<32} {signed(row.counts.score):>7}  {interval:<17} "
                f"{percent(row.counts.accuracy):>5} {percent(row.counts.hallucination):>5} "
                f"{percent(row.counts.missing):>5} {row.counts.failed:>6,} "
                f"{seconds(row.median_latency_s):>7}  {date(row.result.scored_at)}"
            )
    return lines[1:]


def _report(site: Path, files: list[str]) -> None:
    """Say what was written: the pages by name, the many by number."""
    from edu_rag.progress import say

    for folder, what in (
        ("systems/", "page(s), one a system"),
        ("badges/", "badge(s) to link, one a system"),
        ("data/", "file(s) to download"),
        ("assets/", "asset(s)"),
    ):
        say(f"wrote {site / folder}: {sum(name.startswith(folder) for name in files)} {what}")
    for name in files:
        if "/" not in name:
            say(f"wrote {site / name}")


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="SITE", help="Folder of the site.")
@click.option("--json", "as_json", is_flag=True, help="Print the board as JSON instead of a table.")
def board(results: Path, out: Path, as_json: bool) -> None:
    """Write a static site from every scorecard.json below RESULTS, and print the table.

    The site needs no server: open SITE/index.html, or put the folder on any web host. It is written beside its place
    and swapped in whole; an earlier site of ours is replaced, any other folder is refused. The same scorecards give
    the same bytes. Results on different datasets, major versions, splits or samples stand in different tables.

    \b
    Example:
      edu-rag board results --out site
      edu-rag board results --out site --json | jq '.tables[0].rows[0].score'
    """
    from leaderboard.collect import collect
    from leaderboard.export import board_values, export
    from leaderboard.present import present
    from leaderboard.render import render
    from leaderboard.site import check_target, write_site

    check_target(out, results)
    shown = present(collect(results))

    def fill(folder: Path) -> None:
        render(shown, folder)
        export(shown, folder)

    _report(out, write_site(out, results, fill))
    if as_json:
        import json

        click.echo(json.dumps(board_values(shown), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(shown)))
