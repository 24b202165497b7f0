"""All settings, read from the environment (`ADVISOR_*`) in this one place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_home() -> Path:
    """The per-user data folder: XDG on Linux, Application Support on macOS, LOCALAPPDATA on Windows."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    else:
        base = Path(os.environ.get("XDG_DATA_HOME", str(Path.home() / ".local" / "share")))
    return base / "interconnect-advisor"


class Settings(BaseSettings):
    """Every setting of the advisor, with its default."""

    model_config = SettingsConfigDict(env_prefix="ADVISOR_", frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=default_home, description="Where all state lives.")
    model: str = Field(
        default="planner", description="planner, or provider:model such as openai:gpt-5, anthropic:…, ollama:…."
    )
    model_base_url: str | None = Field(default=None, description="Base URL of an OpenAI-compatible server.")
    model_api_key: SecretStr | None = Field(default=None, description="Key for the model's server, if it wants one.")
    model_timeout_s: float = Field(default=60.0, gt=0, description="Seconds to wait for the language model.")
    max_tool_calls: int = Field(default=8, ge=1, description="Tool calls allowed in one turn.")
    max_model_tokens: int = Field(default=100_000, ge=100, description="Tokens a language model may use in one turn.")
    max_input_chars: int = Field(default=100_000, ge=100, description="Longest question accepted, in characters.")
    embeddings: str = Field(
        default="use-multilingual", description="use-multilingual, st:MODEL or st:FOLDER, openai:MODEL."
    )
    embeddings_base_url: str | None = Field(default=None, description="Base URL of an embedding server for openai:….")
    embeddings_api_key: SecretStr | None = Field(default=None, description="Key for the embedding server.")
    reranker: str | None = Field(default=None, description="Cross-encoder: a Hugging Face id or a local folder.")
    chroma_url: str | None = Field(default=None, description="A Chroma server instead of the embedded store.")
    chroma_token: SecretStr | None = Field(default=None, description="Bearer token of the Chroma server.")
    database_url: SecretStr | None = Field(default=None, description="Postgres for conversations and feedback.")
    offers: str | None = Field(
        default=None, description="Parquet file, folder, https:// or s3:// address with the offers."
    )
    knowledge: Path | None = Field(
        default=None, description="Folder where ingestion publishes the knowledge and web processes take it from."
    )
    stale_days: int = Field(default=30, ge=1, description="Prices older than this carry a warning.")
    auth: SecretStr | None = Field(default=None, description="user:password[,user:password…] for the page.")
    rate_limit_per_minute: int = Field(default=60, ge=1, description="Questions a minute from one address.")
    lang: Literal["ja", "en"] = Field(default="ja", description="Language where a question does not show one.")
    host: str = Field(default="127.0.0.1", description="Address the page binds to.")
    port: int = Field(default=7860, ge=1, le=65535, description="Port the page binds to.")
    log_questions: bool = Field(default=False, description="Write the text of questions to the log.")
    traces: str | None = Field(default=None, description="OpenTelemetry collector (OTLP over gRPC), http://host:4317.")
    workers: int = Field(default=4, ge=1, description="Turns answered at once by one process.")
    engines: int = Field(
        default=1, ge=0, le=64, description="Processes that answer beside the page's own; 0: the page's answers itself."
    )


def load_settings() -> Settings:
    """Read the environment. Raises BadRequest naming the variable, its value and what is wrong."""
    from pydantic import ValidationError

    from advisor.errors import BadRequest

    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "ADVISOR_" + str(first["loc"][0]).upper()
        raise BadRequest(f"{name}={os.environ.get(name, '')!r}: {first['msg']}. Correct or unset {name}.") from None
