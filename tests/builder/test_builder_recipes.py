"""Datasets by recipe: sources are verified, a dataset is the same everywhere, and a changed source is one error."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from builder.config import to_config
from builder.dataset.check_dataset import check_folder
from builder.recipes.dataset_recipe import DatasetRecipe, Splits, read_recipe, recipe_names
from builder.recipes.make_dataset import split_of
from builder.recipes.recipe_sources import BookFolder, copy_sites, folder_sha256, open_questions, open_sources
from builder.textbooks.exercise_questions import BookQuestion, question_of
from edu_rag.__main__ import root
from edu_rag.errors import ConfigError, DataError, FaultsError
from edu_rag.files.dataset import Dataset
from edu_rag.gold import Gold
from edu_rag.records import HOME_PAGE, Evidence, Leak
from edu_rag.scorecard.support import read_support

COMMIT = "c0ffee" + "0" * 34
TOP = f"rocks-{COMMIT}"
MODULE = """---
title: "{title}"
layout: page
---

{text}

### Review Questions

<div data-type="exercise">
<div data-type="problem" markdown="1">
{question}

1.  {right}
2.  wood
3.  glass
{{: type="a"}}

</div>
<div data-type="solution" markdown="1">
A

</div>
</div>
"""
SUBJECTS = ("basalt", "granite", "chalk", "marble")
RECIPE = """name = "rocks"
version = "1.0.0"
about = "A book of rocks."
content_sha256 = "{content}"
[splits]
dev = 0.5
[build]
clock = "2026-01-01T00:00:00Z"
[build.filter]
languages = []
[[source]]
id = "rocks"
title = "Rocks"
archive = "{base}/{commit}.tar.gz"
top = "{top}"
commit = "{commit}"
page = "https://books.example/rocks/blob/{commit}/{{place}}"
licence = "CC BY 4.0"
licence_url = "https://creativecommons.org/licenses/by/4.0/"
attribution = "Us"
format = "markdown"
contents = ["SUMMARY.md"]
files_sha256 = "{files}"
"""


def files(text: str = "It is a rock with a long history and many uses.") -> dict[str, bytes]:
    lines = ["1.  {: .part} All\n"]
    found = {}
    for number, subject in enumerate(SUBJECTS):
        lines.append(f"    {number}.  {{: .chapter}} [{subject.title()}](contents/m{number}.md)\n")
        said = f"The rock called {subject} is made of {subject} crystals. {text} " * 8
        module = MODULE.format(
            title=subject.title(), text=said, question=f"What is {subject} rock made of?", right=f"{subject} crystals"
        )
        found[f"contents/m{number}.md"] = module.encode()
    return found | {"SUMMARY.md": "".join(lines).encode()}


def write_archive(path: Path, content: dict[str, bytes], top: str = TOP) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, data in content.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def hash_of_files(tmp_path: Path) -> str:
    """The hash that the error of a recipe with another one names."""
    archives = tmp_path / "first"
    write_archive(archives / f"{TOP}.tar.gz", files())
    with pytest.raises(DataError) as error:
        open_sources(recipe(tmp_path, "0" * 64), archives, tmp_path / "kept", tmp_path / "scratch")
    return str(error.value).split("have the hash ")[1][:64]


def recipe(
    tmp_path: Path, files_sha256: str, content: str = "0" * 64, base: str = "https://code.example"
) -> DatasetRecipe:
    path = tmp_path / "rocks.toml"
    path.write_text(RECIPE.format(files=files_sha256, content=content, commit=COMMIT, top=TOP, base=base))
    return read_recipe(str(path))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """An address on loopback, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()
        thread.join()


def make(tmp_path: Path, *more: object) -> tuple[int, str]:
    words = ["dataset", "make", str(tmp_path / "rocks.toml"), *map(str, more)]
    done = CliRunner().invoke(root, words)
    said = done.output if done.exception is None or isinstance(done.exception, SystemExit) else str(done.exception)
    return done.exit_code, said


def test_a_recipe_downloads_verifies_and_builds_the_same_dataset_everywhere(
    tmp_path: Path, served: tuple[str, Path]
) -> None:
    base, folder = served
    files_sha256 = hash_of_files(tmp_path)
    write_archive(folder / f"{COMMIT}.tar.gz", files())
    recipe(tmp_path, files_sha256, base=base)
    code, said = make(tmp_path, "--out", tmp_path / "one", "--workers", 1)
    assert (code, "has the content hash" in said) == (1, True), said
    content = said.split("has the content hash ")[1][:64]
    recipe(tmp_path, files_sha256, content, base)
    shutil.rmtree(folder)  # the archive was kept
    code, said = make(tmp_path, "--out", tmp_path / "one")
    assert (code, said.strip().splitlines()[-1]) == (0, f"rocks@1.0.0#{content[:8]}")
    code, said = make(tmp_path, "--out", tmp_path / "two", "--sources", tmp_path / "first", "--workers", 2)
    assert code == 0, said
    one, two = ((tmp_path / name / "manifest.json").read_bytes() for name in ("one", "two"))
    assert one == two
    dataset = Dataset(tmp_path / "one")
    assert sorted(dataset.splits()) == ["dev", "test"]
    questions = [question for split in dataset.splits() for question in dataset.questions(split)]
    assert {question.lesson for question in questions} == {f"Rocks: {subject.title()}" for subject in SUBJECTS}
    (first,) = (question for question in questions if question.question_id == "rocks-m0-01")
    assert (first.text, first.choices["a"]) == ("What is basalt rock made of?", "basalt crystals")
    best = dataset.hits(first.split)[first.question_id][0]
    assert best.url == f"http://books.example/rocks/blob/{COMMIT}/contents/m0.md/"
    pages = {page.page_id: page for split in dataset.splits() for page in dataset.pages(split).values()}
    assert "What is basalt" not in pages[str(best.page_id)].text
    assert pages[str(best.page_id)].license == "https://creativecommons.org/licenses/by/4.0/"
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    ("content", "top", "said"),
    [
        (files("It changed."), TOP, "have the hash"),
        ({"SUMMARY.md": files()["SUMMARY.md"]}, TOP, "No such file"),
        (files(), "other", "holds no folder"),
        ({"../../outside": b"x", **files()}, TOP, None),
    ],
)
def test_a_source_that_is_not_the_recipes_is_refused(
    tmp_path: Path, content: dict[str, bytes], top: str, said: str | None
) -> None:
    followed = recipe(tmp_path, hash_of_files(tmp_path))
    archives, scratch = tmp_path / "archives", tmp_path / "deep" / "er" / "scratch"
    write_archive(archives / f"{TOP}.tar.gz", content, top)
    if said is None:
        assert len(open_sources(followed, archives, tmp_path / "kept", scratch)) == 1
    else:
        with pytest.raises(DataError, match=said):
            open_sources(followed, archives, tmp_path / "kept", scratch)
    assert not list(tmp_path.rglob("outside"))


def test_a_character_that_xml_forbids_costs_no_module(tmp_path: Path) -> None:
    source = recipe(tmp_path, "0" * 64).source[0]
    (tmp_path / "contents").mkdir()
    read = []
    for character in (b"&#1;", "\u200b".encode()):
        text = files()["contents/m0.md"].replace(b"What is", b"What<sup>2" + character + b"</sup> is")
        (tmp_path / "contents" / "m0.md").write_bytes(text)
        read.append(BookFolder(source, tmp_path).read("m0"))
    assert read[0] == read[1]
    assert read[0].exercises[0].problem == "What^(2) is basalt rock made of?"


def test_a_source_that_is_missing_or_damaged_is_one_clear_error(tmp_path: Path, served: tuple[str, Path]) -> None:
    base, folder = served
    recipe(tmp_path, "0" * 64, base=base)
    code, said = make(tmp_path, "--sources", tmp_path, "--out", tmp_path / "d")
    assert (code, f"download {base}/{COMMIT}.tar.gz to it" in said) == (1, True), said
    code, said = make(tmp_path, "--out", tmp_path / "d")
    assert (code, "answered with status 404" in said) == (1, True), said
    (folder / f"{COMMIT}.tar.gz").write_bytes(b"no archive")
    code, said = make(tmp_path, "--out", tmp_path / "d")
    assert (code, "cannot be unpacked" in said) == (1, True), said
    assert not (tmp_path / "d").exists()


def test_a_recipe_names_a_commit_and_has_no_unknown_key(tmp_path: Path) -> None:
    text = RECIPE.format(files="0" * 64, content="0" * 64, commit=COMMIT, top=TOP, base="https://code.example")
    path = tmp_path / "r.toml"
    for changed in (text.replace(f"{COMMIT}.tar.gz", "main.tar.gz"), text + "colour = 1\n"):
        path.write_text(changed)
        with pytest.raises((ConfigError, FaultsError)):
            read_recipe(str(path))
    with pytest.raises(ConfigError, match="open-textbooks"):
        read_recipe("none")


def test_a_chapter_stays_in_one_split_and_the_share_is_kept() -> None:
    splits = [split_of(f"Book: chapter {number}", Splits(dev=0.25)) for number in range(2_000)]
    assert 0.22 < splits.count("dev") / len(splits) < 0.28
    assert split_of("Book: chapter 1", Splits(dev=1.0)) == "dev"
    assert split_of("Book: chapter 1", Splits(dev=0.0)) == "test"


SHARE = 1 if os.environ.get("EDU_RAG_NIGHTLY") else 5
"""One chapter in so many is read; at night all are, here and by test_open_textbooks_has_the_content_of_its_recipe."""


@pytest.mark.slow
def test_the_sources_of_open_textbooks_are_the_recipes_and_hold_two_thousand_questions(
    shared_data: Path, tmp_path: Path
) -> None:
    assert recipe_names() == ["open-textbooks", "tqa-val"]
    followed = read_recipe("open-textbooks")
    books = open_sources(followed, shared_data / "books", tmp_path / "kept", tmp_path / "unpacked")
    modules = [
        book.read(module_id)
        for book in books
        if book.source.questions
        for chapter in list(book.chapters())[::SHARE]
        for module_id in chapter.module_ids
    ]
    questions = [question_of(exercise) for module in modules for exercise in module.exercises]
    assert sum(isinstance(question, BookQuestion) for question in questions) > 2_100 // SHARE * 0.9
    assert sum(len(chapter.module_ids) for book in books for chapter in book.chapters()) > 1_390


@pytest.mark.nightly
def test_open_textbooks_has_the_content_of_its_recipe(shared_data: Path, tmp_path: Path) -> None:
    words = ["dataset", "make", "open-textbooks", "--sources", str(shared_data / "books"), "--out", str(tmp_path / "d")]
    done = CliRunner().invoke(root, words, env={"TZ": "Asia/Kolkata", **os.environ})
    assert done.exit_code == 0, done.output


QUESTION = {
    "id": "Q1",
    "type": "Multiple Choice",
    "question": "Which rock do rivers carry to the sea as sand and mud?",
    "choices": {"a": "granite", "b": "sediment", "c": "basalt"},
    "answer": "b",
}
SITE_RECIPE = """name = "rivers"
version = "1.0.0"
about = "Rivers."
content_sha256 = "{zeros}"
[build.filter]
min_bytes = 0
leaks = "mask"
[build.label]
evidence = ["answer-string-v1"]
[questions]
archive = "{base}/tqa.zip"
member = "tqa/val/lesson.json"
file = "questions.jsonl"
sha256 = "{questions}"
split = "val"
licence = "CC BY-NC 3.0"
[[site]]
folder = "rivers"
address = "http://rivers.example/book/"
licence = "CC BY 4.0"
source = "code.example/rivers"
files_sha256 = "{site}"
"""
PAGE = (
    "<!doctype html><html lang=en><title>Rivers</title><main><h1>Rivers</h1><p>Rivers carry sediment to the sea as sand"
    " and mud. The rock was broken by frost and rain long before.</p><p>1. {asked}</p><ul><li>granite</li>"
    "<li>sediment</li><li>basalt</li></ul></main></html>"
)


def site_recipe(tmp_path: Path, site: str = "", base: str = "https://code.example", questions: str = "") -> Path:
    """The recipe, and below `data` its question file and its site."""
    data = tmp_path / "data"
    (data / "rivers").mkdir(parents=True, exist_ok=True)
    (data / "rivers" / "index.html").write_text(PAGE.format(asked=QUESTION["question"]))
    (data / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n")
    values = {
        "zeros": "0" * 64,
        "site": site or folder_sha256(data / "rivers"),
        "questions": questions or hashlib.sha256((data / "questions.jsonl").read_bytes()).hexdigest(),
        "base": base,
    }
    path = tmp_path / "rocks.toml"
    path.write_text(SITE_RECIPE.format(**values))
    return data


def test_a_recipe_of_a_question_file_and_sites_masks_the_questions_on_its_pages(tmp_path: Path) -> None:
    data = site_recipe(tmp_path)
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d", "--any-content")
    assert code == 0, said
    dataset = Dataset(tmp_path / "d")
    (page,) = dataset.pages("val").values()
    assert page.url == "http://rivers.example/book/"
    (leak,) = dataset.records("leaks", "val", Leak)
    assert page.text[leak.start : leak.end].strip() == ""
    assert "Which rock" not in page.text
    assert dataset.manifest.sources["leaks_masked"] == 1
    assert not check_folder(tmp_path / "d").faults
    (found,) = dataset.evidence("val")["Q1"]
    assert page.text[found.start : found.end] == "Rivers carry sediment to the sea as sand and mud."


def test_leaking_pages_can_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "data" / "rivers").mkdir(parents=True)
    other = PAGE.format(asked="Rocks weather to sand.").replace("Rivers", "Streams and rivers")
    (tmp_path / "data" / "rivers" / "other.html").write_text(other)
    data = site_recipe(tmp_path)
    path = tmp_path / "rocks.toml"
    path.write_text(path.read_text().replace('leaks = "mask"', 'leaks = "drop"'))
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d", "--any-content")
    assert code == 0, said
    assert sorted(hit.outcome for hit in Dataset(tmp_path / "d").hits("val")["Q1"]) == ["kept", "leak"]


def test_masking_needs_the_labels_of_leaks() -> None:
    with pytest.raises(FaultsError, match="set \\[label\\] leaks = true"):
        to_config({"filter": {"leaks": "mask"}, "label": {"leaks": False}}, "build.toml")


def test_questions_come_from_the_archive_of_the_nested_form(
    tmp_path: Path, served: tuple[str, Path], shared_data: Path
) -> None:
    base, folder = served
    data = site_recipe(tmp_path, base=base)
    (data / "questions.jsonl").unlink()
    with zipfile.ZipFile(folder / "tqa.zip", "w") as archive:
        archive.write(shared_data / "tqa" / "lesson_sample.json", "tqa/val/lesson.json")
    questions = read_recipe(str(tmp_path / "rocks.toml")).questions
    assert questions is not None
    path = open_questions(questions, None, tmp_path / "kept", tmp_path / "scratch")
    assert path.read_bytes() == (shared_data / "tqa" / "lesson_sample.json").read_bytes()
    shutil.copy(folder / "tqa.zip", data)
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d", "--any-content")
    assert code == 0, said
    assert len(Dataset(tmp_path / "d").questions("val")) == 24


def test_a_site_or_question_file_that_is_missing_or_changed_is_one_clear_error(
    tmp_path: Path, served: tuple[str, Path]
) -> None:
    base, folder = served
    data = site_recipe(tmp_path, site="0" * 64, base=base)
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d")
    assert (code, "the source has changed" in said) == (1, True), said
    site_recipe(tmp_path, questions="0" * 64, base=base)
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d")
    assert (code, "questions.jsonl" in said, "the recipe says 0000" in said) == (1, True, True), said
    site_recipe(tmp_path, base=base)
    (data / "questions.jsonl").unlink()
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d")
    assert (code, f"download {base}/tqa.zip into that folder" in said) == (1, True), said
    (folder / "tqa.zip").write_bytes(b"no archive")
    code, said = make(tmp_path, "--out", tmp_path / "d")
    assert (code, "cannot be unpacked" in said) == (1, True), said
    with zipfile.ZipFile(folder / "tqa.zip", "w") as archive:
        archive.writestr("other.json", "{}")
    shutil.rmtree(tmp_path / "d.archives")
    code, said = make(tmp_path, "--out", tmp_path / "d")
    assert (code, "holds no 'tqa/val/lesson.json'" in said) == (1, True), said
    site_recipe(tmp_path, base=base)
    shutil.rmtree(data / "rivers")
    code, said = make(tmp_path, "--sources", data, "--out", tmp_path / "d")
    assert (code, "give the folder that has them with --sources" in said) == (1, True), said
    assert not (tmp_path / "d").exists()


def test_the_home_page_of_a_question_is_evidence_of_its_own_kind(tmp_path: Path) -> None:
    files_sha256 = hash_of_files(tmp_path)
    recipe(tmp_path, files_sha256)
    path = tmp_path / "rocks.toml"
    path.write_text(path.read_text() + '[build.label]\nevidence = ["answer-string-v1", "home-page-v1"]\n')
    code, said = make(tmp_path, "--sources", tmp_path / "first", "--out", tmp_path / "d", "--any-content")
    assert code == 0, said
    dataset = Dataset(tmp_path / "d")
    n = 0
    for split in dataset.splits():
        support, pages = read_support(dataset, split), dataset.pages(split)
        for gold in dataset.records("gold", split, Gold):
            home = support.home_pages[gold.question_id]
            assert home == gold.home_page
            assert pages[home].url.endswith(f"/{gold.question_id.split('-')[1]}.md/")
            n += 1
        rows = [one for one in dataset.records("evidence", split, Evidence) if one.method == HOME_PAGE]
        assert [(one.start, one.end) for one in rows] == [(0, len(pages[one.page_id].text)) for one in rows]
        assert all(one.method != HOME_PAGE for found in dataset.evidence(split).values() for one in found)
    assert n == len(SUBJECTS) == dataset.manifest.sources["questions_with_home_page"]


@pytest.mark.slow
def test_the_sources_of_tqa_val_are_the_recipes(shared_data: Path, tmp_path: Path) -> None:
    followed = read_recipe("tqa-val")
    assert followed.questions is not None
    path = open_questions(followed.questions, shared_data, tmp_path, tmp_path)
    assert sum(1 for _ in path.open(encoding="utf-8")) == 2_524
    copy_sites(followed.site, shared_data, tmp_path / "sites")
    assert len(followed.site) == 14
    assert sum(1 for _ in (tmp_path / "sites").rglob("*.htm*")) > 3_200
