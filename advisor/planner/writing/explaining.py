"""Explanations and troubles: the answer to the question asked, from the passages found, in numbers of the job where one is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from advisor.answer import Answer
from advisor.messages import text
from advisor.planner.writing import machines
from advisor.planner.writing.assessing import judged
from advisor.planner.writing.citing import Citations, best_blocks, blocks_of, is_prose, overlap, sentences
from advisor.planner.writing.contrast import why_lines
from advisor.planner.writing.links import corrections, fabric_line, named_lines
from advisor.planner.writing.networks import network_lines
from advisor.planner.writing.opening import pick_sentence
from advisor.planner.writing.outputs import outputs_asked
from advisor.planner.writing.weighing import contrast_lines, machine_lines
from knowledge.providers import provider_table

RANK_STEP = 0.03
"""What one place in the search's order weighs against the likeness of the questions."""
FOUND_WEIGHT = 0.1
"""What the distance to the search's best score weighs."""
HELD_WEIGHT = 0.6
"""An added document that holds every word of the question stands like a guide whose question is 60 % the same."""
UNASKED_PROVIDER = 0.35
NAMED_PROVIDER = 0.15
DISPUTE = 0.1
NAMED_GPU = 0.05
ASKED_GPU = 0.12
"""The same where the turn asks yes or no, or what something is: then the card is the subject and not the scene."""
TROUBLE = 0.2
"""Where something goes wrong: added for entries about troubles and checks, taken from those about a card, prices or
what to choose."""
UNNAMED_LINK = 0.4
"""Taken from an entry that speaks of none of the links the turn names."""
UNASKED_LINK = 0.25
"""Taken from an entry whose title is about another link than those named; given to one about the named family of chips."""
FEW_TYPES = 2
"""Types named whose facts come before what the guides say."""
FAMILY_WORD = 5
"""Letters of a family's name, such as Trainium; shorter ones (RTX, TPU) stand in too many titles."""
DEFINES = 0.3
"""Added for an entry that says what the link is, where that was asked."""
LINK_NAMES = frozenset({"nvlink", "infiniband", "roce", "efa", "tcpx", "tcpxo", "ethernet", "nvswitch"})
FIRST_CHARS = 1100
FIRST_CHARS_DEEP = 2200
OTHERS = 2
OTHERS_DEEP = 4
OTHER_CHARS = 420
SHORTEST = 15
"""A sentence shorter than this, such as "No.", says nothing outside its passage."""
NEAR_QUESTION = 0.3
"""Beside the figures of the job, a passage must list a question at least this near to the one asked."""
SAME_QUESTION = 0.45
"""From here a passage's "yes" or "no" answers the question that was asked."""
YES_NO = re.compile(
    r"^(?:(?:Yes|No|Neither|Hardly|Right|Wrong|Both|Not in itself|Not always|Usually not|Not necessarily|It depends)"
    r"(?:, [^.!?:]{0,30})?[.!] |(?:はい|いいえ|誤りです|違います|使えません|なりません|正しいです|不要です|必要です|可能です|できます|できません|足ります)[。、]\s?)"
)
MONEY = re.compile(r"[$¥€]\s?\d|\d\s?(?:円|ドル|dollars?)|万円|budget|予算")
ORPHAN = re.compile(
    r"^(?:Yes|No|Neither|Hardly|Right|Wrong|It|That|This|These|Those|They|So|Then|Otherwise|Instead)\b|^(?:はい|いいえ|そう|この|その|これ|それ|だから|また|ただし|一方|つまり|なお|そのため|逆に|どれか|のどれ|以上|前者|後者)"
)
"""A sentence that leans on one before it says nothing alone."""
NEAR_SHARE = 0.45
"""A further passage is heard where its title and best sentence take up this share of the question's words, ..."""
NEAR_ENOUGH = 5.0
"""... or this many of a long question's."""
ADDED_SHARE = 0.2
ADDED_ENOUGH = 2.0
"""The same for documents that a person added: they want to hear them."""


def write(reading: Any, results: Any) -> Answer:
    """The answer to "why", "what", "does it" and "what do I check"."""
    lang = reading.answer_lang
    deep = reading.acts >= {"more_detail", "follow_up"}
    citations = Citations()
    parts = corrections(reading, results.links, lang)
    weighed = contrast_lines(reading, results.assessments, lang) or machine_lines(reading, results.assessments, lang)
    networks = network_lines(reading, results.links, lang)
    parts += weighed + networks
    recommendation = results.recommendation
    job = machines.job_lines(recommendation, reading, lang) if recommendation is not None else []
    job = [] if weighed else job
    about_the_last_answer = reading.turn > 1 and "follow_up" in reading.acts
    if recommendation is not None and "summarize" in reading.acts:
        parts += machines.summary_parts(recommendation, reading, lang)
    contrast: list[str] = []
    if job and about_the_last_answer:
        contrast = why_lines(results.earlier, recommendation, lang) if "why" in reading.acts else []
        parts += contrast
        why = "why" in reading.acts and not contrast
        if recommendation.picks and (why or deep):
            parts.append(pick_sentence(recommendation, reading, lang))
        parts.append("\n".join(job))
        if why or deep:
            parts += deeper(recommendation, lang)
    asked_of_the_job = job and not about_the_last_answer and reading.question_type == "yes_no"
    if asked_of_the_job:
        parts.append(job[0])
        job = job[1:]
    named = named_lines(worth_naming(reading, results.links, "\n".join(parts)), lang)
    compared = (
        bool(reading.acts & {"compare", "difference"}) and sum(row["kind"] == "type" for row in results.links) > 1
    )
    parts += [] if networks else fabric_line(reading, lang)
    if named and compared:
        parts.append("\n".join(f"- {line}" for line in named))
    hits = results.hits
    if weighed:
        hits = near_hits(reading, hits, SAME_QUESTION)
    kept = applied_sellers(reading)
    if kept:
        parts.append(text("writing.list.application", lang, names=", ".join(kept)))
        hits = near_hits(reading, hits, NEAR_QUESTION)
    if job and about_the_last_answer and not deep:
        hits = near_hits(reading, hits, SAME_QUESTION if "why" in reading.acts else NEAR_QUESTION)
    found = passages(reading, hits, citations, deep=deep, answered=bool(parts))
    if not found and job:
        found = about_the_job(reading, results.hits, citations, lang)
    parts += found
    if job and not about_the_last_answer:
        parts.append("\n".join(job))
    parts += disagreements(hits, citations, lang) if found else []
    if not compared:
        named = named_lines(worth_naming(reading, results.links, "\n".join(parts)), lang)
    if named and not compared:
        parts.append("\n".join(f"- {line}" for line in named))
    parts += outputs_asked(reading, lang)
    if not (found or job or named or kept or weighed):
        parts.append(text("writing.no_source", lang))
    return Answer(
        lang=lang,
        intent="troubleshoot" if reading.intent == "troubleshoot" else "explain",
        text="\n\n".join(parts),
        workload=reading.workload if recommendation is None else recommendation.workload,
        constraints=reading.constraints,
        needs=None if recommendation is None else recommendation.needs,
        fx=reading.fx,
        citations=citations.rows(),
        machines=judged(results.assessments),
        **({"picks": recommendation.picks} if recommendation is not None and "summarize" in reading.acts else {}),
    )


def applied_sellers(reading: Any) -> list[str]:
    """In a follow-up that names no seller: those kept from before whose machines are given out by application."""
    if reading.turn <= 1 or reading.mentions.providers or reading.intent == "troubleshoot":
        return []
    table = provider_table()
    kept = [table[name] for name in reading.constraints.providers if name in table]
    return [seller.provider for seller in kept if seller.kind == "academic"]


def deeper(recommendation: Any, lang: str) -> list[str]:
    """What the choice rests on, for those who ask for more: the first pick's reasons, what flips it, the formula."""
    lines = [*(recommendation.picks[0].why if recommendation.picks else ()), *recommendation.flips]
    lines += recommendation.why_not_runner_up
    if recommendation.formula:
        lines.append(text("writing.formula", lang, formula=recommendation.formula))
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def about_the_job(reading: Any, hits: Sequence[Any], citations: Citations, lang: str) -> list[str]:
    """One sentence of the passage whose title names the kind of job or is otherwise the nearest."""
    from knowledge.tokens import tokens

    words = text(f"writing.kind.{reading.workload.kind}", lang).lower() if reading.workload else ""
    query = tokens(f"{reading.search_query or reading.text} {words}", stop=True)
    ordered = by_question(reading, order(hits, lang))
    ordered.sort(key=lambda hit: words not in hit.title.lower())
    for hit in ordered:
        found = gist(hit, query, "")
        if found:
            return [f"{found[0]} {citations.mark(hit, found[1])}"]
    return []


def near_hits(reading: Any, hits: Sequence[Any], least: float) -> tuple[Any, ...]:
    """For a question about the last answer: only passages that list nearly the same question, and added documents."""
    query = reading.search_query or reading.text
    return tuple(hit for hit in hits if not hit.asks or asked_alike(query, hit.asks) >= least)


def worth_naming(reading: Any, rows: Sequence[Any], said: str) -> tuple[Any, ...]:
    """The facts of named hardware that the answer has not told yet and that the question is about.

    A trouble is about types, not about board forms that nobody asked for.
    """
    linked = "nvlink" in reading.mentions.fabrics or bool(reading.acts & {"compare", "difference", "what_is"})
    kept = []
    for row in rows:
        name = str(row["name"])
        if row["kind"] == "gpu" and (reading.intent == "troubleshoot" or not linked or told(name, said)):
            continue
        if row["kind"] == "provider" and name.lower() in said.lower():
            continue
        kept.append(row)
    return tuple(kept)


def told(name: str, said: str) -> bool:
    """Does a sentence of the answer give this GPU's link or memory with a number?"""
    pattern = re.escape(name) + r"[^\n]{0,80}\d+\s?(?:GB|gb)"
    return (
        re.search(pattern, said) is not None or f"{name} has no NVLink" in said or f"{name}にNVLinkはありません" in said
    )


def disagreements(hits: Sequence[Any], citations: Citations, lang: str) -> list[str]:
    """Where two passages in the language of the answer give other values for one thing: both, with their dates."""
    from knowledge.disagreement import find_disagreements

    by_id = {hit.passage_id: hit for hit in hits}
    lines = []
    for one in find_disagreements([hit for hit in hits if hit.lang == lang], limit=1):
        sides = []
        for side in (one.first, one.second):
            mark = citations.mark(by_id[side.passage_id], side.quote)
            sides.append(f"{side.value} ({side.title}, {side.as_of or text('writing.unknown', lang)}) {mark}")
        lines.append(f"**{text('writing.head.sources_disagree', lang)}**: " + " / ".join(sides))
    return lines


def passages(
    reading: Any, hits: Sequence[Any], citations: Citations, *, deep: bool = False, answered: bool = False
) -> list[str]:
    """The best passage at some length, then what the next ones add, each with its mark.

    Passages in the language of the answer come first; a document that a person added is heard whenever it was found.
    """
    from knowledge.tokens import tokens

    query = tokens(reading.search_query or reading.text, stop=True)
    ordered = by_question(reading, order(hits, reading.answer_lang))
    if not ordered:
        return []
    first = ordered[0]
    blocks = best_blocks(first, query, FIRST_CHARS_DEEP if deep else FIRST_CHARS)
    if not blocks:
        return []
    opening = blocks[0]
    yes_no = reading.question_type == "yes_no"
    if is_prose(opening) and (answered or not yes_no or not answers_this(reading, first)):
        opening = without_yes_no(opening)
    lead = f"{opening} {citations.mark(first, opening)}" if is_prose(opening) else opening
    parts = [f"**{first.title}**", lead]
    parts += blocks[1:]
    said = "\n".join(blocks)
    for hit in others(ordered, query, OTHERS_DEEP if deep else OTHERS):
        found = gist(hit, query, said)
        if found:
            said += found[0]
            parts.append(f"{found[0]} {citations.mark(hit, found[1])}")
    if not citations.rows():
        parts[0] = f"{parts[0]}\n\n{citations.mark(first, blocks[0])}"
    return parts


def answers_this(reading: Any, hit: Any) -> bool:
    """Is the passage's own "yes" or "no" an answer to this question? Only where one of its questions is nearly the same."""
    return asked_alike(reading.search_query or reading.text, hit.asks or ()) >= SAME_QUESTION


def without_yes_no(block: str) -> str:
    """A paragraph without the bare answer to a question that is not shown ("No.", "いいえ。"), where more follows."""
    rest = YES_NO.sub("", block, count=1)
    return rest if len(rest) >= SHORTEST else block


@lru_cache(maxsize=20_000)
def _terms(words: str) -> frozenset[str]:
    from knowledge.query import index_terms
    from knowledge.tokens import STOP_EN

    return frozenset(term for term in index_terms(words) if term not in STOP_EN)


def asked_alike(query: str, asks: Sequence[str]) -> float:
    """0 to 1: how nearly one of an entry's questions asks the same (F1 over normalized words and concepts)."""
    mine = _terms(query)
    best = 0.0
    for ask in asks:
        theirs = _terms(ask)
        shared = len(mine & theirs)
        if shared:
            best = max(best, 2 * shared / (len(mine) + len(theirs)))
    return best


def held(query: str, words: str) -> float:
    """0 to 1: the share of the question's words that a passage of an added document holds; it lists no questions."""
    mine = _terms(query)
    return len(mine & _terms(words)) / len(mine) if mine else 0.0


def by_question(reading: Any, hits: Sequence[Any]) -> list[Any]:
    """The hits once more in order: their rank, and how nearly the entry's own questions are the one asked.

    An entry about a provider that nobody named, or about a dispute of sources, comes after the general ones; one whose title
    has the GPU that was named, before them.
    """
    query = reading.search_query or reading.text
    providers = set(reading.mentions.providers) or set(reading.constraints.providers)
    if providers:
        hits = [hit for hit in hits if hit.area != "provider" or hit.provider in providers] or hits
    gpus = [m.gpu.lower() for m in reading.mentions.gpus if m.gpu]

    makers = {gpu.split()[0] for gpu in gpus if gpu.split()[0].isalpha()}
    about_links = reading.intent != "troubleshoot"
    named = [name for name in reading.mentions.fabrics if about_links and name in LINK_NAMES and name != "ethernet"]

    best = max((hit.score for hit in hits), default=0.0)

    def weight(place: int, hit: Any) -> float:
        likeness = asked_alike(query, hit.asks) if hit.asks else HELD_WEIGHT * held(query, hit.text)
        score = likeness - RANK_STEP * place + FOUND_WEIGHT * (hit.score - best)
        if hit.area == "provider":
            score += NAMED_PROVIDER if hit.provider in providers else -UNASKED_PROVIDER
        if hit.area == "disagreement":
            score -= DISPUTE
        if not about_links:
            score += TROUBLE * (
                (hit.area in ("trouble", "after-renting")) - (hit.area in ("gpu", "cost", "before-renting"))
            )
        if any(gpu in hit.title.lower() for gpu in gpus):
            score += ASKED_GPU if reading.question_type in ("yes_no", "what_is") else NAMED_GPU
        about = f"{hit.title} {' '.join(hit.asks)}".lower()
        title = hit.title.lower()
        if named and not any(n in title for n in named) and any(n in title for n in LINK_NAMES.difference(named)):
            score -= UNASKED_LINK
        if any(len(maker) >= FAMILY_WORD and maker in title for maker in makers):
            score += UNASKED_LINK
        if reading.question_type == "what_is" and not gpus and any(defines(name, about) for name in named):
            score += DEFINES
        if named and hit.asks and not any(gpu.split()[0] in about for gpu in gpus):
            score -= UNNAMED_LINK * sum(name not in about for name in named) / len(named)
        return score

    return [hit for _, hit in sorted(enumerate(hits), key=lambda one: (-weight(*one), one[0]))]


def defines(name: str, about: str) -> bool:
    """Do the title and questions of an entry ask what this is?"""
    return re.search(rf"what is (?:an? )?{name}\b|what does {name} |{name}(?:とは|って(?:何|なに))", about) is not None


def gives_orders(words: str) -> bool:
    """Does a passage of an added document talk to the reader of it ("ignore your rules")? Such text is not quoted."""
    from advisor.planner.reading.phrases import says

    return says("injection", words.lower())


def order(hits: Sequence[Any], lang: str) -> list[Any]:
    """Each entry once, in the language of the answer where it has that; otherwise as ranked."""
    own = {hit.entry_id for hit in hits if hit.entry_id and hit.lang == lang}
    seen: set[str] = set()
    kept = []
    for hit in hits:
        if not hit.entry_id and gives_orders(hit.text):
            continue
        if hit.entry_id and hit.lang != lang and hit.entry_id in own:
            continue
        key = hit.entry_id or hit.passage_id
        if key not in seen:
            seen.add(key)
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.lang != lang)


def others(ordered: Sequence[Any], query: Sequence[str], count: int) -> list[Any]:
    """The next passages worth hearing: those nearest to the question, an added document before a guide."""
    rest = list(ordered[1:])
    added = [hit for hit in rest if not hit.entry_id][:1]
    guides = [hit for hit in rest if hit.entry_id][:count]
    return [*guides[: count - len(added)], *added] if added else guides


def gist(hit: Any, query: Sequence[str], said: str, *, money: bool = True) -> tuple[str, str] | None:
    """What a further passage adds: its title, and its sentence nearest to the question.

    Returns (text, verbatim quote), or None where the passage has little to do with the question. Without `money`, sentences
    about prices and budgets are left out: the rows beside them say what things cost.
    """
    prose = [s for block in blocks_of(hit) if is_prose(block) for s in sentences(block)]
    prose = [s for s in prose if s not in said and SHORTEST <= len(s) <= OTHER_CHARS and not ORPHAN.match(s)]
    if not money:
        prose = [s for s in prose if not MONEY.search(s)]
    if not prose:
        return None
    nearest = max(prose, key=lambda s: overlap(s, query))
    share, enough = (NEAR_SHARE, NEAR_ENOUGH) if hit.entry_id else (ADDED_SHARE, ADDED_ENOUGH)
    if overlap(f"{hit.title} {nearest}", query) < min(share * max(1, len(set(query))), enough):
        return None
    return f"**{hit.title}**: {nearest}", nearest
