"""The command `edu-rag board`: scorecards in, a static site out."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from leaderboard.board.collect import ResultGroup
    from leaderboard.board.present import Board


def _lines(board: Board) -> list[str]:
    """The board as text for a terminal."""
    from edu_rag.look.texts import clip, date, one_line, percent, seconds, signed
    from leaderboard.board.badges import REPORTED

    lines = []
    for table in board.tables:
        lines += ["", f"{table.dataset_ids[0]} {table.key.split}: {table.sample_text}"]
        lines.append(
            f"{'rank':>5}  {'system':<32} {'score':>7}  {'95 % interval':<17} "
            f"{'acc.':>5} {'hall.':>5} {'miss.':>5} {'failed':>6} {'s':>7}  scored"
        )
        for row in table.rows:
            interval = f"[{signed(row.interval[0])}, {signed(row.interval[1])}]" if row.interval else "–"
            name = clip(one_line(row.name), 32)
            lines.append(
                f"{row.rank.text:>5}  {name:<32} {signed(row.counts.score):>7}  {interval:<17} "
                f"{percent(row.counts.accuracy):>5} {percent(row.counts.hallucination):>5} "
                f"{percent(row.counts.missing):>5} {row.counts.failed:>6,} "
                f"{seconds(row.median_latency_s):>7}  {date(row.result.scored_at)}"
                f"{f'  {REPORTED}' if row.result.card.reported else ''}"
            )
    return lines[1:]


def _base_url(text: str) -> str:
    """The address of the site, with one '/' at its end; empty if it was not given. Raises ConfigError."""
    from edu_rag.errors import ConfigError
    from edu_rag.look.texts import safe_link

    # Feed and sitemap put paths behind it.
    if text and (not text.startswith(("https://", "http://")) or safe_link(text) is None or set("?#") & set(text)):
        raise ConfigError("--url", f"{text[:80]!r} is no address of a folder on the web", "https://board.example.org/")
    return text and text.rstrip("/") + "/"


def _repository(text: str) -> str:
    """The repository's web address without a '/' at its end; empty if it was not given. Raises ConfigError."""
    from edu_rag.errors import ConfigError
    from edu_rag.look.texts import safe_link

    # Reports of problems put a path and a question behind it.
    if text and (not text.startswith(("https://", "http://")) or safe_link(text) is None or set("?#") & set(text)):
        raise ConfigError("--repository", f"{text[:80]!r} is no web address", "https://code.example.org/team/project")
    return text.rstrip("/")


def _n_cores() -> int:
    """Processes worth starting: more than four wait for the one that gives them their work."""
    import os

    return min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _collected(results: Path, submissions: tuple[Path, ...], datasets: tuple[Path, ...]) -> list[ResultGroup]:
    """The tables of a results folder, with the predictions that submissions hold of them; none of hidden splits."""
    from edu_rag.files.board_file import board_beside
    from edu_rag.progress import say
    from leaderboard.board.collect import check_pins, collect, in_board_order
    from leaderboard.board.private_gold import hidden_splits, is_hidden, without_predictions
    from leaderboard.systems.stored_predictions import with_predictions

    groups = collect(results)
    say(f"read {sum(len(group.results) for group in groups):,} scorecard(s) below {results}")
    hidden = hidden_splits(datasets)
    board_file = board_beside(results)
    if board_file is not None:
        check_pins(board_file, datasets, groups)
        groups = in_board_order(board_file, groups)
    for group in groups:
        if is_hidden(group.key, hidden):
            say(f"{group.key.id} is of a hidden split: no question and no prediction of it is shown")
    if not submissions:
        return without_predictions(groups, hidden)
    found = with_predictions(groups, submissions)
    say(f"found the predictions of {found.n_found:,} of {found.n_lacking:,} ranked scorecard(s) among the submissions")
    return without_predictions(found.groups, hidden)


def _report(site: Path, files: Collection[str]) -> None:
    """Say what was written: the pages by name, the many by number."""
    from edu_rag.progress import say

    for folder, what in (
        ("front/", "page(s), one a table"),
        ("systems/", "page(s), one a system"),
        ("badges/", "badge(s) to link, one a system"),
        ("plots/", "page(s) and picture(s) of plots"),
        ("datasets/", "page(s), picture(s) and file(s) of datasets"),
        ("questions/", "file(s) of questions"),
        ("history/", "page(s), one a dataset version"),
        ("data/", "file(s) to download"),
        ("assets/", "asset(s)"),
    ):
        say(f"wrote {site / folder}: {sum(name.startswith(folder) for name in files)} {what}")
    for name in files:
        if "/" not in name:
            say(f"wrote {site / name}")


class BoardCommand(click.Command):
    """`board RESULTS`, with `board init` and `board check` for the repository; a folder of such a name is `./init`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of `init` or `check` if the first argument is one of them, else that of the board."""
        if not args or args[0] not in ("init", "check"):
            return super().make_context(info_name, args, parent, **extra)
        from leaderboard.repository import commands

        command: click.Command = getattr(commands, args[0])
        return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the context was made for."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command(cls=BoardCommand)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="SITE", help="Folder to write the site to."
)
@click.option("--json", "as_json", is_flag=True, help="Print the board as JSON instead of a table.")
@click.option(
    "--dataset",
    "datasets",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Dataset folder, to show its questions, pages and evidence; repeatable.",
)
@click.option(
    "--submissions",
    "submissions",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Folder of submissions, for predictions that are not next to their scorecard; repeatable.",
)
@click.option(
    "--url",
    "base_url",
    default="",
    metavar="URL",
    help="Address of the published site, for feed, sitemap and previews.",
)
@click.option(
    "--repository", default="", metavar="URL", help="Address of the repository, for links to report a problem."
)
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Day whose question the front page shows; by default that of the newest result.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of processes; by default the number of cores, at most 4."
)
def board(
    results: Path,
    out: Path,
    as_json: bool,
    datasets: tuple[Path, ...],
    submissions: tuple[Path, ...],
    base_url: str,
    repository: str,
    day: datetime | None,
    workers: int | None,
) -> None:
    """Write a static site from every scorecard.json below RESULTS, and print the table.

    The site needs no server: open SITE/index.html, or copy the folder to any web host. The command replaces an earlier
    site in one step, and refuses to overwrite any other folder. The same input gives the same bytes. Each dataset,
    major version, split and sample has its own table. A board.toml next to RESULTS pins the datasets: another folder,
    or a scorecard on other content, is refused.

    `edu-rag board init` writes the files of a repository for a board, `edu-rag board check` checks them.

    \b
    Example:
      edu-rag board results --out site
      edu-rag board leaderboard/results --submissions submissions --dataset tqa-val --out site
      edu-rag board results --out site --json | jq '.tables[0].rows[0].score'
    """
    from edu_rag.progress import say

    say(f"write the site of {results}")

    from leaderboard.site import check_apart, check_target, write_site

    check_target(out, results)
    for given in (*datasets, *submissions):
        check_apart(out, given)
    groups = _collected(results, submissions, datasets)

    # After the first message: the pages' libraries take several times as long to load as the scorecards to read.
    from edu_rag.files.board_file import board_beside, read_board_file
    from leaderboard.board.export_board import board_values
    from leaderboard.board.present import present
    from leaderboard.board.retrieval_tables import retrieval_tables
    from leaderboard.build_site import fill
    from leaderboard.edition import Edition
    from leaderboard.exams import open_exams
    from leaderboard.history.errata import errata_beside

    board_file = board_beside(results)
    shown = present(groups)
    edition = Edition(
        board=shown,
        groups=groups,
        exams=open_exams(datasets),
        base_url=_base_url(base_url),
        repository=_repository(repository),
        errata=errata_beside(results),
        retrieval=retrieval_tables(results, read_board_file(board_file) if board_file is not None else None),
        workers=workers or _n_cores(),
        day=day.date() if day else None,
    )
    _report(out, write_site(out, results, partial(fill, edition)))
    if as_json:
        import json

        click.echo(json.dumps(board_values(shown), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(shown)))
