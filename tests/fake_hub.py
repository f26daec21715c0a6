"""A loopback server that speaks the Hub's HTTP protocol as far as publishing a dataset needs it."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Hub:
    """What the server holds: commits in order (files by path), tags, uploaded objects, and what was asked of it."""

    token: str = "hf_test"
    url: str = ""
    repos: set[str] = field(default_factory=set)
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    corrupt: str | None = None
    """A path whose bytes read back wrong."""
    status: int | None = None
    """What every request is answered with, once it is set."""
    public: bool = False
    """Whether reading needs no token."""
    dies_at: int | None = None
    """The number of the request, from 0, at which the connection breaks, as do all after it."""
    answers_first: bool = False
    """Whether that request is still carried out, and only its answer lost."""
    stumbles: int | None = None
    """The status with which each different request is answered the first time."""
    xet_status: int | None = None
    """The status of its answer to the question for a Xet token; None: 200, with a page that is not a token."""
    messages: list[str] = field(default_factory=list)
    lfs: set[str] = field(default_factory=set)
    """Paths in large-file storage."""

    def files(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        oid = self.tags.get(revision, revision)
        if revision == "main":
            return self.commits[-1]
        return next(((found, files) for found, files in self.commits if found == oid), None)

    def commit(self, lines: list[dict[str, Any]]) -> str:
        files = dict(self.commits[-1][1])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.objects[value["oid"]]
                self.lfs.add(value["path"])
            elif line["key"] == "header":
                self.messages.append(value["summary"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        oid = hashlib.sha1(f"{len(self.commits)}".encode()).hexdigest()
        self.commits.append((oid, files))
        return oid


class Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _is_cut = False

    def log_message(self, *_: Any) -> None:
        return

    def _send(
        self, value: Any = None, status: int = 200, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> None:
        data = json.dumps(value).encode() if value is not None else body
        if self._is_cut:
            self.close_connection = True
            return
        self.send_response(status)
        for name, said in (headers or {}).items():
            self.send_header(name, said)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _serve(self) -> None:
        path, body = unquote(urlsplit(self.path).path), self._body()
        asked = f"{self.command} {path}"
        number, is_new = len(self.hub.requests), asked not in self.hub.requests
        self.hub.requests.append(asked)
        self._is_cut = self.hub.dies_at is not None and number >= self.hub.dies_at
        if self._is_cut and not (self.hub.answers_first and number == self.hub.dies_at):
            self.close_connection = True
        elif self.hub.stumbles is not None and is_new:
            self._send({"error": "later"}, self.hub.stumbles)
        elif self.hub.status is not None:
            self._send({"error": "no"}, self.hub.status)
        elif self.headers.get("Authorization") != f"Bearer {self.hub.token}" and not self._is_open(path):
            self._send({"error": "Invalid credentials"}, 401)
        else:
            self._answer(path, body)

    def _is_open(self, path: str) -> bool:
        reads = self.command in {"GET", "HEAD"} and "Authorization" not in self.headers
        return path.startswith("/upload/") or (self.hub.public and reads)

    def _listed(self, name: str, data: bytes) -> dict[str, Any]:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        listed: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": blob}
        if name in self.hub.lfs:
            listed["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return listed

    def _tree(self, files: dict[str, bytes], folder: str, recursive: bool) -> list[dict[str, Any]]:
        """What a folder holds: files and folders in it, or all files below it."""
        inside = {name: data for name, data in files.items() if not folder or name.startswith(f"{folder}/")}
        start = len(folder) + 1 if folder else 0
        folders = {name[: name.index("/", start)] for name in inside if "/" in name[start:]}
        listed = [self._listed(name, data) for name, data in inside.items() if recursive or "/" not in name[start:]]
        return listed + [{"type": "directory", "path": name, "oid": "0" * 40, "size": 0} for name in sorted(folders)]

    do_GET = do_HEAD = do_POST = do_PUT = _serve  # noqa: N815

    def _answer(self, path: str, body: bytes) -> None:  # noqa: C901 - one branch a route
        hub = self.hub
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            status = 409 if name in hub.repos else 200
            if not hub.repos:
                hub.commits.append(("0" * 40, {".gitattributes": b"*.parquet filter=lfs\n"}))
            hub.repos.add(name)
            self._send({"url": f"{hub.url}/datasets/{name}", "name": name}, status)
        elif path.startswith("/upload/"):
            hub.objects[path.removeprefix("/upload/")] = body
            self._send({})
        elif path.endswith("/refs"):
            tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": oid} for t, oid in hub.tags.items()]
            main = {"name": "main", "ref": "refs/heads/main", "targetCommit": hub.commits[-1][0]}
            self._send({"branches": [main], "converts": [], "tags": tags})
        elif "/xet-write-token/" in path and hub.xet_status is not None:
            token = {"casUrl": hub.url, "accessToken": "xet", "exp": 0} if hub.xet_status == 200 else {"error": "no"}
            self._send(token, hub.xet_status)
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            modes = [
                {
                    "path": file["path"],
                    "shouldIgnore": False,
                    "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular",
                }
                for file in files
            ]
            self._send({"files": modes})
        elif path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**item, "actions": {"upload": {"href": f"{hub.url}/upload/{item['oid']}"}}}
                for item in json.loads(body)["objects"]
            ]
            self._send({"transfer": "basic", "objects": objects})
        elif "/commit/" in path:
            lines = [json.loads(line) for line in body.splitlines() if line.strip()]
            parent = lines[0]["value"].get("parentCommit")
            if parent is not None and parent != hub.commits[-1][0]:
                self._send({"error": "The repository has moved on"}, 412)
                return
            oid = hub.commit(lines)
            repo = path.removeprefix("/api/datasets/").split("/commit/")[0]
            self._send({"commitUrl": f"{hub.url}/datasets/{repo}/commit/{oid}", "commitOid": oid})
        elif "/tag/" in path:
            hub.tags[json.loads(body)["tag"]] = path.rsplit("/", 1)[1]
            self._send({})
        elif "/tree/" in path:
            revision, _, folder = path.rsplit("/tree/", 1)[1].strip("/").partition("/")
            found = hub.files(revision)
            self._send(self._tree({} if found is None else found[1], folder, "recursive=true" in self.path.lower()))
        elif "/resolve/" in path:
            revision, _, name = path.split("/resolve/", 1)[1].partition("/")
            found = hub.files(revision)
            if found is None or name not in found[1]:
                self._send({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
                return
            data = found[1][name] + (b"!" if name == hub.corrupt else b"")
            etag = hashlib.sha256(data).hexdigest()
            self._send(body=data, headers={"X-Repo-Commit": found[0], "ETag": f'"{etag}"'})
        else:
            name = path.removeprefix("/api/datasets/").split("/revision/")[0]
            siblings = [{"rfilename": file} for file in hub.commits[-1][1]]
            self._send({"id": name, "sha": hub.commits[-1][0], "siblings": siblings, "private": False, "tags": []})


@contextmanager
def serving_hub() -> Iterator[Hub]:
    """A hub on a free port of 127.0.0.1."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
