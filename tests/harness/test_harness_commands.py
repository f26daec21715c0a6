from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edu_rag.__main__ import COMMANDS, main
from edu_rag.errors import EduRagError
from edu_rag.files.dataset import Dataset
from edu_rag.records import Question
from edu_rag.scorecard.results_folder import read_scorecard, write_scorecard

pytestmark = pytest.mark.usefixtures("sandbox_here")

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("check", "run", "score", "compare", "explain")
SYSTEM = """
from edu_rag.serve import SystemAnswer, serve
def answer(question):
    return SystemAnswer(answer="b", passages=[(page.page_id, *page.sentences[0]) for page in question.pages])
serve(answer)
"""


def call(name: str, *words: object) -> Result:
    command = getattr(importlib.import_module(COMMANDS[name].module), name)
    result = CliRunner().invoke(command, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, EduRagError | SystemExit):
        raise result.exception
    return result


def program(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edu_rag", *map(str, words)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def in_process(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Main:
    """Runs a command line in this process, which saves the start of one; its exit code, stdout and stderr."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # main() sets it: after the test it is as it was

    def run(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert isinstance(ended.value.code, int)
        return ended.value.code, *capfd.readouterr()

    return run


@pytest.fixture
def oracle(gold: dict[str, str], write_answers: Callable[..., Path]) -> Path:
    return write_answers(gold, "oracle.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_an_example(name: str) -> None:
    text = call(name, "--help").output
    assert "Example:" in text
    assert f"edu-rag {name} demo/" in text


def test_run_and_check_warn_when_most_answers_name_no_single_choice(
    tiny: Dataset, write_system: Callable[..., Path]
) -> None:
    unclear = 'answer="b" if question.text.endswith("0?") else "either a or b"'
    folder = write_system(SYSTEM.replace('answer="b"', unclear))
    words = (folder, "--dataset", tiny.folder)
    done = call("run", *words)
    for said in (done.stderr, call("check", *words).stderr):
        assert "unparseable 36 of 40: most answers name no single choice: answer with the label alone" in said
    folder = write_system(SYSTEM, slug="other-system")
    assert "WARNING" not in call("run", folder, *words[1:]).stderr


def test_the_life_of_a_submission_from_check_to_explain(
    tiny: Dataset, write_system: Callable[..., Path], oracle: Path, tmp_path: Path
) -> None:
    folder = write_system(SYSTEM)
    assert call("check", folder).exit_code == 0
    path = tmp_path / "submissions" / "test-system" / "predictions" / "tiny-1.0.0" / "test.jsonl"
    assert call("run", folder, "--dataset", tiny.folder).stdout.strip() == str(path)
    assert "40 of 40 questions: choice 40" in call("check", folder, "--dataset", tiny.folder).output
    scored = call("score", folder, "--dataset", tiny.folder, "--out", tmp_path / "results")
    assert "score" in scored.stdout
    assert "95 % interval" in scored.stdout
    card = tmp_path / "results" / "tiny-1.0.0" / "test" / "test-system" / "scorecard.json"
    assert json.loads(card.read_text())["cost"]["latency_s"]["source"] == "measured"
    explained = call("explain", folder, "q001", "--dataset", tiny.folder).output
    assert "* >>Cells divide by mitosis.<<" in explained
    assert "http://site0.example/page [0:24]" in explained
    assert "verdict    correct (+1): label b" in explained
    compared = call("compare", folder, oracle, "--dataset", tiny.folder).output
    assert "exact McNemar" in compared
    assert "Question number 0?" in compared


def test_json_prints_the_scorecard_with_the_rates_at_the_top(tiny: Dataset, oracle: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    result = call("score", oracle, "--dataset", tiny.folder, "--json", "--verdicts", verdicts)
    values = json.loads(result.stdout)
    assert [values[name] for name in ("score", "accuracy", "hallucination", "missing", "n")] == [1.0, 1.0, 0.0, 0.0, 40]
    assert values["counts"]["correct"] == 40
    assert values["rates"]["score"] == 1.0
    lines = [json.loads(line) for line in verdicts.read_text().splitlines()]
    assert [set(line) for line in lines] == [{"question_id", "outcome", "reason"}] * 40
    assert [line["question_id"] for line in lines] == sorted(line["question_id"] for line in lines)


def test_score_honours_source_date_epoch_and_its_output_does_not_depend_on_the_place(
    tiny: Dataset, oracle: Path
) -> None:
    settings = [
        {"SOURCE_DATE_EPOCH": "0", "PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
        {"SOURCE_DATE_EPOCH": "0", "PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
    ]
    first, second = (program("score", oracle, "--dataset", tiny.folder, "--json", **setting) for setting in settings)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["scored_at"] == "1970-01-01T00:00:00Z"


def test_user_errors_are_one_line_on_stderr_with_exit_code_1(
    tiny: Dataset, oracle: Path, write_lines: Callable[..., Path], tmp_path: Path, in_process: Main
) -> None:
    double = write_lines([{"question_id": "q000", "answer": "a"}] * 2, "double.jsonl")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    table, run = tmp_path / "a.csv", tmp_path / "b.trec"
    table.write_text("id,answer\nq001,b\n")
    run.write_text("q001 Q0 p1 1 0.5 x\n")
    foreign = write_lines([{"id": "q000", "answer": "a"}], "foreign.jsonl")
    for words, what in [
        (("score", double, "--dataset", tiny.folder), f"{double}:2: question_id: 'q000' is repeated"),
        (("score", double, "--dataset", tiny.folder), f"`edu-rag check {double} --dataset DIR` lists all"),
        (("score", tmp_path / "none.jsonl", "--dataset", tiny.folder), "no such file or folder"),
        (("check", tmp_path / "none"), "no such file or folder"),
        (("check", tmp_path / "pipe"), "is not a regular file: save the predictions to a file"),
        (
            ("score", run, "--dataset", tiny.folder),
            f"is a retrieval run, which ranks pages: `edu-rag score --run {run}`",
        ),
        (("score", table, "--dataset", tiny.folder), "does not begin like JSON lines: `edu-rag import FILE"),
        (("explain", foreign, "q000", "--dataset", tiny.folder), "has no question_id on its first line: `edu-rag"),
        (("compare", tmp_path / "none.json", oracle), "no such file or folder"),
        (("score", oracle, "--dataset", tmp_path / "empty"), "manifest.json"),
        (("score", oracle, "--dataset", tiny.folder, "--split", "val"), "choose --split from test"),
        (("score", oracle, "--dataset", tiny.folder, "--sample", "99"), "ask for fewer"),
        (("explain", oracle, "q999", "--dataset", tiny.folder), "no question 'q999'"),
    ]:
        code, out, err = in_process(*words)
        assert (code, out) == (1, ""), words
        assert what in err
        *before, _ = err.strip().splitlines()
        asked = f"{words[2]} of {words[1]}" if words[0] == "explain" else f"{words[1]}"
        begun = (f"{words[0]} {asked} on {tiny.id}, split test", "compare 2 systems")
        assert not before or (len(before) == 1 and before[0] in begun)
    assert in_process("score", oracle)[0] == 2
    code, _, err = in_process("score", oracle, "--dataset", tiny.folder, "--sample", "10000000")
    assert (code, "1<=x<=9999999" in err) == (2, True)


def test_check_lists_every_fault_and_exits_1(tiny: Dataset, write_lines: Callable[..., Path]) -> None:
    path = write_lines([{"question_id": "x", "answer": "a"}, {"question_id": "q000"}, "{\n"])
    done = program("check", path, "--dataset", tiny.folder)
    assert done.returncode == 1
    assert [line.split(": ")[0] for line in done.stderr.splitlines()] == [f"{path}:{n}" for n in (1, 2, 3)]


def test_check_shows_how_odd_answers_read_without_looking_at_gold(
    tiny: Dataset, write_answers: Callable[..., Path]
) -> None:
    path = write_answers({"q001": "b", "q002": "a or b", "q003": "I don't know"})
    output = call("check", path, "--dataset", tiny.folder).output
    assert "3 of 40 questions: abstained 1, choice 1, no line 37, unparseable 1" in output
    assert "q002: 'a or b': names more than one choice" in output
    assert "correct" not in output
    assert "and 0 more" not in output
    path = write_answers({f"q{i:03}": "a or b" for i in range(10)})
    assert call("check", path, "--dataset", tiny.folder).output.endswith("  … and 7 more\n")


def test_check_shows_how_answers_read_next_to_faults_of_the_settings(
    tiny: Dataset, write_system: Callable[..., Path]
) -> None:
    folder = write_system("", extra='contact = "someone@example.org"\n')
    path = folder / "predictions" / "tiny-1.0.0" / "test.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"question_id": "q001", "answer": "b"}\n')
    done = call("check", folder, "--dataset", tiny.folder)
    assert isinstance(done.exception, EduRagError)
    assert "1 of 40 questions: choice 1, no line 39" in done.output


def test_check_says_which_dataset_the_predictions_are_for(tiny: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "my-system"
    (folder / "predictions" / "other-1.0.0").mkdir(parents=True)
    (folder / "submission.toml").write_text('name = "x"\nteam = "y"\n')
    (folder / "predictions" / "other-1.0.0" / "test.jsonl").write_text("")
    result = call("check", folder, "--dataset", tiny.folder)
    assert "has no predictions for tiny-1.0.0 (it has: other-1.0.0)" in str(result.exception)


def test_scorecards_alone_can_be_compared(
    tiny: Dataset, oracle: Path, write_answers: Callable[..., Path], gold: dict[str, str], tmp_path: Path
) -> None:
    results = tmp_path / "results"
    other = write_answers(gold | {"q003": "e", "q004": None}, "other.jsonl")
    for path in (oracle, other):
        assert call("score", path, "--dataset", tiny.folder, "--out", results).exit_code == 0
    cards = [results / "tiny-1.0.0" / "test" / slug / "scorecard.json" for slug in ("oracle", "other")]
    found = json.loads(call("compare", *cards, "--json").stdout)
    wrong = 1 if gold["q003"] != "e" else 0
    assert (found["n"], found["only_first"][-1], found["only_second"]) == (40, "#5", [])
    assert found["score_difference"] == pytest.approx((2 * wrong + 1) / 40)
    lines = call("compare", *cards).output.splitlines()
    assert lines[-1] == "#17 is the 17th question in order of id; --dataset names them"
    assert any("the sign-flip test on the score decides" in line for line in lines)
    assert "--dataset names" not in call("compare", *cards, "--dataset", tiny.folder).output
    with_ids = json.loads(call("compare", cards[0].parent, cards[1], "--dataset", tiny.folder, "--json").stdout)
    assert with_ids["only_first"][-1] == "q004"


def test_results_on_different_questions_are_not_compared(tiny: Dataset, oracle: Path, tmp_path: Path) -> None:
    for extra in ((), ("--sample", "8")):
        call("score", oracle, "--dataset", tiny.folder, "--out", tmp_path / "results", *extra)
    cards = sorted((tmp_path / "results").rglob("scorecard.json"))
    assert len(cards) == 2
    assert "sample differs" in str(call("compare", *cards).exception)


def test_scorecards_of_different_length_are_one_line(
    tiny: Dataset, oracle: Path, gold: dict[str, str], tmp_path: Path
) -> None:
    call("score", oracle, "--dataset", tiny.folder, "--out", tmp_path / "results")
    whole = next((tmp_path / "results").rglob("scorecard.json"))
    card = read_scorecard(whole)
    short = replace(card, counts=replace(card.counts, correct=39), outcomes=card.outcomes[1:], slices=(), lessons=())
    write_scorecard(tmp_path / "short.json", short)
    for other, extra in ((whole, ()), (tmp_path / "short.json", ("--dataset", tiny.folder))):
        result = call("compare", tmp_path / "short.json", other, *extra)
        assert "number of questions differs: 39 and 40" in str(result.exception)


def test_predictions_without_a_dataset_cannot_be_compared(oracle: Path) -> None:
    assert "give --dataset" in str(call("compare", oracle, oracle).exception)


def test_explain_shows_failures_missing_pages_and_uncited_evidence(
    tiny: Dataset, write_lines: Callable[..., Path]
) -> None:
    evidence = tiny.evidence("test")
    question_id = min(evidence)
    path = write_lines(
        [
            {
                "question_id": question_id,
                "answer": "x\u001b[31m",
                "response": "because \u001b]0;title\u0007",
                "passages": [["p0", 0, 9], [evidence[question_id][0].page_id, 60, 9999]],
            },
            {"question_id": "q039", "answer": None, "status": "timeout"},
        ]
    )
    text = call("explain", path, question_id, "--dataset", tiny.folder).output
    assert "the dataset has no such page" in text
    assert "outside the page" in text
    assert "not cited  1 place(s)" in text
    assert "\x1b" not in text
    outside = call("explain", path, "q038", "--dataset", tiny.folder, "--sample", "2")
    assert "q038: is not in the sample stratified-2-seed-0" in str(outside.exception)
    assert "ran out of time" in call("explain", path, "q039", "--dataset", tiny.folder).output
    values = json.loads(call("explain", path, "q038", "--dataset", tiny.folder, "--json").stdout)
    assert (values["verdict"]["outcome"], values["prediction"]) == ("failed", None)


def test_a_split_whose_gold_is_hidden_is_one_line_in_score_and_explain(
    build_dataset: Callable[..., Dataset], questions: list[Question], oracle: Path, tmp_path: Path
) -> None:
    hidden = build_dataset(tmp_path / "hidden", questions, {})
    for words in (("score", oracle), ("explain", oracle, "q003")):
        said = str(call(*words, "--dataset", hidden.folder).exception)
        assert said.startswith(
            f"{hidden.folder / 'gold'}: question q000 has no gold, and neither has any other: the split is hidden"
        )
        assert said.endswith(": send the predictions to the dataset's keepers, who have the gold")


def test_help_and_check_import_nothing_heavy(oracle: Path) -> None:
    code = (
        "import sys; from edu_rag.__main__ import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pyarrow', 'torch', 'scipy', 'aiohttp', 'requests'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    for words in (["score", "--help"], ["check", str(oracle)]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
