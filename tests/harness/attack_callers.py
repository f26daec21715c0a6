"""The two programs that run a system for the attack suite: plainly, in any wrapper, or as `edu-rag run` does.

Usage: attack_callers.py plain|ours SETTINGS.json    (the settings are read once a line arrived on stdin)

The caller is what attacks are aimed at: it holds a canary in its memory, in its environment and in an open descriptor.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_S = 20.0
HELD: list[bytes] = []


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Every attack through one system, started by a bare subprocess in the wrapper that the settings name."""
    said: dict[str, Any] = {}
    process = None
    for name in settings["attacks"]:
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                settings["words"],
                cwd=settings["submission"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                close_fds=False,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"id": name, "text": f"attack {name}"}).encode() + b"\n")
            process.stdin.flush()
            while select.select([process.stdout], [], [], LIMIT_S)[0] and (line := process.stdout.readline()):
                if line.startswith(b"{") and (answer := json.loads(line))["id"] == name:
                    said[name] = json.loads(answer["response"])
                    break
            else:
                _end(process)
        except OSError:
            _end(process)
    if process is not None:
        _end(process)
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    """A daemon may hold its pipes: nothing is read to the end."""
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


def ours(settings: dict[str, Any]) -> dict[str, Any]:
    """Every attack through `harness.run`, in the sandbox."""
    from edu_rag.files.dataset import Dataset
    from harness.predictions import read_predictions
    from harness.run import Manner, run_submission
    from harness.running.run_record import read_run_record
    from harness.sandbox.caps import Caps
    from harness.submission import Limits, open_submission

    dataset = Dataset(Path(settings["dataset"]))
    manner = Manner(limits=Limits(time_s=30, start_s=60), caps=Caps(**settings["caps"]), fresh=True)
    path = run_submission(open_submission(Path(settings["submission"])), dataset, "test", None, manner)
    names = {q.question_id: q.text.removeprefix("attack ") for q in dataset.questions("test")}
    record = read_run_record(path)
    said: dict[str, Any] = {"caps": dict(record.caps) if record else {}}
    for question_id, prediction in read_predictions(path, list(names)).items():
        try:
            said[names[question_id]] = json.loads(prediction.response or "")
        except ValueError:
            said[names[question_id]] = {"evidence": None, "ended": f"{prediction.status}: {prediction.response}"}
    return said


def main() -> None:
    """Hold the canary, wait for the word to begin, run, write what was said."""
    sys.stdin.readline()
    settings = json.loads(Path(sys.argv[2]).read_text())
    HELD.append(Path(settings["secret"]).read_bytes())
    said = (plain if sys.argv[1] == "plain" else ours)(settings)
    Path(settings["said"]).write_text(json.dumps(said))


if __name__ == "__main__":
    main()
