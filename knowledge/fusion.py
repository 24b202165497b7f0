"""Fusing the two legs into one order, folding near-equal passages, preferring newer editions, and the off-topic gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from knowledge.lexical import Group, LexicalIndex

LEXICAL_CANDIDATES = 120
DENSE_WEIGHT = 0.35
UNKNOWN_IDF = 9.0


@dataclass
class Candidate:
    """One passage on its way to a hit. `lexical` is the share of the question's weight it holds, `cosine` the dense leg's figure."""

    row: int
    lexical: float
    cosine: float
    score: float = 0.0
    tokens: frozenset[str] = field(default_factory=frozenset)


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
) -> list[Candidate]:
    """The best candidates of both legs, best first.

    Lexical scores are divided by the best one found; cosines are set between the floor of the dense candidates and the best.
    """
    scores = index.scores(groups)
    if mask is not None:
        scores = np.where(mask, scores, 0)
    top = float(scores.max()) if len(scores) else 0.0
    rows: set[int] = {row for row in dense if mask is None or mask[row]}
    if top > 0:
        take = min(LEXICAL_CANDIDATES, len(scores))
        best = np.argpartition(-scores, take - 1)[:take]
        rows.update(int(row) for row in best if scores[row] > 0)
    if not rows:
        return []
    floor = min(dense.values()) if dense else 0.0
    ceiling = max(dense.values()) if dense else 1.0
    spread = max(ceiling - floor, 1e-6)
    out = []
    for row in rows:
        cosine = dense.get(row, floor)
        lexical = float(scores[row]) / top if top > 0 else 0.0
        score = (1 - DENSE_WEIGHT) * lexical + DENSE_WEIGHT * (cosine - floor) / spread
        out.append(Candidate(row, float(scores[row]), cosine, score))
    out.sort(key=lambda candidate: (-candidate.score, candidate.row))
    return out[:limit]


def coverage(index: LexicalIndex, groups: Sequence[Group], row: int) -> float:
    """The share of the question's telling words that a passage has, 0 to 1, weighed by idf."""
    have = total = 0.0
    for group in groups:
        if not group.content:
            continue
        weight = group_idf(index, group) * group.weight
        total += weight
        for token, _ in group.forms:
            posting = index.postings(token)
            if posting is not None:
                place = int(np.searchsorted(posting[0], row))
                if place < len(posting[0]) and posting[0][place] == row:
                    have += weight
                    break
    return have / total if total else 0.0


def near_equal(first: frozenset[str], second: frozenset[str], threshold: float = 0.85) -> bool:
    """Whether two passages hold nearly the same words (Jaccard)."""
    if not first or not second:
        return False
    small, large = sorted((len(first), len(second)))
    if small / large < threshold:
        return False
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) >= threshold
