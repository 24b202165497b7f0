"""Conversations in Postgres: any process goes on with any of them, and a database that goes away comes back by itself."""

import threading
import uuid

import pytest
from cluster_services import free_port

from advisor import postgres as pg
from advisor.conversation import build_advisor
from advisor.errors import BadRequest, Unavailable
from advisor.settings import Settings


@pytest.fixture(autouse=True)
def _fresh_pools():
    pg.close_pools()
    yield
    pg.close_pools()


def _advisor(home, url):
    return build_advisor(Settings(home=home, database_url=url))


def _thread():
    return uuid.uuid4().hex


def test_another_process_continues_a_conversation(postgres, built_home):
    thread = _thread()
    first = _advisor(built_home, postgres.url)
    asked = first.ask("Full fine-tune of a 13B model on A100 80GB, one node", thread)
    assert asked.intent == "picks"
    pg.close_pools()
    second = _advisor(built_home, postgres.url)
    then = second.ask("and with H100 instead?", thread)
    assert then.workload is not None
    assert then.workload.params_b == 13
    assert all(pick.gpu == "H100" for pick in then.picks)


def test_conversations_are_not_mixed(postgres, built_home):
    advisor = _advisor(built_home, postgres.url)
    jobs = {size: _thread() for size in (7, 13, 34, 70)}
    found, errors = {}, []

    def run(size, thread):
        try:
            advisor.ask(f"LoRA fine-tuning of a {size}B model", thread)
            found[size] = advisor.ask("cheaper?", thread).workload.params_b
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=item) for item in jobs.items()]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    assert found == {size: size for size in jobs}


def test_several_processes_make_the_tables_at_once(postgres):
    import psycopg

    name = f"fresh_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = postgres.url.rsplit("/", 1)[0] + f"/{name}"
    from advisor.postgres_saver import SharedSaver, make_pool

    pools = [make_pool(url, 2) for _ in range(4)]
    errors = []

    def run(pool):
        try:
            SharedSaver(pool).setup()
        except Exception as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(pool,)) for pool in pools]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not errors
    assert not any(worker.is_alive() for worker in workers)
    with pools[0].connection() as connection:
        rows = connection.execute("SELECT v, count(*) AS n FROM checkpoint_migrations GROUP BY v").fetchall()
    assert rows
    assert all(row["n"] == 1 for row in rows)
    for pool in pools:
        pool.close()


def test_a_database_that_goes_away_is_named_in_one_line_and_comes_back(postgres, built_home):
    advisor, thread = _advisor(built_home, postgres.url), _thread()
    advisor.ask("Full fine-tune of a 7B model", thread)
    postgres.stop()
    try:
        with pytest.raises(Unavailable) as caught:
            advisor.ask("and with NVLink only?", thread)
        message = str(caught.value)
        assert "ADVISOR_DATABASE_URL" in message
        assert "password-of-tests" not in message
        assert "\n" not in message
    finally:
        postgres.start()
        postgres.wait()
    assert advisor.ask("and with NVLink only?", thread).workload.params_b == 7


def _processes(pid):
    from pathlib import Path

    return [pid, *(int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def test_a_database_that_hangs_does_not_hang_the_conversation(postgres, built_home, monkeypatch):
    import os
    import signal

    from advisor import postgres_saver

    monkeypatch.setattr(postgres_saver, "CALL_S", 3.0)
    monkeypatch.setattr(postgres_saver, "WAIT_S", 3.0)
    advisor, thread = _advisor(built_home, postgres.url), _thread()
    advisor.ask("Full fine-tune of a 7B model", thread)
    stopped = _processes(postgres.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(Unavailable):
            advisor.ask("and with NVLink only?", thread)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    assert advisor.ask("and with NVLink only?", thread).workload.params_b == 7


def test_a_start_without_the_database_is_made_good_later(built_home):
    url = f"postgresql://advisor:secret-word@127.0.0.1:{free_port()}/postgres"
    advisor = _advisor(built_home, url)
    with pytest.raises(Unavailable) as caught:
        advisor.ask("Full fine-tune of a 7B model")
    assert "secret-word" not in str(caught.value)


def test_an_address_that_is_none_is_refused_without_its_password(built_home):
    with pytest.raises(BadRequest) as caught:
        _advisor(built_home, "postgresql://advisor:secret-word@[nowhere/x y")
    assert "secret-word" not in str(caught.value)


def test_feedback_goes_to_the_table(postgres):
    line = {"liked": True, "comment": "よい答え", "question": "q"}
    pg.save_feedback_line(postgres.url, line)
    pg.save_feedback_line(postgres.url, {**line, "liked": False})
    assert pg.feedback_lines(postgres.url)[-2:] == [line, {**line, "liked": False}]
