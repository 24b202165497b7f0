"""Traces for OpenTelemetry, where `ADVISOR_TRACES` names a collector: one span a turn, one below it for each tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from advisor.errors import BadRequest

if TYPE_CHECKING:
    from advisor.answer import Step


class Tracer(Protocol):
    """What a turn is told to when it ended."""

    def turn(self, fields: Mapping[str, Any], steps: Sequence[tuple[Step, int]], start_ns: int) -> None:
        """One ended turn: the fields of its log line, its tools with when each ended (ns since 1970), when it began."""


class NoTraces:
    """Where no collector is set."""

    def turn(self, fields: Mapping[str, Any], steps: Sequence[tuple[Step, int]], start_ns: int) -> None:
        """Nothing."""


class OpenTelemetry:
    """Spans through the OpenTelemetry SDK. They hold what the log line holds, never the text of a question."""

    def __init__(self, provider: Any) -> None:
        self._tracer = provider.get_tracer("advisor")

    def turn(self, fields: Mapping[str, Any], steps: Sequence[tuple[Step, int]], start_ns: int) -> None:
        """One span for the turn and one for each tool, with the times they had."""
        from opentelemetry import trace

        plain = {
            f"advisor.{key}": value
            for key, value in fields.items()
            if isinstance(value, str | int | float) and key not in ("question", "event")
        }
        span = self._tracer.start_span("turn", start_time=start_ns, attributes=plain)
        if fields.get("error"):
            span.set_status(trace.StatusCode.ERROR, str(fields["error"]))
        inside = trace.set_span_in_context(span)
        for step, ended in steps:
            begun = ended - int((step.ms or 0.0) * 1e6)
            child = self._tracer.start_span(f"tool {step.name}", context=inside, start_time=max(start_ns, begun))
            if step.state == "failed":
                child.set_status(trace.StatusCode.ERROR)
            child.end(end_time=ended)
        span.end(end_time=start_ns + int(float(fields["ms"]) * 1e6))


def make_tracer(address: str | None) -> Tracer:
    """The tracer for a collector's address, or one that does nothing. Raises BadRequest where the extra is missing.

    A collector that is away costs nothing: spans are sent from a thread of their own and dropped when it does not answer.
    """
    if not address:
        return NoTraces()
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise BadRequest(
            "ADVISOR_TRACES needs a package that is not installed: pip install 'interconnect-advisor[traces]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "interconnect-advisor"}))
    exporter = OTLPSpanExporter(endpoint=address, insecure=not address.startswith("https://"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return OpenTelemetry(provider)
