"""Counters for Prometheus; they hold numbers and codes, never the text of a question."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One application's counters in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.turns = Counter("advisor_turns", "Turns answered, by intent.", ["intent"], registry=self.registry)
        self.errors = Counter(
            "advisor_errors", "Turns and calls that ended in an error, by code.", ["code"], registry=self.registry
        )
        self.calls = Counter(
            "advisor_api_calls",
            "Calls of the programming interface, by endpoint.",
            ["endpoint"],
            registry=self.registry,
        )
        self.offers = Gauge("advisor_offers", "Offers in the table.", registry=self.registry)
        self.passages = Gauge("advisor_passages", "Passages in the knowledge base.", registry=self.registry)
        self.seconds = Histogram(
            "advisor_turn_seconds",
            "Seconds a turn took.",
            buckets=(0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 30, 60),
            registry=self.registry,
        )

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
