"""Measures of translations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric


class BleuScore(Metric):
    """Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", 2002, section 2.3.

    ``update(candidates, references)``: a list of candidates (lists of words), and for each a list of
    references.

    Args:
        n_gram: longest run of words that counts, 1 to 4.
        smooth: whether one is added to all counts.
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        if type(n_gram) is not int or not 1 <= n_gram <= 4:
            raise ValueError(f"BleuScore: n_gram must be an int from 1 to 4. Received: n_gram={n_gram!r}")
        self.n_gram, self.smooth = n_gram, bool(smooth)
        self.clear()

    def clear(self) -> None:
        self._hits, self._counts = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length = self._reference_length = self._candidates = 0

    def _runs(self, words: Sequence[Any]) -> Counter:
        return Counter(
            tuple(words[start : start + n])
            for n in range(1, self.n_gram + 1)
            for start in range(len(words) - n + 1)
        )

    def update(self, *inputs: Any) -> None:
        inputs = self.pick(inputs)
        self._require(len(inputs) == 2, "must have 2 inputs (candidates and references)", len(inputs))
        candidates, references = inputs
        self._require(
            len(candidates) == len(references),
            "there must be references for each candidate",
            f"{len(candidates)} candidates, {len(references)} lists of references",
        )
        for candidate, known in zip(candidates, references):
            self._length += len(candidate)
            self._reference_length += min((len(r) for r in known), key=lambda n: abs(len(candidate) - n))
            runs, best = self._runs(candidate), Counter()
            for reference in known:
                best |= self._runs(reference)
            for counts, held in ((runs & best, self._hits), (runs, self._counts)):
                for run, count in counts.items():
                    held[len(run) - 1] += count
        self._candidates += len(candidates)

    def eval(self) -> np.ndarray:
        self._some(self._candidates)
        if self._hits.min() == 0:
            return np.array(0.0)
        add = 1.0 if self.smooth else 0.0
        precision = math.exp(np.log((self._hits + add) / (self._counts + add)).mean())
        short = self._length <= self._reference_length
        return np.array(precision * (math.exp(1 - self._reference_length / self._length) if short else 1.0))
