"""What the links are worth to a job: slow-downs, and verdicts by fixed thresholds."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.answer import Verdict

YES_FROM = 1.25
"""A link is needed where the job takes at least a quarter longer without it (re-planned for the slower link)."""
HELPFUL_FROM = 1.05
"""And helpful where it takes at least a twentieth longer; less than that is within the error of the estimate."""


def verdict(slowdown: float | None) -> Verdict:
    """yes | helpful | no from step time without the link over step time with it; None (one GPU, one node) means no."""
    if slowdown is None or slowdown < HELPFUL_FROM:
        return "no"
    return "yes" if slowdown >= YES_FROM else "helpful"


def slowdown(with_link: float | None, without: float | None, limits: Mapping[str, float] | None = None) -> float | None:
    """Speed with the link over speed without it, never below 1. Infinite (does not run without it) is reported as 10."""
    cap = (limits or {}).get("cap", 10.0)
    if not with_link:
        return None
    if not without:
        return cap
    return max(1.0, min(cap, with_link / without))
