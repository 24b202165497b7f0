"""Which chat model answers: the built-in planner, or a language model named by one setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from advisor.errors import BadRequest
from advisor.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

EXTRAS = {"anthropic": "anthropic", "ollama": "ollama"}


def make_model(settings: Settings) -> BaseChatModel:
    """The model that `ADVISOR_MODEL` names. Raises BadRequest for a name or a package that is not there."""
    from advisor.planner.model import PlannerModel

    if settings.model == "planner":
        return PlannerModel()
    provider, _, name = settings.model.partition(":")
    if not name:
        raise BadRequest(
            f"ADVISOR_MODEL={settings.model!r} is not of the form provider:model. "
            "Use planner, openai:MODEL, anthropic:MODEL or ollama:MODEL."
        )
    options: dict[str, Any] = {"timeout": settings.model_timeout_s, "max_retries": 0, "temperature": 0}
    if settings.model_api_key:
        options["api_key"] = settings.model_api_key.get_secret_value()
    if settings.model_base_url:
        options["base_url"] = settings.model_base_url
        if provider == "openai":
            options.setdefault("api_key", "none")
    if provider == "openai":
        options["stream_usage"] = True
    if provider == "ollama":
        options = {
            "temperature": 0,
            "client_kwargs": {"timeout": settings.model_timeout_s},
            **({"base_url": settings.model_base_url} if settings.model_base_url else {}),
        }
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name, model_provider=provider, **options)
    except ImportError:
        extra = EXTRAS.get(provider, provider)
        raise BadRequest(
            f"ADVISOR_MODEL={settings.model!r} needs a package that is not installed: "
            f"pip install 'interconnect-advisor[{extra}]'"
        ) from None
    except ValueError as error:
        raise BadRequest(f"ADVISOR_MODEL={settings.model!r}: {error}") from None
