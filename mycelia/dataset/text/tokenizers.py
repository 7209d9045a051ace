"""Operations that cut text into words and change it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array, column_of
from mycelia.dataset.text.vocab import Vocab
from mycelia.dataset.transforms.operation import Operation
from mycelia.ir.dtypes import DType


class NormalizeForm(IntEnum):
    """A normal form of Unicode."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


class TextOperation(Operation):
    """An operation on one text; defines `text`."""

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        array = as_array(x)
        if array.dtype.kind != "U" or array.ndim:
            raise RuntimeError(
                f"{type(self).__name__}: must have one text. Received: {array.dtype}{list(array.shape)}"
            )
        return self.text(str(array))

    def text(self, text: str) -> Any:
        """The result for one text."""
        raise NotImplementedError


def words(parts: Sequence[str]) -> np.ndarray:
    """Words as an array; one empty word where there is none."""
    return np.array(list(parts) or [""])


class _WithOffsets(TextOperation):
    """A tokenizer that can tell where its words begin and end, in bytes of UTF-8; defines `spans`."""

    def __init__(self, with_offsets: bool = False) -> None:
        if not isinstance(with_offsets, bool):
            raise TypeError(f"{type(self).__name__}: with_offsets must be a bool. Received: {with_offsets!r}")
        self.with_offsets = with_offsets

    def spans(self, text: str) -> list[tuple[int, int]]:
        raise NotImplementedError

    def text(self, text: str) -> Any:
        spans = self.spans(text) or [(0, 0)]
        tokens = words([text[start:end] for start, end in spans])
        if not self.with_offsets:
            return tokens
        places = [[len(text[:at].encode()) for at in span] for span in spans]
        return tokens, *np.array(places, np.uint32).T.copy()

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        if not self.with_offsets or len(columns) != 1:
            return super().on_columns(columns, rng)
        rows = [self.sample(np.asarray(row), rng) for row in columns[0]]
        return [column_of(list(part)) for part in zip(*rows)]


class WhitespaceTokenizer(_WithOffsets):
    """Words between white space.

    Args:
        with_offsets: whether where they begin and end comes too, as two more results.
    """

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(_WithOffsets):
    """Single characters.

    Args:
        with_offsets: whether where they begin and end comes too, as two more results.
    """

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(text))]


class RegexTokenizer(_WithOffsets):
    """Words between matches of a pattern.

    Args:
        delim_pattern: what separates words.
        keep_delim_pattern: separators that match this become words.
        with_offsets: whether where they begin and end comes too, as two more results.
    """

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.delim_pattern, self.keep_delim_pattern = delim_pattern, keep_delim_pattern

    def spans(self, text: str) -> list[tuple[int, int]]:
        found, last = [], 0
        for match in re.finditer(self.delim_pattern, text):
            found.append((last, match.start()))
            if self.keep_delim_pattern and re.fullmatch(self.keep_delim_pattern, match.group()):
                found.append(match.span())
            last = match.end()
        return [span for span in [*found, (last, len(text))] if span[0] < span[1]]


_KEPT = re.compile(r"(\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\])")


class BasicTokenizer(TextOperation):
    """Words of BERT: at white space and punctuation, and each Chinese character by itself.

    Args:
        lower_case: whether case and accents are taken away.
        keep_whitespace: whether white space becomes words too.
        normalization_form: of `NormalizeForm`, applied where `lower_case` is not.
        preserve_unused_token: whether ``[CLS]``, ``[SEP]``, ``[UNK]``, ``[PAD]``, ``[MASK]`` and
            ``[unused1]`` stay
            whole.
    """

    def __init__(
        self,
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
    ) -> None:
        for name, value in (
            ("lower_case", lower_case),
            ("keep_whitespace", keep_whitespace),
            ("preserve_unused_token", preserve_unused_token),
        ):
            if not isinstance(value, bool):
                raise TypeError(f"{type(self).__name__}: {name} must be a bool. Received: {name}={value!r}")
        self.lower_case, self.keep_whitespace = lower_case, keep_whitespace
        self.normalization_form, self.preserve_unused_token = normalization_form, preserve_unused_token

    def text(self, text: str) -> np.ndarray:
        return words(self.tokens(text))

    def tokens(self, text: str) -> list[str]:
        """The words."""
        parts = _KEPT.split(text) if self.preserve_unused_token else [text]
        found = []
        for i, part in enumerate(parts):
            found += [part] if i % 2 else self._split(part)
        return found

    def _split(self, text: str) -> list[str]:
        if self.lower_case:
            decomposed = unicodedata.normalize("NFD", text.casefold())
            text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
        elif self.normalization_form != NormalizeForm.NONE:
            text = unicodedata.normalize(self.normalization_form.name, text)
        found, word = [], ""
        for char in text:
            space, alone = char.isspace(), _is_alone(char)
            if not space and unicodedata.category(char)[0] == "C":
                continue
            if not space and not alone:
                word += char
                continue
            found += [word] if word else []
            word = ""
            if alone or self.keep_whitespace:
                found.append(char)
        return found + ([word] if word else [])


def _is_alone(char: str) -> bool:
    """Whether a character is a word by itself: punctuation, symbols of ASCII, Chinese characters."""
    if unicodedata.category(char)[0] == "P" or char in "$+<=>^`|~":
        return True
    return unicodedata.name(char, "").startswith("CJK ")


class WordpieceTokenizer(Operation):
    """Words cut into the longest pieces that a vocabulary has, from left to right.

    Args:
        vocab: the pieces.
        suffix_indicator: what pieces inside of a word begin with.
        max_bytes_per_token: longer words are unknown.
        unknown_token: what stands for a word without pieces; an empty text leaves the word.
    """

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
    ) -> None:
        if not isinstance(vocab, Vocab):
            raise TypeError(f"{type(self).__name__}: vocab must be a Vocab. Received: {type(vocab).__name__}")
        self.vocab, self.suffix_indicator = vocab, suffix_indicator
        self.max_bytes_per_token, self.unknown_token = max_bytes_per_token, unknown_token

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        tokens = as_array(x).reshape(-1).tolist()
        return words([piece for token in tokens for piece in self.pieces(token)])

    def pieces(self, word: str) -> list[str]:
        """The pieces of a word."""
        unknown, found, start = [self.unknown_token or word], [], 0
        if len(word.encode()) > self.max_bytes_per_token:
            return unknown
        while start < len(word):
            prefix = self.suffix_indicator if start else ""
            end = next(
                (
                    end
                    for end in range(len(word), start, -1)
                    if self.vocab.tokens_to_ids(prefix + word[start:end]) >= 0
                ),
                None,
            )
            if end is None:
                return unknown
            found.append(prefix + word[start:end])
            start = end
        return found


class BertTokenizer(BasicTokenizer):
    """`BasicTokenizer`, then `WordpieceTokenizer`; their arguments."""

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
    ) -> None:
        super().__init__(lower_case, keep_whitespace, normalization_form, preserve_unused_token)
        self._pieces = WordpieceTokenizer(vocab, suffix_indicator, max_bytes_per_token, unknown_token)

    def text(self, text: str) -> np.ndarray:
        return words([piece for token in self.tokens(text) for piece in self._pieces.pieces(token)])


class PythonTokenizer(TextOperation):
    """Words as a function of the user's cuts them.

    Args:
        tokenizer: a function from a text to a list of words.
    """

    pure = False

    def __init__(self, tokenizer: Callable[[str], Sequence[str]]) -> None:
        if not callable(tokenizer):
            raise TypeError(f"PythonTokenizer: tokenizer must be a function. Received: {tokenizer!r}")
        self.tokenizer = tokenizer

    def text(self, text: str) -> np.ndarray:
        return words(self.tokenizer(text))


class _Elementwise(Operation):
    """An operation on each text of an array; defines `text`."""

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        array = as_array(x)
        if array.dtype.kind != "U":
            raise RuntimeError(f"{type(self).__name__}: must have text. Received: {array.dtype}")
        return np.array([self.text(text) for text in array.reshape(-1).tolist()]).reshape(array.shape)

    def text(self, text: str) -> str:
        raise NotImplementedError


class CaseFold(_Elementwise):
    """Text without differences of case."""

    def text(self, text: str) -> str:
        return text.casefold()


class NormalizeUTF8(_Elementwise):
    """Text in a normal form of Unicode.

    Args:
        normalize_form: of `NormalizeForm`.
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        if not isinstance(normalize_form, NormalizeForm):
            raise TypeError(
                f"NormalizeUTF8: normalize_form must be of NormalizeForm. Received: {normalize_form!r}"
            )
        self.normalize_form = normalize_form

    def text(self, text: str) -> str:
        return (
            text
            if self.normalize_form == NormalizeForm.NONE
            else unicodedata.normalize(self.normalize_form.name, text)
        )


class RegexReplace(_Elementwise):
    """Matches of a pattern replaced.

    Args:
        pattern: a regular expression.
        replace: what takes their place.
        replace_all: whether all are replaced, or the first only.
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self.pattern, self.replace, self.replace_all = pattern, replace, replace_all

    def text(self, text: str) -> str:
        return re.sub(self.pattern, self.replace, text, count=0 if self.replace_all else 1)


class Ngram(Operation):
    """Neighbouring words joined.

    Args:
        n: how many, or a list of such numbers.
        left_pad, right_pad: (word, how many of it at most) before and after.
        separator: what stands between joined words.
    """

    def __init__(
        self,
        n: int | Sequence[int],
        left_pad: tuple[str, int] = ("", 0),
        right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:
        self.ngrams = [n] if isinstance(n, int) else list(n)
        if not self.ngrams or not all(type(count) is int and count > 0 for count in self.ngrams):
            raise ValueError(f"Ngram: n must be a positive integer or a list of them. Received: n={n!r}")
        self.left_pad, self.right_pad, self.separator = left_pad, right_pad, separator

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        tokens, found = as_array(x).reshape(-1).tolist(), []
        for count in self.ngrams:
            left = [self.left_pad[0]] * min(self.left_pad[1], count - 1)
            right = [self.right_pad[0]] * min(self.right_pad[1], count - 1)
            line = left + tokens + right
            found += [self.separator.join(line[i : i + count]) for i in range(len(line) - count + 1)]
        return words(found)


class SlidingWindow(Operation):
    """All runs of neighbours along an axis, as a new axis.

    Args:
        width: elements in a run.
        axis: along which; only 0 of arrays of one axis.
    """

    def __init__(self, width: int, axis: int = 0) -> None:
        if type(width) is not int or width < 1:
            raise ValueError(f"SlidingWindow: width must be a positive integer. Received: width={width!r}")
        self.width, self.axis = width, axis

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        array = as_array(x)
        if array.ndim != 1:
            raise RuntimeError(
                f"SlidingWindow: must have an array of one axis. Received: {list(array.shape)}"
            )
        count = max(len(array) - self.width + 1, 0)
        return array[np.arange(count)[:, np.newaxis] + np.arange(self.width)]


class ToNumber(Operation):
    """Numbers that texts stand for.

    Args:
        data_type: their type.
    """

    def __init__(self, data_type: Any) -> None:
        self.data_type = data_type.numpy if isinstance(data_type, DType) else np.dtype(data_type)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        try:
            return as_array(x).astype(self.data_type)
        except ValueError as error:
            raise RuntimeError(f"ToNumber: {error}") from error


class Truncate(Operation):
    """At most the first `max_seq_len` words."""

    def __init__(self, max_seq_len: int) -> None:
        if type(max_seq_len) is not int or max_seq_len < 0:
            raise ValueError(
                f"Truncate: max_seq_len must not be negative. Received: max_seq_len={max_seq_len!r}"
            )
        self.max_seq_len = max_seq_len

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return x[..., : self.max_seq_len]


class AddToken(Operation):
    """A word more at the beginning, or at the end.

    Args:
        token: the word.
        begin: whether it comes first.
    """

    def __init__(self, token: str, begin: bool = True) -> None:
        if not isinstance(token, str):
            raise TypeError(f"AddToken: token must be a text. Received: token={token!r}")
        self.token, self.begin = token, begin

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        extra = np.full((*x.shape[:-1], 1), self.token)
        return np.concatenate([extra, x] if self.begin else [x, extra], axis=-1)


class TruncateSequencePair(Operation):
    """Two sequences cut off, the longer first, until they have at most `max_length` elements together."""

    def __init__(self, max_length: int) -> None:
        if type(max_length) is not int or max_length < 0:
            raise ValueError(
                f"TruncateSequencePair: max_length must not be negative. Received: max_length={max_length!r}"
            )
        self.max_length = max_length

    def __call__(self, *columns: Any) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        if len(columns) != 2:
            raise RuntimeError(f"TruncateSequencePair: takes two columns. Received: {len(columns)}")
        first, second = as_array(columns[0]), as_array(columns[1])
        long, short = len(first), len(second)
        while long + short > self.max_length:
            if long > short:
                long -= 1
            else:
                short -= 1
        return first[:long], second[:short]

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        return [column_of(list(part)) for part in zip(*(self(*row) for row in zip(*columns)))]


def to_str(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """Text of bytes."""
    _array("to_str", array)
    return np.char.decode(array, encoding) if array.dtype.kind == "S" else array


def to_bytes(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """Bytes of text."""
    _array("to_bytes", array)
    return np.char.encode(array, encoding) if array.dtype.kind == "U" else array


def _array(function: str, array: Any) -> None:
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{function}: array must be an array of NumPy. Received: {type(array).__name__}")
