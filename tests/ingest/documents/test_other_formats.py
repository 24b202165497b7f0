import json

import pytest

from ingest.documents.decode import decode, is_binary
from ingest.documents.html import load_html
from ingest.documents.load import load
from ingest.documents.model import Code, Heading, Scope, Table, Text, Unreadable
from ingest.documents.pdf import join_lines, restore_blanks
from ingest.documents.plain import load_asciidoc, load_notebook, load_plain
from ingest.documents.rest import load_rst

PROSE = (
    "This paragraph is here so that the main part has the length of a real page, with words about nodes and links. " * 3
)


def pdf(*pages: list[str]) -> bytes:
    """A small real PDF with lines of Helvetica."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, lines in enumerate(pages):
        stream = "BT /F1 12 Tf 14 TL 50 780 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return out + f"{end}startxref\n{len(out)}\n%%EOF".encode()


def test_html_chrome_goes_and_the_main_part_stays():
    page = load_html(
        f"<html lang='en'><head><title>Fabric | Site</title></head><body>\"><nav>Menu one</nav><main><article><h1>Fabric</h1><p>{PROSE}</p>"
        "<div class='toc'><h2>Table of contents</h2></div><footer>Copyright</footer></article></main><aside>Ads</aside></body></html>"
    )
    text = "\n".join(block.text for block in page.blocks)
    assert page.title == "Fabric" and page.lang == "en"
    assert PROSE.strip() in text
    for chrome in ("Menu one", "Table of contents", "Copyright", "Ads", '">'):
        assert chrome not in text


def test_coloured_code_stays_whole():
    page = load_html(
        f"<body><main><p>{PROSE}</p><pre><span class='n'>driver.useHost</span><span class='o'>=</span><span>true</span>\n<span>next</span></pre></main></body>"
    )
    assert Code("driver.useHost=true\nnext") in page.blocks


def test_html_table_with_spans_and_lists_and_a_diagram():
    page = load_html(
        f"<body><main><p>{PROSE}</p><table><thead><tr><th>Type</th><th>Links</th></tr></thead><tr><td rowspan=2>Q</td><td>18</td></tr>"
        "<tr><td>12</td></tr></table><ul><li>One <b>bold</b><ul><li>Inner</li></ul></li></ul>"
        "<pre class='mermaid'>graph TD\n A[Leaf] --> B[Spine]</pre></main></body>"
    )
    assert Table(["Type", "Links"], [["Q", "18"], ["Q", "12"]]) in page.blocks
    assert Text("- One bold\n  - Inner") in page.blocks
    assert Text("Leaf → Spine") in page.blocks


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.md", b"", "empty"),
        (
            "a.html",
            b"<html><head><meta http-equiv='refresh' content='0; url=../new/'></head><body>Redirecting...</body></html>",
            "redirects to ../new/",
        ),
        ("a.bin", b"\x00\x01\x02", "format"),
        ("a.md", b"abc\x00\x01\x02" + b"text " * 100, "binary"),
        ("a.ipynb", b"not json", "notebook"),
        ("a.pdf", b"%PDF-1.4 cut short", "PDF"),
    ],
)
def test_what_carries_nothing_is_refused_with_the_reason(name, data, reason):
    with pytest.raises(Unreadable, match=reason):
        load(name, data)


def test_a_page_with_a_title_only_gives_no_passage(text_of):
    assert text_of("a.md", "# Only a title\n") == ""


def test_small_pages_of_facts_are_kept(text_of):
    assert "| Network | 8 NICs |" in text_of("a.md", "| Part | Specs |\n|---|---|\n| Network | 8 NICs |\n")


def test_runs_of_bare_numbers_are_dropped(text_of):
    assert text_of("a.txt", "10 20 30 40 50\n60 70 80\n") == ""


def test_rst_headings_labels_tables_roles_and_unknown_directives():
    page = load_rst(
        ".. highlight:: bash\n\n####\nVars\n####\n\n.. _env_ABC_LEVEL:\n\nABC_LEVEL\n---------\n\nThe ``ABC_LEVEL`` variable, see :c:func:`abcInit` and :ref:`other <x>`.\n\n"
        ".. code:: shell\n\n  ABC_LEVEL=2\n\n+-----+------+\n| Key | What |\n+=====+======+\n| PIX | near |\n+-----+------+\n\n"
        ".. list-table:: Versions\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2\n\n.. versionadded:: 2.24\n   Newly there.\n\n.. warning:: Mind it.\n"
    )
    headings = {block.text: block.anchor for block in page.blocks if isinstance(block, Heading)}
    assert headings == {"Vars": "", "ABC_LEVEL": "env ABC LEVEL"}
    assert Text("The `ABC_LEVEL` variable, see abcInit and other.") in page.blocks
    assert Code("ABC_LEVEL=2") in page.blocks
    assert Table(["Key", "What"], [["PIX", "near"]]) in page.blocks
    assert Table(["A", "B"], [["1", "2"]], "Versions") in page.blocks
    text = "\n".join(getattr(block, "text", "") for block in page.blocks)
    assert "2.24" in text and "Newly there." in text and "Warning: Mind it." in text and "highlight" not in text


def test_notebooks_give_cells_and_no_json():
    data = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Tune\n", "\n", "Prose.\n"]},
            {"cell_type": "code", "source": "run.Exec(nodes=2)", "outputs": [{"text": "noise"}]},
        ],
        "metadata": {"kernelspec": {"language": "python"}},
    }
    page = load_notebook(json.dumps(data))
    assert page.title == "Tune"
    assert page.blocks[1:] == [Text("Prose."), Code("run.Exec(nodes=2)", "python")]


def test_asciidoc_headings_attributes_blocks_and_tables():
    page = load_asciidoc(
        "= Guide\n:speed: 400 Gb/s\n\n// hidden\n== Links\n\nEach port has {speed}, see link:x.html[the page].\n\n[NOTE]\nMind the *cables*.\n\n"
        "----\nibstat\n----\n\n.Ports\n|===\n|Type |Count\n\n|Q |8\n|===\n"
    )
    assert page.title == "Guide"
    assert Text("Each port has 400 Gb/s, see the page.") in page.blocks
    assert Text("Note: Mind the cables.") in page.blocks
    assert Code("ibstat") in page.blocks
    assert Table(["Type", "Count"], [["Q", "8"]], "Ports") in page.blocks
    assert all("hidden" not in getattr(block, "text", "") for block in page.blocks)


def test_plain_text_finds_headings_and_keeps_commands():
    page = load_plain("接続の手引き\n\n1. 目的\n\nGPU同士をつなぎます。\n\nNCCL_X=1\nNCCL_Y=2\n")
    assert [block.text for block in page.blocks if isinstance(block, Heading)] == ["接続の手引き", "1. 目的"]
    assert Text("NCCL_X=1\nNCCL_Y=2") in page.blocks


def test_pdf_pages_become_sections():
    page = load(
        "slides.pdf",
        pdf(
            ["Overview of links", "The nodes are joined by 8 ports each."], ["Results", "1 2 3", "Speed grew by half."]
        ),
    )
    assert [block.text for block in page.blocks if isinstance(block, Heading)] == ["Overview of links", "Results"]
    text = "\n".join(block.text for block in page.blocks)
    assert "joined by 8 ports" in text and "Speed grew" in text and "1 2 3" not in text


def test_blanks_that_fonts_swallow_come_back_and_columns_stay_apart():
    layout = (
        "  The squeue command shows the list     Other column\n  of running jobs                        goes on here"
    )
    assert restore_blanks("Thesqueuecommand shows the list\nof running jobs", layout) == [
        "The squeue command shows the list",
        "of running jobs",
    ]


def test_lines_broken_by_the_page_width_join():
    assert join_lines(["A long line that was broken by the width of the page in the mid-", "dle of a word. Next."]) == [
        "A long line that was broken by the width of the page in the middle of a word. Next."
    ]


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16", "utf-16-le"])
def test_encodings_of_japanese(name):
    text = "計算ノードはInfiniBandのスイッチで結合されています。ノード間の帯域は200 Gbpsです。"
    assert decode(text.encode(name)) == text


def test_html_says_its_own_encoding():
    assert "帯域" in decode("<meta charset='euc-jp'><p>帯域</p>".encode("euc_jp"))


def test_binary_is_told_from_utf_16():
    assert is_binary(b"\x89PNG\x00\x01\x02\x03" * 50)
    assert not is_binary("テキスト text".encode("utf-16"))


def test_a_scope_gives_its_label_to_the_section(text_of):
    from ingest.documents.cut import cut_page
    from ingest.documents.model import Page

    page = Page(
        [Heading(1, "T"), Scope("Tab A", [Text("Body of the tab, long enough to stand for itself.")])], title="T"
    )
    assert cut_page(page)[0].section == "Tab A"
