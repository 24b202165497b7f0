"""PDF files: text page by page, blanks that fonts swallow put back, axis figures of charts left out."""

from __future__ import annotations

import io
import logging
import re

from ingest.documents.dates import parse_date
from ingest.documents.model import Block, Heading, Page, Text, Unreadable

MAX_PAGES = 2000
_BARE_NUMBER = re.compile(r"^[\s\d.,%+\-x×kKMGB/]*$")
_JOINED = re.compile(r"[A-Za-z]{14,}")
_END = re.compile(r"[。．.!?:;：]$")


def load_pdf(data: bytes) -> Page:
    """A PDF as blocks, a heading a page (its first short line). Raises Unreadable for broken, locked or picture-only files."""
    import pypdf
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    page = Page([])
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("the PDF is locked with a password")
        info = reader.metadata
        page.title = str(info.title or "").strip() if info else ""
        modified = str(info.get("/ModDate") or info.get("/CreationDate") or "") if info else ""
        if match := re.match(r"D:(\d{4})(\d{2})(\d{2})", modified):
            page.as_of = parse_date("-".join(match.groups()))
        for number, sheet in enumerate(reader.pages[:MAX_PAGES], 1):
            page.blocks.extend(_sheet_blocks(sheet, number))
    except Unreadable:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError) as error:
        raise Unreadable(f"the PDF cannot be read ({type(error).__name__}: {error})") from error
    if not any(isinstance(block, Text) for block in page.blocks):
        raise Unreadable("the PDF holds no text (pictures of pages need OCR first)")
    if not _is_title(page.title):
        page.title = next((block.text for block in page.blocks if isinstance(block, Heading)), "")
    return page


def _is_title(title: str) -> bool:
    return bool(title) and not re.search(
        r"\.(docx?|pptx?|indd|tex)$|^(untitled|microsoft word|powerpoint)", title, re.IGNORECASE
    )


def _sheet_blocks(sheet: object, number: int) -> list[Block]:
    plain = str(sheet.extract_text() or "")  # type: ignore[attr-defined]
    layout = ""
    try:
        if _JOINED.search(plain):
            layout = str(sheet.extract_text(extraction_mode="layout") or "")  # type: ignore[attr-defined]
    except (ValueError, KeyError, TypeError, ZeroDivisionError, AttributeError, IndexError):
        layout = ""
    lines = [line for line in restore_blanks(plain, layout) if not _BARE_NUMBER.match(line)]
    if not lines:
        return []
    head = lines[0] if len(lines[0]) <= 100 else f"Page {number}"
    body = lines[1:] if head == lines[0] and len(lines) > 1 else lines
    return [Heading(2, head), Text("\n".join(join_lines(body)))]


def restore_blanks(plain: str, layout: str) -> list[str]:
    """The lines of the plain text, with the blanks that the laid-out text shows between the same letters.

    >>> restore_blanks("Thesqueuecommand shows", "  The squeue command shows     other")
    ['The squeue command shows']
    """
    squeezed = []
    for line in layout.splitlines():
        places = [place for place, character in enumerate(line) if not character.isspace()]
        squeezed.append(("".join(line[place] for place in places), places, line))
    out = []
    for line in plain.splitlines():
        text = re.sub(r"\s+", " ", line).strip()
        letters = re.sub(r"\s+", "", text)
        if len(letters) >= 12 and text.isascii():
            for whole, places, original in squeezed:
                start = whole.find(letters)
                if start >= 0:
                    found = original[places[start] : places[start + len(letters) - 1] + 1]
                    text = re.sub(r"\s+", " ", found)
                    break
        if text:
            out.append(text)
    return out


def join_lines(lines: list[str]) -> list[str]:
    """Lines that a page's width broke inside a sentence, joined again; words split by a hyphen too."""
    out: list[str] = []
    for line in lines:
        if out and out[-1].endswith("-") and line[:1].islower() and len(out[-1]) > 40:
            out[-1] = out[-1][:-1] + line
        elif out and len(out[-1]) > 60 and not _END.search(out[-1]) and line[:1].islower():
            out[-1] = f"{out[-1]} {line}"
        else:
            out.append(line)
    return out
