"""Words: language choice, labels, and that every word the page uses exists."""

import re
from pathlib import Path

import pytest

from advisor.messages import catalogue
from advisor.web import words
from advisor.web.assumptions import FIELDS, shown_value
from advisor.web.guide import AREAS
from advisor.web.offers_tab import form_fields
from advisor.web.words import Labels, page_lang, word

WEB = Path(words.__file__).parent


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        (None, "en"),
        ("", "en"),
        ("ja", "ja"),
        ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
        ("en-US,en;q=0.9,ja;q=0.8", "en"),
        ("en;q=0.5, ja", "ja"),
        ("fr-FR, de;q=0.9", "en"),
        ("fr, ja;q=0.3", "ja"),
        ("ja;q=0, en", "en"),
        ("ja;q=nonsense", "en"),
        ("*", "en"),
    ],
)
def test_page_language(header, lang):
    assert page_lang(header) == lang


def used_keys() -> set[str]:
    keys = set()
    for path in [*WEB.glob("*.py"), *WEB.glob("templates/*.html")]:
        text = path.read_text(encoding="utf-8")
        keys |= set(re.findall(r"""(?:\bword\(|\bt\(|\.say\()\s*["']([a-z_]+(?:\.[a-z_0-9]+)*)["'](?!\s*~)""", text))
        keys |= set(re.findall(r"""(?:label|value|placeholder)="([a-z]+\.[a-z_]+)\"""", text))
    return keys


def test_every_word_that_the_page_says_exists():
    missing = {key for key in used_keys() if f"web.{key}" not in catalogue()}
    assert len(used_keys()) > 80 and not missing


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_generated_keys_exist(lang):
    for field in FIELDS:
        words.word(f"field.{field.name}", lang)
        for choice in field.choices:
            assert shown_value(field, choice, lang)
    for name in form_fields():
        words.word(f"filter.{name}", lang)
    for area in AREAS:
        words.word(f"area.{area}", lang)
    for state in ("stated", "assumed", "registry", "unset"):
        words.word(f"from.{state}", lang)


def test_known_falls_back():
    assert words.known("tool.recommend", "en", "x") == "Ranked the offers that fit"
    assert words.known("tool.something_new", "en", "something new") == "something new"


def test_translations_have_the_same_keys():
    both = words.translations()
    assert set(both["en"]) == set(both["ja"]) and both["ja"]["web.tab.ask"] == "相談"


def test_labels_put_every_component_into_the_language():
    labels = Labels(lambda key: f"i18n:{key}")
    assert labels.say("new") == "i18n:web.new"
    button = labels.add(object(), value="new")
    labels.add(object(), label="chat", placeholder="hello")
    assert labels.components[0] is button
    first, second = labels.updates("ja")
    assert first["value"] == "新しい会話" and second["label"] == "会話" and "何を" in second["placeholder"]


def test_no_markup_or_script_stands_in_python_strings():
    for path in WEB.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"</(?:div|p|span|table|script|ul)>", text), path.name


def test_refusals_speak_the_visitors_language():
    from advisor.errors import Unavailable
    from advisor.web.assumptions import FIELDS, _parse
    from advisor.web.guards import TooManyRequests, check_question
    from advisor.web.words import FieldRefused, Refused, in_words

    number = next(field for field in FIELDS if field.kind == "number")
    with pytest.raises(FieldRefused) as refused:
        _parse(number, "many")
    assert word(f"field.{number.name}", "ja") in in_words(refused.value, "ja") and "many" in str(refused.value)
    with pytest.raises(Refused) as long:
        check_question("x" * 11, 10)
    assert "11 文字" in in_words(long.value, "ja") and "11 characters" in in_words(long.value, "en")
    assert "60 件" in in_words(TooManyRequests(60, 3.2), "ja") and "3 s" in str(TooManyRequests(60, 3.2))
    assert in_words(Unavailable("The store is away."), "ja") == "The store is away."
