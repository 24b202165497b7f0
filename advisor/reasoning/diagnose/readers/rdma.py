"""RDMA devices: `ibstat`, `ibv_devinfo`, `ibdev2netdev`, `show_gids`, `rdma link`, perftest; and `fi_info`."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import LIMIT, Port, Reading
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, note, unprefix

_CA = re.compile(r"^\s*CA '([^']+)'")
_HCA_ID = re.compile(r"\bhca_id:\s*(\S+)")
_PORT = re.compile(r"^\s*[Pp]ort\s*:?\s*(\d+):?\s*$")
_FIELD = re.compile(r"^\s*([A-Za-z][\w ]*?):\s*(\S.*?)\s*$")
_DEV2NET = re.compile(r"^\s*(\S+)\s+port\s+(\d+)\s+==>\s+(\S+)\s+\((Up|Down)\)")
_STATUS = re.compile(r"Infiniband device '([^']+)' port (\d+) status:")
_RDMA_LINK = re.compile(
    r"\blink (\S+)/(\d+) (?:subnet_prefix \S+ |lid \d+ |sm_lid \d+ |lmc \d+ )*state (\w+) physical_state (\w+)"
)
_GID_ROW = re.compile(
    r"^\s*(\S+)\s+(\d+)\s+(\d+)\s+([0-9a-fA-F:]{8,}(?:\.\d+)*)\s+(?:(\d+\.\d+\.\d+\.\d+)\s+)?(v1|v2)\b"
)
_GID_LINE = re.compile(r"\bGID\[\s*(\d+)\]:\s*([0-9a-fA-F:.]+)(?:,\s*RoCE (v\d))?")
_SPEED = re.compile(r"([\d.]+)\s*Gb(?:ps|/sec|/s)?")
_WIDTH = re.compile(r"(\d+)X")
_LINK_TYPE = re.compile(r"\bLink type\s*:\s*(IB|Ethernet)\b")
_SYS_RATE = re.compile(r"^\s*(\d+) Gb/sec \((\d+)X (\w+)\)")
AMAZON = "0x1d0f"
"""PCI vendor of EFA devices, which ibv_devinfo lists with an unspecified link layer."""
_IB_INTERFACE = re.compile(r"^(?:ib|ibp|ibs)\w*\d")


class RdmaReader(Reader):
    """Ports with state, rate and link layer; blocks of interleaved hosts are kept apart by launcher prefix."""

    hints = (
        "CA '",
        "hca_id:",
        "==>",
        " physical_state ",
        "  v1",
        "  v2",
        "\tv1",
        "\tv2",
        " Gb/sec (",
        "DEV     PORT",
        "DEV\tPORT",
        "Infiniband device '",
        "Link type",
    )

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._device: dict[str, tuple[str, str, str]] = {}
        self._port: dict[str, Port | None] = {}
        self._width: dict[str, float] = {}
        self._idle = 0

    def begin(self) -> None:
        """Leave every block."""
        super().begin()
        self._device.clear()
        self._port.clear()

    def feed(self, text: str, place: Place) -> None:
        """Read a device heading, a port heading or a field."""
        if "NCCL" in text:
            return
        prefix, body = unprefix(text)
        if not body.strip():
            return
        if found := _CA.search(body):
            self._begin(prefix, found.group(1), "ibstat")
        elif found := _HCA_ID.search(body):
            self._begin(prefix, found.group(1), "ibv_devinfo")
        elif found := _STATUS.search(body):
            self._begin(prefix, found.group(1), "ibstatus")
            port = Port(found.group(1), int(found.group(2)), place.evidence(found.group(0)), tool="ibstatus")
            self._port[prefix] = port
            self._keep(port)
        elif found := _DEV2NET.match(body):
            self._dev2net(found, place)
        elif found := _RDMA_LINK.search(body):
            port = Port(found.group(1), int(found.group(2)), place.evidence(found.group(0)), tool="rdma link")
            port.state, port.physical = found.group(3).capitalize(), found.group(4)
            port.layer = "InfiniBand" if "subnet_prefix" in body else "unknown"
            self._keep(port)
        elif found := _GID_ROW.match(body):
            self.reading.kind("show_gids")
            if len(self.reading.gids) < LIMIT:
                device, index, gid, address, version = (
                    found.group(1),
                    found.group(3),
                    found.group(4),
                    found.group(5),
                    found.group(6),
                )
                self.reading.gids.append(
                    (device, int(index), gid, f"{version} {address or ''}".strip(), place.evidence())
                )
        elif found := _SYS_RATE.match(body):
            port = Port("", 0, place.evidence(found.group(0)), state="unknown", tool="sysfs")
            port.rate_gbit_s, port.rate_evidence = float(found.group(1)), place.evidence(found.group(0))
            self._keep(port)
        elif found := _LINK_TYPE.search(body):
            port = Port("perftest", 1, place.evidence(found.group(0)), state="Active", tool="perftest")
            port.layer = "InfiniBand" if found.group(1) == "IB" else "Ethernet"
            self._keep(port)
        elif prefix in self._device:
            self._field(prefix, body, place)

    def _begin(self, prefix: str, device: str, tool: str) -> None:
        self._device[prefix] = (device, tool, "")
        self._port[prefix] = None
        self.open, self._idle = True, 0

    def _keep(self, port: Port) -> None:
        if len(self.reading.ports) < LIMIT:
            self.reading.ports.append(port)
            self.reading.kind(port.tool)

    def _dev2net(self, found: re.Match[str], place: Place) -> None:
        port = Port(found.group(1), int(found.group(2)), place.evidence(found.group(0).strip()), tool="ibdev2netdev")
        port.state = "Active" if found.group(4) == "Up" else "Down"
        port.layer = "InfiniBand" if _IB_INTERFACE.match(found.group(3)) else "Ethernet"
        self._keep(port)

    def _field(self, prefix: str, body: str, place: Place) -> None:
        if found := _PORT.match(body):
            device, tool, model = self._device[prefix]
            port = Port(device, int(found.group(1)), place.evidence(body.strip()), tool=tool, model=model)
            self._port[prefix] = port
            self._keep(port)
            self._idle = 0
            return
        if found := _GID_LINE.search(body):
            if found.group(3) and len(self.reading.gids) < LIMIT:
                row = (self._device[prefix][0], int(found.group(1)), found.group(2), found.group(3), place.evidence())
                self.reading.gids.append(row)
            return
        found = _FIELD.match(body)
        if not found:
            self._idle += 1
            if self._idle > 12:
                self.open = False
                self._device.clear()
            return
        self._idle = 0
        name, value = found.group(1).strip().lower(), found.group(2)
        current = self._port[prefix]
        if name == "vendor_id" and value.lower() == AMAZON:
            device = self._device[prefix][0]
            note(self.reading.providers, "efa", place, body.strip())
            note(self.reading.domains, device, place, body.strip())
            return
        if name in {"ca type", "vendor_part_id", "board_id"}:
            device, tool, model = self._device[prefix]
            self._device[prefix] = (device, tool, model or value)
            return
        if current is None:
            if name in {"state", "physical state", "rate"}:
                device, tool, model = self._device[prefix]
                current = Port(device, 1, place.evidence(body.strip()), tool=tool, model=model)
                self._port[prefix] = current
                self._keep(current)
            else:
                return
        if name == "state":
            current.state = "Active" if "active" in value.lower() else "Down" if "down" in value.lower() else value
            current.evidence = place.evidence(body.strip())
        elif name in {"physical state", "phys_state", "phys state"}:
            current.physical = re.sub(r"^\d+: ", "", value)
        elif name in {"link layer", "link_layer"}:
            current.layer = (
                "InfiniBand"
                if value.lower().startswith("infini")
                else "Ethernet"
                if value.lower().startswith("eth")
                else value
            )
        elif name == "rate" and (number := re.match(r"[\d.]+", value)):
            current.rate_gbit_s, current.rate_evidence = float(number.group(0)), place.evidence(body.strip())
        elif name == "active_width" and (width := _WIDTH.search(value)):
            self._width[prefix] = float(width.group(1))
        elif name == "active_speed" and (speed := _SPEED.search(value)):
            lanes = self._width.get(prefix, 4.0)
            current.rate_gbit_s = float(speed.group(1)) * lanes
            current.rate_evidence = place.evidence(body.strip())


class FabricInfoReader(Reader):
    """`fi_info`: providers and domains; one adapter prints several blocks."""

    hints = ("provider:", "domain:", "fi_info")

    def feed(self, text: str, place: Place) -> None:
        """Read a provider or a domain line."""
        _, body = unprefix(text)
        body = body.strip()
        if body.startswith("provider:"):
            self.reading.kind("fi_info")
            note(self.reading.providers, body[9:].strip(), place, body)
        elif body.startswith("domain:") and "fi_info" in self.reading.kinds:
            name = re.sub(r"-(?:rdm|dgrm|dgram)$", "", body[7:].strip())
            note(self.reading.domains, name, place, body)
