"""Vocab: the numbers of words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array
from mycelia.dataset.dataset import READ_AHEAD, Dataset
from mycelia.dataset.transforms.operation import Operation
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType


class Vocab:
    """Words and their numbers, made by one of the class methods.

    Example:
        >>> vocab = Vocab.from_list(["a", "b"], special_tokens=["<unk>"])
        >>> vocab.tokens_to_ids(["b", "<unk>", "zebra"])
        [2, 0, -1]
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._tokens: dict[int, str] = {}

    @classmethod
    def _made(cls, ids: dict[str, int]) -> Vocab:
        vocab = cls()
        vocab._ids, vocab._tokens = ids, {number: token for token, number in ids.items()}
        return vocab

    @classmethod
    def from_list(
        cls, word_list: Sequence[str], special_tokens: Sequence[str] | None = None, special_first: bool = True
    ) -> Vocab:
        """Words numbered in order; special ones come first, or last.

        Raises:
            TypeError: not words.
            ValueError: a word twice.
        """
        words, special = _words("word_list", word_list), _words("special_tokens", special_tokens or [])
        tokens = special + words if special_first else words + special
        double = [token for token, count in Counter(tokens).items() if count > 1]
        if double:
            raise ValueError(f"Vocab: words must be different. Received twice: {', '.join(double[:5])}")
        return cls._made({token: i for i, token in enumerate(tokens)})

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """Words with the numbers given."""
        if not isinstance(word_dict, dict):
            raise TypeError(
                f"Vocab.from_dict: word_dict must be a dict. Received: {type(word_dict).__name__}"
            )
        for token, number in word_dict.items():
            if not isinstance(token, str) or type(number) is not int or number < 0:
                raise ValueError(
                    "Vocab.from_dict: word_dict must be from words to numbers that are not negative. "
                    f"Received: {token!r}: {number!r}"
                )
        return cls._made(dict(word_dict))

    @classmethod
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words of a file, one a line; with a delimiter, what stands before it. At most `vocab_size`.

        Raises:
            ValueError: no such file.
        """
        if not os.path.isfile(file_path):
            raise ValueError(f"Vocab.from_file: the file {file_path} does not exist")
        with open(file_path, encoding="utf-8") as text:
            lines = [line.rstrip("\r\n") for line in text]
        words = [line.split(delimiter)[0] if delimiter else line for line in lines if line]
        return cls.from_list(words[:vocab_size], special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words of a dataset's columns, the most frequent first; equal ones by alphabet.

        Args:
            dataset: one epoch of it is read.
            columns: where to look; default: all columns of text.
            freq_range: (min, max) occurrences of a word; None for no bound.
            top_k: at most so many words.
            special_tokens, special_first: as in `from_list`.
        """
        names = [columns] if isinstance(columns, str) else list(columns or [])
        counts: Counter[str] = Counter()
        stream = dataset.open(dataset.draws())
        while (block := stream.read(READ_AHEAD)) is not None:
            for name in names or list(block.columns):
                for row in block.columns[name]:
                    if np.asarray(row).dtype.kind == "U":
                        counts.update(np.asarray(row).reshape(-1).tolist())
        low, high = freq_range or (None, None)
        kept = [token for token, count in counts.items() if (low or 0) <= count <= (high or count)]
        kept.sort(key=lambda token: (-counts[token], token))
        return cls.from_list(kept[:top_k], special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """The number of each word."""
        return dict(self._ids)

    def tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """Numbers of words; -1 for one that is not there."""
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        return [self._ids.get(token, -1) for token in np.asarray(tokens).tolist()]

    def ids_to_tokens(self, ids: int | Sequence[int]) -> Any:
        """Words of numbers; an empty text for one that is not there."""
        if isinstance(ids, (int, np.integer)):
            return self._tokens.get(int(ids), "")
        return [self._tokens.get(number, "") for number in np.asarray(ids).tolist()]

    def __len__(self) -> int:
        return len(self._ids)


def _words(name: str, words: Iterable[str]) -> list[str]:
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"Vocab: {name} must be a list of words. Received: {words!r:.80}")
    return list(words)


class Lookup(Operation):
    """Numbers of words.

    Args:
        vocab: where to look.
        unknown_token: the word whose number stands for a word that is not there; without one that is an
            error.
        data_type: type of the numbers.

    Raises:
        RuntimeError: a word that is not there.
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = dtypes.int32) -> None:
        if not isinstance(vocab, Vocab):
            raise TypeError(f"Lookup: vocab must be a Vocab. Received: {type(vocab).__name__}")
        if unknown_token is not None and vocab.tokens_to_ids(unknown_token) < 0:
            raise ValueError(f"Lookup: unknown_token must be in the vocab. Received: {unknown_token!r}")
        self.vocab, self.unknown_token = vocab, unknown_token
        self.data_type = data_type.numpy if isinstance(data_type, DType) else np.dtype(data_type)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        array = as_array(x)
        if array.dtype.kind != "U":
            raise RuntimeError(f"Lookup: must have text. Received: {array.dtype}")
        ids, unknown = self.vocab._ids, self.unknown_token
        try:
            numbers = [
                ids[token] if unknown is None else ids.get(token, ids[unknown])
                for token in array.reshape(-1).tolist()
            ]
        except KeyError as error:
            raise RuntimeError(
                f"Lookup: the word {error} is not in the vocab of {len(ids)} words, and there is no "
                "unknown_token"
            ) from None
        return np.array(numbers, self.data_type).reshape(array.shape)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> Column:
        return self.sample(x, rng)
