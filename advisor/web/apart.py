"""The advisor in processes of its own, beside the page's: answers are worked out on other cores than the page is drawn on.

The page keeps Gradio and its visitors' connections; a child process keeps the stores and the agent. They speak over a local
socket that only the two of them can open; a call is (name, arguments) one way and its value, items or error the other. A
child ends when the page's process is gone, and is started anew where it ends before.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError, Unavailable
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from advisor.answer import Answer
    from advisor.reasoning.diagnose import Diagnosis
    from advisor.settings import Settings

log = logging.getLogger("advisor.web")

SHORT_LIFE_S = 10.0
LONGEST_PATH = 90
START_S = 30.0
"""Seconds that a call waits for a child that died to be there again."""
TRIES = 3
"""A child that ends within `SHORT_LIFE_S` this many times in a row is not started again."""
GONE = "The process that answers ended while it worked; it is started anew. Ask again."


class Apart:
    """Stands for an advisor whose work is done by `count` child processes. A conversation stays with one of them.

    Raises Unavailable where a child ended during a call; otherwise what the advisor itself raises.
    """

    def __init__(self, settings: Settings, count: int = 1):
        self.settings = settings
        self._children = [Child(settings) for _ in range(count)]
        self.offers, self.passages, self.engine = (Far(self, name) for name in ("offers", "passages", "engine"))

    def start(self) -> None:
        """Begin to start the children; returns at once."""
        for child in self._children:
            child.start()

    def close(self) -> None:
        """End the children."""
        for child in self._children:
            child.close()

    @property
    def is_open(self) -> bool:
        """True once every child has opened its stores, or knows that it cannot."""
        return all(child.is_open for child in self._children)

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        """What `name` (dotted, from the advisor) gives for the arguments in one of the children."""
        return random.choice(self._children).call(name, *args, **options)

    def ask(self, question: str, thread: str | None = None, lang: Any = "auto", **edited: Any) -> Answer:
        """As `Advisor.ask`."""
        answer: Answer = self._of(thread).call("ask", question, thread, lang, **edited)
        return answer

    def stream(self, question: str, thread: str | None = None, lang: Any = "auto", **edited: Any) -> Iterator[Any]:
        """As `Advisor.stream`."""
        return self._of(thread).items("stream", question, thread, lang, **edited)

    def branch(self, thread: str, questions: Sequence[str]) -> str | None:
        """As `Advisor.branch`."""
        branched: str | None = self._of(thread).call("branch", thread, list(questions))
        return branched

    def diagnose(self, texts: Mapping[str, str], lang: Any = "en", instance_type: str | None = None) -> Diagnosis:
        """As `Advisor.diagnose`, worked out here: large files are read line by line and not sent along."""
        from advisor.reasoning.diagnose import diagnose

        lookup = self.offers.by_instance_type
        return diagnose(texts, lang=lang, instance_type=instance_type, offers_lookup=lookup)

    def health(self) -> dict[str, Any]:
        """As `Advisor.health`."""
        found: dict[str, Any] = self.call("health")
        return found

    def _of(self, thread: str | None) -> Child:
        if thread is None:
            return random.choice(self._children)
        return self._children[zlib.crc32(thread.encode()) % len(self._children)]


class Far:
    """A part of the advisor whose methods are called in a child."""

    def __init__(self, advisor: Apart, name: str):
        self._advisor, self._name = advisor, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **options: self._advisor.call(f"{self._name}.{name}", *args, **options)


class Child:
    """One child process and the connections to it."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._idle: list[Connection[Any, Any]] = []
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address: tuple[str, bytes] | None = None
        self._up = threading.Event()
        self._closed = False
        self._failure: str | None = None
        self.is_open = False

    def start(self) -> None:
        """Start it and keep it running; returns at once."""
        threading.Thread(target=self._keep, daemon=True, name="engine").start()

    def close(self) -> None:
        """End it: it ends when its standard input does."""
        self._closed = True
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        """The value of one call."""
        items = self.items(name, *args, **options)
        while True:
            try:
                next(items)
            except StopIteration as end:
                return end.value

    def items(self, name: str, *args: Any, **options: Any) -> Generator[Any, None, Any]:
        """What one call yields, and its value at the end. Leaving early ends it in the child too, at its next item."""
        connection = self._take()
        whole = False
        try:
            connection.send((name, args, options))
            while True:
                kind, value = connection.recv()
                if kind != "item":
                    whole = True
                    break
                yield value
        except (EOFError, OSError):
            raise Unavailable(GONE) from None
        finally:
            if whole:
                self._give(connection)
            else:
                connection.close()
        if kind == "error":
            raise value
        return value

    def _take(self) -> Connection[Any, Any]:
        """A connection. Waits for a child that is starting; one that has just died is started anew meanwhile."""
        end = time.monotonic() + START_S
        while True:
            self._up.wait()
            if self._failure is not None:
                raise Unavailable(self._failure)
            with self._lock:
                held = self._idle.pop() if self._idle else None
                address = self._address
            if held is not None:
                if not held.poll(0):
                    return held
                held.close()  # nothing was asked: what it has to say is that the other end is gone
                continue
            with contextlib.suppress(EOFError, OSError):
                if address is not None:
                    return Client(address[0], authkey=address[1])
            if self._closed or time.monotonic() > end:
                raise Unavailable(GONE)
            time.sleep(0.05)

    def _give(self, connection: Connection[Any, Any]) -> None:
        with self._lock:
            if self._up.is_set():
                self._idle.append(connection)
                return
        connection.close()

    def _keep(self) -> None:
        short = 0
        while not self._closed:
            began = time.monotonic()
            folder = _folder()
            try:
                code = self._run(Path(folder))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            if self._closed:
                return
            short = short + 1 if time.monotonic() - began < SHORT_LIFE_S else 0
            log.error("the process that answers ended by itself (status %s)", code)
            if short >= TRIES:
                self._failure = (
                    f"The process that answers ended {short} times as soon as it started (status {code}); see the log."
                )
                self.is_open = True
                self._up.set()
                return

    def _run(self, folder: Path) -> int:
        """Start the child, let calls in once it listens, and wait for its end; its exit status."""
        address = str(folder / "engine") if os.name != "nt" else rf"\\.\pipe\{folder.name}"
        key = os.urandom(32)
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            [sys.executable, "-m", "advisor.web.apart"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((self._settings, address, key), process.stdin)
            process.stdin.flush()
            if process.stdout.readline():  # it listens
                with self._lock:
                    self._address = (address, key)
                self._up.set()
                threading.Thread(target=self._wait_open, daemon=True, name="engine-opening").start()
        except OSError:
            log.warning("the process that answers could not be told what to open")
        code = process.wait()
        self.is_open = False
        self._up.clear()
        with self._lock:
            self._address = None
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        return code

    def _wait_open(self) -> None:
        with contextlib.suppress(AdvisorError):
            self.call("opened.wait")
            self.is_open = True


def _folder() -> str:
    """A new folder that only this user can enter, with a path short enough for a socket's address."""
    folder = tempfile.mkdtemp(prefix="advisor-")
    if len(folder) < LONGEST_PATH or os.name == "nt":
        return folder
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="advisor-", dir="/tmp")


def main() -> None:
    """The child: take what to open from standard input, answer calls until that ends."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)  # the page's process says when: turns that run may end first
    settings, address, key = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_page, daemon=True, name="page").start()

    from advisor.turnlog import start_logging
    from advisor.web.later import Later, make_advisor

    start_logging()
    advisor = Later(lambda: make_advisor(settings))
    listener = Listener(address, backlog=128, authkey=key)
    print("listening", flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads on: what else is printed must not fill the pipe
    advisor.start()
    while True:
        try:
            connection = listener.accept()
        except (AuthenticationError, EOFError, OSError) as error:  # without the key, or gone before they were heard
            log.warning("a connection was refused (%s)", type(error).__name__)
            continue
        threading.Thread(target=_serve, args=(advisor, connection), daemon=True, name="calls").start()


def _end_with_the_page() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(0)


def _serve(advisor: Any, connection: Connection[Any, Any]) -> None:
    """Answer the calls of one connection until it is closed."""
    with contextlib.suppress(EOFError, OSError), connection:
        while True:
            name, args, options = connection.recv()
            for kind, value in _answer(advisor, name, args, options):
                connection.send((kind, value))


def _answer(advisor: Any, name: str, args: Any, options: Any) -> Iterator[tuple[str, Any]]:
    try:
        target = advisor
        for part in name.split("."):
            target = getattr(target, part)
        if name == "stream":
            for item in target(*args, **options):
                yield "item", item
            yield "value", None
        else:
            yield "value", target(*args, **options)
    except Exception as error:  # it goes to whoever called, who knows what to do with it
        yield "error", _sendable(error)


def _sendable(error: Exception) -> Exception:
    """The error as the other process can raise it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # what an error holds decides whether it can be sent, and how that fails
        for kind in (AdvisorError, KnowledgeError):
            if isinstance(error, kind):
                return kind(str(error))
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    main()
