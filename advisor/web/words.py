"""The page's words: lookup by key, and the components whose words change with the language switch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from advisor.answer import Lang
from advisor.errors import AdvisorError, BadRequest
from advisor.messages import catalogue, text

if TYPE_CHECKING:
    import gradio as gr

LANGS: tuple[Lang, ...] = ("en", "ja")


def word(key: str, lang: str, /, **values: Any) -> str:
    """The page's text `web.<key>` in `lang`. Raises KeyError for an unknown key."""
    return text(f"web.{key}", lang, **values)


def known(key: str, lang: str, fallback: str) -> str:
    """The text `web.<key>` where the catalogue has it, else `fallback`: for codes that other packages may add to."""
    return word(key, lang) if f"web.{key}" in catalogue() else fallback


def role_word(role: str, roles: Iterable[str], lang: str) -> str:
    """The role of a pick among the `roles` of its answer: what only matches is a further candidate where others have a role."""
    return word("role.also" if role == "match" and set(roles) != {"match"} else f"role.{role}", lang)


def page_lang(accept_language: str | None) -> Lang:
    """The first of Japanese and English that an `Accept-Language` header prefers; English where it names neither.

    Weights are honoured: `en;q=0.5, ja` is Japanese.
    """
    best: tuple[float, Lang] | None = None
    for part in (accept_language or "").split(","):
        tag, _, rest = part.strip().partition(";")
        lang = tag.split("-")[0].strip().lower()
        if lang not in LANGS:
            continue
        weight = rest.replace(" ", "").removeprefix("q=")
        try:
            q = float(weight) if weight else 1.0
        except ValueError:
            q = 0.0
        if q > 0 and (best is None or q > best[0]):
            best = (q, lang)  # type: ignore[assignment]
    return best[1] if best else "en"


def translations() -> dict[str, dict[str, str]]:
    """Language → key → text of every `web.` text, as Gradio's browser-side translation wants it."""
    return {lang: {key: row[lang] for key, row in catalogue().items() if key.startswith("web.")} for lang in LANGS}


class Labels:
    """Remembers which component property shows which text, so that one event can put the page into another language.

    At build time `say(key)` gives a value that the browser translates by its own language before the first paint.
    """

    def __init__(self, i18n: gr.I18n):
        self._i18n = i18n
        self._props: list[tuple[Any, dict[str, str]]] = []

    def say(self, key: str) -> Any:
        """A property value that the browser shows in its own language."""
        return self._i18n(f"web.{key}")

    def add(self, component: Any, **props: str) -> Any:
        """Register `component`: each property name → text key. Returns the component."""
        self._props.append((component, props))
        return component

    @property
    def components(self) -> list[Any]:
        """The registered components, in the order of `updates`."""
        return [component for component, _ in self._props]

    def updates(self, lang: str) -> Iterable[Any]:
        """One Gradio update a registered component, with its words in `lang`."""
        import gradio as gr

        said: list[dict[str, Any]] = [
            {prop: word(key, lang) for prop, key in props.items()} for _, props in self._props
        ]
        return [gr.update(**words) for words in said]


class Refused(BadRequest):
    """A refusal that the page says in the visitor's language; its own text is the English one."""

    def __init__(self, key: str, **fields: Any):
        super().__init__(word(key, "en", **fields))
        self.key, self.fields = key, fields

    def in_words(self, lang: str) -> str:
        """The refusal in `lang`."""
        return word(self.key, lang, **self.fields)


class FieldRefused(Refused):
    """A control holds what it cannot mean. `label` is the key of the control's own name."""

    def __init__(self, key: str, label: str, value: Any):
        self.label = label
        super().__init__(key, field=known(label, "en", label.partition(".")[2]), value=str(value)[:40])

    def in_words(self, lang: str) -> str:
        """The refusal in `lang`, with the control's name as the page shows it."""
        fallback = self.label.partition(".")[2]
        return word(self.key, lang, field=known(self.label, lang, fallback), value=self.fields["value"])


def in_words(error: AdvisorError, lang: str) -> str:
    """What an error says to a visitor; in English where it has no words of its own for the page."""
    return error.in_words(lang) if isinstance(error, Refused) else str(error)
