"""How nearly a question is one that a guide entry says it answers: shared weight of words over all weight of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.groups import Group

ASK_MARK = "\x1e"
FORM_MARK = "\x1d"
_ARRAYS = ("indptr", "asks", "idf", "rows", "mass")


def pack(groups_of_asks: Sequence[Sequence[Group]]) -> str:
    """The words of several questions as one string for the library: only whole words that say something."""
    return ASK_MARK.join(
        " ".join(FORM_MARK.join(token for token, _ in group.forms) for group in groups if _counts(group))
        for groups in groups_of_asks
    )


def _counts(group: Group) -> bool:
    return group.content and group.weight >= 1.0


@dataclass
class AskIndex:
    """Postings from words to asks. `rows` is the passage of each ask, `mass` the weight of its words."""

    vocabulary: dict[str, int]
    indptr: np.ndarray
    asks: np.ndarray
    idf: np.ndarray
    rows: np.ndarray
    mass: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The index as arrays, for a file."""
        words = np.frombuffer("\n".join(self.vocabulary).encode(), dtype=np.uint8)
        return {**{name: getattr(self, name) for name in _ARRAYS}, "vocabulary": words}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> AskIndex:
        """The index from what `arrays` gave. Raises KeyError where one is missing."""
        words = arrays["vocabulary"].tobytes().decode()
        vocabulary = {word: number for number, word in enumerate(words.split("\n") if words else [])}
        return cls(vocabulary, **{name: arrays[name] for name in _ARRAYS})

    def likeness(self, groups: Sequence[Group]) -> tuple[np.ndarray, np.ndarray]:
        """The passages whose asks share a word with the question, ascending, and how like the nearest ask of each is, 0 to 1."""
        shared = np.zeros(len(self.rows), dtype=np.float32)
        total = 0.0
        rarest = float(self.idf.max()) if len(self.idf) else 0.0
        for group in filter(_counts, groups):
            known = [number for token, _ in group.forms if (number := self.vocabulary.get(token)) is not None]
            weight = max((float(self.idf[number]) for number in known), default=rarest)
            total += weight
            held = [self.asks[self.indptr[number] : self.indptr[number + 1]] for number in known]
            if len(held) == 1:
                shared[held[0]] += weight
            elif held:
                shared[np.unique(np.concatenate(held))] += weight
        found = np.flatnonzero(shared)
        values = np.minimum(shared[found] / (total + self.mass[found] - shared[found]), 1.0)
        rows, place = np.unique(self.rows[found], return_inverse=True)
        best = np.zeros(len(rows))
        np.maximum.at(best, place, values)
        return rows.astype(np.int64), best


def build_asks(packed: Sequence[str]) -> AskIndex:
    """The index of the asks of all passages, given as `pack` wrote them, in the order of the rows."""
    vocabulary: dict[str, int] = {}
    rows: list[int] = []
    tokens: list[int] = []
    owners: list[int] = []
    groups: list[list[list[int]]] = []
    for row, text in enumerate(packed):
        for ask in filter(None, text.split(ASK_MARK)):
            numbered = [
                [vocabulary.setdefault(token, len(vocabulary)) for token in group.split(FORM_MARK)]
                for group in ask.split(" ")
            ]
            flat = {number for group in numbered for number in group}
            tokens += flat
            owners += [len(rows)] * len(flat)
            rows.append(row)
            groups.append(numbered)
    holders, numbers = np.array(owners, dtype=np.int32), np.array(tokens, dtype=np.int64)
    counts = np.bincount(numbers, minlength=len(vocabulary))
    idf = np.log1p((len(rows) + 0.5) / (counts + 0.5)).astype(np.float32)
    mass = [sum(max(float(idf[number]) for number in group) for group in numbered) for numbered in groups]
    return AskIndex(
        vocabulary=vocabulary,
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        asks=holders[np.argsort(numbers, kind="stable")],
        idf=idf,
        rows=np.array(rows, dtype=np.int32),
        mass=np.array(mass, dtype=np.float32),
    )
