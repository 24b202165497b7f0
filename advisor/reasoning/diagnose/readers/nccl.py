"""NCCL and RCCL logs (`NCCL_DEBUG=INFO`), versions 2.4 to current: hosts, networks, channels, GPUDirect, NVLS."""

from __future__ import annotations

import re

from advisor.reasoning.diagnose.facts import Channel, Reading
from advisor.reasoning.diagnose.lines import Place

from .base import Reader, note

_HEAD = re.compile(r"([^\s:\[\]()<>|,]+):(\d+):(\d+) \[(-?\d+)\] ")
_VIA = re.compile(r"\[(send|receive)\] via (?:NET|COLLNET)/([^/\n]+?)/(\d+)")
_LOCAL_PAIR = re.compile(r" (\d+)(?:\[[^\]]*\])? -> (\d+)(?:\[[^\]]*\])? via (?:P2P|SHM|direct shared)")
_HOST_LIST = re.compile(r"\bmpi(?:run|exec)\b.*\s(?:-H|--?host)[ =]([\w.\-:,]+)")
_VIA_LOCAL = re.compile(r"\bvia (P2P|SHM|direct shared memory|MNNVL)")
_USING_NETWORK = re.compile(r"Using (?:internal )?[Nn]etwork (.+?)\s*$")
_ASSIGNED = re.compile(r"Assigned NET plugin (.+?) to comm")
_FABRIC = re.compile(r"MNNVL busId \S+ fabric UUID \S+ cliqueId \S+ state (\d)")
_INIT = re.compile(r"NET/([A-Za-z][\w ]*?)\s?: Using (\[?\S.*)$")
_HCA = re.compile(r"\[(\d+)\]\s?([\w.\-+]+):(\d+)/(\w+)")
_HCA_DETAIL = re.compile(r"NET/IB\w*\s?: \[(\d+)\]\s?([\w.\-+]+):[\w.\-]*:(\d+)/(\w+)")
_HCA_GDR = re.compile(r"GPU Direct RDMA (?:\(\w+\) )?(Enabled|Disabled|enabled|disabled) for HCA (\d+)")
_PAIR_GDR = re.compile(r"GPU Direct RDMA (Enabled|Disabled) for (?:GPU|rank) ([^/]*?)\s*/")
_RING_GDR = re.compile(r"use ring PXN \d GDR (\d)")
_RANK = re.compile(r"\brank (\d+) n[rR]anks (\d+)")
_TOPOLOGY = re.compile(r"nNodes (\d+)(?: localRanks (\d+))?")
_BUS = re.compile(r"nvmlDev (\d+) busId (\w+)(?: commId (0x\w{6,}))?")
_DEVICE = re.compile(r"\bcudaDev (\d+)")
_RING = re.compile(r"Channel \d+/\d+ :((?:\s+\d+){2,})\s*$")
_LAUNCH = re.compile(
    r"(?:--nnodes|--num_nodes|--nodes|--num_machines|NNODES|SLURM_(?:JOB_)?(?:NUM_NODES|NNODES))[= ]\"?(\d+)\b|\bnnodes['\"]?\s*[:=]\s*(\d+)"
)
_NVLS_CHANNELS = re.compile(r"\b(\d+) nvls channels")
_VERSION = re.compile(r"\b(NCCL|RCCL) version (\d[\w.+\-]*)")
_PROVIDER = re.compile(r"Selected [Pp]rovider is ([\w;]+)(?:.*?\(found (\d+) nics?\))?")
_HEADER_RANK = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+(\d+)")
LOCAL_LINES = 4_000
"""Lines on ranks of one node that are kept; a node of 16 GPUs with 32 channels prints 512."""
_HOST_STOP = {"INFO", "WARN", "http", "https", "tcp"}


class NcclReader(Reader):
    """One pass over the log; equal channel lines of a host are counted, not kept."""

    hints = (
        "NCCL",
        "RCCL",
        " Pid ",
        " nvls channels",
        " via NET/",
        "cudaDev ",
        "nnodes",
        "NNODES",
        "--nodes",
        "num_machines",
        "num_nodes",
        "mpirun",
        "mpiexec",
    )

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self._seen: set[tuple[str, str]] = set()
        self._anonymous = "?"
        self._heads: dict[str, str] = {}
        self._buses: dict[str, int] = {}
        self._local_lines = 0

    def begin(self) -> None:
        """A host that a line does not name is that of the file."""
        super().begin()
        self._anonymous = "?"

    def feed(self, text: str, place: Place) -> None:
        """Read one line of the log or of the nccl-tests header."""
        reading = self.reading
        if found := _HEADER_RANK.search(text):
            self._rank(int(found.group(1)), found.group(2), int(found.group(3)), place)
            reading.kind("nccl-tests header")
            return
        if "mpi" in text and (found := _HOST_LIST.search(text)):
            named = {part.split(":")[0] for part in found.group(1).split(",")}
            if len(named) > 1:
                reading.nnodes = max(reading.nnodes or 0, len(named))
        if "odes" in text or "NNODES" in text or "num_machines" in text:
            for found in _LAUNCH.finditer(text):
                reading.nnodes = max(reading.nnodes or 0, int(found.group(1) or found.group(2)))
            if "NCCL" not in text:
                return
        if " via " in text and "->" in text:
            self.channel(text, place)
            return
        host = self._host_of(text, place)
        reading.kinds.setdefault("NCCL log")
        if "nranks" in text or "nRanks" in text:
            self._ranks(text, host, place)
        elif "Channel " in text and (found := _RING.search(text)):
            ring = [int(rank) for rank in found.group(1).split()]
            if sorted(ring) == list(range(len(ring))):
                reading.nranks = max(reading.nranks or 0, len(ring))
        if "NET" in text or "etwork" in text or "HCA" in text:
            self._network(text, host, place)
        if "NVLS" in text or "nvls" in text or "MNNVL" in text:
            self._nvls(text, place)
        if "use ring PXN" in text and (found := _RING_GDR.search(text)):
            note(reading.gdr_ring, found.group(1) != "0", place, found.group(0))
        if "version" in text and (found := _VERSION.search(text)):
            reading.versions.setdefault(found.group(1), found.group(2))

    def _host_of(self, text: str, place: Place) -> str:
        """The host that the line names; heads (`host:pid:thread [device]`) repeat, so each is taken apart once."""
        at = text.find(" NCCL ")
        if at < 0:
            return self._anonymous
        head = text[: at + 1]
        known = self._heads.get(head)
        if known is not None:
            return known
        found = _HEAD.search(head)
        if found is None or found.group(1) in _HOST_STOP or found.group(1).isdigit():
            host = self._anonymous
        else:
            host = found.group(1)
            self._host(host, int(found.group(4)), place)
        if len(self._heads) < 50_000 and len(head) < 200:
            self._heads[head] = host
        return host

    def _host(self, host: str, device: int, place: Place) -> None:
        devices = self.reading.local_devices.get(host)
        if devices is None:
            note(self.reading.hosts, host, place, host)
            devices = self.reading.local_devices[host] = set()
        if device >= 0:
            devices.add(device)

    def _rank(self, rank: int, host: str, device: int, place: Place) -> None:
        self.reading.rank_hosts[rank] = host
        self._host(host, device, place)

    def _ranks(self, text: str, host: str, place: Place) -> None:
        reading = self.reading
        if found := _RANK.search(text):
            rank, total = int(found.group(1)), int(found.group(2))
            self.reading.nranks = max(self.reading.nranks or 0, total)
            if host != "?" and total == self.reading.nranks:
                self.reading.rank_hosts[rank] = host
            if twin := _BUS.search(text):
                key = f"{twin.group(3)}/{total}/{twin.group(1)}/{twin.group(2)}"
                if self._buses.setdefault(key, rank) != rank and (twin.group(3) or host == "?"):
                    reading.signal("same_slot_twice", place.evidence(twin.group(0)))
        if found := _TOPOLOGY.search(text):
            self.reading.nnodes = max(self.reading.nnodes or 0, int(found.group(1)))
            if found.group(2):
                self.reading.local_ranks = max(self.reading.local_ranks or 0, int(found.group(2)))
        if (found := _DEVICE.search(text)) and host != "?":
            self.reading.local_devices.setdefault(host, set()).add(int(found.group(1)))

    def _local(self, text: str, at: int) -> None:
        """Ranks that meet over P2P or shared memory share a node; enough lines are read to join a node's ranks."""
        self._local_lines += 1
        if found := _LOCAL_PAIR.search(text, 0, at + 20):
            self.reading.same_node.append((int(found.group(1)), int(found.group(2))))

    def channel(self, text: str, place: Place) -> None:
        """Read a line that says by which way two ranks are connected: by far the most frequent kind."""
        host = self._host_of(text, place)
        at = text.find(" via ")
        if self._local_lines < LOCAL_LINES and "[send]" not in text and "[receive]" not in text:
            self._local(text, at)
        key = (host, text[max(0, at - 2) : at + 40])
        if key in self._seen:
            return
        if len(self._seen) < 200_000:
            self._seen.add(key)
        reading = self.reading
        reading.kinds.setdefault("NCCL log")
        found = _VIA.search(text)
        if found is None:
            if local := _VIA_LOCAL.search(text):
                name = "SHM" if local.group(1).startswith(("SHM", "direct")) else local.group(1)
                note(reading.channel_kinds, name, place, local.group(0))
            return
        direction, network = found.group(1), found.group(2).strip()
        gdr = "/GDRDMA" in text[found.end() - 1 :]
        channel = reading.channels.get((host, network, direction, gdr))
        if channel:
            channel.count += 1
        else:
            reading.channels[(host, network, direction, gdr)] = Channel(
                host, network, direction, gdr, place.evidence(found.group(0))
            )

    def _network(self, text: str, host: str, place: Place) -> None:
        reading = self.reading
        found = _USING_NETWORK.search(text) or _ASSIGNED.search(text)
        if found and reading.using.get(host, ("",))[0] != found.group(1):
            reading.using[host] = (found.group(1), place.evidence(found.group(0)))
        if "/OFI" in text or "Libfabric" in text:
            if found := _PROVIDER.search(text):
                note(reading.providers, found.group(1), place, found.group(0))
                note(reading.inits, (host, "Libfabric"), place, found.group(0))
                if found.group(2):
                    reading.versions.setdefault("ofi_nics", found.group(2))
            reading.kind("aws-ofi-nccl")
        if (found := _HCA_GDR.search(text)) and "NET/Socket" not in text:
            on = found.group(1).lower() == "enabled"
            note(reading.gdr_hca, (host, on), place, found.group(0))
            return
        if found := _PAIR_GDR.search(text):
            pair = (host, found.group(2))
            on = found.group(1) == "Enabled"
            old = reading.gdr_pair.get(pair)
            if old is None or (on and not old[0]):
                reading.gdr_pair[pair] = (on, place.evidence(found.group(0)))
            return
        if "FasTrak" in text:
            note(reading.inits, (host, "FasTrak"), place, "FasTrak")
        if "GPUDirectTCPX" in text or "tcpxComm" in text:
            note(reading.inits, (host, "GPUDirectTCPX"), place, "GPUDirectTCPX")
        if found := _INIT.search(text):
            name = found.group(1).strip()
            ports = _HCA.findall(found.group(2))
            if name == "Socket" or ports or name not in {"Plugin"}:
                note(reading.inits, (host, name), place, f"NET/{found.group(1)}")
            for _, device, port, layer in ports:
                cards = reading.hcas.setdefault(host, {})
                if f"{device}:{port}" not in cards:
                    cards[f"{device}:{port}"] = (layer, place.evidence(device))
        elif found := _HCA_DETAIL.search(text):
            note(reading.inits, (host, "IB"), place, "NET/IB")
            key = f"{found.group(2)}:{found.group(3)}"
            reading.hcas.setdefault(host, {}).setdefault(key, (found.group(4), place.evidence(found.group(2))))

    def _nvls(self, text: str, place: Place) -> None:
        reading = self.reading
        if found := _NVLS_CHANNELS.search(text):
            note(reading.nvls, found.group(1) != "0", place, found.group(0))
        elif "NVLS comm 0x" in text or "Connected NVLS tree" in text:
            note(reading.nvls, True, place, "NVLS")
        elif "NVLS multicast support is not available" in text:
            note(reading.nvls, False, place, "NVLS multicast support is not available")
        elif "NVLS multicast support is available" in text:
            reading.signal("nvls_multicast_ok", place.evidence("NVLS multicast"))
        if (found := _FABRIC.search(text)) and found.group(1) == "2":
            reading.signal("fabric_error", place.evidence(found.group(0)))
        if " MNNVL 1" in text:
            reading.signal("mnnvl", place.evidence("MNNVL 1"))
