"""Compare a site with the scorecards that it shows: its files with their hashes, its numbers with the counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from edu_rag.errors import DataError, EduRagError, each_fault
from edu_rag.files.jsonl import read_json
from edu_rag.files.manifest import file_sha256
from edu_rag.scorecard.card import OUTCOMES, ScoreCard
from edu_rag.scorecard.card_file import FILE_NAME, read_scorecard
from edu_rag.scorecard.results_folder import PREDICTIONS, place_of
from harness.rescoring.verify import Difference, Finding, differences

SITE_FILE, BOARD_FILE = "site.json", "board.json"


def verify_site(site: Path, results: Path) -> list[Finding]:
    """Verify a site's files: those that site.json lists, its scorecards, and each row of its board.

    The scorecards themselves are verified by `harness.rescoring.verify`. Raises DataError if there is no site.
    """
    listed = _listed(site)
    faulty = [*_files(site, listed), *_cards(site, results), *_rows(site)]
    name = f"{site.name}/{SITE_FILE}"
    return faulty or [Finding(file=name, status="same", why=f"{len(listed):,} files")]


def _listed(site: Path) -> Mapping[str, str]:
    values = read_json(site / SITE_FILE)
    files = values.get("files") if isinstance(values, dict) else None
    if not isinstance(files, dict) or not all(isinstance(sha256, str) for sha256 in files.values()):
        raise DataError(site / SITE_FILE, "does not list the files of a site", "build the site with `edu-rag board`")
    return files


def _finding(site: Path, file: str, why: str, found: tuple[Difference, ...] = ()) -> Finding:
    return Finding(file=f"{site.name}/{file}", status="differs", why=why, differences=found)


def _files(site: Path, listed: Mapping[str, str]) -> Iterator[Finding]:
    there = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file() or path.is_symlink()}
    for file in sorted(there - listed.keys() - {SITE_FILE}):
        yield _finding(site, file, f"is not in {SITE_FILE}")
    for file, sha256 in sorted(listed.items()):
        if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts or file not in there:
            yield _finding(site, file, f"{SITE_FILE} names it, but it is not there")
        elif (site / file).is_symlink() or file_sha256(site / file) != sha256:
            yield _finding(site, file, f"is not what {SITE_FILE} says")


def _cards(site: Path, results: Path) -> Iterator[Finding]:
    """Each scorecard of the site must be the very file among the results; the predictions next to it that one, too, or,
    where `edu-rag board --submissions` found them elsewhere, the file whose hash the scorecard holds.
    """
    for path in sorted((site / "data").rglob(FILE_NAME)):
        file = path.relative_to(site).as_posix()
        try:
            card = read_scorecard(path)
            own = results / place_of(card)
        except EduRagError as error:
            yield _finding(site, file, str(each_fault(error)[0]))
            continue
        for name, sha256 in ((FILE_NAME, ""), (PREDICTIONS, card.predictions_sha256)):
            shown, scored = path.with_name(name), own / name
            if shown.is_file() and file_sha256(shown) not in (sha256, file_sha256(scored) if scored.is_file() else ""):
                yield _finding(site, f"{PurePosixPath(file).parent}/{name}", "is not the file among the results")


def _rows(site: Path) -> Iterator[Finding]:
    """Each row of the board against the scorecard that it names."""
    board = read_json(site / BOARD_FILE)
    tables = board.get("tables") if isinstance(board, dict) else None
    listed_tables = tables if isinstance(tables, list) else [None]
    rows = [table.get("rows") if isinstance(table, dict) else None for table in listed_tables]
    for listed in rows:
        if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
            raise DataError(site / BOARD_FILE, "holds no tables with rows", "build the site with `edu-rag board`")
        for row in listed:
            yield from _row(site, row)


def _row(site: Path, row: Mapping[str, Any]) -> Iterator[Finding]:
    named = str(row.get("scorecard"))
    where = f"{BOARD_FILE}: {named}"
    path = site / named
    if ".." in PurePosixPath(named).parts or PurePosixPath(named).is_absolute() or not path.is_file():
        yield _finding(site, where, "there is no such scorecard")
        return
    try:
        known = _row_of(read_scorecard(path))
    except EduRagError:  # reported with the scorecard
        return
    found = tuple(differences({name: row.get(name) for name in known}, known))
    if found:
        yield _finding(site, where, "is not what the scorecard says", found)


def _row_of(card: ScoreCard) -> dict[str, Any]:
    """The part of a board's row that a scorecard determines; ranks depend on the whole table."""
    low, high = card.intervals.get("score", (None, None))
    rerun = card.rerun
    return {
        "dataset": card.dataset,
        "split": card.split,
        "sample": card.sample,
        "slug": card.system.slug,
        "name": card.system.name,
        "team": card.system.team,
        "n": card.counts.n,
        **{outcome: getattr(card.counts, outcome) for outcome in OUTCOMES},
        **card.counts.rates(),
        "score_low": low,
        "score_high": high,
        "interval_method": card.interval_method,
        "answers_rule": card.answers_rule,
        "harness": card.harness,
        "scored_at": card.scored_at,
        "blind": card.system.blind,
        "runnable": card.system.runnable,
        "withdrawn": card.system.withdrawn,
        "reported": card.reported,
        "rerun_own": rerun.get("own") is True,
        "rerun_n": rerun.get("n"),
        "rerun_same": rerun.get("n_same"),
        "overlap_declared": card.overlap.count("1"),
        "system_sha256": card.system_sha256,
        "predictions_sha256": card.predictions_sha256,
    }
