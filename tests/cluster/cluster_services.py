"""Postgres, Chroma, nginx and web processes as plain processes on the loopback of one machine, for tests and scripts.

Each class starts in its constructor, is ready after `wait`, and ends with `stop`; all are context managers. Every process
gets its own process group, so that a stop takes its children with it and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "deploy" / "nginx" / "advisor.conf.template"
START_S = 240


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def postgres_bin() -> Path | None:
    """The folder of Debian's newest server programs, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if folders:
        return folders[-1].parent
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def nginx_program() -> str | None:
    """Where nginx is, or None."""
    return shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").is_file() else None)


def get(url: str, timeout: float = 10) -> tuple[int, bytes]:
    """Status and body of one GET; 0 where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


class Service:
    """One child process with its log."""

    name = "service"

    def __init__(self, folder: Path, command: list[str], env: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.command, self.env = folder, command, dict(env or {})
        self.log = folder / f"{self.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **self.env},
                cwd=self.folder,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self.process is not None
        return self.process.pid

    def ready(self) -> bool:
        """Whether it answers."""
        raise NotImplementedError

    def wait(self, seconds: float = START_S) -> None:
        """Return when it answers. Raises RuntimeError with the end of its log where it ended or the time is over."""
        self.until(self.ready, seconds)

    def until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Return when `condition` holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:
                break
            if condition():
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.name} is not ready:\n{self.log.read_text(errors='replace')[-3000:]}")

    def stop(self, how: int = signal.SIGTERM, seconds: float = 20) -> float:
        """End it and its children; returns the seconds that took. Killed where it does not end in time."""
        if self.process is None:
            return 0.0
        start = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        return time.monotonic() - start

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.stop(signal.SIGKILL)

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Postgres(Service):
    """A database cluster of its own in a folder, with one user and one database, both `advisor`."""

    name = "postgres"

    def __init__(self, port: int | None = None) -> None:
        programs = postgres_bin()
        assert programs is not None
        self.port = port or free_port()
        folder = Path(tempfile.mkdtemp(prefix="advisor-postgres-"))  # its user must reach it, so not under pytest's own
        data, password = folder / "data", folder / "password"
        password.write_text("a-password-of-tests\n")
        as_user: list[str] = []
        if os.getuid() == 0:
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            for path in (folder, password):
                shutil.chown(path, "postgres", "postgres")
        make = [str(programs / "initdb"), "-D", str(data), "-U", "advisor", "--auth=scram-sha-256", "-E", "UTF8"]
        make += ["--no-sync", "--locale=C.UTF-8", f"--pwfile={password}"]
        subprocess.run([*as_user, *make], check=True, capture_output=True, cwd=folder)
        run = [str(programs / "postgres"), "-D", str(data), "-p", str(self.port), "-h", "127.0.0.1", "-k", str(folder)]
        super().__init__(folder, [*as_user, *run, "-c", "fsync=off", "-c", "max_connections=60"])

    @property
    def url(self) -> str:
        """The address with user and password."""
        return f"postgresql://advisor:a-password-of-tests@127.0.0.1:{self.port}/postgres"

    def ready(self) -> bool:
        """Whether it takes connections."""
        import psycopg

        try:
            psycopg.connect(self.url, connect_timeout=3).close()
        except psycopg.Error:
            return False
        return True

    def stop(self, how: int = signal.SIGINT, seconds: float = 20) -> float:
        """A fast shutdown, which closes the connections."""
        return super().stop(how, seconds)

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Chroma(Service):
    """A Chroma server."""

    name = "chroma"

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        program = str(Path(sys.executable).parent / "chroma")
        command = [program, "run", "--path", str(folder / "data"), "--host", "127.0.0.1", "--port", str(self.port)]
        super().__init__(folder, command, {"ANONYMIZED_TELEMETRY": "False"})

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """Whether it answers."""
        return get(f"{self.url}/api/v2/heartbeat", 3)[0] == 200


class Web(Service):
    """One web process of the advisor."""

    def __init__(self, folder: Path, env: Mapping[str, str], port: int | None = None, name: str = "web") -> None:
        self.name = name
        self.port = port or free_port()
        command = [sys.executable, "-m", "advisor", "serve", "--host", "127.0.0.1", "--port", str(self.port)]
        quiet = {
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "GRADIO_ANALYTICS_ENABLED": "False",
            "MALLOC_ARENA_MAX": "2",
        }
        super().__init__(folder, command, {**quiet, **env})

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """Whether it is healthy."""
        return get(f"{self.url}/healthz")[0] == 200


class Nginx(Service):
    """nginx with the configuration of `deploy/` in front of web processes."""

    name = "nginx"

    def __init__(self, folder: Path, servers: list[int], port: int | None = None) -> None:
        program = nginx_program()
        assert program is not None
        self.port = port or free_port()
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, servers, self.port))
        super().__init__(folder, [program, "-c", str(config), "-p", str(folder), "-g", "daemon off;"])

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """Whether it answers, whatever is behind it."""
        return get(f"{self.url}/metrics", 3)[0] == 404

    def stop(self, how: int = signal.SIGQUIT, seconds: float = 10) -> float:
        """Let running answers end."""
        return super().stop(how, seconds)


def nginx_config(folder: Path, servers: list[int], port: int) -> str:
    """A whole nginx.conf around the template of `deploy/`."""
    lines = " ".join(f"server 127.0.0.1:{server} max_fails=3 fail_timeout=2s;" for server in servers)
    site = TEMPLATE.read_text().replace("${ADVISOR_UPSTREAM}", lines).replace("${ADVISOR_LISTEN}", f"127.0.0.1:{port}")
    temp = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.getuid() == 0 else ""
    return (
        f"{user}worker_processes 1;\nworker_rlimit_nofile 4096;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log warn;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\n{temp}\n{site}\n}}\n"
    )


def ask(base: str, question: str, thread: str, timeout: float = 120, headers: Mapping[str, str] | None = None) -> dict:
    """Ask over HTTP as a program does; returns the Answer. Raises RuntimeError with what the server said instead."""
    body = json.dumps({"data": [question, "auto", thread]}).encode()
    sent = {"content-type": "application/json", **(headers or {})}
    with urllib.request.urlopen(
        urllib.request.Request(f"{base}/gradio_api/call/ask", body, sent), timeout=timeout
    ) as reply:
        event = json.load(reply)["event_id"]
    request = urllib.request.Request(f"{base}/gradio_api/call/ask/{event}", headers=dict(headers or {}))
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        text = reply.read().decode()
    done = re.search(r"event: complete\s+data: (.*)", text)
    if not done:
        raise RuntimeError(text[-1000:])
    found = json.loads(done.group(1))
    answer = found[0] if isinstance(found, list) else found
    return json.loads(answer) if isinstance(answer, str) else answer


def memory_mb(pid: int) -> float:
    """Resident memory of a process and its children, in MB (10^6 bytes)."""
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        try:
            status = Path(f"/proc/{one}/status").read_text()
            started = [path.read_text().split() for path in Path(f"/proc/{one}/task").glob("*/children")]
            todo += [int(child) for children in started for child in children]
        except OSError:
            continue
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        total += int(found.group(1)) * 1024 / 1e6 if found else 0.0
    return total
