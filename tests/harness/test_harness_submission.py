from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.errors import ConfigError, EduRagError, FaultsError, SubmissionError
from edu_rag.files.dataset import Dataset
from edu_rag.files.manifest import Manifest
from harness.check import check_submission
from harness.plain import tree_faults
from harness.slugs import is_slug
from harness.submission import all_faults, find_predictions, open_submission, submission_of
from harness.target import anonymous, find_target


def put(folder: Path, name: str, text: str = "") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def manifest(version: str) -> Manifest:
    return Manifest(
        name="tiny",
        version=version,
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0",
        content_sha256="0" * 64,
    )


def test_settings_become_the_facts_of_the_scorecard(write_system: Callable[..., Path]) -> None:
    extra = 'models = ["m"]\nlinks = ["https://x.example"]\nblind = true\n[limits]\ntime_s = 2\n'
    submission = open_submission(write_system("", extra=extra))
    facts = submission.facts
    assert (facts.slug, facts.name, facts.team, facts.models) == ("test-system", "Test system", "us", ("m",))
    assert (facts.blind, facts.runnable) == (True, True)
    assert (submission.settings.limits.time_s, submission.settings.limits.start_s) == (2.0, 300.0)


def test_all_faults_of_the_settings_are_reported_at_once(write_system: Callable[..., Path]) -> None:
    folder = write_system("", extra='nmae = "x"\nlinks = "y"\n')
    with pytest.raises(FaultsError) as error:
        open_submission(folder)
    assert len(error.value.faults) == 2
    assert "did you mean 'name'" in str(error.value)


def test_faults_of_name_team_contact_and_limits_come_at_once(tmp_path: Path) -> None:
    text = f'name = ""\nteam = "{"x" * 81}"\ncontact = "{"x" * 201}"\n[limits]\ntime_s = 0\n'
    put(tmp_path, "my-system/submission.toml", text)
    with pytest.raises(FaultsError) as error:
        open_submission(tmp_path / "my-system")
    fields = [fault.where.rpartition(": ")[2] for fault in error.value.faults]
    assert fields == ["name", "team", "contact", "limits.time_s"]


@pytest.mark.parametrize(
    "extra",
    [
        'links = ["javascript:alert(1)"]\n',
        "[limits]\ntime_s = 0\n",
        "[limits]\nstart_s = 1e9\n",
        'contact = "' + "x" * 300 + '"\n',
        "[limits]\ntime_s = nan\n",
        'tqa_overlap = "' + "x" * 2_001 + '"\n',
        f"models = {['m'] * 51}\n",
        f"models = ['{'m' * 501}']\n",
    ],
)
def test_settings_that_mean_nothing_are_refused(write_system: Callable[..., Path], extra: str) -> None:
    with pytest.raises((FaultsError, ConfigError)):
        open_submission(write_system("", extra=extra))


@pytest.mark.parametrize(
    "name", ["\u3164", "\u2800 \u3164", "\u0334" * 80, " \u0301", "a" + "\u0301" * 79, "x\u202ey", "\u200d"]
)
def test_a_name_that_nobody_sees_or_that_is_drawn_over_its_neighbours_is_refused(tmp_path: Path, name: str) -> None:
    for about, fields in {"name": (name, "T"), "team": ("N", name)}.items():
        put(tmp_path, "my-system/submission.toml", 'name = "{}"\nteam = "{}"\n'.format(*fields))
        with pytest.raises(FaultsError, match=rf"submission\.toml:\d: {about}: (is blank|piles up marks)"):
            open_submission(tmp_path / "my-system")


@pytest.mark.parametrize(
    "name", ["Đại học Huế", "ปริญญ์ที่สุด", "विद्यार्थी", "שָׁלוֹם", "བསྒྲུབས", "Z\u030c\u0301ak", "C++ ∑", "★"]
)
def test_names_of_every_script_are_taken(tmp_path: Path, name: str) -> None:
    put(tmp_path, "my-system/submission.toml", f'name = "{name}"\nteam = "{name}"\n')
    assert open_submission(tmp_path / "my-system").facts.name == name


@pytest.mark.parametrize(
    ("name", "good"),
    [("bm25", True), ("ab", False), ("A-b-c", False), ("a" * 41, False), ("a_b", False), ("abc\n", False)],
)
def test_a_slug_is_three_to_forty_small_letters_digits_and_dashes(name: str, good: bool) -> None:
    assert is_slug(name) is good


def test_a_folder_without_settings_or_with_another_name_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "my-system").mkdir()
    put(tmp_path / "Bad Name", "submission.toml")
    for name, what in (("my-system", "no submission.toml"), ("Bad Name", "rename"), ("absent", "no such folder")):
        with pytest.raises(SubmissionError, match=what) as error:
            open_submission(tmp_path / name)
        assert "\n" not in str(error.value)


def test_links_and_odd_names_are_faults_and_links_are_not_followed(
    write_system: Callable[..., Path], tmp_path: Path
) -> None:
    folder = write_system("")
    put(tmp_path, "outside/secret name")
    (folder / "link").symlink_to(tmp_path / "outside")
    put(folder, "odd name")
    put(folder, "-rf")
    os.mkfifo(folder / "pipe")
    shown = [str(fault) for fault in tree_faults(folder)]
    assert len(shown) == 4
    assert not any("secret" in line for line in shown)


def test_a_linked_settings_or_predictions_file_is_refused(write_system: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_system("")
    secret = put(tmp_path, "gold.jsonl")
    (folder / "predictions" / "tiny-1.0.0").mkdir(parents=True)
    (folder / "predictions" / "tiny-1.0.0" / "test.jsonl").symlink_to(secret)
    with pytest.raises(SubmissionError, match="link"):
        find_predictions(open_submission(folder), "tiny-1.0.0", "test", None)
    (folder / "submission.toml").unlink()
    (folder / "submission.toml").symlink_to(secret)
    with pytest.raises(SubmissionError):
        open_submission(folder)


def test_check_reads_nothing_through_a_link(write_system: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_system("")
    os.mkfifo(tmp_path / "endless")
    (folder / "predictions" / "tiny-1.0.0").mkdir(parents=True)
    (folder / "predictions" / "tiny-1.0.0" / "test.jsonl").symlink_to(tmp_path / "endless")
    (folder / "predictions" / "tiny-2.0.0").symlink_to(tmp_path)
    put(tmp_path, "secret.jsonl", "a secret line\n")
    faults = sorted(str(fault) for fault in check_submission(folder, None).faults)
    assert [fault.partition(":")[2] for fault in faults] == [" is a link: put the file itself there"] * 2


def test_a_sample_s_file_is_not_scored_as_the_whole_split(write_system: Callable[..., Path]) -> None:
    file = put(write_system(""), "predictions/tiny-1.0.0/test-stratified-5-seed-0.jsonl")
    assert find_target(file, manifest("1.0.0"), "test", "stratified-5-seed-0").path == file
    for sample in (None, "stratified-6-seed-0"):
        with pytest.raises(SubmissionError, match="are for the sample stratified-5-seed-0"):
            find_target(file, manifest("1.0.0"), "test", sample)


def test_predictions_for_another_version_are_one_line_that_says_what_there_is(
    write_system: Callable[..., Path],
) -> None:
    folder = write_system("")
    file = put(folder, "predictions/tiny-1.0.0/test.jsonl")
    with pytest.raises(SubmissionError) as error:
        find_predictions(open_submission(folder), "tiny-2.0.0", "test", None)
    assert "has no predictions tiny-2.0.0/test.jsonl (it has: tiny-1.0.0/test.jsonl)" in str(error.value)
    with pytest.raises(SubmissionError, match=r"are for tiny-1\.0\.0, the dataset is tiny-2\.0\.0"):
        find_target(file, manifest("2.0.0"), "test", None)


def test_predictions_for_a_sample_are_offered_with_the_options_that_take_them(
    write_system: Callable[..., Path],
) -> None:
    folder = write_system("")
    file = put(folder, "predictions/tiny-1.0.0/test-stratified-20-seed-3.jsonl")
    remedy = "add --sample 20 --seed 3"
    with pytest.raises(SubmissionError, match=f"it has predictions for the sample: {remedy}"):
        find_target(folder, manifest("1.0.0"), "test", None)
    with pytest.raises(SubmissionError, match=remedy):
        find_target(file, manifest("1.0.0"), "test", None)
    with pytest.raises(SubmissionError, match="run it on this dataset"):
        find_target(folder, manifest("2.0.0"), "test", None)


def test_a_sample_s_name_that_is_none_offers_no_options(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    file = put(folder, "predictions/tiny-1.0.0/test-mine.jsonl")
    with pytest.raises(SubmissionError, match="run it on this dataset"):
        find_target(folder, manifest("1.0.0"), "test", None)
    with pytest.raises(SubmissionError, match="give its --sample and --seed"):
        find_target(file, manifest("1.0.0"), "test", None)


def test_a_submission_without_a_command_is_told_where_its_predictions_belong(tmp_path: Path) -> None:
    put(tmp_path, "my-system/submission.toml", 'name = "x"\nteam = "y"\n')
    with pytest.raises(SubmissionError) as error:
        find_target(tmp_path / "my-system", manifest("1.0.0"), "test", "stratified-5-seed-0")
    assert "put its predictions into predictions/tiny-1.0.0/test-stratified-5-seed-0.jsonl" in error.value.remedy
    assert "edu-rag run" not in str(error.value)


def test_a_folder_of_submissions_is_told_from_a_submission(write_system: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_system("").parent
    with pytest.raises(SubmissionError, match="is a folder of submissions: name one, or use `edu-rag score --all`"):
        find_target(folder, manifest("1.0.0"), "test", None)
    (tmp_path / "my-folder").mkdir()
    with pytest.raises(SubmissionError, match=r"has no submission\.toml: write one"):
        open_submission(tmp_path / "my-folder")


def test_a_scorecard_is_not_read_as_predictions(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match=r"is a scorecard: give its predictions\.jsonl"):
        find_target(put(tmp_path, "scorecard.json", "{}"), manifest("1.0.0"), "test", None)


def test_a_command_written_as_one_text_is_told_its_right_spelling(tmp_path: Path) -> None:
    text = 'name = ""\nteam = "y"\ncommand = "python system.py"\n'
    put(tmp_path, "my-system/submission.toml", text)
    with pytest.raises(FaultsError) as error:
        open_submission(tmp_path / "my-system")
    remedies = {fault.where.rpartition(": ")[2]: fault.remedy for fault in error.value.faults}
    assert remedies["command"] == 'give a list of words: command = ["python", "system.py"]'
    assert "command" not in remedies["name"]


def test_a_full_file_serves_a_sample_but_not_the_other_way_round(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    sample = "stratified-5-seed-0"
    sampled = put(folder, f"predictions/tiny-1.0.0/test-{sample}.jsonl")
    submission = open_submission(folder)
    assert find_predictions(submission, "tiny-1.0.0", "test", sample) == sampled
    with pytest.raises(SubmissionError, match=r"it has: tiny-1\.0\.0/test-stratified-5-seed-0\.jsonl"):
        find_predictions(submission, "tiny-1.0.0", "test", None)
    full = put(folder, "predictions/tiny-1.0.0/test.jsonl")
    assert find_predictions(submission, "tiny-1.0.0", "test", "stratified-6-seed-0") == full


def test_a_file_inside_a_submission_belongs_to_it_and_any_other_to_nobody(
    write_system: Callable[..., Path], tmp_path: Path
) -> None:
    owner = submission_of(put(write_system(""), "predictions/tiny-1.0.0/test.jsonl"))
    assert owner is not None
    assert owner.slug == "test-system"
    assert submission_of(put(tmp_path, "loose.jsonl")) is None
    assert anonymous(tmp_path / "My Predictions!.jsonl").slug == "my-predictions"
    assert is_slug(anonymous(tmp_path / "ü.jsonl").slug)


def test_a_submission_with_nothing_to_score_is_a_fault(tmp_path: Path) -> None:
    put(tmp_path, "my-system/submission.toml", 'name = "x"\nteam = "y"\n')
    _, faults = all_faults(tmp_path / "my-system")
    assert [type(fault) for fault in faults] == [SubmissionError]
    assert isinstance(faults[0], EduRagError)
    assert "neither a command nor predictions" in str(faults[0])


def test_an_interrupted_run_is_named_where_predictions_are_missing(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    put(folder, "predictions/tiny-1.0.0/test.jsonl.partial")
    with pytest.raises(SubmissionError, match=r"the run was interrupted.*`edu-rag run` goes on where it stopped"):
        find_target(folder, manifest("1.0.0"), "test", None)


def test_faults_of_the_predictions_are_told_beside_those_of_the_settings(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system("", extra='nmae = "x"\n')
    put(folder, "predictions/tiny-1.0.0/test.jsonl", "{\n")
    put(folder, "predictions/other-1.0.0/test.jsonl", "{\n")
    for dataset, n in ((tiny, 1), (None, 2)):
        faults = [str(fault) for fault in check_submission(folder, dataset).faults]
        assert "did you mean 'name'" in faults[0]
        assert len([fault for fault in faults if "test.jsonl:1: line: not JSON" in fault]) == len(faults) - 1 == n
