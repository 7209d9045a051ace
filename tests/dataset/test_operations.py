"""Operations of vision and transforms: against plain NumPy, on stacks as on single images, and their
errors."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.transforms import Operation
from mycelia.dataset.vision import Border, Inter

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (5, 12, 10, 3), dtype=np.uint8)
GREY = IMAGES[..., 0]
IMAGE = IMAGES[0]


def stable_name(value):
    """A test's name that is the same in every process."""
    return re.sub(r"<function .*? at 0x\w+>|<.*? object at 0x\w+>", type(value).__name__, repr(value))


@pytest.mark.parametrize(
    "operation, wanted",
    [
        (vision.Rescale(1 / 255, 0.0), lambda x: x.astype(np.float32) * np.float32(1 / 255)),
        (vision.Rescale(2.0, -1.0), lambda x: x.astype(np.float32) * 2 - 1),
        (
            vision.Normalize([1.0, 2.0, 3.0], [2.0, 4.0, 8.0]),
            lambda x: (x - np.float32([1, 2, 3])) / np.float32([2, 4, 8]),
        ),
        (vision.Normalize([1.0], [2.0]), lambda x: (x - np.float32(1)) / np.float32(2)),
        (vision.HWC2CHW(), lambda x: x.transpose(2, 0, 1)),
        (vision.ToTensor(), lambda x: x.transpose(2, 0, 1) * np.float32(1 / 255)),
        (
            vision.ToTensor(ms.float16),
            lambda x: (x.transpose(2, 0, 1) * np.float32(1 / 255)).astype(np.float16),
        ),
        (vision.CenterCrop(6), lambda x: x[3:9, 2:8]),
        (vision.CenterCrop((4, 10)), lambda x: x[4:8]),
        (vision.CenterCrop((15, 4)), lambda x: np.pad(x[:, 3:7], ((2, 1), (0, 0), (0, 0)))),
        (vision.Pad(1), lambda x: np.pad(x, ((1, 1), (1, 1), (0, 0)))),
        (
            vision.Pad((1, 2, 3, 4), fill_value=9),
            lambda x: np.pad(x, ((2, 4), (1, 3), (0, 0)), constant_values=9),
        ),
        (
            vision.Pad((1, 2), padding_mode=Border.REFLECT),
            lambda x: np.pad(x, ((2, 2), (1, 1), (0, 0)), mode="reflect"),
        ),
        (vision.RandomHorizontalFlip(1.0), lambda x: x[:, ::-1]),
        (vision.RandomVerticalFlip(1.0), lambda x: x[::-1]),
        (vision.RandomHorizontalFlip(0.0), lambda x: x),
        (vision.RandomCrop((12, 10)), lambda x: x),
        (vision.Resize((6, 5), Inter.NEAREST), lambda x: x[::2, ::2]),
        (vision.Resize((6, 5), Inter.AREA), lambda x: np.rint(x.reshape(6, 2, 5, 2, 3).mean((1, 3)))),
        (vision.Resize((6, 5)), lambda x: np.rint(x.reshape(6, 2, 5, 2, 3).mean((1, 3)))),
        (vision.Resize((12, 10), Inter.BICUBIC), lambda x: x),
        (transforms.TypeCast(ms.int32), lambda x: x.astype(np.int32)),
        (transforms.TypeCast(np.float64), lambda x: x.astype(np.float64)),
        (transforms.Fill(3), lambda x: np.full_like(x, 3)),
    ],
    ids=stable_name,
)
def test_results_on_one_image_on_stacks_and_in_a_pipeline(operation, wanted):
    expected = [wanted(image) for image in IMAGES]
    single = [operation(image) for image in IMAGES]
    assert all(np.array_equal(a, b) for a, b in zip(single, expected))
    stacked = operation.stack(IMAGES, np.random.default_rng(0))
    assert np.array_equal(stacked, expected) and stacked.dtype == single[0].dtype
    data = ds.NumpySlicesDataset(IMAGES, "image", shuffle=False).map(operation).batch(5)
    (batch,) = next(data.create_tuple_iterator(output_numpy=True))
    assert np.array_equal(batch, expected) and batch.flags.c_contiguous


@pytest.mark.parametrize(
    "operation",
    [
        vision.Rescale(2.0, 1.0),
        vision.Normalize([1.0], [2.0]),
        vision.HWC2CHW(),
        vision.ToTensor(),
        vision.CenterCrop(4),
        vision.CenterCrop(20),
        vision.Pad(2),
        vision.Pad(2, padding_mode=Border.EDGE),
        vision.RandomHorizontalFlip(1.0),
        vision.Resize(7),
        vision.Resize((20, 7), Inter.BICUBIC),
        vision.RandomCrop(20, pad_if_needed=True),
    ],
    ids=stable_name,
)
def test_grey_images_without_an_axis_for_channels(operation):
    flat, deep = (
        operation.stack(GREY, np.random.default_rng(0)),
        operation.stack(GREY[..., None], np.random.default_rng(0)),
    )
    assert np.array_equal(np.squeeze(flat), np.squeeze(deep))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("interpolation", list(Inter), ids=stable_name)
def test_resizing_keeps_constants_types_and_ranges(dtype, interpolation):
    for size in ((5, 7), (20, 31), (12, 3)):
        constant = vision.Resize(size, interpolation)(np.full((12, 10, 3), 100, dtype))
        assert constant.dtype == dtype and constant.shape == (*size, 3)
        assert np.allclose(constant, 100, atol=1e-4)
        edges = vision.Resize(size, interpolation)(np.where(IMAGE > 128, 255, 0).astype(dtype))
        if dtype is np.uint8:
            assert edges.min() <= 10 and edges.max() >= 245


def test_resizing_to_the_shorter_side_keeps_the_proportions():
    assert vision.Resize(6)(np.zeros((12, 24, 3), np.uint8)).shape == (6, 12, 3)
    assert vision.Resize(6)(np.zeros((24, 12, 3), np.uint8)).shape == (12, 6, 3)
    assert vision.Resize(5)(np.zeros((9, 10), np.uint8)).shape == (5, 5)


def test_bilinear_is_linear_inside():
    ramp = np.arange(8, dtype=np.float32).reshape(1, 8, 1)
    doubled = vision.Resize((1, 16))(ramp).ravel()
    assert np.allclose(doubled, np.clip((np.arange(16) + 0.5) / 2 - 0.5, 0, 7))


def test_random_crops_reach_every_place_and_only_those():
    image = np.arange(12, dtype=np.int64).reshape(3, 4, 1)
    crops = vision.RandomCrop(2).stack(np.stack([image] * 600), np.random.default_rng(0))
    corners = np.unique(crops[:, 0, 0, 0], return_counts=True)
    assert corners[0].tolist() == [0, 1, 2, 4, 5, 6] and corners[1].min() > 60
    assert all(np.array_equal(crop[..., 0] - crop[0, 0, 0], [[0, 1], [4, 5]]) for crop in crops)
    padded = vision.RandomCrop(4, padding=(1, 0)).stack(np.ones((200, 4, 4, 1)), np.random.default_rng(0))
    assert set(padded.sum((1, 2, 3))) == {12, 16}


def test_flips_happen_with_their_probability():
    images = np.stack([np.array([[0, 1]])] * 1000)
    flipped = vision.RandomHorizontalFlip(0.25).stack(images, np.random.default_rng(0))
    assert 200 < flipped[:, 0, 0].sum() < 300 and images[:, 0, 0].sum() == 0


def test_one_hot():
    assert transforms.OneHot(3)(np.int32(2)).tolist() == [0, 0, 1]
    assert transforms.OneHot(3)(np.array([1])).tolist() == [0, 1, 0]
    assert np.allclose(transforms.OneHot(4, 0.2)(np.int32(1)), [0.05, 0.85, 0.05, 0.05])
    with pytest.raises(ValueError, match="labels must be from 0 to 2. Received: 3"):
        transforms.OneHot(3)(np.int32(3))
    with pytest.raises(TypeError, match="labels must be integers. Received: float64"):
        transforms.OneHot(3)(1.0)


def test_compose_runs_in_order_in_and_outside_of_a_pipeline():
    both = transforms.Compose([vision.HWC2CHW(), lambda x: x + 1, transforms.TypeCast(ms.float32)])
    expected = (IMAGE.transpose(2, 0, 1) + 1).astype(np.float32)
    assert np.array_equal(both(IMAGE), expected)
    data = ds.NumpySlicesDataset(IMAGES, shuffle=False).map(both)
    assert np.array_equal(next(data.create_tuple_iterator(output_numpy=True))[0], expected)


def test_images_of_many_sizes_are_taken_one_by_one():
    data = ds.GeneratorDataset(lambda: ((np.full((4 + i, 6, 3), i, np.uint8),) for i in range(4)), "image")
    data = data.batch(1).map(lambda x: x[0]).map([vision.Resize((8, 8)), vision.ToTensor()]).batch(4)
    (batch,) = next(data.create_tuple_iterator(output_numpy=True))
    assert batch.shape == (4, 3, 8, 8) and np.allclose(batch[:, 0, 0, 0] * 255, range(4))


def test_own_operations_join_the_pipeline():
    class Invert(Operation):
        def stack(self, x, rng):
            return 255 - x

    data = ds.NumpySlicesDataset(IMAGES, shuffle=False).map([Invert(), Invert()])
    assert data.pure
    assert np.array_equal(next(data.create_tuple_iterator(output_numpy=True))[0], IMAGE)


def test_decoding():
    image_module = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image_module.fromarray(IMAGE).save(file, "PNG")
    data = np.frombuffer(file.getvalue(), np.uint8)
    assert np.array_equal(vision.Decode()(data), IMAGE)
    assert np.array_equal(vision.Decode()(file.getvalue()), IMAGE)
    assert np.array_equal(vision.ToTensor()(vision.Decode(to_pil=True)(data)), vision.ToTensor()(IMAGE))
    with pytest.raises(ValueError, match="the 4 bytes, which begin with 01 02 03 04, are no image"):
        vision.Decode()(np.array([1, 2, 3, 4], np.uint8))
    with pytest.raises(ValueError, match=r"the bytes of a file, uint8\[n\]. Received: uint8\[12, 10, 3\]"):
        vision.Decode()(IMAGE)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (
            lambda: vision.Rescale("1", 0),
            TypeError,
            r"Rescale: rescale must be a number. Received: rescale='1' \(of type str\)",
        ),
        (
            lambda: vision.Normalize([1.0], [1.0, 2.0]),
            ValueError,
            r"must be as many. Received: mean=\[1.0\], std=\[1.0, 2.0\]",
        ),
        (lambda: vision.Normalize([1.0], [0.0]), ValueError, "std must be positive"),
        (
            lambda: vision.Normalize(1.0, [1.0]),
            TypeError,
            "mean must be a list or tuple of numbers. Received: mean=1.0",
        ),
        (
            lambda: vision.Normalize([1.0, 2.0], [1.0, 2.0])(IMAGE),
            ValueError,
            r"for each channel .*Received: 2 of them for an image uint8\[12, 10, 3\]",
        ),
        (lambda: vision.HWC2CHW()(np.zeros(3)), ValueError, r"must have an image .* Received: float64\[3\]"),
        (
            lambda: vision.Resize(0),
            ValueError,
            r"size must be a positive integer or \(height, width\). Received: size=0",
        ),
        (lambda: vision.Resize(3, 2), TypeError, "interpolation must be of Inter. Received: interpolation=2"),
        (lambda: vision.Pad(-1), ValueError, "none of them negative. Received: padding=-1"),
        (lambda: vision.Pad((1, 2, 3)), ValueError, r"Received: padding=\(1, 2, 3\)"),
        (lambda: vision.Pad(1, 300), ValueError, "fill_value must be an integer from 0 to 255"),
        (
            lambda: vision.Pad(1, padding_mode="edge"),
            TypeError,
            "padding_mode must be of Border. Received: padding_mode='edge'",
        ),
        (
            lambda: vision.RandomCrop(20)(IMAGE),
            ValueError,
            r"must not exceed the image, 12 x 10, .* Received: size=\(20, 20\)",
        ),
        (
            lambda: vision.RandomHorizontalFlip(1.5),
            ValueError,
            "prob must be from 0 to 1. Received: prob=1.5",
        ),
        (lambda: transforms.TypeCast("strange"), TypeError, "strange"),
        (lambda: transforms.OneHot(0), ValueError, "num_classes must be a positive integer"),
        (lambda: transforms.Compose([]), TypeError, "transforms must be a list of operations"),
        (
            lambda: transforms.RandomChoice([3]),
            TypeError,
            "transforms must be operations or functions. Received: 3",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
