"""Makes the data that ships: the first images of Fashion-MNIST, as packed IDX files with their licence.

make_fashion_mnist.py FOLDER: the folder of the four files of the whole collection, e.g.
    /usr/share/datasets/fashion-mnist of
Debian's package dataset-fashion-mnist.
"""
from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path

from mycelia.dataset.idx import read_idx
from mycelia.dataset.shipped import fashion_mnist_folder

COUNTS = {"train": 5500, "t10k": 1000}


def main(source: Path) -> None:
    total = 0
    for part, count in COUNTS.items():
        for name in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"):
            array = read_idx(str(source / f"{name}.gz"))[:count]
            header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
            target = Path(fashion_mnist_folder()) / f"{name}.gz"
            target.write_bytes(gzip.compress(header + array.tobytes(), 9, mtime=0))
            total += target.stat().st_size
            print(f"{target}: {array.shape}, {target.stat().st_size} bytes")
    print(f"{total} bytes in all")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
