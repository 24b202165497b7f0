"""Paste what a machine prints, learn what was really rented.

`diagnose` reads outputs of nvidia-smi, rocm-smi, NCCL and RCCL logs, ibstat, ibv_devinfo, fi_info, nccl-tests and dmesg.
Readers (one a kind of output) note what stands there, rules (one a problem code) judge it, data/*.csv holds the facts.
"""

from __future__ import annotations

from .engine import diagnose
from .files import file_lines, run_files
from .mask import mask_secrets
from .model import Diagnosis, Evidence, Problem, Topology
from .picture import topology_svg, topology_text
from .recognise import looks_like_diagnostic
from .verify import VerifyPlan, verify_plan

__all__ = [
    "Diagnosis",
    "Evidence",
    "Problem",
    "Topology",
    "VerifyPlan",
    "diagnose",
    "file_lines",
    "looks_like_diagnostic",
    "mask_secrets",
    "run_files",
    "topology_svg",
    "topology_text",
    "verify_plan",
]
