"""NumPy's programs."""

from __future__ import annotations

import arrays
import measure
import numpy as np
from arrays import normal
from measure import bench


def gemm() -> None:
    for case, a, b, flops, bytes_ in arrays.matrices():
        bench(case, lambda a=a, b=b: a @ b, flops=flops, bytes_=bytes_, answer=np.asarray)


def eager() -> None:
    a, b = normal(2, 3), normal(2, 3, seed=1)

    def adds() -> np.ndarray:
        c = a
        for _ in range(1000):
            c = c + b
        return c

    bench("add (2,3)", adds, unit="us", per=1000, answer=np.asarray)


if __name__ == "__main__":
    measure.run(globals())
