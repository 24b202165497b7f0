"""The page: start to first byte and to ready, page weight, and many visitors at once (speed, errors, cross-talk, memory).

    python tests/bench/bench_page.py [--sessions 30] [--turns 10] [--pause 10]

The visitors are real Gradio clients of the page's own chat event, each in a session of its own; a turn is the answer and the
panel beside it. Processor time and memory are those of the page's process and of the processes that answer. Without pauses
the median follows from the busiest process: visitors × its processor time of a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = (
    "Full fine-tune of a {n}B model on one node",
    "{n}B モデルを LoRA で学習したい",
    "Cheapest GPU for batch inference of a {n}B model",
    "NVLink と InfiniBand の違いは何ですか（{n}）",
    "Pretrain a {n}B model on 4 nodes of 8 GPUs",
)


@dataclass
class Seen:
    """What the visitors met: seconds to each answer, errors, conversations that held someone else's questions."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)


def with_children(pid: int) -> list[int]:
    """The process and those it started (Linux)."""
    started = [path.read_text(encoding="utf-8").split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [pid, *(int(part) for parts in started for part in parts)]


def cpu_s(pid: int) -> float:
    """Processor seconds that a process and those it started have used (Linux)."""
    used = 0
    for part in with_children(pid):
        fields = Path(f"/proc/{part}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Memory in MB of a process and those it started, what they share counted once (Linux)."""
    held = 0
    for part in with_children(pid):
        for line in Path(f"/proc/{part}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                held += int(line.split()[1])
    return held / 1000


async def event(client: httpx.AsyncClient, session: str, fn_index: int, data: list) -> list:
    """Run one of the page's own events through the queue, as the browser does; returns its last output."""
    joined = await client.post(
        "/gradio_api/queue/join", json={"data": data, "fn_index": fn_index, "session_hash": session}
    )
    joined.raise_for_status()
    wanted = joined.json()["event_id"]
    async with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as stream:
        async for line in stream.aiter_lines():
            if not line.startswith("data:"):
                continue
            message = json.loads(line[5:])
            if message.get("event_id") not in (None, wanted):
                continue
            if message["msg"] == "process_completed":
                if not message["success"]:
                    raise RuntimeError(str(message["output"]))
                return message["output"].get("data", [])
    raise RuntimeError("the stream ended before the answer")


async def stay(client: httpx.AsyncClient, session: str) -> None:
    """Hold the tab open, as a browser does; the server may forget the conversation some time after it ends."""
    async with client.stream("GET", f"/gradio_api/heartbeat/{session}", timeout=None) as stream:
        async for _ in stream.aiter_lines():
            pass


async def visitor(url: str, fns: dict[str, int], turns: int, pause_s: float, seen: Seen) -> None:
    """One visitor: opens a tab, asks `turns` questions with pauses, exports the conversation and looks whose it is."""
    mark = secrets.token_hex(4)
    session = secrets.token_hex(5)
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        tab = asyncio.create_task(stay(client, session))
        for i in range(turns):
            await asyncio.sleep(random.uniform(0, 2 * pause_s))
            question = QUESTIONS[i % len(QUESTIONS)].format(n=7 + i) + f" #{mark}-{i}"
            start = time.perf_counter()
            try:
                await event(client, session, fns["ask"], [question, None, "en", ""])
                seen.times.append(time.perf_counter() - start)
            except Exception as error:  # a bench counts failures of any kind
                seen.errors.append(repr(error)[:200])
        text = (await event(client, session, fns["export"], [None, "en", ""]))[0]
        asked = [line for line in text.splitlines() if line.startswith("> ") and "#" in line]
        if len(asked) != turns or any(f"#{mark}-" not in line for line in asked):
            seen.mixed.append(mark)
        tab.cancel()


def functions(config: dict) -> dict[str, int]:
    """Names of the page's own events (not the programs' endpoints) → their indices."""
    private = [dep for dep in config["dependencies"] if dep["api_name"] and dep["api_visibility"] == "private"]
    return {dep["api_name"].split("_")[0]: dep["id"] for dep in reversed(private)}


def page_weight(url: str) -> tuple[int, int]:
    """(requests, bytes) of the first view in a headless browser; zeros where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return 0, 0
    sizes: list[int] = []
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
        except Exception as error:  # no browser on this machine: the rest of the table still stands
            print(f"page weight not measured: {error}", file=sys.stderr)
            return 0, 0
        page = browser.new_page()
        page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        page.goto(url)
        page.wait_for_selector("html.advisor-ready")
        page.wait_for_timeout(500)
        browser.close()
    return len(sizes), sum(sizes)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--pause", type=float, default=10.0)
    parser.add_argument("--home", default="")
    options = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    home = options.home or tempfile.mkdtemp()
    environment = {
        **os.environ,
        "ADVISOR_PORT": str(port),
        "ADVISOR_HOME": home,
        "ADVISOR_RATE_LIMIT_PER_MINUTE": "1000000",
    }
    rows: list[tuple[str, str]] = []
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, str(ROOT / "app.py")], env=environment, cwd=ROOT)
    try:
        first = ready = knowledge = None
        while knowledge is None and time.perf_counter() - start < 600:
            try:
                response = httpx.get(url, timeout=120)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            first = first or time.perf_counter() - start
            if response.status_code == 200:
                ready = ready or time.perf_counter() - start
                if httpx.get(f"{url}/healthz", timeout=300).json().get("status") == "ok":
                    knowledge = time.perf_counter() - start
            time.sleep(0.05)
        rows.append(("start to first byte (waiting page)", f"{first or 0:.2f} s"))
        rows.append(("start to the page itself", f"{ready or 0:.2f} s"))
        rows.append(("start to knowledge open", f"{knowledge or 0:.2f} s"))
        count, size = page_weight(url)
        rows.append(("first view: requests, bytes", f"{count}, {size / 1e6:.2f} MB"))
        fns = functions(httpx.get(f"{url}/config").json())
        seen = Seen()

        async def wave(sessions: int, pause_s: float, into: Seen) -> None:
            await asyncio.gather(*(visitor(url, fns, options.turns, pause_s, into) for _ in range(sessions)))

        opened = memory_mb(process.pid)
        start = time.perf_counter()
        asyncio.run(wave(1, 0, answered := Seen()))
        rows.append(("first answer of a started server", f"{answered.times[0]:.2f} s"))
        asyncio.run(wave(10, 0, Seen()))
        before = memory_mb(process.pid)
        for pause_s in (0.0, options.pause):
            now = Seen()
            start, used = time.perf_counter(), cpu_s(process.pid)
            asyncio.run(wave(options.sessions, pause_s, now))
            wall, used = time.perf_counter() - start, cpu_s(process.pid) - used
            ordered = sorted(now.times)
            pauses = f"{pause_s:g} s between questions" if pause_s else "no pause between questions"
            rows.append(
                (
                    f"{options.sessions} visitors x {options.turns} turns, {pauses}: median",
                    f"{statistics.median(ordered):.2f} s",
                )
            )
            rows.append(("  95th percentile", f"{ordered[int(0.95 * len(ordered))]:.2f} s"))
            rows.append(
                (
                    "  turns a second, processor time a turn",
                    f"{len(ordered) / wall:.1f}, {used / len(ordered) * 1000:.0f} ms",
                )
            )
            seen.times += now.times
            seen.errors += now.errors
            seen.mixed += now.mixed
        while len(seen.times) < 1000:
            asyncio.run(wave(10, 0, seen))
        after = memory_mb(process.pid)
        rows.append(
            (
                f"memory after the first {11 * options.turns} turns, after {len(seen.times):,} more",
                f"{before:.0f}, {after:.0f} MB ({(after / before - 1) * 100:+.1f} %)",
            )
        )
        rows.append(("memory when the stores were open, before any turn", f"{opened:.0f} MB"))
        rows.append(("errors, mixed conversations", f"{len(seen.errors)}, {len(seen.mixed)}"))
        errors = seen.errors
        if errors:
            rows.append(("first error", errors[0]))
    finally:
        process.terminate()
        process.wait(30)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main()
