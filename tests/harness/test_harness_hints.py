from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edu_rag.errors import SubmissionError
from edu_rag.files.dataset import Dataset
from harness.running.fingerprint import system_sha256
from harness.running.run import Manner, run_submission
from harness.running.system_log import hint_for
from harness.submission.folder import Limits, open_submission

LOOP = "import json, sys\nfor line in sys.stdin:\n    q = json.loads(line)\n    "
ANSWER = "\n    print(json.dumps({'id': q['id'], 'answer': 'b'}), flush=True)\n"


@pytest.mark.usefixtures("sandbox_here")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import socket; socket.getaddrinfo('example.org', 443)", "there is no network in the sandbox"),
        ("open('cache', 'w')", "only /tmp can be written to"),
        ("open('/home/me/weights')", "the sandbox has none of your files but the submission's own"),
        ("import no_such_package", "docs/submit.md says which CI has"),
        ("import os; os.environ['MY_SERVER']", "pass it with --pass-env NAME"),
        ("print('thinking', flush=True)", "print anything else on stderr"),
    ],
)
def test_what_everybody_meets_first_in_the_sandbox_is_told_with_what_to_do(
    write_system: Callable[..., Path], tiny: Dataset, code: str, said: str
) -> None:
    submission = open_submission(write_system(LOOP + code + ANSWER))
    with pytest.raises(SubmissionError, match="not a single question was answered") as error:
        run_submission(submission, tiny, "test", None, Manner(limits=Limits(time_s=20, start_s=30)))
    assert said in error.value.remedy


def test_without_a_sandbox_nothing_is_put_down_to_it() -> None:
    reason = "OSError: [Errno 30] Read-only file system: 'x'"
    assert hint_for(reason, boxed=True)
    assert hint_for(reason, boxed=False) == ""
    assert hint_for("the process ended with exit code 1", boxed=True) == ""
    assert "--allow-network" in hint_for("OSError: Tunnel connection failed: 403 Forbidden", boxed=True)
    assert hint_for("FileNotFoundError: [Errno 2] No such file or directory: 'here.txt'", boxed=True) == ""
    assert hint_for("FileNotFoundError: [Errno 2] No such file or directory: '/app/here.txt'", boxed=True) == ""


@pytest.mark.parametrize("line", ['withdrawn = "a bug"', "withdrawn = 'a bug'\r"])
def test_a_withdrawal_makes_no_other_system_so_that_what_vouches_for_it_still_does(tmp_path: Path, line: str) -> None:
    settings = 'name = "x"\nteam = "y"\n\n[limits]\ntime_s = 2\n'
    toml = tmp_path / "submission.toml"
    toml.write_text(settings)
    before = system_sha256(tmp_path)
    toml.write_text(settings.replace("[limits]", f"{line}\n[limits]"))
    assert system_sha256(tmp_path) == before
    toml.write_text(settings.replace("time_s = 2", "time_s = 3"))
    assert system_sha256(tmp_path) != before
