"""What the person wants of this turn: scores of phrases and of what was read, and whether it is on topic at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from advisor.answer import Intent
from advisor.planner.reading.phrases import hits, says

_SENTENCE = re.compile(r"(?<=[。!?？！\n])|(?<=\.)\s")
_ASKED_CHARS = 2_000
_LINK_QUESTION = 2.5
_SUMMARIZE = 6.0
"""Weight of the act in the table: "summarise 40,000 documents" is a job and no wish for a summary."""
_TO_EXPLAIN = frozenset({"why", "difference", "what_is", "how", "verify", "symptom", "ask", "summarize", "tools"})
"""Who tells a job and asks whether it needs a link wants a machine for it, unless an explanation is asked for."""
_UNUSED_LINK = 5.0
"""Above any wish or explanation: a link that is there and not used is a trouble, whatever words stand beside it."""
_NO_TROUBLE = frozenset(
    {"rent_ask", "list", "sort_price", "price_query", "want_rent", "verify", "what_is", "difference", "summarize"}
)
"""Who asks for a machine or whether something is true has no link that fails."""
_ABOUT_PRICE = frozenset({"sort_price", "price_query", "list"})
_TOOL_RELEVANCE = 0.4
_SMALL_TALK = 60
_WORD_OR_TWO = 6


@dataclass(frozen=True)
class Signals:
    """What else of the turn speaks for an intent."""

    has_job: bool = False
    """A workload kind, or a model with its size, stands in this turn."""
    has_hardware: bool = False
    """A GPU or an instance type that is asked for."""
    has_limits: bool = False
    """A place, a provider, an instance type or spot."""
    price_cap: bool = False
    """Money of any scope."""
    hourly_cap: bool = False
    """A price an hour, which is enough to list offers; a budget in all is not."""
    link_wish: bool = False
    """NVLink or RDMA is demanded, or no longer demanded."""
    changed: bool = False
    follows: bool = False
    pasted: bool = False
    counted: bool = False
    """A number of GPUs or machines, or a card's memory, is demanded."""
    sides: bool = False
    """Machines, sellers or links are weighed against each other."""
    has_model: bool = False
    """The job's model or size stands in this turn."""
    judged: bool = False
    """A card is named whose fit is asked about."""
    networks_weighed: bool = False
    """The networks of two sellers are weighed against each other."""
    links_compared: bool = False
    """Two kinds of link are named and no machine: whichever is better, it is no wish for one."""
    memory: bool = False
    """A size of card memory, or of all cards together, is demanded."""
    numbers: int = 0
    """Quantities read."""
    names: int = 0
    """GPUs, providers, models, instance types and fabrics named."""


@dataclass(frozen=True)
class Guess:
    """An intent with the finer acts and the scores behind it, for explaining."""

    intent: Intent
    acts: frozenset[str]
    scores: dict[str, float]
    relevance: float


def scores(text: str) -> tuple[dict[str, float], set[str]]:
    """Per intent, the sum over its acts of the heaviest phrase found; and the acts."""
    best: dict[str, float] = {}
    for hit in hits("act", text):
        best[hit.value] = max(hit.weight, best.get(hit.value, 0.0))
    totals: dict[str, float] = {"picks": 0.0, "explain": 0.0, "troubleshoot": 0.0}
    for act, weight in best.items():
        totals[act.split(":")[0]] += weight
    return totals, {act.split(":")[1] for act in best}


def guess(text: str, signals: Signals) -> Guess:
    """The intent of a normalised turn. Never None: what says nothing is `clarify`, what is about something else `refuse`."""
    totals, acts = scores(text)
    relevance = relevance_of(text, signals)
    if "tools" in acts:
        relevance = max(relevance, _TOOL_RELEVANCE)
    if says("harmful", text):
        return Guess("refuse", frozenset({"harmful"}), totals, relevance)
    injected = says("injection", text)
    if injected:
        acts.add("injection")
        if not (signals.has_job or signals.has_hardware) or max(totals.values()) < 2:
            return Guess("refuse", frozenset(acts), totals, relevance)
    if social := _social(text, signals):
        return Guess("clarify", frozenset({social}), totals, relevance)
    if says("off_topic", text) and not _clearly_on_topic(signals, totals):
        return Guess("refuse", frozenset({"off_topic"}), totals, min(relevance, 0.2))
    if _no_work_for_a_machine(text, signals):
        return Guess("refuse", frozenset({"off_topic"}), totals, min(relevance, 0.2))
    if relevance <= 0.1 and not signals.follows:
        vague = len(text) <= _WORD_OR_TWO or says("vague", text) or _asks_of_nothing(text)
        return Guess(
            "clarify" if vague else "refuse", frozenset(acts | {"vague" if vague else "off_topic"}), totals, relevance
        )
    if "summarize" in acts and not signals.follows and signals.has_job:
        acts.discard("summarize")
        totals["explain"] -= _SUMMARIZE
    if "translate" in acts and not signals.follows and (signals.names or signals.has_job or signals.counted):
        acts.discard("translate")
        totals["explain"] -= _SUMMARIZE
    if not acts & _NO_TROUBLE and says("unused_link", text):
        acts = (acts - {"does_it", "about_links"}) | {"symptom", "unused_link"}
        totals = {"picks": 0.0, "explain": 0.0, "troubleshoot": _UNUSED_LINK}
    if not acts & {"symptom", "ask", "tools"} and _asks_about_links(text, acts):
        acts.add("about_links")
        totals["explain"] = max(totals["explain"], _LINK_QUESTION)
    if (
        signals.links_compared
        and acts & {"choose", "difference", "about_links"}
        and not acts & {"symptom", "ask", "list"}
    ):
        acts.add("about_links")
        totals["explain"] = max(totals["explain"], totals["picks"] + _LINK_QUESTION)
    elif signals.link_wish and _states_link_wish(text, acts):
        acts -= {"does_it", "about_links"}
        totals["explain"] = 0.0
        totals["picks"] = max(totals["picks"], _LINK_QUESTION)
    if signals.sides and "symptom" in acts and says("compared_pace", text):
        acts = (acts - {"symptom"}) | {"choose"}
        totals = {**totals, "picks": max(totals.values()), "troubleshoot": 0.0}
    if (
        signals.sides
        and signals.judged
        and not (signals.has_model or acts & _ABOUT_PRICE)
        and says("compared_pace", text)
    ):
        acts = (acts - {"symptom", "choose", "rent_ask"}) | {"compare"}
        totals = {"picks": 0.0, "explain": max(totals.values()) + _LINK_QUESTION, "troubleshoot": 0.0}
    if signals.has_job and signals.judged and "does_it" in acts and not says("link_word", text):
        acts = (acts - {"does_it", "about_links"}) | {"size_ask"}
        totals = {"picks": max(totals.values()), "explain": 0.0, "troubleshoot": 0.0}
    if signals.networks_weighed and not acts & {"sort_price", "price_query", "list", "rent_ask", "unused_link"}:
        acts = (acts - {"symptom", "about_links"}) | {"networks"}
        totals = {"picks": 0.0, "explain": totals["picks"] + _LINK_QUESTION, "troubleshoot": 0.0}
    if says("board_asked", text) and not (signals.names or signals.counted or signals.price_cap or signals.follows):
        acts |= {"about_links", "board_asked"}
        totals["explain"] = max(totals["explain"], totals["picks"] + _LINK_QUESTION)
    if says("times_gpus", text) and says("question", text) and not (signals.follows or signals.names):
        totals["explain"] = max(totals["explain"], totals["picks"] + _LINK_QUESTION)
    if signals.has_job and signals.has_hardware and says("times_asked", text):
        acts = (acts - {"symptom", "does_it", "about_links"}) | {"choose"}
        totals = {"picks": max(totals.values()), "explain": 0.0, "troubleshoot": 0.0}
    _weigh(totals, acts, signals)
    if signals.has_job and "job_wish" in acts and acts & {"about_links", "does_it"} and not acts & _TO_EXPLAIN:
        totals["picks"] = max(totals["picks"], totals["explain"] + 1)
    asks_machine = acts & {"rent_ask", "want_rent", "price_query", "list", "choose", "sort_price"}
    if "seller_network" in acts and signals.has_limits and not (signals.has_hardware or asks_machine):
        totals["explain"] = max(totals["explain"], totals["picks"] + _LINK_QUESTION)
    if acts & {"symptom", "ask"} and says("poor_scaling", text):
        acts.add("poor_scaling")
    if signals.pasted:
        totals["troubleshoot"] += 4 if totals["picks"] < 4 else 1
        acts.add("diagnose")
    intent = _best(totals, acts, signals)
    bare = acts <= {"size_ask", "rent_ask", "want_rent"} or bool(acts & {"rent_ask", "want_rent"})
    if intent == "picks" and not _enough(signals, acts) and relevance >= 0.5 and not bare:
        intent = "explain"
    if intent == "picks" and (not _enough(signals, acts) or _says_little(text, signals, acts)):
        return Guess("clarify", frozenset(acts | {"vague"}), totals, relevance)
    return Guess(intent, frozenset(_finer(text, acts, intent, signals)), totals, relevance)


def _no_work_for_a_machine(text: str, signals: Signals) -> bool:
    """Whether the turn asks of a GPU or a link what no computer does ("is NVLink gluten free?"), with no other word of the field."""
    if signals.has_job or signals.counted or signals.memory or signals.price_cap or signals.pasted or signals.names > 1:
        return False
    return says("no_work", text) and len({hit.text.rstrip("s") for hit in hits("on_topic", text)}) <= 1


def _asks_of_nothing(text: str) -> bool:
    """A short wish for a recommendation or a price with no word of what it is about ("cheap one", "おすすめ教えて")."""
    if len(text) > _SMALL_TALK:
        return False
    found = list(hits("act", text))
    if not any(hit.value.startswith("picks:") for hit in found):
        return False
    left = list(text)
    for hit in [*found, *hits("filler", text)]:
        left[hit.start : hit.end] = " " * (hit.end - hit.start)
    return not re.search(r"[a-z]{2,}|[\u4e00-\u9fff\u30a1-\u30fa]|[\u3041-\u3096]{7,}", "".join(left))


def _states_link_wish(text: str, acts: set[str]) -> bool:
    """Whether a link is demanded or let go as a statement ("InfiniBandで", "NVLinkなしでもいい") rather than asked about."""
    if says("link_ones", text):
        return True
    explaining = acts & {"why", "difference", "what_is", "verify", "how", "summarize", "translate", "conditional"}
    asking = any(says("question", s) for s in _SENTENCE.split(text[:_ASKED_CHARS]) if says("link_word", s))
    return not explaining and not asking


def _asks_about_links(text: str, acts: set[str]) -> bool:
    """Whether a sentence asks and names a link, a network or a way of splitting a job, or the turn does no more than that."""
    head = text[:_ASKED_CHARS]
    if not acts and says("link_word", head) and says("question", head):
        return True
    return any(says("link_word", s) and says("question", s) for s in _SENTENCE.split(head))


def _weigh(totals: dict[str, float], acts: set[str], signals: Signals) -> None:
    if signals.has_job:
        totals["picks"] += 1
    if signals.has_hardware:
        totals["picks"] += 0.5
    if signals.has_limits:
        totals["picks"] += 1
    if signals.price_cap:
        totals["picks"] += 3
    if signals.follows and signals.changed:
        totals["picks"] += 1.5
    if totals["explain"] and acts & {"summarize"}:
        totals["explain"] += 3
    if acts & {"ask"} and acts & {"symptom", "oom", "tools"}:
        totals["troubleshoot"] += 1.5
    if "tools" in acts and "symptom" in acts:
        totals["troubleshoot"] += 1.5


def _best(totals: dict[str, float], acts: set[str], signals: Signals) -> Intent:
    picks, explain, trouble = totals["picks"], totals["explain"], totals["troubleshoot"]
    asks_machine = bool(acts & {"rent_ask", "size_ask", "choose", "list", "price_query"})
    if trouble >= 2.5 and trouble > explain and (trouble > picks or not asks_machine):
        return "troubleshoot"
    if explain >= 2 and (explain > picks or (explain >= picks - 0.5 and not asks_machine)):
        return "explain"
    if picks > 0 and (picks >= trouble or asks_machine):
        return "picks"
    if explain > 0:
        return "explain"
    if trouble > 0:
        return "troubleshoot"
    if signals.follows and not signals.changed:
        return "explain"
    named_only = signals.names and not (signals.has_hardware or signals.counted)
    return "explain" if named_only else "picks"


def _enough(signals: Signals, acts: set[str]) -> bool:
    return (
        signals.has_job
        or signals.has_hardware
        or signals.has_limits
        or signals.counted
        or signals.hourly_cap
        or signals.follows
        or signals.names > 0
        or bool(acts & {"sort_price", "list"})
    )


def _says_little(text: str, signals: Signals, acts: set[str]) -> bool:
    """A bare wish to train or serve something, with no model, number, hardware or limit ("I want to train an AI")."""
    told = (
        signals.names
        or signals.counted
        or signals.numbers
        or signals.has_hardware
        or signals.has_limits
        or signals.hourly_cap
        or signals.follows
    )
    little = {"job_wish", "want_rent", "rent_ask"} | (set() if re.search(r"[1-9]", text) else {"size_ask"})
    return not told and len(text) < _SMALL_TALK and acts <= little


def _clearly_on_topic(signals: Signals, totals: dict[str, float]) -> bool:
    return (signals.has_job and (signals.names > 0 or totals["picks"] >= 3)) or (
        signals.has_hardware and totals["picks"] >= 3
    )


def _social(text: str, signals: Signals) -> str | None:
    """ "greeting" or "thanks" where the turn is nothing more than that."""
    if len(text) > _SMALL_TALK or signals.names or signals.has_job or signals.pasted:
        return None
    if says("thanks", text):
        return "thanks"
    left = text
    for hit in hits("small_talk", text):
        left = left.replace(hit.text, " ")
    if not any(char.isalnum() for char in left):
        return "thanks" if signals.follows or says("thanking", text) else "greeting"
    return "greeting" if says("greeting", text) else None


def relevance_of(text: str, signals: Signals) -> float:
    """0 to 1: how far the turn is about renting GPUs, links between them, or computing on them."""
    words = sum(1 for _ in _limited(hits("on_topic", text), 8))
    score = (
        0.25 * words
        + 0.4 * min(2, signals.names)
        + 0.4 * signals.has_job
        + 0.4 * signals.memory
        + 0.3 * signals.price_cap
        + 0.3 * signals.has_hardware
        + 0.5 * signals.pasted
    )
    return round(min(1.0, score), 2)


def _limited(items: Iterable[object], limit: int) -> Iterable[object]:
    for i, item in enumerate(items):
        if i >= limit:
            return
        yield item


_NAMES = {
    "rent_ask": "recommend", "list": "list", "choose": "compare", "difference": "compare", "why": "why", "verify": "verify",
    "summarize": "summarize", "price_query": "price_query", "ask": "diagnose",
}  # fmt: skip


def _finer(text: str, acts: set[str], intent: Intent, signals: Signals) -> set[str]:
    out = set(acts) | {_NAMES[act] for act in acts if act in _NAMES}
    out.add({"picks": "recommend", "explain": "explain", "troubleshoot": "diagnose"}.get(intent, intent))
    if says("more_detail", text):
        out.add("more_detail")
    if signals.follows:
        out.add("follow_up")
        if "sort_price" in acts and intent == "picks":
            out.add("cheaper")
    return out
