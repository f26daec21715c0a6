"""Inside the sandbox: pass connections from the loopback's port on to the proxy's socket, then become the system.

It is run as `python -I -S bridge.py COMMAND...` with the standard library alone. The port is bound before the command
starts, so that the system finds it; the passing is done by a process below process 1, which ends with the sandbox.
"""

import contextlib
import errno
import os
import selectors
import socket
import sys

PLACE = "/network/proxy"
PORT = 3128
_CHUNK = 65_536
_MAX_WAITING = 1 << 18


class _Link:
    """One end of a connection, and the bytes that wait to be written to it."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.waiting = bytearray()
        self.other = self
        self.has_ended = False
        self.is_closed = False

    def events(self) -> int:
        """What to wait for: bytes to read while the other end takes them, room to write while bytes wait."""
        reads = not self.has_ended and len(self.other.waiting) < _MAX_WAITING
        return (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if self.waiting else 0)

    def read(self) -> None:
        """Take what has arrived; at its end, the other side is told once it has everything."""
        chunk = self.end.recv(_CHUNK)
        self.other.waiting += chunk
        self.has_ended = not chunk

    def write(self) -> None:
        """Send what waits, and the end if the other side has ended."""
        if self.waiting:
            del self.waiting[: self.end.send(self.waiting)]
        if self.other.has_ended and not self.waiting and not self.is_closed:
            self.end.shutdown(socket.SHUT_WR)
            self.is_closed = True


def _join(selector: selectors.BaseSelector, server: socket.socket) -> None:
    """Accept a connection and open its way to the proxy."""
    client, _ = server.accept()
    upstream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        upstream.connect(PLACE)
    except OSError:
        client.close()
        upstream.close()
        return
    near, far = _Link(client), _Link(upstream)
    near.other, far.other = far, near
    for link in (near, far):
        link.end.setblocking(False)
        selector.register(link.end, selectors.EVENT_READ, link)


def _turn(selector: selectors.BaseSelector, link: _Link, ready: int) -> None:
    """Read and write what is possible on one end; close both once they have ended or one breaks."""
    pair = (link, link.other)
    try:
        if ready & selectors.EVENT_READ:
            link.read()
        for one in pair:
            with contextlib.suppress(BlockingIOError):
                one.write()
    except BlockingIOError:
        return
    except OSError:
        link.is_closed = link.other.is_closed = True
    done = all(one.is_closed for one in pair)
    for one in pair:
        if done or not one.events():
            with contextlib.suppress(KeyError):
                selector.unregister(one.end)
        elif one.end in selector.get_map():
            selector.modify(one.end, one.events(), one)
        else:
            selector.register(one.end, one.events(), one)
    if done:
        for one in pair:
            one.end.close()


def pass_on(server: socket.socket) -> None:
    """Serve connections until the sandbox ends."""
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, ready in selector.select():
                if key.data is None:
                    _join(selector, server)
                elif not (key.data.is_closed and key.data.other.is_closed):  # by the other end in this round
                    _turn(selector, key.data, ready)


def _become_daemon(server: socket.socket) -> None:
    """Fork twice, so that the system has no child that it did not start, and leave its pipes alone."""
    if os.fork():
        os.wait()
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    kept = os.dup(server.fileno())
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, kept)
    os.closerange(kept + 1, 1_024)
    pass_on(socket.socket(fileno=kept))


def main() -> None:
    """Bind the port, start the passing, and run the command in this process."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", PORT))
    server.listen(64)
    _become_daemon(server)
    server.close()
    command = sys.argv[1:]
    try:
        os.execvp(command[0], command)  # noqa: S606 - the submission's command, in the sandbox
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script without a first line, which a shell would run too
            os.execv("/bin/sh", ["sh", *command])  # noqa: S606
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
