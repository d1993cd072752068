"""Starts programs and Redis servers in a folder of the run, and ends them again."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

# What a verb of a peer may take at most.
LIMIT_SECONDS = 120


class Failure(Exception):
    """A program did not do what it was started for."""


def environment():
    """Nothing of the caller's that could set up a peer in another way."""
    kept = ("PATH", "HOME", "LANG", "CARGO_HOME", "RUSTUP_HOME")
    return {name: os.environ[name] for name in kept if name in os.environ}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Program:
    """A process that prints one JSON object a line, in a process group of its own."""

    def __init__(self, name, command, folder):
        self.name = name
        self.log = pathlib.Path(folder) / f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], cwd=folder, env=environment(), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def line(self):
        """The next object that it prints."""
        previous = signal.signal(signal.SIGALRM, self._too_long)
        signal.alarm(LIMIT_SECONDS)
        try:
            line = self.process.stdout.readline()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)
        if not line:
            raise Failure(f"{self.name} ended without a report\n{self.tail()}")
        return json.loads(line)

    def _too_long(self, *_):
        raise Failure(f"{self.name} said nothing for {LIMIT_SECONDS} s\n{self.tail()}")

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])

    def end(self):
        """Ends it and what it started."""
        for kind in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, kind)
            except ProcessLookupError:
                break
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue
        self.process.wait()
        self.process.stdout.close()


class Redis:
    """A Redis server of our own, empty, on a free port."""

    def __init__(self, folder, appends):
        self.folder = pathlib.Path(folder) / f"redis-{time.monotonic_ns()}"
        self.appends = appends

    def __enter__(self):
        self.folder.mkdir()
        port = free_port()
        self.url = f"redis://127.0.0.1:{port}/0"
        command = ["redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", self.folder,
                   "--appendonly", "yes" if self.appends else "no", "--appendfsync", "everysec"]
        self.program = Program("redis-server", command, self.folder)
        try:
            until(lambda: self._process_id(port) == self.program.process.pid, "our redis-server does not answer")
        except BaseException:
            self.program.end()
            raise
        return self.url

    def __exit__(self, *_):
        self.program.end()

    def _process_id(self, port):
        """Of the server that answers there: another program may have taken the port."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"INFO server\r\n")
                answer = connection.recv(65536).decode()
        except OSError:
            return None
        lines = (line for line in answer.splitlines() if line.startswith("process_id:"))
        return int(next(lines, "process_id:0").split(":")[1])


class SqliteFile:
    """The path of a database that does not exist yet, in a folder of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / f"sqlite-{time.monotonic_ns()}"

    def __enter__(self):
        self.folder.mkdir()
        return f"sqlite://{self.folder / 'bench.db'}"

    def __exit__(self, *_):
        for file in self.folder.iterdir():
            file.unlink()


def answers(url):
    """Whether an HTTP server answers there."""
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except OSError:
        return False


def until(holds, complaint):
    """Waits for a condition, up to 20 s."""
    deadline = time.monotonic() + 20
    while not holds():
        if time.monotonic() > deadline:
            raise Failure(complaint)
        time.sleep(0.01)
