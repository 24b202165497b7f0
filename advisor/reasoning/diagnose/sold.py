"""What an instance type promises against what the text shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from advisor.messages import catalogue
from advisor.messages import text as say

from . import tables
from .facts import Reading
from .model import Evidence, Lang, Sold, SoldItem
from .rules.base import Finding
from .verdict import Verdict

Lookup = Callable[[str], Any]
_UNKNOWN = {None, "", "unknown"}


_FIELDS = (
    "provider",
    "gpu",
    "gpu_variant",
    "gpu_count",
    "nvlink",
    "nvlink_topology",
    "nvlink_domain_gpus",
    "internode_fabric",
    "internode_gbit_s_per_node",
    "gpudirect_rdma",
)


def _value(row: Any, name: str) -> Any:
    return row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)


def promise(instance_type: str, offers_lookup: Lookup | None) -> dict[str, Any]:
    """The link fields promised for the type: its offers first, then data/devices.csv; empty where nobody knows it.

    The look-up may give one row or several (regions, prices); of several, the value most of them name counts.
    """
    found = offers_lookup(instance_type) if offers_lookup else None
    rows = list(found) if isinstance(found, list | tuple) else [found] if found is not None else []
    fields: dict[str, Any] = {}
    for name in _FIELDS:
        values = [value for row in rows if (value := _value(row, name)) not in _UNKNOWN]
        if values:
            fields[name] = Counter(values).most_common(1)[0][0]
    for known in tables.rows_cached("devices.csv"):
        if re.fullmatch(known["instance_type"], instance_type, re.IGNORECASE):
            fields.setdefault("provider", known["provider"])
            fields.setdefault("gpu_count", float(known["gpus"]))
            fields.setdefault("internode_fabric", known["fabric"])
            fields["devices"] = int(known["devices"])
            fields["gpu_name"] = known["gpu"]
            fields.setdefault("internode_gbit_s_per_node", float(known["devices"]) * float(known["gbit_s_per_device"]))
    return fields


def compare(
    reading: Reading, verdict: Verdict, instance_type: str | None, offers_lookup: Lookup | None, lang: Lang
) -> Sold | None:
    """Item by item; None where no type is named or nothing is known about it."""
    guessed = instance_type is None
    names = [instance_type] if instance_type else list(reading.instance_names)
    for name in names:
        fields = promise(name, offers_lookup)
        if fields:
            items = tuple(
                _item(key, want, see, same, lang) for key, want, see, same in _items(fields, reading, verdict)
            )
            return Sold(instance_type=name, provider=fields.get("provider"), guessed=guessed, items=items)
    return None


def _item(key: str, want: str, see: str, same: bool | None, lang: Lang) -> SoldItem:
    word: Literal["ok", "missing", "unknown"] = "unknown" if same is None else "ok" if same else "missing"
    label = say(f"diagnose.sold.{key}", lang)
    line = say(f"diagnose.sold.{word}", lang, item=label, promised=_told(want, lang), seen=_told(see, lang))
    return SoldItem(item=key, promised=want, seen=see, verdict=word, text=line)


def _told(value: str, lang: Lang) -> str:
    """A code such as `partial` in words; a figure or name that has none stays."""
    key = f"diagnose.told.{value}"
    return say(key, lang) if key in catalogue() else value


def _items(fields: dict[str, Any], reading: Reading, verdict: Verdict) -> Iterator[tuple[str, str, str, bool | None]]:
    count = fields.get("gpu_count")
    if count:
        seen = gpus_seen(reading)
        yield "gpus", f"{count:g}", str(seen or "unknown"), None if not seen else seen >= count
    nvlink = fields.get("nvlink")
    if nvlink:
        same = None if verdict.nvlink == "unknown" else _rank(verdict.nvlink) >= _rank(nvlink)
        yield "nvlink", nvlink, verdict.nvlink, same
    board = tables.board_of(fields.get("gpu_name", "")) if fields.get("gpu_name") else None
    if board and count and count >= 8:
        most = max((len(ls.active) for ls in reading.links), default=0)
        least = min((len(ls.active) for ls in reading.links if not ls.cut), default=most)
        yield (
            "nvlink_links",
            str(board.board_links),
            str(least or "unknown"),
            None if not least else least >= board.board_links,
        )
    fabric = fields.get("internode_fabric")
    if fabric:
        unknown = verdict.transport in {"unknown", "none"}
        plain = fabric in {"ethernet", "none"}
        same = None if unknown else verdict.transport == fabric or (plain and verdict.transport == "socket")
        yield "fabric", fabric, verdict.transport, same
    if fields.get("devices"):
        seen = devices_seen(reading)
        yield "nics", str(fields["devices"]), str(seen or "unknown"), None if not seen else seen >= fields["devices"]
    rate = fields.get("internode_gbit_s_per_node")
    if rate:
        rates = [p.rate_gbit_s for p in reading.ports if p.rate_gbit_s and p.state == "Active"]
        whole = sum(rates) if rates and len({p.device for p in reading.ports}) == len(reading.ports) else 0
        yield "rate", f"{rate:g}", f"{whole:g}" if whole else "unknown", None if not whole else whole >= rate
    gdr = fields.get("gpudirect_rdma")
    if gdr == "yes":
        same = None if verdict.gpudirect == "unknown" else verdict.gpudirect == "yes"
        yield "gpudirect", gdr, verdict.gpudirect, same


def _rank(word: str) -> int:
    return ("no", "partial", "yes").index(word) if word in {"no", "partial", "yes"} else -1


def gpus_seen(reading: Reading) -> int:
    """GPUs the text shows on one node; 0 where it does not."""
    counts = [len(m.gpus()) for m in reading.matrices]
    counts += [reading.gpu_count[0]] if reading.gpu_count else []
    counts += [len(reading.xml_gpus)] if reading.xml_gpus else []
    return max(counts, default=0)


def devices_seen(reading: Reading) -> int:
    """Distinct RDMA or EFA devices on one host; 0 where the text lists none. A domain printed twice counts once."""
    names = {re.sub(r"-(?:direct|rdm|dgrm)$", "", name) for name in reading.domains}
    most = max((len(devices) for devices in reading.hcas.values()), default=0)
    listed = len({port.device for port in reading.ports if port.device})
    plugin = int(reading.versions["ofi_nics"]) if "ofi_nics" in reading.versions else 0
    return max(len(names), most, listed, plugin)


def findings(promised: Sold | None, reading: Reading) -> list[Finding]:
    """`devices_missing` where a named type promises more devices than the text lists."""
    if promised is None or promised.guessed:
        return []
    found = []
    for item in promised.items:
        if item.item == "nics" and item.verdict == "missing":
            places: list[Evidence] = [*reading.domains.values()]
            places += [place for devices in reading.hcas.values() for _, place in devices.values()]
            places += [port.evidence for port in reading.ports]
            places += list(reading.providers.values())
            if places:
                values = {"seen": item.seen, "expected": item.promised, "item": "RDMA"}
                found.append(Finding("devices_missing", places[0], None, "", values))
    return found
