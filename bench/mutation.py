"""Mutation testing of the code that makes numbers: which small faults would no fast test notice?

    python bench/mutation.py [--group NAME …] [--digits 15] [--scratch FOLDER] [--json FILE] [--kept FILE …] [--again …]

Each group of modules is copied to a scratch folder, and mutmut changes one operator, constant or argument at a time
there and runs the group's tests: those without a browser, a process or drawn examples (hypothesis), so that a run says
the same twice (a minute for a hundred mutants). A mutant that hangs counts as killed. Prints Markdown: a table, then
every survivor as its changed line, with the reason in bench/mutation_survivors.toml where no test could tell it from
the original. After tests were added, `--again` runs the survivors of earlier files alone and writes these files again.

mutmut does not change code outside functions (every regular expression and table; tests hold those to
docs/scoring-spec.md word for word) and decorated functions: here a cache's decorator becomes an assignment behind its
function, and every run starts with empty caches.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    *("baselines", "builder", "docs", "edu_rag", "harness", "leaderboard", "publishing", "submissions", "tests"),
    "pyproject.toml",
)
KNOWN = ROOT / "bench" / "mutation_survivors.toml"
SURVIVED = (0, 5, 33)  # mutmut's exit codes: tests passed, or there were none
KILLED = (1, 3, -24, 24, 36, 152, 255)  # a test failed, pytest broke, or it hung
CACHED = re.compile(r"^@((?:lru_)?cache(?:\(.*\))?)\ndef (\w+)((?:.*\n)(?:(?:[ )].*)?\n)*)", re.MULTILINE)
FORGET = """

@pytest.fixture(autouse=True)
def _forget_what_was_cached(_run=[]):
    import functools
    import os
    import sys

    mutant = os.environ.get("MUTANT_UNDER_TEST", "")
    if mutant == "stats" or mutant not in _run:  # else a test seems to call nothing, or gets the original's results
        _run.append(mutant)
        ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] in ("edu_rag", "harness")]
        for value in [value for module in ours for value in vars(module).values()]:
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()
"""


INSIDE = """

@pytest.fixture(autouse=True)
def _without_children(monkeypatch):
    from edu_rag.processes import bounded_child

    monkeypatch.setattr(bounded_child, "_inside", True)
"""


class Group(NamedTuple):
    """Modules to change (globs), and the tests that should notice; `deselect` is pytest's -k.

    `inside`: bounded children work in the tests' process, since mutmut runs the tests that call a function there.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    deselect: str = ""
    inside: bool = False


_READING = tuple(f"tests/harness/test_harness_{name}.py" for name in ("answers", "answer_verdicts", "usual_forms"))
GROUPS = {
    # Without late_pattern.py: patterns that were compiled before mutmut changes it stay compiled. A test holds it.
    "answers": Group(("harness/reading/[!l]*.py",), _READING, "not real and not long_answer"),
    "outcomes": Group(("harness/judging/outcomes.py",), ("tests/harness/test_harness_outcomes.py",)),
    "free text": Group(
        ("harness/judging/free_text.py", "harness/judging/quantities.py"),
        ("tests/harness/test_harness_free_text.py",),
    ),
    "statistics": Group(
        ("edu_rag/statistics/*.py", "edu_rag/detectable_difference.py"),
        (
            *(
                f"tests/edu_rag/test_edu_rag_statistics{part}.py"
                for part in ("", "_lessons", "_many", "_power", "_ranks")
            ),
            "tests/harness/test_harness_declared_overlap.py",
            "tests/leaderboard/test_leaderboard_overlap_ranks.py",
        ),
        "not times_in_100 and not board_of_twenty and not as_often_as and not hold_the_truth",
    ),
    "retrieval": Group(
        ("harness/scoring/retrieval.py",),
        ("tests/harness/test_harness_retrieval.py",),
        "not times_in_100 and not thousand_ranks",
    ),
    "attribution": Group(("harness/scoring/attribution.py",), ("tests/harness/test_harness_attribution.py",)),
    "confidence": Group(("harness/scoring/confidence.py",), ("tests/harness/test_harness_confidence.py",)),
    "overlap": Group(("harness/comparing/citation_overlap.py",), ("tests/harness/test_harness_overlap.py",)),
    "run measures": Group(
        ("harness/scoring/run_measures.py",),
        ("tests/harness/test_harness_run_measures.py", "tests/harness/test_harness_score_run.py"),
        inside=True,
    ),
    "run cards": Group(("harness/rescoring/run_cards.py",), ("tests/harness/test_harness_run_cards.py",), inside=True),
}


class Survivor(NamedTuple):
    """A mutant that no test noticed: its name, the line before and after, and why no test can."""

    name: str
    before: str
    after: str
    why: str


class Result(NamedTuple):
    """A group's number of mutants, and those that survived; of a sample by the last digit of a mutant's number."""

    n_mutants: int
    survivors: list[Survivor]
    digits: str = ""


def _settings(group: Group) -> str:
    """The section of pyproject.toml that mutmut reads."""
    packages = sorted({module.split("/")[0] for module in group.modules})
    values = {
        "source_paths": packages,
        "only_mutate": list(group.modules),
        "also_copy": [name for name in COPIED if name not in packages],
        "pytest_add_cli_args": [
            "-p",
            "no:cacheprovider",
            "-p",
            "no:warnings",
            "-m",
            "not hypothesis",
            "-k",
            group.deselect,
        ],
        "pytest_add_cli_args_test_selection": list(group.tests),
        "timeout_multiplier": 8.0,
        "timeout_constant": 2.0,
        "use_git_change_detection": False,
    }
    return "\n[tool.mutmut]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def _copy(group: Group, scratch: Path) -> None:
    """The group's own copy of the tree, ready for mutmut."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, scratch / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, scratch / name)
    for module in {path for pattern in group.modules for path in scratch.glob(pattern)}:
        text = module.read_text(encoding="utf-8")
        module.write_text(CACHED.sub(r"def \2\3\n\2 = \1(\2)\n\n", text), encoding="utf-8")
    conftest = FORGET + INSIDE * group.inside
    for name, more in (("tests/conftest.py", conftest), ("pyproject.toml", _settings(group))):
        with (scratch / name).open("a", encoding="utf-8") as stream:
            stream.write(more)


def _mutmut(scratch: Path, *arguments: str) -> str:
    """The output of a mutmut command; if it fails, the error contains the output."""
    environment = {**os.environ, "PYTHONPATH": "", "EDU_RAG_ROOT": str(ROOT)}
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"mutmut {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr}"
        )
    return done.stdout


def _codes(scratch: Path) -> dict[str, int | None]:
    """Every mutant's exit code."""
    files = sorted((scratch / "mutants").rglob("*.py.meta"))
    return {
        name: code
        for path in files
        for name, code in json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"].items()
    }


def _survivor(scratch: Path, name: str, known: dict[str, str]) -> Survivor:
    """The change of a surviving mutant."""
    lines = _mutmut(scratch, "show", name).splitlines()
    before, after = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign) and not line.startswith(sign * 3))
        for sign in "-+"
    )
    return Survivor(name, before, after, known.get(f"{_function(name)}: {after}", ""))


def _function(mutant: str) -> str:
    """`harness.judging.outcomes.x_said__mutmut_3` is in `harness.judging.outcomes.said`."""
    return re.sub(r"\.x[_\u01c1](?=\w)", ".", mutant.split("__mutmut")[0]).replace("\u01c1", ".")


def _n_same(one: list[str], two: list[str]) -> int:
    """How many words at the beginning are the same."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def _changed(survivor: Survivor) -> str:
    """The mutant as Markdown: the line, with the words that changed as ⟦before → after⟧."""
    before, after = (re.findall(r"\w+|\W", line) for line in (survivor.before, survivor.after))
    n_same = _n_same(before, after)
    n_last = _n_same(before[n_same:][::-1], after[n_same:][::-1])
    middle = ["".join(words[n_same : len(words) - n_last]) for words in (before, after)]
    line = f"{''.join(before[:n_same])}⟦{middle[0]} → {middle[1]}⟧{''.join(before[len(before) - n_last :])}"
    return f"- `{_function(survivor.name)}`: `` {line} ``" + (f" - {survivor.why}" if survivor.why else "")


def measure(
    name: str, folder: Path, known: dict[str, str], n_children: int, digits: str = "", earlier: Result | None = None
) -> Result:
    """Run one group; of an earlier result only the survivors, since added tests let no killed mutant live.

    `digits`: only mutants whose number ends in one of these, a sample of a large group.
    """
    scratch = folder / name.replace(" ", "_")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    _copy(GROUPS[name], scratch)
    only = [survivor.name for survivor in earlier.survivors] if earlier else []
    _mutmut(scratch, "run", "--max-children", str(n_children), *(only or [f"*__mutmut_*[{digits}]"] * bool(digits)))
    codes = {mutant: code for mutant, code in _codes(scratch).items() if not digits or mutant[-1] in digits}
    if not codes or (earlier and len(codes) != earlier.n_mutants):
        raise SystemExit(f"{name}: {len(codes)} mutants; the code changed since the earlier run: run the whole group")
    run = {mutant: codes[mutant] for mutant in only or codes}
    other = {mutant: code for mutant, code in run.items() if code not in (*SURVIVED, *KILLED)}
    if other:
        raise SystemExit(f"{name}: {len(codes)} mutants, of which mutmut left unsettled: {other}")
    survivors = [_survivor(scratch, mutant, known) for mutant, code in run.items() if code in SURVIVED]
    return Result(len(codes), survivors, digits)


def _again(files: Sequence[Path], folder: Path, known: dict[str, str], n_children: int) -> None:
    """Run the survivors of these files, and write the files again."""
    for path in files:
        results = {
            name: measure(name, folder, known, n_children, earlier.digits, earlier) if earlier.survivors else earlier
            for name, earlier in _kept([path], known).items()
        }
        _write(path, results)


def _write(path: Path, results: dict[str, Result]) -> None:
    rows = {
        name: {"mutants": n, "left": [mutant[:3] for mutant in left], "digits": digits}
        for name, (n, left, digits) in results.items()
    }
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _kept(files: Sequence[Path], known: dict[str, str]) -> dict[str, Result]:
    """The results that earlier runs wrote with --json, with today's reasons."""
    results = {}
    for path in files:
        for name, row in json.loads(path.read_text(encoding="utf-8")).items():
            left = [
                Survivor(mutant, before, after, known.get(f"{_function(mutant)}: {after}", ""))
                for mutant, before, after in row["left"]
            ]
            results[name] = Result(row["mutants"], left, row.get("digits", ""))
    return results


def _show(results: dict[str, Result]) -> None:
    """Print the page's part."""
    print("| group | modules | mutants | killed | survived | equivalent | share |\n|---|---|---|---|---|---|---|")
    for name, (n_mutants, left, digits) in results.items():
        modules = ", ".join(f"`{module}`" for module in GROUPS[name].modules)
        n_equivalent = sum(bool(survivor.why) for survivor in left)
        sampled = f" (a sample: numbers that end in {' or '.join(digits)})" if digits else ""
        counts = f"{n_mutants}{sampled} | {n_mutants - len(left)} | {len(left)} | {n_equivalent}"
        print(f"| {name} | {modules} | {counts} | {1 - len(left) / n_mutants:.1%} |")
    print("\nSurvivors (⟦before → after⟧):\n")
    for result in results.values():
        for survivor in result.survivors:
            print(_changed(survivor))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the groups and print the page's part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--group", action="append", choices=sorted(GROUPS), help="only this one; may be repeated")
    parser.add_argument("--digits", default="", help="a sample: only mutants whose number ends in one of these digits")
    parser.add_argument("--scratch", type=Path, help="keep the copies here (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="write counts and survivors here too")
    parser.add_argument("--children", type=int, default=1, help="mutants tested at the same time (default: 1)")
    parser.add_argument("--kept", type=Path, nargs="+", help="show these files of --json instead of running")
    parser.add_argument("--again", type=Path, nargs="+", help="run the survivors of these files of --json again")
    given = parser.parse_args(arguments)
    known = tomllib.loads(KNOWN.read_text(encoding="utf-8"))["equivalent"]
    if given.kept:
        _show(_kept(given.kept, known))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.scratch or Path(temporary)).resolve()
        if given.again:
            _again(given.again, folder, known, given.children)
            results = _kept(given.again, known)
        else:
            names = given.group or GROUPS
            results = {name: measure(name, folder, known, given.children, given.digits) for name in names}
    if given.json:
        _write(given.json, results)
    _show(results)


if __name__ == "__main__":
    main()
