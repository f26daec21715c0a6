"""One run of environment_attacker.py in the sandbox, and what the world outside saw of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_wheels import pin, wheel

from edu_rag.files.dataset import Dataset
from edu_rag.files.dataset_writer import write_dataset
from edu_rag.gold import Gold
from edu_rag.records import Question
from harness.named_network.forward_proxy import NetworkGrant
from harness.named_network.named_host import NamedHost
from harness.own_packages.requirements_file import PinnedPackage
from harness.running.run import Manner, run_submission
from harness.sandbox.caps import Caps
from harness.submission.folder import Limits, open_submission

HOST, PUBLIC, KEY = "api.example.org", "93.184.215.14", "sk-0123456789abcdef/XYZ"
_HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 27\r\nConnection: close\r\n\r\nhello from the granted host"


@dataclass(frozen=True)
class Attacked:
    """What the system found (`response`), what was dialled, every text that was left, and the file of its code."""

    response: dict[str, Any]
    dialled: list[tuple[str, int]]
    written: dict[str, str]
    canary: Path


def _certificate(folder: Path) -> tuple[Path, Path]:
    key, made = folder / "key.pem", folder / "certificate.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    done = ["-keyout", str(key), "-out", str(made)]
    subprocess.run(["openssl", *words, *names, *done], capture_output=True, check=True)
    return made, key


def _serve(end: socket.socket, context: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError), context.wrap_socket(end, server_side=True) as link:
        link.recv(65_536)
        link.sendall(_HELLO)


def _dataset(folder: Path, n: int) -> Dataset:
    questions = [
        Question(
            question_id=f"q{i}", text=f"Question {i}?", choices={"a": "yes", "b": "no"}, kind="true_false", split="test"
        )
        for i in range(n)
    ]
    tables: dict[str, dict[str, Sequence[object]]] = {
        "questions": {"test": questions},
        "gold": {"test": [Gold(question_id=question.question_id, answer="a") for question in questions]},
    }
    write_dataset(
        folder,
        tables,
        name="inside",
        version="1.0.0",
        created_at="2000-01-01T00:00:00Z",
        builder="test",
        config_sha256="0" * 64,
        sources={},
        documents=lambda folder, files: {"README.md": b"# inside\n"},
    )
    return Dataset(folder)


def _submission(folder: Path, code: str, certificate: Path) -> tuple[Path, Path]:
    """A submission whose package would write the canary if any of its code ran here."""
    system = folder / "submissions" / "attacker"
    system.mkdir(parents=True)
    inside = f"import sys\nsys.attacked = 'before the command'\n{code}"
    made = wheel(
        folder / "index",
        "shiny",
        {
            "shiny/__init__.py": f"CERTIFICATE = {certificate.read_text()!r}\n",
            "shiny.pth": f"import sys; exec({inside!r})\n",
            "sitecustomize.py": inside,
            "usercustomize.py": inside,
            "shiny-1.0.data/scripts/python": f"#!/bin/sh\n{code}",
            "shiny-1.0.dist-info/entry_points.txt": "[console_scripts]\nshiny-command = shiny:run\npip = shiny:run\n",
        },
    )
    (system / "requirements.txt").write_text(pin(made))
    settings = ['name = "A"', 'team = "t"', 'command = ["python", "system.py"]']
    settings += ["[environment]", 'requirements = "requirements.txt"', "[network]", f'allow = ["{HOST}"]', ""]
    (system / "submission.toml").write_text("\n".join(settings))
    shutil.copy(Path(__file__).with_name("environment_attacker.py"), system / "system.py")
    return system, made


def attack_from_inside(folder: Path) -> Attacked:
    """Run it, and collect what it said and what is left."""
    certificate, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    canary = folder / "canary"
    system, made = _submission(folder, f"open({str(canary)!r}, 'w')\n", certificate)
    dialled: list[tuple[str, int]] = []

    def dial(address: str, port: int) -> socket.socket:
        dialled.append((address, port))
        ours, theirs = socket.socketpair()
        threading.Thread(target=_serve, args=(theirs, context), daemon=True).start()
        return ours

    def fetch(pins: Sequence[PinnedPackage], into: Path, file: Path, most: int) -> None:
        shutil.copy(made, into)

    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        other = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        name = f"\0edu-rag-{secrets.token_hex(8)}"
        other.bind(name)
        other.listen()
        targets = {"port": server.getsockname()[1], "address": _own_address(), "socket": name}
        environment = {**os.environ, "EDU_RAG_LLM_KEY": KEY, "OTHER_KEY": "other", "PIP_INDEX_URL": "x"}
        manner = Manner(
            limits=Limits(time_s=60, start_s=60),
            environment={**environment, "EDU_RAG_TARGETS": json.dumps(targets)},
            passed=("EDU_RAG_LLM_KEY",),
            caps=Caps(),
            network=NetworkGrant(hosts=(NamedHost(HOST, 443),), lookup=lambda _: [PUBLIC], dial=dial),
            fetch=fetch,
        )
        said = stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        path = run_submission(open_submission(system), _dataset(folder / "dataset", 7), "test", None, manner)
    written = {one.name: one.read_text(errors="replace") for one in path.parent.iterdir()}
    rows = [json.loads(line) for line in written["test.jsonl"].splitlines()]
    found = [json.loads(row["response"]) for row in rows if (row.get("response") or "").startswith('{"granted"')]
    return Attacked(
        found[0] if found else {"granted": str(rows)}, dialled, {**written, "messages": said.getvalue()}, canary
    )


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.2"
        return str(link.getsockname()[0])
