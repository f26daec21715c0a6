"""Systems that answer well and at certain questions do the worst they can, once.

What they do depends on the question's text, since after a fault they are started anew and remember nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from edu_rag.scorecard.card import Prediction
from harness.running.task import asking_order

_HEAD = """
import ctypes, json, os, resource, signal, sys, threading, time
MARK = sys.argv[1]
def say(**values):
    sys.stdout.write(json.dumps(values) + "\\n")
    sys.stdout.flush()
def raw(line):
    sys.stdout.buffer.write(line if isinstance(line, bytes) else line.encode())
    sys.stdout.flush()
"""
_LOOP = """
last = "0123456789abcdef"
for line in sys.stdin:
    q = json.loads(line)
    fault = FAULTS.get(q["text"])
    if fault is None or fault(q) is not True:
        say(id=q["id"], answer="b")
    last = q["id"]
"""


@dataclass(frozen=True)
class Hostile:
    """`fault` is the body of a function of the question `q`; True from it means that nothing more is to be said.

    `statuses` are fitting ones ("ok" where the fault may do no harm), and the reason must match `reason`.
    `shows_later`: the question itself is answered, and what comes after costs the next one.
    """

    fault: str
    statuses: frozenset[str]
    reason: str = ""
    shows_later: bool = False


def _h(statuses: str, reason: str, fault: str, *, later: bool = False) -> Hostile:
    return Hostile(fault, frozenset(statuses.split()), reason, later)


_EXIT = "exit code|signal|closed its output"
_LATE = "no answer within"
HOSTILE: Mapping[str, Hostile] = {
    # time
    "spins": _h("timeout", _LATE + "|CPU", "while True: pass"),
    "spins on many threads": _h(
        "timeout crash",
        _LATE + "|CPU",
        "for _ in range(8): threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()\ntime.sleep(600)",
    ),
    "sleeps": _h("timeout", _LATE, "time.sleep(600)"),
    "stops itself": _h("timeout", _LATE, "os.kill(os.getpid(), signal.SIGSTOP)"),
    "ignores every signal": _h(
        "timeout",
        _LATE,
        "for n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)",
    ),
    "writes half a line and hangs": _h("timeout", _LATE, """raw('{"id": "' + q["id"]); time.sleep(600)"""),
    "answers byte by byte": _h(
        "timeout",
        _LATE,
        """for byte in json.dumps({"id": q["id"], "answer": "b"}): raw(byte); time.sleep(0.2)""",
    ),
    "answers with an old id": _h("timeout", _LATE, 'say(id=last, answer="a"); time.sleep(600)'),
    # memory, processes, disk
    "takes all memory": _h(
        "crash timeout",
        "^the memory cap of .* was reached$|" + _LATE,
        "held = []\nwhile True: held.append(b'x' * (64 << 20))",
    ),
    "forks without end": _h(
        "crash timeout",
        "process|" + _LATE + "|" + _EXIT,
        "while True:\n    try: os.fork()\n    except OSError: pass",
    ),
    "starts threads without end": _h(
        "crash timeout",
        "process|thread|" + _LATE + "|" + _EXIT,
        "while True: threading.Thread(target=time.sleep, args=(600,)).start()",
    ),
    "leaves a daemon that keeps the pipes": _h(
        "crash timeout",
        _EXIT + "|" + _LATE,
        "if os.fork():\n    os._exit(0)\nos.setsid()\nif os.fork():\n    os._exit(0)\n"
        "os.execv(sys.executable, ['python', '-c', 'import time; time.sleep(600)', MARK])",
    ),
    "leaves a daemon and answers": _h(
        "ok",
        "",
        "if os.fork() == 0:\n    os.setsid(); os.closerange(0, 3)\n"
        "    os.execv(sys.executable, ['python', '-c', 'import time; time.sleep(600)', MARK])",
    ),
    "leaves zombies": _h(
        "ok",
        "",
        "for _ in range(30):\n    if os.fork() == 0: os._exit(0)",
    ),
    "fills its disk": _h(
        "crash",
        "No space|Errno|" + _EXIT,
        "n = 0\nwhile True:\n    n += 1\n    with open(f'/tmp/{n}', 'wb') as f: f.write(b'x' * (8 << 20))",
    ),
    "opens files without end": _h(
        "crash",
        "Too many open files|" + _EXIT,
        "held = []\nwhile True: held.append(open('/dev/null'))",
    ),
    "takes its own rights away": _h(
        "crash timeout",
        _EXIT + "|" + _LATE + "|memory",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); resource.setrlimit(resource.RLIMIT_AS, (1, 1))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (1, 1)); held = [object() for _ in range(10**8)]",
    ),
    "changes its own program": _h("crash", "Read-only|Errno|" + _EXIT, "open(__file__, 'a').write('#')"),
    # output
    "floods stdout with lines": _h("output_cap protocol", "bytes|JSON", "while True: raw(b'x' * 200 + b'\\n')"),
    "floods stdout without a line": _h("output_cap", "bytes", "while True: raw(b'x' * 65536)"),
    "floods stdout with answers": _h(
        "output_cap",
        "bytes",
        "while True: say(id=q['id'], answer='b')",
        later=True,
    ),
    "floods stdout with empty lines": _h("output_cap protocol", "bytes|JSON", "while True: raw(b'\\n' * 65536)"),
    "floods stderr": _h("timeout crash output_cap", f"{_LATE}|of CPU time", "while True: os.write(2, b'e' * 65536)"),
    "floods stderr and answers": _h("ok", "", "for _ in range(200): os.write(2, b'e' * 65535 + b'\\n')"),
    "says two lines": _h("ok", "", "say(id=q['id'], answer='b'); say(id=q['id'], answer='a'); return True"),
    "says a large answer": _h(
        "ok protocol output_cap",
        "",
        "say(id=q['id'], answer='b', response='x' * 900_000); return True",
    ),
    # form
    "says NaN": _h(
        "protocol",
        "NaN|JSON",
        """raw('{"id": "' + q["id"] + '", "answer": "b", "confidence": NaN}\\n'); return True""",
    ),
    "says Infinity": _h(
        "protocol",
        "Infinity|JSON",
        """raw('{"id": "' + q["id"] + '", "answer": "b", "confidence": -Infinity}\\n'); return True""",
    ),
    "says a number beyond all floats": _h(
        "protocol",
        "confidence|number|JSON|infinite|range",
        """raw('{"id": "' + q["id"] + '", "answer": "b", "confidence": 1e999}\\n'); return True""",
    ),
    "says a huge integer": _h(
        "protocol",
        "integer|digits|number|JSON|range|input_tokens",
        """raw('{"id": "' + q["id"] + '", "answer": "b", "input_tokens": ' + "9" * 20_000 + '}\\n'); return True""",
    ),
    "says 10,000 brackets": _h(
        "protocol",
        "nest|deep|depth|JSON",
        """raw('{"id": "' + q["id"] + '", "answer": ' + "[" * 10_000 + "]" * 10_000 + '}\\n'); return True""",
    ),
    "says a wrong id": _h("protocol", "id", "say(id='0123456789abcdef', answer='b'); return True"),
    "says no id": _h("protocol", "id", "say(answer='b'); return True"),
    "says an id that is no text": _h("protocol", "id", "say(id=[q['id']], answer='b'); return True"),
    "answers ahead": _h(
        "protocol",
        "id",
        "for i in range(8): say(id=f'q{i:03}', answer='a')\n"
        "for i in range(8): say(id=f'{int(q[\"id\"], 16) + i + 1:016x}', answer='a')\nreturn True",
    ),
    "says bad UTF-8": _h(
        "protocol",
        "UTF-8|utf|JSON",
        """raw(b'{"id": "' + q["id"].encode() + b'", "answer": "\\xff\\xfe"}\\n'); return True""",
    ),
    "says UTF-16": _h(
        "protocol",
        "JSON|UTF|utf",
        """raw(json.dumps({"id": q["id"], "answer": "b"}).encode("utf-16") + b"\\n"); return True""",
    ),
    "says NUL bytes": _h(
        "protocol",
        "JSON|control",
        """raw(b'{"id": "' + q["id"].encode() + b'", "answer": "b\\0"}\\n'); return True""",
    ),
    "says half a character": _h(
        "protocol",
        "surrogate|character|JSON|UTF",
        """raw('{"id": "' + q["id"] + '", "answer": "\\\\ud800"}\\n'); return True""",
    ),
    "says a key twice": _h(
        "protocol",
        "twice|duplicate|JSON|repeated",
        """raw('{"id": "' + q["id"] + '", "answer": "a", "answer": "b"}\\n'); return True""",
    ),
    "says unknown fields": _h(
        "protocol",
        "outcome|unknown|field",
        "say(id=q['id'], answer='b', outcome='correct'); return True",
    ),
    "says what only we may say": _h(
        "protocol",
        "status|harness",
        "say(id=q['id'], answer='b', status='ok'); return True",
    ),
    "says wrong types": _h("protocol", "answer|type|str", "say(id=q['id'], answer={'b': 1}); return True"),
    "says no object": _h("protocol", "id|object|JSON", "raw('[1, 2]\\n'); return True"),
    "says escapes of a terminal": _h("protocol", "JSON|id", "raw(b'\\x1b]0;owned\\x07\\x1b[2J\\n'); return True"),
    # ends
    "exits with 0": _h("crash", "exit code 0", "os._exit(0)"),
    "exits with 3": _h("crash", "exit code 3", "os._exit(3)"),
    "raises": _h("crash", "exit code 1", "raise RuntimeError('no')"),
    "aborts": _h("crash", "signal 6", "os.abort()"),
    "reads where nothing is": _h("crash", "signal 11", "ctypes.string_at(0)"),
    "kills itself": _h("crash", "signal 9", "os.kill(os.getpid(), signal.SIGKILL)"),
    "closes stdout": _h("crash timeout", "closed its output|" + _LATE, "os.close(1); time.sleep(600)"),
    "closes stdin": _h("crash", _EXIT, "os.close(0)", later=True),
    "closes everything": _h("crash timeout", "closed its output|" + _LATE, "os.closerange(0, 1024); time.sleep(600)"),
    "signals its group and its parents": _h(
        "crash ok timeout",
        _EXIT + "|^$|" + _LATE,
        "assert os.getcwd() == '/app', 'only in the sandbox'\n"
        "for pid in (os.getppid(), 1, 0, -1):\n    for number in (signal.SIGTERM, signal.SIGKILL):\n"
        "        try: os.kill(pid, number)\n        except OSError: pass",
    ),
    "leaves its session": _h("timeout", _LATE, "if os.fork(): time.sleep(600)\nos.setsid(); time.sleep(600)"),
}


def text_at(position: int) -> str:
    """The text of the question that is asked at a position, from 0 on."""
    return f"Question number {position + 1}?"


def exam(folder: Path, n: int) -> Dataset:
    """A dataset of n questions with the answer b, whose texts number them in the order in which they are asked."""
    choices = {"a": "meiosis", "b": "mitosis", "c": "osmosis"}
    blank = [
        Question(question_id=f"q{i:03}", text="?", choices=choices, kind="multiple_choice", split="test")
        for i in range(n)
    ]
    questions = [
        Question(question_id=q.question_id, text=text_at(i), choices=choices, kind=q.kind, split="test")
        for i, q in enumerate(asking_order(blank, 0))
    ]
    golds = [Gold(question_id=question.question_id, answer="b") for question in questions]
    write_dataset(
        folder,
        {"questions": {"test": questions}, "gold": {"test": golds}},
        name="tiny",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# tiny\n"},
    )
    return Dataset(folder)


def in_order(dataset: Dataset, predictions: Mapping[str, Prediction]) -> list[Prediction]:
    """The predictions in the order in which the questions were asked."""
    return [predictions[question.question_id] for question in asking_order(dataset.questions("test"), 0)]


def write_hostile(place: Path, faults: Mapping[int, str], mark: str) -> Path:
    """A submission that is hostile at certain positions; `mark` is among the words of each process that it leaves."""
    place.mkdir(parents=True)
    functions, table = [], []
    for position, name in faults.items():
        body = "".join(f"    {line}\n" for line in HOSTILE[name].fault.strip("\n").split("\n"))
        functions.append(f"def fault_{position}(q):\n{body}")
        table.append(f"{text_at(position)!r}: fault_{position}")
    code = _HEAD + "".join(functions) + f"FAULTS = {{{', '.join(table)}}}\n" + _LOOP
    (place / "system.py").write_text(code)
    words = f'["python", "system.py", "{mark}"]'
    (place / "submission.toml").write_text(f'name = "Hostile"\nteam = "strangers"\ncommand = {words}\n')
    return place


def slug_of(name: str) -> str:
    """A folder's name for a hostile system."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]


def mistreated(faults: Mapping[int, str], said: Sequence[Prediction]) -> list[str]:
    """What is wrong with how hostile questions were treated: other statuses, reasons, other questions that suffered."""
    wrong = []
    culprits = {i + HOSTILE[name].shows_later: name for i, name in faults.items()}
    for i, prediction in enumerate(said):
        told = f"{culprits.get(i, 'an honest answer')}: {prediction.status}: {(prediction.response or '')[:300]!r}"
        if i not in culprits:
            if (prediction.status, prediction.answer) != ("ok", "b"):
                wrong.append(f"question {i + 1} suffered: {told}")
        elif prediction.status not in HOSTILE[culprits[i]].statuses:
            wrong.append(f"no fitting status: {told}")
        elif prediction.status != "ok" and not re.search(HOSTILE[culprits[i]].reason, prediction.response or ""):
            wrong.append(f"the reason does not name the cause: {told}")
    return wrong
