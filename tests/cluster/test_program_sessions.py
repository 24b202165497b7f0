"""A program's calls leave no growing memory behind in a web process."""

import sys
import threading
import time
from pathlib import Path

from cluster_services import ask

from advisor.settings import Settings
from advisor.web import api
from advisor.web.page import MAX_SESSIONS
from advisor.web.server import create_app

sys.path.insert(0, str(Path(__file__).parents[1] / "advisor" / "web"))


def test_sessions_of_programs_are_dropped(tmp_path, monkeypatch):
    import uvicorn
    from fake_advisor import FakeAdvisor

    made = []
    monkeypatch.setattr(api, "KEPT_SESSIONS", 3)
    original = api.ProgramSessions.__init__
    monkeypatch.setattr(
        api.ProgramSessions, "__init__", lambda self, page: (made.append(page), original(self, page))[1]
    )
    settings = Settings(home=tmp_path / "home", rate_limit_per_minute=1000)
    server = uvicorn.Server(uvicorn.Config(create_app(FakeAdvisor(settings), settings), port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    try:
        end = time.monotonic() + 60
        while not server.started and time.monotonic() < end:
            time.sleep(0.05)
        base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        for _ in range(8):
            assert ask(base, "Does one node need InfiniBand?", "")["text"]
        holder = made[0].state_holder
        assert len(holder.session_data) <= 4
        assert holder.capacity == MAX_SESSIONS
    finally:
        server.should_exit = True
