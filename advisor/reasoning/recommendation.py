"""What `recommend` gives back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from advisor.answer import Counterfactual, Needs, Pick, Workload

Outcome = Literal["picks", "no_match", "infeasible", "not_modelled"]


class Recommendation(BaseModel):
    """Picks for a job, with what they rest on.

    `not_modelled`: the speed of such a job is not computed; the picks hold it in memory and are ordered by price.
    `infeasible`: nothing meets the job and the limits; `nearest` are the closest that hold it, `problem` says what is missing.
    `required` gives the missing amounts as numbers (gpus, budget_usd, hours, memory_gb).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    workload: Workload
    needs: Needs | None = None
    picks: tuple[Pick, ...] = ()
    counterfactuals: tuple[Counterfactual, ...] = ()
    assumptions: tuple[str, ...] = ()
    why_not_runner_up: tuple[str, ...] = ()
    flips: tuple[str, ...] = ()
    formula: str = ""
    problem: tuple[str, ...] = ()
    nearest: tuple[Pick, ...] = ()
    required: dict[str, float] = Field(default_factory=dict)
    loosened: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()
    charts: dict[str, Any] = Field(default_factory=dict)
