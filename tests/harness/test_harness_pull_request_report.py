"""The report on a pull request: strangers' words are words in it, whatever they hold, and it stays small."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pull_request_trees import ECHO, hand_in, judged, settings, write_base

from edu_rag.__main__ import root
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from harness.pulls.changed_files import Change
from harness.pulls.markdown import cell, code, table, within
from harness.pulls.review_records import Review, review_values
from harness.pulls.review_report import ARTIFACT, MAX_BYTES, MAX_FAULTS, report

pytestmark = pytest.mark.usefixtures("read_in_this_process")

HOSTILE = (
    "<script>alert(1)</script> @octocat [x](https://evil.example) ![i](https://evil.example/i.png) `code` ``x`` "
    "| cell | \n::error::boom\n##[add-mask]x https://evil.example #1 :tada: \u202e\u2066 \x1b[31m $`x`$ \\"
)
_SPAN = re.compile(r"`[^`\n]*`")


def outside_of_code(text: str) -> str:
    """What is left for a Markdown reader to take for markup: no code blocks, no code spans."""
    parts = text.split("```")
    return _SPAN.sub("", "".join(parts[::2]))


@given(st.text(max_size=400))
def test_words_are_one_code_span_on_one_line(words: str):
    shown = code(words)
    assert "\n" not in shown
    assert outside_of_code(shown) in ("", "(nothing)")
    assert "::" not in shown
    assert "##[" not in shown


@given(st.text(max_size=200))
def test_words_in_a_cell_do_not_end_it(words: str):
    assert len(re.findall(r"(?<!\\)\|", table(["a", "b"], [[cell(words), cell(words)]])[2])) == 3


@pytest.mark.parametrize("fragment", ["<script", "@octocat", "](", "https://", "#1", ":tada:", "\x1b", "\u202e"])
def test_nothing_hostile_is_markup_in_a_refusal(fragment: str):
    faults = (EduRagError(HOSTILE, HOSTILE, HOSTILE),)
    text = report(Review(faults=faults, warnings=(HOSTILE,), notes=(HOSTILE,)))
    assert fragment not in outside_of_code(text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("fragment", ["<script", "@octocat", "](", "https://", ":tada:"])
def test_nothing_hostile_is_markup_in_an_accepted_one(
    fragment: str, tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    words = "<script> @octocat [x](https://e.example) ![i](y) :tada: | `q`"
    hand_in(head, "new-one", gold, settings(words, words))
    found = judged(base, head, tiny)
    assert found.accepted
    assert found.results
    assert fragment not in outside_of_code(report(found))


def test_a_flood_of_faults_is_cut_and_counted():
    faults = tuple(EduRagError(f"file{i}" * 200, "x" * 5000, "y" * 5000) for i in range(5000))
    text = report(Review(faults=faults))
    assert len(text.encode()) <= MAX_BYTES
    assert f"and {5000 - MAX_FAULTS:,} more" in text


@given(st.text(min_size=0, max_size=3000), st.integers(300, 2000))
def test_a_cut_text_is_small_and_leaves_no_code_block_open(text: str, n_bytes: int):
    cut = within(f"```text\n{text.replace('`', '')}\n```\n", n_bytes)
    assert len(cut.encode()) <= n_bytes
    assert cut.count("```") % 2 == 0


def test_no_question_and_no_gold_stands_in_report_or_json(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", gold, settings("New team"))
    found = judged(base, head, tiny)
    told = report(found) + json.dumps(review_values(found))
    assert "Question number" not in told
    assert not re.search(r"\bq0\d\d\b", told)
    card = found.results[0].card
    assert card.outcomes not in told


def test_better_is_never_said_where_it_is_not_established(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    near = {i: gold[i] if n % 2 or n == 0 else None for n, i in enumerate(sorted(gold))}
    hand_in(head, "new-one", near, settings("New team"))
    text = report(judged(base, head, tiny))
    row = next(line for line in text.splitlines() if "best baseline" in line)
    assert "not established" in row
    assert "higher" not in row
    assert "better" not in row


def test_the_command_writes_the_report_and_exits_1_where_refused(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", gold, settings("New team"))
    words = [
        "pr",
        "--base",
        base,
        "--head",
        head,
        "--dataset",
        tiny.folder,
        "--author",
        "me",
        "--report",
        tmp_path / "r.md",
        "--json",
        tmp_path / "r.json",
        "--run",
        "never",
    ]
    done = CliRunner().invoke(root, list(map(str, words)), standalone_mode=False)
    assert done.exception is None
    assert done.output.rstrip() == (tmp_path / "r.md").read_text().rstrip()
    values = json.loads((tmp_path / "r.json").read_text())
    assert values["accepted"]
    assert values["tables"][0]["rates"]["score"] == 1.0
    (head / "harness" / "conftest.py").write_text("")
    refused = CliRunner().invoke(root, list(map(str, words)))
    assert refused.exit_code == 1
    assert "harness/conftest.py" in (tmp_path / "r.md").read_text()
    assert not json.loads((tmp_path / "r.json").read_text())["accepted"]


def test_a_system_is_run_over_the_first_table_that_it_has_no_predictions_for(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", None, settings("New team", command=["python", "system.py"]), code=ECHO)
    found = judged(base, head, tiny, choice="always", keep=tmp_path / "kept")
    assert [(one.table.name, one.asked.n if one.asked else 0) for one in found.results] == [("test", len(gold))]
    assert found.results[0].card.counts.failed == 0
    assert "were made here, in the sandbox" in report(found)
    kept = tmp_path / "kept" / "submissions" / "new-one" / "predictions" / "tiny-1.0.0" / "test.jsonl"
    assert len(kept.read_text().splitlines()) == len(gold)


def test_a_re_run_counts_the_answers_that_are_the_same(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    toml = settings("New team", command=["python", "system.py"])
    hand_in(head, "new-one", dict.fromkeys(gold, "b"), toml, code=ECHO)  # it says a to every question
    found = judged(base, head, tiny, choice="always", n_again=5)
    asked = found.results[0].asked
    assert asked is not None
    assert (asked.n, asked.n_same, asked.is_rerun) == (5, 0, True)
    assert asked.caps["sandbox"] == "bubblewrap"
    assert "0 of 5 questions that were asked again" in report(found)


def test_a_system_that_never_answers_is_told_with_its_own_words(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    toml = settings("New team", command=["python", "system.py"])
    hand_in(head, "new-one", None, toml, code="raise SystemExit('::error:: no model here')")
    found = judged(base, head, tiny, choice="always")
    assert not found.accepted
    assert "not a single question was answered" in report(found)
    assert "edu-rag-pr-" not in report(found)
    assert not any(line.lstrip().startswith("::") for line in report(found).splitlines())
    hand_in(head, "new-one", None, toml, code="import no_such_package")
    assert "docs/submit.md says which CI has" in report(judged(base, head, tiny, choice="always"))
    hand_in(head, "new-one", gold, toml)
    again = judged(base, head, tiny, choice="always", n_again=3)
    assert again.accepted
    assert "0 of 3 questions" in report(again)
    assert "The system said" in report(again)
    assert any("only 0 of 3" in warning for warning in again.results[0].warnings)


def test_a_run_ends_when_its_time_is_over(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", None, settings("New team", command=["python", "system.py"]), code=ECHO)
    ticks = iter(range(0, 10_000_000, 1_000))
    found = judged(base, head, tiny, choice="always", budget_s=5_000.0, monotonic=lambda: float(next(ticks)))
    assert not found.accepted
    assert "before 40 questions were asked" in "\n".join(map(str, found.faults))


def test_the_sample_of_a_re_run_is_drawn_by_the_job_and_can_be_asked_for_again(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", gold, settings("New team", command=["python", "system.py"]), code=ECHO)
    drawn = [judged(base, head, tiny, choice="always", n_again=5) for _ in range(2)]
    seeds = [found.results[0].asked.seed for found in drawn if found.results[0].asked]
    assert len(set(seeds)) == 2, "one that comes from the predictions is the same twice, and can be ground"
    assert f"`--sample 5 --seed {seeds[0]}`" in report(drawn[0])
    again = judged(base, head, tiny, choice="always", n_again=5, new_seed=lambda: seeds[0]).results[0].asked
    first = drawn[0].results[0].asked
    assert again is not None
    assert first is not None
    assert (again.seed, again.n_same) == (seeds[0], first.n_same)


def test_the_command_repeats_a_sample_by_its_seed(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", gold, settings("New team", command=["python", "system.py"]), code=ECHO)
    words = [
        "pr",
        "--base",
        base,
        "--head",
        head,
        "--author",
        "me",
        "--dataset",
        tiny.folder,
        "--run",
        "always",
        "--rerun-sample",
        3,
        "--rerun-seed",
        7,
    ]
    done = CliRunner().invoke(root, list(map(str, words)))
    assert done.exit_code == 0
    assert "`--sample 3 --seed 7`" in done.stdout


def test_an_answer_that_fails_twice_is_not_the_same_answer(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    broken = "import sys\nfor line in sys.stdin:\n    print('{}', flush=True)\n"
    toml = settings("New team", command=["python", "system.py"])
    hand_in(head, "new-one", {next(iter(gold)): "a"}, toml, code=broken)  # all the others failed when it was handed in
    first = judged(base, head, tiny, choice="always", n_again=6).results[0]
    assert first.asked is not None
    assert (first.asked.n, first.asked.n_same) == (6, 0)


def test_predictions_that_were_made_here_are_committed_next_and_then_held_against_a_re_run(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", None, settings("New team", command=["python", "system.py"]), code=ECHO)
    first = judged(base, head, tiny, choice="always", keep=tmp_path / "made")
    told = report(first)
    assert "**One step is left for its team" in told
    for name in first.kept:
        assert f"- `{name}`" in told
        assert (tmp_path / "made" / name).is_file()
    assert [name.rpartition("/")[2] for name in first.kept] == ["test.jsonl", "test.run.json"]
    shutil.copytree(tmp_path / "made", head, dirs_exist_ok=True)  # what unpacking the artifact does
    second = judged(base, head, tiny, choice="always", keep=tmp_path / "again", n_again=10)
    assert second.accepted
    assert second.kept == ()
    assert not (tmp_path / "again").exists()
    assert "10 of 10 questions that were asked again in the sandbox got the same answer" in report(second)
    assert "One step is left" not in report(second)
    assert second.results[0].card.outcomes == first.results[0].card.outcomes


def test_without_a_place_to_keep_them_the_team_is_told_to_make_them(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    hand_in(head, "new-one", None, settings("New team", command=["python", "system.py"]), code=ECHO)
    told = report(judged(base, head, tiny, choice="always"))
    assert "make them by `edu-rag run` on your own machine" in told
    assert "artifact" not in told


def test_the_artifact_has_the_name_that_the_workflow_gives_it():
    text = (Path(__file__).parents[2] / ".github" / "workflows" / "submission.yml").read_text(encoding="utf-8")
    assert f"          name: {ARTIFACT}\n" in text


def test_a_refusal_begins_with_what_a_stranger_understands(tmp_path: Path, tiny: Dataset, gold: dict[str, str]):
    base, head = write_base(tmp_path, tiny, gold)
    (head / "README.md").write_text("x")
    title, _, first = report(judged(base, head, tiny)).splitlines()[:3]
    assert title == "## Refused"
    assert first.startswith("This pull request cannot be merged as it is: 1 thing has to be fixed.")


def test_a_withdrawal_says_what_changes_on_the_board_and_nothing_of_the_check(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    path = head / "submissions" / "theirs-one" / "submission.toml"
    path.write_text(f'withdrawn = "a *fault* in our code"\n{path.read_text()}')
    found = judged(base, head, tiny, author="them")
    told = report(found)
    assert found.accepted
    assert (found.notes, found.warnings, found.rows) == ((), (), (f"{tiny.id}, test",))
    assert "struck through and marked as withdrawn with your reason: `a *fault* in our code`" in told
    assert f"- `{tiny.id}, test`" in told
    assert "Scores and ranks stay as they are" in told
    assert "### Notes" not in told
    assert "What the team declares" not in told


def test_a_system_can_be_withdrawn_though_its_old_files_would_not_be_taken_today(
    tmp_path: Path, tiny: Dataset, gold: dict[str, str]
):
    base, head = write_base(tmp_path, tiny, gold)
    for tree in (base, head):
        next((tree / "submissions" / "theirs-one" / "predictions").rglob("test.jsonl")).write_text("no line of JSON\n")
    path = head / "submissions" / "theirs-one" / "submission.toml"
    path.write_text(f'withdrawn = "a fault"\n{path.read_text()}')
    assert judged(base, head, tiny, author="them").accepted


def test_withdrawals_say_that_the_row_stays():
    change = Change(slug="new-one", kind="withdrawal", files=())
    assert "rows stay on the board" in report(Review(change=change))
