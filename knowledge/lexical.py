"""The lexical index: BM25 over weighted fields, stored as flat arrays that each process maps from one file.

Built by ingestion for one version of the library and named after it. Scores of a question are sums over its groups of
tokens; a group holds ways of writing one thing (a word, its translation), of which the best counts once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from knowledge.asks import AskIndex, build_asks
from knowledge.errors import StoreUnavailable
from knowledge.groups import Group

LEXICAL_VERSION = 4
FIELD_MARK = "\x1f"
FIELDS = ("title", "section", "body")
FIELD_WEIGHTS = {"title": 1.0, "section": 2.5, "body": 1.0}
FIELD_B = {"title": 0.0, "section": 0.3, "body": 0.55}
K1 = 1.4


@dataclass
class Entry:
    """What the index needs of one passage. `terms` are its tokens by field; behind the fields may stand its asks (`asks.pack`)."""

    passage_id: str
    terms: str
    doc: str
    lang: str
    provider: str
    kind: str
    fold: str
    as_of: str
    edition: str
    family: str


@dataclass
class LexicalIndex:
    """One built index. Row numbers are positions in `ids`; `indptr`, `rows`, `impact` are the postings by token."""

    version: int
    ids: list[str]
    vocabulary: dict[str, int]
    indptr: np.ndarray
    rows: np.ndarray
    impact: np.ndarray
    idf: np.ndarray
    columns: dict[str, np.ndarray]
    values: dict[str, list[str]]
    asks: AskIndex = field(default_factory=lambda: build_asks([]))
    row_of: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.row_of = {passage_id: row for row, passage_id in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def postings(self, token: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows and impacts of a token, or None where no passage has it."""
        number = self.vocabulary.get(token)
        if number is None:
            return None
        start, end = int(self.indptr[number]), int(self.indptr[number + 1])
        return self.rows[start:end], self.impact[start:end]

    def token_idf(self, token: str) -> float | None:
        """The inverse document frequency of a token, or None where no passage has it."""
        number = self.vocabulary.get(token)
        return None if number is None else float(self.idf[number])

    def scores(self, groups: Sequence[Group]) -> np.ndarray:
        """The score of every row, float32, shape (passages,)."""
        total = np.zeros(len(self.ids), dtype=np.float32)
        for group in groups:
            found = [(self.postings(token), share) for token, share in group.forms]
            hits = [(posting, share * group.weight) for posting, share in found if posting is not None]
            if len(hits) == 1:
                (rows, impact), share = hits[0]
                total[rows] += impact * np.float32(share)
            elif hits:
                best = np.zeros(len(self.ids), dtype=np.float32)
                for (rows, impact), share in hits:
                    best[rows] = np.maximum(best[rows], impact * np.float32(share))
                total += best
        return total

    def mask(self, **wanted: str | Iterable[str] | None) -> np.ndarray | None:
        """True where a row's column has one of the wanted values; None where nothing is filtered."""
        out: np.ndarray | None = None
        for name, value in wanted.items():
            if value is None:
                continue
            allowed = {value} if isinstance(value, str) else set(value)
            codes = [code for code, known in enumerate(self.values[name]) if known in allowed]
            part = np.isin(self.columns[name], codes)
            out = part if out is None else out & part
        return out

    def value(self, name: str, row: int) -> str:
        """The value of a column for one row."""
        return self.values[name][int(self.columns[name][row])]

    def is_value(self, name: str, rows: np.ndarray, wanted: Collection[str]) -> np.ndarray:
        """Which of the rows have one of the wanted values in a column: bool, as many as the rows."""
        codes = [code for code, known in enumerate(self.values[name]) if known in wanted]
        return np.isin(self.columns[name][rows], codes)

    def save(self, path: Path) -> None:
        """Write the index beside its final name and move it there, so that no reader sees half a file."""
        temporary = path.with_suffix(f".{os.getpid()}.part")
        vocabulary = "\n".join(self.vocabulary).encode()
        head = {"version": self.version, "lexical_version": LEXICAL_VERSION, "values": self.values}
        arrays: dict[str, Any] = {f"column_{name}": array for name, array in self.columns.items()}
        arrays.update({f"ask_{name}": array for name, array in self.asks.arrays().items()})
        with temporary.open("wb") as file:
            np.savez(
                file,
                head=np.frombuffer(json.dumps(head, ensure_ascii=False).encode(), dtype=np.uint8),
                ids=np.frombuffer("\n".join(self.ids).encode(), dtype=np.uint8),
                vocabulary=np.frombuffer(vocabulary, dtype=np.uint8),
                indptr=self.indptr,
                rows=self.rows,
                impact=self.impact,
                idf=self.idf,
                **arrays,
            )
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> LexicalIndex:
        """Read an index. Raises StoreUnavailable where the file is absent, cut short or of another build."""
        try:
            with np.load(path, allow_pickle=False) as data:
                head = json.loads(data["head"].tobytes())
                if head["lexical_version"] != LEXICAL_VERSION:
                    raise StoreUnavailable(f"The index {path.name} is of another build.")
                ids = data["ids"].tobytes().decode()
                words = data["vocabulary"].tobytes().decode()
                return cls(
                    version=int(head["version"]),
                    ids=ids.split("\n") if ids else [],
                    vocabulary={word: number for number, word in enumerate(words.split("\n") if words else [])},
                    indptr=data["indptr"],
                    rows=data["rows"],
                    impact=data["impact"],
                    idf=data["idf"],
                    columns={name[7:]: data[name] for name in data.files if name.startswith("column_")},
                    values=head["values"],
                    asks=AskIndex.of_arrays({name[4:]: data[name] for name in data.files if name.startswith("ask_")}),
                )
        except (OSError, ValueError, KeyError) as error:
            raise StoreUnavailable(f"The index {path} cannot be read ({error}).") from error
        except Exception as error:  # zipfile raises BadZipFile and zlib.error, neither of one family, on cut files
            if isinstance(error, StoreUnavailable):
                raise
            raise StoreUnavailable(f"The index {path} is damaged ({error}).") from error


_COLUMNS = ("doc", "lang", "provider", "kind", "fold", "as_of", "edition", "family")


def build_lexical(entries: Iterable[Entry], version: int, weights: Mapping[str, float] | None = None) -> LexicalIndex:
    """Build the index of all passages given, in their order.

    Impact of a token in a passage: idf · tf·(k1+1)/(tf+k1), where tf sums the fields' counts, each divided by the field's
    length norm and multiplied by its weight (BM25F).
    """
    field_weights = {**FIELD_WEIGHTS, **(weights or {})}
    ids: list[str] = []
    packed: list[str] = []
    vocabulary: dict[str, int] = {}
    codes: dict[str, dict[str, int]] = {name: {} for name in _COLUMNS}
    columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}
    token_parts: dict[str, list[np.ndarray]] = {name: [] for name in FIELDS}
    lengths: dict[str, list[int]] = {name: [] for name in FIELDS}
    for entry in entries:
        ids.append(entry.passage_id)
        for name in _COLUMNS:
            value = getattr(entry, name)
            columns[name].append(codes[name].setdefault(value, len(codes[name])))
        texts = entry.terms.split(FIELD_MARK)
        texts += [""] * (len(FIELDS) - len(texts))
        packed.append(texts.pop() if len(texts) > len(FIELDS) else "")
        for name, text in zip(FIELDS, texts, strict=True):
            words = text.split(" ") if text else []
            numbers = [vocabulary.setdefault(word, len(vocabulary)) for word in words]
            token_parts[name].append(np.array(numbers, dtype=np.int32))
            lengths[name].append(len(numbers))
    count, size = len(ids), max(1, len(vocabulary))
    keys_all: list[np.ndarray] = []
    weights_all: list[np.ndarray] = []
    for name in FIELDS:
        length = np.array(lengths[name], dtype=np.float32)
        average = float(length.mean()) if count and length.any() else 1.0
        norm = 1 - FIELD_B[name] + FIELD_B[name] * length / average
        flat = np.concatenate(token_parts[name]) if count else np.zeros(0, dtype=np.int32)
        owner = np.repeat(np.arange(count, dtype=np.int64), np.array(lengths[name], dtype=np.int64))
        keys, counts = np.unique(flat.astype(np.int64) * max(1, count) + owner, return_counts=True)
        keys_all.append(keys)
        weights_all.append((counts * field_weights[name] / norm[keys % max(1, count)]).astype(np.float32))
        token_parts[name].clear()
    keys, inverse = np.unique(np.concatenate(keys_all), return_inverse=True)
    frequency = np.bincount(inverse, weights=np.concatenate(weights_all), minlength=len(keys)).astype(np.float32)
    rows = (keys % max(1, count)).astype(np.int32)
    tokens = (keys // max(1, count)).astype(np.int64)
    document_frequency = np.bincount(tokens, minlength=size)
    idf = np.log1p((count - document_frequency + 0.5) / (document_frequency + 0.5)).astype(np.float32)
    impact = (idf[tokens] * frequency * (K1 + 1) / (frequency + K1)).astype(np.float32)
    return LexicalIndex(
        version=version,
        ids=ids,
        vocabulary=vocabulary,
        indptr=np.concatenate([[0], np.cumsum(document_frequency)]).astype(np.int64),
        rows=rows,
        impact=impact,
        idf=idf,
        columns={name: np.array(values, dtype=np.int32) for name, values in columns.items()},
        values={name: list(known) for name, known in codes.items()},
        asks=build_asks(packed),
    )
