"""Readers: one a kind of output. They note what stands in the text and judge nothing."""

from __future__ import annotations

from .base import Reader
from .graph import GraphReader, XmlReader
from .kernel import KernelReader
from .matrix import MatrixReader
from .nccl import NcclReader
from .nvidia import NvlinkReader, QueryReader
from .peer import PeerTableReader
from .rdma import FabricInfoReader, RdmaReader
from .settings import SettingReader, SignalReader
from .tests import TestsReader

READERS: tuple[type[Reader], ...] = (
    NcclReader,
    GraphReader,
    MatrixReader,
    NvlinkReader,
    QueryReader,
    RdmaReader,
    FabricInfoReader,
    TestsReader,
    XmlReader,
    PeerTableReader,
    KernelReader,
    SettingReader,
)
"""In the order they see a line. `SignalReader` runs beside them on every line."""

__all__ = ["READERS", "Reader", "SignalReader"]
