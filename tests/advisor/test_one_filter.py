"""One filter definition: the tool's schema, the command's options, the web form and the README's table agree."""

import re
from pathlib import Path

from advisor.cli import _filter_options
from advisor.engine import Engine
from advisor.settings import Settings
from advisor.tools import make_tools
from knowledge.offers import OfferFilter

FIELDS = list(OfferFilter.model_fields)


def test_the_tool_takes_the_filter(built_home):
    tools = {tool.name: tool for tool in make_tools(Engine(Settings(home=built_home)))}
    assert list(tools["filter_offers"].args) == FIELDS


def test_the_command_takes_the_filter():
    assert list(_filter_options().parameters)[: len(FIELDS)] == FIELDS


def test_the_readme_lists_the_filter():
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--([a-z-]+)`(?: / `--no-spot`)? \| (.+) \|$", readme, re.MULTILINE)
    assert {name.replace("-", "_"): text for name, text in rows} == {
        name: field.description for name, field in OfferFilter.model_fields.items()
    }


def test_the_form_has_the_filter():
    from advisor.web import offers_tab

    source = Path(offers_tab.__file__).read_text(encoding="utf-8")
    assert "OfferFilter.model_fields" in source or all(f'"{name}"' in source for name in FIELDS)
