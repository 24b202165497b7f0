"""The agent's tools: what a search returns and how its passages are numbered."""

from langchain_core.messages import AIMessage


def test_passages_of_any_language_follow_those_of_the_answers_and_are_numbered_on(built_home):
    from advisor.engine import Engine
    from advisor.results import first_number
    from advisor.settings import Settings
    from advisor.tools import make_tools

    tool = next(tool for tool in make_tools(Engine(Settings(home=built_home))) if tool.name == "search_guides")

    def rows(**arguments):
        call = {"name": "search_guides", "args": arguments, "id": "c", "type": "tool_call"}
        return tool.invoke(call).artifact

    own = rows(query="NVLink と InfiniBand の違い", k=3, lang="ja")
    both = rows(query="NVLink と InfiniBand の違い", k=3, lang="ja", others=4)
    assert len(own) == 3 and both[:3] == own and len(both) > 3
    ids = [row["passage_id"] for row in both]
    assert len(set(ids)) == len(ids)
    turn = [
        AIMessage(
            content="",
            tool_calls=[
                {"name": "search_guides", "args": {"query": "a", "k": 3, "lang": "ja", "others": 4}, "id": "one"},
                {"name": "search_guides", "args": {"query": "b"}, "id": "two"},
            ],
        )
    ]
    assert (first_number(turn, "one"), first_number(turn, "two")) == (1, 8)
