"""What a failed question's `response` says of the cause, and what it must not say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from edu_rag.files.dataset import Dataset
from harness.running.run import Manner, run_submission
from harness.running.system_log import MAX_CHARS, fit_to_print, last_line
from harness.sandbox import launch
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, open_submission
from harness.submission.predictions_file import read_predictions

CAPS = Caps(memory_bytes=256 << 20, n_processes=24, tmp_bytes=8 << 20, shm_bytes=4 << 20, file_bytes=4 << 20)
LIMITS = Limits(time_s=20, start_s=30)
CAUSES = {
    "a full disk": ("[open(f'/tmp/{n}', 'wb').write(bytes(3 << 20)) for n in range(9)]", "No space left on device"),
    "a file that is too large": ("open('/tmp/f', 'wb').write(bytes(6 << 20))", "File too large"),
    "a file that is too large for a program": (
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('/tmp/f', 'wb', 0).write(bytes(6 << 20)); "
        "open('/tmp/f', 'ab', 0).write(b'x')",
        "signal 25 (a file grew beyond its cap)",
    ),
    "too many processes": (
        "[os.fork() or (time.sleep(600), os._exit(0)) for _ in range(99)]",
        "Resource temporarily unavailable",
    ),
    "too many threads": (
        "[threading.Thread(target=time.sleep, args=(600,)).start() for _ in range(99)]",
        "can't start new thread",
    ),
    "a missing module": ("import flux_capacitor", "No module named 'flux_capacitor'"),
}


def reasons(
    write_system: Callable[..., Path],
    dataset: Dataset,
    code: str,
    *,
    slug: str = "fails",
    caps: Caps | None = CAPS,
    passed: Mapping[str, str] | None = None,
) -> list[str]:
    folder = write_system(
        f"""
import json, os, signal, sys, threading, time
for line in sys.stdin:
    q = json.loads(line)
    if q["text"].split()[2] == "3?":
        try:
            {code}
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    print(json.dumps({{"id": q["id"], "answer": "b"}}), flush=True)
""",
        slug=slug,
    )
    given = passed or {}
    manner = Manner(caps=caps, limits=LIMITS, fresh=True, environment={**os.environ, **given}, passed=list(given))
    path = run_submission(open_submission(folder), dataset, "test", None, manner)
    said = read_predictions(path, [q.question_id for q in dataset.questions("test")]).values()
    return [p.response or "" for p in said if p.status != "ok"]


@pytest.mark.usefixtures("sandbox_here")
@pytest.mark.parametrize("cause", CAUSES)
def test_the_reason_names_the_cause(write_system: Callable[..., Path], tiny: Dataset, cause: str) -> None:
    code, wanted = CAUSES[cause]
    (reason,) = reasons(write_system, tiny, code)
    assert wanted in reason
    assert reason.startswith("the process ended with ")


@pytest.mark.usefixtures("sandbox_here")
def test_memory_is_named_with_a_cgroup_and_without(
    write_system: Callable[..., Path], tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "held = [bytearray(8 << 20) for _ in range(100)]"
    (with_any,) = reasons(write_system, tiny, code, slug="with-any")
    monkeypatch.setattr(launch, "make_cgroups", lambda caps: None)
    (without,) = reasons(write_system, tiny, code, slug="without")
    assert with_any == without == "the memory cap of 0.25 GiB was reached"


def test_a_reason_is_the_same_in_the_next_run_and_tells_no_key(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    code = 'sys.exit(f\'{q["id"]} {hex(id(object()))} {os.environ["MY_API_KEY"]} {os.path.expanduser("~")}\')'
    given = {"MY_API_KEY": "sesame-sesame"}
    told = [reasons(write_system, tiny, code, slug=f"told-{n}", caps=None, passed=given) for n in (1, 2)]
    assert told[0] == told[1]
    (reason,) = told[0]
    assert "(id) 0x(address) (withheld)" in reason
    assert str(Path.home()) not in reason


def test_what_an_earlier_process_said_is_not_taken_for_the_cause(
    write_system: Callable[..., Path], tiny: Dataset
) -> None:
    folder = write_system("""
import json, os, sys
for line in sys.stdin:
    q = json.loads(line)
    n = q["text"].split()[2]
    if n == "3?": sys.exit("the first")
    if n == "4?": os._exit(4)
    print(json.dumps({"id": q["id"], "answer": "b"}), flush=True)
""")
    path = run_submission(open_submission(folder), tiny, "test", None, Manner(caps=None, limits=LIMITS))
    said = read_predictions(path, [q.question_id for q in tiny.questions("test")])
    assert said["q003"].response == "the process ended with exit code 1: the first"
    assert said["q004"].response == "the process ended with exit code 4"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (b"one\ntwo\r\n\n  \n", "two"),
        (b"10 %\r20 %\rdone", "done"),
        (b"", ""),
        (b"\xff\xfe broken", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} broken"),
    ],
)
def test_the_last_line_that_says_something_is_found(said: bytes, wanted: str) -> None:
    assert last_line(said) == wanted


def test_a_line_that_is_printed_is_short_and_moves_no_terminal() -> None:
    assert fit_to_print("\x1b]0;owned\x07 a\x9bb \u202ec\u2028d") == "]0;owned  a b  c d"
    assert len(fit_to_print("x" * 10_000)) == MAX_CHARS
    assert fit_to_print("at /home/me/x.py", home=Path("/home/me")) == "at ~/x.py"
    assert fit_to_print("at /x.py", home=Path("/")) == "at /x.py"
