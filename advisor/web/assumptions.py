"""What the advisor read, as editable fields: values out of an answer, and an edited job back in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import ValidationError

from advisor.answer import Answer, Constraints, Precision, Workload, WorkloadKind
from advisor.errors import BadRequest
from advisor.web.numbers import amount_text, parse_amount
from advisor.web.words import FieldRefused, Refused, known, word

Kind = Literal["choice", "number", "text", "list", "three"]
TOKENS_UNIT = 1e9
"""Tokens are edited in billions."""


@dataclass(frozen=True)
class Field:
    """One control: which part of the answer it edits and how."""

    name: str
    part: Literal["workload", "constraints"]
    kind: Kind
    choices: tuple[str, ...] = ()
    unit: float = 1.0
    whole: bool = False
    always: bool = True
    """False: shown only where the answer has a value or the job's kind makes it matter."""
    when: tuple[str, ...] = ()


TRAINING = tuple(
    kind for kind in get_args(WorkloadKind) if kind not in ("inference", "moe_inference", "batch_inference", "embeddings", "video", "hpc", "render", "other")
)  # fmt: skip
SERVING = ("inference", "moe_inference", "batch_inference", "embeddings")

FIELDS: tuple[Field, ...] = (
    Field("kind", "workload", "choice", get_args(WorkloadKind)),
    Field("model", "workload", "text"),
    Field("params_b", "workload", "number"),
    Field("precision", "workload", "choice", get_args(Precision)),
    Field("seq_len", "workload", "number", whole=True, always=False, when=(*TRAINING, *SERVING)),
    Field("micro_batch", "workload", "number", whole=True, always=False, when=TRAINING),
    Field("tokens", "workload", "number", unit=TOKENS_UNIT, always=False, when=(*TRAINING, "batch_inference")),
    Field("deadline_hours", "workload", "number", always=False, when=TRAINING),
    Field("lora_rank", "workload", "number", whole=True, always=False, when=("lora", "qlora")),
    Field("concurrency", "workload", "number", whole=True, always=False, when=SERVING),
    Field("input_tokens", "workload", "number", whole=True, always=False, when=SERVING),
    Field("output_tokens", "workload", "number", whole=True, always=False, when=SERVING),
    Field("gpu_count", "constraints", "number", whole=True),
    Field("nodes", "constraints", "number", whole=True),
    Field("gpus", "constraints", "list"),
    Field("providers", "constraints", "list"),
    Field("regions", "constraints", "list"),
    Field("budget_usd", "constraints", "number"),
    Field("max_price_usd_gpu_hour", "constraints", "number"),
    Field("spot", "constraints", "three", ("any", "yes", "no")),
)


def is_shown(field: Field, answer: Answer | None) -> bool:
    """Whether a control has a place beside this answer."""
    if answer is None or answer.workload is None:
        return False
    if field.always or getattr(getattr(answer, field.part), field.name) is not None:
        return True
    return answer.workload.kind in field.when


def value_of(field: Field, answer: Answer | None) -> Any:
    """The control's value: amounts as text in the control's unit, lists joined by commas, `spot` as any, yes, no."""
    part = getattr(answer, field.part) if answer else None
    value = getattr(part, field.name) if part is not None else None
    if field.kind == "three":
        return "any" if value is None else "yes" if value else "no"
    if field.kind == "list":
        return ", ".join(value or ())
    if field.kind == "number":
        return amount_text(None if value is None else value / field.unit)
    if value is None and field.kind == "text":
        return ""
    return value


def source_of(field: Field, answer: Answer | None) -> str:
    """Where the value is from: stated, assumed, registry, or not set."""
    if answer is None or value_of(field, answer) in (None, "", "any"):
        return "unset"
    if field.part == "constraints":
        return "stated"
    return (answer.workload.sources if answer.workload else {}).get(field.name, "assumed")


def _parse(field: Field, raw: Any) -> Any:
    if field.kind == "three":
        return {"yes": True, "no": False}.get(str(raw))
    if field.kind == "list":
        return tuple(part.strip() for part in re.split(r"[,、，\n]", str(raw or "")) if part.strip())
    if field.kind == "number":
        try:
            amount = parse_amount(raw)
        except BadRequest:
            raise FieldRefused("field.no_amount", f"field.{field.name}", raw) from None
        if amount is None:
            return None
        return round(amount * field.unit) if field.whole else amount * field.unit
    return (str(raw).strip() or None) if raw is not None else None


def same(field: Field, a: Any, b: Any) -> bool:
    """Whether two control values mean the same; an amount that cannot be read is a change (and refused later)."""
    if field.kind == "number":
        try:
            x, y = parse_amount(a), parse_amount(b)
        except BadRequest:
            return False
        return x == y or (x is not None and y is not None and math.isclose(x, y, rel_tol=1e-9))
    return (a or None) == (b or None)


def changed_fields(answer: Answer, values: Sequence[Any]) -> list[tuple[Field, Any, Any]]:
    """(field, old control value, new control value) of the shown controls that differ from the answer."""
    found = []
    for field, raw in zip(FIELDS, values, strict=True):
        old = value_of(field, answer)
        if is_shown(field, answer) and not same(field, old, raw):
            found.append((field, old, raw))
    return found


def edited(answer: Answer, changes: Sequence[tuple[Field, Any, Any]]) -> tuple[Workload, Constraints]:
    """The job and the limits with the changes made; a changed field counts as stated.

    A new model name drops the size that belonged to the old one, so that the advisor looks it up again, and an emptied
    field becomes unknown. Raises BadRequest where a value is not possible.
    """
    if answer.workload is None:
        raise Refused("error.no_job")
    job: dict[str, Any] = answer.workload.model_dump()
    limits: dict[str, Any] = answer.constraints.model_dump()
    names = {field.name for field, _, _ in changes}
    for field, _, raw in changes:
        (job if field.part == "workload" else limits)[field.name] = _parse(field, raw)
    if "model" in names and job["model"]:
        for name in ("params_b", "active_params_b"):
            if name not in names:
                job[name] = None
                job["sources"].pop(name, None)
    # What was assumed for the old job is worked out anew for the new one.
    for name, source in list(job["sources"].items()):
        if source == "assumed" and name not in names and name != "kind":
            job[name], _ = None, job["sources"].pop(name)
    for field, _, _ in changes:
        if field.part == "workload":
            if job[field.name] is None:
                job["sources"].pop(field.name, None)
            else:
                job["sources"][field.name] = "stated"
    try:
        return Workload.model_validate(job), Constraints.model_validate(limits)
    except ValidationError as error:
        first = error.errors()[0]
        raise FieldRefused("field.impossible", f"field.{first['loc'][0]}", first["input"]) from None


def shown_value(field: Field, value: Any, lang: str) -> str:
    """A control value as a person reads it in the chat's record of changes."""
    if value in (None, ""):
        return word("unset", lang)
    if field.kind in ("choice", "three"):
        return known(f"value.{value}", lang, str(value))
    return str(value)


def change_line(changes: Sequence[tuple[Field, Any, Any]], lang: str) -> str:
    """The chat's record of what was changed with the controls."""
    parts = [
        word("assume.change", lang, field=word(f"field.{field.name}", lang), old=shown_value(field, old, lang), new=shown_value(field, new, lang))
        for field, old, new in changes
    ]  # fmt: skip
    return word("assume.changed", lang, changes=word("assume.joiner", lang).join(parts))
