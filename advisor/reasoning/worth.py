"""What a machine is worth to a job: the hours of the whole errand where the job ends, of an hour where it serves.

Speed alone flatters large machines: a job of minutes also pays for the start of the machine and the download of the weights, and a
service pays for every hour whether or not its capacity is used.
"""

from __future__ import annotations

from advisor.reasoning.compute import Constants
from advisor.reasoning.inference import weight_gb
from advisor.reasoning.workload import Sizing


def setup_hours(sizing: Sizing, k: Constants) -> float:
    """Hours that are paid before the first step: start of the machine, environment, download of the weights."""
    shape = sizing.shape
    if shape is None:
        return k["setup_hours"]
    return k["setup_hours"] + weight_gb(shape, sizing.workload.precision or "bf16") / k["download_gb_s"] / 3600.0


def errand_hours(sizing: Sizing, pace: float | None, k: Constants) -> float | None:
    """Hours by which machines are ranked: set-up and the run at `pace` tokens a second. None for services and unknown speeds."""
    tokens = sizing.workload.tokens or sizing.usual_tokens
    if not pace or not tokens:
        return None
    return setup_hours(sizing, k) + tokens / pace / 3600.0
