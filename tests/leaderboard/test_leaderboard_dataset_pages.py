"""The pages of datasets: every number is that of the dataset's own files, and its code runs as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
import fixture_dataset as lab
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from some_pages import build_some

from edu_rag.__main__ import root
from edu_rag.files.card_markdown import outside
from edu_rag.files.dataset import Dataset
from edu_rag.records import HIT_OUTCOMES, PAGE_FLAGS, QUESTION_FLAGS
from leaderboard.datasets import meanings
from leaderboard.datasets.version_pages import Block, ProseSpan, blocks_of, sections_of, spans_of
from leaderboard.issue_links import takedown_link
from leaderboard.pages import dataset_pages, plot_pages

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return lab.write_lab(tmp_path_factory.mktemp("lab") / "dataset")


@pytest.fixture(scope="module")
def site(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lab.write_site(tmp_path_factory.mktemp("site"), dataset)


@pytest.fixture(scope="module")
def page(site: Path, dataset: Dataset) -> Any:
    return html.parse(str(site / page_name(dataset))).getroot()


def page_name(dataset: Dataset) -> str:
    return f"datasets/{dataset.id.replace('@', '-').replace('#', '-')}.html"


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


def rows_in(element: Any) -> list[list[str]]:
    """The cells of a table's body; a share is written as a card writes it."""
    return [[words(cell).replace(" %", "%") for cell in row] for row in element.xpath(".//tbody/tr")]


def table_of(page: Any, caption: str) -> list[list[str]]:
    (found,) = page.xpath(f"//table[caption[normalize-space()='{caption}']]")
    return rows_in(found)


def card_tables(folder: Path) -> dict[tuple[str, ...], list[list[str]]]:
    """The tables of a card by their heads, without Markdown's marks: written by other code than the page's."""
    found: dict[tuple[str, ...], list[list[str]]] = {}
    head: tuple[str, ...] | None = None
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("| "):
            head = None
            continue
        cells = [re.sub(r"\\(.)", r"\1", cell.replace("`", "")) for cell in line[2:-2].split(" | ")]
        if head is None:
            head = tuple(cells)
            found[head] = []
        elif cells[0] != "---":
            found[head].append(cells)
    return found


def rows_of(folder: Path, config: str, split: str = "*") -> list[dict[str, Any]]:
    return [
        row for path in sorted(folder.glob(f"{config}/{split}-*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


# --- numbers: those of the card, which the builder writes by code of its own


def check_against_card(page: Any, folder: Path) -> None:
    card = card_tables(folder)
    for head, rows in card.items():
        shares = [row[:3] for row in rows]
        if head[0] == "config":
            splits = [name.removeprefix("rows in ") for name in head[2:]]
            for row in rows:
                for split, n in zip(splits, row[2:], strict=True):
                    (cell,) = page.xpath(f"//td[@data-rows='{row[0]}/{split}']")
                    assert words(cell).replace("–", "0") == n.replace("-", "0")
        elif head[0] == "fate of a search result":
            assert [row[:3] for row in rows_in(page.get_element_by_id("fates"))] == shares
        elif head[0] == "kind":
            shown = {(kind.replace(" ", "_"), n): rest for kind, n, *rest in rows_in(page.get_element_by_id("kinds"))}
            assert shown == {(kind, n): [count, share] for kind, n, count, share, *_ in rows}
        elif head[0] == "host":
            assert rows_in(page.get_element_by_id("hosts"))[: len(rows)] == rows
        elif head[0] == "questions with":
            check_labels(page, rows)
        elif head[0] == "flag":
            assert [row[:3] for row in table_of(page, f"Flags of {head[1]}")] == shares
        else:
            captions = {"language": "Languages of the pages", "licence": "Licences that pages name"}
            assert table_of(page, captions.get(head[0], "What extracted the text")) == rows


def check_labels(page: Any, rows: list[list[str]]) -> None:
    shown = {row[0]: (row[1], row[3]) for row in rows_in(page.get_element_by_id("labels"))}
    for name, n, share in rows:
        other = {"evidence by any method": "with evidence", "on a page of the dataset (a leak)": "leaked"}
        assert shown[other.get(name, name)] == (n, share)


def test_every_number_of_the_card_is_that_of_the_page(page: Any, dataset: Dataset) -> None:
    assert len(card_tables(dataset.folder)) >= 9
    check_against_card(page, dataset.folder)


def test_numbers_that_no_card_tells_are_those_of_the_tables(page: Any, dataset: Dataset) -> None:
    hits, kinds = (
        rows_of(dataset.folder, "hits"),
        {q["question_id"]: q["kind"] for q in rows_of(dataset.folder, "questions")},
    )
    by_rank = [[hit["outcome"] == "kept" for hit in hits if hit["rank"] == rank] for rank in range(1, 6)]
    expected = [[f"{at}", f"{len(of)}", f"{sum(of)}", f"{sum(of) / len(of):.1%}"] for at, of in enumerate(by_rank, 1)]
    assert rows_in(page.get_element_by_id("kept-by-rank")) == expected
    pages = {one: {hit["page_id"] for hit in hits if hit["question_id"] == one} - {None} for one in kinds}
    numbers = Counter(len(of) for of in pages.values())
    shown = {int(row[0]): int(row[1]) for row in rows_in(page.get_element_by_id("pages-per-question"))}
    assert shown == {at: numbers[at] for at in range(max(numbers) + 1)}
    lengths = {row["page_id"]: len(row["text"]) for row in rows_of(dataset.folder, "pages")}
    bounds = [int(row[0].replace(",", "")) for row in rows_in(page.get_element_by_id("characters"))]
    for at, row in enumerate(rows_in(page.get_element_by_id("characters"))):
        above = bounds[at + 1] if at + 1 < len(bounds) else 10**9
        assert int(row[1]) == sum(bounds[at] <= length < above for length in lengths.values())


def test_rates_by_kind_are_over_the_questions_whose_gold_is_there(page: Any, dataset: Dataset) -> None:
    kinds = {row["question_id"]: row["kind"] for row in rows_of(dataset.folder, "questions", "val")}
    shown = {row[0]: row[1:] for row in rows_in(page.get_element_by_id("labels"))}
    for config, word in (("evidence", "evidence"), ("leaks", "leaked")):
        ids = {row["question_id"] for row in rows_of(dataset.folder, config)}
        for kind in sorted(set(kinds.values())):
            n, total = sum(kinds[one] == kind for one in ids), sum(one == kind for one in kinds.values())
            assert shown[f"{word}, {kind.replace('_', ' ')}"] == [f"{n}", f"{total}", f"{n / total:.1%}"]
    assert f"{lab.N_TEST} questions in hidden splits are not counted." in words(page.get_element_by_id("labels"))


def test_the_others_of_many_hosts_are_counted_in_one_row(page: Any, dataset: Dataset) -> None:
    rows = rows_in(page.get_element_by_id("hosts"))
    assert len(rows) == 21
    assert rows[-1][0] == "5 others"
    n_pages = len({row["page_id"] for row in rows_of(dataset.folder, "pages")})
    assert sum(int(row[1]) for row in rows) == n_pages


def test_a_picture_says_the_numbers_of_its_table(site: Path, page: Any, dataset: Dataset) -> None:
    folder = site / page_name(dataset).removesuffix(".html")
    for row in rows_in(page.get_element_by_id("fates")):
        said = f"{row[1]} · {row[2].replace('%', ' %')}"
        for name in ("fates.svg", "fates-narrow.svg"):
            assert said in (folder / name).read_text(encoding="utf-8")
    sources = page.xpath("//img/@src | //source/@srcset")
    assert len(sources) == 14
    assert all((site / "datasets" / source).resolve().is_file() for source in sources)


def test_the_words_above_and_the_list_tell_the_same(site: Path, page: Any, dataset: Dataset) -> None:
    n_pages = len({row["page_id"] for row in rows_of(dataset.folder, "pages")})
    n_hits = len(rows_of(dataset.folder, "hits"))
    lead = f"{lab.N_VAL + lab.N_TEST} questions, {n_hits} search results and {n_pages} pages to answer them from."
    assert words(page.find_class("lead")[0]) == lead
    listed = html.parse(str(site / "datasets.html")).getroot()
    evidence = {row["question_id"] for row in rows_of(dataset.folder, "evidence")}
    leaked = {row["question_id"] for row in rows_of(dataset.folder, "leaks")}
    shares = [f"{len(of) / lab.N_VAL:.1%}" for of in (evidence, leaked)]
    now, before = rows_in(listed.get_element_by_id("lab"))
    numbers = [f"{lab.N_VAL + lab.N_TEST}", f"{n_pages}", *shares]
    assert now == ["2.1.0", dataset.id[-8:], *numbers, "val (2)"]
    assert before == ["2.0.0", "0123abcd", "–", "–", "–", "–", "val (1)"]


# --- what else the page tells


def test_files_are_given_as_they_are(site: Path, page: Any, dataset: Dataset) -> None:
    links = page.xpath("//ul[@class='files']//a/@href")
    assert [link.rsplit("/", 1)[-1] for link in links] == ["README.md", "croissant.json", "CHANGES.md", "manifest.json"]
    for link in links:
        copied = (site / "datasets" / link).resolve()
        assert copied.read_bytes() == (dataset.folder / copied.name).read_bytes()


def test_changes_and_licences_are_those_of_the_folder(page: Any) -> None:
    changes = page.get_element_by_id("changes")
    assert [words(one) for one in changes.xpath(".//summary")] == ["2.1.0 (2026-11-22)", "2.0.0 (2026-11-01)"]
    items = [words(item) for item in changes.xpath(".//li")]
    assert "changed: q_001" in items
    assert "taken down: host gone.example (owner asked): 1 pages, 3 hits, 0 evidence spans, 0 leaks" in items
    licences = words(page.get_element_by_id("licences"))
    assert "The rest (offsets, labels, flags): Apache-2.0." in licences
    assert "Questions and golds are under the terms of their own source." in licences
    assert "open an issue or a discussion" in words(page.get_element_by_id("takedown"))


def test_a_request_for_a_take_down_is_pre_filled_where_there_is_a_repository(page: Any, dataset: Dataset) -> None:
    (link,) = page.get_element_by_id("takedown").xpath(".//a/@href")
    assert link.startswith(f"{lab.REPOSITORY}/issues/new?title=Take-down%3A%20a%20page%20of%20lab%402.1.0%23")
    for repository in ("", "javascript:alert(1)", "mailto:a@b.example", "https://x.example/\"onclick='y"):
        assert takedown_link(repository, dataset.id) is None


def test_a_version_without_a_folder_has_a_modest_page(site: Path) -> None:
    known = html.parse(str(site / "datasets/lab-2.0.0-0123abcd.html")).getroot()
    assert "Known here from results alone" in words(known)
    (row,) = rows_in(known.get_element_by_id("results"))
    assert [row[0], *row[2:]] == ["val", "1", "1"]
    n = {tuple(row[:2]): row[2] for row in rows_in(known.get_element_by_id("holds"))}
    assert n["kind", "multiple_choice"] == f"{lab.N_VAL // 3}"
    assert [words(link) for link in known.xpath("//header//p//a")] == ["2.1.0", "All datasets"]
    # `dataset fetch` would get another version than this one.
    assert known.xpath("//pre/code")[0].text_content() == "edu-rag dataset check datasets/lab-2.0.0"
    assert "begins with 0123abcd" in words(known.get_element_by_id("load"))
    assert (site / "datasets/other-3.0.0-9c9c9c9c.html").is_file()


def test_every_word_of_the_contract_is_explained() -> None:
    assert set(meanings.FATES) == set(HIT_OUTCOMES)
    assert set(meanings.QUESTION_FLAGS) == set(QUESTION_FLAGS)
    assert set(meanings.PAGE_FLAGS) == set(PAGE_FLAGS)


# --- the code that a page tells


def test_the_python_of_a_page_runs_as_it_stands(page: Any, dataset: Dataset, tmp_path: Path) -> None:
    shutil.copytree(dataset.folder, tmp_path / "datasets/lab-2.1.0")
    programs = page.xpath("//pre/code[@class='python']")
    assert len(programs) == 2
    tells = (
        "assert questions['val'].num_rows == 60 and gold['val'].num_rows == 60 and hits['test'].num_rows == 35",
        "assert len(questions) == 60 and hits['val_001'][0].rank == 1 and len(pages) > 5",
    )
    own = os.environ | {
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "PYTHONPATH": str(ROOT),
    }
    for program, tell in zip(programs, tells, strict=True):
        code = f"{program.text_content()}\n{tell}\n"
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=own,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert found.returncode == 0, found.stderr[-2000:]


def test_the_commands_of_a_page_are_commands(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shell,) = page.xpath("//pre/code[@class='sh']")
    for line in shell.text_content().splitlines():
        name, *arguments = line.split()
        assert name == "edu-rag"
        command: click.Command = root
        while isinstance(command, click.Group):
            _, found, arguments = command.resolve_command(click.Context(command), arguments)
            assert found is not None
            command = found
        assert command.make_context(command.name, arguments).params  # wrong usage would raise


# --- parts


def test_without_matplotlib_every_number_is_there(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plot_pages, dataset_pages):
        monkeypatch.setattr(module, "can_draw", lambda: False)
    monkeypatch.setitem(dataset_pages.TOOLS, "can_draw", lambda: False)
    site = lab.write_site(tmp_path, dataset)
    bare = html.parse(str(site / page_name(dataset))).getroot()
    assert not bare.xpath("//img")
    assert not list(site.rglob("datasets/**/*.svg"))
    check_against_card(bare, dataset.folder)
    assert "pip install 'edu-rag-bench[board]'" in words(bare)


def test_a_folder_without_card_and_changes_says_so(tmp_path: Path) -> None:
    bare = lab.write_hostile_lab(tmp_path / "dataset", "plain", bare=True)
    site = lab.write_site(tmp_path, bare)
    page = html.parse(str(site / page_name(bare))).getroot()
    assert "no card that names its licences" in words(page.get_element_by_id("licences"))
    assert "tell the maintainers its address" in words(page.get_element_by_id("takedown"))
    assert "no CHANGES.md" in words(page.get_element_by_id("changes"))
    assert [link.rsplit("/", 1)[-1] for link in page.xpath("//ul[@class='files']//a/@href")] == ["manifest.json"]


def test_a_board_without_any_folder_has_its_datasets_all_the_same(dataset: Dataset, tmp_path: Path) -> None:
    lab.write_results(tmp_path / "results", dataset)
    site = build_some(tmp_path / "results", tmp_path / "site", (dataset_pages,))
    assert len(list(site.glob("datasets/*.html"))) == 3


# --- prose


def shown(text: str) -> str:
    return "".join(span.text for span in spans_of(text))


@given(st.text(max_size=200) | st.sampled_from(["www.a.example", "&lt;b>", "\\<", "`a` **b** *c*", "<script>", "a\\"]))
def test_what_the_builder_escaped_is_read_back_as_it_was(text: str) -> None:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    assert shown(outside(text)) == plain
    assert all(span.mark == "" for span in spans_of(outside(text)))


def test_marks_become_spans_and_nothing_else_does() -> None:
    assert spans_of("**a b** and *c*: `d * e`") == (
        ProseSpan("a b", "strong"),
        ProseSpan(" and ", ""),
        ProseSpan("c", "em"),
        ProseSpan(": ", ""),
        ProseSpan("d * e", "code"),
    )
    assert shown("[x](javascript:y) <img src=x> ![z](q)") == "[x](javascript:y) <img src=x> ![z](q)"


def test_paragraphs_and_items_are_told_apart() -> None:
    lines = ["one", "goes on", "", "- item", "  of two lines", "  - inner", "", "two"]
    assert blocks_of(lines) == [
        Block((ProseSpan("one goes on"),)),
        Block((ProseSpan("item of two lines"),), 1),
        Block((ProseSpan("inner"),), 2),
        Block((ProseSpan("two"),)),
    ]


@given(st.text(max_size=400))
def test_no_text_breaks_the_reading_of_sections(text: str) -> None:
    for section in sections_of(f"## {text}"):
        assert all(span.text for block in section.blocks for span in block.spans)


def test_a_long_file_is_read_in_time_and_cut() -> None:
    long = "## a\n" + "**`*\\" * 500_000 + "\n## b\n" * 10_000
    found = sections_of(long, 30)
    assert len(found) == 30
    assert sum(len(span.text) for span in found[0].blocks[0].spans) < 60_000
