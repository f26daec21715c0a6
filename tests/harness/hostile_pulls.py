"""Pull requests as pairs of trees: a small base, the good changes to it, and some sixty that must be refused."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TOML = """\
name = "{name}"
team = "{team}"
accounts = {accounts}
command = ["python", "system.py"]

[limits]
time_s = 5
"""
OLD = "submissions/old-system"
OWN = "submissions/own-system"
NEW = "submissions/new-system"
RUN = "predictions/tqa-val-2.1.0/val"


class Pull(NamedTuple):
    """One pull request: what it does to the head, who opens it, and what its refusal must name, or what it is."""

    name: str
    build: Callable[[Path], object]
    named: tuple[str, ...] = ()
    kind: str = ""
    author: str | None = "me"


def put(root: Path, name: str, data: str | bytes = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def settings(name: str, accounts: str = "[]", team: str = "us") -> str:
    return TOML.format(name=name, team=team, accounts=accounts)


def write_base(root: Path) -> Path:
    """What every pull request starts from: a little of everything that a repository holds."""
    for name in (
        "harness/running/run.py",
        "harness/__init__.py",
        ".github/workflows/score.yml",
        "pyproject.toml",
        "Makefile",
        "submissions/README.md",
        "leaderboard/results/tqa-val-2.1.0/val/old-system/scorecard.json",
        "leaderboard/results/tqa-val-2.0.0/val/scored-once/scorecard.json",
    ):
        put(root, name, "ours\n")
    for folder, accounts, team in (
        (OLD, '["them"]', "them"),
        (OWN, '["Me"]', "us"),
        ("submissions/no-accounts", "[]", "x"),
    ):
        put(root, f"{folder}/submission.toml", settings(folder, accounts, team))
        put(root, f"{folder}/system.py", "print()\n")
        put(root, f"{folder}/{RUN}.jsonl", '{"question_id": "q1", "answer": "a"}\n')
        put(root, f"{folder}/{RUN}.run.json", "{}\n")
    put(root, "submissions/gone-system/submission.toml", 'withdrawn = "x"\n' + settings("gone", '["me"]'))
    put(root, "submissions/gone-system/system.py")
    return root


def add(head: Path, slug: str = "new-system", accounts: str = '["me"]') -> Path:
    """A new submission that may be handed in."""
    put(head, f"submissions/{slug}/submission.toml", settings(slug, accounts))
    return put(head, f"submissions/{slug}/system.py", "print()\n").parent


def withdraw(head: Path, folder: str = OWN, line: str = 'withdrawn = "a fault in our code"\n') -> None:
    path = head / folder / "submission.toml"
    path.write_text(line + path.read_text())


_LAYOUT = ("submission.toml: its comments or its layout are changed",)


def _withdraw_with_crlf(head: Path) -> None:
    withdraw(head)
    path = head / OWN / "submission.toml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def _withdraw_executable(head: Path) -> None:
    withdraw(head)
    (head / OWN / "submission.toml").chmod(0o755)


def _with_new(change: Callable[[Path], object]) -> Callable[[Path], object]:
    def build(head: Path) -> None:
        add(head)
        change(head)

    return build


def _new(name: str, data: str | bytes = "x\n") -> Callable[[Path], object]:
    """A new submission with one more file, or a file beside it."""
    return _with_new(lambda head: put(head, name, data))


def _sparse(name: str, size: int) -> Callable[[Path], object]:
    return _with_new(lambda head: os.truncate(put(head, name), size))


def _link(name: str, to: str) -> Callable[[Path], object]:
    def build(head: Path) -> None:
        (head / name).parent.mkdir(parents=True, exist_ok=True)
        (head / name).symlink_to(to)

    return _with_new(build)


def _many(head: Path, n: int = 60_000) -> None:
    folder = add(head) / "data"
    folder.mkdir()
    for number in range(n):
        os.close(os.open(folder / f"f{number:05}", os.O_CREAT | os.O_WRONLY, 0o644))


def _deep(head: Path) -> None:
    path = add(head)
    here = Path.cwd()
    os.chdir(path)  # the whole path would be longer than the system takes
    try:
        for _ in range(1_000):
            Path("a-folder").mkdir()
            os.chdir("a-folder")
        Path("x").touch()
    finally:
        os.chdir(here)


def _bytes_name(head: Path) -> None:
    add(head)
    name = os.fsencode(head) + b"/" + NEW.encode() + b"/caf\xe9\xff.py"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644))


def _submodule(head: Path) -> None:
    add(head)
    (head / NEW / "vendored").mkdir()


def _device(head: Path) -> None:
    os.mkfifo(add(head) / "pipe")
    if os.geteuid() == 0:
        os.mknod(head / NEW / "device", 0o600 | 0o020000, os.makedev(1, 3))
    folder = os.open(head / NEW, os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as bound:  # by a short name: a socket's path may have 107 characters
        bound.bind(f"/proc/self/fd/{folder}/socket")
    os.close(folder)


def _case(head: Path) -> None:
    put(head, f"{NEW}/Data.py")
    put(head, f"{NEW}/data.py")
    add(head)


def _two(head: Path) -> None:
    add(head)
    add(head, "second-system")


def _renamed(head: Path) -> None:
    (head / OLD).rename(head / "submissions/their-system")


def _folder_to_file(head: Path) -> None:
    shutil.rmtree(head / OLD)
    put(head, OLD, "a file now\n")


def _own_is_link(head: Path) -> None:
    shutil.rmtree(head / OWN)
    (head / OWN).symlink_to("/etc")


def _rerun(head: Path, name: str = f"{OWN}/predictions/tqa-val-3.0.0/val") -> None:
    put(head, f"{name}-stratified-300-seed-0.jsonl", '{"question_id": "q1", "answer": "a"}\n')
    put(head, f"{name}-stratified-300-seed-0.run.json", "{}\n")


def _run_and_edit(head: Path) -> None:
    _rerun(head)
    put(head, f"{OWN}/system.py", "print('better')\n")


def _run_and_withdraw(head: Path) -> None:
    _rerun(head)
    withdraw(head)


def _withdraw_and_rename(head: Path) -> None:
    path = head / OWN / "submission.toml"
    path.write_text('withdrawn = "x"\n' + path.read_text().replace(OWN, "a better name"))


def _foreign(name: str, data: str = "changed\n", *, author: str | None = "me") -> Pull:
    return Pull(f"changes {name}", lambda head: put(head, name, data), (name,), author=author)


def _zip_bytes() -> bytes:
    import io
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x", "x")
    return stream.getvalue()


def _pyc_bytes() -> bytes:
    import importlib.util

    return importlib.util.MAGIC_NUMBER + b"\0" * 12


HOSTILE = (
    _foreign("harness/running/run.py"),
    _foreign(".github/workflows/score.yml"),
    _foreign(".github/workflows/new.yml"),
    _foreign("conftest.py", "raise SystemExit\n"),
    _foreign("sitecustomize.py"),
    _foreign("pyproject.toml"),
    _foreign(".gitattributes", "* filter=evil\n"),
    _foreign(".gitmodules"),
    _foreign("submissions/README.md"),
    _foreign("submissions/conftest.py"),
    _foreign("leaderboard/results/tqa-val-2.1.0/val/old-system/scorecard.json"),
    _foreign("leaderboard/reruns.jsonl"),
    _foreign(f"{OLD}/system.py"),
    _foreign(f"{OLD}/{RUN}.jsonl"),
    _foreign(f"{OLD}/predictions/tqa-val-2.1.0/val-stratified-300-seed-0.jsonl"),
    _foreign(f"{OWN}/{RUN}.jsonl"),
    _foreign(f"{OWN}/system.py"),
    _foreign(f"{OWN}/extra.py"),
    _foreign(f"{OWN}/overlap.txt"),
    Pull("conftest.py beside a good one", _new("conftest.py"), ("conftest.py",)),
    Pull("workflow beside a good one", _new(".github/workflows/x.yml"), (".github/workflows/x.yml",)),
    Pull("another's predictions beside a good one", _new(f"{OLD}/{RUN}-x.jsonl"), (f"{OLD}/{RUN}-x.jsonl",)),
    Pull("link to a file", _link(f"{NEW}/x.py", "system.py"), (f"{NEW}/x.py", "link")),
    Pull("link to a folder", _link(f"{NEW}/data", "../old-system"), (f"{NEW}/data", "link")),
    Pull("link to /etc/passwd", _link(f"{NEW}/{RUN}.jsonl", "/etc/passwd"), (f"{NEW}/{RUN}.jsonl", "link")),
    Pull("link that leads to itself", _link(f"{NEW}/loop", "loop"), (f"{NEW}/loop", "link")),
    Pull("submission that is a link", lambda head: (head / NEW).symlink_to("old-system"), (NEW,)),
    Pull(
        "link in place of submissions",
        lambda head: ((head / "submissions").rename(head / "moved"), (head / "submissions").symlink_to("moved")),
        ("is now a link",),
    ),
    Pull("link in place of one's own", _own_is_link, (OWN, "is now a link")),
    Pull("gitlink", _submodule, (f"{NEW}/vendored", "submodule")),
    Pull("repository inside", _new(f"{NEW}/.git/config"), (f"{NEW}/.git", "repository")),
    Pull("gitlink file inside", _new(f"{NEW}/.git", "gitdir: /etc"), (f"{NEW}/.git", "repository")),
    Pull("hidden file", _new(f"{NEW}/.env", "KEY=1"), (f"{NEW}/.env", "hidden")),
    Pull("hidden folder", _new(f"{NEW}/.github/workflows/x.yml"), (f"{NEW}/.github", "hidden")),
    Pull("case clash inside", _case, (f"{NEW}/data.py", "capitals")),
    Pull("case clash with a submission", lambda head: add(head, "Own-System"), ("submissions/Own-System",)),
    Pull("60,000 files", _many, (NEW, "2,000 files")),
    Pull(
        "many files beside a workflow",
        lambda head: (_many(head, 2_100), put(head, ".github/workflows/score.yml")),
        (".github/workflows/score.yml", f"{NEW}/data", "2,000 files"),
    ),
    Pull("2 GB file", _sparse(f"{NEW}/weights.bin", 2_000_000_000), (f"{NEW}/weights.bin", "2,000.0 MB")),
    Pull("2 GB settings", _sparse(f"{NEW}/submission.toml", 2_000_000_000), (f"{NEW}/submission.toml", "2,000.0 MB")),
    Pull("300 MB of predictions", _sparse(f"{NEW}/{RUN}.jsonl", 300_000_000), (f"{NEW}/{RUN}.jsonl", "300.0 MB")),
    Pull(
        "settings that are a folder",
        lambda head: (
            put(head, f"{NEW}/system.py"),
            put(head, f"{NEW}/submission.toml/settings.py"),
            put(head, "x.py"),
        ),
        ("x.py",),
    ),
    Pull("overlap that is a folder of another", _new(f"{OLD}/overlap.txt/x"), (f"{OLD}/overlap.txt/x",)),
    Pull("2 GB beside", _sparse("weights.bin", 2_000_000_000), ("weights.bin",)),
    Pull("huge settings", _new(f"{NEW}/submission.toml", "#" * 200_000), (f"{NEW}/submission.toml", "0.2 MB")),
    Pull(
        "files that are large together",
        lambda head: (add(head), [os.truncate(put(head, f"{NEW}/w{n}.bin"), 20_000_000) for n in range(3)]),
        (NEW, "60.0 MB"),
    ),
    Pull("name that is no UTF-8", _bytes_name, (f"{NEW}/caf\\xe9\\xff.py",)),
    Pull("name with a line end", _new(f"{NEW}/a\nb.py"), (f"{NEW}/a\\nb.py",)),
    Pull("name with terminal orders", _new(f"{NEW}/\x1b[2Jx"), (f"{NEW}/\\x1b[2Jx",)),
    Pull("name with a command", _new(f"{NEW}/$(touch pwned)"), (f"'{NEW}/$(touch pwned)'",)),
    Pull("name that is a CI's order", _new("::set-output name=x::y"), ("'::set-output name=x::y'",)),
    Pull("name with turned text", _new(f"{NEW}/gpj.\u202eyp.exe"), ("\\u{202e}",)),
    Pull("name that is an option", _new(f"{NEW}/-rf"), (f"{NEW}/-rf", "odd name")),
    Pull("name of a Windows device", _new(f"{NEW}/con.py"), (f"{NEW}/con.py", "Windows")),
    Pull("name that ends in a dot", _new(f"{NEW}/data."), (f"{NEW}/data.", "Windows")),
    Pull("1,000 folders deep", _deep, (f"{NEW}/a-folder", "deeper")),
    Pull("pipe, device and socket", _device, (f"{NEW}/pipe", f"{NEW}/socket", "neither a file nor a folder")),
    Pull("archive by name", _new(f"{NEW}/weights.tar.gz"), (f"{NEW}/weights.tar.gz", "archive")),
    Pull("archive by its bytes", _new(f"{NEW}/weights.bin", _zip_bytes()), (f"{NEW}/weights.bin", "archive")),
    Pull("tar by its bytes", _new(f"{NEW}/w.bin", b"\0" * 257 + b"ustar\0" + b"\0" * 249), (f"{NEW}/w.bin", "archive")),
    Pull("compiled Python", _new(f"{NEW}/a.pyc", _pyc_bytes()), (f"{NEW}/a.pyc", "compiled")),
    Pull("compiled Python by its bytes", _new(f"{NEW}/a.py", _pyc_bytes()), (f"{NEW}/a.py", "compiled")),
    Pull("compiled Python in its folder", _new(f"{NEW}/__pycache__/a.py"), (f"{NEW}/__pycache__", "compiled")),
    Pull("log beside predictions", _new(f"{NEW}/{RUN}.log"), (f"{NEW}/{RUN}.log",)),
    Pull("stray file among predictions", _new(f"{NEW}/predictions/notes.md"), (f"{NEW}/predictions/notes.md",)),
    Pull("reserved slug", lambda head: add(head, "template"), ("template",)),
    Pull("slug of a device", lambda head: add(head, "com1"), ("com1", "reserved")),
    Pull("slug that looks like another", lambda head: add(head, "0ld-system"), ("0ld-system", "old-system")),
    Pull("slug that reads like another", lambda head: add(head, "own-systern"), ("own-systern", "own-system")),
    Pull("slug with a line's end", lambda head: add(head, "new\nsystem"), ("new\\nsystem",)),
    Pull("two submissions", _two, ("submissions/second-system/system.py", "one pull request for each")),
    Pull("submission that is removed", lambda head: shutil.rmtree(head / OLD), (f"{OLD}/submission.toml",)),
    Pull("one's own that is removed", lambda head: shutil.rmtree(head / OWN), (f"{OWN}/submission.toml",)),
    Pull("submission that is renamed", _renamed, (f"{OLD}/submission.toml",)),
    Pull("folder that is a file now", _folder_to_file, (OLD,)),
    Pull("result that is removed", lambda head: (head / OWN / f"{RUN}.jsonl").unlink(), (f"{OWN}/{RUN}.jsonl",)),
    Pull(
        "record for an old result",
        lambda head: put(head, f"{OWN}/predictions/tqa-val-2.0.0/val.run.json"),
        ("val.run.json: comes without new predictions",),
    ),
    Pull("bit that makes executable", lambda head: (head / OWN / "system.py").chmod(0o755), (f"{OWN}/system.py",)),
    Pull("run and better code at once", _run_and_edit, (f"{OWN}/system.py",)),
    Pull("run and withdrawal at once", _run_and_withdraw, (f"{OWN}/submission.toml",)),
    Pull("withdrawal with a new name", _withdraw_and_rename, (f"{OWN}/submission.toml", "settings are changed")),
    Pull("withdrawal without a reason", lambda head: withdraw(head, line='withdrawn = " "\n'), ("why",)),
    Pull("withdrawal with comments", lambda head: withdraw(head, line='# <script>\nwithdrawn = "x"\n'), _LAYOUT),
    Pull("withdrawal with a comment on its line", lambda head: withdraw(head, line='withdrawn = "x" # hi\n'), _LAYOUT),
    Pull(
        "withdrawal of 11 kB",
        lambda head: withdraw(head, line=f'withdrawn = "{"x" * 11_000}"\n'),
        ("withdrawn: has more than 2,000 characters",),
    ),
    Pull("withdrawal with a blank line", lambda head: withdraw(head, line='\nwithdrawn = "x"\n'), _LAYOUT),
    Pull("withdrawal in three quotes", lambda head: withdraw(head, line='withdrawn = """x\ny"""\n'), _LAYOUT),
    Pull("withdrawal with other ends of lines", _withdraw_with_crlf, _LAYOUT),
    Pull("withdrawal that executes", _withdraw_executable, ("is made executable", "withdrawn =")),
    Pull(
        "settings that may be executed",
        lambda head: (head / OWN / "submission.toml").chmod(0o755),
        ("submission.toml: is made executable: leave it as it was",),
    ),
    Pull("comments alone", lambda head: withdraw(head, line="# better\n"), _LAYOUT),
    Pull("withdrawal of another's", lambda head: withdraw(head, OLD), (f"{OLD}/submission.toml",)),
    Pull(
        "withdrawal that is taken back",
        lambda head: put(head, "submissions/gone-system/submission.toml", settings("gone", '["me"]')),
        ("withdrawn before",),
    ),
    Pull("run of what was withdrawn", lambda head: _rerun(head, f"submissions/gone-system/{RUN}"), ("was withdrawn",)),
    Pull("new and withdrawn at once", _with_new(lambda head: withdraw(head, NEW)), ("withdrawn before it is handed",)),
    Pull("run without an author", _rerun, ("--author",), author=None),
    Pull("run by a stranger", _rerun, ("them is not among",), author="them"),
    Pull("run of nobody's", lambda head: _rerun(head, f"submissions/no-accounts/{RUN}"), ("no accounts",)),
    Pull(
        "accounts that name the thief",
        lambda head: put(head, f"{OLD}/submission.toml", settings(OLD, '["me"]', "them")),
        (f"{OLD}/submission.toml",),
    ),
    Pull("sample in place of a result", lambda head: _rerun(head, f"{OWN}/{RUN}"), ("from val.jsonl already",)),
    Pull("slug of a result alone", lambda head: add(head, "scored-once"), ("scored-once",)),
    Pull("nothing at all", lambda head: None, ("changes nothing",)),
)
GOOD = (
    Pull("a new submission", add, kind="new"),
    Pull("a new submission of nobody known", lambda head: add(head, accounts="[]"), kind="new", author=None),
    Pull("a new submission with predictions", _new(f"{NEW}/{RUN}.jsonl", "{}\n"), kind="new"),
    Pull("a new submission in folders", _new(f"{NEW}/a/b/c/d.txt"), kind="new"),
    Pull("a new run", _rerun, kind="new run"),
    Pull("a new run by the same login in capitals", _rerun, kind="new run", author="ME"),
    Pull(
        "a new run on another dataset",
        lambda head: put(head, f"{OWN}/predictions/tqa-val-3.0.0/val.jsonl", "{}\n"),
        kind="new run",
    ),
    Pull("a withdrawal", withdraw, kind="withdrawal"),
)
