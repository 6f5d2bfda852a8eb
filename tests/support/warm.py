"""The commands, run by forks of one process that has imported what is heavy already.

A stand-in for each launcher hands its arguments, folder, environment and standard streams over a
socket, and ends as the fork does.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console import BIN, scripts

STAND_IN = """#!{python} -ISB
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
server.sendall(request)
code = server.recv(4)
server.recv(1)  # nothing: the fork has ended
os._exit(int(code or b"1"))
"""


@contextmanager
def warm(folder: Path) -> Iterator[Path]:
    """Start the process, and make a folder of stand-ins for ``PATH``."""
    address = str(folder / "socket")
    for name in scripts():
        (folder / name).write_text(STAND_IN.format(python=sys.executable, address=address))
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(BIN.parent), str(Path(__file__).parent)])
    line = [sys.executable, __file__, address]
    server = subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    with server:
        assert server.stdout is not None and server.stdout.readline() == b"ready\n"
        yield folder
        server.terminate()


def serve(address: str) -> None:
    """Answer each request in a fork; ``WARM`` names modules to import besides."""
    import bitextfilter.scoring.model
    import bitextfilter.training.encoder_training  # noqa: F401

    for name in os.environ.get("WARM", "").split():
        importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no fork is waited for
    print("ready", flush=True)  # noqa: T201
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            code = answer(client)
            client.sendall(str(code).encode())
            os._exit(code)
        client.close()


def answer(client: socket.socket) -> int:
    """Run what is asked for, and return its exit code."""
    size, streams, _, _ = socket.recv_fds(client, 4, 3)
    left, request = int.from_bytes(size, "big"), b""
    while len(request) < left:
        request += client.recv(left - len(request))
    words, folder, environment = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(BIN / words[0]), *words[1:]]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
