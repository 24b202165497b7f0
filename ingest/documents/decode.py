"""Bytes to text: the byte order mark, UTF-8, what an HTML page declares, then Japanese encodings by trying them."""

from __future__ import annotations

import re

_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)|<\?xml[^>]+encoding=[\"']([\w-]+)", re.IGNORECASE)
_KANA = re.compile(r"[\u3040-\u30ff]")


def decode(data: bytes, charset: str | None = None) -> str:
    """The text of a file, whatever its encoding; characters that stay unreadable are replaced.

    `charset` is what a server said, tried after the byte order mark.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    head = data[:4000]
    declared = _DECLARED.search(head)
    names = [charset, (declared.group(1) or declared.group(2)).decode("ascii") if declared else None, "utf-8"]
    if head.count(b"\0") > len(head) // 5 and head:
        little = sum(head[place] == 0 for place in range(1, len(head), 2))
        names.insert(0, "utf-16-le" if little > len(head) // 8 else "utf-16-be")
    for name in names:
        if name:
            try:
                return data.decode(name)
            except (UnicodeDecodeError, LookupError):
                continue
    return _guess(data)


def _guess(data: bytes) -> str:
    """Japanese encodings that decode without an error and give the most kana; else what charset-normalizer says."""
    best, score = "", 0
    for name in ("cp932", "euc_jp", "iso2022_jp"):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        halfwidth = sum("\uff61" <= character <= "\uff9f" for character in text)
        kana = len(_KANA.findall(text)) - 3 * halfwidth
        if kana > score:
            best, score = text, kana
    if best:
        return best
    from charset_normalizer import from_bytes

    found = from_bytes(data).best()
    return str(found) if found is not None else data.decode("utf-8", "replace")


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text: NULs that no UTF-16 explains, or many control characters."""
    head = data[:4000]
    if not head or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    nul = head.count(b"\0")
    if nul and nul < len(head) // 5:
        return True
    control = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head) - nul
    return control > len(head) // 10
