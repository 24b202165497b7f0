"""Keys and passwords: in no message, no log, no listing of the settings."""

import logging

import pytest

from advisor.conversation import build_advisor
from advisor.errors import AdvisorError
from advisor.models import make_model
from advisor.settings import Settings, load_settings

SECRETS = {
    "ADVISOR_MODEL_API_KEY": "sk-secret-1",
    "ADVISOR_EMBEDDINGS_API_KEY": "sk-secret-2",
    "ADVISOR_CHROMA_TOKEN": "sk-secret-3",
    "ADVISOR_DATABASE_URL": "postgresql://u:sk-secret-4@127.0.0.1:1/x",
    "ADVISOR_AUTH": "user:sk-secret-5",
}


def test_settings_do_not_print_them(monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "sk-secret" not in shown


def test_a_setting_that_is_left_empty_is_not_set(monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, "")
    settings = load_settings()
    assert settings.auth is settings.database_url is settings.chroma_token is None


def test_a_model_server_that_is_away_names_no_key(built_home, caplog):
    caplog.set_level(logging.DEBUG)
    settings = Settings(
        home=built_home,
        model="openai:any",
        model_base_url="http://127.0.0.1:1/v1",
        model_api_key="sk-secret-6",
        model_timeout_s=2,
    )
    answer = build_advisor(settings).ask("Does one node need InfiniBand?")
    assert "sk-secret" not in answer.model_dump_json()
    assert "sk-secret" not in caplog.text


def test_a_model_of_a_wrong_name_is_refused_without_the_key():
    with pytest.raises(AdvisorError) as caught:
        make_model(Settings(model="nowhere:x", model_api_key="sk-secret-7"))
    assert "sk-secret" not in str(caught.value)


def test_a_chroma_server_that_is_away_names_no_token(tmp_path):
    from knowledge.dense import DenseIndex
    from knowledge.errors import StoreUnavailable

    dense = DenseIndex("m", url="http://127.0.0.1:1", token="sk-secret-8")
    with pytest.raises(StoreUnavailable) as caught:
        dense.nearest([0.0] * 4, 1)
    assert "sk-secret" not in str(caught.value)


def test_chroma_gets_the_token_as_a_bearer(tmp_path):
    import http.server
    import threading

    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("authorization"))
            self.send_response(401)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        from knowledge.dense import DenseIndex
        from knowledge.errors import StoreUnavailable

        dense = DenseIndex("m", url=f"http://127.0.0.1:{server.server_port}", token="sk-secret-9")
        with pytest.raises(StoreUnavailable) as caught:
            dense.nearest([0.0] * 4, 1)
        assert "Bearer sk-secret-9" in seen
        assert "sk-secret" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()
