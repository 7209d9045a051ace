"""Trigonometric functions and their inverses.

Arguments are brought to [-pi/4, pi/4] by subtracting n pi/2, with pi/2 in three parts (Cody and Waite).
Where any lane is too
large for that, the vector takes a slow way: n and the rest from 192 bits of the right part of 2/pi (Payne
and Hanek), lane by lane
in integer arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mycelia.codegen.math_exp import horner, nearest, single
from mycelia.codegen.text import Module, Value, constant
from mycelia.ir import dtypes

if TYPE_CHECKING:
    from mycelia.codegen.scalar import Scalar, VectorScalars

# (sin(r) / r - 1) / z, (cos(r) - 1 + z/2) / z**2 with z = r*r on |r| <= pi/4
SIN32 = (2.72496209e-06, -0.000198400841, 0.00833333191, -0.166666672)
SIN64 = (
    -7.586636882825159e-13,
    1.6058530596645953e-10,
    -2.50521062259944e-08,
    2.755731921932058e-06,
    -0.0001984126984126504,
    0.008333333333333331,
    -0.16666666666666666,
)
COS32 = (2.45476895e-05, -0.00138883013, 0.0416666642)
COS64 = (
    -1.138254464534925e-11,
    2.087614504941318e-09,
    -2.755731726587808e-07,
    2.48015872987544e-05,
    -0.0013888888888887389,
    0.041666666666666664,
)
# (asin(x) / x - 1) / z with z = x*x <= 1/4; (atan(t) / t - 1) / z with z = t*t <= tan(pi/8)**2
ASIN32 = (0.0380850248, 0.0265545417, 0.0450013801, 0.0749885514, 0.166666731)
ASIN64 = (
    0.028757851367421566,
    -0.014851887071247204,
    0.01740087944269402,
    0.005457506718640358,
    0.01032281435018578,
    0.011479177415184906,
    0.013971212973552933,
    0.017352392720869973,
    0.02237217294214989,
    0.030381944138531247,
    0.04464285714635543,
    0.07499999999998433,
    0.16666666666666669,
)
ATAN32 = (-0.0645192787, 0.107437313, -0.142639562, 0.199995399, -0.333333313)
ATAN64 = (
    -0.01917688711906226,
    0.03923165829558719,
    -0.0508544973794026,
    0.0585814891280221,
    -0.06664511447381948,
    0.07692183190826087,
    -0.09090904578123903,
    0.11111111015256361,
    -0.14285714284666542,
    0.1999999999999552,
    -0.3333333333333333,
)
HALF_PI = {
    True: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    False: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
LARGEST = {True: 1.0e5, False: 1.0e9}
# 2/pi in words of 64 bits, most significant first
TWO_OVER_PI = (
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)


def _payne_hanek(module: Module) -> str:
    """A function ``double -> {double rest, i64 n}`` for finite |x| >= 2**16: x = n pi/2 + rest, n modulo 4.

    ``x = M * 2**e`` with a 53-bit integer M. Of ``M * 2**e * 2/pi`` only what lies below 4 matters: a
    window of 192 bits of 2/pi
    that begins two bits above the binary point, times M, modulo 2**192. Its top two bits are n, the rest
    the fraction.
    """
    name = "half_pi_multiple"
    if any(f.name == name for f in module.functions):
        return name
    words = module.data(
        "two_over_pi", "[23 x i64]", "[" + ", ".join(f"i64 {w}" for w in (0, *TWO_OVER_PI, 0, 0)) + "]"
    )
    f = module.function(
        name, "{ double, i64 }", [("double", "x")], internal=True, attributes="nounwind noinline"
    )
    x = f.params[0]
    bits = f.cast("bitcast", x, "i64")
    exponent = f.binary("and", f.binary("lshr", bits, constant(52, "i64")), constant(0x7FF, "i64"))
    mantissa = f.binary("or", f.binary("and", bits, constant((1 << 52) - 1, "i64")), constant(1 << 52, "i64"))
    # bit 0 of the table is worth 2**63 (a word of zeros goes before 2/pi), so the window begins at bit e +
    # 62 with e = exponent - 1075
    start = f.sub(exponent, 1075 - 62)
    word, shift = f.div(start, 64), f.rem(start, 64)
    loaded = [f.load("i64", f.at("i64", words, f.add(word, k))) for k in range(4)]
    window = [f.call("llvm.fshl.i64", "i64", a, b, shift) for a, b in zip(loaded, loaded[1:])]

    def wide(v: Value) -> Value:
        return f.cast("zext", v, "i128")

    # (w0 : w1 : w2) * mantissa modulo 2**192, of which the top 128 bits are kept
    low = f.binary("lshr", f.binary("mul", wide(window[2]), wide(mantissa)), constant(64, "i128"))
    middle = f.binary("add", f.binary("mul", wide(window[1]), wide(mantissa)), low)
    high = f.binary("shl", f.binary("mul", wide(window[0]), wide(mantissa)), constant(64, "i128"))
    product = f.binary("add", middle, high)
    # round to the nearest multiple: add half, take the top two bits, leave a signed fraction
    n = f.cast(
        "trunc",
        f.binary("lshr", f.binary("add", product, constant(1 << 125, "i128")), constant(126, "i128")),
        "i64",
    )
    fraction = f.binary("shl", product, constant(2, "i128"))
    negative = f.icmp("slt", fraction, constant(0, "i128"))
    magnitude = f.select(negative, f.binary("sub", constant(0, "i128"), fraction), fraction)
    zeros = f.op("i128", f"call i128 @llvm.ctlz.i128(i128 {magnitude}, i1 false)")
    module.declare("llvm.ctlz.i128", "i128", ["i128", "i1"])
    normal = f.binary("shl", magnitude, zeros)
    top = f.cast("trunc", f.binary("lshr", normal, constant(75, "i128")), "i64")  # 53 bits
    rest = f.cast("trunc", f.binary("lshr", normal, constant(22, "i128")), "i64")
    rest = f.binary("and", rest, constant((1 << 53) - 1, "i64"))
    hi = f.cast("sitofp", top, "double")
    lo = f.binary("fmul", f.cast("sitofp", rest, "double"), constant(2.0**-53, "double"))
    # value = (hi + lo) * 2**(75 - zeros - 128) multiples of pi/2
    power = f.binary("sub", constant(1023 + 75 - 128, "i64"), f.cast("trunc", zeros, "i64"))
    factor = f.cast("bitcast", f.binary("shl", power, constant(52, "i64")), "double")
    c, c_low = constant(HALF_PI[False][0], "double"), constant(HALF_PI[False][1], "double")
    tail = f.binary("fadd", f.binary("fmul", lo, c), f.binary("fmul", hi, c_low))
    angle = f.binary("fmul", f.fma(hi, c, tail), factor)
    angle = f.select(negative, f.op("double", f"fneg double {angle}"), angle)
    minus = f.icmp("slt", bits, 0)
    angle = f.select(minus, f.op("double", f"fneg double {angle}"), angle)
    n = f.select(minus, f.sub(0, n), n)
    pair = f.op("{ double, i64 }", f"insertvalue {{ double, i64 }} poison, double {angle}, 0")
    pair = f.op("{ double, i64 }", f"insertvalue {{ double, i64 }} {pair}, i64 {n}, 1")
    f.ret(pair)
    return name


def _reduce_slowly(m: VectorScalars, x: Scalar, fast: list[Value]) -> list[Value]:
    """The fast result with the lanes of large arguments replaced, one by one."""
    f, name = m.f, _payne_hanek(m.f.module)
    kind = "double" if x.dtype is dtypes.float64 else "float"
    word = "i64" if kind == "double" else "i32"
    rest, n = fast
    for lane in range(m.lanes):
        one = f.extract(x.value, lane) if m.lanes > 1 else x.value
        size = f.intrinsic("fabs", kind, one)
        old = (f.extract(rest, lane), f.extract(n, lane)) if m.lanes > 1 else (rest, n)
        slow = f.binary(
            "and",
            f.fcmp("oge", size, constant(LARGEST[single(x)], kind)),
            f.fcmp("olt", size, constant(float("inf"), kind)),
        )

        def compute(one: Value = one) -> list[Value]:
            wide = f.cast("fpext", one, "double") if kind == "float" else one
            pair = f.op("{ double, i64 }", f"call {{ double, i64 }} @{name}(double {wide})")
            angle = f.op("double", f"extractvalue {{ double, i64 }} {pair}, 0")
            turns = f.op("i64", f"extractvalue {{ double, i64 }} {pair}, 1")
            if kind == "float":
                return [f.cast("fptrunc", angle, "float"), f.cast("trunc", turns, word)]
            return [angle, turns]

        angle, turns = f.choose(slow, compute, lambda old=old: list(old))
        rest, n = (f.insert(rest, angle, lane), f.insert(n, turns, lane)) if m.lanes > 1 else (angle, turns)
    return [rest, n]


def reduce_angle(m: VectorScalars, x: Scalar) -> tuple[Scalar, Scalar]:
    """r in about [-pi/4, pi/4] and the integer n with x = n pi/2 + r; NaN for infinities."""
    turns, n = nearest(m, x, 0.6366197723675814)
    r = x
    for part in HALF_PI[single(x)]:
        r = m.fma(turns, -part, r)
    r = m.select(m.eq(m.abs(x), float("inf")), m.const(float("nan"), x.dtype), r)
    large = m.any(m.ge(m.abs(x), LARGEST[single(x)]))
    fast = [r.value, n.value]
    values = m.f.choose(large, lambda: _reduce_slowly(m, x, fast), lambda: fast)
    return m.wrap(values[0], x.dtype), m.wrap(values[1], n.dtype)


def _sine(m: VectorScalars, r: Scalar, z: Scalar) -> Scalar:
    return m.fma(r * z, horner(m, z, SIN32 if single(r) else SIN64), r)


def _cosine(m: VectorScalars, r: Scalar, z: Scalar) -> Scalar:
    half = z * 0.5
    w = m.const(1.0, r.dtype) - half
    return w + m.fma(z * z, horner(m, z, COS32 if single(r) else COS64), (m.const(1.0, r.dtype) - w) - half)


def _odd(m: VectorScalars, n: Scalar) -> Scalar:
    return m.ne(m.bitwise_and(n, 1), 0)


def _flip(m: VectorScalars, x: Scalar, n: Scalar) -> Scalar:
    """-x where bit 1 of n is set."""
    place = 30 if single(x) else 62
    sign = m.shift_left(m.bitwise_and(n, 2), m.const(place, n.dtype))
    return m.from_bits(m.bitwise_xor(m.bits(x), sign))


def sin(m: VectorScalars, x: Scalar, quarter_turns: int = 0) -> Scalar:
    """sin(x + quarter_turns * pi/2)."""
    r, n = reduce_angle(m, x)
    z = r * r
    n = n + quarter_turns if quarter_turns else n
    result = _flip(m, m.select(_odd(m, n), _cosine(m, r, z), _sine(m, r, z)), n)
    return result if quarter_turns else m.select(m.eq(x, 0.0), x, result)


def cos(m: VectorScalars, x: Scalar) -> Scalar:
    return sin(m, x, quarter_turns=1)


def tan(m: VectorScalars, x: Scalar) -> Scalar:
    r, n = reduce_angle(m, x)
    z = r * r
    s, c = _sine(m, r, z), _cosine(m, r, z)
    odd = _odd(m, n)
    result = m.select(odd, m.neg(c), s) / m.select(odd, s, c)
    return m.select(m.eq(x, 0.0), x, result)


def _asin_series(m: VectorScalars, s: Scalar, z: Scalar) -> Scalar:
    """asin(s) - s with z = s*s <= 1/4."""
    return s * z * horner(m, z, ASIN32 if single(s) else ASIN64)


def asin(m: VectorScalars, x: Scalar) -> Scalar:
    """Beyond 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    y = m.abs(x)
    outer = m.gt(y, 0.5)
    z = m.select(outer, (m.const(1.0, x.dtype) - y) * 0.5, y * y)
    s = m.select(outer, m.sqrt(z), y)
    series = _asin_series(m, s, z)
    hi, lo, _ = HALF_PI[single(x)]
    far = m.const(hi, x.dtype) - ((s + series) * 2.0 - lo)
    return m.copysign(m.select(outer, far, s + series), x)


def acos(m: VectorScalars, x: Scalar) -> Scalar:
    y = m.abs(x)
    outer = m.gt(y, 0.5)
    z = m.select(outer, (m.const(1.0, x.dtype) - y) * 0.5, x * x)
    s = m.select(outer, m.sqrt(z), x)
    series = _asin_series(m, s, z)
    hi, lo, _ = HALF_PI[single(x)]
    near = m.const(hi, x.dtype) - (s - (m.const(lo, x.dtype) - series))
    twice = (s + series) * 2.0
    far = m.select(m.lt(x, 0.0), m.const(2 * hi, x.dtype) - (twice - 2 * lo), twice)
    return m.select(outer, far, near)


def _atan_ratio(m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
    """atan(a / b) for 0 <= a <= b: directly up to tan(pi/8), else pi/4 + atan((a - b) / (a + b))."""
    outer = m.gt(a, b * 0.41421356237309503)
    t = m.select(outer, a - b, a) / m.select(outer, a + b, b)
    z = t * t
    series = t * z * horner(m, z, ATAN32 if single(a) else ATAN64)
    hi, lo, _ = HALF_PI[single(a)]
    return m.select(outer, m.const(hi / 2, a.dtype) + (t + (series + lo / 2)), t + series)


def atan(m: VectorScalars, x: Scalar) -> Scalar:
    y = m.abs(x)
    outer = m.gt(y, 1.0)
    one = m.const(1.0, x.dtype)
    # pi/2 - atan(1 / y): the ratio is taken upside down; infinity becomes 0 / 1
    infinite = m.eq(y, float("inf"))
    a = m.select(outer, one, y)
    b = m.select(outer, y, one)
    a = m.select(infinite, m.const(0.0, x.dtype), a)
    b = m.select(infinite, one, b)
    r = _atan_ratio(m, a, b)
    hi, lo, _ = HALF_PI[single(x)]
    return m.copysign(m.select(outer, m.const(hi, x.dtype) - (r - lo), r), x)


def atan2(m: VectorScalars, y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), with C's special values."""
    u, v = m.abs(y), m.abs(x)
    swapped = m.gt(u, v)
    a, b = m.select(swapped, v, u), m.select(swapped, u, v)
    big, tiny = (1e38, 1e-30) if single(x) else (1e307, 1e-290)
    factor = m.select(
        m.gt(b, big),
        m.const(0.25, x.dtype),
        m.select(m.lt(b, tiny), m.const(2.0**24 if single(x) else 2.0**54, x.dtype), m.const(1.0, x.dtype)),
    )
    one, zero = m.const(1.0, x.dtype), m.const(0.0, x.dtype)
    both_infinite = m.eq(a, float("inf"))
    b_infinite = m.eq(b, float("inf"))
    a, b = a * factor, b * factor
    a = m.select(b_infinite, m.select(both_infinite, one, m.select(m.isnan(a), a, zero)), a)
    b = m.select(b_infinite, one, b)
    b = m.select(m.eq(b, 0.0), one, b)
    r = _atan_ratio(m, a, b)
    hi, lo, _ = HALF_PI[single(x)]
    r = m.select(swapped, m.const(hi, x.dtype) - (r - lo), r)
    negative = m.lt(m.bits(x), 0)
    r = m.select(negative, m.const(2 * hi, x.dtype) - (r - 2 * lo), r)
    r = m.select(m.logical_or(m.isnan(x), m.isnan(y)), x + y, r)
    return m.copysign(r, y)


def turns(m: VectorScalars, v: Scalar) -> tuple[Scalar, Scalar]:
    """cos and sin of ``2 pi v`` for v in [0, 1]: the quarter is exact, so that no reduction by pi is
    needed."""
    quarters, n = nearest(m, v, 4.0)
    r = m.fma(quarters, -0.25, v) * (4.0 * HALF_PI[False][0])
    z = r * r
    s, c = _sine(m, r, z), _cosine(m, r, z)
    odd, following = _odd(m, n), n + 1
    return _flip(m, m.select(odd, s, c), following), _flip(m, m.select(odd, c, s), n)
