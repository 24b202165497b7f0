"""Fusing the two legs into one order, folding near-equal passages, preferring newer editions, and the off-topic gate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.glossary import MARK, PROVIDER
from knowledge.groups import Group
from knowledge.lexical import LexicalIndex

LEXICAL_CANDIDATES = 120
DENSE_WEIGHT = 0.15
OTHER_LANGUAGE = 0.5
"""Nearness at least given to passages in the other language: multilingual vectors draw a question to its own language."""
UNKNOWN_IDF = 9.0
ASK_WEIGHT = 1.0
"""What it is worth that a guide entry answers just this question."""
ASK_LEVEL = 0.3
"""The likeness above which it gains: entries with other questions stand behind the documents that a person added."""
UNASKED_PROVIDER = 0.3
"""A provider's entry stands back where the question does not name that provider."""
PROVIDER_CONCEPT = MARK + PROVIDER
NOVELTY_WEIGHT = 0.3
NAMED_EDITION = 0.75
NEWEST_EDITION = 0.92
OLD_CONCEPT = "§old"
MOST_WORDS = 0.6
SOME_WORDS = 0.25
MANY_WORDS = 4


@dataclass
class Candidate:
    """One passage on its way to a hit. `lexical` is the share of the question's weight it holds, `cosine` the dense leg's figure."""

    row: int
    lexical: float
    cosine: float
    score: float = 0.0


def group_idf(index: LexicalIndex, group: Group) -> float:
    """How telling a group is: the largest idf among its forms, or a high figure where no passage has any."""
    known = [value for token, _ in group.forms if (value := index.token_idf(token)) is not None]
    return max(known) if known else UNKNOWN_IDF


def fuse(
    index: LexicalIndex,
    groups: Sequence[Group],
    dense: Mapping[int, float],
    mask: np.ndarray | None,
    limit: int,
    lang: str = "",
    likeness: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[Candidate]:
    """The best candidates of both legs, best first.

    Lexical scores are divided by the best one found; cosines are set between the least of the dense
    candidates (or half the best, in a small store) and the best. `likeness` is how nearly the entries' own questions are this
    one: rows, and 0 to 1 for each.
    """
    scores = index.scores(groups)
    if mask is not None:
        scores = np.where(mask, scores, 0)
    top = float(scores.max()) if len(scores) else 0.0
    near_rows = np.fromiter(dense, dtype=np.int64, count=len(dense))
    liked_rows, liked = likeness if likeness is not None else (near_rows[:0], np.zeros(0))
    parts = [_best_rows(scores, LEXICAL_CANDIDATES), near_rows, liked_rows]
    rows = np.unique(np.concatenate(parts))
    if mask is not None:
        rows = rows[mask[rows]]
    if not len(rows):
        return []
    cosines, floor = _cosines(rows, near_rows, np.fromiter(dense.values(), dtype=np.float64, count=len(dense)))
    near = (cosines - floor) / max(max(dense.values(), default=1.0) - floor, 1e-6)
    if lang:
        near = np.where(index.is_value("lang", rows, {lang}), near, np.maximum(near, OTHER_LANGUAGE))
    lexical = scores[rows].astype(np.float64)
    total = (1 - DENSE_WEIGHT) * (lexical / top if top > 0 else lexical) + DENSE_WEIGHT * near
    total += np.where(index.is_value("kind", rows, {"guide"}), _for_guides(index, groups, rows, liked_rows, liked), 0.0)
    order = np.lexsort((rows, -total))[:limit]
    return [Candidate(int(rows[at]), float(lexical[at]), float(cosines[at]), float(total[at])) for at in order]


def _best_rows(scores: np.ndarray, take: int) -> np.ndarray:
    """The rows of the highest scores above zero."""
    found = np.flatnonzero(scores)
    if len(found) <= take:
        return found
    return found[np.argpartition(scores[found], len(found) - take)[-take:]]


def _cosines(rows: np.ndarray, near_rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
    """The cosine of each row, and the floor that those have which the dense leg did not name."""
    floor = float(min(values.min(), values.max() / 2)) if len(values) else 0.0
    out = np.full(len(rows), floor)
    places = np.searchsorted(rows, near_rows)
    inside = (places < len(rows)) & (rows[np.minimum(places, len(rows) - 1)] == near_rows)
    out[places[inside]] = values[inside]
    return out, floor


def _for_guides(
    index: LexicalIndex, groups: Sequence[Group], rows: np.ndarray, liked_rows: np.ndarray, liked: np.ndarray
) -> np.ndarray:
    """What an entry gains or loses: by how nearly its own questions are this one, and by a provider that was not named."""
    likeness, _ = _cosines(rows, liked_rows, liked) if len(liked) else (np.zeros(len(rows)), 0.0)
    likeness[~np.isin(rows, liked_rows)] = 0.0
    asked = {token.removeprefix(PROVIDER_CONCEPT) for group in groups for token, _ in group.forms}
    named = index.is_value("provider", rows, {"", *asked})
    return ASK_WEIGHT * (likeness - ASK_LEVEL) - UNASKED_PROVIDER * ~named


def prefer_editions(index: LexicalIndex, groups: Sequence[Group], candidates: list[Candidate]) -> list[Candidate]:
    """Of pages that exist in several editions, the one the question names comes first, else the newest.

    A question that speaks of old and new alike, or of the old one, leaves the order as it is.
    """
    editions: dict[str, dict[str, list[Candidate]]] = {}
    for candidate in candidates:
        edition, family = index.value("edition", candidate.row), index.value("family", candidate.row)
        if edition:
            editions.setdefault(family.split("/")[0], {}).setdefault(edition, []).append(candidate)
    asked = {token for group in groups for token, _ in group.forms}
    for found in editions.values():
        if len(found) < 2:
            continue
        named = {edition for edition in found if asked & set(edition_names(edition))}
        if not named and OLD_CONCEPT in asked:
            continue
        best = named or {max(found, key=_edition_key)}
        factor = NAMED_EDITION if named else NEWEST_EDITION
        for edition, members in found.items():
            if edition not in best:
                for candidate in members:
                    candidate.score *= factor
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.row))
    return candidates


def edition_names(edition: str) -> list[str]:
    """Ways a question writes an edition: v2 → v2, 2.0."""
    number = edition.lstrip("v")
    return [f"v{number}", number if "." in number else f"{number}.0"]


def _edition_key(edition: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", edition))


def one_language(index: LexicalIndex, candidates: Sequence[Candidate], lang: str) -> list[Candidate]:
    """Of a guide that stands in both languages only the one in the asked language, in the better one's place."""
    place: dict[str, int] = {}
    out: list[Candidate] = []
    for candidate in candidates:
        if index.value("kind", candidate.row) != "guide":
            out.append(candidate)
            continue
        family, own = index.value("family", candidate.row), index.value("lang", candidate.row)
        if family not in place:
            place[family] = len(out)
            out.append(candidate)
        else:
            other = out[place[family]]
            if own == lang != index.value("lang", other.row):
                out[place[family]] = candidate
                candidate.score = other.score
            elif own == index.value("lang", other.row):
                out.append(candidate)
    return out


def held(index: LexicalIndex, groups: Sequence[Group], rows: np.ndarray) -> np.ndarray:
    """Which group stands in which row: bool, shape (groups, rows)."""
    out = np.zeros((len(groups), len(rows)), dtype=bool)
    for number, group in enumerate(groups):
        for token, _ in group.forms:
            posting = index.postings(token)
            if posting is not None:
                places = np.searchsorted(posting[0], rows)
                inside = places < len(posting[0])
                out[number] |= inside & (posting[0][np.minimum(places, len(posting[0]) - 1)] == rows)
    return out


def on_topic(
    index: LexicalIndex,
    groups: Sequence[Group],
    candidates: Sequence[Candidate],
    dense: Mapping[int, float],
    noise: float,
) -> bool:
    """Whether the knowledge holds something about the question.

    `noise` is how near, by cosine, questions about nothing in it come. A question nearer than that is on topic; one as far
    off is so only where a passage holds most of its words, many of them, or a good part of them with a name among them (a provider, an
    identifier, a Latin word in a Japanese question).
    """
    if not candidates:
        return False
    if dense and max(dense.values()) > noise:
        return True
    content = [group for group in groups if group.content]
    if not content:
        return False
    have = held(index, content, np.array([candidate.row for candidate in candidates[:5]]))
    weights = np.array([group_idf(index, group) * group.weight for group in content])
    shares = weights @ have / weights.sum()
    best = int(np.argmax(shares))
    share = float(shares[best])
    matched = int(have[:, best].sum())
    if matched >= MANY_WORDS or (share >= MOST_WORDS and matched >= 2):
        return True
    named = any(inside and _is_name(group) for group, inside in zip(content, have[:, best], strict=True))
    return named and share >= SOME_WORDS


def _is_name(group: Group) -> bool:
    """Whether a group is a provider, or an identifier of letters with digits or marks."""
    return group.name or any(
        token.startswith("§provider-")
        or (re.search(r"[a-z]", token) and re.search(r"[\d_.\-]", token) and token.isascii())
        for token, _ in group.forms
    )


def select(
    index: LexicalIndex,
    groups: Sequence[Group],
    candidates: Sequence[Candidate],
    tokens: Callable[[int], frozenset[str] | None],
    k: int,
) -> list[Candidate]:
    """k candidates, each chosen for its score and for what it holds of the question that those before it do not.

    So a question about two things gets passages about both; near-equal passages are taken once. `tokens` gives the words of a row's
    passage, or None where it is gone.
    """
    if not candidates:
        return []
    rows = np.array([candidate.row for candidate in candidates])
    have = held(index, groups, rows)
    weights = np.array([group_idf(index, group) * group.weight if group.content else 0.0 for group in groups])
    weights = weights / weights.sum() if weights.sum() > 0 else weights
    left = weights.copy()
    chosen: list[int] = []
    words: list[frozenset[str]] = []
    scores = np.array([candidate.score for candidate in candidates])
    for _ in candidates:
        if len(chosen) == k:
            break
        best = int(np.argmax(scores + NOVELTY_WEIGHT * (left @ have)))
        scores[best] = -np.inf
        mine = tokens(candidates[best].row)
        if mine is None or any(near_equal(mine, other) for other in words):
            continue
        chosen.append(best)
        words.append(mine)
        left[have[:, best]] = 0.0
    return [candidates[at] for at in chosen]


def near_equal(first: frozenset[str], second: frozenset[str], threshold: float = 0.85) -> bool:
    """Whether two passages hold nearly the same words (Jaccard)."""
    if not first or not second:
        return False
    small, large = sorted((len(first), len(second)))
    if small / large < threshold:
        return False
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) >= threshold
