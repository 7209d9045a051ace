# ruff: noqa: B023  each function runs before its loop goes on
"""Compares data pipelines and image operations with MindSpore's.

dataset_oracle.py write FILE     in an environment with MindSpore: records its results
dataset_oracle.py compare FILE   in Mycelia's environment: prints the largest difference of each case; fails
above its tolerance
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

random = np.random.default_rng(0)
COLOUR = random.integers(0, 256, (37, 50, 3), dtype=np.uint8)
GREY = random.integers(0, 256, (28, 28, 1), dtype=np.uint8)
FLAT = GREY[..., 0]
FLOATS = random.standard_normal((37, 50, 3)).astype(np.float32)
UNIT = (COLOUR / 255).astype(np.float32)
LARGE = (np.add.outer(np.arange(120), np.arange(160))[..., None] % 256 * np.ones(3)).astype(np.uint8)


def colours(vision: Any, each: Any) -> Iterator[Any]:
    """Operations on colours; the random ones with intervals of one point."""
    for factor in (0.0, 0.4, 1.7):
        yield from each(f"AdjustBrightness {factor}", vision.AdjustBrightness(factor), 0, ("colour", "large"))
        yield from each(f"AdjustContrast {factor}", vision.AdjustContrast(factor), 1, ("colour", "large"))
        yield from each(f"AdjustSaturation {factor}", vision.AdjustSaturation(factor), 1, ("colour", "large"))
        yield from each(f"AdjustSharpness {factor}", vision.AdjustSharpness(factor), 1, ("colour", "large"))
        yield from each(f"RandomColor {factor}", vision.RandomColor((factor, factor)), 1, ("colour",))
        yield from each(f"RandomSharpness {factor}", vision.RandomSharpness((factor, factor)), 1, ("colour",))
        adjust = vision.RandomColorAdjust(brightness=(factor, factor))
        yield from each(f"RandomColorAdjust {factor}", adjust, 0, ("colour",))
    for turn in (-0.3, 0.0, 0.2, 0.5):
        yield from each(f"AdjustHue {turn}", vision.AdjustHue(turn), 2, ("colour", "large"))
    for gamma, gain in ((0.5, 1), (2.2, 0.8)):
        yield from each(f"AdjustGamma {gamma} {gain}", vision.AdjustGamma(gamma, gain), 0, ("colour", "grey"))
    yield from each("AutoContrast", vision.AutoContrast(), 0, ("colour", "grey", "large"))
    yield from each("AutoContrast 10", vision.AutoContrast(10.0, [10, 20]), 0, ("colour", "large"))
    yield from each("Equalize", vision.Equalize(), 0, ("colour", "grey", "large"))
    yield from each("Invert", vision.Invert(), 0, ("colour",))
    for bits in (0, 3, 8):
        yield from each(f"Posterize {bits}", vision.Posterize(bits), 0, ("colour",))
    yield from each("RandomPosterize", vision.RandomPosterize((3, 3)), 0, ("colour",))
    yield from each("Solarize", vision.Solarize((50.0, 150.0)), 0, ("colour", "large"))
    yield from each("RandomSolarize", vision.RandomSolarize((77, 77)), 0, ("colour",))
    yield from each("RandomEqualize", vision.RandomEqualize(1.0), 0, ("colour",))
    yield from each("RandomInvert", vision.RandomInvert(1.0), 0, ("colour",))
    yield from each("RandomAutoContrast", vision.RandomAutoContrast(prob=1.0), 0, ("colour",))
    yield from each("RandomAdjustSharpness", vision.RandomAdjustSharpness(0.3, 1.0), 1, ("colour",))
    modes = vision.ConvertMode
    for mode in (
        modes.COLOR_RGB2GRAY,
        modes.COLOR_BGR2GRAY,
        modes.COLOR_RGB2BGR,
        modes.COLOR_RGB2RGBA,
        modes.COLOR_RGB2BGRA,
    ):
        yield from each(f"ConvertColor {int(mode)}", vision.ConvertColor(mode), 0, ("colour",))
    yield from each("RgbToHsv", vision.RgbToHsv(is_hwc=True), 1e-6, ("colour",))
    yield "HsvToRgb", 1e-6, lambda: vision.HsvToRgb(is_hwc=True)(UNIT)
    yield "RgbToHsv of fractions", 1e-6, lambda: vision.RgbToHsv(is_hwc=True)(UNIT)


def arrays(transforms: Any) -> Iterator[Any]:
    """Operations on any arrays."""
    five = np.array([1, 2, 3, 4, 5])
    yield "PadEnd", 0.0, lambda: transforms.PadEnd([7], -1)(five)
    yield "PadEnd cut", 0.0, lambda: transforms.PadEnd([3])(five)
    yield "PadEnd of two axes", 0.0, lambda: transforms.PadEnd([3, 4], 2)(np.ones((2, 3)))
    yield "PadEnd another rank", 0.0, lambda: transforms.PadEnd([3, 3], 2)(five)
    yield "Concatenate", 0.0, lambda: transforms.Concatenate(0, np.array([9]), np.array([8, 7]))(five)
    yield "Concatenate two", 0.0, lambda: transforms.Concatenate(0)(five, five)
    yield "Slice", 0.0, lambda: transforms.Slice(slice(1, 3))(five)
    yield "Slice list", 0.0, lambda: transforms.Slice([0, 2])(five)
    yield "Slice index", 0.0, lambda: transforms.Slice(1)(five)
    yield "Slice all", 0.0, lambda: transforms.Slice(...)(five)
    yield "Slice outside", 0.0, lambda: transforms.Slice(7)(five)
    yield "Slice of two axes", 0.0, lambda: transforms.Slice(slice(0, 1), [0, 2])(np.arange(6).reshape(2, 3))
    for relation in transforms.Relational:
        yield f"Mask {int(relation)}", 0.0, lambda: transforms.Mask(relation, 3)(five)
    yield "Fill", 0.0, lambda: transforms.Fill(3)(five)
    for i in range(3):
        yield f"Unique {i}", 0.0, lambda: transforms.Unique()(np.array([[3, 1], [1, 2]]))[i]


def shapes(vision: Any, inter: Any, each: Any) -> Iterator[Any]:
    """Operations on geometry, filters and holes."""
    yield from each("HorizontalFlip", vision.HorizontalFlip(), 0, ("colour", "grey"))
    yield from each("VerticalFlip", vision.VerticalFlip(), 0, ("colour", "grey"))
    yield from each("Crop", vision.Crop((3, 5), (10, 12)), 0, ("colour", "grey"))
    yield from each("ResizedCrop", vision.ResizedCrop(3, 5, 10, 12, (20, 7)), 1, ("colour", "large"))
    yield from each("PadToSize", vision.PadToSize((180, 190)), 0, ("colour", "large"))
    yield from each("PadToSize at", vision.PadToSize((180, 190), (3, 4), 7), 0, ("colour",))
    yield from each("Erase", vision.Erase(3, 4, 10, 12, 7), 0, ("colour",))
    yield from each("Erase colours", vision.Erase(3, 4, 10, 12, (7, 8, 9)), 0, ("colour",))
    for kernel, sigma in ((3, None), (5, 1.5), ((3, 7), (0.8, 2.0))):
        blur = vision.GaussianBlur(kernel, sigma)
        yield from each(f"GaussianBlur {kernel} {sigma}", blur, 1, ("colour", "grey", "large"))
    for kind, tolerance in (("NEAREST", 0), ("BILINEAR", 1), ("BICUBIC", 1)):
        chosen = getattr(inter, kind)
        for degrees in (30, 90, -47.5):
            name = f"Rotate {degrees} {kind}"
            yield from each(name, vision.Rotate(degrees, chosen), tolerance, ("colour", "large"))
            yield from each(
                f"{name} expanded", vision.Rotate(degrees, chosen, True, None, 7), tolerance, ("colour",)
            )
        yield from each(
            f"Rotate about {kind}", vision.Rotate(20, chosen, False, (3, 4)), tolerance, ("colour",)
        )
        yield from each(
            f"RandomRotation {kind}", vision.RandomRotation((33, 33), chosen), tolerance, ("colour",)
        )
        affine = vision.Affine(15, [0.1, -0.2], 1.2, [5, 3], chosen, 9)
        yield from each(f"Affine {kind}", affine, tolerance, ("colour", "large"))
        moved = vision.RandomAffine((15, 15), (0.1, 0.1, -0.2, -0.2), (1.2, 1.2), (5, 5, 3, 3), chosen)
        yield from each(f"RandomAffine {kind}", moved, tolerance, ("colour", "large"))
        whole = vision.RandomResizedCrop((20, 30), (1.0, 1.0), (50 / 37, 50 / 37), chosen)
        yield from each(f"RandomResizedCrop {kind}", whole, tolerance, ("colour",))
    corners, ends = [[0, 0], [49, 0], [49, 36], [0, 36]], [[3, 2], [45, 1], [40, 33], [2, 30]]
    yield from each("Perspective", vision.Perspective(corners, ends), 2, ("colour",))
    matrix, mean = np.eye(8, dtype=np.float32)[::-1].copy() * 2, np.arange(8, dtype=np.float32)
    yield (
        "LinearTransformation",
        1e-5,
        lambda: vision.LinearTransformation(matrix, mean)(
            np.arange(8, dtype=np.float32).reshape(2, 2, 2) * 3
        ),
    )
    for i in range(5):
        yield from each(f"FiveCrop {i}", lambda x: vision.FiveCrop(11)(vision.ToPIL()(x))[i], 0, ("colour",))
        yield from each(
            f"TenCrop {i}", lambda x: vision.TenCrop(11)(vision.ToPIL()(x))[5 + i], 0, ("colour",)
        )
    for i in range(6):
        yield from each(f"SlicePatches {i}", lambda x: vision.SlicePatches(2, 3)(x)[i], 0, ("colour",))
    yield from pictures(vision, inter, each)


def pictures(vision: Any, inter: Any, each: Any) -> Iterator[Any]:
    """Operations on images of Pillow."""

    def on_pil(operation: Any) -> Any:
        return lambda x: np.asarray(operation(vision.ToPIL()(x)))

    for name, operation in {
        "Resize": vision.Resize((20, 30)),
        "Resize 24": vision.Resize(24),
        "CenterCrop": vision.CenterCrop(20),
        "Pad": vision.Pad(3),
        "AdjustBrightness": vision.AdjustBrightness(1.4),
        "AdjustContrast": vision.AdjustContrast(1.4),
        "AdjustSaturation": vision.AdjustSaturation(0.4),
        "AdjustHue": vision.AdjustHue(0.2),
        "Grayscale": vision.Grayscale(3),
        "Grayscale 1": vision.Grayscale(1),
        "Invert": vision.Invert(),
        "Equalize": vision.Equalize(),
        "AutoContrast": vision.AutoContrast(),
        "Posterize": vision.Posterize(4),
        "Solarize": vision.Solarize(100.0),
        "ToTensor": vision.ToTensor(),
        "HorizontalFlip": vision.HorizontalFlip(),
        "RandomHorizontalFlip": vision.RandomHorizontalFlip(1.0),
        "ToNumpy": vision.ToNumpy(),
        "RandomGrayscale": vision.RandomGrayscale(1.0),
        "Rotate": vision.Rotate(90),
    }.items():
        yield from each(
            f"{name} of picture", on_pil(operation), 1e-7 if name == "ToTensor" else 0, ("colour",)
        )


def cases(ds: Any) -> Iterator[tuple[str, float, Any]]:
    """Name, tolerance, and a function that computes the result."""
    vision, transforms, inter = ds.vision, ds.transforms, ds.vision.Inter
    images = {"colour": COLOUR, "grey": GREY, "floats": FLOATS, "large": LARGE}

    def each(
        name: str, operation: Any, tolerance: float = 0.0, among: tuple[str, ...] = tuple(images)
    ) -> Iterator[Any]:
        for kind in among:
            yield f"{name} of {kind}", tolerance, lambda: operation(images[kind])

    yield from each("Rescale", vision.Rescale(1 / 255, 0.0), 1e-7)
    yield from each("Rescale with shift", vision.Rescale(2 / 255, -1.0), 2e-7)
    yield from each(
        "Normalize", vision.Normalize([120.0, 110.5, 99.0], [60.0, 61.5, 70.25]), 1e-6, ("colour", "floats")
    )
    yield from each("Normalize one", vision.Normalize([0.1307], [0.3081]), 1e-4, ("grey",))
    yield from each("HWC2CHW", vision.HWC2CHW())
    yield from each("ToTensor", vision.ToTensor(), 1e-7, ("colour", "grey"))
    yield "ToTensor of flat", 1e-7, lambda: vision.ToTensor()(FLAT)
    yield "ToTensor float16", 1e-3, lambda: vision.ToTensor(np.float16)(COLOUR)
    yield "HWC2CHW of flat", 0.0, lambda: vision.HWC2CHW()(FLAT)
    yield (
        "Normalize CHW",
        1e-6,
        lambda: vision.Normalize([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], is_hwc=False)(
            COLOUR.transpose(2, 0, 1).copy()
        ),
    )
    yield from each("CenterCrop 20", vision.CenterCrop(20))
    yield from each("CenterCrop (31, 21)", vision.CenterCrop((31, 21)), among=("colour", "large"))
    yield from each("CenterCrop too large", vision.CenterCrop((61, 64)), among=("colour", "grey"))
    yield from each("Pad 3", vision.Pad(3))
    yield from each("Pad (1, 2)", vision.Pad((1, 2), fill_value=7))
    yield from each("Pad (1, 2, 3, 4)", vision.Pad((1, 2, 3, 4), fill_value=(1, 2, 3)), among=("colour",))
    for mode in ("EDGE", "REFLECT", "SYMMETRIC"):
        yield from each(f"Pad {mode}", vision.Pad((2, 3, 1, 0), padding_mode=getattr(vision.Border, mode)))
    yield from each("RandomHorizontalFlip 1", vision.RandomHorizontalFlip(1.0))
    yield from each("RandomVerticalFlip 1", vision.RandomVerticalFlip(1.0))
    yield from each("RandomCrop whole", vision.RandomCrop((37, 50)), among=("colour",))
    for kind, tolerance in (("NEAREST", 0), ("BILINEAR", 1), ("BICUBIC", 1), ("AREA", 1), ("PILCUBIC", 1)):
        among = ("colour", "large") if kind in ("PILCUBIC",) else ("colour", "grey", "large")
        for size in ((20, 30), (64, 80), 24):
            yield from each(
                f"Resize {size} {kind}", vision.Resize(size, getattr(inter, kind)), tolerance, among
            )
    yield from each("Resize floats", vision.Resize((20, 30)), 1e-4, ("floats",))
    yield from colours(vision, each)
    yield from shapes(vision, inter, each)
    yield from arrays(transforms)
    yield "OneHot", 0.0, lambda: transforms.OneHot(5)(np.array(3, np.int32))
    yield "OneHot smooth", 1e-7, lambda: transforms.OneHot(5, 0.1)(np.array(3, np.int32))
    for kind in ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bool"):
        cast = transforms.TypeCast(np.dtype(kind).type)
        yield f"TypeCast {kind}", 0.0, lambda: cast(np.array([[0, 1], [2, 100]], np.uint8))
    yield (
        "TypeCast from float",
        0.0,
        lambda: transforms.TypeCast(np.int32)(np.array([-1.7, 2.5, 3.9], np.float32)),
    )

    def rows(data: Any) -> np.ndarray:
        return np.concatenate(
            [row[0].reshape(-1) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        )

    def numbers(**kwargs: Any) -> Any:
        return ds.NumpySlicesDataset(np.arange(11), "x", **{"shuffle": False} | kwargs)

    yield "batch", 0.0, lambda: rows(numbers().batch(4))
    yield "batch drop", 0.0, lambda: rows(numbers().batch(4, drop_remainder=True))
    yield "skip take repeat", 0.0, lambda: rows(numbers().skip(2).take(3).repeat(2))
    yield "filter", 0.0, lambda: rows(numbers().filter(lambda x: x % 3 == 0))
    yield "concat", 0.0, lambda: rows(numbers() + numbers())
    yield "shuffled, sorted", 0.0, lambda: np.sort(rows(numbers(shuffle=True).shuffle(4)))
    for shard in range(3):
        yield f"shard {shard}", 0.0, lambda: rows(numbers(num_shards=3, shard_id=shard))
        yield (
            f"shard {shard} samples",
            0.0,
            lambda: rows(numbers(num_shards=3, shard_id=shard, num_samples=2)),
        )
    for offset in (0, 1, 2):
        yield (
            f"shard offset {offset}",
            0.0,
            lambda: rows(
                ds.NumpySlicesDataset(
                    np.arange(11), "x", sampler=ds.DistributedSampler(3, 1, shuffle=False, offset=offset)
                )
            ),
        )
    yield (
        "sequential",
        0.0,
        lambda: rows(ds.NumpySlicesDataset(np.arange(11), "x", sampler=ds.SequentialSampler(3, 4))),
    )
    yield (
        "subset",
        0.0,
        lambda: rows(ds.NumpySlicesDataset(np.arange(11), "x", sampler=ds.SubsetSampler([3, 1, 7]))),
    )
    yield (
        "padded",
        0.0,
        lambda: rows(
            ds.GeneratorDataset(lambda: ((np.arange(i + 1),) for i in range(4)), ["x"]).padded_batch(
                2, pad_info={"x": ([5], -1)}
            )
        ),
    )


def _result(compute: Any) -> np.ndarray:
    """The result, or the error as text."""
    try:
        return np.asarray(compute())
    except Exception as error:
        return np.asarray(f"{type(error).__name__}: {error}")


def main(action: str, path: str) -> int:
    if action == "write":
        import mindspore.dataset as ds

        np.savez(path, **{name: _result(compute) for name, _, compute in cases(ds)})
        return 0
    import mycelia.dataset as ds

    recorded, failures = np.load(path), 0
    for name, tolerance, compute in cases(ds):
        theirs, ours = recorded[name], _result(compute)
        if theirs.dtype.kind == "U" or ours.dtype.kind == "U":
            failures += theirs.dtype.kind != ours.dtype.kind
            print(
                f"{'FAILED' if theirs.dtype.kind != ours.dtype.kind else 'ok':7}{name:40}"
                f"{str(ours)[:60] if ours.dtype.kind == 'U' else ''} for "
                f"{str(theirs)[:60] if theirs.ndim == 0 else ''}"
            )
            continue
        if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
            verdict, failed = f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}", True
        else:
            difference = float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0))
            verdict, failed = f"{difference:.2g}", difference > tolerance
        failures += failed
        print(f"{'FAILED' if failed else 'ok':7}{name:40}{verdict}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
