"""Every text exists in both languages with the same fields."""

import string

import pytest

from advisor.messages import catalogue


def fields(template: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("key", sorted(catalogue()))
def test_both_languages_say_it_with_the_same_fields(key):
    texts = catalogue()[key]
    assert texts["en"].strip() and texts["ja"].strip()
    assert fields(texts["en"]) == fields(texts["ja"])
