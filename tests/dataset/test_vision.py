"""Image operations: what must hold for every one of them, and how arguments are checked."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.common import seed
from mycelia.dataset import transforms, vision
from mycelia.dataset.vision import Inter

Image = pytest.importorskip("PIL.Image")
PIXELS = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
CORNERS, ENDS = [[0, 0], [31, 0], [31, 23], [0, 23]], [[3, 2], [29, 1], [30, 20], [2, 22]]

# one of each operation over an image of bytes that gives one image
OPERATIONS = {
    "AdjustBrightness": (1.3,),
    "AdjustContrast": (1.3,),
    "AdjustGamma": (0.7,),
    "AdjustHue": (0.2,),
    "AdjustSaturation": (1.3,),
    "AdjustSharpness": (1.3,),
    "Affine": (10, [0.1, 0.2], 1.1, 3.0),
    "AutoAugment": (),
    "AutoContrast": (),
    "CenterCrop": (10,),
    "ConvertColor": (vision.ConvertMode.COLOR_RGB2BGR,),
    "Crop": ((1, 2), 10),
    "CutOut": (5, 2),
    "Equalize": (),
    "Erase": (1, 2, 3, 4, 9),
    "GaussianBlur": (3,),
    "Grayscale": (3,),
    "HorizontalFlip": (),
    "Invert": (),
    "Pad": (2,),
    "PadToSize": (40,),
    "Perspective": (CORNERS, ENDS),
    "Posterize": (3,),
    "RandAugment": (3,),
    "RandomAdjustSharpness": (0.5,),
    "RandomAffine": (20, (0.1, 0.2), (0.8, 1.2), 5),
    "RandomAutoContrast": (),
    "RandomColor": (),
    "RandomColorAdjust": (0.4, 0.4, 0.4, 0.1),
    "RandomCrop": (20, 2),
    "RandomEqualize": (),
    "RandomGrayscale": (0.5,),
    "RandomHorizontalFlip": (),
    "RandomInvert": (),
    "RandomLighting": (0.5,),
    "RandomPerspective": (),
    "RandomPosterize": ((1, 8),),
    "RandomResize": (16,),
    "RandomResizedCrop": (16,),
    "RandomRotation": (40,),
    "RandomSharpness": (),
    "RandomSolarize": ((10, 200),),
    "RandomVerticalFlip": (),
    "Resize": ((10, 14),),
    "ResizedCrop": (1, 2, 10, 12, 8),
    "Rotate": (30,),
    "Solarize": (100,),
    "TrivialAugmentWide": (),
    "UniformAugment": ([vision.Invert(), vision.Equalize()],),
    "VerticalFlip": (),
}


def pipeline(operation, count=6, block=3):
    images = np.stack([np.roll(PIXELS, i, 1) for i in range(count)])
    seed.set_seed(3)
    data = ds.NumpySlicesDataset(images, "image", shuffle=False).map(operation, "image").batch(block)
    return [x[0] for x in data.create_tuple_iterator(num_epochs=1, output_numpy=True)], images


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_in_a_pipeline(name):
    make = lambda: getattr(vision, name)(*OPERATIONS[name])
    batches, images = pipeline(make())
    assert all(batch.dtype == np.uint8 and batch.ndim == 4 for batch in batches)
    again, _ = pipeline(make())
    for one, other in zip(batches, again):
        np.testing.assert_array_equal(one, other)  # the seed decides
    before = images.copy()
    make()(images[0])
    np.testing.assert_array_equal(images, before)  # what is given stays as it is
    if not any(word in name for word in ("Random", "Augment", "CutOut")):
        for i, image in enumerate(images):  # a row is as the image alone
            np.testing.assert_array_equal(batches[i // 3][i % 3], make()(image))


@pytest.mark.parametrize(
    "name", sorted(set(OPERATIONS) - {"AutoAugment", "RandAugment", "TrivialAugmentWide"})
)
def test_operations_on_images_of_pillow(name):
    result = getattr(vision, name)(*OPERATIONS[name])(Image.fromarray(PIXELS))
    assert isinstance(result, Image.Image) and result.mode == "RGB"


def test_pillow_through_a_pipeline(tmp_path):
    data = vision.encode_png(PIXELS)
    rows = ds.NumpySlicesDataset(np.stack([data] * 3), "image", shuffle=False)
    seen = []

    def watch(x):
        seen.append(type(x))
        return x

    chain = [vision.Decode(to_pil=True), watch, vision.RandomHorizontalFlip(1.0), vision.ToTensor()]
    got = next(rows.map(chain, "image").create_tuple_iterator(output_numpy=True))[0]
    assert issubclass(seen[0], Image.Image)
    np.testing.assert_allclose(got, PIXELS[:, ::-1].transpose(2, 0, 1) / np.float32(255), rtol=1e-6)


def test_every_name_is_there_with_its_documentation():
    for name in vision.__all__:
        member = getattr(vision, name)
        assert inspect.getdoc(member), name
    for module in ("c_transforms", "py_transforms"):
        for package in ("vision", "transforms"):
            loaded = __import__(f"mycelia.dataset.{package}.{module}", fromlist=["x"])
            assert issubclass(
                getattr(loaded, "HWC2CHW" if package == "vision" else "Compose"), transforms.Operation
            )


# -- some that need more than one image ---------------------------------------------------------------------
def test_mixing_batches():
    labels = np.eye(4, dtype=np.float32)[np.arange(8) % 4]
    images = np.repeat(np.arange(8, dtype=np.uint8), 48).reshape(8, 4, 4, 3) * 30
    seed.set_seed(1)
    data = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=False).batch(4)
    for operation in (
        vision.MixUpBatch(1.0),
        vision.CutMixBatch(vision.ImageBatchFormat.NHWC),
        vision.MixUp(4, 0.5),
    ):
        mapped = data.map(operation, ["image", "label"])
        for x, y in mapped.create_tuple_iterator(num_epochs=1, output_numpy=True):
            assert x.shape == (4, 4, 4, 3) and y.shape == (4, 4)
            np.testing.assert_allclose(y.sum(1), 1, rtol=1e-5)
    with pytest.raises(RuntimeError, match="labels must be one-hot"):
        next(data.map(lambda y: y.argmax(1), "label").map(vision.MixUpBatch(), ["image", "label"]).__iter__())


def test_several_results():
    data = ds.NumpySlicesDataset(PIXELS[np.newaxis], "image", shuffle=False)
    parts = next(
        data.map(vision.FiveCrop(8), "image", list("abcde")).create_tuple_iterator(output_numpy=True)
    )
    corners = [PIXELS[:8, :8], PIXELS[:8, -8:], PIXELS[-8:, :8], PIXELS[-8:, -8:], PIXELS[8:16, 12:20]]
    for part, wanted in zip(parts, corners):
        np.testing.assert_array_equal(part, wanted)
    assert len(vision.TenCrop(8)(PIXELS)) == 10 and len(vision.SlicePatches(2, 3)(PIXELS)) == 6


def test_boxes_follow_their_image():
    boxes = np.array([[4, 5, 6, 7], [20, 10, 8, 8]], np.float32)
    marked = np.zeros((24, 32, 3), np.uint8)
    for x, y, w, h in boxes.astype(int):
        marked[y : y + h, x : x + w] = 255
    for operation in (
        vision.RandomHorizontalFlipWithBBox(1.0),
        vision.RandomVerticalFlipWithBBox(1.0),
        vision.ResizeWithBBox((48, 64)),
        vision.RandomCropWithBBox(20, 4),
        vision.RandomResizedCropWithBBox((24, 32), interpolation=Inter.NEAREST),
    ):
        picture, moved = operation(marked, boxes)
        for x, y, w, h in moved[:, :4]:
            if w > 3 and h > 3:
                inner = picture[int(y) + 2 : int(y + h) - 1, int(x) + 2 : int(x + w) - 1]
                assert (inner == 255).all(), type(operation).__name__
    with pytest.raises(RuntimeError, match="boxes must lie within the image"):
        vision.RandomHorizontalFlipWithBBox(1.0)(marked, boxes + 20)


def test_image_files(tmp_path):
    path = str(tmp_path / "x.png")
    vision.write_png(path, PIXELS)
    np.testing.assert_array_equal(vision.read_image(path), PIXELS)
    assert vision.read_image(path, vision.ImageReadMode.GRAYSCALE).shape == (24, 32, 1)
    np.testing.assert_array_equal(vision.Decode()(vision.read_file(path)), PIXELS)
    assert vision.get_image_size(PIXELS) == [24, 32] and vision.get_image_num_channels(PIXELS) == 3
    assert vision.encode_jpeg(PIXELS, 90)[:2].tolist() == [0xFF, 0xD8]
    jpeg = vision.encode_jpeg(PIXELS)
    assert vision.RandomCropDecodeResize(12)(jpeg).shape == (12, 12, 3)
    for bad in (jpeg[:200], np.arange(50, dtype=np.uint8)):
        with pytest.raises(ValueError, match="truncated or damaged image|no image that Pillow knows"):
            vision.Decode()(bad)
    with pytest.raises(RuntimeError, match="cannot read .*nothing"):
        vision.read_image(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: vision.AdjustBrightness("1"), TypeError),
        (lambda: vision.AdjustBrightness(-1), ValueError),
        (lambda: vision.AdjustHue(0.6), ValueError),
        (lambda: vision.Affine(0, [0, 0], 0, 0), ValueError),
        (lambda: vision.AutoAugment("imagenet"), TypeError),
        (lambda: vision.ConvertColor(4), TypeError),
        (lambda: vision.Crop((0, -1), 3), ValueError),
        (lambda: vision.CutMixBatch("NHWC"), TypeError),
        (lambda: vision.CutOut(0), ValueError),
        (lambda: vision.GaussianBlur(4), ValueError),
        (lambda: vision.Grayscale(2), ValueError),
        (lambda: vision.Posterize(9), ValueError),
        (lambda: vision.RandomAffine(10, (2, 3)), ValueError),
        (lambda: vision.RandomAffine("10"), TypeError),
        (lambda: vision.RandomColor((1.0, 0.5)), ValueError),
        (lambda: vision.RandomColorAdjust(-0.5), ValueError),
        (lambda: vision.RandomErasing(2), ValueError),
        (lambda: vision.RandomPosterize((5, 3)), ValueError),
        (lambda: vision.RandomResizedCrop(0), ValueError),
        (lambda: vision.RandomRotation(-1), ValueError),
        (lambda: vision.RandomSelectSubpolicy([]), TypeError),
        (lambda: vision.RandomSolarize((0, 300)), ValueError),
        (lambda: vision.ResizedCrop(0, 0, 0, 1, 1), ValueError),
        (lambda: vision.Rotate(30, "nearest"), TypeError),
        (lambda: vision.Solarize((1, 2, 3)), ValueError),
        (lambda: vision.UniformAugment([vision.Invert()], 2), ValueError),
        (lambda: transforms.PadEnd((3,)), TypeError),
        (lambda: transforms.Slice("x"), TypeError),
        (lambda: transforms.Mask("EQ", 3), TypeError),
        (lambda: transforms.Concatenate(1), ValueError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error, match=r"^\w+: .*(must|only)"):
        make()


@pytest.mark.parametrize(
    "operation, picture",
    [
        (vision.AdjustHue(0.1), np.zeros((4, 4, 3), np.float32)),
        (vision.Crop((0, 0), 9), np.zeros((4, 4, 3), np.uint8)),
        (vision.ResizedCrop(0, 0, 9, 9, 2), np.zeros((4, 4, 3), np.uint8)),
        (vision.PadToSize(2), np.zeros((4, 4, 3), np.uint8)),
        (vision.Erase(0, 0, 9, 9), np.zeros((4, 4, 3), np.uint8)),
        (vision.CutOut(9), np.zeros((4, 4, 3), np.uint8)),
        (vision.Equalize(), np.zeros((4, 4, 3), np.float32)),
        (vision.ConvertColor(vision.ConvertMode.COLOR_RGBA2BGRA), np.zeros((4, 4, 3), np.uint8)),
        (vision.AdjustSaturation(2), np.zeros((4, 4, 1), np.uint8)),
    ],
)
def test_images_that_do_not_fit(operation, picture):
    with pytest.raises(RuntimeError, match=rf"{type(operation).__name__}.*(must|goes beyond)"):
        operation(picture)
