"""What the links are worth to a job: slow-downs, and verdicts by fixed thresholds."""

from __future__ import annotations

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


IMPOSSIBLE = 100.0
"""Reported where the job does not run at all without the link, and the most that is reported otherwise."""


def slowdown(with_link: float | None, without: float | None) -> float | None:
    """Speed with the link over speed without it, at least 1; None where the job does not run even with it."""
    if not with_link:
        return None
    if not without:
        return IMPOSSIBLE
    return max(1.0, min(IMPOSSIBLE, with_link / without))
