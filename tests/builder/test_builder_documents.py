"""What stands beside the tables: card, Croissant metadata, plots and the closing report, each a function of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builder_dataset import ICE, LAVA, MOVED, hit, tables, write

from builder.build import build
from builder.config import read_config
from builder.dataset.changes_file import write_changes
from builder.dataset.takedown import plan_takedown, to_takedown
from builder.documents.build_report import RunLog, read_last_run, report_html
from builder.documents.croissant import croissant
from builder.documents.dataset_documents import CROISSANT_FILE, rewrite_documents
from builder.documents.dataset_plots import dataset_plots, fates_plot
from builder.documents.question_terms import terms_in
from builder.documents.stats import DatasetStats, dataset_stats
from edu_rag.errors import DataError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import read_manifest

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "edu_rag" / "mini"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("documents") / "mini"
    build([MINI / "questions.jsonl"], out, read_config(MINI / "build.toml", {}))
    return out


def test_mlcroissant_writes_the_same_metadata_and_reads_every_table_by_it(folder: Path) -> None:
    import mlcroissant

    described = mlcroissant.Dataset(str(folder / CROISSANT_FILE))
    assert described.metadata.issues.errors == set()
    theirs = json.dumps(described.metadata.to_json(), indent=1, ensure_ascii=False, sort_keys=True, default=str)
    assert f"{theirs}\n" == (folder / CROISSANT_FILE).read_text(encoding="utf-8")
    opened = Dataset(folder)
    rows = {sets.id: list(described.records(sets.id)) for sets in described.metadata.record_sets}
    assert set(rows) == {f"{c}/test" for c in ("questions", "hits", "pages", "evidence", "leaks", "gold")}
    first = opened.questions("test")[0]
    read = rows["questions/test"][0]
    assert read["questions/test/question_id"] == first.question_id.encode()
    labels = [choice["questions/test/choices/label"].decode() for choice in read["questions/test/choices"]]
    assert labels == list(first.choices)
    assert len(rows["pages/test"]) == len(opened.pages("test"))


def test_metadata_is_a_function_of_the_manifest(folder: Path) -> None:
    manifest = read_manifest(folder)
    terms = terms_in(manifest.sources)
    licence = terms.licence if terms is not None else None
    made = croissant(manifest.name, manifest.version, manifest.created_at, manifest.files, licence=licence)
    assert made == (folder / CROISSANT_FILE).read_bytes()


@pytest.mark.parametrize(
    ("created_at", "said"),
    [
        ("2026-11-26T00:00:00+00:00", "2026-11-26"),
        ("2026-11-26T12:34:56+00:00", "2026-11-26T12:34:56Z"),
        ("2026-01-02T23:59:59-05:00", "2026-01-02T23:59:59-05:00"),
    ],
)
def test_the_date_of_the_metadata_is_the_day_or_the_time(folder: Path, created_at: str, said: str) -> None:
    made = json.loads(croissant("x", "1.0.0", created_at, read_manifest(folder).files))
    assert made["datePublished"] == said


def test_the_numbers_of_the_card_are_those_of_the_tables(folder: Path) -> None:
    opened, stats = Dataset(folder), dataset_stats(folder, read_manifest(folder).files)
    questions, hits, pages = opened.questions("test"), opened.hits("test"), opened.pages("test")
    assert stats.n_questions == len(questions)
    assert stats.n_pages == len(pages) == stats.hosts.total() == stats.characters.total()
    assert stats.outcomes.total() == sum(map(len, hits.values()))
    kept = [len({hit.page_id for hit in found if hit.page_id}) for found in hits.values()]
    assert stats.pages_per_question[9] == kept.count(9)
    assert stats.evidence["any"] == len(opened.evidence("test"))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"| kept | {stats.outcomes['kept']:,} |" in card


def test_manifest_card_and_take_down_count_the_same(folder: Path) -> None:
    opened = Dataset(folder)
    sources, stats = opened.manifest.sources, dataset_stats(folder, opened.manifest.files)
    assert sources["hits_by_outcome"] == dict(sorted(stats.outcomes.items()))
    assert sources["pages"] == stats.n_pages
    assert sources["page_flags"] == dict(sorted(stats.page_flags.items()))
    assert sources["extracted_by"] == dict(sorted(stats.extractors.items()))
    assert sources["leaks"] == dict(sorted(stats.leaks.items()))
    assert (sources["questions_leaked"], sources["questions_with_evidence"]) == (
        stats.leaked_questions,
        stats.evidence["any"],
    )
    n_pairs = sum(n_pages * n for n_pages, n in stats.pages_per_question.items())
    assert sources["pages_per_question"] == round(n_pairs / stats.n_questions, 2)
    assert sources["questions_with_pages"] == stats.n_questions - stats.pages_per_question[0]
    nothing = to_takedown("nowhere.example", "none", datetime(2026, 1, 1, tzinfo=UTC))
    counted = plan_takedown(opened, nothing).sources
    assert counted == {**sources, "hits_taken_down": 0, "pages_taken_down": 0}


def test_a_page_that_two_hits_of_a_question_lead_to_is_counted_once(tmp_path: Path) -> None:
    made = tables()
    made["hits"]["val"] = [hit("q1", 1, LAVA), hit("q1", 2, ICE), hit("q1", 3, MOVED, LAVA), hit("q2", 1, LAVA)]
    made["leaks"], made["evidence"] = {}, {}
    stats = dataset_stats(write(tmp_path / "ds", made), read_manifest(tmp_path / "ds").files)
    assert stats.pages_per_question == {0: 0, 1: 2, 2: 1}


def test_every_picture_of_the_card_is_there_and_drawn_the_same_again(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"!\[[a-z ]+\]\((plots/[a-z-]+\.svg)\)", card)
    plots = dataset_plots(dataset_stats(folder, read_manifest(folder).files))
    assert sorted(named) == sorted(plots)
    assert {name: (folder / name).read_bytes() for name in named} == plots


def test_documents_made_anew_are_the_same_and_the_dataset_stays_sound(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    manifest = rewrite_documents(folder)
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert Dataset(folder).manifest == manifest


def test_what_is_lost_or_changed_beside_the_tables_is_made_anew(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "README.md").write_text("changed")
    shutil.rmtree(copy / "plots")
    assert rewrite_documents(copy) == read_manifest(folder)
    assert Dataset(copy).manifest == Dataset(folder).manifest
    table = next(copy.rglob("*.parquet"))
    table.write_bytes(table.read_bytes() + b" ")
    with pytest.raises(DataError, match="differ from the manifest's hash"):
        rewrite_documents(copy)


def test_a_history_that_is_lost_is_listed_no_more(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    write_changes(copy, copy, ["- first"])
    (copy / "CHANGES.md").unlink()
    assert "CHANGES.md" not in rewrite_documents(copy).files
    assert Dataset(copy).manifest == Dataset(folder).manifest


def test_the_report_shows_hostile_strings_as_text_and_loads_nothing(folder: Path) -> None:
    stats = DatasetStats(n_questions=1, n_pages=1)
    stats.hosts[SCRIPT] = 1
    stats.licenses[SCRIPT] = 1
    stats.outcomes["kept"] = 1
    stats.by_rank[1][True] = 1
    stats.characters[500] = 1
    run = RunLog(
        stages=[{"stage": SCRIPT, "seconds": 1.0, "total": 1, "rate": 1.0, "counts": {SCRIPT: 1}}],
        events=[{"at": "now", "event": "refusal", "reason": SCRIPT}],
        n_events=1,
    )
    page = report_html(replace(read_manifest(folder), sources={"engine": SCRIPT}), stats, run)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    loads = re.findall(r"(?:src|href)=[\"']?([^\"' >]+)", page)
    assert [target for target in loads if not target.startswith("#")] == []


def test_the_report_tells_of_the_last_run_only_and_survives_a_broken_line(tmp_path: Path) -> None:
    log = tmp_path / "build.log.jsonl"
    log.write_text(
        '{"event":"build"}\n{"event":"end","stage":"old","seconds":1}\n'
        '{"event":"build"}\n{"event":"start","stage":"new"}\n{"event":"end","stage":"new","seconds":2}\n'
        '{"event":"refusal","engine":"google"}\n{"event":"en'
    )
    run = read_last_run(log)
    assert [stage["stage"] for stage in run.stages] == ["new"]
    assert [event["event"] for event in run.events] == ["refusal"]


def test_a_persons_own_settings_of_matplotlib_move_no_byte(folder: Path, tmp_path: Path) -> None:
    rc = "font.size: 20\npatch.linewidth: 5\npatch.force_edgecolor: True\naxes.labelsize: 30\nxtick.labelsize: 22\n"
    (tmp_path / "matplotlibrc").write_text(rc)
    code = (
        "import sys; from pathlib import Path; from builder.documents.dataset_plots import fates_plot;"
        "sys.stdout.buffer.write(fates_plot({'kept': 3, 'short': 2}))"
    )
    plain, own = (
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT, env={**os.environ, **more}
        ).stdout
        for more in ({}, {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")})
    )
    assert plain == own
    assert plain == fates_plot({"kept": 3, "short": 2})


def test_a_replay_to_another_place_leaves_the_report_of_the_build_alone(folder: Path, tmp_path: Path) -> None:
    from builder.build import replay
    from builder.store.store_folder import store_folder

    store = store_folder(folder)
    before = (store / "report.html").read_bytes()
    replay(store, tmp_path / "again")
    assert (store / "report.html").read_bytes() == before
    assert "edu-rag-mini@2.0.0" in (tmp_path / "again.report.html").read_text(encoding="utf-8")
