"""What makes a submission's folder plain, and what slugs and settings may say."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.files.dataset import Dataset
from harness.check_submission import check_submission
from harness.submission.folder import lines_of
from harness.submission.plain_files import MAX_ENTRIES, MAX_FILE_BYTES, MAX_SHOWN, plain_faults, shown, tree_faults
from harness.submission.settings_faults import is_login
from harness.submission.slugs import is_slug, look_of, slug_fault, suggested
from tests.harness.hostile_pulls import put

RUN = "predictions/tiny-1.0.0/test"


def kinds(folder: Path, *, handed_in: bool = False) -> dict[str, str]:
    return {fault.name: fault.kind for fault in plain_faults(folder, handed_in=handed_in)}


def zipped() -> bytes:
    stream = io.BytesIO()
    zipfile.ZipFile(stream, "w").close()
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"), io.BytesIO())
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", None),
        ("a/b/c/d/e/f/g/h.py", None),
        ("A_b-c.1", None),
        ("conduct.md", None),
        ("common.py", None),
        (".env", "hidden"),
        (".git", "git"),
        (".Git", "git"),
        ("a b", "odd name"),
        ("ü.py", "odd name"),
        ("-x", "odd name"),
        ("a\\b", "odd name"),
        ("a:b", "odd name"),
        ("git~1", "odd name"),
        ("x" * 101, "odd name"),
        ("con", "reserved"),
        ("NUL.txt", "reserved"),
        ("aux.py", "reserved"),
        ("lpt1", "reserved"),
        ("data.", "reserved"),
        ("/".join(["x" * 60] * 4), "long"),
        ("w.zip", "archive"),
        ("w.tar.gz", "archive"),
        ("w.WHL", "archive"),
        ("w.npz", "archive"),
        ("w.docx", "archive"),
        ("predictions/notes.md", "stray"),
        ("predictions/x.jsonl", "stray"),
        (f"{RUN}-mine.jsonl", "stray"),
        (f"{RUN}.jsonl", None),
        (f"{RUN}-stratified-300-seed-0.run.json", None),
        ("predictions/tiny-1.0.0/probes/test.no-context.jsonl", None),
    ],
)
def test_names_are_plain_or_named_with_their_fault(tmp_path: Path, name: str, kind: str | None) -> None:
    put(tmp_path / "folder", name)
    assert kinds(tmp_path / "folder") == ({} if kind is None else {name: kind})


@pytest.mark.parametrize(
    "data",
    [
        zipped(),
        tarred(),
        gzip.compress(b"", mtime=0),
        b"BZh91AY&SY",
        b"\xfd7zXZ\0x",
        b"\x28\xb5\x2f\xfd",
        b"7z\xbc\xaf\x27\x1c",
        b"Rar!\x1a\x07\0",
        b"MSCF\0",
        importlib.util.MAGIC_NUMBER + b"\0" * 12,
    ],
)
def test_archives_and_compiled_python_are_known_by_their_bytes(tmp_path: Path, data: bytes) -> None:
    put(tmp_path, "innocent.txt", data)
    assert set(kinds(tmp_path).values()) <= {"archive", "compiled"}
    assert len(kinds(tmp_path)) == 1


@pytest.mark.parametrize("data", [b"", b"PK", b"a,\r\nb", b"\x7fELF", b'{"a": 1}\r\n', b"ustar", "ü\r\n".encode()])
def test_other_bytes_are_no_archive(tmp_path: Path, data: bytes) -> None:
    put(tmp_path, "some.txt", data)
    assert kinds(tmp_path) == {}


def test_what_python_and_a_run_leave_is_ignored_at_home_and_refused_in_a_pull_request(tmp_path: Path) -> None:
    for name in ("__pycache__/a.pyc", "b.pyc", f"{RUN}.log", f"{RUN}.jsonl.partial", f"{RUN}.jsonl.failed"):
        put(tmp_path, name)
    assert kinds(tmp_path) == {}
    assert sorted(set(kinds(tmp_path, handed_in=True).values())) == ["compiled", "leftover"]
    assert len(kinds(tmp_path, handed_in=True)) == 5


def test_sizes_are_told_before_anything_is_read(tmp_path: Path) -> None:
    os.truncate(put(tmp_path, "w.bin"), MAX_FILE_BYTES + 1)
    os.truncate(put(tmp_path, f"{RUN}.jsonl"), 2_000_000_000)
    os.truncate(put(tmp_path, f"{RUN}.run.json"), 2_000_000)
    os.truncate(put(tmp_path, "submission.toml"), 100_001)
    assert set(kinds(tmp_path).values()) == {"large", "sum"}
    told = [str(fault) for fault in tree_faults(tmp_path)]
    assert "w.bin: has 25.0 MB, and 25.0 MB is the most that such a file may have: leave out what is not needed" in told
    assert any(line.startswith("predictions: has 2,002.0 MB, and 200.0 MB is the most") for line in told)


def test_as_many_names_as_are_allowed_are_right_and_one_more_is_not(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES):
        put(tmp_path, f"f{number}")
    assert kinds(tmp_path) == {}
    put(tmp_path, "one-more")
    assert kinds(tmp_path) == {"": "count"}


def test_many_faults_of_a_kind_are_counted(tmp_path: Path) -> None:
    for number in range(MAX_SHOWN + 7):
        put(tmp_path, f"odd {number:02}")
        put(tmp_path, f".hidden-{number:02}")
    told = [str(fault) for fault in tree_faults(tmp_path, prefix="submissions/x/")]
    assert len(told) == 2 * (MAX_SHOWN + 1)
    assert told[0] == "submissions/x/.hidden-00: is a hidden file or folder: leave it out"
    assert told[MAX_SHOWN] == "… and 7 more: like these: leave it out"


def test_names_that_differ_by_capitals_are_one_name_elsewhere(tmp_path: Path) -> None:
    for name in ("README.md", "readme.md", "sub/readme.md"):
        put(tmp_path, name)
    assert kinds(tmp_path) == {"readme.md": "case"}


@pytest.mark.parametrize(
    ("name", "as_shown"),
    [
        ("a/b-c_d.py", "a/b-c_d.py"),
        ("::error", "'::error'"),
        ("a b", "'a b'"),
        ("", "''"),
        ("caf\udce9", r"'caf\xe9'"),
        ("a\nb", r"'a\nb'"),
        ("\x1b[2J", r"'\x1b[2J'"),
        ("é", r"'\u{e9}'"),
        ("a\\nb", r"'a\\nb'"),
        ("x" * 300, "'" + "x" * 200 + "…'"),
    ],
)
def test_names_are_shown_so_that_none_can_steer_a_terminal_or_a_ci(name: str, as_shown: str) -> None:
    assert shown(name) == as_shown


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("old-system", "0ld-system", True),
        ("model", "modei", True),
        ("modern", "modem", True),
        ("a-b-c", "abc", True),
        ("savvy", "sawy", True),
        ("b1ind", "blind", True),
        ("bm25", "bm26", False),
        ("run-1", "run-2", False),
    ],
)
def test_slugs_that_can_be_taken_for_each_other(one: str, other: str, alike: bool) -> None:
    assert (look_of(one) == look_of(other)) is alike
    assert (slug_fault(one, [other]) is not None) is alike


@pytest.mark.parametrize("name", ["My System!", "x", "", "ü", "template", "a" * 60, "--a--", "CON", "my_system"])
def test_a_suggested_slug_is_one(name: str) -> None:
    assert is_slug(suggested(name))
    assert slug_fault(suggested(name), []) is None


@pytest.mark.parametrize(
    ("account", "right"),
    [
        ("me", True),
        ("Me-2", True),
        ("x" * 39, True),
        ("x" * 40, False),
        ("-me", False),
        ("me-", False),
        ("m--e", False),
        ("@me", False),
        ("https://host.example/me", False),
        ("", False),
        ("me\n", False),
        ("mé", False),
    ],
)
def test_a_login_is_a_user_name_alone(account: str, right: bool) -> None:
    assert is_login(account) is right


def test_faults_of_settings_name_their_lines(write_system: Callable[..., Path]) -> None:
    folder = write_system("", extra='accounts = ["@me", "you", "YOU"]\nwithdrawn = " "\n')
    lines = lines_of(folder / "submission.toml")
    told = [str(fault).removeprefix(f"{folder}/") for fault in check_submission(folder, None).faults]
    assert told == [
        f"submission.toml:{lines['accounts']}: accounts: '@me' is not a login: write me",
        f"submission.toml:{lines['accounts']}: accounts: 'YOU' is repeated: name each once",
        f"submission.toml:{lines['withdrawn']}: withdrawn: is blank: say why it is withdrawn, or remove the line",
    ]
    toml = put(folder, "submission.toml", 'name = "x"\n\nteam = 3\n[limits]\n# a word\ntime_s = -1\n')
    told = [str(fault) for fault in check_submission(folder, None).faults]
    assert [line.removeprefix(str(toml))[:3] for line in told[:2]] == [":3:", ":6:"]


def test_declared_overlap_is_counted_and_unknown_ids_are_no_fault(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system("")
    put(folder, "overlap.txt", "q001\nq002\nNDQ_000001\n")
    notes = "\n".join(check_submission(folder, tiny).notes)
    assert f"2 questions of {tiny.id} are declared as seen" in notes
    assert "1 are not questions of it; another dataset may have them: NDQ_000001" in notes
    put(folder, "overlap.txt", "q001\nq001\n")
    (fault,) = check_submission(folder, tiny).faults
    assert "overlap.txt:2: 'q001' is repeated" in str(fault)


def test_check_tells_who_may_change_it_later_and_that_it_is_withdrawn(write_system: Callable[..., Path]) -> None:
    assert "accounts = []" in "\n".join(check_submission(write_system(""), None).notes)
    folder = write_system("", extra='accounts = ["me"]\nwithdrawn = "a fault"\n')
    notes = "\n".join(check_submission(folder, None).notes)
    assert "accounts" not in notes
    assert "withdrawn, and its row stays: 'a fault'" in notes


def test_check_names_what_stays_out_of_a_pull_request(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    put(folder, f"{RUN}.log")
    put(folder, f"{RUN}.jsonl.partial")
    found = check_submission(folder, None)
    assert found.faults == []
    assert found.notes[-1] == f"{folder}/predictions: leave out of a pull request: test.jsonl.partial, test.log"


def test_a_predictions_file_over_the_limit_is_not_read(write_system: Callable[..., Path]) -> None:
    folder = write_system("")
    os.truncate(put(folder, f"{RUN}.jsonl"), 3_000_000_000)
    faults = [str(fault) for fault in check_submission(folder, None).faults]
    assert len(faults) == 2
    assert all("is the most" in fault for fault in faults)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a." * 49_000 + "a = 1\n", "has a key of more than 16 parts"),
        ("x = " + "1" * 90_000 + "\n", "not TOML"),
        ("#" * 100_001, "is over 100,000 bytes"),
        ("[" * 90_000, "nested deeper"),
        ("x = " + "{a=" * 30_000, "nested deeper"),
        ("".join(f"k{number} = 1\n" for number in range(9_000)), "8,980 more unknown fields"),
    ],
)
def test_settings_that_would_keep_the_parser_or_the_reader_busy_are_bounded(
    write_system: Callable[..., Path], text: str, said: str
) -> None:
    folder = write_system("")
    put(folder, "submission.toml", text)
    faults = [str(fault) for fault in check_submission(folder, None).faults]
    assert any(said in fault for fault in faults)
    assert len(faults) < 60
    assert max(map(len, faults)) < 1_000
