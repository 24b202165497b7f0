import pytest

from ingest.documents.markdown import front_matter, load_markdown, split_row
from ingest.documents.mermaid import mermaid_text
from ingest.documents.model import Code, Heading, Scope, Table


def test_front_matter_with_comment_lines_gives_title_and_date():
    page = load_markdown(
        "---\ntitle: Sizes\nms.date: 09/02/2025\n# Customer intent: as an architect\n---\n# Sizes\n\nBody text here.\n"
    )
    assert (page.title, page.as_of) == ("Sizes", "2025-09-02")
    assert not any("Customer intent" in getattr(block, "text", "") for block in page.blocks)


def test_front_matter_after_a_byte_order_mark():
    meta, rest = front_matter("\ufeff---\ntitle: Billing\n---\nBody")
    assert meta == {"title": "Billing"}
    assert rest == "Body"


def test_front_matter_that_is_no_yaml_still_gives_its_plain_keys():
    meta, rest = front_matter("---\ntitle: a: b: c\ndate: 2025-01-02\n---\nBody")
    assert meta["date"] == "2025-01-02"
    assert rest == "Body"


def test_dates_in_comments_become_metadata_and_comments_are_not_indexed(text_of):
    page = load_markdown("# T\n\n{/* Table last generated: 2026-02-12 */}\n\nShown text.\n\n<!-- hidden\nnote -->\n")
    assert page.as_of == "2026-02-12"
    text = text_of(
        "a.mdx",
        "# T\n\nShown text.\n\n| A | B |\n|---|---|\n| 1 | kept |\n<!--| 3 | withdrawn |-->\n\n提供予定<!-- 、/groups_x -->です。\n",
    )
    assert "kept" in text and "提供予定です" in text
    assert "withdrawn" not in text and "groups_x" not in text and "-->" not in text


def test_escapes_go_in_prose_and_stay_in_code():
    page = load_markdown("Use p9x\\.24xlarge, OS\\-bypass \\(RDMA\\), rt\\_HF, \\$5. Code: `a\\.b`.")
    assert page.blocks[0].text == "Use p9x.24xlarge, OS-bypass (RDMA), rt_HF, $5. Code: `a\\.b`."


def test_comparison_signs_and_placeholders_are_no_tags():
    text = (
        load_markdown("Needs nccl>=2.19.0 and kernel<5.15, then `tool <NET>` or tool <NET> <MANAGER_ID>.")
        .blocks[0]
        .text
    )
    assert "nccl>=2.19.0" in text and "kernel<5.15" in text and text.endswith("tool <NET> <MANAGER_ID>.")


def test_entities_are_read_in_prose_and_in_fences():
    page = load_markdown("8&times; cards&reg;\n\n```\nrun &lt;account id&gt;\n```\n")
    assert page.blocks[0].text == "8× cards®"
    assert page.blocks[1] == Code("run <account id>", "")


def test_heading_anchors_are_keys_and_no_heading_text():
    page = load_markdown(
        '## 基本情報<a name="basic-info"></a>\n\n文章です。\n\n## 計算ノード {#compute-node-h}\n\n文章です。\n'
    )
    headings = [block for block in page.blocks if isinstance(block, Heading)]
    assert [(h.text, h.anchor) for h in headings] == [("基本情報", "basic info"), ("計算ノード", "compute node h")]


def test_keycaps_and_pictures_leave_headings():
    page = load_markdown("### 1️⃣0️⃣ Check the fabric 🚀\n\ntext")
    assert page.blocks[0].text == "10 Check the fabric"


def test_tabs_written_as_headings_keep_title_and_header_and_end_at_the_rule(text_of):
    source = (
        "# Series\n\n## Sizes\n\n### [Basics](#tab/basic)\n\n| Size | vCPUs | Memory |\n|---|---|---|\n| Std_X | 96 | 1900 |\n\n"
        "### [Network](#tab/net)\n\n| Size | NICs | Mbps |\n|---|---|---|\n| Std_X | 8 | 80000 |\n\n---\n\nAfter the tabs.\n"
    )
    text = text_of("a.md", source)
    assert "Basics" in text and "Network" in text and "#tab" not in text
    network = text[text.index("Network") :]
    assert "| Size | NICs | Mbps |" in network and "| Std_X | 8 | 80000 |" in network
    page = load_markdown(source)
    assert [block.text for block in page.blocks if isinstance(block, Heading)][-1] == ""


def test_bracketed_console_headings_lose_their_brackets():
    page = load_markdown(
        "## Launch\n\n------\n#### [ New console ]\n\nSteps one.\n\n------\n#### [ Old console ]\n\nSteps two.\n\n------\n\nEnd.\n"
    )
    assert [b.text for b in page.blocks if isinstance(b, Heading)] == ["Launch", "New console", "", "Old console", ""]


def test_material_tabs_nest_with_fences_inside():
    page = load_markdown(
        '=== "A4"\n    Needs one VPC.\n\n    === "Inner"\n\n        ```yaml\n        key: value\n        ```\n\nOutside.\n'
    )
    outer = page.blocks[0]
    assert isinstance(outer, Scope) and outer.label == "A4"
    inner = outer.blocks[1]
    assert isinstance(inner, Scope) and inner.blocks == [Code("key: value", "yaml")]
    assert page.blocks[-1].text == "Outside."


def test_tab_items_keep_their_labels(text_of):
    text = text_of(
        "a.mdx",
        'import Tabs from "@theme/Tabs";\n\n<Tabs>\n<TabItem value="l" label="Linux">\n    ```bash\n    install-linux\n    ```\n</TabItem>\n'
        '<TabItem value="m" label="macOS">\n    ```bash\n    install-mac\n    ```\n</TabItem>\n</Tabs>\n\nSome closing prose.\n',
    )
    assert text.index("Linux") < text.index("install-linux") < text.index("macOS") < text.index("install-mac")
    assert "import Tabs" not in text and "TabItem" not in text


def test_component_attributes_are_facts_and_words_stay_words():
    page = load_markdown(
        '<ParamField path="-t" type="string" default="on-demand" required>\n  Kind of offer.\n</ParamField>\n\n'
        "Deploy <TrainingTooltip /> jobs.\n\n<Warning>\nDo not stop it.\n</Warning>\n\n<CardGroup cols={3}>\n"
        '<Card title="Slurm" href="/x">\nManaged.\n</Card>\n</CardGroup>\n<div style={{ marginLeft: "4rem" }}>\nInside.\n</div>\n'
    )
    text = "\n".join(block.text for block in page.blocks)
    assert "`-t` (type string, default on-demand, required):" in text and "Kind of offer." in text
    assert "Deploy Training jobs." in text and "Do not stop it." in text and "Slurm:" in text and "Inside." in text
    assert "<" not in text and "marginLeft" not in text


def test_script_lines_of_mdx_go():
    page = load_markdown("import { A, B } from '/x.jsx';\n\nexport const meta = {\n  a: 1,\n};\n\nThe prose.\n")
    assert [block.text for block in page.blocks] == ["The prose."]


def test_colon_blocks_nest_and_a_fold_title_names_what_it_holds():
    page = load_markdown(
        "::::details 測定の詳細\n:::message alert\n注意が必要です。\n:::\n帯域は 90 Gbps です。\n::::\n\n後の文です。\n"
    )
    assert isinstance(page.blocks[0], Scope) and page.blocks[0].label == "測定の詳細"
    assert [block.text for block in page.blocks[0].blocks] == ["注意が必要です。", "帯域は 90 Gbps です。"]
    assert page.blocks[1].text == "後の文です。"


def test_admonitions_and_quoted_notes_keep_their_text():
    page = load_markdown(
        '!!! note "Mind"\n    Indented body.\n\n> [!WARNING]\n> Quoted body.\n\n??? info\n    Folded body.\n'
    )
    assert [block.text for block in page.blocks] == [
        "Mind: Indented body.",
        "Warning: Quoted body.",
        "Info: Folded body.",
    ]


def test_bare_links_and_pictures_without_words_are_left_out():
    page = load_markdown(
        "https://example.com/card\n\n![](/images/a.png)\n\nSee [the page](x.md) and ![a rack of nodes](b.png).\n"
    )
    assert [block.text for block in page.blocks] == ["See the page and a rack of nodes."]


def test_mermaid_gives_labels_and_no_styles():
    text = mermaid_text(
        "%%{init: {'theme':'base'}}%%\nflowchart TD\n A[\"Node type Q\"] -->|fabric v3| B[\"spine<br/>switch\"]\n style A fill:#fff\n classDef x fill:#000\n"
    )
    assert text == "Node type Q → fabric v3 → spine switch"


def test_table_rows_with_bars_in_code_and_after_escapes():
    assert split_row(r"| a \| b | `x|y` | c |") == ["a | b", "`x|y`", "c"]


def test_rows_with_a_blank_first_cell_get_the_cell_above():
    table = next(
        b
        for b in load_markdown("| Item | Name |\n|---|---|\n| Net | HDR |\n| | Ethernet |\n").blocks
        if isinstance(b, Table)
    )
    assert table.rows == [["Net", "HDR"], ["Net", "Ethernet"]]


def test_padding_breaks_and_notes_in_cells_become_plain():
    table = load_markdown(
        "| Size <br><sup>Count</sup> | Note |\n|:--|--:|\n| [A](http://x/y)       | one<br>two |\n"
    ).blocks[0]
    assert table == Table(["Size Count", "Note"], [["A", "one two"]])


def test_html_tables_in_markdown_survive_a_bare_sign_and_unclosed_rows():
    source = (
        "# Vars\n\n<table>\n<thead><th>Setting</th><th>Meaning</th></thead>\n<tr><td><code>X_SAFE=1</code></td>"
        "<td>Only for kernel<5.15 and plugin<=1.5.0 (see <a href=https://example.com/a>this</a>).</td></tr>\n"
        "<tr><td>Y</td><td>Last one</td>\n</table>\n\nAfter.\n"
    )
    table = next(block for block in load_markdown(source).blocks if isinstance(block, Table))
    assert table.header == ["Setting", "Meaning"]
    assert table.rows[0] == ["`X_SAFE=1`", "Only for kernel<5.15 and plugin<=1.5.0 (see this)."]
    assert table.rows[1] == ["Y", "Last one"]


@pytest.mark.parametrize("source", ["", "---\n---\n", "<!-- only a comment -->", "[Moved](x.md)\n\n:::", "```\n"])
def test_odd_and_empty_pages_do_not_fail(source):
    load_markdown(source)
