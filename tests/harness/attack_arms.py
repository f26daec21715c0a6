"""Ways to run the attacks in a world, and whether the world agrees with what an attack says that it did."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attack_world import CAPS, PRIVATE, World, as_user, marked_processes, python_for


@dataclass(frozen=True)
class Arm:
    """A way to run a system: words before the command, or ours. `apart` says that it has processes of its own."""

    words: Sequence[str] = ()
    ours: bool = False
    apart: bool = False
    python: str = ""


def arms() -> dict[str, Arm]:
    """What is commonly done, and ours."""
    # Nobody in all but number: limits on processes count by user, and sandboxes beside us run as nobody.
    drop = as_user(65_533, [])
    limits = [
        "prlimit",
        f"--as={CAPS['memory_bytes']}",
        f"--nproc={CAPS['n_processes']}",
        f"--fsize={CAPS['file_bytes']}",
        f"--nofile={CAPS['n_files']}",
    ]
    return {
        "plain subprocess": Arm(),
        "nobody + rlimits": Arm([*drop, *limits], python=(python_for(65_533) or [""])[0]),
        "unshare": Arm(
            [
                "unshare",
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--kill-child",
                "--net",
                "--mount",
                "--mount-proc",
                "--ipc",
            ],
            apart=True,
        ),
        "usual bwrap line": Arm(
            ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent"],
            apart=True,
        ),
        "ours": Arm(ours=True, apart=True),
    }


def _start(world: World, arm: Arm, names: Sequence[str], errors: Any) -> subprocess.Popen[bytes]:
    """The caller, with a terminal of its own and secrets on it, waiting for a line."""
    import fcntl
    import pty
    import termios

    settings = {
        "attacks": list(names),
        "words": [*arm.words, arm.python or world.python, "system.py"],
        "said": str(world.folder / "said"),
        "submission": world.targets["submission"],
        "dataset": world.targets["dataset"],
        "caps": dict(CAPS),
        "secret": world.targets["secret"],
    }
    path = world.folder / "settings.json"
    path.write_text(json.dumps(settings))
    path.chmod(0o644)
    caller = Path(world.targets["repository"], "tests", "harness", "attack_callers.py")
    words = as_user(world.uid, [world.python, str(caller), "ours" if arm.ours else "plain", str(path)])
    held = os.open(world.targets["secret"], os.O_RDONLY)
    master, terminal = pty.openpty()
    world.stack.callback(os.close, master)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": world.targets["home"],
        "EDU_RAG_SECRET": world.new_canary(),
        "PYTHONPATH": ":".join(filter(None, (world.targets["repository"], world.packages))),
        "TMPDIR": str(world.folder / "tmp"),
        "EDU_RAG_CACHE": str(world.folder / "home" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_SESSION": world.new_canary(),
    }
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            env=environment,
            cwd=world.folder / "desk",
            pass_fds=[held, terminal],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - takes no lock
        )
    finally:
        os.close(held)
        os.close(terminal)


def run_attacks(world: World, arm: Arm, names: Sequence[str], limit_s: float = 300) -> dict[str, dict[str, Any]]:
    """Run the attacks in one arm; what each said, by name, with `success` as the world saw it."""
    said_path, output = world.folder / "said", world.folder / "output"
    with output.open("wb") as stream:
        process = _start(world, arm, names, stream)
    targets = world.targets | {"pids": [world.targets["victim"], process.pid], "only_known": not arm.apart}
    if not arm.apart:
        targets["walk"] = str(world.folder)
    path = Path(world.targets["submission"], "targets.json")
    path.write_text(json.dumps(targets))
    path.chmod(0o644)
    try:
        process.communicate(b"go\n", timeout=limit_s)
    finally:
        process.kill()
        process.wait()
    if not said_path.is_file():
        raise RuntimeError(f"the caller ended with {process.returncode}: {output.read_text()[-2000:]}")
    said: dict[str, dict[str, Any]] = json.loads(said_path.read_text())
    time.sleep(0.2)  # a daemon that is being ended
    judged = {name: _judged(world, name, said.get(name, {"ended": "nothing was said"})) for name in names}
    return judged | {"caps": said.get("caps", {})}


def _judged(world: World, name: str, said: dict[str, Any]) -> dict[str, Any]:
    evidence = said.get("evidence")
    return said | {"success": bool(evidence) and _confirmed(world, name, str(evidence))}


def _confirmed(world: World, name: str, evidence: str) -> bool:
    """Whether the world agrees with what an attack says that it did."""
    looks: Mapping[str, Callable[[], bool]] = {
        "signal_other_processes": (world.folder / "victim.note").is_file,
        "daemon": lambda: any(words.endswith("daemon ") for _, words in marked_processes(world.mark)),
        "daemon_that_keeps_the_pipes": lambda: any(w.endswith("pipes ") for _, w in marked_processes(world.mark)),
        "write_to_the_harness_output": lambda: "INJECTED" in (world.folder / "output").read_text(errors="replace"),
    }
    if name in looks:
        return looks[name]()
    if name.startswith("write_") and (path := evidence.removeprefix("wrote ")).startswith(PRIVATE):
        return Path(path).exists()
    if evidence.startswith("sha256 "):
        return evidence == "sha256 " + hashlib.sha256(Path(world.targets["gold"]).read_bytes()).hexdigest()
    told = re.findall(r"CANARY-[0-9a-f]{32}", evidence)
    return all(one in world.canaries for one in told)
