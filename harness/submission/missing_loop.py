"""Find a Python system that never reads a question: its script ends without `edu_rag.serve`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from edu_rag.errors import BudgetError
from edu_rag.processes.budget import within_budget
from harness.submission.folder import Submission
from harness.submission.settings_faults import PYTHONS

MAX_SCRIPT_BYTES = 1_000_000
MAX_SCRIPTS = 200
_READS = frozenset({"serve", "stdin", "input", "fileinput", "readline"})
"""Names that a system needs to read questions, in any of its files."""
_OPENERS = frozenset({"open", "fdopen", "read"})


def _script(submission: Submission) -> Path | None:
    """The script that the command gives to Python; None for any other command."""
    command = submission.settings.command
    names = [word for word in command[1:] if word.endswith(".py")] if command and command[0] in PYTHONS else []
    path = submission.folder / names[0] if names else None
    return path if path is not None and path.is_file() and not path.is_symlink() else None


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) and node.func.attr != "serve" else ""


def _opens_stdin(node: ast.Call) -> bool:
    """Whether a call is `open(0)`, `os.fdopen(0)` or `os.read(0, …)`."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return _called(node) in _OPENERS and any(isinstance(one, ast.Constant) and one.value == 0 for one in given)


def _names(tree: ast.AST) -> Iterator[str]:
    modules = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id if node.id == "serve" else ""  # it may be called under another name
        elif isinstance(node, ast.Attribute):
            yield node.attr if node.attr != "serve" or id(node) not in modules else ""  # edu_rag.serve.SystemAnswer
        elif isinstance(node, ast.alias):
            # `serve` under another name may be used under that; imported as itself, it must be used as itself.
            yield node.name.rpartition(".")[2] if node.asname or node.name in ("stdin", "fileinput") else ""
        elif isinstance(node, ast.Constant):
            yield "stdin" if node.value == "/dev/stdin" else ""
        elif isinstance(node, ast.Call):
            yield "stdin" if _opens_stdin(node) else _called(node)


def _tree(path: Path) -> ast.Module | None:
    """A script's syntax tree; None if it cannot be read, which its start reports better."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_SCRIPT_BYTES + 1)
        return ast.parse(raw) if len(raw) <= MAX_SCRIPT_BYTES else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _answer_name(tree: ast.Module) -> str:
    """The function to serve: one of a single argument, `answer` first."""
    names = [one.name for one in tree.body if isinstance(one, ast.FunctionDef) and len(one.args.args) == 1]
    return "answer" if "answer" in names or not names else names[-1]


def missing_loop(submission: Submission) -> str | None:
    """`FILE:LINE: what: what to do` for a script that never reads a question; None if it does, or might.

    The files are parsed within the budget for a stranger's file.
    """
    try:
        return within_budget(_missing_loop, submission, what=submission.folder)
    except BudgetError as error:
        return str(error)


def _missing_loop(submission: Submission) -> str | None:
    script = _script(submission)
    tree = None if script is None else _tree(script)
    if script is None or tree is None:
        return None
    others = [path for path in sorted(submission.folder.rglob("*.py"))[:MAX_SCRIPTS] if not path.is_symlink()]
    trees = [tree, *(_tree(path) for path in others if path != script)]
    if any(one is None or _READS & set(_names(one)) for one in trees):
        return None
    last = max((node.end_lineno or 0 for node in tree.body), default=0)
    what = "never calls edu_rag.serve, so that it reads no question"
    return f"{script}:{last + 1}: {what}: end it with `edu_rag.serve({_answer_name(tree)})`, after `import edu_rag`"
