"""Operations on text; the results are MindSpore's."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset import text

WORDS = ["a", "b", "c"]
VOCAB = text.Vocab.from_list(WORDS, ["<pad>", "<unk>"])
_PIECES = "book favor ##ite my is love dur ##ing the [UNK] un ##aff ##able ."
PIECES = text.Vocab.from_list(list(_PIECES.split(" ")))


def test_vocabularies(tmp_path):
    assert VOCAB.vocab() == {"<pad>": 0, "<unk>": 1, "a": 2, "b": 3, "c": 4}
    assert VOCAB.tokens_to_ids(["a", "zz", "b"]) == [2, -1, 3] and VOCAB.tokens_to_ids("c") == 4
    assert VOCAB.ids_to_tokens([0, 3, 9]) == ["<pad>", "b", ""] and len(VOCAB) == 5
    assert text.Vocab.from_list(WORDS, ["<unk>"], False).vocab()["<unk>"] == 3
    assert text.Vocab.from_dict({"x": 3, "y": 1}).ids_to_tokens(3) == "x"
    (tmp_path / "v.txt").write_text("w1 5\nw2 7\nw3\n")
    assert text.Vocab.from_file(str(tmp_path / "v.txt"), " ", 2).vocab() == {"w1": 0, "w2": 1}
    data = ds.NumpySlicesDataset(np.array(list("abbccc")), "t", shuffle=False)
    counted = text.Vocab.from_dataset(data, ["t"], (2, None), None, ["<u>"])
    assert counted.vocab() == {"<u>": 0, "c": 1, "b": 2}


def test_lookup():
    assert text.Lookup(VOCAB, "<unk>")(np.array(["a", "q", "c"])).tolist() == [2, 1, 4]
    assert text.Lookup(VOCAB)("b").dtype == np.int32
    data = ds.NumpySlicesDataset(np.array([["a", "c"], ["b", "b"]]), "t", shuffle=False)
    data = data.map(text.Lookup(VOCAB, data_type=ms.int64), "t").batch(2)
    rows = next(data.create_tuple_iterator(output_numpy=True))[0]
    assert rows.tolist() == [[2, 4], [3, 3]] and rows.dtype == np.int64
    with pytest.raises(RuntimeError, match="the word 'q' is not in the vocab of 5 words"):
        text.Lookup(VOCAB)(np.array(["q"]))
    with pytest.raises(ValueError, match="unknown_token must be in the vocab"):
        text.Lookup(VOCAB, "zebra")


@pytest.mark.parametrize(
    "operation, given, wanted",
    [
        (text.WhitespaceTokenizer(), "  a bc  d", ["a", "bc", "d"]),
        (text.WhitespaceTokenizer(True), " a bc", (["a", "bc"], [1, 3], [2, 5])),
        (text.UnicodeCharTokenizer(), "a 三b", ["a", " ", "三", "b"]),
        (text.UnicodeCharTokenizer(True), "a三b", (["a", "三", "b"], [0, 1, 4], [1, 4, 5])),
        (text.RegexTokenizer("[, ]", "[,]"), "a,b c", ["a", ",", "b", "c"]),
        (text.BasicTokenizer(True), "Hello, 三四 Wörld", ["hello", ",", "三", "四", "world"]),
        (text.BasicTokenizer(), "[CLS] Don't", ["[CLS]", "Don", "'", "t"]),
        (
            text.BertTokenizer(PIECES, lower_case=True),
            "My favorite, unaffable.",
            ["my", "favor", "##ite", "[UNK]", "un", "##aff", "##able", "."],
        ),
        (text.PythonTokenizer(lambda line: line.split("-")), "a-b", ["a", "b"]),
        (text.CaseFold(), "HeLLo ß", "hello ss"),
        (text.RegexReplace("[0-9]+", "#"), "a12b3", "a#b#"),
        (text.NormalizeUTF8(), "ﬁ", "fi"),
        (text.WordpieceTokenizer(PIECES), ["during", "zzz"], ["dur", "##ing", "[UNK]"]),
        (text.Ngram([2, 3]), WORDS, ["a b", "b c", "a b c"]),
        (text.Ngram(2, ("_", 1), ("_", 1), "-"), ["a", "b"], ["_-a", "a-b", "b-_"]),
        (text.SlidingWindow(2), [0, 1, 2, 3], [[0, 1], [1, 2], [2, 3]]),
        (text.ToNumber(ms.int32), ["1", "2"], [1, 2]),
        (text.Truncate(2), WORDS, ["a", "b"]),
        (text.AddToken("[C]"), ["a"], ["[C]", "a"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_operations(operation, given, wanted):
    result = operation(np.array(given))
    assert (tuple(x.tolist() for x in result) if isinstance(wanted, tuple) else result.tolist()) == wanted
    data = ds.NumpySlicesDataset(np.array([given] * 2), "t", shuffle=False)
    names = ["t", "start", "end"] if isinstance(wanted, tuple) else ["t"]
    for row in data.map(operation, "t", names).create_tuple_iterator(num_epochs=1, output_numpy=True):
        assert (tuple(x.tolist() for x in row) if isinstance(wanted, tuple) else row[0].tolist()) == wanted


def test_pairs_and_conversions():
    first, second = text.TruncateSequencePair(5)(np.array(list("abcd")), np.array(list("xyz")))
    assert (first.tolist(), second.tolist()) == (["a", "b", "c"], ["x", "y"])
    assert text.to_str(np.array([b"ab"])).tolist() == ["ab"]
    assert text.to_bytes(np.array(["ab"])).tolist() == [b"ab"]
    with pytest.raises(ValueError, match="array must be an array"):
        text.to_str("ab")
