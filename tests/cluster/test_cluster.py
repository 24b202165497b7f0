"""Two web processes, one knowledge base, one database, nginx in front: what a visitor notices when parts come and go."""

import http.client
import http.cookiejar
import json
import os
import secrets
import signal
import threading
import time
import urllib.request
import uuid

import pytest
from cluster_services import ask, get

JOB = "Full fine-tune of a 13B model on A100 80GB, one node"
WHY = "Does a single 8-GPU server need InfiniBand as well as NVLink?"


def _new_why() -> str:
    """The question in words that no process has searched for before: what was found once is remembered."""
    return f"{WHY} Thanks, {secrets.token_hex(4)}"


def _thread():
    return uuid.uuid4().hex


def _wait(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _health(web):
    status, body = get(f"{web.url}/healthz")
    return json.loads(body) if status == 200 else {}


def test_the_other_process_goes_on_with_a_conversation(cluster):
    first, second = cluster.web
    thread = _thread()
    assert ask(first.url, JOB, thread)["intent"] == "picks"
    then = ask(second.url, "and with H100 instead?", thread)
    assert then["workload"]["params_b"] == 13
    assert {pick["gpu"] for pick in then["picks"]} == {"H100"}
    back = ask(first.url, "cheapest only", thread)
    assert back["workload"]["params_b"] == 13


def test_both_answer_alike_and_with_sources(cluster):
    assert all(_wait(lambda web=web: "degraded" not in _health(web)) for web in cluster.web)
    answers = [ask(web.url, WHY, _thread()) for web in cluster.web]
    assert answers[0]["citations"]
    assert answers[0]["text"] == answers[1]["text"]
    assert answers[0]["notes"] == answers[1]["notes"] == []


def test_new_knowledge_is_noticed_without_a_restart(cluster, tmp_path):
    page = tmp_path / "zephyr.md"
    page.write_text(
        "# Zephyr cloud\n\n## Cluster fabric\n\nThe Zephyr ZX-9000 node has eight 400 Gb/s ports of InfiniBand.\n"
    )
    before = [_health(web)["knowledge_version"] for web in cluster.web]
    cluster.command("ingest", "docs", str(page))
    for web, old in zip(cluster.web, before, strict=True):
        assert _wait(lambda web=web, old=old: _health(web).get("knowledge_version", 0) > old, 30)
        answer = ask(web.url, "What InfiniBand does a Zephyr ZX-9000 node have?", _thread())
        assert any("ZX-9000" in citation["quote"] or "ZX-9000" in answer["text"] for citation in answer["citations"])


@pytest.fixture
def nginx(cluster):
    if cluster.nginx is None:
        pytest.skip("nginx is not installed")
    return cluster.nginx


def test_a_browser_stays_with_one_process_and_nobody_can_choose_an_address(cluster, nginx):
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{nginx.url}/", timeout=60) as page:
        assert page.status == 200
        assert "content-security-policy" in page.headers
    cookie = next(one for one in jar if one.name == "advisor_route")
    assert cookie.has_nonstandard_attr("HttpOnly")
    header = {"cookie": f"advisor_route={cookie.value}", "x-forwarded-for": "203.0.113.9"}
    for _ in range(3):
        assert ask(nginx.url, WHY, _thread(), headers=header)["intent"] == "explain"
    assert get(f"{nginx.url}/metrics")[0] == 404
    assert all(get(f"{web.url}/metrics")[0] == 200 for web in cluster.web)


def test_a_rolling_restart_loses_no_conversation(cluster, nginx):
    threads = [_thread() for _ in range(4)]
    for thread in threads:
        assert ask(nginx.url, JOB, thread)["workload"]["params_b"] == 13
    stop, failures, answered, interrupted = threading.Event(), [], [], []

    def visitor(thread):
        """Asks on and on; a call that is cut is made once more, as any program does over a restart."""
        tries = 0
        while not stop.is_set():
            try:
                answer = ask(nginx.url, "cheapest only", thread, headers={"cookie": f"advisor_route={thread}"})
                if answer["workload"]["params_b"] != 13:
                    failures.append(answer["text"])
                answered.append(thread)
                tries = 0
            except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
                tries += 1
                (interrupted if tries == 1 else failures).append(repr(error))
            stop.wait(0.5)

    visitors = [threading.Thread(target=visitor, args=(thread,)) for thread in threads]
    for one in visitors:
        one.start()
    try:
        for web in cluster.web:
            web.stop(seconds=45)
            web.start()
            web.wait()
    finally:
        stop.set()
        for one in visitors:
            one.join(60)
    assert len(answered) >= 8
    assert failures == [], interrupted
    for thread in threads:
        assert ask(nginx.url, "and with H100 instead?", thread)["workload"]["params_b"] == 13


def test_a_killed_process_loses_no_conversation(cluster):
    first, second = cluster.web
    thread = _thread()
    ask(first.url, JOB, thread)
    first.kill()
    try:
        assert ask(second.url, "and with H100 instead?", thread)["workload"]["params_b"] == 13
    finally:
        first.start()
        first.wait()
    assert ask(first.url, "cheapest only", thread)["workload"]["params_b"] == 13


def test_without_chroma_the_words_are_searched_and_the_answer_says_so(cluster):
    web = cluster.web[0]
    cluster.chroma.stop()
    try:
        degraded = ask(web.url, _new_why(), _thread())
        assert degraded["citations"]
        assert degraded["notes"] == ["lexical_only"]
        assert "vector store" in degraded["text"]
        assert (
            "ベクトル検索"
            in ask(web.url, f"1台だけならInfiniBandは不要ですか？ {secrets.token_hex(4)}", _thread())["text"]
        )
        assert _health(web)["degraded"] == "lexical_only"
    finally:
        cluster.chroma.start()
        cluster.chroma.wait()
    assert _wait(lambda: ask(web.url, _new_why(), _thread())["notes"] == [], 30)


def test_a_chroma_that_hangs_costs_a_question_a_few_seconds_once(cluster):
    web = cluster.web[0]
    assert ask(web.url, _new_why(), _thread())["notes"] == []
    os.killpg(cluster.chroma.pid, signal.SIGSTOP)
    try:
        assert ask(web.url, _new_why(), _thread(), timeout=60)["notes"] == ["lexical_only"]
        assert ask(web.url, _new_why(), _thread(), timeout=60)["notes"] == ["lexical_only"]
    finally:
        os.killpg(cluster.chroma.pid, signal.SIGCONT)
    assert _wait(lambda: ask(web.url, _new_why(), _thread())["notes"] == [], 30)


def test_what_was_found_once_needs_no_chroma(cluster):
    web, question = cluster.web[0], _new_why()
    assert _wait(lambda: ask(web.url, question, _thread())["notes"] == [], 30)
    cluster.chroma.stop()
    try:
        again = ask(web.url, question, _thread())
        assert again["citations"] and again["notes"] == []
    finally:
        cluster.chroma.start()
        cluster.chroma.wait()


def test_without_postgres_one_line_says_so_and_it_comes_back(cluster):
    web, thread = cluster.web[0], _thread()
    ask(web.url, JOB, thread)
    cluster.postgres.stop()
    try:
        with pytest.raises(RuntimeError) as caught:
            ask(web.url, "and with H100 instead?", thread)
        assert "ADVISOR_DATABASE_URL" in str(caught.value)
        assert "Traceback" not in str(caught.value)
    finally:
        cluster.postgres.start()
        cluster.postgres.wait()
    assert ask(web.url, "and with H100 instead?", thread)["workload"]["params_b"] == 13


def test_the_log_has_one_line_a_turn_and_no_question(cluster):
    ask(cluster.web[1].url, "LoRA of an 8B model on Xylophone-cloud, secretword", _thread())
    text = cluster.web[1].log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    turns = [line for line in lines if line.get("event") == "turn"]
    assert turns
    assert {"thread", "intent", "tools", "ms", "version", "knowledge_version", "offers_as_of"} <= turns[-1].keys()
    assert "secretword" not in text
    assert "password-of-tests" not in text
