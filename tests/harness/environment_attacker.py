"""A system that attacks from inside, by its packages, its network and its key: it answers with what it found.

It runs in the sandbox with a granted host, a package `shiny`, and a key in EDU_RAG_LLM_KEY.
`response` holds, by attack, the evidence of success; `granted` is what the granted host said.
"""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import shiny

PROXY = ("127.0.0.1", 3128)


def _writes(path):
    with contextlib.suppress(OSError):
        Path(path).write_text("written")
        return f"wrote {path}"
    return None


def _reaches(family, kind, address):
    with contextlib.suppress(OSError), socket.socket(family, kind) as link:
        link.settimeout(1)
        link.connect(address)
        link.sendall(b"hello")
        return f"reached {address}: {link.recv(100)!r}"
    return None


def _through(target, greeting=b""):
    with contextlib.suppress(OSError), socket.create_connection(PROXY, 20) as link:
        link.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        said = link.recv(1_000)
        if b" 200 " in said:
            return f"{target}: {said!r}"
    return None


def _remounts(path):
    done = subprocess.run(["mount", "-o", "remount,rw", path], check=False, capture_output=True)
    return None if done.returncode else "remounted"


def _names():
    with contextlib.suppress(OSError):
        return f"resolved to {socket.getaddrinfo('api.example.org', 443)[0][4]}"
    return None


def granted():
    context = ssl.create_default_context(cadata=shiny.CERTIFICATE)
    opened = urllib.request.build_opener(urllib.request.ProxyHandler(), urllib.request.HTTPSHandler(context=context))
    with opened.open("https://api.example.org/", timeout=20) as answer:
        return answer.read().decode()


def attacks():
    outside = json.loads(os.environ["EDU_RAG_TARGETS"])
    return {
        "change_a_package": _writes(shiny.__file__),
        "add_a_package": _writes("/packages/json.py"),
        "make_a_package_writable": _remounts("/packages"),
        "replace_the_bridge": _writes("/network/bridge.py"),
        "add_to_the_proxys_folder": _writes("/network/other"),
        "run_before_the_command": getattr(sys, "attacked", None),
        "shadow_python_by_a_script": None if "/packages" not in (shutil.which("python") or "") else "shadowed",
        "run_a_command_of_a_package": shutil.which("shiny-command"),
        "reach_the_machines_loopback": _reaches(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", outside["port"])),
        "reach_the_machines_address": _reaches(
            socket.AF_INET, socket.SOCK_STREAM, (outside["address"], outside["port"])
        ),
        "reach_a_socket_of_the_machine": _reaches(socket.AF_UNIX, socket.SOCK_STREAM, outside["socket"]),
        "reach_a_name_server": _reaches(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
        "resolve_a_name_without_the_proxy": _names(),
        "reach_another_name": _through("evil.example:443"),
        "reach_the_loopback_by_the_proxy": _through(f"127.0.0.1:{outside['port']}"),
        "see_the_key_of_another": os.environ.get("OTHER_KEY"),
        "see_the_runners_index": next((name for name in os.environ if name.startswith("PIP_")), None),
    }


def _say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _answer(number, key):
    """The fields of an answer, or None for another kind of line."""
    if number == 0:
        return {"answer": "a", "response": json.dumps({"granted": granted(), **attacks()})}
    if number == 1:
        for part in (key[:5], key[5:], f" and {key}\n"):
            os.write(2, part.encode())
        return {"answer": key, "response": f"my key is {key}"}
    if number == 2:
        _say(f"not an answer {key}")
        return None
    if number == 3:
        return {"answer": "a", key: key}
    if number == 4:
        return {"answer": "a", "error": f"denied for {key}"}
    return sys.exit(f"401: invalid key {key}")


def main():
    for line in sys.stdin:
        question = json.loads(line)
        fields = _answer(int(question["text"].split()[1].rstrip("?")), os.environ["EDU_RAG_LLM_KEY"])
        if fields is not None:
            _say(json.dumps({"id": question["id"], **fields}))


main()
